//! The private protocol between daemon and keeper: fixed-size packets with descriptors beside them.
//!
//! It runs over a `SOCK_SEQPACKET` socket, so a packet arrives whole or not at all. A packet is 24
//! bytes, little-endian: kind `u16`, key `u16`, slot `u32`, two arguments `u64`. Anything longer
//! travels as a memfd. Kinds are append-only, and a receiver ignores kinds it does not know, so that
//! neighbouring versions understand each other; [`VERSION`] rises with what was added.

use crate::id::SlotId;
use crate::limits::{self, MAX_FDS};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// Version of the protocol spoken here.
pub const VERSION: u64 = 2;
/// First version of a daemon that shows vital signs.
pub(crate) const VERSION_WITH_VITALS: u64 = 2;
/// Global key under which the daemon leaves the [`crate::Spec`] of its own successor.
pub const KEY_DAEMON: u16 = 0;

const LEN: usize = 24;

/// What a packet is about. The first group goes to the keeper, the second to the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum PacketKind {
    /// First packet of a daemon: `a` is its version, `b` the key of the installation ([`crate::key_file`]), or 0. It gets
    /// `Refused` if the key is wrong and the keeper has not started it.
    Hello = 1,
    /// Starts a child in a slot: `a` columns and rows, `b` bytes of ring to keep, with a [`crate::Spec`].
    /// A slot that already has a ring goes on with it.
    Spawn = 2,
    /// Sends signal `a` to the process group of a slot's child.
    Signal = 3,
    /// Leaves a descriptor with the keeper under slot and key.
    Hold = 4,
    /// Removes it.
    Drop = 5,
    /// Frees a slot; a child that still lives is killed.
    Free = 6,
    /// The daemon stops in order and is not to be replaced.
    Goodbye = 7,
    /// The daemon replaces its own image; another is started only if it is not back in `a` ms.
    Handover = 8,
    /// Replaces the keeper's image with the program of the [`crate::Spec`] that comes with it.
    Replace = 9,
    /// The gate of a slot was raised while the keeper waited at it, or the daemon has clients for the first time since it
    /// had none: the keeper, which may sleep, is to read what it shares with the daemon.
    GoOn = 10,

    /// Answer to `Hello`: `a` is the keeper's version, `b` its pid and, in the upper half, how many
    /// daemons it has started; with the doorbell.
    Welcome = 101,
    /// Answer to `Hello` while another daemon, pid `a`, has the keeper.
    Busy = 102,
    /// State of an occupied slot ([`SlotFlags`] in key, pid in `a`, exit in `b`), with ring and master.
    Slot = 103,
    /// A held descriptor, given back to a new daemon.
    Held = 104,
    /// All slots and held descriptors have been sent.
    Adopted = 105,
    /// The child of a slot runs, pid `a`; with ring and master.
    Spawned = 106,
    /// It could not be started: `a` is the errno, `b` the [`Stage`].
    SpawnFailed = 107,
    /// The child of a slot ended: `a` as in [`encode_exit`], `b` the final offset.
    Exited = 108,
    /// A request was refused: `a` is the errno, `b` the kind refused.
    Refused = 109,
    /// The memory of the daemon's vital signs ([`crate::Vitals`]), right after `Welcome`.
    Vitals = 110,
}

impl PacketKind {
    fn from_u16(kind: u16) -> Option<Self> {
        use PacketKind::*;
        [
            Hello,
            Spawn,
            Signal,
            Hold,
            Drop,
            Free,
            Goodbye,
            Handover,
            Replace,
            GoOn,
            Welcome,
            Busy,
            Slot,
            Held,
            Adopted,
            Spawned,
            SpawnFailed,
            Exited,
            Refused,
            Vitals,
        ]
        .into_iter()
        .find(|k| *k as u16 == kind)
    }
}

/// Bits in the key of a [`PacketKind::Slot`] packet.
#[derive(Debug, Clone, Copy)]
pub struct SlotFlags;

impl SlotFlags {
    /// The first descriptor is the ring.
    pub const RING: u16 = 1;
    /// The next descriptor is the PTY master, and the child lives.
    pub const RUNNING: u16 = 2;
    /// The child ended; `b` has its exit state.
    pub const EXITED: u16 = 4;
    /// The child has been forked and not yet become its program.
    pub const STARTING: u16 = 8;
}

/// Where starting a child failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Making the PTY, the ring or the process.
    Setup = 0,
    /// Entering the working directory.
    Directory = 1,
    /// Running the program.
    Program = 2,
}

impl Stage {
    /// Reads a stage from the wire; what is unknown here happened during the set-up.
    pub fn from_u64(stage: u64) -> Self {
        match stage {
            1 => Self::Directory,
            2 => Self::Program,
            _ => Self::Setup,
        }
    }
}

/// How a child ended, as one number: its code, or 256 plus the signal.
pub fn encode_exit(code: Option<i32>, signal: Option<i32>) -> u64 {
    match (code, signal) {
        // Signals are numbered below 128.
        (_, Some(signal)) => 256 | (signal as u64 & 0xff),
        (code, None) => code.unwrap_or(255) as u64 & 0xff,
    }
}

/// One packet without its descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// What it is about.
    pub kind: PacketKind,
    /// Key of a held descriptor, or flags.
    pub key: u16,
    /// Slot it concerns, or [`SlotId::GLOBAL`].
    pub slot: SlotId,
    /// First argument.
    pub a: u64,
    /// Second argument.
    pub b: u64,
}

impl Packet {
    /// Makes a packet that needs no more than its kind and slot.
    pub fn new(kind: PacketKind, slot: SlotId) -> Self {
        Self { kind, key: 0, slot, a: 0, b: 0 }
    }

    /// Sets the key.
    pub fn key(self, key: u16) -> Self {
        Self { key, ..self }
    }

    /// Sets both arguments.
    pub fn args(self, a: u64, b: u64) -> Self {
        Self { a, b, ..self }
    }

    fn encode(self) -> [u8; LEN] {
        let fields = (self.kind as u16).to_le_bytes().into_iter().chain(self.key.to_le_bytes());
        let fields = fields.chain(self.slot.0.to_le_bytes());
        let fields = fields.chain(self.a.to_le_bytes()).chain(self.b.to_le_bytes());
        let mut bytes = [0; LEN];
        bytes.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (slot, rest) = rest.split_first_chunk()?;
        let (a, rest) = rest.split_first_chunk()?;
        let (b, _later_versions_may_add) = rest.split_first_chunk()?;
        Some(Self {
            kind: PacketKind::from_u16(u16::from_le_bytes(*kind))?,
            key: u16::from_le_bytes(*key),
            slot: SlotId(u32::from_le_bytes(*slot)),
            a: u64::from_le_bytes(*a),
            b: u64::from_le_bytes(*b),
        })
    }
}

/// Descriptors that came with a packet.
pub type Fds = [Option<OwnedFd>; MAX_FDS];

/// What one receive call found.
#[derive(Debug)]
pub enum Received {
    /// A packet and its descriptors.
    Packet(Packet, Fds),
    /// A packet of a kind not known here; ignored.
    Unknown,
    /// The peer is gone.
    Closed,
}

/// Sends one packet without waiting.
pub fn send(socket: impl AsFd, packet: Packet, fds: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(rustix::io::Errno::INVAL);
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg(socket, &[IoSlice::new(&packet.encode())], &mut control, flags)?;
    Ok(())
}

/// Receives one packet without waiting.
pub fn receive(socket: impl AsFd) -> rustix::io::Result<Received> {
    let mut bytes = [0; limits::PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let got = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)?;
    let mut fds = Fds::default();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            for (place, fd) in fds.iter_mut().zip(rights) {
                *place = Some(fd);
            }
        }
    }
    if got.bytes == 0 {
        return Ok(Received::Closed);
    }
    Ok(match bytes.get(..got.bytes).and_then(Packet::decode) {
        Some(packet) => Received::Packet(packet, fds),
        None => Received::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType};

    fn pair() -> (OwnedFd, OwnedFd) {
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .unwrap()
    }

    #[test]
    fn packets_carry_their_descriptors() {
        let (a, b) = pair();
        let held = crate::spec::sealed_memfd("x", b"content").unwrap();
        let packet = Packet::new(PacketKind::Hold, SlotId(7)).key(3).args(1, u64::MAX);
        send(&a, packet, &[held.as_fd()]).unwrap();
        let Received::Packet(got, [Some(fd), None]) = receive(&b).unwrap() else { panic!("one packet") };
        assert_eq!(got, packet);
        assert_eq!(crate::spec::read_memfd(fd, 100).unwrap(), b"content");
        drop(a);
        assert!(matches!(receive(&b).unwrap(), Received::Closed));
    }

    #[test]
    fn kinds_of_a_later_version_are_ignored() {
        let (a, b) = pair();
        for bytes in [&[0xff; 24][..], &[1, 0, 0][..], &[0; 64][..]] {
            rustix::io::write(&a, bytes).unwrap();
            assert!(matches!(receive(&b).unwrap(), Received::Unknown));
        }
        // A longer packet of a known kind is read as far as this version knows it.
        let mut longer = Packet::new(PacketKind::Hello, SlotId::GLOBAL).args(2, 0).encode().to_vec();
        longer.extend_from_slice(&[9; 8]);
        rustix::io::write(&a, &longer).unwrap();
        assert!(matches!(
            receive(&b).unwrap(),
            Received::Packet(Packet { kind: PacketKind::Hello, a: 2, .. }, _)
        ));
    }

    #[test]
    fn fields_have_their_places() {
        let packet = Packet { kind: PacketKind::Refused, key: 0x0201, slot: SlotId(0x0605_0403), a: 7, b: 8 };
        let bytes = [109, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(packet.encode(), bytes);
        assert_eq!(Packet::decode(&bytes), Some(packet));
    }

    #[test]
    fn every_kind_is_known_by_its_number() {
        use PacketKind::*;
        let kinds = [Hello, Spawn, Signal, Hold, Drop, Free, Goodbye, Handover, Replace, GoOn, Welcome, Busy];
        let more = [Slot, Held, Adopted, Spawned, SpawnFailed, Exited, Refused, Vitals];
        for kind in kinds.into_iter().chain(more) {
            assert_eq!(PacketKind::from_u16(kind as u16), Some(kind));
        }
    }

    #[test]
    fn exits_fit_one_number() {
        assert_eq!(encode_exit(Some(7), None), 7);
        assert_eq!(encode_exit(None, Some(9)), 265);
    }
}
