//! The keeper's loop: one thread, one epoll, no allocation once a session runs, no blocking calls.
//!
//! Reports to the daemon are kept as flags on the slots ([`crate::slot::Unsent`]) rather than in a
//! queue, so a daemon that does not read costs nothing and misses nothing.

use crate::backlog::Backlog;
use crate::daemon::Daemon;
use crate::id::{Offset, SlotId};
use crate::limits::{self, GLOBAL_KEYS};
use crate::slot::{Rest, Slot, Wait};
use crate::source::Source;
use crate::successor::Successor;
use crate::vitals::Vitals;
use crate::wake::Doorbell;
use crate::watchdog::Watchdog;
use rustix::event::epoll::{self, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::Rlimit;
use std::io;
use std::time::{Duration, Instant};

/// The keeper's whole state.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) listener: OwnedFd,
    /// Holding its lock is what makes this process the keeper of its directory.
    pub(crate) lock: OwnedFd,
    /// What a daemon that this keeper has not started has to send to receive the sessions.
    pub(crate) key: u64,
    pub(crate) slots: Vec<Slot>,
    pub(crate) global: [Option<OwnedFd>; GLOBAL_KEYS],
    pub(crate) global_unsent: u32,
    pub(crate) bell: Doorbell,
    /// Whether clients wait at the sockets among the held descriptors.
    pub(crate) backlog: Backlog,
    pub(crate) vitals: Vitals,
    pub(crate) watchdog: Watchdog,
    /// There was output since the daemon was checked last, whether it has set an alarm or not.
    pub(crate) fresh_output: bool,
    pub(crate) daemon: Option<Daemon>,
    pub(crate) successor: Successor,
    /// The limit on open files that children are to have, which is not the keeper's own.
    pub(crate) limits: Rlimit,
    pub(crate) epoll: OwnedFd,
    idle_since: Instant,
    /// Readable when SIGTERM has arrived.
    termination: Option<OwnedFd>,
    /// SIGTERM has arrived: the keeper ends as soon as no child lives.
    pub(crate) terminating: bool,
    /// Slots to look at without an event: draining, or waiting for something.
    pub(crate) restless: Vec<SlotId>,
    /// Some slot has unsent reports.
    pub(crate) unsent: bool,
    /// What this keeper is to become as soon as no child is between two states, and since when it tries.
    pub(crate) next_image: Option<(OwnedFd, Instant)>,
}

impl Keeper {
    pub(crate) fn new(listener: OwnedFd, lock: OwnedFd, key: u64, limits: Rlimit) -> io::Result<Self> {
        Self::with_parts(listener, lock, key, limits, Doorbell::create()?, Successor::default())
    }

    pub(crate) fn with_parts(
        listener: OwnedFd,
        lock: OwnedFd,
        key: u64,
        limits: Rlimit,
        bell: Doorbell,
        successor: Successor,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, Source::Listener.data(), EventFlags::IN)?;
        let backlog = Backlog::new()?;
        // Edge-triggered: the keeper does not accept these connections, it only notes that they come.
        epoll::add(&epoll, &backlog, Source::Backlog.data(), EventFlags::IN | EventFlags::ET)?;
        Ok(Self {
            listener,
            lock,
            key,
            slots: Vec::new(),
            global: Default::default(),
            global_unsent: 0,
            bell,
            backlog,
            vitals: Vitals::create()?,
            watchdog: Watchdog::default(),
            fresh_output: false,
            daemon: None,
            successor,
            limits,
            epoll,
            idle_since: Instant::now(),
            termination: None,
            terminating: false,
            // Room for all there can be, so that the loop never allocates.
            restless: Vec::with_capacity(limits::MAX_SLOTS),
            unsent: false,
            next_image: None,
        })
    }

    /// Watches a slot's descriptors after the slot was filled.
    pub(crate) fn watch(&self, index: SlotId) -> io::Result<()> {
        let Some(slot) = self.slots.get(index.index()) else { return Ok(()) };
        if let Some(master) = &slot.master {
            epoll::add(&self.epoll, master, Source::Master(index).data(), EventFlags::IN)?;
        }
        if let Some(child) = &slot.child {
            epoll::add(&self.epoll, &child.pidfd, Source::Process(index).data(), EventFlags::IN)?;
            if let Some(started) = &child.started {
                epoll::add(&self.epoll, started, Source::Started(index).data(), EventFlags::IN)?;
            }
        }
        Ok(())
    }

    /// Watches the daemon's connection.
    pub(crate) fn watch_daemon(&self) -> io::Result<()> {
        if let Some(daemon) = &self.daemon {
            epoll::add(&self.epoll, &daemon.socket, Source::Daemon.data(), EventFlags::IN)?;
        }
        Ok(())
    }

    /// Watches the daemon's process, if this one is its parent.
    pub(crate) fn watch_successor(&self) -> io::Result<()> {
        if let Some(child) = self.successor.process() {
            epoll::add(&self.epoll, &child.pidfd, Source::DaemonProcess.data(), EventFlags::IN)?;
        }
        Ok(())
    }

    /// Ends in order when `termination` is readable.
    pub(crate) fn watch_termination(&mut self, termination: OwnedFd) -> io::Result<()> {
        epoll::add(&self.epoll, &termination, Source::Terminate.data(), EventFlags::IN)?;
        self.termination = Some(termination);
        Ok(())
    }

    /// Notes a SIGTERM. It is not passed on: at the end of a login the system sends it to every process itself, and
    /// children that survive a stray one keep their terminals.
    fn terminate(&mut self) {
        if let Some(termination) = &self.termination {
            // Its content is known.
            let _read = rustix::io::read(termination, &mut [0u8; 128]);
        }
        self.terminating = true;
    }

    /// Runs until the keeper is no longer needed.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(limits::EVENTS_PER_ROUND);
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

    /// Whether a daemon is connected that has sent `Hello`. Any process of the user can connect and send nothing.
    pub(crate) fn is_served(&self) -> bool {
        self.daemon.as_ref().is_some_and(|daemon| daemon.welcomed)
    }

    /// Does what is due without an event; returns the time to sleep, or nothing when the keeper is done.
    pub(crate) fn before_sleep(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if self.vitals.clients() > 0 {
            self.expect_answer();
        }
        self.check_daemon(now);
        if self.terminating && !self.slots.iter().any(Slot::busy) {
            return self.await_daemon_stop(now);
        }
        if !self.is_served() && self.successor.due(now) {
            self.start_daemon(now);
        }
        let served = self.daemon.is_some() || self.successor.awaited();
        if served {
            self.idle_since = now;
        }
        // A daemon that announced its replacement may stay: then no other one is due.
        let successor = self.successor.until_due(now).filter(|_| !self.is_served());
        let due = [self.soonest_restless(now), self.watchdog.until_check(now), successor];
        if let Some(soon) = due.into_iter().flatten().min() {
            return Some(soon);
        }
        if served {
            return Some(limits::LINGER);
        }
        let limit = if self.slots.iter().any(Slot::busy) {
            return Some(limits::LINGER);
        } else if self.slots.iter().any(Slot::occupied) {
            limits::LINGER
        } else if self.successor.was_served() {
            return None;
        } else {
            limits::FIRST_HELLO
        };
        limit.checked_sub(now.duration_since(self.idle_since))
    }

    /// When a slot has to be checked without an event.
    fn soonest_restless(&self, now: Instant) -> Option<Duration> {
        let until = |index: &SlotId| match self.slots.get(index.index()).and_then(|slot| slot.waiting) {
            Some((since, wait)) => time_limit(wait).saturating_sub(now.duration_since(since)),
            None => Duration::ZERO,
        };
        self.restless.iter().map(until).min()
    }

    fn round(&mut self, events: &[epoll::Event]) {
        let sources = || events.iter().filter_map(|event| Source::of(event.data));
        // Control first: input of one session does not wait for a flood in another.
        for source in sources() {
            match source {
                Source::Listener => self.accept(),
                Source::Daemon => self.serve_daemon(),
                Source::DaemonProcess => self.reap_daemon(),
                Source::Backlog => self.expect_answer(),
                Source::Terminate => self.terminate(),
                Source::Master(_) | Source::Process(_) | Source::Started(_) => {}
            }
        }
        let mut ring = false;
        if sources().any(|source| matches!(source, Source::Master(_))) {
            self.fresh_output = true;
            self.expect_answer();
        }
        for source in sources() {
            match source {
                Source::Listener | Source::Daemon | Source::DaemonProcess => {}
                Source::Backlog | Source::Terminate => {}
                Source::Master(slot) => ring |= self.read_output(slot),
                Source::Process(slot) => self.reap(slot),
                Source::Started(slot) => self.note_start(slot),
            }
        }
        ring |= self.look_after_restless();
        if ring {
            self.wake_daemon();
        }
        self.send_reports();
        self.replace_when_quiet();
    }

    fn read_output(&mut self, index: SlotId) -> bool {
        let Some(slot) = self.slots.get_mut(index.index()) else { return false };
        let (n, rest) = slot.read(self.bell.gate(index));
        if matches!(rest, Rest::End | Rest::Gate)
            && let Some(master) = &slot.master
        {
            // A hung-up master is always readable, and so is one that waits: unregister them until the
            // child ends, the gate moves, or a timeout.
            let _deleted = epoll::delete(&self.epoll, master);
        }
        let wait = match rest {
            Rest::Gate => Some(Wait::Gate(self.bell.gate(index).unwrap_or(Offset(0)))),
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

    /// Handles slots that drain or wait; returns whether to ring the daemon's doorbell.
    fn look_after_restless(&mut self) -> bool {
        let mut ring = false;
        let mut at = 0;
        while let Some(&index) = self.restless.get(at) {
            ring |= self.look_after(index);
            let rests = |slot: &Slot| slot.waiting.is_none() && slot.draining.is_none();
            if self.slots.get(index.index()).is_none_or(rests) {
                self.restless.swap_remove(at);
            } else {
                at = at.saturating_add(1);
            }
        }
        ring
    }

    fn look_after(&mut self, index: SlotId) -> bool {
        let Some(slot) = self.slots.get_mut(index.index()) else { return false };
        if slot.waiting.is_some() {
            self.try_again(index);
            return false;
        }
        if slot.draining.is_none() {
            return false;
        }
        if let Some(master) = slot.drain() {
            // The daemon's duplicate keeps it registered beyond our close.
            let _deleted = epoll::delete(&self.epoll, &master);
        }
        self.unsent |= slot.unsent.any();
        slot.announce(index, &self.bell)
    }

    /// Continues with a slot whose wait is over or has timed out.
    fn try_again(&mut self, index: SlotId) {
        let Some(slot) = self.slots.get_mut(index.index()) else { return };
        let Some((since, wait)) = slot.waiting else { return };
        let waits = slot.child.is_some()
            && match wait {
                Wait::Gate(gate) => self.bell.gate(index) == Some(gate),
                Wait::Reopening => true,
            };
        if waits {
            if since.elapsed() < time_limit(wait) {
                return;
            }
            if let Wait::Gate(gate) = wait {
                slot.go_beyond(gate);
            }
        }
        slot.waiting = None;
        self.bell.set_held(index, false);
        if let Some(master) = &slot.master {
            let _added = epoll::add(&self.epoll, master, Source::Master(index).data(), EventFlags::IN);
        }
    }

    fn reap(&mut self, index: SlotId) {
        let Some(slot) = self.slots.get_mut(index.index()) else { return };
        slot.reap();
        self.unsent |= slot.unsent.any();
        if slot.draining.is_some() && slot.waiting.is_none() {
            self.restless.push(index);
        }
    }

    fn note_start(&mut self, index: SlotId) {
        let Some(slot) = self.slots.get_mut(index.index()) else { return };
        if let Some(started) = slot.child.as_ref().and_then(|child| child.started.as_ref()) {
            let _deleted = epoll::delete(&self.epoll, started);
        }
        slot.note_start();
        self.unsent |= slot.unsent.any();
    }
}

/// How long a slot waits before it is tried again without what it waits for.
fn time_limit(wait: Wait) -> Duration {
    match wait {
        Wait::Gate(_) => limits::GATE_WAIT,
        Wait::Reopening => limits::REOPENING,
    }
}
