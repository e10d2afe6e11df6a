//! What happened between two bytes of output: resizes, restarts, the end.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use swb_types::{ExitStatus, Offset, Size};

/// Something that happened at one offset of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The terminal has this size from here on; `generation` counts from 1.
    Resized {
        /// Number of this resize.
        generation: u32,
        /// The new size.
        size: Size,
    },
    /// The process ended and will be started again.
    Restarting {
        /// Pause before that.
        delay_ms: u64,
    },
    /// The process ended for good; no output follows.
    Exited(ExitStatus, EndCause),
}

/// Why a process ended for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// By itself.
    Exit,
    /// It was killed on request.
    Kill,
    /// Its keeper has ended.
    KeeperLost,
}

/// The newest marks of a PTY, numbered from 0.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Number of the next mark. Readers compare it with theirs and take the lock only if it differs.
    count: AtomicU64,
    list: Mutex<VecDeque<(Offset, Mark)>>,
}

impl Marks {
    pub(crate) fn push(&self, offset: Offset, mark: Mark, most: usize) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() == most {
            list.pop_front();
        }
        list.push_back((offset, mark));
        // SeqCst: a reader that saw output from behind this mark also sees the mark.
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// The first mark numbered `from` or later that is still there, with its number and offset.
    pub(crate) fn get(&self, from: u64) -> Option<(u64, Offset, Mark)> {
        if self.count() <= from {
            return None;
        }
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = self.count() - list.len() as u64;
        let number = from.max(oldest);
        let (offset, mark) = list.get((number - oldest) as usize)?;
        Some((number, *offset, *mark))
    }

    /// The marks numbered `from` or later that are still there, with their offsets.
    pub(crate) fn since(&self, from: u64) -> impl Iterator<Item = (Offset, Mark)> {
        (from..self.count()).map_while(|number| self.get(number)).map(|(_, offset, mark)| (offset, mark))
    }

    /// Whether the size may have changed behind `offset`, as far as marks are still kept.
    pub(crate) fn resized_since(&self, offset: Offset) -> bool {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = self.count() > list.len() as u64 && list.front().is_some_and(|(at, _)| *at >= offset);
        forgotten || list.iter().any(|(at, mark)| *at >= offset && matches!(mark, Mark::Resized { .. }))
    }

    /// Where a new reader starts: after all marks but the end, which every reader receives.
    pub(crate) fn for_newcomer(&self) -> u64 {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = matches!(list.back(), Some((_, Mark::Exited(..))));
        self.count() - u64::from(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resized(generation: u32) -> Mark {
        Mark::Resized { generation, size: Size::DEFAULT }
    }

    #[test]
    fn old_marks_give_way_and_numbers_stay() {
        let marks = Marks::default();
        for n in 0..5 {
            marks.push(Offset(u64::from(n) * 10), resized(n), 3);
        }
        assert_eq!(marks.get(0), Some((2, Offset(20), resized(2))));
        assert_eq!(marks.get(4), Some((4, Offset(40), resized(4))));
        assert_eq!(marks.get(5), None);
    }

    #[test]
    fn resizes_behind_an_offset_are_found() {
        let marks = Marks::default();
        assert!(!marks.resized_since(Offset(0)));
        marks.push(Offset(10), resized(1), 2);
        assert!(marks.resized_since(Offset(10)) && !marks.resized_since(Offset(11)));
        for n in 2..4 {
            marks.push(Offset(20 * n), Mark::Restarting { delay_ms: 0 }, 2);
        }
        assert!(marks.resized_since(Offset(5)), "what was forgotten may have been a resize");
        assert!(!marks.resized_since(Offset(50)));
    }

    #[test]
    fn only_the_end_concerns_a_newcomer() {
        let marks = Marks::default();
        marks.push(Offset(1), resized(1), 3);
        assert_eq!(marks.for_newcomer(), 1);
        let exited = Mark::Exited(ExitStatus::Code(3), EndCause::Exit);
        marks.push(Offset(9), exited, 3);
        assert_eq!(marks.for_newcomer(), 1);
        assert_eq!(marks.get(1), Some((1, Offset(9), exited)));
    }
}
