//! The clients that are attached to a conversation: one owner, which may act, and observers, which only get events.

use crate::limits;

/// Identifies a client of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// What a client may do in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientRole {
    /// Receive events only.
    Observer,
    /// Act: send prompts, decide, configure.
    Owner,
}

/// The clients in the order in which they attached; the first is the owner.
#[derive(Debug, Clone, Default)]
pub(crate) struct AttachedClients(Vec<ClientId>);

impl AttachedClients {
    /// Attaches a client, unless it is attached already; `None` if there are too many. With `takeover` it becomes the
    /// owner.
    pub(crate) fn attach(&mut self, client: ClientId, takeover: bool) -> Option<ClientRole> {
        let has = self.0.iter().position(|other| *other == client);
        match has {
            None if self.0.len() >= limits::CLIENTS => return None,
            None if takeover => self.0.insert(0, client),
            None => self.0.push(client),
            Some(at) if takeover => {
                self.0.remove(at);
                self.0.insert(0, client);
            }
            Some(_) => {}
        }
        self.role(client)
    }

    /// Detaches a client; returns whether it was the owner.
    pub(crate) fn detach(&mut self, client: ClientId) -> bool {
        let owned = self.owner() == Some(client);
        self.0.retain(|other| *other != client);
        owned
    }

    pub(crate) fn role(&self, client: ClientId) -> Option<ClientRole> {
        let at = self.0.iter().position(|other| *other == client)?;
        Some(if at == 0 { ClientRole::Owner } else { ClientRole::Observer })
    }

    pub(crate) fn owner(&self) -> Option<ClientId> {
        self.0.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ClientId = ClientId(1);
    const B: ClientId = ClientId(2);
    const C: ClientId = ClientId(3);

    // SS-35, SS-36
    #[test]
    fn the_longest_attached_observer_follows_the_owner() {
        let mut clients = AttachedClients::default();
        assert_eq!(clients.attach(A, false), Some(ClientRole::Owner));
        assert_eq!(clients.attach(B, false), Some(ClientRole::Observer));
        assert_eq!(clients.attach(C, false), Some(ClientRole::Observer));
        assert!(!clients.detach(C) && clients.attach(C, false) == Some(ClientRole::Observer));
        assert!(clients.detach(A));
        assert_eq!((clients.role(B), clients.role(C)), (Some(ClientRole::Owner), Some(ClientRole::Observer)));
        assert!(clients.detach(B) && clients.detach(C) && clients.owner().is_none());
    }

    // SS-35
    #[test]
    fn a_takeover_makes_the_owner_an_observer() {
        let mut clients = AttachedClients::default();
        clients.attach(A, false);
        clients.attach(B, false);
        assert_eq!(clients.attach(B, true), Some(ClientRole::Owner));
        assert_eq!(clients.role(A), Some(ClientRole::Observer));
        assert_eq!(clients.attach(C, true), Some(ClientRole::Owner));
        clients.detach(C);
        assert_eq!(clients.owner(), Some(B));
    }

    #[test]
    fn the_number_of_clients_is_limited() {
        let mut clients = AttachedClients::default();
        for n in 0..limits::CLIENTS {
            assert!(clients.attach(ClientId(n as u64), false).is_some());
        }
        assert_eq!(clients.attach(ClientId(9999), false), None);
    }
}
