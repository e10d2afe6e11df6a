//! Endpoints of sessions, such as a socket that is named after the session.

use crate::Session;
use std::os::fd::OwnedFd;

/// Why an endpoint cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Another program has it: clients that ask for the session by its name would reach that program.
    #[error("{0}")]
    Taken(String),
    /// It cannot be offered, so clients of this front do not reach the session.
    #[error("{0}")]
    Failed(String),
}

/// A front that has an endpoint for each session.
///
/// The engine opens the endpoint before a session's process can start and closes it when the session ends, so a listed
/// session always has its endpoint. The descriptor that `open` returns (a listening socket, say) is duplicated into the
/// keeper and handed back after a restart, so connects during a restart wait instead of failing.
pub trait SessionEndpoint: Send + Sync {
    /// Label by which a session can be hidden from this front.
    fn label(&self) -> &'static str;

    /// Opens the endpoint of `session`; `kept` is the descriptor that an earlier daemon's call returned.
    fn open(&self, session: &Session, kept: Option<OwnedFd>) -> Result<OwnedFd, EndpointError>;

    /// Removes the endpoint of a session that ended while no daemon ran; `kept` as above. Another session may have the
    /// name by now, and its endpoint must stay.
    fn clear(&self, session: &Session, kept: Option<OwnedFd>);

    /// Closes the endpoint of `session`; connected clients stay until they have received its end.
    fn close(&self, session: &Session);
}
