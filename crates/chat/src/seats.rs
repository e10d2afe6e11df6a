//! Who is attached to a conversation: one owner, who may act, and observers, who may look.

use crate::limits;

/// Tells the clients of a daemon apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// A client's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It may only look.
    Observer,
    /// It may act.
    Owner,
}

/// The clients in the order they came; the first is the owner.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seats(Vec<ClientId>);

impl Seats {
    /// Takes a seat, or keeps the one it has; nothing if there is none left. Whoever takes over comes first.
    pub(crate) fn take(&mut self, client: ClientId, takeover: bool) -> Option<Place> {
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
        self.place(client)
    }

    /// Gives a seat back; whether it was the owner's.
    pub(crate) fn leave(&mut self, client: ClientId) -> bool {
        let owned = self.owner() == Some(client);
        self.0.retain(|other| *other != client);
        owned
    }

    pub(crate) fn place(&self, client: ClientId) -> Option<Place> {
        let at = self.0.iter().position(|other| *other == client)?;
        Some(if at == 0 { Place::Owner } else { Place::Observer })
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
        let mut seats = Seats::default();
        assert_eq!(seats.take(A, false), Some(Place::Owner));
        assert_eq!(seats.take(B, false), Some(Place::Observer));
        assert_eq!(seats.take(C, false), Some(Place::Observer));
        assert!(!seats.leave(C) && seats.take(C, false) == Some(Place::Observer));
        assert!(seats.leave(A));
        assert_eq!((seats.place(B), seats.place(C)), (Some(Place::Owner), Some(Place::Observer)));
        assert!(seats.leave(B) && seats.leave(C) && seats.owner().is_none());
    }

    // SS-35
    #[test]
    fn who_takes_over_makes_the_owner_an_observer() {
        let mut seats = Seats::default();
        seats.take(A, false);
        seats.take(B, false);
        assert_eq!(seats.take(B, true), Some(Place::Owner));
        assert_eq!(seats.place(A), Some(Place::Observer));
        assert_eq!(seats.take(C, true), Some(Place::Owner));
        seats.leave(C);
        assert_eq!(seats.owner(), Some(B));
    }

    #[test]
    fn there_is_an_end_to_seats() {
        let mut seats = Seats::default();
        for n in 0..limits::CLIENTS {
            assert!(seats.take(ClientId(n as u64), false).is_some());
        }
        assert_eq!(seats.take(ClientId(9999), false), None);
    }
}
