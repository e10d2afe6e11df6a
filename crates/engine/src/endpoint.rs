//! Per-session ways in, such as a socket that is named after the session.

use crate::Session;
use std::os::fd::OwnedFd;

/// A front that gives each session a way in of its own.
///
/// The engine opens it before a session's process can start and closes it when the session ends, so that
/// nobody finds a session without its endpoint. The descriptor it returns (a listening socket, say) is
/// duplicated into the keeper and handed back after a restart, so that no connect ever fails meanwhile.
pub trait SessionEndpoint: Send + Sync {
    /// Name under which sessions can be kept out of this front.
    fn label(&self) -> &'static str;

    /// Opens the way into `session`; `kept` is what an earlier daemon's call returned.
    fn open(&self, session: &Session, kept: Option<OwnedFd>) -> Result<OwnedFd, String>;

    /// Removes what is left of the way into a session that ended while nobody looked; `kept` as above. The
    /// name may lead into another session by now, whose way must stay.
    fn clear(&self, session: &Session, kept: Option<OwnedFd>);

    /// Closes the way into `session`; clients that are inside stay until they have seen its end.
    fn close(&self, session: &Session);
}
