//! The doorbell: how the keeper tells a sleeping daemon which PTYs have new output, and only then.
//!
//! A memfd shared by both holds one `alarm` per slot and a bitmap of slots to look at. A daemon that has
//! read enough sets the alarm to the offset that is to wake it and looks at the ring's head once more
//! before it sleeps; a keeper that published bytes looks whether they reach the alarm. Both sides use
//! sequentially consistent operations, so at least one of them notices the other. An eventfd carries the
//! actual wake-up.
//!
//! The other way round the daemon sets a `gate` per slot: the offset up to which the keeper may write
//! before the slowest live reader has caught up. A keeper that stands before a gate says so in `held`,
//! and a daemon that raises the gate sends it on. The gate is a courtesy, not a lock: the keeper waits
//! `PATIENCE` at most a few times and then ignores a gate that does not move, so that neither a reader that
//! stopped nor a daemon that hangs can stall a child.
//!
//! One more word per slot is the daemon's own: a note to the daemon that follows it.

use crate::sys::Mapping;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use std::io;
use std::sync::atomic::Ordering;

/// Slots a keeper has at most: four times what the largest measured user needs.
pub const MAX_SLOTS: usize = 8192;

const AT_PENDING: usize = 0;
const PENDING_WORDS: usize = MAX_SLOTS / 64;
const AT_ALARM: usize = PENDING_WORDS * 8;
const AT_HELD: usize = AT_ALARM + MAX_SLOTS * 8;
const AT_GATE: usize = AT_HELD + MAX_SLOTS * 4;
const AT_NOTE: usize = AT_GATE + MAX_SLOTS * 8;
const LEN: usize = AT_NOTE + MAX_SLOTS * 8;

/// How long the keeper stands before a gate that does not move. Long enough for a reader on a busy
/// machine to get its turn, short enough to be no stall.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_millis(100);
/// No gate: an offset that is never reached. Zero, so that fresh memory is open.
const OPEN: u64 = 0;

/// One side's view of the doorbell.
#[derive(Debug)]
pub struct Doorbell {
    map: Mapping,
    memory: OwnedFd,
    event: OwnedFd,
}

impl Doorbell {
    pub(crate) fn create() -> io::Result<Self> {
        let memory =
            rustix::fs::memfd_create("swb-doorbell", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&memory, LEN as u64)?;
        rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let flags = rustix::event::EventfdFlags::NONBLOCK | rustix::event::EventfdFlags::CLOEXEC;
        let event = rustix::event::eventfd(0, flags)?;
        Self::open(memory, event)
    }

    /// Maps a doorbell from the two descriptors the keeper sent.
    pub fn open(memory: OwnedFd, event: OwnedFd) -> io::Result<Self> {
        if rustix::fs::fstat(&memory)?.st_size != LEN as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a doorbell"));
        }
        Ok(Self { map: Mapping::new(&memory, LEN, true)?, memory, event })
    }

    /// Asks to be woken when the output of `slot` has reached `offset`, or earlier if somebody else asked for
    /// that. Look at the ring's head again before sleeping; once it rings, everybody has to ask anew.
    pub fn arm(&self, slot: u32, offset: u64) {
        // Kept upside down, so that fresh memory is no alarm and the larger word is the earlier one.
        self.map.word64(alarm_at(slot)).fetch_max(!offset, Ordering::SeqCst);
    }

    /// Marks `slot`, whose output ends at `head` now, for the daemon if it asked for that; says whether
    /// [`Doorbell::ring`] is due.
    pub(crate) fn published(&self, slot: u32, head: u64) -> bool {
        let alarm = self.map.word64(alarm_at(slot));
        if head < !alarm.load(Ordering::SeqCst) {
            return false;
        }
        alarm.store(0, Ordering::SeqCst);
        let (word, bit) = (slot as usize / 64, slot % 64);
        self.map.word64(AT_PENDING + word * 8).fetch_or(1 << bit, Ordering::SeqCst);
        true
    }

    /// Lets the keeper write up to `offset` in `slot`, or without bound. Says whether it stood before the
    /// former gate and is to be sent on.
    pub fn set_gate(&self, slot: u32, offset: Option<u64>) -> bool {
        self.map.word64(gate_at(slot)).store(offset.unwrap_or(OPEN), Ordering::SeqCst);
        self.map.word32(held_at(slot)).load(Ordering::SeqCst) != 0
    }

    /// The gate of `slot`, if there is one.
    pub(crate) fn gate(&self, slot: u32) -> Option<u64> {
        Some(self.map.word64(gate_at(slot)).load(Ordering::SeqCst)).filter(|gate| *gate != OPEN)
    }

    /// Says whether the keeper stands before the gate of `slot`.
    pub(crate) fn set_held(&self, slot: u32, held: bool) {
        self.map.word32(held_at(slot)).store(u32::from(held), Ordering::SeqCst);
    }

    /// Leaves a note about `slot` for a daemon that follows this one. The keeper does not read it.
    pub fn leave_note(&self, slot: u32, note: u64) {
        self.map.word64(note_at(slot)).store(note, Ordering::Relaxed);
    }

    /// The note a former daemon left about `slot`; 0 if there is none.
    pub fn note(&self, slot: u32) -> u64 {
        self.map.word64(note_at(slot)).load(Ordering::Relaxed)
    }

    pub(crate) fn ring(&self) {
        // It can only fail when the counter is full, and then the daemon is being woken anyway.
        let _rung = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// Takes the slots that got output since the last call and passes each to `woken`.
    pub fn answer(&self, mut woken: impl FnMut(u32)) {
        // The counter's value says nothing; reading it only silences the bell.
        let _count = rustix::io::read(&self.event, &mut [0u8; 8]);
        for word in 0..PENDING_WORDS {
            let pending = self.map.word64(AT_PENDING + word * 8);
            if pending.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = pending.swap(0, Ordering::SeqCst);
            while bits != 0 {
                woken(word as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// The eventfd to wait on.
    pub fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    pub(crate) fn memory(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

fn held_at(slot: u32) -> usize {
    AT_HELD + (slot as usize % MAX_SLOTS) * 4
}

fn gate_at(slot: u32) -> usize {
    AT_GATE + (slot as usize % MAX_SLOTS) * 8
}

fn alarm_at(slot: u32) -> usize {
    AT_ALARM + (slot as usize % MAX_SLOTS) * 8
}

fn note_at(slot: u32) -> usize {
    AT_NOTE + (slot as usize % MAX_SLOTS) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(bell: &Doorbell) -> Vec<u32> {
        let mut slots = Vec::new();
        bell.answer(|slot| slots.push(slot));
        slots
    }

    #[test]
    fn only_armed_slots_ring_and_only_once() {
        let keeper = Doorbell::create().unwrap();
        let daemon = Doorbell::open(
            keeper.memory().try_clone_to_owned().unwrap(),
            keeper.event().try_clone_to_owned().unwrap(),
        )
        .unwrap();
        assert!(!keeper.published(5, u64::MAX - 1));
        for slot in [0, 5, 63, 64, MAX_SLOTS as u32 - 1] {
            daemon.arm(slot, 1);
        }
        for slot in [5, 64, MAX_SLOTS as u32 - 1] {
            assert!(keeper.published(slot, 1));
        }
        assert!(!keeper.published(5, 2), "disarmed by the first one");
        keeper.ring();
        assert_eq!(answered(&daemon), [5, 64, MAX_SLOTS as u32 - 1]);
        assert_eq!(answered(&daemon), [] as [u32; 0]);
    }

    #[test]
    fn the_earliest_alarm_rings() {
        let bell = Doorbell::create().unwrap();
        bell.arm(3, 500);
        bell.arm(3, 100);
        bell.arm(3, 900);
        assert!(!bell.published(3, 99));
        assert!(bell.published(3, 100));
        assert!(!bell.published(3, 1000), "everybody has to ask anew");
    }

    #[test]
    fn a_gate_is_open_until_it_is_set_and_tells_who_stands_before_it() {
        let bell = Doorbell::create().unwrap();
        assert_eq!(bell.gate(7), None);
        assert!(!bell.set_gate(7, Some(100)));
        assert_eq!((bell.gate(7), bell.gate(6), bell.gate(8)), (Some(100), None, None));
        bell.set_held(7, true);
        assert!(bell.set_gate(7, None));
        assert_eq!(bell.gate(7), None);
    }
}
