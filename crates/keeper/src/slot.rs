//! One slot: a PTY with its child and ring, and the descriptors held with it.

use crate::id::{Offset, SlotId};
use crate::limits::{self, KEYS};
use crate::proto::{self, Packet, PacketKind, SlotFlags, Stage};
use crate::pty::{self, Child};
use crate::ring;
use crate::wake::Doorbell;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, Rlimit, Signal, WaitId, WaitIdOptions};
use std::io;
use std::time::Instant;

/// Reports that have not been sent to the daemon yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unsent {
    /// The whole state, for a new daemon. It includes the other reports.
    pub(crate) state: bool,
    pub(crate) spawned: bool,
    pub(crate) failed: Option<(Stage, i32)>,
    pub(crate) exited: bool,
    /// Held descriptors to give to a new daemon, by key.
    pub(crate) held: u32,
}

impl Unsent {
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) ring: Option<ring::RingWriter>,
    pub(crate) master: Option<OwnedFd>,
    pub(crate) child: Option<Child>,
    /// Process id of the latest child, also after its end.
    pub(crate) pid: u64,
    /// The child has not become its program yet.
    pub(crate) starting: bool,
    /// How the child ended ([`proto::encode_exit`]), once its output is complete.
    pub(crate) exit: Option<u64>,
    /// It ended, and output may be left in the PTY; the offset is where draining stops.
    pub(crate) draining: Option<(u64, Offset)>,
    /// It waits: since when, and for what.
    pub(crate) waiting: Option<(Instant, Wait)>,
    /// The last gate that did not move in time.
    pub(crate) stuck: Option<Stuck>,
    pub(crate) held: [Option<OwnedFd>; KEYS],
    pub(crate) unsent: Unsent,
}

/// A gate that did not move in time, and what is done about that until it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stuck {
    gate: Offset,
    /// How often waiting for it timed out.
    times: u32,
    /// Where it is waited for again.
    limit: Offset,
}

/// What a slot's reading waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For this gate to move.
    Gate(Offset),
    /// For a process to open the terminal again that the child has closed.
    Reopening,
}

/// What a round of reading left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Maybe more.
    More,
    /// Nothing for now.
    Empty,
    /// Every process has closed the terminal.
    End,
    /// A reader has to catch up first.
    Gate,
}

impl Slot {
    pub(crate) fn occupied(&self) -> bool {
        self.ring.is_some() || self.held.iter().any(Option::is_some)
    }

    /// Whether a child lives, or its output is not complete yet.
    pub(crate) fn busy(&self) -> bool {
        self.child.is_some() || self.draining.is_some()
    }

    /// Starts a child; the ring is made with the first one and kept for the next.
    pub(crate) fn spawn(&mut self, spec: &OwnedFd, request: &Packet, limits: Rlimit) -> io::Result<()> {
        let (cols, rows) = ((request.a >> 16) as u16, request.a as u16);
        if self.ring.is_none() {
            self.ring = Some(ring::RingWriter::create(request.b)?);
        }
        let (master, slave) = pty::open(cols, rows)?;
        let child = pty::spawn(spec, Some(&slave), limits)?;
        self.pid = Pid::as_raw(Some(child.pid)) as u64;
        self.child = Some(child);
        self.master = Some(master);
        self.starting = true;
        self.exit = None;
        Ok(())
    }

    /// Moves output from the PTY into the ring, at most one round of it, and not far beyond `gate`.
    pub(crate) fn read(&mut self, gate: Option<Offset>) -> (usize, Rest) {
        let (Some(ring), Some(master)) = (&mut self.ring, &self.master) else {
            return (0, Rest::End);
        };
        let limit = match (gate, self.stuck) {
            (None, _) => Offset::MAX,
            (Some(gate), Some(stuck)) if stuck.gate == gate => stuck.limit,
            (Some(gate), _) => gate,
        };
        // Saturating: one round reads little more than its bound.
        let mut total = 0usize;
        while total < limits::READ_ROUND {
            if ring.head() >= limit {
                return (total, Rest::Gate);
            }
            match ring.fill(|space| rustix::io::read(master, space)) {
                Ok(0) | Err(Errno::IO) => return (total, Rest::End),
                Ok(n) if n < limits::BULK => return (total.saturating_add(n), Rest::Empty),
                Ok(n) => total = total.saturating_add(n),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return (total, Rest::Empty),
                Err(_) => return (total, Rest::End),
            }
        }
        (total, Rest::More)
    }

    /// Goes on although `gate` did not move in time.
    ///
    /// First by half a ring at a time: behind a reader that stopped there may be others that do read, and
    /// once it has fallen off the ring they move the gate.
    pub(crate) fn go_beyond(&mut self, gate: Offset) {
        let before = self.stuck.filter(|stuck| stuck.gate == gate);
        let times = before.map_or(0, |stuck| stuck.times).saturating_add(1);
        let ring = self.ring.as_ref().map_or(0, ring::RingWriter::capacity);
        let limit = if times < limits::GATE_WAITS { self.head().after(ring / 2) } else { Offset::MAX };
        self.stuck = Some(Stuck { gate, times, limit });
    }

    /// Wakes readers of the ring; returns whether to ring the daemon's doorbell.
    pub(crate) fn announce(&self, index: SlotId, bell: &Doorbell) -> bool {
        if let Some(ring) = &self.ring {
            ring.wake();
        }
        bell.published(index, self.head())
    }

    /// Notes that the child has ended, if it has.
    pub(crate) fn reap(&mut self) {
        let Some(child) = &self.child else { return };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = match rustix::process::waitid(WaitId::PidFd(child.pidfd.as_fd()), options) {
            Ok(Some(status)) => proto::encode_exit(status.exit_status(), status.terminating_signal()),
            Ok(None) | Err(Errno::INTR) => return,
            // Another part of the process reaped it; its status is unknown.
            Err(_) => proto::encode_exit(None, None),
        };
        if self.starting {
            self.note_start();
        }
        self.child = None;
        self.draining = Some((status, self.head().after(limits::DRAIN)));
    }

    /// Reads on after the child's end; once nothing is left the exit can be reported.
    ///
    /// The kernel delivers everything a dead child wrote before a read finds the PTY empty, so the first
    /// empty read is the end, also when a background process keeps the terminal open.
    /// Returns the master, to be closed: that hangs up all processes the child left on the terminal.
    pub(crate) fn drain(&mut self) -> Option<OwnedFd> {
        let (status, limit) = self.draining?;
        let (_, rest) = self.read(None);
        // A short read may have been cut by a split in the kernel's buffers: read until the kernel has no more.
        let empty = rest == Rest::End || (rest == Rest::Empty && self.read(None).0 == 0);
        if !empty && self.head() < limit {
            return None;
        }
        self.draining = None;
        self.exit = Some(status);
        self.unsent.exited = true;
        self.master.take()
    }

    /// Notes that the child has become its program, or could not.
    pub(crate) fn note_start(&mut self) {
        let Some(started) = self.child.as_mut().and_then(|child| child.started.take()) else { return };
        self.starting = false;
        match pty::start_result(&started) {
            Ok(()) => self.unsent.spawned = true,
            Err(failure) => self.unsent.failed = Some(failure),
        }
    }

    pub(crate) fn signal(&self, number: u64) -> Result<(), Errno> {
        let child = self.child.as_ref().ok_or(Errno::SRCH)?;
        let number = i32::try_from(number).map_err(|_| Errno::INVAL)?;
        let signal = Signal::from_named_raw(number).ok_or(Errno::INVAL)?;
        // Until the child has called setsid there is no such group yet.
        rustix::process::kill_process_group(child.pid, signal)
            .or_else(|_| rustix::process::kill_process(child.pid, signal))
    }

    pub(crate) fn head(&self) -> Offset {
        self.ring.as_ref().map_or(Offset(0), ring::RingWriter::head)
    }

    /// Sends the most important unsent report about this slot.
    pub(crate) fn send_reports(&mut self, index: SlotId, socket: BorrowedFd<'_>) -> rustix::io::Result<()> {
        if self.unsent.state {
            self.send_state(index, socket)?;
            self.unsent = Unsent { held: self.unsent.held, ..Unsent::default() };
        } else if let Some((stage, errno)) = self.unsent.failed {
            let packet = Packet::new(PacketKind::SpawnFailed, index).args(errno as u64, stage as u64);
            proto::send(socket, packet, &[])?;
            self.unsent.failed = None;
        } else if self.unsent.spawned {
            let packet = Packet::new(PacketKind::Spawned, index).args(self.pid, 0);
            self.send_with_fds(packet, socket)?;
            self.unsent.spawned = false;
        } else if self.unsent.exited {
            let packet = Packet::new(PacketKind::Exited, index).args(self.exit.unwrap_or(0), self.head().0);
            proto::send(socket, packet, &[])?;
            self.unsent.exited = false;
        } else if self.unsent.held != 0 {
            send_held(index, self.unsent.held, &self.held, socket)?;
            self.unsent.held = without_lowest(self.unsent.held);
        }
        Ok(())
    }

    fn send_state(&self, index: SlotId, socket: BorrowedFd<'_>) -> rustix::io::Result<()> {
        let mut flags = 0;
        for (set, flag) in [
            (self.ring.is_some(), SlotFlags::RING),
            (self.master.is_some(), SlotFlags::RUNNING),
            (self.exit.is_some(), SlotFlags::EXITED),
            (self.starting, SlotFlags::STARTING),
        ] {
            flags |= if set { flag } else { 0 };
        }
        let packet = Packet::new(PacketKind::Slot, index).key(flags).args(self.pid, self.exit.unwrap_or(0));
        self.send_with_fds(packet, socket)
    }

    /// Sends a packet with the ring and, while it is open, the master.
    fn send_with_fds(&self, packet: Packet, socket: BorrowedFd<'_>) -> rustix::io::Result<()> {
        let ring = match &self.ring {
            Some(ring) => Some(ring.read_only().map_err(|_| Errno::NFILE)?),
            None => None,
        };
        match (&ring, &self.master) {
            (Some(ring), Some(master)) => proto::send(socket, packet, &[ring.as_fd(), master.as_fd()]),
            (Some(ring), None) => proto::send(socket, packet, &[ring.as_fd()]),
            _ => proto::send(socket, packet, &[]),
        }
    }
}

/// Sends the descriptor of the lowest key in `unsent`.
pub(crate) fn send_held(
    slot: SlotId,
    unsent: u32,
    held: &[Option<OwnedFd>],
    socket: BorrowedFd<'_>,
) -> rustix::io::Result<()> {
    let key = unsent.trailing_zeros();
    match held.get(key as usize) {
        Some(Some(fd)) => {
            proto::send(socket, Packet::new(PacketKind::Held, slot).key(key as u16), &[fd.as_fd()])
        }
        _ => Ok(()),
    }
}

/// Clears the lowest bit that is set.
pub(crate) fn without_lowest(bits: u32) -> u32 {
    bits & bits.wrapping_sub(1)
}
