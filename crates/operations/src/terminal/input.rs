//! The input half of an open terminal.

use super::{ClientState, is_terminal};
use crate::{Caller, roles};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use swb_engine::{ClientGuard, Pty, Seat, Session};
use swb_types::{Role, Size};
use swb_wire::control::{ErrorReply, StreamOptions};
use tokio::sync::watch;

/// What a client may type into and resize.
pub struct TerminalInput {
    session: Session,
    pty: Arc<Pty>,
    /// The client asked to watch, or may only watch.
    watch: bool,
    /// Held by clients that are terminals; removes their replies to terminal queries if another terminal replies.
    seat: Option<Seat>,
    client: watch::Sender<ClientState>,
    /// Counts the client among those of the session until it is dropped (CO-39).
    counted: Mutex<Option<ClientGuard>>,
}

impl TerminalInput {
    pub(super) fn new(
        caller: &Caller,
        session: Session,
        pty: Arc<Pty>,
        options: &StreamOptions,
        client: watch::Sender<ClientState>,
    ) -> Self {
        // The protocols of clients other than our own promise that each byte is delivered (CO-56).
        let seat = is_terminal(options).then(|| pty.seat(!options.repaint));
        let counted = Mutex::new(Some(session.join(caller.counted_as())));
        Self { session, pty, watch: options.watch, seat, client, counted }
    }

    /// The PTY that input goes to.
    pub fn pty(&self) -> &Pty {
        &self.pty
    }

    /// The part of the client's bytes that is input for the program; nothing from a watcher.
    pub fn typed<'a>(&self, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if self.watch {
            self.refuse();
            return None;
        }
        Some(self.seat.as_ref().map_or(Cow::Borrowed(bytes), |seat| seat.typed(bytes)))
    }

    /// Sets the size of the client's window; a watcher's size changes its view only, not the terminal.
    pub async fn resize(&self, cols: u16, rows: u16) {
        let Some(size) = Size::new(cols, rows) else { return };
        self.client.send_modify(|client| client.window = size);
        if self.watch {
            return self.refuse();
        }
        // CO-58: there is no reply, not even if the PTY is gone.
        let _resized = self.session.resize(self.pty.id(), size).await;
    }

    /// Stops counting the client: it has left, though its input is still being delivered.
    pub fn leave(&self) {
        drop(self.counted.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn refuse(&self) {
        self.client.send_modify(|client| client.refusals += 1);
    }
}

/// The error for input from a caller whose role does not allow it.
pub(super) fn refusal(role: Role) -> ErrorReply {
    let drive = Role::Drive;
    roles::forbidden(format!("typing and resizing need the role '{drive}'; this connection has '{role}'"))
}
