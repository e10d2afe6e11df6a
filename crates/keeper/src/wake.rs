//! The doorbell: how the keeper wakes a sleeping daemon for the PTYs that have new output, and only then.
//!
//! A memfd shared by both holds one `alarm` per slot and a bitmap of slots to look at. A daemon that has
//! read enough sets the alarm to the offset that is to wake it and looks at the ring's head once more
//! before it sleeps; a keeper that published bytes looks whether they reach the alarm. Both sides use
//! sequentially consistent operations, so at least one of them notices the other. An eventfd carries the
//! actual wake-up.
//!
//! The other way round the daemon sets a `gate` per slot: the offset up to which the keeper may write
//! before the slowest live reader has caught up. A keeper that stands before a gate records that in `held`,
//! and a daemon that raises the gate sends it on. The gate is a courtesy, not a lock: the keeper waits
//! [`crate::limits::GATE_WAIT`] a few times at most and then ignores a gate that does not move, so that neither a reader that
//! stopped nor a daemon that hangs can stall a child.
//!
//! One more word per slot is the daemon's own: a note to the daemon that follows it.

use crate::id::{Offset, SlotId};
use crate::limits::MAX_SLOTS;
use crate::sys::{Mapping, is_readable, shared_memory};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// No gate: an offset that is never reached. Zero, so that fresh memory is open.
const OPEN: u64 = 0;

/// The shared memory, a word of each kind per slot.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Table {
    /// One bit per slot that rang.
    pending: [AtomicU64; MAX_SLOTS / 64],
    alarm: [AtomicU64; MAX_SLOTS],
    held: [AtomicU32; MAX_SLOTS],
    gate: [AtomicU64; MAX_SLOTS],
    note: [AtomicU64; MAX_SLOTS],
}

const LEN: usize = size_of::<Table>();

// Two versions of this program share a doorbell: its layout is fixed.
const _: () = assert!(
    offset_of!(Table, alarm) == 1024
        && offset_of!(Table, held) == 66_560
        && offset_of!(Table, gate) == 99_328
        && offset_of!(Table, note) == 164_864
        && LEN == 230_400
);

/// One side's view of the doorbell. A slot beyond [`MAX_SLOTS`] has no words: nothing happens with it.
#[derive(Debug)]
pub struct Doorbell {
    map: Mapping<Table>,
    memory: OwnedFd,
    event: OwnedFd,
}

impl Doorbell {
    pub(crate) fn create() -> io::Result<Self> {
        let memory = shared_memory("swb-doorbell", LEN as u64)?;
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

    /// Sets the alarm of `slot` to `offset`, unless an earlier one is set. Check the ring's head again before
    /// sleeping; once it rings, every reader has to set it again.
    pub fn arm(&self, slot: SlotId, offset: Offset) {
        if let Some(alarm) = self.map.words().alarm.get(slot.index()) {
            // Kept upside down, so that fresh memory is no alarm and the larger word is the earlier one.
            alarm.fetch_max(!offset.0, Ordering::SeqCst);
        }
    }

    /// Marks `slot`, whose output ends at `head` now, if that reaches the alarm; returns whether
    /// [`Doorbell::ring`] is due.
    pub(crate) fn published(&self, slot: SlotId, head: Offset) -> bool {
        let Table { alarm, pending, .. } = self.map.words();
        let (Some(alarm), Some(pending)) = (alarm.get(slot.index()), pending.get(slot.index() / 64)) else {
            return false;
        };
        if head < Offset(!alarm.load(Ordering::SeqCst)) {
            return false;
        }
        alarm.store(0, Ordering::SeqCst);
        pending.fetch_or(1 << (slot.0 % 64), Ordering::SeqCst);
        true
    }

    /// Lets the keeper write up to `offset` in `slot`, or without bound. Returns whether it waited at the
    /// former gate and is to be notified.
    pub fn set_gate(&self, slot: SlotId, offset: Option<Offset>) -> bool {
        let Table { gate, held, .. } = self.map.words();
        let (Some(gate), Some(held)) = (gate.get(slot.index()), held.get(slot.index())) else {
            return false;
        };
        gate.store(offset.map_or(OPEN, |offset| offset.0), Ordering::SeqCst);
        held.load(Ordering::SeqCst) != 0
    }

    /// The gate of `slot`, if there is one.
    pub(crate) fn gate(&self, slot: SlotId) -> Option<Offset> {
        let gate = self.map.words().gate.get(slot.index())?.load(Ordering::SeqCst);
        (gate != OPEN).then_some(Offset(gate))
    }

    /// Sets whether the keeper waits at the gate of `slot`.
    pub(crate) fn set_held(&self, slot: SlotId, stands: bool) {
        if let Some(held) = self.map.words().held.get(slot.index()) {
            held.store(u32::from(stands), Ordering::SeqCst);
        }
    }

    /// Leaves a note about `slot` for a daemon that follows this one. The keeper does not read it.
    pub fn leave_note(&self, slot: SlotId, text: u64) {
        if let Some(note) = self.map.words().note.get(slot.index()) {
            note.store(text, Ordering::Relaxed);
        }
    }

    /// The note a former daemon left about `slot`; 0 if there is none.
    pub fn note(&self, slot: SlotId) -> u64 {
        self.map.words().note.get(slot.index()).map_or(0, |note| note.load(Ordering::Relaxed))
    }

    pub(crate) fn ring(&self) {
        // It can only fail when the counter is full, and then the daemon is being woken anyway.
        let _rung = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// Whether the daemon has not answered since it was rung.
    pub(crate) fn is_unanswered(&self) -> bool {
        is_readable(&self.event) == Ok(true)
    }

    /// Takes the slots that got output since the last call and passes each to `woken`.
    pub fn answer(&self, mut woken: impl FnMut(SlotId)) {
        // The counter's value means nothing; reading it only resets the eventfd.
        let _count = rustix::io::read(&self.event, &mut [0u8; 8]);
        for (first, pending) in (0..).step_by(64).zip(&self.map.words().pending) {
            if pending.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = pending.swap(0, Ordering::SeqCst);
            while bits != 0 {
                woken(SlotId(first | bits.trailing_zeros()));
                // Clears the lowest bit that is set.
                bits &= bits.wrapping_sub(1);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(bell: &Doorbell) -> Vec<SlotId> {
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
        assert!(!keeper.published(SlotId(5), Offset(u64::MAX - 1)));
        for slot in [0, 5, 63, 64, MAX_SLOTS as u32 - 1] {
            daemon.arm(SlotId(slot), Offset(1));
        }
        let rung = [5, 64, MAX_SLOTS as u32 - 1].map(SlotId);
        for slot in rung {
            assert!(keeper.published(slot, Offset(1)));
        }
        assert!(!keeper.published(SlotId(5), Offset(2)), "disarmed by the first one");
        assert!(!keeper.is_unanswered());
        keeper.ring();
        assert!(keeper.is_unanswered());
        assert_eq!(answered(&daemon), rung);
        assert!(!keeper.is_unanswered());
        assert_eq!(answered(&daemon), []);
    }

    #[test]
    fn the_earliest_alarm_rings() {
        let bell = Doorbell::create().unwrap();
        bell.arm(SlotId(3), Offset(500));
        bell.arm(SlotId(3), Offset(100));
        bell.arm(SlotId(3), Offset(900));
        assert!(!bell.published(SlotId(3), Offset(99)));
        assert!(bell.published(SlotId(3), Offset(100)));
        assert!(!bell.published(SlotId(3), Offset(1000)), "everybody has to ask anew");
    }

    #[test]
    fn a_gate_is_open_until_it_is_set_and_shows_who_stands_before_it() {
        let bell = Doorbell::create().unwrap();
        assert_eq!(bell.gate(SlotId(7)), None);
        assert!(!bell.set_gate(SlotId(7), Some(Offset(100))));
        assert_eq!(
            (bell.gate(SlotId(7)), bell.gate(SlotId(6)), bell.gate(SlotId(8))),
            (Some(Offset(100)), None, None)
        );
        bell.set_held(SlotId(7), true);
        assert!(bell.set_gate(SlotId(7), None));
        assert_eq!(bell.gate(SlotId(7)), None);
    }

    #[test]
    fn a_slot_beyond_the_last_does_nothing() {
        let bell = Doorbell::create().unwrap();
        for slot in [SlotId(MAX_SLOTS as u32), SlotId::GLOBAL] {
            bell.arm(slot, Offset(0));
            bell.set_held(slot, true);
            bell.leave_note(slot, 1);
            assert!(!bell.published(slot, Offset::MAX) && !bell.set_gate(slot, Some(Offset(1))));
            assert_eq!((bell.gate(slot), bell.note(slot)), (None, 0));
        }
        assert_eq!(answered(&bell), []);
    }
}
