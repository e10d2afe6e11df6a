//! Callers: on whose behalf an operation is executed.

use std::path::Path;
use swb_engine::Session;
use swb_types::{Role, Scope};

/// Label under which attached terminals count as local clients (CO-39).
const LOCAL: &str = "local";
/// Label under which attached terminals count as clients on the web (CO-37).
const WEB: &str = "web";

/// A client that requests operations over some transport.
#[derive(Debug, Clone)]
pub struct Caller {
    role: Role,
    scope: Scope,
    /// Front to whose sessions the caller is limited; our own transports see all sessions.
    front: Option<&'static str>,
    /// The client's process, if it is on this machine.
    pid: Option<u32>,
    /// Whether the client comes over the web or a tunnel.
    remote: bool,
}

impl Caller {
    /// The user: may do everything.
    pub fn owner() -> Self {
        Self::new(Role::Owner, Scope::All)
    }

    /// A caller with a role and a scope.
    pub fn new(role: Role, scope: Scope) -> Self {
        Self { role, scope, front: None, pid: None, remote: false }
    }

    /// Limits the caller to the sessions that a front offers.
    #[must_use]
    pub fn through(mut self, front: &'static str) -> Self {
        self.front = Some(front);
        self
    }

    /// Names the caller's process, for a client on this machine.
    #[must_use]
    pub fn in_process(mut self, pid: Option<u32>) -> Self {
        self.pid = pid;
        self
    }

    /// Marks a client that comes over the web or a tunnel: it counts as such, and its input is filtered (CO-46).
    #[must_use]
    pub fn from_elsewhere(mut self) -> Self {
        self.remote = true;
        self
    }

    /// Whether the client comes over the web or a tunnel.
    pub(crate) fn is_remote(&self) -> bool {
        self.remote
    }

    /// The caller's process, if it is on this machine.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// What the caller may do.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The sessions the caller can reach.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn front(&self) -> Option<&'static str> {
        self.front
    }

    /// Label under which the caller's open terminals are counted.
    pub(crate) fn counted_as(&self) -> &'static str {
        if self.remote { WEB } else { LOCAL }
    }

    /// Whether the caller may send input to terminals and resize them.
    pub(crate) fn may_type(&self) -> bool {
        self.role.includes(Role::Drive)
    }

    /// Whether the caller can see a session.
    pub(crate) fn sees(&self, session: &Session) -> bool {
        self.front.is_none_or(|front| session.is_offered_to(front))
            && self.covers(session.name().as_str(), Some(session.workspace()))
    }

    /// Whether a name and workspace are within the scope: those of a session, of a conversation, or of a
    /// wrapper's session, whose workspace is unknown.
    pub(crate) fn covers(&self, name: &str, workspace: Option<&Path>) -> bool {
        match &self.scope {
            Scope::All => true,
            Scope::Workspace(path) => workspace == Some(path.as_path()),
            Scope::Session(session) => session.as_str() == name,
        }
    }
}

/// Number of clients on the web.
pub(crate) fn web_clients(session: &Session) -> usize {
    session.clients(Some(WEB))
}

/// Number of clients that count as local (CO-39).
pub(crate) fn local_clients(session: &Session) -> usize {
    session.clients(Some(LOCAL))
}
