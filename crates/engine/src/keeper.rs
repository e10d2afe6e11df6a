//! The connection to the keeper: requests become packets, packets become events for the session they concern.
//!
//! Sending never waits: packets that the socket does not take at once are queued, with a bound that only a dead
//! keeper reaches. One task receives packets; another waits for the doorbell.

use crate::error::Error;
use crate::limits;
use crate::optional_state::OptionalState;
use crate::pty::{self, Pty};
use rustix::process::Resource;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_keeper::proto::{KEY_DAEMON, Packet, PacketKind, Received, SlotFlags, Stage, VERSION};
use swb_keeper::{Doorbell, GLOBAL_KEYS, KEYS, KeeperLink, MAX_SLOTS, Reader, SlotId, Spec, Vitals};
use swb_types::{ExitStatus, Offset, Size};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Key under which a PTY's record is held.
pub(crate) const KEY_RECORD: u16 = 0;
/// Key under which its screen is held.
pub(crate) const KEY_SCREEN: u16 = 1;
/// Key under which a screen is set aside that daemons died of.
pub(crate) const KEY_ASIDE: u16 = 2;
/// Key of the counts of a PTY's input.
pub(crate) const KEY_INPUT: u16 = 3;
/// First key of the endpoints' descriptors, by position.
pub(crate) const KEY_ENDPOINT: u16 = 4;
/// First global key that fronts may use for their listening sockets.
const KEY_FRONT: u16 = 1;
/// Number of fronts that there is room for there.
const FRONTS: u16 = 4;
/// First global key of further fronts.
const KEY_FURTHER: u16 = KEYS as u16;
/// Number of fronts in all.
const ALL_FRONTS: u16 = FRONTS + GLOBAL_KEYS as u16 - KEY_FURTHER;
/// Global key of the memory in which turns are kept. Such keys are counted from the last one down, those of fronts up.
pub(crate) const KEY_TURNS: u16 = KEYS as u16 - 1;
/// Global key of the newest events.
pub(crate) const KEY_EVENTS: u16 = KEYS as u16 - 2;
/// Key of the conversations.
pub(crate) const KEY_CHATS: u16 = KEYS as u16 - 3;

const _: () = assert!(KEY_DAEMON < KEY_FRONT && KEY_FRONT + FRONTS <= KEY_CHATS, "each key has one use");

/// What the keeper reports about a slot.
#[derive(Debug)]
pub(crate) enum KeeperEvent {
    Spawned {
        pid: i32,
        ring: Option<Reader>,
        master: Option<OwnedFd>,
    },
    /// `over`: there was no process at all, so no `Exited` follows.
    SpawnFailed {
        reason: String,
        over: bool,
    },
    Exited {
        status: ExitStatus,
    },
    /// The keeper is gone, and with it every process.
    KeeperLost,
}

/// The receiver of a slot's events.
#[derive(Debug, Clone)]
pub(crate) struct SlotOwner {
    pub(crate) pty: Arc<Pty>,
    pub(crate) events: mpsc::Sender<Box<(SlotId, KeeperEvent)>>,
}

#[derive(Debug)]
struct KeeperShared {
    slots: BTreeMap<SlotId, Option<SlotOwner>>,
    /// State that was left out and set aside.
    aside: Vec<(SlotId, OptionalState)>,
    queue: VecDeque<(Packet, Vec<OwnedFd>)>,
}

impl KeeperShared {
    fn take_slot(&mut self) -> Option<SlotId> {
        let slot = (0..MAX_SLOTS as u32).map(SlotId).find(|slot| !self.slots.contains_key(slot))?;
        self.slots.insert(slot, None);
        Some(slot)
    }

    /// Takes a slot for state of all sessions that is set aside, unless there are too many of them. Screens that are set
    /// aside take none: they stay in the slots of their terminals.
    fn take_slot_aside(&mut self) -> Option<SlotId> {
        let taken = |(slot, state): &&(SlotId, OptionalState)| state.is_global() && *slot != SlotId::GLOBAL;
        if self.aside.iter().filter(taken).count() >= limits::SET_ASIDE {
            return None;
        }
        self.take_slot()
    }

    /// Notes what is set aside in a slot. A terminal has one place for its screens: a later one takes it.
    fn note_aside(&mut self, slot: SlotId, state: OptionalState) {
        if !self.aside.contains(&(slot, state)) {
            self.aside.push((slot, state));
        }
    }

    /// Whether the global key holds state that is set aside there, as no slot was free for it.
    fn is_set_aside(&self, key: u16) -> bool {
        self.aside.iter().any(|(slot, state)| *slot == SlotId::GLOBAL && state.key() == key)
    }
}

/// Cloneable handle to the keeper.
#[derive(Debug, Clone)]
pub(crate) struct Keeper {
    link: Arc<AsyncFd<KeeperLink>>,
    shared: Arc<Mutex<KeeperShared>>,
    /// Cancelled when the keeper is gone.
    pub(crate) lost: CancellationToken,
    bell: Arc<Doorbell>,
    /// Missing if the keeper is of an older version.
    vitals: Option<Arc<Vitals>>,
    pub(crate) pid: i32,
    pub(crate) restarts: u64,
}

/// A slot as a former daemon left it.
#[derive(Debug, Default)]
pub(crate) struct AdoptedSlot {
    pub(crate) ring: Option<OwnedFd>,
    pub(crate) master: Option<OwnedFd>,
    pub(crate) pid: i32,
    pub(crate) exit: Option<ExitStatus>,
    pub(crate) starting: bool,
    pub(crate) held: BTreeMap<u16, OwnedFd>,
}

/// Everything a former daemon left with the keeper.
#[derive(Debug, Default)]
pub(crate) struct AdoptedState {
    pub(crate) slots: BTreeMap<SlotId, AdoptedSlot>,
    pub(crate) global: BTreeMap<u16, OwnedFd>,
}

/// What the keeper sends first.
struct Greeting {
    bell: Doorbell,
    vitals: Option<Arc<Vitals>>,
    /// Its pid and, in the upper half, how many daemons it has started.
    about: u64,
}

impl Keeper {
    /// Connects, and takes over what the keeper holds.
    pub(crate) async fn connect(socket: &Path) -> Result<(Self, AdoptedState), Error> {
        let link = KeeperLink::connect(socket).map_err(unavailable)?;
        let link =
            crate::sys::register(link, Interest::READABLE | Interest::WRITABLE).map_err(unavailable)?;
        let adoption = tokio::time::timeout(limits::ADOPTION, adopt(&link, socket)).await;
        let (Greeting { bell, vitals, about }, left) =
            adoption.map_err(|_| Error::Keeper("timed out waiting for its state".into()))??;
        let slots = left.slots.keys().map(|slot| (*slot, None)).collect();
        let shared = Arc::new(Mutex::new(KeeperShared { slots, aside: Vec::new(), queue: VecDeque::new() }));
        let (pid, restarts) = (about as u32 as i32, about >> 32);
        let lost = CancellationToken::new();
        let (link, bell) = (Arc::new(link), Arc::new(bell));
        Ok((Self { link, shared, lost, bell, vitals, pid, restarts }, left))
    }

    fn lock(&self) -> MutexGuard<'_, KeeperShared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lowest free slot.
    pub(crate) fn reserve_slot(&self) -> Result<SlotId, Error> {
        let mut shared = self.lock();
        self.check_files(shared.slots.len() as u64 + 1)?;
        shared.take_slot().ok_or(Error::Limit("too many terminals; end some sessions first".into()))
    }

    /// Whether the limits of open files allow another terminal.
    pub(crate) fn has_room(&self) -> bool {
        let terminals = self.lock().slots.len() as u64;
        self.check_files(terminals + 1).is_ok()
    }

    /// Fails if `terminals` are more than the limits of open files allow. Beyond them a daemon that dies could not be
    /// replaced, and no client could reach the terminals there are.
    fn check_files(&self, terminals: u64) -> Result<(), Error> {
        let own = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        if terminals * limits::FILES_PER_TERMINAL + limits::FILES_RESERVED > own {
            return Err(Error::Limit(out_of_files("daemon", own).into()));
        }
        let keepers = self.vitals().map_or(u64::MAX, |vitals| vitals.file_limit());
        if terminals * swb_keeper::FILES_PER_SLOT + swb_keeper::FILES_RESERVED > keepers {
            return Err(Error::Limit(out_of_files("keeper", keepers).into()));
        }
        Ok(())
    }

    /// Takes a slot for state of all sessions that is set aside, unless there are too many of them.
    pub(crate) fn reserve_aside(&self) -> Option<SlotId> {
        self.lock().take_slot_aside()
    }

    /// Notes what is set aside in a slot, or under its global key: then this daemon does not replace it.
    pub(crate) fn note_aside(&self, slot: SlotId, state: OptionalState) {
        self.lock().note_aside(slot, state);
    }

    /// What is set aside.
    pub(crate) fn aside(&self) -> Vec<OptionalState> {
        self.lock().aside.iter().map(|(_, state)| *state).collect()
    }

    /// Drops what is set aside for all sessions.
    pub(crate) fn drop_aside(&self) {
        let aside = std::mem::take(&mut self.lock().aside);
        for (slot, state) in aside.into_iter().filter(|(_, state)| state.is_global()) {
            match slot {
                SlotId::GLOBAL => self.drop_held(slot, state.key()),
                slot => self.free_slot(slot),
            }
        }
    }

    /// Sets the receiver of a slot's events.
    pub(crate) fn own_slot(&self, slot: SlotId, owner: SlotOwner) {
        self.lock().slots.insert(slot, Some(owner));
    }

    /// Frees a slot and everything held with it. Its process, if any, must have ended.
    pub(crate) fn free_slot(&self, slot: SlotId) {
        {
            let mut shared = self.lock();
            if let Some(Some(owner)) = shared.slots.remove(&slot) {
                owner.pty.release();
            }
            shared.aside.retain(|(aside, _)| *aside != slot);
            self.enqueue(&mut shared, Packet::new(PacketKind::Free, slot), vec![]);
        }
        self.send_queued();
    }

    pub(crate) fn spawn(&self, slot: SlotId, spec: &Spec, size: Size, ring: usize) -> io::Result<()> {
        let spec = spec.to_memfd()?;
        let size = u64::from(size.cols()) << 16 | u64::from(size.rows());
        self.send(Packet::new(PacketKind::Spawn, slot).args(size, ring as u64), vec![spec]);
        Ok(())
    }

    pub(crate) fn signal(&self, slot: SlotId, signal: i32) {
        self.send(Packet::new(PacketKind::Signal, slot).args(signal as u64, 0), vec![]);
    }

    /// Sets the offset up to which the keeper may write in a slot before its readers have caught up.
    pub(crate) fn set_gate(&self, slot: SlotId, offset: Option<Offset>) {
        if self.bell.set_gate(slot, offset.map(pty::keepers)) {
            self.send(Packet::new(PacketKind::GoOn, slot), vec![]);
        }
    }

    /// Asks to be woken when the output of a slot has reached `offset`, see [`Doorbell::arm`].
    pub(crate) fn arm(&self, slot: SlotId, offset: Offset) {
        self.bell.arm(slot, pty::keepers(offset));
    }

    /// Leaves a note about a slot for the next daemon.
    pub(crate) fn leave_note(&self, slot: SlotId, note: u64) {
        self.bell.leave_note(slot, note);
    }

    /// The note a former daemon left about a slot; 0 if there is none.
    pub(crate) fn note(&self, slot: SlotId) -> u64 {
        self.bell.note(slot)
    }

    pub(crate) fn hold(&self, slot: SlotId, key: u16, fd: OwnedFd) {
        if slot == SlotId::GLOBAL && self.lock().is_set_aside(key) {
            return;
        }
        self.send(Packet::new(PacketKind::Hold, slot).key(key), vec![fd]);
    }

    /// Leaves a descriptor with the slot of `pty`, unless the slot was freed.
    pub(crate) fn hold_owned(&self, pty: &Arc<Pty>, key: u16, fd: OwnedFd) {
        {
            let mut shared = self.lock();
            let owner = shared.slots.get(&pty.slot()).and_then(Option::as_ref);
            if owner.is_some_and(|owner| Arc::ptr_eq(&owner.pty, pty)) {
                self.enqueue(&mut shared, Packet::new(PacketKind::Hold, pty.slot()).key(key), vec![fd]);
            }
        }
        self.send_queued();
    }

    pub(crate) fn drop_held(&self, slot: SlotId, key: u16) {
        if slot == SlotId::GLOBAL && self.lock().is_set_aside(key) {
            return;
        }
        self.send(Packet::new(PacketKind::Drop, slot).key(key), vec![]);
    }

    pub(crate) fn hold_front(&self, index: u16, fd: OwnedFd) {
        self.hold(SlotId::GLOBAL, Self::front_key(index), fd);
    }

    pub(crate) fn drop_front(&self, index: u16) {
        self.drop_held(SlotId::GLOBAL, Self::front_key(index));
    }

    pub(crate) fn hold_turns(&self, memory: OwnedFd) {
        self.hold(SlotId::GLOBAL, KEY_TURNS, memory);
    }

    pub(crate) fn hold_events(&self, memory: OwnedFd) {
        self.hold(SlotId::GLOBAL, KEY_EVENTS, memory);
    }

    pub(crate) fn hold_chats(&self, memory: OwnedFd) {
        self.hold(SlotId::GLOBAL, KEY_CHATS, memory);
    }

    pub(crate) fn drop_chats(&self) {
        self.drop_held(SlotId::GLOBAL, KEY_CHATS);
    }

    pub(crate) fn drop_turns(&self) {
        self.drop_held(SlotId::GLOBAL, KEY_TURNS);
    }

    /// The global key of a front; fronts that there is no room for share the last one.
    pub(crate) fn front_key(index: u16) -> u16 {
        match index.min(ALL_FRONTS - 1).checked_sub(FRONTS) {
            None => KEY_FRONT + index,
            Some(further) => KEY_FURTHER + further,
        }
    }

    pub(crate) fn leave_successor(&self, spec: &Spec) -> io::Result<()> {
        self.hold(SlotId::GLOBAL, KEY_DAEMON, spec.to_memfd()?);
        Ok(())
    }

    pub(crate) fn drop_successor(&self) {
        self.drop_held(SlotId::GLOBAL, KEY_DAEMON);
    }

    pub(crate) fn replace_keeper(&self, spec: &Spec) -> io::Result<()> {
        self.send(Packet::new(PacketKind::Replace, SlotId::GLOBAL), vec![spec.to_memfd()?]);
        Ok(())
    }

    pub(crate) fn hand_over(&self, limit_ms: u64) {
        self.send(Packet::new(PacketKind::Handover, SlotId::GLOBAL).args(limit_ms, 0), vec![]);
    }

    pub(crate) fn goodbye(&self) {
        self.send(Packet::new(PacketKind::Goodbye, SlotId::GLOBAL), vec![]);
    }

    /// Waits until all queued packets are sent.
    pub(crate) async fn flush(&self) {
        while !self.lock().queue.is_empty() && !self.is_lost() {
            let Ok(mut guard) = self.link.writable().await else {
                return;
            };
            guard.clear_ready();
            self.send_queued();
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    fn send(&self, packet: Packet, fds: Vec<OwnedFd>) {
        self.enqueue(&mut self.lock(), packet, fds);
        self.send_queued();
    }

    fn enqueue(&self, shared: &mut KeeperShared, packet: Packet, fds: Vec<OwnedFd>) {
        if self.is_lost() {
            return;
        }
        if shared.queue.len() >= limits::KEEPER_QUEUE {
            tracing::error!("the keeper no longer accepts requests");
            self.lost.cancel();
            return;
        }
        shared.queue.push_back((packet, fds));
    }

    fn send_queued(&self) {
        let mut shared = self.lock();
        while let Some((packet, fds)) = shared.queue.front() {
            let borrowed: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
            match self.link.get_ref().send(*packet, &borrowed) {
                Ok(()) => drop(shared.queue.pop_front()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Too many descriptors in flight: the keeper receives some soon.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::TOOMANYREFS.raw_os_error()) => {
                    return;
                }
                Err(_) => {
                    // The receiving task notices the end and notifies all sessions.
                    shared.queue.clear();
                    return;
                }
            }
        }
    }

    /// Receives until the keeper is gone.
    pub(crate) async fn serve(self) {
        loop {
            let Ok(mut ready) = self.link.ready(Interest::READABLE | Interest::WRITABLE).await else {
                break;
            };
            if ready.ready().is_writable() {
                ready.clear_ready_matching(tokio::io::Ready::WRITABLE);
                self.send_queued();
            }
            if !ready.ready().is_readable() {
                continue;
            }
            match self.link.get_ref().receive() {
                Ok(Received::Packet(packet, [first, second])) => self.dispatch(&packet, first, second),
                Ok(Received::Unknown) => {}
                Ok(Received::Closed) => break,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready.clear_ready_matching(tokio::io::Ready::READABLE);
                }
                Err(error) => {
                    tracing::error!(%error, "cannot read from the keeper");
                    break;
                }
            }
        }
        self.lose();
    }

    fn lose(&self) {
        let owners: Vec<(SlotId, SlotOwner)> = {
            let mut shared = self.lock();
            self.lost.cancel();
            shared.queue.clear();
            shared.slots.iter().filter_map(|(slot, owner)| Some((*slot, owner.clone()?))).collect()
        };
        for (slot, owner) in owners {
            notify(&owner, slot, KeeperEvent::KeeperLost);
        }
    }

    /// Wakes the readers of PTYs that got output, until the daemon ends.
    pub(crate) async fn answer_doorbell(self) {
        let Ok(event) = self.bell.event().try_clone_to_owned() else {
            return;
        };
        let Ok(event) = crate::sys::register(event, Interest::READABLE) else {
            return;
        };
        while let Ok(mut ready) = event.readable().await {
            ready.clear_ready();
            self.beat();
            let shared = self.lock();
            self.bell.answer(|slot| {
                if let Some(Some(owner)) = shared.slots.get(&slot) {
                    owner.pty.wake();
                }
            });
        }
    }

    /// Shows the keeper that this daemon does not hang.
    pub(crate) fn beat(&self) {
        if let Some(vitals) = &self.vitals {
            vitals.beat();
        }
    }

    /// Publishes the number of open connections. The keeper, which may not have noticed that a client came, gets a packet
    /// when it has to begin to watch this daemon.
    pub(crate) fn set_clients(&self, clients: usize) {
        if self.vitals.as_ref().is_some_and(|vitals| vitals.set_clients(clients)) {
            self.send(Packet::new(PacketKind::GoOn, SlotId::GLOBAL), vec![]);
        }
    }

    /// The vital signs that the keeper watches.
    pub(crate) fn vitals(&self) -> Option<&Arc<Vitals>> {
        self.vitals.as_ref()
    }

    fn dispatch(&self, packet: &Packet, first: Option<OwnedFd>, second: Option<OwnedFd>) {
        let owner = self.lock().slots.get(&packet.slot).cloned().flatten();
        let event = match packet.kind {
            PacketKind::Spawned => {
                KeeperEvent::Spawned { pid: packet.a as i32, ring: first.and_then(open_ring), master: second }
            }
            PacketKind::SpawnFailed => {
                KeeperEvent::SpawnFailed { reason: start_failure(packet.a, packet.b), over: false }
            }
            PacketKind::Exited => KeeperEvent::Exited { status: exit_status(packet.a) },
            PacketKind::Refused if packet.b == PacketKind::Spawn as u64 => {
                let full = packet.a == rustix::io::Errno::MFILE.raw_os_error() as u64;
                let reason = match self.vitals().filter(|_| full) {
                    Some(vitals) => out_of_files("keeper", vitals.file_limit()),
                    None => start_failure(packet.a, Stage::Setup as u64),
                };
                KeeperEvent::SpawnFailed { reason, over: true }
            }
            PacketKind::Refused => {
                let error = io::Error::from_raw_os_error(packet.a as i32);
                tracing::warn!(slot = %packet.slot, request = packet.b, %error, "the keeper refused a request");
                return;
            }
            _ => return,
        };
        match owner {
            Some(owner) => notify(&owner, packet.slot, event),
            None => tracing::debug!(slot = %packet.slot, "event for a slot without a session"),
        }
    }
}

fn notify(owner: &SlotOwner, slot: SlotId, event: KeeperEvent) {
    // The queue has room for all events a session can have; it is closed when the session is gone.
    if let Err(mpsc::error::TrySendError::Full(_)) = owner.events.try_send(Box::new((slot, event))) {
        tracing::error!(%slot, "the session's queue of keeper events is full");
    }
}

fn unavailable(error: io::Error) -> Error {
    Error::Keeper(error.to_string())
}

async fn adopt(link: &AsyncFd<KeeperLink>, socket: &Path) -> Result<(Greeting, AdoptedState), Error> {
    let mut welcome = None;
    let mut vitals = None;
    let mut left = AdoptedState::default();
    loop {
        let received = link.async_io(Interest::READABLE, KeeperLink::receive).await.map_err(unavailable)?;
        let (packet, [first, second]) = match received {
            Received::Packet(packet, fds) => (packet, fds),
            Received::Unknown => continue,
            Received::Closed => return Err(unavailable(io::ErrorKind::ConnectionReset.into())),
        };
        match packet.kind {
            PacketKind::Welcome => {
                if packet.a != VERSION {
                    tracing::info!(
                        keeper = packet.a,
                        daemon = VERSION,
                        "the keeper has a neighbouring protocol version"
                    );
                }
                let missing = || Error::Keeper("it sent no doorbell".into());
                let bell = Doorbell::open(first.ok_or_else(missing)?, second.ok_or_else(missing)?)
                    .map_err(unavailable)?;
                welcome = Some((bell, packet.b));
            }
            PacketKind::Vitals => {
                let opened = first.map(Vitals::open).transpose().map_err(unavailable)?;
                vitals = opened.map(Arc::new);
                if let Some(vitals) = &vitals {
                    vitals.begin();
                }
            }
            PacketKind::Busy if packet.a == u64::from(std::process::id()) => {
                // It has not noticed yet that this process replaced its own program.
                return Err(unavailable(io::ErrorKind::WouldBlock.into()));
            }
            PacketKind::Busy => return Err(Error::AnotherDaemon(packet.a)),
            PacketKind::Refused if packet.b == PacketKind::Hello as u64 => {
                let file = swb_keeper::key_file(socket);
                return Err(Error::Keeper(format!("{} does not contain its key", file.display())));
            }
            PacketKind::Slot => {
                adopt_slot(left.slots.entry(packet.slot).or_default(), &packet, first, second)
            }
            PacketKind::Held => {
                let Some(fd) = first else { continue };
                match packet.slot {
                    SlotId::GLOBAL => left.global.insert(packet.key, fd),
                    slot => left.slots.entry(slot).or_default().held.insert(packet.key, fd),
                };
            }
            PacketKind::Adopted => break,
            _ => {}
        }
    }
    let (bell, about) = welcome.ok_or_else(|| Error::Keeper("it sent no greeting".into()))?;
    Ok((Greeting { bell, vitals, about }, left))
}

fn adopt_slot(slot: &mut AdoptedSlot, packet: &Packet, first: Option<OwnedFd>, second: Option<OwnedFd>) {
    let has = |flag| packet.key & flag != 0;
    slot.ring = first;
    slot.master = second;
    slot.pid = packet.a as i32;
    slot.exit = has(SlotFlags::EXITED).then(|| exit_status(packet.b));
    slot.starting = has(SlotFlags::STARTING);
}

pub(crate) fn open_ring(fd: OwnedFd) -> Option<Reader> {
    Reader::open(fd).inspect_err(|error| tracing::error!(%error, "cannot map a ring")).ok()
}

fn exit_status(word: u64) -> ExitStatus {
    match word {
        256.. => ExitStatus::Signal((word - 256) as i32 & 0x7f),
        code => ExitStatus::Code(code as i32),
    }
}

/// Why there is no room for another terminal, and what to do.
fn out_of_files(process: &str, limit: u64) -> String {
    format!(
        "the {process}'s limit of open files (RLIMIT_NOFILE, {limit}) leaves no room for another terminal: end some \
         sessions, or raise the hard limit (`ulimit -Hn`, or LimitNOFILE= in a systemd unit) before the keeper starts"
    )
}

fn start_failure(errno: u64, stage: u64) -> String {
    let reason = io::Error::from_raw_os_error(errno as i32);
    let reason = reason.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default().to_lowercase();
    match Stage::from_u64(stage) {
        Stage::Setup => format!("cannot create its terminal: {reason}"),
        Stage::Directory => format!("cannot enter its directory: {reason}"),
        Stage::Program => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(aside: Vec<(SlotId, OptionalState)>) -> KeeperShared {
        KeeperShared { slots: BTreeMap::new(), aside, queue: VecDeque::new() }
    }

    #[test]
    fn screens_that_are_set_aside_leave_room_for_conversations() {
        let screens = (0..100).map(|slot| (SlotId(slot), OptionalState::Screen(SlotId(slot))));
        let mut shared = shared(screens.collect());
        for _ in 0..limits::SET_ASIDE {
            let slot = shared.take_slot_aside().expect("a slot");
            shared.note_aside(slot, OptionalState::Conversations);
        }
        assert_eq!(shared.take_slot_aside(), None, "their number is limited");
    }

    #[test]
    fn a_screen_that_is_set_aside_twice_is_reported_once() {
        let mut shared = shared(Vec::new());
        for slot in [3, 4, 3] {
            shared.note_aside(SlotId(slot), OptionalState::Screen(SlotId(slot)));
        }
        assert_eq!(shared.aside.len(), 2);
    }

    #[test]
    fn what_has_no_slot_keeps_its_global_key() {
        let shared = shared(vec![
            (SlotId::GLOBAL, OptionalState::Conversations),
            (SlotId(3), OptionalState::Turns),
            (SlotId(4), OptionalState::Screen(SlotId(4))),
        ]);
        assert!(shared.is_set_aside(KEY_CHATS));
        for other in [KEY_TURNS, KEY_EVENTS, KEY_SCREEN] {
            assert!(!shared.is_set_aside(other), "{other}");
        }
    }
}
