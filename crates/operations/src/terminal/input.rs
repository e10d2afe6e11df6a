//! The input half of an open terminal.

use super::ClientState;
use crate::execute::Call;
use crate::filter::InputFilters;
use crate::limits;
use crate::roles;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use swb_engine::{ClientGuard, InputError, InputStream, Pty, Seat, Session, SizeClaim};
use swb_types::{Offset, PtyId, Role, SessionName, Size};
use swb_wire::control::{ErrorReply, InputCount, StreamOptions};
use tokio::sync::watch;

/// What a client that types holds of a PTY.
pub(super) struct InputClaims {
    /// Held by clients that are terminals; removes their replies to terminal queries if another terminal replies.
    pub(super) seat: Option<Arc<Seat>>,
    /// Its part in the decision about the size.
    pub(super) claim: Option<SizeClaim>,
    /// Input whose bytes the client has numbered.
    pub(super) numbered: Option<InputStream>,
}

/// What a client may type into and resize.
pub struct TerminalInput {
    session: Session,
    pty: Arc<Pty>,
    /// The client asked to watch, or may only watch.
    watch: bool,
    places: InputClaims,
    /// The protocol of another program: its client sets the size itself, when it attaches and whenever it sends one.
    foreign: bool,
    /// The client draws the terminal in the session's size.
    follows_sizes: bool,
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
        places: InputClaims,
    ) -> Self {
        let counted = Mutex::new(Some(session.join(call.caller.counted_as(), call.caller.pid())));
        let filtered = call.caller.is_remote() && pty.id() == PtyId::AGENT;
        let filters = filtered.then(|| Arc::clone(&call.operations.filters));
        let (foreign, follows_sizes) = (!options.repaint, options.sizes);
        let watch = options.watch;
        Self { session, pty, watch, places, foreign, follows_sizes, filters, client, counted }
    }

    /// Name of the terminal's session.
    pub(super) fn session_name(&self) -> &SessionName {
        self.session.name()
    }

    /// How far the client's numbered input has come.
    pub(crate) fn count(&self) -> Option<InputCount> {
        let begin = self.places.numbered.as_ref()?.begin();
        Some(InputCount { new: begin.is_new, written: begin.written, doubtful: begin.doubtful })
    }

    /// Delivers the client's bytes to the program, as far as they are input for it; rejects those of a watcher.
    pub async fn deliver(&self, bytes: &[u8]) -> Result<(), InputError> {
        if self.watch {
            self.refuse();
            return Ok(());
        }
        let typed = self.places.seat.as_ref().map_or(Cow::Borrowed(bytes), |seat| seat.typed(bytes));
        // First the size: the program is to have that of the window in which it is used.
        let claim = self.places.claim.as_ref().filter(|_| !self.foreign);
        if claim.is_some_and(|claim| claim.typed(&typed)) {
            tokio::time::sleep(limits::RESIZE_SETTLES).await;
        }
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
        match &self.places.numbered {
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
        match &self.places.claim {
            None => self.refuse(),
            Some(claim) if self.foreign => {
                claim.note_resized(size);
                self.resize_once(cols, rows).await;
            }
            Some(claim) => {
                let generation = self.pty.generation();
                claim.resized(size);
                // It waits for the size to take effect.
                if self.follows_sizes && self.pty.generation() == generation {
                    self.client.send_modify(|client| client.sizes_refused += 1);
                }
            }
        }
        // Last: by now the terminal has the size, if it is to have it.
        self.client.send_modify(|client| client.window = Some(size));
    }

    /// Sets the terminal's size, independent of the windows that show it.
    pub async fn resize_once(&self, cols: u16, rows: u16) {
        if let Some(size) = Size::new(cols, rows).filter(|_| !self.watch) {
            // CO-58: there is no reply, not even if the PTY is gone.
            let _resized = self.session.resize(self.pty.id(), size).await;
        }
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
        self.places.claim.iter().for_each(SizeClaim::leave);
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
