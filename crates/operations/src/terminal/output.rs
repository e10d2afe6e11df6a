//! The output half of an open terminal: what the client gets next.
//!
//! Output goes out as it is, straight from the ring, as long as the client keeps up and its window has the terminal's
//! size. A client that lags is repainted from the screen model; a watcher whose window has another size sees the part
//! of the screen that fits.

use super::input::refusal;
use super::{ClientState, Opening, is_terminal};
use crate::limits;
use crate::wait::next_look;
use std::collections::VecDeque;
use std::sync::Arc;
use swb_engine::{Cursor, Mark, Picture, Step};
use swb_types::{Offset, Role, Size};
use swb_vt::View;
use swb_wire::control::{ErrorReply, Event, StreamOptions};
use tokio::sync::watch;

/// What a client gets next.
#[derive(Debug)]
pub enum Piece {
    /// Output from [`TerminalOutput::cursor`] up to this offset. The transport sends it and advances the cursor, or
    /// calls [`TerminalOutput::lost`].
    Output {
        /// Offset behind the last byte.
        to: Offset,
    },
    /// Bytes that are no output but show the screen as it was at `offset`.
    Picture {
        /// Offset of the next byte of output.
        offset: Offset,
        /// What to send to the client's terminal.
        bytes: Vec<u8>,
        /// Whether the client asked for an event in front of pictures.
        announced: bool,
    },
    /// An event at this place of the output.
    Event(Event),
    /// The client's input was refused.
    Refused(ErrorReply),
    /// The last event: the stream ends with it.
    End(Event),
    /// The stream ends without a word: the screen is gone.
    Broken,
}

/// The part of the screen that a watcher with a window of another size sees.
struct CutOut {
    view: View,
    /// Whether the present screen has been painted, so that the next change is to be waited for.
    painted: bool,
}

/// Decides what a client gets next.
pub struct TerminalOutput {
    cursor: Cursor,
    options: StreamOptions,
    /// Where a stream that does not follow the output ends.
    until: Option<Offset>,
    client: watch::Receiver<ClientState>,
    refusals: u64,
    /// The role that does not allow input, of a client that did not ask to watch.
    limited: Option<Role>,
    cut_out: Option<CutOut>,
    /// What has been decided but not given out: at most an event, a picture and an end.
    queue: VecDeque<Piece>,
}

impl TerminalOutput {
    pub(super) fn new(
        opening: Opening,
        options: StreamOptions,
        until: Option<Offset>,
        client: watch::Receiver<ClientState>,
    ) -> Self {
        let (cursor, picture) = match opening {
            Opening::Output(cursor) => (cursor, None),
            Opening::Picture(Picture { bytes, cursor }) => (cursor, Some(bytes)),
        };
        let (limited, cut_out, queue) = (None, None, VecDeque::new());
        let mut output = Self { cursor, options, until, client, refusals: 0, limited, cut_out, queue };
        if let Some(bytes) = picture.filter(|_| !output.needs_cut_out()) {
            output.show(&bytes);
        }
        output
    }

    /// Has refused input reported with the role that does not allow it.
    pub(crate) fn limit_to(&mut self, role: Role) {
        self.limited = Some(role);
    }

    /// The place of the next byte.
    pub fn cursor(&mut self) -> &mut Cursor {
        &mut self.cursor
    }

    /// The bytes that were to be sent are gone: the client is repainted next.
    pub async fn lost(&mut self) {
        self.repaint_lagging().await;
    }

    /// Waits for what comes next. To be dropped only when the stream ends.
    pub async fn next(&mut self) -> Piece {
        loop {
            self.report_refusals();
            if let Some(piece) = self.queue.pop_front() {
                return piece;
            }
            match (self.cut_out.take(), self.needs_cut_out()) {
                (None, false) => {
                    if let Some(piece) = self.next_output().await {
                        return piece;
                    }
                }
                (None, true) => self.begin_cut_out(),
                (Some(cut_out), true) => self.next_cut_out(cut_out).await,
                (Some(_), false) => self.end_cut_out().await,
            }
        }
    }

    /// Whether the client watches through a window of another size, in which the output would be a mess. One that
    /// follows sizes has none of its own.
    fn needs_cut_out(&self) -> bool {
        let watches = self.options.watch && self.options.repaint && !self.options.sizes;
        watches && self.client.borrow().window != self.cursor.pty().size()
    }

    fn report_refusals(&mut self) {
        let refusals = self.client.borrow().refusals;
        if let Some(role) = self.limited.filter(|_| self.refusals != refusals) {
            self.queue.push_back(Piece::Refused(refusal(role)));
        }
        self.refusals = refusals;
    }

    async fn next_output(&mut self) -> Option<Piece> {
        if self.until.is_some_and(|until| self.cursor.offset() >= until) {
            return Some(Piece::End(Event::End { offset: self.cursor.offset() }));
        }
        match self.cursor.step(limits::OUTPUT_PIECE) {
            Step::Output { to } => Some(Piece::Output { to: to.min(self.until.unwrap_or(Offset::MAX)) }),
            Step::Mark(mark) => self.mark(mark),
            Step::Lost { .. } => {
                self.repaint_lagging().await;
                None
            }
            Step::Idle => {
                tokio::select! {
                    () = self.cursor.wait() => {}
                    Ok(()) = self.client.changed() => {}
                }
                None
            }
        }
    }

    fn mark(&self, mark: Mark) -> Option<Piece> {
        match mark {
            Mark::Resized { generation, size } if self.options.sizes => {
                let (cols, rows) = (size.cols(), size.rows());
                Some(Piece::Event(Event::Resized { cols, rows, generation }))
            }
            Mark::Resized { .. } => None,
            // CO-62
            Mark::Restarting { delay_ms } => Some(Piece::Event(Event::PtyRestarting { delay_ms })),
            // CO-61
            Mark::Exited(status) => Some(Piece::End(Event::PtyExited { code: status.code() })),
        }
    }

    /// Reports to a client that was too slow that it missed something (CO-65, CO-66), and shows it the screen as it is
    /// now. A client that asked for bytes rather than the screen continues with what is left of them.
    async fn repaint_lagging(&mut self) {
        let pty = Arc::clone(self.cursor.pty());
        let wants_bytes = (self.options.watch || self.options.wants_offsets()) && !self.options.repaint;
        let terminal = is_terminal(&self.options);
        let picture = if wants_bytes { None } else { pty.picture(0, terminal).await.ok() };
        let before = self.cursor.offset();
        let newest = || pty.oldest().max(pty.head().saturating_sub(StreamOptions::DEFAULT_HISTORY));
        let to = picture.as_ref().map_or_else(newest, |picture| picture.cursor.offset()).max(before);
        let dropped = (to - before).div_ceil(limits::OUTPUT_PIECE).max(1);
        let offset = self.options.wants_offsets().then_some(to);
        self.queue.push_back(Piece::Event(Event::Lagged { dropped, offset }));
        match picture {
            Some(Picture { bytes, cursor }) => {
                // The output does not wait for this client again before it has caught up.
                cursor.falls_behind();
                self.cursor = cursor;
                self.show(&bytes);
            }
            None => self.cursor.skip(to),
        }
    }

    /// Brings the client's terminal into the state of the screen, whatever it shows.
    fn show(&mut self, picture: &[u8]) {
        self.push_picture(self.cursor.offset(), [swb_vt::RESET, picture].concat());
    }

    fn push_picture(&mut self, offset: Offset, bytes: Vec<u8>) {
        self.queue.push_back(Piece::Picture { offset, bytes, announced: self.options.repaint });
    }

    // ---- cut-outs ----

    fn window(&mut self) -> Size {
        self.client.borrow_and_update().window
    }

    fn begin_cut_out(&mut self) {
        self.cursor.falls_behind();
        let view = View::new(self.window());
        // Undoes what a picture or output may have set before.
        self.push_picture(self.cursor.offset(), swb_vt::RESET.to_vec());
        self.cut_out = Some(CutOut { view, painted: false });
    }

    async fn next_cut_out(&mut self, mut cut_out: CutOut) {
        if cut_out.painted {
            tokio::select! {
                () = next_look(&self.cursor, limits::VIEW_PAUSE) => {}
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
        // The end comes behind the last picture.
        self.queue.extend(end);
        self.cut_out = Some(CutOut { view, painted: true });
    }

    /// Passes over output that is shown as a picture, reporting the events in it; gives the end if there is one.
    fn pass_over(&mut self) -> Option<Piece> {
        loop {
            match self.cursor.step(u64::MAX) {
                Step::Output { to } => self.cursor.advance(to - self.cursor.offset()),
                Step::Lost { oldest } => self.cursor.skip(oldest),
                Step::Mark(mark) => match self.mark(mark) {
                    Some(end @ Piece::End(_)) => return Some(end),
                    event => self.queue.extend(event),
                },
                Step::Idle => return None,
            }
        }
    }

    /// The window has the terminal's size again: one picture, then output.
    async fn end_cut_out(&mut self) {
        match self.cursor.pty().picture(0, false).await {
            Ok(Picture { bytes, cursor }) => {
                self.cursor = cursor;
                self.show(&bytes);
            }
            Err(_) => self.queue.push_back(Piece::Broken),
        }
    }
}
