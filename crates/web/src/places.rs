//! The places of open connections. Peers that have not shown a valid token have places of their own, and make room for
//! each other; a token has a share of the others, and an owner always gets one.

use crate::limits;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_operations::tokens::TokenNumber;
use tokio_util::sync::CancellationToken;

/// The open connections of all servers.
#[derive(Debug, Default)]
pub(crate) struct WebConnections {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// Connections that have not shown a valid token, oldest first.
    strangers: BTreeMap<u64, Stranger>,
    /// The others, oldest first.
    known: BTreeMap<u64, Known>,
}

#[derive(Debug)]
struct Stranger {
    address: IpAddr,
    displaced: CancellationToken,
}

#[derive(Debug)]
struct Known {
    holder: Holder,
    displaced: CancellationToken,
}

/// Whose connection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The token that it has shown.
    pub(crate) token: TokenNumber,
    /// Whether that is an owner's.
    pub(crate) owner: bool,
}

/// One connection's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct WebConnection {
    places: Arc<WebConnections>,
    number: u64,
    /// Cancelled when another connection needs the place.
    pub(crate) displaced: CancellationToken,
}

impl WebConnections {
    /// A place for a new connection. If there are too many, the oldest one of the address with the most of them loses its
    /// own.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> WebConnection {
        let mut table = self.lock();
        if table.strangers.len() >= limits::STRANGERS {
            table.displace_stranger();
        }
        let (number, displaced) = (table.next, CancellationToken::new());
        table.next += 1;
        table.strangers.insert(number, Stranger { address, displaced: displaced.clone() });
        WebConnection { places: Arc::clone(self), number, displaced }
    }

    /// Number of open connections.
    pub(crate) fn count(&self) -> usize {
        let table = self.lock();
        table.strangers.len() + table.known.len()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn displace_stranger(&mut self) {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for stranger in self.strangers.values() {
            *counts.entry(stranger.address).or_default() += 1;
        }
        let most = counts.values().max().copied();
        let crowded = |stranger: &Stranger| counts.get(&stranger.address).copied() == most;
        let oldest = self.strangers.iter().find(|(_, stranger)| crowded(stranger)).map(|(number, _)| *number);
        if let Some(stranger) = oldest.and_then(|number| self.strangers.remove(&number)) {
            stranger.displaced.cancel();
        }
    }

    /// Makes room for a connection that has shown a token; `false` if there is none for it.
    fn make_room(&mut self, holder: Holder) -> bool {
        let same = self.known.values().filter(|known| known.holder == holder).count();
        if !holder.owner && same >= limits::TOKEN_CONNECTIONS {
            return false;
        }
        if self.known.len() < limits::CONNECTIONS {
            return true;
        }
        let other = self.known.iter().find(|(_, known)| holder.owner && !known.holder.owner);
        let Some(number) = other.map(|(number, _)| *number) else { return false };
        if let Some(known) = self.known.remove(&number) {
            known.displaced.cancel();
        }
        true
    }
}

impl WebConnection {
    /// The peer has shown a valid token and keeps its place; `false` if the holder of the token has too many.
    pub(crate) fn keep(&self, holder: Holder) -> bool {
        let mut table = self.places.lock();
        // It may have been displaced in this moment, and ends soon.
        if !table.strangers.contains_key(&self.number) {
            return true;
        }
        if !table.make_room(holder) {
            return false;
        }
        if let Some(stranger) = table.strangers.remove(&self.number) {
            table.known.insert(self.number, Known { holder, displaced: stranger.displaced });
        }
        true
    }
}

impl Drop for WebConnection {
    fn drop(&mut self) {
        let mut table = self.places.lock();
        table.strangers.remove(&self.number);
        table.known.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const OWNER: Holder = Holder { token: TokenNumber(0), owner: true };

    fn guest(number: u64) -> Holder {
        Holder { token: TokenNumber(number), owner: false }
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from(Ipv4Addr::new(10, 0, 0, last))
    }

    #[test]
    fn strangers_displace_each_other_and_never_a_known_client() {
        let places = Arc::new(WebConnections::default());
        let known = places.take(address(1));
        assert!(known.keep(OWNER) && known.keep(OWNER));
        let patient = places.take(address(2));
        let crowd: Vec<WebConnection> = (1..limits::STRANGERS).map(|_| places.take(address(3))).collect();
        let newcomer = places.take(address(3));
        let displaced = crowd.iter().map(|place| place.displaced.is_cancelled());
        assert_eq!(displaced.collect::<Vec<_>>()[..2], [true, false]);
        for kept in [&known, &newcomer, &patient] {
            assert!(!kept.displaced.is_cancelled(), "others of the crowded address go first");
        }
        assert_eq!(places.count(), limits::STRANGERS + 1);
        drop((crowd, newcomer, patient));
        assert_eq!(places.count(), 1);
        drop(known);
        assert_eq!(places.count(), 0);
    }

    #[test]
    fn a_token_has_a_share_of_the_places() {
        let places = Arc::new(WebConnections::default());
        let taken: Vec<WebConnection> =
            (0..limits::TOKEN_CONNECTIONS).map(|_| places.take(address(1))).collect();
        assert!(taken.iter().all(|place| place.keep(guest(1))));
        let further = places.take(address(1));
        assert!(!further.keep(guest(1)) && further.keep(guest(2)));
    }

    #[test]
    fn an_owner_gets_the_place_of_another() {
        let places = Arc::new(WebConnections::default());
        let mut taken = Vec::new();
        for number in 0..limits::CONNECTIONS {
            let place = places.take(address(1));
            assert!(place.keep(guest((1 + number / limits::TOKEN_CONNECTIONS) as u64)));
            taken.push(place);
        }
        let newcomer = places.take(address(2));
        assert!(!newcomer.keep(guest(99)) && newcomer.keep(OWNER));
        assert!(taken[0].displaced.is_cancelled() && !taken[1].displaced.is_cancelled());
        assert_eq!(places.count(), limits::CONNECTIONS);
    }
}
