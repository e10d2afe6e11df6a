//! The view of a watcher whose window has another size than the terminal: the part of the screen that fits.

use super::output::{Piece, TerminalOutput, notified};
use crate::limits;
use crate::wait::next_look;
use std::sync::Arc;
use swb_engine::{CursorStep, Picture};
use swb_types::Size;
use swb_vt::View;

/// The part of the screen that a watcher with a window of another size sees.
pub(super) struct CutOut {
    view: View,
    /// Whether the current screen has been painted, so that the next change has to be awaited.
    painted: bool,
}

impl TerminalOutput {
    /// Whether the client watches through a window of another size, in which raw output would be garbled. A
    /// client that follows resizes has no size of its own.
    pub(super) fn needs_cut_out(&self) -> bool {
        let watches = self.options.watch && self.options.repaint && !self.options.sizes;
        watches && self.client.borrow().window != self.cursor.pty().size()
    }

    fn window(&mut self) -> Size {
        self.client.borrow_and_update().window
    }

    pub(super) fn begin_cut_out(&mut self) {
        self.cursor.falls_behind();
        let view = View::new(self.window());
        // Undoes modes that a picture or earlier output may have set.
        self.push_picture(self.cursor.offset(), swb_vt::RESET.to_vec());
        self.cut_out = Some(CutOut { view, painted: false });
    }

    pub(super) async fn next_cut_out(&mut self, mut cut_out: CutOut) {
        if cut_out.painted {
            tokio::select! {
                () = next_look(&self.cursor, limits::VIEW_PAUSE) => {}
                // The screen has not changed; it is painted again all the same, at no cost that matters.
                () = notified(self.notifications.as_mut()) => {}
                Ok(()) = self.client.changed() => cut_out.view.resize(self.client.borrow_and_update().window),
            }
            self.cut_out = Some(CutOut { painted: false, ..cut_out });
            return;
        }
        let end = self.pass_over();
        let pty = Arc::clone(self.cursor.pty());
        let mut view = cut_out.view;
        let painted = pty.look(true, move |sight| (view.paint(sight.screen()), sight.offset(), view)).await;
        let Ok((bytes, offset, view)) = painted else {
            return self.queue.push_back(Piece::Broken);
        };
        self.push_picture(offset, bytes);
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

    /// The window has the terminal's size again: one picture, then output.
    pub(super) async fn end_cut_out(&mut self) {
        match self.cursor.pty().picture(0, false).await {
            Ok(Picture { bytes, cursor }) => {
                self.continue_at(cursor);
                self.show(&bytes);
            }
            Err(_) => self.queue.push_back(Piece::Broken),
        }
    }
}
