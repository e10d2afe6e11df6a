//! Input that was typed into a program, with the offset of its output at that time, for the detection of turns.

use super::Pty;
use crate::limits;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use swb_types::Offset;

/// Input that the detector has not taken yet.
#[derive(Debug, Default)]
pub(super) struct Typed {
    recording: AtomicBool,
    queue: Mutex<TypedQueue>,
}

#[derive(Debug, Default)]
struct TypedQueue {
    entries: VecDeque<TypedInput>,
    bytes: usize,
}

/// One piece of input.
#[derive(Debug)]
pub(crate) struct TypedInput {
    /// The offset of the output.
    pub(crate) offset: Offset,
    /// When.
    pub(crate) at: SystemTime,
    /// The bytes; the beginning and the end of a long piece.
    pub(crate) bytes: Vec<u8>,
}

impl Typed {
    fn lock(&self) -> MutexGuard<'_, TypedQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, offset: Offset, input: &[u8]) {
        let half = limits::TYPED_PIECE / 2;
        let bytes = match input.len() > limits::TYPED_PIECE {
            true => [&input[..half], &input[input.len() - half..]].concat(),
            false => input.to_vec(),
        };
        let mut queue = self.lock();
        queue.bytes += bytes.len();
        queue.entries.push_back(TypedInput { offset, at: SystemTime::now(), bytes });
        while queue.bytes > limits::TYPED {
            let Some(oldest) = queue.entries.pop_front() else { break };
            queue.bytes -= oldest.bytes.len();
        }
    }

    fn next(&self, before: Offset) -> Option<TypedInput> {
        let mut queue = self.lock();
        queue.entries.front().filter(|entry| entry.offset <= before)?;
        let entry = queue.entries.pop_front()?;
        queue.bytes -= entry.bytes.len();
        Some(entry)
    }
}

impl Pty {
    /// Starts to record input.
    pub(crate) fn record_typed(&self) {
        self.typed.recording.store(true, Ordering::Relaxed);
    }

    pub(super) fn note_typed(&self, input: &[u8]) {
        if self.typed.recording.load(Ordering::Relaxed) {
            self.typed.push(self.head(), input);
            self.observer.notify_one();
        }
    }

    /// Offset of the output at the oldest input that was not taken yet.
    pub(crate) fn typed_at(&self) -> Option<Offset> {
        self.typed.lock().entries.front().map(|entry| entry.offset)
    }

    /// Takes the oldest input that was typed when the output had not passed `offset`.
    pub(crate) fn take_typed(&self, offset: Offset) -> Option<TypedInput> {
        self.typed.next(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_comes_in_its_place_and_is_bounded() {
        let typed = Typed::default();
        typed.push(Offset(5), b"one");
        typed.push(Offset(9), b"two");
        assert!(typed.next(Offset(4)).is_none());
        assert_eq!(typed.next(Offset(7)).map(|entry| entry.bytes), Some(b"one".to_vec()));
        assert!(typed.next(Offset(8)).is_none());
        let long = vec![b'x'; 10 * limits::TYPED_PIECE];
        for _ in 0..100 {
            typed.push(Offset(9), &long);
        }
        assert!(typed.lock().bytes <= limits::TYPED);
        assert_eq!(typed.next(Offset(9)).unwrap().bytes.len(), limits::TYPED_PIECE);
    }
}
