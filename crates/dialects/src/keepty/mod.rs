//! The keepty front: one socket per session, for Writers, Watchers and Monitors.
//!
//! [`Keepty`] is a [`SessionEndpoint`]: the engine opens it with every session that is offered here, and it accepts
//! connections until the session ends. `roles.rs` keeps the roles of each session; `connection.rs` is the life of a
//! connection.

mod connection;
mod roles;

use crate::conn::{ConnectionLimits, Fronts};
use crate::incomplete_frames::IncompleteFrames;
use crate::limits;
use crate::private_socket::{self, BindError};
use connection::KeeptyConnection;
use roles::Roles;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_engine::{EndpointError, Session, SessionEndpoint};
use swb_types::SessionName;
use tokio_util::sync::CancellationToken;

/// Label of this front.
pub const LABEL: &str = "keepty";

/// The keepty front.
#[derive(Debug)]
pub struct Keepty {
    dir: PathBuf,
    fronts: Fronts,
    /// The half-sent messages of the clients of all sessions.
    incomplete: Arc<IncompleteFrames>,
    /// Open endpoints by session name; cancelling one stops it from accepting connections.
    open: Mutex<BTreeMap<SessionName, (Session, CancellationToken)>>,
}

impl Keepty {
    /// Creates the front with its sockets in `dir`.
    pub fn new(dir: PathBuf, fronts: Fronts) -> Result<Self, BindError> {
        private_socket::private_dir(&dir)?;
        Ok(Self { dir, fronts, incomplete: Arc::default(), open: Mutex::default() })
    }

    fn path(&self, session: &Session) -> PathBuf {
        self.dir.join(format!("keepty-{}.sock", session.name()))
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<SessionName, (Session, CancellationToken)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listener(&self, session: &Session, kept: Option<OwnedFd>) -> Result<OwnedFd, EndpointError> {
        let path = self.path(session);
        let (len, max) = (path.as_os_str().len(), limits::KEEPTY_PATH);
        if len >= max {
            return Err(failed(BindError::TooLong { path, len, max }));
        }
        // A kept listener whose file was removed cannot be reached any more.
        if let Some(kept) = kept.filter(|_| private_socket::is_ours(&path)) {
            return Ok(kept);
        }
        private_socket::private_dir(&self.dir).map_err(failed)?;
        private_socket::bind(&path).map_err(|error| match error {
            BindError::Live(path) => EndpointError::Taken(format!(
                "session '{}' is already running: another program listens on {}",
                session.name(),
                path.display()
            )),
            other => failed(other),
        })
    }
}

fn failed(error: impl ToString) -> EndpointError {
    EndpointError::Failed(error.to_string())
}

impl SessionEndpoint for Keepty {
    fn label(&self) -> &'static str {
        LABEL
    }

    fn open(&self, session: &Session, kept: Option<OwnedFd>) -> Result<OwnedFd, EndpointError> {
        let listener = self.listener(session, kept)?;
        let keep = listener.try_clone().map_err(failed)?;
        let stop = self.fronts.stop.child_token();
        let (fronts, session_handle) = (self.fronts.clone(), session.clone());
        let incomplete = Arc::clone(&self.incomplete);
        let roles = Arc::new(Mutex::new(Roles::default()));
        let serve = move |stream, room| {
            let (roles, incomplete) = (Arc::clone(&roles), Arc::clone(&incomplete));
            KeeptyConnection::new(stream, room, session_handle.clone(), roles, incomplete, &fronts).run()
        };
        // KP-19: no reply to those for which there is no place.
        let allowed = ConnectionLimits {
            most: limits::KEEPTY_CONNECTIONS,
            grace: limits::FIRST_MESSAGE,
            refusal: Box::new(Vec::new),
        };
        self.fronts.accept(listener, stop.clone(), allowed, serve).map_err(failed)?;
        let entry = (session.clone(), stop);
        if let Some((_, former)) = self.table().insert(session.name().clone(), entry) {
            former.cancel();
        }
        Ok(keep)
    }

    fn clear(&self, session: &Session, kept: Option<OwnedFd>) {
        let path = self.path(session);
        let stale = match kept {
            Some(kept) => private_socket::leads_to(&path, kept),
            None => private_socket::is_stale(&path),
        };
        if stale {
            private_socket::unlink(&path);
        }
    }

    fn close(&self, session: &Session) {
        let mut table = self.table();
        // A name that is free again may already belong to another session.
        let ours = table.get(session.name()).is_some_and(|(open, _)| open.is(session));
        if ours && let Some((_, stop)) = table.remove(session.name()) {
            stop.cancel();
            private_socket::unlink(&self.path(session));
        }
    }
}
