//! The input half of an open terminal.

use super::{ClientState, is_terminal};
use crate::{Caller, roles};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use swb_engine::{ClientGuard, InputError, InputStream, Pty, Seat, Session};
use swb_types::{Role, Size};
use swb_wire::control::{ErrorReply, InputCount, StreamOptions};
use tokio::sync::watch;

/// What a client may type into and resize.
pub struct TerminalInput {
    session: Session,
    pty: Arc<Pty>,
    /// The client asked to watch, or may only watch.
    watch: bool,
    /// Input whose bytes the client has numbered.
    numbered: Option<InputStream>,
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
        let counted = Mutex::new(Some(session.join(caller.counted_as(), caller.pid())));
        let numbered = options.input.filter(|_| !options.watch).and_then(|stream| pty.input_stream(stream));
        Self { session, pty, watch: options.watch, numbered, seat, client, counted }
    }

    /// How far the client's numbered input has come.
    pub(crate) fn count(&self) -> Option<InputCount> {
        let begin = self.numbered.as_ref()?.begin();
        Some(InputCount { new: begin.is_new, written: begin.written, doubtful: begin.doubtful })
    }

    /// Delivers the client's bytes to the program, as far as they are input for it; rejects those of a watcher.
    pub async fn deliver(&self, bytes: &[u8]) -> Result<(), InputError> {
        if self.watch {
            self.refuse();
            return Ok(());
        }
        let typed = self.seat.as_ref().map_or(Cow::Borrowed(bytes), |seat| seat.typed(bytes));
        match &self.numbered {
            Some(stream) => stream.input(bytes.len(), &typed).await,
            None => self.pty.input(&typed).await,
        }
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
