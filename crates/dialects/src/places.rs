//! The places of a listening socket: how many connections it serves, and which of them make room for a new one.
//!
//! A connection that waits for its peer's next request has an [`IdlePeriod`]. When all places are taken, the connection
//! that has been idle longest is displaced by the new one, so that no number of idle connections locks out a client
//! that has something to request. A connection without a period (an open terminal, a stream of events, a wrapper with
//! its session, a request that is being executed) is never displaced.

use crate::conn::ConnectionCount;
use crate::limits;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The places of one listening socket.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    free: Arc<Semaphore>,
    idle: Arc<IdleConnections>,
    /// Number of connections of all sockets.
    open: Arc<ConnectionCount>,
    /// When a connection last waited for a place that did not become free.
    waited: Option<Instant>,
}

impl ConnectionLimit {
    /// `most` places; a connection can be displaced when it has been idle for `grace`.
    pub(crate) fn new(most: usize, grace: Duration, open: Arc<ConnectionCount>) -> Self {
        let idle = IdleConnections { grace, ..IdleConnections::default() };
        Self { free: Arc::new(Semaphore::new(most)), idle: Arc::new(idle), open, waited: None }
    }

    /// A place for a new connection, if need be that of the connection that has been idle longest.
    pub(crate) async fn take(&mut self) -> Option<ConnectionPermit> {
        let permit = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait().await?,
        };
        Some(ConnectionPermit::new(permit, Arc::clone(&self.idle), Arc::clone(&self.open)))
    }

    /// Waits for a place that is about to be free.
    async fn wait(&mut self) -> Option<OwnedSemaphorePermit> {
        // If no connection is idle, one may just have ended. Only the first of many new connections waits for that, so that
        // a thousand refusals do not take a thousand waits.
        let wait = match self.displace() {
            true => limits::DISPLACED,
            false if self.waited.is_some_and(|waited| waited.elapsed() < limits::PLACE) => return None,
            false => limits::PLACE,
        };
        let freed = tokio::time::timeout(wait, Arc::clone(&self.free).acquire_owned()).await;
        if freed.is_err() {
            self.waited = Some(Instant::now());
        }
        freed.ok()?.ok()
    }

    /// Closes the connection that has been idle longest; `false` if none is.
    pub(crate) fn displace(&self) -> bool {
        self.idle.displace(Instant::now())
    }
}

/// A connection's place among those that are served at a time; freed when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    _place: OwnedSemaphorePermit,
    idle: Arc<IdleConnections>,
    open: Arc<ConnectionCount>,
}

impl ConnectionPermit {
    pub(crate) fn new(
        place: OwnedSemaphorePermit,
        idle: Arc<IdleConnections>,
        open: Arc<ConnectionCount>,
    ) -> Self {
        open.add();
        Self { _place: place, idle, open }
    }

    /// The connection waits for its peer: until the period is dropped, it may be displaced.
    pub(crate) fn idle(&self) -> IdlePeriod {
        self.idle.begin(Instant::now())
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.open.remove();
    }
}

/// The connections of a socket that can be displaced, in the order in which they became idle.
#[derive(Debug, Default)]
pub(crate) struct IdleConnections {
    grace: Duration,
    periods: Mutex<BTreeMap<PeriodKey, CancellationToken>>,
    count: AtomicU64,
}

/// Since when a connection is idle, and a number that distinguishes periods of the same moment.
type PeriodKey = (Instant, u64);

impl IdleConnections {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PeriodKey, CancellationToken>> {
        self.periods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(self: &Arc<Self>, now: Instant) -> IdlePeriod {
        let key = (now, self.count.fetch_add(1, Ordering::Relaxed));
        let displaced = CancellationToken::new();
        self.lock().insert(key, displaced.clone());
        IdlePeriod { connections: Arc::clone(self), key, displaced }
    }

    fn displace(&self, now: Instant) -> bool {
        let mut periods = self.lock();
        let longest = periods.first_entry().filter(|entry| now.duration_since(entry.key().0) >= self.grace);
        longest.map(|entry| entry.remove().cancel()).is_some()
    }
}

/// The time in which a connection waits for its peer.
#[derive(Debug)]
pub(crate) struct IdlePeriod {
    connections: Arc<IdleConnections>,
    key: PeriodKey,
    displaced: CancellationToken,
}

impl IdlePeriod {
    /// Waits until the place is needed for another connection.
    pub(crate) async fn displaced(&self) {
        self.displaced.cancelled().await;
    }
}

impl Drop for IdlePeriod {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.key);
    }
}

/// Waits until a connection is displaced; forever if it cannot be.
pub(crate) async fn displaced(idle: Option<&IdlePeriod>) {
    match idle {
        Some(idle) => idle.displaced().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(most: usize, grace: Duration) -> ConnectionLimit {
        ConnectionLimit::new(most, grace, Arc::default())
    }

    /// Takes a place for a connection that stays idle until it is displaced.
    async fn idler(places: &mut ConnectionLimit) -> tokio::task::JoinHandle<()> {
        let room = places.take().await.unwrap();
        let period = room.idle();
        tokio::task::spawn(async move {
            period.displaced().await;
            drop(room);
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_connection_that_has_been_idle_longest_makes_room() {
        let mut places = places(2, Duration::ZERO);
        let busy = places.take().await.unwrap();
        drop(busy.idle());
        let first = idler(&mut places).await;
        tokio::time::advance(Duration::from_secs(1)).await;
        let second = idler(&mut places).await;
        assert!(first.await.is_ok());
        let third = places.take().await.unwrap();
        assert!(second.await.is_ok());
        // The rest is busy.
        assert!(places.take().await.is_none());
        assert_eq!(places.open.get(), 2);
        drop((busy, third));
        assert_eq!(places.open.get(), 0);
        assert!(places.take().await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_idle_for_a_moment_is_not_displaced() {
        let mut places = places(1, Duration::from_secs(2));
        let idle = idler(&mut places).await;
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(places.take().await.is_none());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(places.take().await.is_some());
        assert!(idle.await.is_ok());
    }
}
