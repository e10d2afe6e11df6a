//! The keeper's loop: one thread, one epoll, no allocation once a session runs, no waiting for anybody.
//!
//! Whatever the daemon has to learn is kept as flags on the slots ([`crate::slot::Unsent`]) rather than
//! in a queue, so a daemon that does not read costs nothing and misses nothing.

use crate::proto::{self, GLOBAL, KEY_DAEMON, KEYS, Kind, Packet, Received};
use crate::pty::{self, Child};
use crate::slot::{Rest, Slot, Wait};
use crate::successor::Successor;
use crate::wake::{Doorbell, MAX_SLOTS, PATIENCE};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::process::{Rlimit, WaitId, WaitIdOptions};
use std::io;
use std::time::{Duration, Instant};

/// How long a keeper that nobody has ever spoken to waits for its first daemon.
const FIRST_HELLO: Duration = Duration::from_secs(10);
/// How long the output of children that ended while no daemon ran is kept for the next one.
const LINGER: Duration = Duration::from_secs(24 * 60 * 60);
/// Packets taken from the daemon before the PTYs get their turn.
const PACKETS_PER_ROUND: usize = 64;
/// How long a replacement waits for children that are just being started or have just ended.
const REPLACE_WAIT: Duration = Duration::from_secs(1);
/// How often a terminal is looked at that its child has closed: seldom enough to cost nothing, and the
/// little that fits the terminal's own buffer waits no longer than this.
const REOPENING: Duration = Duration::from_millis(200);
/// Epoll events taken per round; the kernel rotates through what is left.
const EVENTS_PER_ROUND: usize = 128;

/// What an epoll event is about; the slot is in the low half of the event's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Source {
    Listener = 0,
    Daemon = 1,
    DaemonProcess = 2,
    Master = 3,
    Process = 4,
    Started = 5,
}

fn data(source: Source, slot: u32) -> EventData {
    EventData::new_u64(u64::from(source as u32) << 32 | u64::from(slot))
}

/// A daemon's connection.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) socket: OwnedFd,
    pub(crate) pid: u64,
    /// It has said hello, and everything it must know is being sent.
    pub(crate) welcomed: bool,
    /// `Adopted` has not been sent yet.
    pub(crate) adopting: bool,
}

/// The keeper's whole state.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) listener: OwnedFd,
    /// Holding its lock is what makes this process the keeper of its directory.
    pub(crate) lock: OwnedFd,
    pub(crate) slots: Vec<Slot>,
    pub(crate) global: [Option<OwnedFd>; KEYS],
    pub(crate) global_unsent: u8,
    pub(crate) bell: Doorbell,
    pub(crate) daemon: Option<Daemon>,
    pub(crate) successor: Successor,
    /// The limit on open files that children are to have, which is not the keeper's own.
    pub(crate) limits: Rlimit,
    epoll: OwnedFd,
    idle_since: Instant,
    /// Slots to look at without an event: draining, or waiting for something.
    restless: Vec<u32>,
    /// Some slot has something to tell the daemon.
    news: bool,
    /// What this keeper is to become as soon as no child is between two states, and until when it tries.
    next_image: Option<(OwnedFd, Instant)>,
}

impl Keeper {
    pub(crate) fn new(listener: OwnedFd, lock: OwnedFd, limits: Rlimit) -> io::Result<Self> {
        Self::with_parts(listener, lock, limits, Doorbell::create()?, Successor::default())
    }

    pub(crate) fn with_parts(
        listener: OwnedFd,
        lock: OwnedFd,
        limits: Rlimit,
        bell: Doorbell,
        successor: Successor,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, data(Source::Listener, 0), EventFlags::IN)?;
        Ok(Self {
            listener,
            lock,
            slots: Vec::new(),
            global: Default::default(),
            global_unsent: 0,
            bell,
            daemon: None,
            successor,
            limits,
            epoll,
            idle_since: Instant::now(),
            // Room for all there can be, so that the loop never allocates.
            restless: Vec::with_capacity(MAX_SLOTS),
            news: false,
            next_image: None,
        })
    }

    /// Watches a slot's descriptors after the slot was filled.
    pub(crate) fn watch(&self, index: u32) -> io::Result<()> {
        let slot = &self.slots[index as usize];
        if let Some(master) = &slot.master {
            epoll::add(&self.epoll, master, data(Source::Master, index), EventFlags::IN)?;
        }
        if let Some(child) = &slot.child {
            epoll::add(&self.epoll, &child.pidfd, data(Source::Process, index), EventFlags::IN)?;
            if slot.starting {
                epoll::add(&self.epoll, &child.started, data(Source::Started, index), EventFlags::IN)?;
            }
        }
        Ok(())
    }

    /// Watches the daemon's connection.
    pub(crate) fn watch_daemon(&self) -> io::Result<()> {
        if let Some(daemon) = &self.daemon {
            epoll::add(&self.epoll, &daemon.socket, data(Source::Daemon, 0), EventFlags::IN)?;
        }
        Ok(())
    }

    /// Watches the daemon's process, if this one is its parent.
    pub(crate) fn watch_successor(&self) -> io::Result<()> {
        if let Some(child) = self.successor.process() {
            epoll::add(&self.epoll, &child.pidfd, data(Source::DaemonProcess, 0), EventFlags::IN)?;
        }
        Ok(())
    }

    /// Runs until nobody needs this keeper any more.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_PER_ROUND);
        loop {
            let Some(timeout) = self.before_sleep() else {
                return Ok(());
            };
            events.clear();
            let timeout = rustix::fs::Timespec {
                tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: timeout.subsec_nanos().into(),
            };
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.round(&events);
        }
    }

    /// Does what is due without an event; gives the time to sleep, or nothing when the keeper is done.
    fn before_sleep(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if self.daemon.is_none() && self.successor.due(now) {
            self.start_daemon(now);
        }
        if let Some(soon) = self.soonest_restless(now) {
            return Some(self.successor.until_due(now).map_or(soon, |due| due.min(soon)));
        }
        if self.daemon.is_some() || self.successor.awaited() {
            self.idle_since = now;
            return Some(self.successor.until_due(now).unwrap_or(LINGER));
        }
        let patience = if self.slots.iter().any(Slot::busy) {
            return Some(LINGER);
        } else if self.slots.iter().any(Slot::occupied) {
            LINGER
        } else if self.successor.was_served() {
            return None;
        } else {
            FIRST_HELLO
        };
        patience.checked_sub(now.duration_since(self.idle_since))
    }

    /// When a slot has to be looked at without an event.
    fn soonest_restless(&self, now: Instant) -> Option<Duration> {
        let until = |index: &u32| match self.slots[*index as usize].waiting {
            Some((since, wait)) => (since + patience(wait)).saturating_duration_since(now),
            None => Duration::ZERO,
        };
        self.restless.iter().map(until).min()
    }

    fn round(&mut self, events: &[epoll::Event]) {
        // Control first: a key pressed in one session does not wait for the flood of another.
        let source = |event: &epoll::Event| (event.data.u64() >> 32) as u32;
        for event in events.iter().filter(|e| source(e) <= Source::DaemonProcess as u32) {
            match source(event) {
                0 => self.accept(),
                1 => self.serve_daemon(),
                _ => self.reap_daemon(),
            }
        }
        let mut ring = false;
        for event in events.iter().filter(|e| source(e) > Source::DaemonProcess as u32) {
            let index = event.data.u64() as u32;
            match source(event) {
                3 => ring |= self.read_output(index),
                4 => self.reap(index),
                _ => self.note_start(index),
            }
        }
        ring |= self.look_after_restless();
        if ring {
            self.bell.ring();
        }
        self.send_news();
        self.replace_when_quiet();
    }

    fn read_output(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        let (n, rest) = slot.read(self.bell.gate(index));
        if matches!(rest, Rest::End | Rest::Gate)
            && let Some(master) = &slot.master
        {
            // A hung-up master is readable for ever, and so is one that has to wait: look elsewhere for news
            // of them, at the child's end, at the gate, or after a while.
            let _deleted = epoll::delete(&self.epoll, master);
        }
        let wait = match rest {
            Rest::Gate => Some(Wait::Gate(self.bell.gate(index).unwrap_or(0))),
            Rest::End if slot.child.is_some() => Some(Wait::Reopening),
            _ => None,
        };
        if let Some(wait) = wait {
            slot.waiting = Some((Instant::now(), wait));
            self.bell.set_held(index, rest == Rest::Gate);
            self.restless.push(index);
        }
        n > 0 && slot.announce(index, &self.bell)
    }

    /// Looks at slots that drain or wait for something; says whether the daemon's bell is to be rung.
    fn look_after_restless(&mut self) -> bool {
        let mut ring = false;
        let mut at = 0;
        while let Some(&index) = self.restless.get(at) {
            let slot = &mut self.slots[index as usize];
            if slot.waiting.is_some() {
                self.try_again(index);
            } else if slot.draining.is_some() {
                if let Some(master) = slot.drain() {
                    // The daemon's duplicate keeps it registered beyond our close.
                    let _deleted = epoll::delete(&self.epoll, &master);
                }
                self.news |= slot.unsent.any();
                ring |= slot.announce(index, &self.bell);
            }
            let slot = &self.slots[index as usize];
            if slot.waiting.is_none() && slot.draining.is_none() {
                self.restless.swap_remove(at);
            } else {
                at += 1;
            }
        }
        ring
    }

    /// Goes on with a slot that has what it waited for, or has waited for long enough.
    fn try_again(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Some((since, wait)) = slot.waiting else { return };
        let waits = slot.child.is_some()
            && match wait {
                Wait::Gate(gate) => self.bell.gate(index) == Some(gate),
                Wait::Reopening => true,
            };
        if waits {
            if since.elapsed() < patience(wait) {
                return;
            }
            if let Wait::Gate(gate) = wait {
                slot.go_beyond(gate);
            }
        }
        slot.waiting = None;
        self.bell.set_held(index, false);
        if let Some(master) = &slot.master {
            let _added = epoll::add(&self.epoll, master, data(Source::Master, index), EventFlags::IN);
        }
    }

    fn reap(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.reap();
        self.news |= slot.unsent.any();
        if slot.draining.is_some() && slot.waiting.is_none() {
            self.restless.push(index);
        }
    }

    fn note_start(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if let Some(child) = &slot.child {
            let _deleted = epoll::delete(&self.epoll, &child.started);
        }
        slot.note_start();
        self.news |= slot.unsent.any();
    }

    /// Nobody reads any more: children must not wait for them.
    fn open_gates(&mut self) {
        for index in 0..self.slots.len() as u32 {
            self.bell.set_gate(index, None);
        }
    }

    fn accept(&mut self) {
        if self.next_image.is_some() {
            // It waits for the next image, which will know what became of the present daemon.
            return;
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let Ok(socket) = rustix::net::accept_with(&self.listener, flags) else {
            return;
        };
        let Ok(peer) = rustix::net::sockopt::socket_peercred(&socket) else {
            return;
        };
        if peer.uid != rustix::process::getuid() {
            return;
        }
        // The former daemon may have died without our having looked at its connection since.
        self.serve_daemon();
        if let Some(daemon) = self.daemon.as_ref().filter(|daemon| daemon.welcomed) {
            let busy = Packet::new(Kind::Busy, GLOBAL).args(daemon.pid, 0);
            // If it cannot be told it will notice the closed connection.
            let _sent = proto::send(&socket, busy, &[]);
            return;
        }
        let pid = rustix::process::Pid::as_raw(Some(peer.pid)) as u64;
        self.daemon = Some(Daemon { socket, pid, welcomed: false, adopting: false });
        if self.watch_daemon().is_err() {
            self.daemon = None;
        }
    }

    fn serve_daemon(&mut self) {
        for _ in 0..PACKETS_PER_ROUND {
            let Some(daemon) = &self.daemon else { return };
            if self.next_image.is_some() {
                // What comes behind a replacement is for the next image.
                return;
            }
            match proto::receive(&daemon.socket) {
                Ok(Received::Packet(packet, [fd, _])) => {
                    if let Err(errno) = self.obey(&packet, fd)
                        && let Some(daemon) = &self.daemon
                    {
                        refuse(daemon, &packet, errno);
                    }
                }
                Ok(Received::Unknown) | Err(Errno::INTR) => {}
                // That the daemon went without reading our last packet is told once, before its own last words.
                Err(Errno::CONNRESET) => {}
                Ok(Received::Closed) => return self.daemon_left(),
                Err(Errno::AGAIN) => return,
                Err(_) => return self.daemon_left(),
            }
        }
    }

    fn daemon_left(&mut self) {
        self.open_gates();
        if let Some(daemon) = self.daemon.take() {
            self.successor.daemon_left(daemon.welcomed, Instant::now());
        }
    }

    fn obey(&mut self, packet: &Packet, fd: Option<OwnedFd>) -> Result<(), Errno> {
        match packet.kind {
            Kind::Hello => self.welcome(),
            Kind::Spawn => self.spawn(packet, fd.ok_or(Errno::BADF)?),
            Kind::Signal => match self.slot(packet.slot)?.signal(packet.a) {
                // It ended by itself meanwhile, which the daemon will hear.
                Err(Errno::SRCH) => Ok(()),
                outcome => outcome,
            },
            Kind::Hold => self.hold(packet, Some(fd.ok_or(Errno::BADF)?)),
            Kind::Drop => self.hold(packet, None),
            Kind::Free => self.free(packet.slot),
            // Every round looks at the gates; this packet only makes one begin.
            Kind::GoOn => Ok(()),
            Kind::Goodbye => {
                self.open_gates();
                self.successor.goodbye();
                self.daemon = None;
                Ok(())
            }
            Kind::Handover => {
                self.successor.expect_back(Instant::now() + Duration::from_millis(packet.a.min(60_000)));
                Ok(())
            }
            Kind::Replace => {
                self.next_image = Some((fd.ok_or(Errno::BADF)?, Instant::now() + REPLACE_WAIT));
                Ok(())
            }
            _ => Err(Errno::NOSYS),
        }
    }

    fn welcome(&mut self) -> Result<(), Errno> {
        let Some(daemon) = &mut self.daemon else {
            return Ok(());
        };
        let about = self.successor.restarts() << 32 | u64::from(std::process::id());
        let packet = Packet::new(Kind::Welcome, GLOBAL).args(proto::VERSION, about);
        proto::send(&daemon.socket, packet, &[self.bell.memory(), self.bell.event()])?;
        daemon.welcomed = true;
        daemon.adopting = true;
        self.successor.daemon_came(Instant::now());
        for slot in self.slots.iter_mut().filter(|slot| slot.occupied()) {
            slot.unsent.state = true;
            slot.unsent.held = bits(&slot.held);
        }
        self.global_unsent = bits(&self.global);
        self.news = true;
        Ok(())
    }

    fn slot(&mut self, index: u32) -> Result<&mut Slot, Errno> {
        let index = index as usize;
        if index >= MAX_SLOTS {
            return Err(Errno::INVAL);
        }
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, Slot::default);
        }
        Ok(&mut self.slots[index])
    }

    fn spawn(&mut self, packet: &Packet, spec: OwnedFd) -> Result<(), Errno> {
        let limits = self.limits;
        let slot = self.slot(packet.slot)?;
        if slot.busy() {
            return Err(Errno::BUSY);
        }
        let started = slot.spawn(&spec, packet, limits).and_then(|()| self.watch(packet.slot));
        started.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    fn hold(&mut self, packet: &Packet, fd: Option<OwnedFd>) -> Result<(), Errno> {
        let key = usize::from(packet.key);
        let places = match packet.slot {
            GLOBAL => &mut self.global,
            slot => &mut self.slot(slot)?.held,
        };
        *places.get_mut(key).ok_or(Errno::INVAL)? = fd;
        Ok(())
    }

    fn free(&mut self, index: u32) -> Result<(), Errno> {
        let slot = self.slot(index)?;
        if slot.child.is_some() {
            // The pidfd is closed with the slot; a reaped-by-nobody child would stay a zombie, so it is
            // ended and the slot given up when it is gone.
            let _signalled = slot.signal(9);
            return Err(Errno::BUSY);
        }
        *slot = Slot::default();
        self.bell.set_gate(index, None);
        self.restless.retain(|restless| *restless != index);
        Ok(())
    }

    /// Becomes the next image; the record of the hand-over has no words for what is only half done.
    fn replace_when_quiet(&mut self) {
        let unfinished = |slot: &Slot| slot.starting || slot.draining.is_some();
        let busy = self.news || self.slots.iter().any(unfinished);
        let due = |(_, deadline): &mut (OwnedFd, Instant)| !busy || *deadline <= Instant::now();
        let Some((spec, _)) = self.next_image.take_if(due) else {
            return;
        };
        let errno = if busy {
            Errno::BUSY
        } else {
            Errno::from_io_error(&crate::handover::exec(self, &spec)).unwrap_or(Errno::IO)
        };
        if let Some(daemon) = &self.daemon {
            refuse(daemon, &Packet::new(Kind::Replace, GLOBAL), errno);
        }
    }

    /// Tells the daemon what it does not know yet, as far as its socket takes it.
    fn send_news(&mut self) {
        let Some(daemon) = &mut self.daemon else { return };
        if !daemon.welcomed || !self.news {
            return;
        }
        let socket = daemon.socket.as_fd();
        let mut send_all = || -> rustix::io::Result<()> {
            while self.global_unsent != 0 {
                let key = self.global_unsent.trailing_zeros() as usize;
                if let Some(fd) = &self.global[key] {
                    proto::send(socket, Packet::new(Kind::Held, GLOBAL).key(key as u16), &[fd.as_fd()])?;
                }
                self.global_unsent &= !(1 << key);
            }
            for (index, slot) in self.slots.iter_mut().enumerate() {
                while slot.unsent.any() {
                    slot.send_news(index as u32, socket)?;
                }
            }
            if daemon.adopting {
                proto::send(socket, Packet::new(Kind::Adopted, GLOBAL), &[])?;
            }
            Ok(())
        };
        let sent = send_all();
        daemon.adopting &= sent.is_err();
        // One that is gone misses nothing: the next daemon is told everything.
        self.news = !matches!(sent, Ok(()) | Err(Errno::PIPE | Errno::CONNRESET));
        // Wait for room only when something is left: a writable socket is always ready.
        let interest = if self.news { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        let _modified = epoll::modify(&self.epoll, &daemon.socket, data(Source::Daemon, 0), interest);
    }

    fn start_daemon(&mut self, now: Instant) {
        let Some(spec) = &self.global[usize::from(KEY_DAEMON)] else {
            return self.successor.goodbye();
        };
        let started = pty::spawn(spec, None, self.limits);
        self.successor.started(started.ok(), now);
        // Unwatched it is only noticed later, when it has not said hello in time.
        let _watched = self.watch_successor();
    }

    fn reap_daemon(&mut self) {
        let needed = self.slots.iter().any(Slot::occupied);
        let ended = self.successor.reap(has_ended, self.daemon.is_some(), needed, Instant::now());
        for child in ended.iter().flatten() {
            let _deleted = epoll::delete(&self.epoll, &child.pidfd);
        }
    }
}

/// Tells the daemon that a request was not fulfilled; if it does not read it will not miss it.
fn refuse(daemon: &Daemon, packet: &Packet, errno: Errno) {
    let (a, b) = (errno.raw_os_error() as u64, packet.kind as u64);
    let refused = Packet::new(Kind::Refused, packet.slot).key(packet.key).args(a, b);
    let _sent = proto::send(&daemon.socket, refused, &[]);
}

/// How long a slot waits before it is tried again without what it waits for.
fn patience(wait: Wait) -> Duration {
    match wait {
        Wait::Gate(_) => PATIENCE,
        Wait::Reopening => REOPENING,
    }
}

fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    !matches!(rustix::process::waitid(WaitId::PidFd(child.pidfd.as_fd()), options), Ok(None))
}

fn bits(held: &[Option<OwnedFd>; KEYS]) -> u8 {
    held.iter().enumerate().fold(0, |bits, (key, fd)| bits | u8::from(fd.is_some()) << key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType};

    fn pair() -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
    }

    /// A keeper with a daemon that has not read its welcome yet, and the daemon's end.
    fn served() -> (Keeper, OwnedFd) {
        let (listener, lock) = pair();
        let limits = Rlimit { current: None, maximum: None };
        let mut keeper = Keeper::new(listener, lock, limits).unwrap();
        let (socket, daemon) = pair();
        keeper.daemon = Some(Daemon { socket, pid: 1, welcomed: false, adopting: false });
        keeper.watch_daemon().unwrap();
        proto::send(&daemon, Packet::new(Kind::Hello, GLOBAL).args(proto::VERSION, 0), &[]).unwrap();
        keeper.serve_daemon();
        keeper.send_news();
        (keeper, daemon)
    }

    #[test]
    fn the_last_words_of_a_daemon_count_also_if_it_did_not_listen_any_more() {
        let (mut keeper, daemon) = served();
        proto::send(&daemon, Packet::new(Kind::Goodbye, GLOBAL), &[]).unwrap();
        drop(daemon);
        keeper.serve_daemon();
        assert!(keeper.daemon.is_none());
        assert!(!keeper.successor.awaited(), "it said goodbye");
    }

    #[test]
    fn a_daemon_that_vanishes_is_replaced() {
        let (mut keeper, daemon) = served();
        drop(daemon);
        keeper.serve_daemon();
        assert!(keeper.daemon.is_none());
        assert!(keeper.successor.due(Instant::now()));
    }
}
