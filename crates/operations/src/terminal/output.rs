//! The output half of an open terminal: what the client gets next.
//!
//! Output is sent unchanged, straight from the ring, as long as the client keeps up and its window has the
//! terminal's size. A client that lags is repainted from the screen model; one whose window has another size sees the
//! part of the screen that fits.

use super::cut_out::CutOut;
use super::direct::Way;
use super::input::refusal;
use super::{ClientState, Opening};
use crate::limits;
use crate::notify::BoardReader;
use std::collections::VecDeque;
use std::sync::Arc;
use swb_engine::{Cursor, CursorStep, EndCause, Mark, OutputRing, Picture, Seat};
use swb_types::{Offset, Role, Size};
use swb_wire::control::{ErrorReply, ExitCause, StreamEvent, StreamOptions};
use tokio::sync::watch;

/// What a client gets next.
#[derive(Debug)]
pub enum Piece {
    /// Output from [`TerminalOutput::cursor`] up to this offset. The transport sends it and advances the cursor, or
    /// calls [`TerminalOutput::lost`].
    Output {
        /// Offset after the last byte.
        to: Offset,
    },
    /// The client reads the output itself from here on: it needs the memory of [`TerminalOutput::ring`].
    Direct {
        /// Offset of the first byte it reads.
        offset: Offset,
    },
    /// Bytes that are not output but show the screen as it was at `offset`.
    Picture {
        /// Offset of the next byte of output.
        offset: Offset,
        /// What to send to the client's terminal.
        bytes: Vec<u8>,
        /// The event before it, if the client asked for one.
        announced: Option<StreamEvent>,
    },
    /// An event at this position of the output.
    Event(StreamEvent),
    /// The client's input was rejected.
    Refused(ErrorReply),
    /// Some of the client's input was withheld (CO-46), as a notice for people.
    Notice(String),
    /// The last event: the stream ends with it.
    End(StreamEvent),
    /// The stream ends without an event: the screen is lost.
    Broken,
}

/// Decides what a client gets next.
pub struct TerminalOutput {
    pub(super) cursor: Cursor,
    pub(super) options: StreamOptions,
    /// Whether the client comes over a network.
    pub(super) remote: bool,
    /// Whether it is served at certain moments only, because it has lagged.
    pub(super) keeps_lagging: bool,
    /// Output before this offset does not wait for such a moment.
    pub(super) due: Offset,
    /// Where a stream ends that does not follow the output.
    until: Option<Offset>,
    pub(super) client: watch::Receiver<ClientState>,
    /// The terminal's size at the cursor, if marks follow there.
    size: Size,
    /// The size of output that the client's window had last, and was sent.
    pub(super) fits: Option<Size>,
    /// The client's place among those whose terminals reply to queries, which it does not see in cut-outs.
    pub(super) seat: Option<Arc<Seat>>,
    refusals: u64,
    /// How often the client was sent the size because its own did not take effect.
    sizes_sent: u64,
    /// How often the client's input was withheld, as far as it was notified of that.
    withheld: u64,
    /// The role that does not allow input, of a client that did not ask to watch.
    limited: Option<Role>,
    pub(super) cut_out: Option<CutOut>,
    /// Whether the client may read the ring itself.
    pub(super) may_read: bool,
    pub(super) way: Way,
    /// How often the client had stopped reading itself when it began the last time.
    pub(super) stops: u64,
    /// Where it began the last time.
    pub(super) began: Offset,
    /// Notifications for the client's terminal, if it asked for them.
    pub(super) notifications: Option<BoardReader>,
    /// Pieces that were decided but not yet returned: at most an event, a picture, an end and the newest notifications.
    pub(super) queue: VecDeque<Piece>,
}

impl TerminalOutput {
    pub(super) fn new(
        opening: Opening,
        options: StreamOptions,
        until: Option<Offset>,
        client: watch::Receiver<ClientState>,
        seat: Option<Arc<Seat>>,
    ) -> Self {
        let (cursor, picture) = match opening {
            Opening::Output(cursor) => (cursor, None),
            Opening::Picture(picture) => (picture.cursor, Some((picture.bytes, picture.size))),
        };
        let size = picture.as_ref().map_or_else(|| cursor.pty().size(), |(_, size)| *size);
        let mut output = Self {
            cursor,
            options,
            remote: false,
            keeps_lagging: false,
            due: Offset::START,
            until,
            client,
            size,
            fits: None,
            seat,
            refusals: 0,
            sizes_sent: 0,
            withheld: 0,
            limited: None,
            cut_out: None,
            notifications: None,
            may_read: false,
            way: Way::Sent,
            stops: 0,
            began: Offset::START,
            queue: VecDeque::new(),
        };
        let window = output.client.borrow().window;
        if let Some((bytes, _)) = picture.filter(|_| !output.needs_cut_out(window)) {
            output.show(&bytes);
        }
        output
    }

    /// Reports rejected input with the role that does not allow it.
    pub(crate) fn limit_to(&mut self, role: Role) {
        self.limited = Some(role);
    }

    /// Notes that the client comes over a network.
    pub(super) fn read_remotely(&mut self) {
        self.remote = true;
        self.cursor.reads_remotely();
    }

    /// Continues after a picture; returns its bytes.
    pub(super) fn continue_after(&mut self, picture: Picture) -> Vec<u8> {
        self.cursor = picture.cursor;
        self.size = picture.size;
        if self.remote {
            self.cursor.reads_remotely();
        }
        picture.bytes
    }

    /// The terminal's size where the cursor is.
    pub(super) fn size_here(&self) -> Size {
        if self.cursor.has_mark() { self.size } else { self.cursor.pty().size() }
    }

    /// The position of the next byte.
    pub fn cursor(&mut self) -> &mut Cursor {
        &mut self.cursor
    }

    /// The memory of the output, opened for reading only.
    pub fn ring(&self) -> Option<&OutputRing> {
        self.cursor.ring()
    }

    /// The bytes to send were overwritten: the client is repainted next.
    pub async fn lost(&mut self) {
        self.repaint_lagging().await;
    }

    /// Waits for the next piece. May be dropped only when the stream ends.
    pub async fn next(&mut self) -> Piece {
        loop {
            let client = *self.client.borrow();
            self.report(&client);
            if let Some(piece) = self.queue.pop_front() {
                return piece;
            }
            let cut = self.needs_cut_out(client.window);
            if self.way != Way::Sent {
                if let Some(piece) = self.next_direct(cut).await {
                    return piece;
                }
                continue;
            }
            match (self.cut_out.take(), cut) {
                (None, false) => {
                    if let Some(piece) = self.next_output().await {
                        return piece;
                    }
                }
                (None, true) => self.begin_cut_out(client.window),
                (Some(cut_out), true) => self.next_cut_out(cut_out).await,
                (Some(_), false) => self.end_cut_out().await,
            }
        }
    }

    /// Reports what became of the client's input, and notifications.
    fn report(&mut self, client: &ClientState) {
        if let Some(role) = self.limited.filter(|_| self.refusals != client.refusals) {
            self.queue.push_back(Piece::Refused(refusal(role)));
        }
        self.refusals = client.refusals;
        if self.sizes_sent != client.sizes_refused {
            self.sizes_sent = client.sizes_refused;
            let (size, generation) = (self.size_here(), self.cursor.pty().generation());
            let (cols, rows) = (size.cols(), size.rows());
            self.queue.push_back(Piece::Event(StreamEvent::Resized { cols, rows, generation }));
        }
        if let Some((count, what)) = client.withheld.filter(|(count, _)| *count != self.withheld) {
            self.withheld = count;
            self.queue.push_back(Piece::Notice(what.notice()));
        }
        if let Some(notifications) = &mut self.notifications {
            self.queue.extend(notifications.take().into_iter().map(Piece::Event));
        }
    }

    async fn next_output(&mut self) -> Option<Piece> {
        if self.until.is_some_and(|until| self.cursor.offset() >= until) {
            return Some(Piece::End(StreamEvent::End { offset: self.cursor.offset() }));
        }
        match self.cursor.step(limits::OUTPUT_PIECE) {
            CursorStep::Output { .. } if self.waits_for_moments() => {
                self.catch_up().await;
                None
            }
            CursorStep::Output { to } => {
                Some(Piece::Output { to: to.min(self.until.unwrap_or(Offset::MAX)) })
            }
            CursorStep::Mark(mark) => self.mark(mark),
            CursorStep::Lost { .. } => {
                self.repaint_lagging().await;
                None
            }
            // A program that has not started has no ring yet, and a keeper of a former version wakes only one sleeper.
            CursorStep::Idle if self.may_read && self.ring().is_some_and(OutputRing::wakes_all) => {
                Some(self.begin_direct())
            }
            CursorStep::Idle => {
                tokio::select! {
                    () = self.cursor.wait() => {}
                    Ok(()) = self.client.changed() => {}
                    () = notified(self.notifications.as_mut()) => {}
                }
                None
            }
        }
    }

    pub(super) fn mark(&mut self, mark: Mark) -> Option<Piece> {
        match mark {
            Mark::Resized { generation, size } => {
                self.size = size;
                let (cols, rows) = (size.cols(), size.rows());
                let event = Piece::Event(StreamEvent::Resized { cols, rows, generation });
                self.options.sizes.then_some(event)
            }
            // CO-62
            Mark::Restarting { delay_ms } => Some(Piece::Event(StreamEvent::PtyRestarting { delay_ms })),
            // CO-61
            Mark::Exited(status, cause) => {
                let cause = match cause {
                    EndCause::Exit => None,
                    EndCause::Kill => Some(ExitCause::Killed),
                    EndCause::KeeperLost => Some(ExitCause::KeeperLost),
                };
                let cause = cause.filter(|_| self.options.offsets || self.options.repaint);
                Some(Piece::End(StreamEvent::PtyExited { code: status.code(), cause }))
            }
        }
    }
}

/// Waits for a notification for the client's terminal.
pub(super) async fn notified(notifications: Option<&mut BoardReader>) {
    match notifications {
        Some(notifications) => notifications.changed().await,
        None => std::future::pending().await,
    }
}
