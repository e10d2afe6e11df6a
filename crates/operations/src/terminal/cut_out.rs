//! The view of a client whose window has another size than the terminal: the part of the screen that fits.
//!
//! The terminal's size may change at any byte of the output. A client is sent no byte that was written for another size than
//! its window's: it changes to cut-outs at the mark of the resize, and back with a picture of the whole screen.

use super::is_terminal;
use super::output::{Piece, TerminalOutput, notified};
use crate::limits;
use crate::wait::next_look;
use std::sync::Arc;
use swb_engine::CursorStep;
use swb_types::Size;
use swb_vt::View;

/// The part of the screen that a client with a window of another size sees.
pub(super) struct CutOut {
    view: View,
    /// Whether the current screen has been painted, so that the next change has to be awaited.
    painted: bool,
}

impl TerminalOutput {
    /// Whether the client's window has another size, in which raw output would be garbled. A client that follows
    /// resizes draws the terminal in its own size.
    pub(super) fn needs_cut_out(&mut self, window: Option<Size>) -> bool {
        let Some(window) = window.filter(|_| self.draws_own_size()) else { return false };
        let here = Some(self.size_here());
        if here == Some(window) {
            self.fits = here;
            return false;
        }
        // The client has changed the terminal's size with its own: up to that mark, the output continues what it shows.
        let follows = self.cut_out.is_none() && self.fits == here && window == self.cursor.pty().size();
        !follows
    }

    /// Whether the client draws its window's size, not the terminal's.
    pub(super) fn draws_own_size(&self) -> bool {
        self.options.repaint && !self.options.sizes && self.options.until.is_none()
    }

    pub(super) fn begin_cut_out(&mut self, window: Option<Size>) {
        self.cursor.falls_behind();
        // From here on it sees no queries.
        self.cursor.stops_answering();
        self.seat.iter().for_each(|seat| seat.sees_queries(false));
        let size = window.unwrap_or_else(|| self.size_here());
        let view = if self.options.watch { View::new(size) } else { View::with_input(size) };
        // Undoes modes that a picture or earlier output may have set.
        self.push_picture(self.cursor.offset(), swb_vt::RESET.to_vec(), true);
        self.cut_out = Some(CutOut { view, painted: false });
    }

    pub(super) async fn next_cut_out(&mut self, mut cut_out: CutOut) {
        if cut_out.painted {
            tokio::select! {
                () = next_look(&self.cursor, limits::VIEW_PAUSE) => {}
                // The screen has not changed; it is painted again all the same, at no cost that matters.
                () = notified(self.notifications.as_mut()) => {}
                Ok(()) = self.client.changed() => {
                    let window = self.client.borrow_and_update().window;
                    // Changes other than its size need no picture.
                    if let Some(window) = window.filter(|window| *window != cut_out.view.size()) {
                        cut_out.view.resize(window);
                    }
                }
            }
            self.cut_out = Some(CutOut { painted: false, ..cut_out });
            return;
        }
        let end = self.pass_over();
        let pty = Arc::clone(self.cursor.pty());
        let mut view = cut_out.view;
        let painted = pty.look(true, move |sight| (view.paint(sight.screen()), sight.offset(), view)).await;
        let Ok((bytes, offset, view)) = painted else {
            return self.screen_is_gone(end);
        };
        self.push_picture(offset, bytes, true);
        // The end follows the last picture.
        self.queue.extend(end);
        self.cut_out = Some(CutOut { view, painted: true });
    }

    /// Skips output that is shown as a picture, but reports the events in it; returns the end if it is among them.
    fn pass_over(&mut self) -> Option<Piece> {
        loop {
            match self.cursor.step(u64::MAX) {
                CursorStep::Output { to } => self.cursor.advance(to - self.cursor.offset()),
                CursorStep::Lost { oldest } => self.cursor.skip(oldest),
                CursorStep::Mark(mark) => match self.mark(mark) {
                    Some(end @ Piece::End(_)) => return Some(end),
                    event => self.queue.extend(event),
                },
                CursorStep::Idle => return None,
            }
        }
    }

    /// Ends the stream: the screen goes with a session that is killed, whose end comes after its last output.
    fn screen_is_gone(&mut self, end: Option<Piece>) {
        let end = end.or_else(|| self.pass_over()).unwrap_or(Piece::Broken);
        self.queue.push_back(end);
    }

    /// The window has the terminal's size again: one picture, then output.
    pub(super) async fn end_cut_out(&mut self) {
        let pty = Arc::clone(self.cursor.pty());
        match pty.picture(0, is_terminal(&self.options)).await {
            Ok(picture) => {
                self.seat.iter().for_each(|seat| seat.sees_queries(true));
                let bytes = self.continue_after(picture);
                // Unless it was resized meanwhile.
                let window = self.client.borrow().window;
                if !self.needs_cut_out(window) {
                    self.show(&bytes);
                }
            }
            Err(_) => self.screen_is_gone(None),
        }
    }
}
