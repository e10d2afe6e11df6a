//! A TURN server that a test scripts, and an allocation at it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};
use swb_stun::integrity::IntegrityKey;
use swb_stun::message::{Class, MessageWriter, StunMessage, attribute, method};
use swb_stun::{Allocation, AllocationEvent, Credentials, RelayFamily};

pub(crate) const REALM: &[u8] = b"realm";
pub(crate) const RELAYED: &str = "203.0.113.9:50000";
pub(crate) const MAPPED: &str = "198.51.100.4:1234";

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

pub(crate) fn credentials() -> Credentials {
    Credentials::new("user", "password").expect("short enough")
}

pub(crate) fn key() -> IntegrityKey {
    credentials().key(REALM)
}

/// A client, its clock, and the datagrams that the server has not looked at.
pub(crate) struct Script {
    pub(crate) allocation: Allocation,
    pub(crate) now: Instant,
}

/// A request or an indication that the client sent.
pub(crate) struct Sent(pub(crate) Vec<u8>);

impl Sent {
    pub(crate) fn message(&self) -> StunMessage<'_> {
        StunMessage::parse(&self.0).expect("what the client sends is a message")
    }

    pub(crate) fn method(&self) -> u16 {
        self.message().method()
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.message().xor_address(attribute::XOR_PEER_ADDRESS).expect("the address of a peer")
    }

    /// A reply to it, to be completed.
    pub(crate) fn reply(&self, class: Class) -> MessageWriter {
        MessageWriter::new(class, self.method(), self.message().transaction())
    }

    pub(crate) fn granted(&self) -> Vec<u8> {
        self.reply(Class::Success).integrity(&key()).finish()
    }

    /// A reply that grants an allocation or a refresh.
    pub(crate) fn granted_for(&self, seconds: u32) -> Vec<u8> {
        self.reply(Class::Success)
            .xor_address(attribute::XOR_RELAYED_ADDRESS, address(RELAYED))
            .xor_address(attribute::XOR_MAPPED_ADDRESS, address(MAPPED))
            .attribute(attribute::LIFETIME, &seconds.to_be_bytes())
            .integrity(&key())
            .finish()
    }

    pub(crate) fn error(&self, code: u16) -> MessageWriter {
        let value = [0, 0, (code / 100) as u8, (code % 100) as u8];
        self.reply(Class::Error).attribute(attribute::ERROR_CODE, &value)
    }

    pub(crate) fn refused(&self, code: u16) -> Vec<u8> {
        self.error(code).integrity(&key()).finish()
    }

    pub(crate) fn challenge(&self, code: u16, nonce: &[u8]) -> Vec<u8> {
        self.error(code).attribute(attribute::REALM, REALM).attribute(attribute::NONCE, nonce).finish()
    }

    pub(crate) fn assert_signed(&self, nonce: &[u8]) {
        let message = self.message();
        assert_eq!(message.verify(&key()), Some(true));
        assert_eq!(message.attribute(attribute::NONCE), Some(nonce));
        assert_eq!(message.attribute(attribute::USERNAME), Some(&b"user"[..]));
    }
}

impl Script {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let allocation = Allocation::new(Some(credentials()), RelayFamily::V4, [7; 32], now);
        Self { allocation, now }
    }

    /// A client with an allocation for ten minutes.
    pub(crate) fn allocated() -> Self {
        let mut script = Self::challenged();
        let request = script.request();
        script.handle(&request.granted_for(600));
        let (relayed, mapped) = (address(RELAYED), address(MAPPED));
        assert_eq!(script.event(), Some(AllocationEvent::Allocated { relayed, mapped }));
        script
    }

    /// A client that is about to send its first signed request.
    pub(crate) fn challenged() -> Self {
        let mut script = Self::new();
        let request = script.request();
        assert_eq!(request.message().verify(&key()), None);
        script.handle(&request.challenge(401, b"nonce"));
        script
    }

    pub(crate) fn datagram(&mut self) -> Option<Vec<u8>> {
        self.allocation.poll_transmit()
    }

    /// The next message that the client sends; there has to be one.
    pub(crate) fn request(&mut self) -> Sent {
        Sent(self.datagram().expect("the client has sent something"))
    }

    /// Asserts that the client sends nothing more.
    pub(crate) fn silence(&mut self) {
        assert_eq!(self.datagram(), None);
    }

    pub(crate) fn handle(&mut self, datagram: &[u8]) {
        assert_eq!(self.allocation.handle(datagram, self.now), None);
    }

    pub(crate) fn event(&mut self) -> Option<AllocationEvent> {
        self.allocation.poll_event()
    }

    /// Lets time pass until the client has something to do, but no further than this. Returns whether it had.
    pub(crate) fn wait(&mut self, until: Instant) -> bool {
        let next = self.allocation.poll_timeout().filter(|next| *next <= until);
        let before = self.now;
        self.now = next.unwrap_or(until).max(before);
        self.allocation.handle_timeout(self.now);
        let later = self.allocation.poll_timeout();
        assert!(later.is_none_or(|later| later > self.now), "it would be called again at once");
        next.is_some()
    }

    /// Lets time pass; the server grants everything. Returns the methods of the requests and when they were sent.
    pub(crate) fn serve(&mut self, duration: Duration) -> Vec<(u16, u64)> {
        let (began, mut seen) = (self.now, Vec::new());
        while self.wait(began + duration) {
            while let Some(datagram) = self.datagram() {
                let sent = Sent(datagram);
                seen.push((sent.method(), (self.now - began).as_secs()));
                let reply =
                    if sent.method() == method::REFRESH { sent.granted_for(600) } else { sent.granted() };
                self.handle(&reply);
            }
        }
        seen
    }

    /// Sends a datagram and grants the permission and the channel.
    pub(crate) fn bind(&mut self, peer: SocketAddr) {
        self.allocation.send(peer, b"first", self.now).expect("there is room");
        let permission = self.request();
        assert_eq!(permission.method(), method::CREATE_PERMISSION);
        self.handle(&permission.granted());
        let binding = self.request();
        assert_eq!((binding.method(), binding.peer()), (method::CHANNEL_BIND, peer));
        self.handle(&binding.granted());
        assert_eq!(self.request().method(), method::SEND);
        self.silence();
    }
}
