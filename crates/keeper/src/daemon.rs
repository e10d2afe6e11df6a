//! The keeper's side of the daemon's connection: requests are fulfilled, events are sent, and a daemon that went
//! without a goodbye is replaced.

use crate::id::SlotId;
use crate::limits::{self, KEYS, MAX_SLOTS};
use crate::peer;
use crate::proto::{self, KEY_DAEMON, Packet, PacketKind, Received};
use crate::pty::{self, Child};
use crate::server::Keeper;
use crate::slot::{self, Slot};
use crate::source::Source;
use rustix::event::epoll::{self, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::process::{WaitId, WaitIdOptions};
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
        // Closed without an answer: a confined command of an agent is not even told who is here.
        let Some(pid) = peer::admissible(&socket) else { return };
        // The former daemon may have died, and its connection was not read since.
        self.serve_daemon();
        if let Some(daemon) = self.daemon.as_ref().filter(|daemon| daemon.welcomed) {
            let busy = Packet::new(PacketKind::Busy, SlotId::GLOBAL).args(daemon.pid, 0);
            // If this cannot be sent, the closed connection shows it.
            let _sent = proto::send(&socket, busy, &[]);
            return;
        }
        self.daemon = Some(Daemon { socket, pid, welcomed: false, adopting: false });
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
        if let Some(daemon) = self.daemon.take() {
            self.successor.daemon_left(daemon.welcomed, Instant::now());
        }
    }

    fn obey(&mut self, packet: &Packet, fd: Option<OwnedFd>) -> Result<(), Errno> {
        match packet.kind {
            PacketKind::Hello => self.welcome(packet.b),
            PacketKind::Spawn => self.spawn(packet, fd.ok_or(Errno::BADF)?),
            PacketKind::Signal => match self.slot(packet.slot)?.signal(packet.a) {
                // It has ended by itself, and the daemon gets a report of that.
                Err(Errno::SRCH) => Ok(()),
                outcome => outcome,
            },
            PacketKind::Hold => self.hold(packet, Some(fd.ok_or(Errno::BADF)?)),
            PacketKind::Drop => self.hold(packet, None),
            PacketKind::Free => self.free(packet.slot),
            // Every round looks at the gates; this packet only makes one begin.
            PacketKind::GoOn => Ok(()),
            PacketKind::Goodbye => {
                self.open_gates();
                self.successor.goodbye();
                self.daemon = None;
                Ok(())
            }
            PacketKind::Handover => {
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
    fn welcome(&mut self, key: u64) -> Result<(), Errno> {
        let Some(daemon) = &mut self.daemon else {
            return Ok(());
        };
        let started_here = self.successor.process().is_some_and(|child| child.number() == daemon.pid);
        if key != self.key && !started_here {
            self.daemon = None;
            return Ok(());
        }
        let about = self.successor.restarts() << 32 | u64::from(std::process::id());
        let packet = Packet::new(PacketKind::Welcome, SlotId::GLOBAL).args(proto::VERSION, about);
        proto::send(&daemon.socket, packet, &[self.bell.memory(), self.bell.event()])?;
        daemon.welcomed = true;
        daemon.adopting = true;
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
        let started = slot.spawn(&spec, packet, limits).and_then(|()| self.watch(packet.slot));
        started.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    fn hold(&mut self, packet: &Packet, fd: Option<OwnedFd>) -> Result<(), Errno> {
        let key = usize::from(packet.key);
        let places = match packet.slot {
            SlotId::GLOBAL => &mut self.global,
            slot => &mut self.slot(slot)?.held,
        };
        *places.get_mut(key).ok_or(Errno::INVAL)? = fd;
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
        *slot = Slot::default();
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
    pub(crate) fn send_news(&mut self) {
        let Some(daemon) = &mut self.daemon else { return };
        if !daemon.welcomed || !self.unsent {
            return;
        }
        let socket = daemon.socket.as_fd();
        let mut send_all = || -> rustix::io::Result<()> {
            while self.global_unsent != 0 {
                slot::send_held(SlotId::GLOBAL, self.global_unsent, &self.global, socket)?;
                self.global_unsent = slot::without_lowest(self.global_unsent);
            }
            for (index, slot) in (0..).zip(&mut self.slots) {
                while slot.unsent.any() {
                    slot.send_news(SlotId(index), socket)?;
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
        let Some(Some(spec)) = self.global.get(usize::from(KEY_DAEMON)) else {
            return self.successor.goodbye();
        };
        let started = pty::spawn(spec, None, self.limits);
        self.successor.started(started.ok(), now);
        // Without the watch its end is noticed only when it has not sent `Hello` in time.
        let _watched = self.watch_successor();
    }

    pub(crate) fn reap_daemon(&mut self) {
        let needed = self.slots.iter().any(Slot::occupied);
        let ended = self.successor.reap(has_ended, self.daemon.is_some(), needed, Instant::now());
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

fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    !matches!(rustix::process::waitid(WaitId::PidFd(child.pidfd.as_fd()), options), Ok(None))
}

fn bits(held: &[Option<OwnedFd>; KEYS]) -> u8 {
    held.iter().rev().fold(0, |bits, fd| bits << 1 | u8::from(fd.is_some()))
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

    fn greet(daemon: &OwnedFd, key: u64) {
        let hello = Packet::new(PacketKind::Hello, SlotId::GLOBAL).args(proto::VERSION, key);
        proto::send(daemon, hello, &[]).unwrap();
    }

    /// A keeper with a daemon that has not read its welcome yet, and the daemon's end.
    fn served() -> (Keeper, OwnedFd) {
        let (listener, lock) = pair();
        let limits = Rlimit { current: None, maximum: None };
        let mut keeper = Keeper::new(listener, lock, KEY, limits).unwrap();
        let (socket, daemon) = pair();
        keeper.daemon = Some(Daemon { socket, pid: 1, welcomed: false, adopting: false });
        keeper.watch_daemon().unwrap();
        greet(&daemon, KEY);
        keeper.serve_daemon();
        keeper.send_news();
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
    fn a_process_without_the_key_gets_nothing() {
        let (mut keeper, daemon) = served();
        proto::send(&daemon, Packet::new(PacketKind::Goodbye, SlotId::GLOBAL), &[]).unwrap();
        keeper.serve_daemon();
        let (socket, stranger) = pair();
        keeper.daemon = Some(Daemon { socket, pid: 1, welcomed: false, adopting: false });
        keeper.watch_daemon().unwrap();
        greet(&stranger, KEY + 1);
        keeper.serve_daemon();
        keeper.send_news();
        assert!(matches!(proto::receive(&stranger), Ok(Received::Closed)), "nothing was sent");
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
}
