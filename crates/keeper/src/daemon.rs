//! The keeper's side of the daemon's connection: requests are fulfilled, events are sent, and a daemon that hangs or went
//! without a goodbye is replaced.

use crate::id::SlotId;
use crate::limits::{self, GLOBAL_KEYS, KEYS, MAX_SLOTS};
use crate::peer;
use crate::proc;
use crate::proto::{self, KEY_DAEMON, Packet, PacketKind, Received};
use crate::pty::{self, Child};
use crate::server::Keeper;
use crate::slot::{self, Slot};
use crate::source::Source;
use crate::watchdog::{self, Findings, ThreadState, WatchdogVerdict};
use rustix::event::epoll::{self, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::process::{
    Pid, PidfdFlags, Resource, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, pidfd_send_signal,
};
use std::time::{Duration, Instant};

/// A daemon's connection.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) socket: OwnedFd,
    pub(crate) pid: u64,
    /// It has sent `Hello`, and gets the state of all slots.
    pub(crate) welcomed: bool,
    /// `Adopted` has not been sent yet.
    pub(crate) adopting: bool,
    /// Its process, while the connection is open.
    process: Option<OwnedFd>,
    /// It shows signs of life; older versions do not.
    watched: bool,
    /// When it was asked to stop, because the keeper ends.
    asked_to_stop: Option<Instant>,
}

impl Daemon {
    /// A daemon that has just connected. While the connection is open the process `pid` is the daemon, so the
    /// descriptor of it can be no other.
    fn new(socket: OwnedFd, pid: u64) -> Self {
        let process = process_id(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Self { socket, pid, welcomed: false, adopting: false, process, watched: false, asked_to_stop: None }
    }

    /// The daemon of a former image of this keeper, which welcomed it and answered all its requests. It reconnects
    /// soon, and knows another page of vital signs until then.
    pub(crate) fn resumed(socket: OwnedFd, pid: u64) -> Self {
        Self { welcomed: true, ..Self::new(socket, pid) }
    }

    fn signal(&self, signal: Signal) {
        // It may have ended meanwhile.
        let _sent = match (&self.process, process_id(self.pid)) {
            (Some(process), _) => pidfd_send_signal(process, signal),
            // There was no descriptor left for it. Its connection is open, so the id was not given to another.
            (None, Some(pid)) => kill_process(pid, signal),
            (None, None) => Ok(()),
        };
    }
}

impl Keeper {
    /// No daemon reads any more: opens all gates, so that children do not wait.
    fn open_gates(&mut self) {
        for index in 0..self.slots.len() as u32 {
            self.bell.set_gate(SlotId(index), None);
        }
    }

    pub(crate) fn accept(&mut self) {
        if self.next_image.is_some() {
            // The connection waits for the next image, which will know whether the present daemon lives.
            return;
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let Ok(socket) = rustix::net::accept_with(&self.listener, flags) else {
            return;
        };
        // A confined command of an agent gets no reply, only the end of the connection.
        let Some(pid) = peer::admissible(&socket) else { return };
        // The former daemon may have died, and its connection was not read since.
        self.serve_daemon();
        if let Some(daemon) = self.daemon.as_ref().filter(|daemon| daemon.welcomed) {
            let busy = Packet::new(PacketKind::Busy, SlotId::GLOBAL).args(daemon.pid, 0);
            // If this cannot be sent, the closed connection shows it.
            let _sent = proto::send(&socket, busy, &[]);
            return;
        }
        self.daemon = Some(Daemon::new(socket, pid));
        if self.watch_daemon().is_err() {
            self.daemon = None;
        }
    }

    pub(crate) fn serve_daemon(&mut self) {
        for _ in 0..limits::PACKETS_PER_ROUND {
            let Some(daemon) = &self.daemon else { return };
            if self.next_image.is_some() {
                // Packets after a replacement are for the next image.
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
                // The kernel reports once, before the daemon's last packets, that it closed without reading ours.
                Err(Errno::CONNRESET) => {}
                Ok(Received::Closed) => return self.daemon_left(),
                Err(Errno::AGAIN) => return,
                Err(_) => return self.daemon_left(),
            }
        }
    }

    fn daemon_left(&mut self) {
        self.open_gates();
        self.restore_address();
        self.watchdog.disarm();
        if let Some(daemon) = self.daemon.take() {
            let served = !daemon.watched || self.vitals.daemon_left();
            self.successor.daemon_left(daemon.welcomed, served, Instant::now());
        }
    }

    /// Something waits for the daemon: from now on it is watched until it has shown that it lives.
    pub(crate) fn expect_answer(&mut self) {
        if self.daemon.as_ref().is_some_and(|daemon| daemon.watched) {
            self.watchdog.arm(self.vitals.beats());
        }
    }

    /// Rings the daemon's doorbell.
    pub(crate) fn wake_daemon(&mut self) {
        self.expect_answer();
        self.bell.ring();
    }

    /// Ends a daemon that hangs; the next one is started at once.
    pub(crate) fn check_daemon(&mut self, now: Instant) {
        if !self.watchdog.is_due(now) {
            return;
        }
        let Some(daemon) = self.daemon.as_ref().filter(|daemon| daemon.welcomed) else {
            return self.check_start(now);
        };
        let output = std::mem::take(&mut self.fresh_output);
        let found = Findings {
            beats: self.vitals.beats(),
            unanswered: self.bell.is_unanswered(),
            // Until it accepts clients, all of them wait.
            waiting: output
                || self.vitals.clients() > 0
                || self.backlog.waits()
                || (daemon.watched && !self.vitals.is_ready()),
            thread: thread_state(daemon.pid),
        };
        match self.watchdog.check(found, now) {
            WatchdogVerdict::Fine => {}
            WatchdogVerdict::Ask => self.bell.ring(),
            WatchdogVerdict::Hangs => {
                daemon.signal(Signal::KILL);
                self.vitals.count_hang();
                // Not only when its connection closes: a process that waits for a device may take any time to end.
                self.daemon_left();
            }
        }
    }

    /// Ends a daemon that this keeper has started and that is stopped before it has sent `Hello`. There are no signs of life
    /// yet: one that waits for a disk gets all of [`limits::HELLO`].
    fn check_start(&mut self, now: Instant) {
        let Some(child) = self.successor.process() else { return self.watchdog.disarm() };
        let thread = match thread_state(child.number()) {
            stopped @ ThreadState::Stopped => stopped,
            _ => ThreadState::Runnable(Duration::ZERO),
        };
        let found = Findings { beats: self.vitals.beats(), unanswered: true, waiting: true, thread };
        if self.watchdog.check(found, now) == WatchdogVerdict::Hangs {
            self.watchdog.disarm();
            self.vitals.count_hang();
            // The next one is started when this one has ended.
            self.successor.signal_process(Signal::KILL);
        }
    }

    /// The keeper is to end and no child lives: how long it waits for the daemon to stop in order, which removes the
    /// daemon's sockets.
    pub(crate) fn await_daemon_stop(&mut self, now: Instant) -> Option<Duration> {
        let Some(daemon) = &mut self.daemon else {
            if self.successor.awaited() {
                // It has adopted nothing, and would start another keeper.
                self.successor.signal_process(Signal::KILL);
            }
            return None;
        };
        if daemon.asked_to_stop.is_none() {
            daemon.signal(Signal::TERM);
        }
        let asked = *daemon.asked_to_stop.get_or_insert(now);
        let left = limits::DAEMON_STOP.checked_sub(now.duration_since(asked));
        if left.is_none() {
            // It hangs. Without its keeper it would serve nothing, and keep its sockets.
            daemon.signal(Signal::KILL);
        }
        left
    }

    fn obey(&mut self, packet: &Packet, fd: Option<OwnedFd>) -> Result<(), Errno> {
        match packet.kind {
            PacketKind::Hello => self.welcome(packet.a, packet.b),
            // Without the key any process of the user could end the series of daemons, or replace this program.
            _ if !self.is_served() => Err(Errno::ACCESS),
            PacketKind::Spawn => self.spawn(packet, fd.ok_or(Errno::BADF)?),
            PacketKind::Signal => match self.slot(packet.slot)?.signal(packet.a) {
                // It has ended by itself, and the daemon gets a report of that.
                Err(Errno::SRCH) => Ok(()),
                outcome => outcome,
            },
            PacketKind::Hold => self.hold(packet, Some(fd.ok_or(Errno::BADF)?)),
            PacketKind::Drop => self.hold(packet, None),
            PacketKind::Free => self.free(packet.slot),
            // Every round reads the gates and the number of clients; this packet only makes one begin.
            PacketKind::GoOn => Ok(()),
            PacketKind::Goodbye => {
                self.open_gates();
                self.watchdog.disarm();
                // An older daemon shows no signs, and the page still shows those of the one before it.
                if self.daemon.as_ref().is_some_and(|daemon| daemon.watched) {
                    self.vitals.note_service();
                }
                self.successor.goodbye();
                self.daemon = None;
                self.restore_address();
                Ok(())
            }
            PacketKind::Handover => {
                self.restore_address();
                let wait = Duration::from_millis(packet.a.min(limits::HANDOVER_MS));
                self.successor.expect_back(wait, Instant::now());
                Ok(())
            }
            PacketKind::Replace => {
                self.next_image = Some((fd.ok_or(Errno::BADF)?, Instant::now()));
                Ok(())
            }
            _ => Err(Errno::NOSYS),
        }
    }

    /// Hands everything over to a daemon that this keeper has started, or that knows the key of the installation.
    fn welcome(&mut self, version: u64, key: u64) -> Result<(), Errno> {
        let Some(daemon) = &mut self.daemon else {
            return Ok(());
        };
        let started_here = self.successor.process().is_some_and(|child| child.number() == daemon.pid);
        if key != self.key && !started_here {
            refuse(daemon, &Packet::new(PacketKind::Hello, SlotId::GLOBAL), Errno::ACCESS);
            self.daemon = None;
            return Ok(());
        }
        let about = self.successor.restarts() << 32 | u64::from(std::process::id());
        let packet = Packet::new(PacketKind::Welcome, SlotId::GLOBAL).args(proto::VERSION, about);
        proto::send(&daemon.socket, packet, &[self.bell.memory(), self.bell.event()])?;
        self.vitals.daemon_came(file_limit());
        let packet = Packet::new(PacketKind::Vitals, SlotId::GLOBAL);
        proto::send(&daemon.socket, packet, &[self.vitals.memory()])?;
        daemon.welcomed = true;
        daemon.adopting = true;
        daemon.watched = version >= proto::VERSION_WITH_VITALS;
        // From here on it is watched for its signs of life, not for its start.
        self.watchdog.disarm();
        self.successor.daemon_came(Instant::now());
        for slot in self.slots.iter_mut().filter(|slot| slot.occupied()) {
            slot.unsent.state = true;
            slot.unsent.held = bits(&slot.held);
        }
        self.global_unsent = bits(&self.global);
        self.unsent = true;
        Ok(())
    }

    fn slot(&mut self, id: SlotId) -> Result<&mut Slot, Errno> {
        let count = id.index().checked_add(1).filter(|count| *count <= MAX_SLOTS).ok_or(Errno::INVAL)?;
        if count > self.slots.len() {
            self.slots.resize_with(count, Slot::default);
        }
        self.slots.get_mut(id.index()).ok_or(Errno::INVAL)
    }

    fn spawn(&mut self, packet: &Packet, spec: OwnedFd) -> Result<(), Errno> {
        let limits = self.limits;
        let slot = self.slot(packet.slot)?;
        if slot.busy() {
            return Err(Errno::BUSY);
        }
        if slot.ring.is_none() && !self.has_files_for(packet.slot) {
            return Err(Errno::MFILE);
        }
        let slot = self.slot(packet.slot)?;
        let started = slot.spawn(&spec, packet, limits).and_then(|()| self.watch(packet.slot));
        started.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// Whether the limit of open files allows a terminal in `index`, beside all that the slots in use may still need. What
    /// is reserved is not touched: without it a daemon that died could not be replaced.
    fn has_files_for(&self, index: SlotId) -> bool {
        let others =
            (0..).zip(&self.slots).filter(|(other, slot)| SlotId(*other) != index && slot.occupied());
        let slots = (others.count() as u64).saturating_add(1);
        let needed = slots.saturating_mul(limits::FILES_PER_SLOT).saturating_add(limits::FILES_RESERVED);
        needed <= file_limit()
    }

    fn hold(&mut self, packet: &Packet, fd: Option<OwnedFd>) -> Result<(), Errno> {
        let key = usize::from(packet.key);
        let most = if packet.slot == SlotId::GLOBAL { GLOBAL_KEYS } else { KEYS };
        if key >= most {
            return Err(Errno::INVAL);
        }
        if packet.slot != SlotId::GLOBAL {
            self.slot(packet.slot)?;
        }
        // Only now: what is watched must be forgotten before it is closed.
        if let Some(fd) = &fd {
            self.backlog.watch(fd);
        }
        let places = match packet.slot {
            SlotId::GLOBAL => self.global.as_mut_slice(),
            slot => self.slot(slot)?.held.as_mut_slice(),
        };
        let former = places.get_mut(key).and_then(|place| std::mem::replace(place, fd));
        if let Some(former) = &former {
            self.backlog.forget(former);
        }
        Ok(())
    }

    fn free(&mut self, index: SlotId) -> Result<(), Errno> {
        let slot = self.slot(index)?;
        if slot.child.is_some() {
            // The pidfd is closed with the slot; an unreaped child would stay a zombie, so it is
            // killed and the slot freed when it has ended.
            let _signalled = slot.signal(9);
            return Err(Errno::BUSY);
        }
        let former = std::mem::take(slot);
        former.held.iter().flatten().for_each(|held| self.backlog.forget(held));
        self.bell.set_gate(index, None);
        self.restless.retain(|restless| *restless != index);
        Ok(())
    }

    /// Becomes the next image; the hand-over record cannot describe a child that is starting or ending.
    pub(crate) fn replace_when_quiet(&mut self) {
        let unfinished = |slot: &Slot| slot.starting || slot.draining.is_some();
        let busy = self.unsent || self.slots.iter().any(unfinished);
        let due = |(_, since): &mut (OwnedFd, Instant)| !busy || since.elapsed() >= limits::REPLACE_WAIT;
        let Some((spec, _)) = self.next_image.take_if(due) else {
            return;
        };
        let errno = if busy {
            Errno::BUSY
        } else {
            Errno::from_io_error(&crate::handover::exec(self, &spec)).unwrap_or(Errno::IO)
        };
        if let Some(daemon) = &self.daemon {
            refuse(daemon, &Packet::new(PacketKind::Replace, SlotId::GLOBAL), errno);
        }
    }

    /// Sends unsent reports to the daemon, as far as its socket takes them.
    pub(crate) fn send_reports(&mut self) {
        let Some(daemon) = &mut self.daemon else { return };
        if !daemon.welcomed || !self.unsent {
            return;
        }
        // The bell shows the watchdog whether the daemon takes what is sent to it.
        if daemon.watched {
            self.watchdog.arm(self.vitals.beats());
        }
        self.bell.ring();
        let socket = daemon.socket.as_fd();
        let mut send_all = || -> rustix::io::Result<()> {
            while self.global_unsent != 0 {
                slot::send_held(SlotId::GLOBAL, self.global_unsent, &self.global, socket)?;
                self.global_unsent = slot::without_lowest(self.global_unsent);
            }
            for (index, slot) in (0..).zip(&mut self.slots) {
                while slot.unsent.any() {
                    slot.send_reports(SlotId(index), socket)?;
                }
            }
            if daemon.adopting {
                proto::send(socket, Packet::new(PacketKind::Adopted, SlotId::GLOBAL), &[])?;
            }
            Ok(())
        };
        let sent = send_all();
        daemon.adopting &= sent.is_err();
        // A dead daemon misses nothing: the next one gets everything.
        self.unsent = !matches!(sent, Ok(()) | Err(Errno::PIPE | Errno::CONNRESET));
        // Wait for room only when something is left: a writable socket is always ready.
        let interest = if self.unsent { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        let _modified = epoll::modify(&self.epoll, &daemon.socket, Source::Daemon.data(), interest);
    }

    pub(crate) fn start_daemon(&mut self, now: Instant) {
        self.restore_address();
        let Some(Some(spec)) = self.global.get(usize::from(KEY_DAEMON)) else {
            return self.successor.goodbye();
        };
        // One that was started before and does not connect would only be in the way.
        self.successor.signal_process(Signal::KILL);
        let started = pty::spawn(spec, None, self.limits);
        // How its start went shows when it connects.
        let started = started.map(|child| Child { started: None, ..child });
        self.successor.started(started.ok(), now);
        // Without the watch its end is noticed only when it has not sent `Hello` in time.
        let _watched = self.watch_successor();
        self.watchdog.arm(self.vitals.beats());
    }

    pub(crate) fn reap_daemon(&mut self) {
        let needed = self.slots.iter().any(Slot::occupied);
        let ended = self.successor.reap(has_ended, self.is_served(), needed, Instant::now());
        for child in ended.iter().flatten() {
            let _deleted = epoll::delete(&self.epoll, &child.pidfd);
        }
    }
}

/// Reports to the daemon that a request was refused; dropped if the daemon does not read.
fn refuse(daemon: &Daemon, packet: &Packet, errno: Errno) {
    let (a, b) = (errno.raw_os_error() as u64, packet.kind as u64);
    let refused = Packet::new(PacketKind::Refused, packet.slot).key(packet.key).args(a, b);
    let _sent = proto::send(&daemon.socket, refused, &[]);
}

/// What the main thread of a process is doing.
fn thread_state(pid: u64) -> ThreadState {
    let mut stat = [0; limits::PROC_STAT];
    // The line of the process itself counts the time of all its threads.
    let name = format_args!("task/{pid}/stat");
    let stat = process_id(pid).and_then(|pid| proc::read(pid, name, &mut stat));
    // Without `/proc` its silence is all there is to judge by.
    stat.and_then(watchdog::thread_state).unwrap_or(ThreadState::Blocked)
}

fn process_id(pid: u64) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// The limit of open files of this process.
fn file_limit() -> u64 {
    rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    !matches!(rustix::process::waitid(WaitId::PidFd(child.pidfd.as_fd()), options), Ok(None))
}

fn bits(held: &[Option<OwnedFd>]) -> u32 {
    held.iter().rev().fold(0, |bits, fd| bits << 1 | u32::from(fd.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType};
    use rustix::process::Rlimit;

    fn pair() -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
    }

    const KEY: u64 = 7;

    fn greet(daemon: &OwnedFd, version: u64, key: u64) {
        let hello = Packet::new(PacketKind::Hello, SlotId::GLOBAL).args(version, key);
        proto::send(daemon, hello, &[]).unwrap();
    }

    /// A keeper with a daemon that has not read its welcome yet, and the daemon's end.
    fn served() -> (Keeper, OwnedFd) {
        served_by(proto::VERSION)
    }

    /// The same with a daemon of a version.
    fn served_by(version: u64) -> (Keeper, OwnedFd) {
        let (listener, lock) = pair();
        let limits = Rlimit { current: None, maximum: None };
        let mut keeper = Keeper::new(listener, lock, KEY, limits).unwrap();
        let (socket, daemon) = pair();
        keeper.daemon = Some(Daemon::new(socket, std::process::id().into()));
        keeper.watch_daemon().unwrap();
        greet(&daemon, version, KEY);
        keeper.serve_daemon();
        keeper.send_reports();
        (keeper, daemon)
    }

    #[test]
    fn the_last_words_of_a_daemon_count_also_if_it_did_not_listen_any_more() {
        let (mut keeper, daemon) = served();
        proto::send(&daemon, Packet::new(PacketKind::Goodbye, SlotId::GLOBAL), &[]).unwrap();
        drop(daemon);
        keeper.serve_daemon();
        assert!(keeper.daemon.is_none());
        assert!(!keeper.successor.awaited(), "it said goodbye");
    }

    #[test]
    fn a_daemon_that_has_served_ends_the_series_of_failed_starts_however_it_stops() {
        for (ready, failed) in [(true, 0), (false, 2)] {
            let (mut keeper, daemon) = served();
            keeper.vitals.daemon_left();
            keeper.vitals.daemon_left();
            if ready {
                keeper.vitals.set_ready();
            }
            proto::send(&daemon, Packet::new(PacketKind::Goodbye, SlotId::GLOBAL), &[]).unwrap();
            keeper.serve_daemon();
            assert_eq!(keeper.vitals.failed_starts(), failed, "ready: {ready}");
        }
    }

    #[test]
    fn a_process_without_the_key_gets_nothing() {
        let (mut keeper, daemon) = served();
        proto::send(&daemon, Packet::new(PacketKind::Goodbye, SlotId::GLOBAL), &[]).unwrap();
        keeper.serve_daemon();
        let (socket, stranger) = pair();
        keeper.daemon = Some(Daemon::new(socket, 1));
        keeper.watch_daemon().unwrap();
        greet(&stranger, proto::VERSION, KEY + 1);
        keeper.serve_daemon();
        keeper.send_reports();
        let Ok(Received::Packet(refused, [None, None])) = proto::receive(&stranger) else {
            panic!("the reason alone")
        };
        let reason = Errno::ACCESS.raw_os_error() as u64;
        assert_eq!((refused.kind, refused.a, refused.b), (PacketKind::Refused, reason, 1));
        assert!(matches!(proto::receive(&stranger), Ok(Received::Closed)), "nothing else was sent");
        assert!(keeper.daemon.is_none() && !keeper.successor.awaited());
    }

    #[test]
    fn a_daemon_that_vanishes_is_replaced() {
        let (mut keeper, daemon) = served();
        drop(daemon);
        keeper.serve_daemon();
        assert!(keeper.daemon.is_none());
        assert!(keeper.successor.due(Instant::now()));
    }

    /// A keeper with a daemon that is a process of its own, of which it has a descriptor or only the id.
    fn served_by_process(with_descriptor: bool) -> (Keeper, std::process::Child, OwnedFd) {
        let (mut keeper, _) = served();
        let process = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let (socket, end) = pair();
        let mut daemon = Daemon::resumed(socket, process.id().into());
        daemon.process.take_if(|_| !with_descriptor);
        keeper.daemon = Some(daemon);
        (keeper, process, end)
    }

    #[test]
    fn a_daemon_that_does_not_stop_in_time_is_killed() {
        use std::os::unix::process::ExitStatusExt;
        for with_descriptor in [true, false] {
            let (mut keeper, mut process, _end) = served_by_process(with_descriptor);
            // As if it had ignored SIGTERM.
            let now = Instant::now();
            keeper.daemon.as_mut().unwrap().asked_to_stop = Some(now);
            assert_eq!(keeper.await_daemon_stop(now), Some(limits::DAEMON_STOP));
            assert_eq!(keeper.await_daemon_stop(now + limits::DAEMON_STOP * 2), None);
            assert_eq!(process.wait().unwrap().signal(), Some(9), "descriptor: {with_descriptor}");
        }
    }

    #[test]
    fn a_daemon_that_is_stopped_before_its_hello_is_killed_and_one_that_waits_is_not() {
        use std::os::unix::process::ExitStatusExt;
        for stopped in [true, false] {
            let (mut keeper, daemon) = served();
            drop(daemon);
            keeper.serve_daemon();
            let mut process = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
            let pid = process_id(process.id().into()).unwrap();
            if stopped {
                kill_process(pid, Signal::STOP).unwrap();
                while thread_state(process.id().into()) != ThreadState::Stopped {
                    std::thread::yield_now();
                }
            }
            let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
            let now = Instant::now();
            keeper.successor.started(Some(Child { pid, pidfd, started: None }), now);
            keeper.watchdog.arm(keeper.vitals.beats());
            for check in 1..10 {
                keeper.check_daemon(now + limits::CHECK * check);
            }
            if !stopped {
                assert!(process.try_wait().unwrap().is_none(), "it may wait for a disk");
                process.kill().unwrap();
            }
            assert_eq!(process.wait().unwrap().signal(), Some(9));
            assert_eq!(keeper.vitals.hangs(), u64::from(stopped));
        }
    }

    #[test]
    fn a_connection_without_hello_changes_nothing() {
        let (mut keeper, daemon) = served();
        drop(daemon);
        keeper.serve_daemon();
        let (socket, stranger) = pair();
        keeper.daemon = Some(Daemon::new(socket, 1));
        keeper.watch_daemon().unwrap();
        proto::send(&stranger, Packet::new(PacketKind::Goodbye, SlotId::GLOBAL), &[]).unwrap();
        let spec = crate::spec::sealed_memfd("x", b"").unwrap();
        proto::send(&stranger, Packet::new(PacketKind::Replace, SlotId::GLOBAL), &[spec.as_fd()]).unwrap();
        keeper.serve_daemon();
        assert!(keeper.successor.awaited() && keeper.next_image.is_none());
    }

    #[test]
    fn a_connection_that_sends_nothing_does_not_keep_the_next_daemon_from_starting() {
        let (mut keeper, daemon) = served();
        drop(daemon);
        keeper.serve_daemon();
        let (socket, _silent) = pair();
        keeper.daemon = Some(Daemon::new(socket, 1));
        keeper.watch_daemon().unwrap();
        let sleep = keeper.before_sleep().expect("it stays");
        assert!(!sleep.is_zero(), "it does not spin");
        assert!(!keeper.successor.awaited(), "it tried to start one, and nothing says how");
    }

    #[test]
    fn a_daemon_that_announces_its_replacement_and_stays_does_not_make_the_keeper_spin() {
        let (mut keeper, daemon) = served();
        proto::send(&daemon, Packet::new(PacketKind::Handover, SlotId::GLOBAL), &[]).unwrap();
        keeper.serve_daemon();
        assert!(keeper.successor.due(Instant::now()));
        assert!(!keeper.before_sleep().expect("it stays").is_zero());
    }

    #[test]
    fn only_a_daemon_that_shows_signs_of_life_is_watched() {
        for (version, watched) in [(proto::VERSION, true), (1, false)] {
            let (mut keeper, _daemon) = served_by(version);
            keeper.watchdog.disarm();
            keeper.wake_daemon();
            assert_eq!(keeper.watchdog.until_check(Instant::now()).is_some(), watched, "version {version}");
        }
    }

    // The keeper may have missed the moment in which a client waited to be accepted.
    #[test]
    fn a_daemon_with_clients_is_watched_however_they_came() {
        let (mut keeper, _daemon) = served();
        for (clients, watched) in [(0, false), (1, true)] {
            keeper.watchdog.disarm();
            let _first = keeper.vitals.set_clients(clients);
            let sleep = keeper.before_sleep().expect("it stays");
            assert_eq!(sleep <= limits::FIRST_CHECK, watched, "{clients} clients: {sleep:?}");
        }
    }

    #[test]
    fn a_held_socket_is_watched_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let _client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let (mut keeper, daemon) = served();
        let hold = Packet::new(PacketKind::Hold, SlotId(3)).key(4);
        proto::send(&daemon, hold, &[listener.as_fd()]).unwrap();
        keeper.serve_daemon();
        assert!(keeper.backlog.waits());
        // The daemon keeps its own duplicate.
        proto::send(&daemon, Packet::new(PacketKind::Free, SlotId(3)), &[]).unwrap();
        keeper.serve_daemon();
        assert!(!keeper.backlog.waits());
    }
}
