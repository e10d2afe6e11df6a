//! Bounds the memory that the half-sent messages of all connections of a front take together.
//!
//! A message may be large, and a peer may send it as slowly as it likes. When the messages that are on their way take too much
//! together, the connection that has been sending its message longest is closed: a peer that means it sends a large message within
//! milliseconds.

use crate::conn::read_some;
use crate::limits;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

/// The half-sent messages of a front.
#[derive(Debug)]
pub(crate) struct IncompleteFrames {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    /// By the order in which they began.
    frames: BTreeMap<u64, (usize, CancellationToken)>,
    next: u64,
}

impl Default for IncompleteFrames {
    fn default() -> Self {
        Self::new(limits::INCOMPLETE)
    }
}

impl IncompleteFrames {
    /// At most `most` bytes in all, and what one read adds.
    fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message that begins to arrive.
    fn begin(self: &Arc<Self>) -> IncompleteFrame {
        let evicted = CancellationToken::new();
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.frames.insert(number, (0, evicted.clone()));
        IncompleteFrame { frames: Arc::clone(self), number, evicted }
    }
}

/// Reads a connection's messages, and counts the one that is on its way.
#[derive(Debug)]
pub(crate) struct FrameReader {
    frames: Arc<IncompleteFrames>,
    incomplete: Option<IncompleteFrame>,
}

/// What became of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// There are more bytes.
    More,
    /// The peer sends no more.
    End,
    /// The memory of its half-sent message is needed for others.
    Evicted,
}

impl FrameReader {
    /// Counts the messages of one connection among `frames`.
    pub(crate) fn new(frames: &Arc<IncompleteFrames>) -> Self {
        Self { frames: Arc::clone(frames), incomplete: None }
    }

    /// The message has arrived.
    pub(crate) fn complete(&mut self) {
        self.incomplete = None;
    }

    /// Reads more of a message of which `held` bytes of memory are in use, and passes them to `push`.
    ///
    /// Nothing is lost if the future is dropped.
    pub(crate) async fn read(
        &mut self,
        stream: &UnixStream,
        held: usize,
        push: impl FnMut(&[u8]),
    ) -> ReadOutcome {
        // Most messages arrive whole and are not counted.
        if held > limits::INCOMPLETE_SMALL {
            self.incomplete.get_or_insert_with(|| self.frames.begin()).holds(held);
        }
        let evicted = async {
            match &self.incomplete {
                Some(incomplete) => incomplete.evicted.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = evicted => {
                tracing::info!("closing a connection: half-sent messages take too much memory");
                ReadOutcome::Evicted
            }
            more = read_some(stream, push) => if more { ReadOutcome::More } else { ReadOutcome::End },
        }
    }
}

/// A message of which a part has arrived. It no longer counts when this is dropped.
#[derive(Debug)]
struct IncompleteFrame {
    frames: Arc<IncompleteFrames>,
    number: u64,
    evicted: CancellationToken,
}

impl IncompleteFrame {
    /// This many bytes of it are in memory now.
    fn holds(&self, bytes: usize) {
        let mut state = self.frames.lock();
        let Some((held, _)) = state.frames.get_mut(&self.number) else { return };
        let before = std::mem::replace(held, bytes);
        state.bytes = (state.bytes + bytes).saturating_sub(before);
        while state.bytes > self.frames.most {
            let Some((_, (held, evicted))) = state.frames.pop_first() else { return };
            state.bytes = state.bytes.saturating_sub(held);
            evicted.cancel();
        }
    }
}

impl Drop for IncompleteFrame {
    fn drop(&mut self) {
        let mut state = self.frames.lock();
        if let Some((held, _)) = state.frames.remove(&self.number) {
            state.bytes = state.bytes.saturating_sub(held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_that_began_first_gives_way() {
        let frames = Arc::new(IncompleteFrames::new(100));
        let [slow, small, large] = [(); 3].map(|()| frames.begin());
        slow.holds(40);
        slow.holds(50);
        small.holds(1);
        large.holds(49);
        assert!(!slow.evicted.is_cancelled(), "they fit");
        large.holds(50);
        assert!(slow.evicted.is_cancelled());
        assert!(!small.evicted.is_cancelled() && !large.evicted.is_cancelled());
        slow.holds(60);
        assert_eq!(frames.lock().bytes, 51, "what is closed no longer counts");
        drop((slow, small, large));
        let state = frames.lock();
        assert_eq!((state.bytes, state.frames.len()), (0, 0));
    }

    #[test]
    fn a_message_that_is_too_large_alone_gives_way_itself() {
        let frames = Arc::new(IncompleteFrames::new(100));
        let huge = frames.begin();
        huge.holds(101);
        assert!(huge.evicted.is_cancelled());
        assert_eq!(frames.lock().bytes, 0);
    }
}
