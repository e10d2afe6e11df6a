//! The keeper's loop: one thread, one epoll, no allocation once a session runs, no waiting for anybody.
//!
//! Whatever the daemon has to learn is kept as flags on the slots ([`crate::slot::Unsent`]) rather than
//! in a queue, so a daemon that does not read costs nothing and misses nothing.

use crate::daemon::Daemon;
use crate::proto::KEYS;
use crate::slot::{Rest, Slot, Wait};
use crate::successor::Successor;
use crate::wake::{Doorbell, MAX_SLOTS, PATIENCE};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::Rlimit;
use std::io;
use std::time::{Duration, Instant};

/// How long a keeper that nobody has ever spoken to waits for its first daemon.
const FIRST_HELLO: Duration = Duration::from_secs(10);
/// How long the output of children that ended while no daemon ran is kept for the next one.
const LINGER: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a terminal is looked at that its child has closed: seldom enough to cost nothing, and the
/// little that fits the terminal's own buffer waits no longer than this.
const REOPENING: Duration = Duration::from_millis(200);
/// Epoll events taken per round; the kernel rotates through what is left.
const EVENTS_PER_ROUND: usize = 128;

/// What an epoll event is about; the slot is in the low half of the event's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Source {
    Listener = 0,
    Daemon = 1,
    DaemonProcess = 2,
    Master = 3,
    Process = 4,
    Started = 5,
}

pub(crate) fn data(source: Source, slot: u32) -> EventData {
    EventData::new_u64(u64::from(source as u32) << 32 | u64::from(slot))
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
    pub(crate) epoll: OwnedFd,
    idle_since: Instant,
    /// Slots to look at without an event: draining, or waiting for something.
    pub(crate) restless: Vec<u32>,
    /// Some slot has something to tell the daemon.
    pub(crate) news: bool,
    /// What this keeper is to become as soon as no child is between two states, and until when it tries.
    pub(crate) next_image: Option<(OwnedFd, Instant)>,
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
}

/// How long a slot waits before it is tried again without what it waits for.
fn patience(wait: Wait) -> Duration {
    match wait {
        Wait::Gate(_) => PATIENCE,
        Wait::Reopening => REOPENING,
    }
}
