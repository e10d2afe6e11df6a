//! The input half of an open terminal.

use super::{ClientState, is_terminal};
use crate::execute::Call;
use crate::filter::InputFilters;
use crate::roles;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use swb_engine::{ClientGuard, InputError, InputStream, Pty, Seat, Session};
use swb_types::{Offset, PtyId, Role, SessionName, Size};
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
    /// Withhold keys of clients elsewhere that would end the agent (CO-46).
    filters: Option<Arc<InputFilters>>,
    client: watch::Sender<ClientState>,
    /// Counts the client among those of the session until it is dropped (CO-39).
    counted: Mutex<Option<ClientGuard>>,
}

impl TerminalInput {
    pub(super) fn new(
        call: &Call<'_>,
        session: Session,
        pty: Arc<Pty>,
        options: &StreamOptions,
        client: watch::Sender<ClientState>,
    ) -> Self {
        // The protocols of clients other than our own promise that each byte is delivered (CO-56).
        let seat = is_terminal(options).then(|| pty.seat(!options.repaint));
        let counted = Mutex::new(Some(session.join(call.caller.counted_as(), call.caller.pid())));
        let numbered = options.input.filter(|_| !options.watch).and_then(|stream| pty.input_stream(stream));
        let filtered = call.caller.is_remote() && pty.id() == PtyId::AGENT;
        let filters = filtered.then(|| Arc::clone(&call.operations.filters));
        Self { session, pty, watch: options.watch, numbered, seat, filters, client, counted }
    }

    /// Name of the terminal's session.
    pub(super) fn session_name(&self) -> &SessionName {
        self.session.name()
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
        if let Some(filters) = &self.filters {
            let filtered = filters.feed(&self.session, &typed);
            if let Some(withheld) = filtered.withheld {
                self.client.send_modify(|client| {
                    let count = client.withheld.map_or(0, |(count, _)| count);
                    client.withheld = Some((count + 1, withheld));
                });
            }
            return self.pty.input(&filtered.passed).await;
        }
        match &self.numbered {
            Some(stream) => stream.input(bytes.len(), &typed).await,
            None => self.pty.input(&typed).await,
        }
    }

    /// Waits until bytes that the filter holds back have to be given up, and delivers them. Never returns if there are none.
    pub async fn deliver_held(&self) -> Result<(), InputError> {
        let Some(filters) = &self.filters else { return std::future::pending().await };
        let held = filters.release_later(&self.session).await;
        self.pty.input(&held).await
    }

    /// Delivers bytes that the filter holds back at once: the client has left.
    pub async fn finish(&self) {
        if let Some(filters) = &self.filters {
            let held = filters.release(&self.session);
            // A program that has ended reads nothing.
            let _delivered = self.pty.input(&held).await;
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

    /// Notes how far a client that reads the output itself has come, and whether it `stops`.
    pub fn has_read(&self, offset: Offset, stops: bool) {
        self.client.send_modify(|client| {
            client.reading.offset = offset;
            client.reading.stops += u64::from(stops);
        });
    }

    /// Whether the client may change the terminal's size.
    pub fn may_resize(&self) -> bool {
        !self.watch
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
