//! The places of open connections. Peers that have not shown a valid token have few, and make room for others.

use crate::limits;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The open connections of all servers.
#[derive(Debug, Default)]
pub(crate) struct Places {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// Connections that have not shown a valid token, oldest first.
    strangers: BTreeMap<u64, CancellationToken>,
    /// Number of the others.
    known: usize,
}

/// One connection's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    number: u64,
    /// Cancelled when another connection needs the place.
    pub(crate) displaced: CancellationToken,
}

impl Places {
    /// A place for a new connection; `None` if all are taken by clients with a valid token.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Place> {
        let mut table = self.lock();
        let full = table.strangers.len() >= limits::STRANGERS
            || table.strangers.len() + table.known >= limits::CONNECTIONS;
        if full {
            let (_, oldest) = table.strangers.pop_first()?;
            oldest.cancel();
        }
        let (number, displaced) = (table.next, CancellationToken::new());
        table.next += 1;
        table.strangers.insert(number, displaced.clone());
        Some(Place { places: Arc::clone(self), number, displaced })
    }

    /// Number of open connections.
    pub(crate) fn count(&self) -> usize {
        let table = self.lock();
        table.strangers.len() + table.known
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The peer has shown a valid token: it keeps its place.
    pub(crate) fn keep(&self) {
        let mut table = self.places.lock();
        if table.strangers.remove(&self.number).is_some() {
            table.known += 1;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.places.lock();
        if table.strangers.remove(&self.number).is_none() && !self.displaced.is_cancelled() {
            table.known -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_displace_each_other_and_never_a_known_client() {
        let places = Arc::new(Places::default());
        let known = places.take().unwrap();
        known.keep();
        known.keep();
        let strangers: Vec<Place> = (0..limits::STRANGERS).map(|_| places.take().unwrap()).collect();
        let newcomer = places.take().unwrap();
        let displaced = strangers.iter().map(|place| place.displaced.is_cancelled());
        assert_eq!(displaced.collect::<Vec<_>>()[..2], [true, false]);
        assert!(!known.displaced.is_cancelled() && !newcomer.displaced.is_cancelled());
        assert_eq!(places.count(), limits::STRANGERS + 1);
        drop((strangers, newcomer));
        assert_eq!(places.count(), 1);
        drop(known);
        assert_eq!(places.count(), 0);
    }

    #[test]
    fn clients_with_a_token_can_take_all_places_but_not_more() {
        let places = Arc::new(Places::default());
        let mut known = Vec::new();
        for _ in 0..limits::CONNECTIONS {
            let place = places.take().unwrap();
            place.keep();
            known.push(place);
        }
        assert!(places.take().is_none());
        known.pop();
        assert!(places.take().is_some());
    }
}
