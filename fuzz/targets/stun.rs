//! Arbitrary datagrams and replies of a STUN or TURN server, in any order and at any time: no panic, no endless work,
//! bounded queues, and payloads within their datagram. Also arbitrary URLs of servers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use swb_stun::integrity::IntegrityKey;
use swb_stun::message::{Class, StunMessage, MessageWriter, attribute};
use swb_stun::{Allocation, Binding, Credentials, RelayFamily, ServerUrl, TransactionId, is_stun, limits};

/// Everything that the client sent and the server has not looked at.
struct World {
    allocation: Allocation,
    credentials: Credentials,
    now: Instant,
    requests: VecDeque<Vec<u8>>,
}

fuzz_target!(|data: &[u8]| {
    check_message(data);
    if let Ok(text) = std::str::from_utf8(data) {
        check_url(text);
    }
    let now = Instant::now();
    let mut binding = Binding::new(*b"transaction!", now);
    let _outcome = binding.handle(data);

    for is_allocated in [false, true] {
        let credentials = Credentials::new("u", "p").expect("short");
        let allocation = Allocation::new(Some(credentials.clone()), RelayFamily::V4, [7; 32], now);
        let mut world = World { allocation, credentials, now, requests: VecDeque::new() };
        if is_allocated {
            world.allocate();
        }
        let mut rest = data;
        while let Some((&length, after)) = rest.split_first() {
            let (piece, next) = after.split_at(after.len().min(length.into()));
            world.act(piece);
            rest = next;
        }
    }
});

impl World {
    fn allocate(&mut self) {
        self.take();
        let challenge = [0, 0x14, 0, 1, b'r', 0, 0, 0, 0, 0x15, 0, 1, b'n', 0, 0, 0];
        let error = [&[0, 9, 0, 4, 0, 0, 4, 1], &challenge[..]].concat();
        self.reply(Class::Error, &error, false);
        let addresses =
            [0x20, 0x16].map(|kind| [0, kind, 0, 8, 0, 1, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43]).concat();
        self.reply(Class::Success, &[&addresses[..], &[0, 0x0d, 0, 4, 0, 0, 2, 0x58]].concat(), true);
        assert!(self.allocation.relayed().is_some());
    }

    /// The first byte of a piece selects what happens.
    fn act(&mut self, piece: &[u8]) {
        let Some((&what, rest)) = piece.split_first() else { return };
        match what % 8 {
            0 => self.receive(rest),
            1 => self.reply(Class::Success, rest, false),
            2 => self.reply(Class::Success, rest, true),
            3 => self.reply(Class::Error, rest, false),
            4 => self.reply(Class::Error, rest, true),
            5 => {
                self.now +=
                    Duration::from_millis(50 * rest.first().map_or(1, |byte| u64::from(*byte).pow(2)));
                self.allocation.handle_timeout(self.now);
                assert!(self.allocation.poll_timeout().is_none_or(|next| next > self.now), "endless work");
            }
            6 => {
                let port = rest.first().copied().unwrap_or(1);
                let peer = ([192, 0, 2, port / 4], u16::from(port)).into();
                let _sent = self.allocation.send(peer, rest, self.now);
            }
            _ => self.allocation.close(self.now),
        }
        self.take();
    }

    fn receive(&mut self, datagram: &[u8]) {
        if let Some(received) = self.allocation.handle(datagram, self.now) {
            assert!(datagram.get(received.payload).is_some());
        }
    }

    /// A reply to the oldest request, with these attributes.
    fn reply(&mut self, class: Class, attributes: &[u8], is_signed: bool) {
        let Some(request) = self.requests.pop_front() else { return };
        let request = StunMessage::parse(&request).expect("what we write we can read");
        let mut writer = MessageWriter::new(class, request.method(), request.transaction());
        let mut rest = attributes;
        while let Some((&[k1, k2, _, length], after)) = rest.split_first_chunk() {
            let padded = usize::from(length).next_multiple_of(4).min(after.len());
            let (value, next) = after.split_at(padded);
            let value = value.get(..length.into()).unwrap_or(value);
            writer = writer.attribute(u16::from_be_bytes([k1, k2]), value);
            rest = next;
        }
        if is_signed {
            let realm = request.attribute(attribute::REALM).unwrap_or_default();
            writer = writer.integrity(&self.credentials.key(realm));
        }
        self.receive(&writer.finish());
        self.take();
    }

    fn take(&mut self) {
        let mut count = 0;
        while let Some(datagram) = self.allocation.poll_transmit() {
            count += 1;
            if StunMessage::parse(&datagram).is_ok_and(|message| message.class() == Class::Request) {
                self.requests.push_back(datagram);
            }
        }
        assert!(count <= limits::OUTGOING + limits::OUTGOING_REQUESTS);
        let events = std::iter::from_fn(|| self.allocation.poll_event());
        assert!(events.count() <= limits::EVENTS);
    }
}

fn check_message(data: &[u8]) {
    let Ok(message) = StunMessage::parse(data) else { return };
    assert!(is_stun(data));
    let key = IntegrityKey::new(b"key");
    assert_ne!(message.verify(&key), Some(true), "a key cannot be guessed");
    drop(message.error());
    let mut writer = MessageWriter::new(message.class(), message.method(), message.transaction());
    for (kind, value) in message.attributes() {
        let range = message.attribute_range(kind).expect("it is there");
        assert!(data.get(range).is_some());
        if kind != attribute::FINGERPRINT {
            writer = writer.attribute(kind, value);
        }
    }
    let written = writer.integrity(&key).finish();
    let again = StunMessage::parse(&written).expect("what we write we can read");
    assert_eq!(again.verify(&key), Some(true));
    let kept = message.attributes().filter(|(kind, _)| *kind != attribute::FINGERPRINT);
    assert!(again.attributes().eq(kept));
    assert_eq!(again.transaction(), TransactionId(message.transaction().0));
}

fn check_url(text: &str) {
    for text in [text, &format!("stun:{text}"), &format!("turn:{text}")] {
        if let Ok(url) = ServerUrl::parse(text) {
            let again = ServerUrl::parse(&url.to_string()).expect("what we write we can read");
            assert_eq!((again.kind, again.host, again.port), (url.kind, url.host, url.port));
        }
    }
}
