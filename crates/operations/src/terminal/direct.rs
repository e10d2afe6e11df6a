//! Clients that read the output themselves, in the memory of the ring: the daemon is woken for none of it.
//!
//! Such a client begins at an offset where everything before it was sent, and reports from time to time how far it
//! came: the output waits for it as for any other reader. It stops when it is asked to, because an event has to be sent
//! at its place in the output, or when it fell off the ring; then the daemon sends the output from its position on.

use super::ClientState;
use super::output::{Piece, TerminalOutput, notified};
use crate::caller::Caller;
use swb_types::{Offset, Role, Scope};
use swb_wire::control::{StreamEvent, StreamOptions};

/// What a client reports about its reading.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading {
    /// How far it has come.
    pub(super) offset: Offset,
    /// How often it has stopped reading.
    pub(super) stops: u64,
}

/// How a client gets its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It is sent.
    Sent,
    /// The client reads it.
    Direct,
    /// The client reads it, and was asked to stop.
    Stopping,
}

/// Whether a client may read the ring of a terminal. The ring contains older output too, and whatever follows for as long
/// as the client keeps the memory: it is for those who may see all of it at any time.
pub(super) fn is_allowed(caller: &Caller, options: &StreamOptions) -> bool {
    let everything =
        caller.role() == Role::Owner && *caller.scope() == Scope::All && caller.front().is_none();
    let here = caller.pid().is_some() && !caller.is_remote();
    options.direct && everything && here && !options.watch && options.until.is_none()
}

impl TerminalOutput {
    /// Lets the client read from here on.
    pub(super) fn begin_direct(&mut self) -> Piece {
        self.way = Way::Direct;
        self.stops = self.client.borrow().reading.stops;
        self.began = self.cursor.offset();
        self.cursor.set_followed(true);
        Piece::Direct { offset: self.cursor.offset() }
    }

    /// Follows a client that reads itself, until it stops. It is asked to when an event has to be sent to it, or when the
    /// terminal's size is another than its window's, so that it needs cut-outs.
    pub(super) async fn next_direct(&mut self, needs_cut_out: bool) -> Option<Piece> {
        let ClientState { reading, window, .. } = *self.client.borrow_and_update();
        self.cursor.follow(reading.offset);
        if reading.stops != self.stops {
            // One that stops unasked where it began cannot read the memory, unless the writer has overtaken it.
            let overtaken = self.began < self.cursor.pty().oldest();
            self.may_read &= self.way == Way::Stopping || reading.offset > self.began || overtaken;
            self.way = Way::Sent;
            self.cursor.set_followed(false);
            // It may have read on behind the resize before it was asked to stop, even if the size is the same again.
            let garbled = |window| self.draws_own_size() && self.cursor.has_passed_resize_to_other(window);
            if window.is_some_and(garbled) {
                self.begin_cut_out(window);
            }
            return None;
        }
        if self.way == Way::Direct && (needs_cut_out || self.cursor.has_mark()) {
            self.way = Way::Stopping;
            return Some(Piece::Event(StreamEvent::Indirect));
        }
        let waits_for_mark = self.way == Way::Direct;
        tokio::select! {
            () = self.cursor.wait_for_mark(), if waits_for_mark => {}
            () = notified(self.notifications.as_mut()) => {}
            changed = self.client.changed() => {
                if changed.is_err() {
                    return Some(Piece::Broken);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_local_owner_without_limits_reads_the_ring() {
        let owner = || Caller::owner().in_process(Some(7));
        let asks = StreamOptions { direct: true, ..StreamOptions::default() };
        assert!(is_allowed(&owner(), &asks));
        assert!(!is_allowed(&owner(), &StreamOptions::default()), "not asked for");
        assert!(!is_allowed(&owner(), &StreamOptions { watch: true, ..asks }));
        let workspace = Scope::Workspace("/w".into());
        for limited in [
            Caller::owner(),
            owner().from_elsewhere(),
            owner().through("coop"),
            Caller::new(Role::Owner, workspace.clone()).in_process(Some(7)),
            Caller::new(Role::Drive, Scope::All).in_process(Some(7)),
            Caller::new(Role::Agent, workspace).in_process(Some(7)),
        ] {
            assert!(!is_allowed(&limited, &asks), "{limited:?}");
        }
    }
}
