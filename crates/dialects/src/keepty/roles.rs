//! The roles of the keepty clients of one session, and what they allow.

use swb_wire::keepty::KeeptyRole;

/// Identifies a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionId(u64);

/// The roles in use in one session. The exclusive Writer is a rule among keepty clients only (XS-4).
#[derive(Debug, Default)]
pub(super) struct Roles {
    next: u64,
    writer: Option<ConnectionId>,
}

impl Roles {
    /// Adds a connection; the newest Writer replaces the one before (KP-27).
    pub(super) fn enter(&mut self, role: KeeptyRole) -> ConnectionId {
        self.next += 1;
        let id = ConnectionId(self.next);
        if role == KeeptyRole::Writer {
            self.writer = Some(id);
        }
        id
    }

    /// Removes a connection; a replaced Writer does not get the role back (KP-28).
    pub(super) fn leave(&mut self, id: ConnectionId) {
        if self.writer == Some(id) {
            self.writer = None;
        }
    }

    /// Whether `id` may send input and decides the size (KP-26).
    pub(super) fn is_writer(&self, id: ConnectionId) -> bool {
        self.writer == Some(id)
    }

    /// Whether `id` may end the session (KP-39).
    pub(super) fn may_shut_down(&self, id: ConnectionId, role: KeeptyRole) -> bool {
        role == KeeptyRole::Monitor || self.writer.is_none() || self.is_writer(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // KP-27, KP-28
    #[test]
    fn the_newest_writer_has_the_role_until_it_leaves() {
        let mut roles = Roles::default();
        let first = roles.enter(KeeptyRole::Writer);
        assert!(roles.is_writer(first));
        let second = roles.enter(KeeptyRole::Writer);
        assert!(!roles.is_writer(first) && roles.is_writer(second));
        roles.leave(first);
        assert!(roles.is_writer(second), "a replaced Writer takes nothing with it");
        roles.leave(second);
        assert!(!roles.is_writer(first) && !roles.is_writer(second));
    }

    // KP-39
    #[test]
    fn writer_and_monitors_may_shut_down_and_others_if_there_is_no_writer() {
        let mut roles = Roles::default();
        let watcher = roles.enter(KeeptyRole::Watcher);
        assert!(roles.may_shut_down(watcher, KeeptyRole::Watcher), "there is no Writer");
        let replaced = roles.enter(KeeptyRole::Writer);
        let writer = roles.enter(KeeptyRole::Writer);
        let monitor = roles.enter(KeeptyRole::Monitor);
        assert!(!roles.may_shut_down(watcher, KeeptyRole::Watcher));
        assert!(!roles.may_shut_down(replaced, KeeptyRole::Writer));
        assert!(roles.may_shut_down(writer, KeeptyRole::Writer));
        assert!(roles.may_shut_down(monitor, KeeptyRole::Monitor));
    }
}
