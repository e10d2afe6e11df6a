//! Sealed offers and answers that wait for their readers: in memory only, each for a short time and for one reader.

use super::limits;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// Proves the right to read or remove something, as the digest of a code: comparing digests reveals nothing about the code.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Claim([u8; 32]);

impl Claim {
    fn of(code: &str) -> Self {
        Self(Sha256::digest(code.as_bytes()).into())
    }
}

/// What a host publishes.
#[derive(Debug)]
pub(super) struct Publication {
    /// The sealed offer.
    pub(super) offer: String,
    /// What the host shows later, to get the answer.
    pub(super) host: String,
    /// What the peer shows, to get the offer.
    pub(super) peer: String,
}

/// Why something is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nothing waits under this code for this client; the same for every reason.
    Unknown,
    /// The code is in use.
    Taken,
    /// The offer has its answer.
    Answered,
    /// One address has as many offers as it may.
    Share,
    /// All places are in use.
    Full,
}

#[derive(Debug)]
struct Entry {
    host: Claim,
    peer: Claim,
    /// The offer, until it is read.
    offer: Option<String>,
    answer: Option<String>,
    from: IpAddr,
    expires: Instant,
    /// Notified when the answer arrives or the entry is removed.
    changed: Arc<Notify>,
}

/// All offers, by their short codes.
#[derive(Debug, Default)]
pub(super) struct Board {
    entries: HashMap<String, Entry>,
}

/// Whether an answer is there.
#[derive(Debug)]
pub(super) enum Waiting {
    /// Here it is; the entry is gone.
    Answer(String),
    /// Not yet; this notifies when to look again.
    NotYet(Arc<Notify>),
}

impl Board {
    /// Keeps an offer for its peer.
    pub(super) fn publish(
        &mut self,
        code: &str,
        publication: Publication,
        from: IpAddr,
        now: Instant,
    ) -> Result<(), Refusal> {
        self.forget_expired(now);
        if self.entries.contains_key(code) {
            return Err(Refusal::Taken);
        }
        if self.entries.values().filter(|entry| entry.from == from).count() >= limits::OFFERS_OF_ADDRESS {
            return Err(Refusal::Share);
        }
        if self.entries.len() >= limits::OFFERS {
            return Err(Refusal::Full);
        }
        let entry = Entry {
            host: Claim::of(&publication.host),
            peer: Claim::of(&publication.peer),
            offer: Some(publication.offer),
            answer: None,
            from,
            expires: now + limits::LIFETIME,
            changed: Arc::default(),
        };
        self.entries.insert(code.to_owned(), entry);
        Ok(())
    }

    /// The offer, for the first who asks with the peer's code.
    pub(super) fn take_offer(&mut self, code: &str, peer: &str, now: Instant) -> Option<String> {
        self.entry(code, now).filter(|entry| entry.peer == Claim::of(peer))?.offer.take()
    }

    /// Keeps the peer's answer for the host.
    pub(super) fn answer(
        &mut self,
        code: &str,
        peer: &str,
        answer: String,
        now: Instant,
    ) -> Result<(), Refusal> {
        let entry = self.entry(code, now).filter(|entry| entry.peer == Claim::of(peer));
        let entry = entry.ok_or(Refusal::Unknown)?;
        if entry.answer.is_some() {
            return Err(Refusal::Answered);
        }
        entry.answer = Some(answer);
        // An offer that reached its peer by another way is used up, too.
        entry.offer = None;
        entry.changed.notify_waiters();
        Ok(())
    }

    /// The answer, for the host.
    pub(super) fn take_answer(&mut self, code: &str, host: &str, now: Instant) -> Result<Waiting, Refusal> {
        let entry = self.entry(code, now).filter(|entry| entry.host == Claim::of(host));
        let entry = entry.ok_or(Refusal::Unknown)?;
        match entry.answer.take() {
            Some(answer) => {
                self.entries.remove(code);
                Ok(Waiting::Answer(answer))
            }
            None => Ok(Waiting::NotYet(Arc::clone(&entry.changed))),
        }
    }

    /// Removes an offer of this host; whether there was one.
    pub(super) fn remove(&mut self, code: &str, host: &str, now: Instant) -> bool {
        if !self.entry(code, now).is_some_and(|entry| entry.host == Claim::of(host)) {
            return false;
        }
        if let Some(entry) = self.entries.remove(code) {
            entry.changed.notify_waiters();
        }
        true
    }

    /// Forgets what was not fetched in time.
    pub(super) fn forget_expired(&mut self, now: Instant) {
        self.entries.retain(|_, entry| {
            let lives = now < entry.expires;
            if !lives {
                entry.changed.notify_waiters();
            }
            lives
        });
    }

    fn entry(&mut self, code: &str, now: Instant) -> Option<&mut Entry> {
        self.entries.get_mut(code).filter(|entry| now < entry.expires)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    fn publication() -> Publication {
        Publication { offer: "sealed".to_owned(), host: "h".to_owned(), peer: "p".to_owned() }
    }

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    fn board(now: Instant) -> Board {
        let mut board = Board::default();
        board.publish("abc123", publication(), address(1), now).unwrap();
        board
    }

    #[test]
    fn an_offer_is_read_once_and_only_by_its_peer() {
        let now = Instant::now();
        let mut board = board(now);
        for (code, peer) in [("abc124", "p"), ("abc123", ""), ("abc123", "h"), ("abc123", "x")] {
            assert_eq!(board.take_offer(code, peer, now), None, "{code} {peer}");
        }
        assert_eq!(board.take_offer("abc123", "p", now).as_deref(), Some("sealed"));
        assert_eq!(board.take_offer("abc123", "p", now), None);
    }

    #[test]
    fn an_answer_is_given_once_and_read_once() {
        let now = Instant::now();
        let mut board = board(now);
        assert!(matches!(board.take_answer("abc123", "h", now), Ok(Waiting::NotYet(_))));
        assert_eq!(board.answer("abc123", "h", "x".to_owned(), now), Err(Refusal::Unknown));
        assert_eq!(board.answer("abc123", "p", "one".to_owned(), now), Ok(()));
        assert_eq!(board.answer("abc123", "p", "two".to_owned(), now), Err(Refusal::Answered));
        assert!(matches!(board.take_answer("abc123", "p", now), Err(Refusal::Unknown)));
        assert!(
            matches!(board.take_answer("abc123", "h", now), Ok(Waiting::Answer(answer)) if answer == "one")
        );
        assert!(matches!(board.take_answer("abc123", "h", now), Err(Refusal::Unknown)));
        assert!(board.entries.is_empty());
    }

    #[test]
    fn everything_is_forgotten_in_time() {
        let now = Instant::now();
        let mut board = board(now);
        let later = now + limits::LIFETIME;
        assert!(board.take_offer("abc123", "p", later).is_none());
        assert_eq!(board.answer("abc123", "p", "x".to_owned(), later), Err(Refusal::Unknown));
        assert!(matches!(board.take_answer("abc123", "h", later), Err(Refusal::Unknown)));
        board.forget_expired(later - Duration::from_millis(1));
        assert_eq!(board.entries.len(), 1);
        board.forget_expired(later);
        assert!(board.entries.is_empty());
    }

    #[test]
    fn only_the_host_removes_its_offer() {
        let now = Instant::now();
        let mut board = board(now);
        assert!(!board.remove("abc123", "p", now));
        assert!(board.take_offer("abc123", "p", now).is_some(), "still there");
        assert!(board.remove("abc123", "h", now));
        assert!(!board.remove("abc123", "h", now));
    }

    #[test]
    fn places_are_bounded_for_each_address_and_for_all() {
        let now = Instant::now();
        let mut board = board(now);
        assert_eq!(board.publish("abc123", publication(), address(2), now), Err(Refusal::Taken));
        for number in 1..limits::OFFERS_OF_ADDRESS {
            board.publish(&format!("one{number:03}"), publication(), address(1), now).unwrap();
        }
        assert_eq!(board.publish("another", publication(), address(1), now), Err(Refusal::Share));
        for number in board.entries.len()..limits::OFFERS {
            let from = address(1000 + number as u32);
            board.publish(&format!("{number:06}"), publication(), from, now).unwrap();
        }
        assert_eq!(board.publish("another", publication(), address(2), now), Err(Refusal::Full));
        assert_eq!(board.publish("another", publication(), address(2), now + limits::LIFETIME), Ok(()));
    }
}
