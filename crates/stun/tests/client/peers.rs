//! Datagrams to and from peers, with a scripted server.

use crate::script::{Script, Sent, address};
use std::time::Duration;
use swb_stun::message::{Class, MessageWriter, attribute, method};
use swb_stun::{AllocationEvent, SendError, TransactionId, TurnError, limits};

const PEER: &str = "192.0.2.1:4001";

fn data(from: &str, payload: &[u8]) -> Vec<u8> {
    MessageWriter::new(Class::Indication, method::DATA, TransactionId([1; 12]))
        .xor_address(attribute::XOR_PEER_ADDRESS, address(from))
        .attribute(attribute::DATA, payload)
        .finish()
}

fn received(script: &mut Script, datagram: &[u8]) -> Option<(String, Vec<u8>)> {
    let received = script.allocation.handle(datagram, script.now)?;
    Some((received.from.to_string(), datagram[received.payload].to_vec()))
}

#[test]
fn the_first_datagram_waits_for_a_permission_and_later_ones_use_a_channel() {
    let mut script = Script::allocated();
    let peer = address(PEER);
    for payload in [&b"one"[..], b"two"] {
        script.allocation.send(peer, payload, script.now).unwrap();
    }
    let permission = script.request();
    permission.assert_signed(b"nonce");
    assert_eq!((permission.method(), permission.peer().ip()), (method::CREATE_PERMISSION, peer.ip()));
    script.silence();
    script.handle(&permission.granted());

    let binding = script.request();
    assert_eq!((binding.method(), binding.peer()), (method::CHANNEL_BIND, peer));
    assert_eq!(binding.message().attribute(attribute::CHANNEL_NUMBER), Some(&[0x40, 0, 0, 0][..]));
    script.allocation.send(peer, b"three", script.now).unwrap();
    for payload in [&b"one"[..], b"two", b"three"] {
        let sent = script.request();
        assert_eq!((sent.method(), sent.peer()), (method::SEND, peer));
        assert_eq!(sent.message().attribute(attribute::DATA), Some(payload));
    }
    script.handle(&binding.granted());
    script.allocation.send(peer, b"four", script.now).unwrap();
    assert_eq!(script.datagram().unwrap(), b"\x40\0\0\x04four");
    script.silence();
}

#[test]
fn ipv4_peers_in_the_form_of_ipv6_are_the_same_peers() {
    let mut script = Script::allocated();
    script.bind(address(PEER));
    script.allocation.send(address("[::ffff:192.0.2.1]:4001"), b"x", script.now).unwrap();
    assert_eq!(script.datagram().unwrap(), b"\x40\0\0\x01x");
}

#[test]
fn datagrams_of_peers_are_received_both_ways() {
    let mut script = Script::allocated();
    let mine = |payload: &[u8]| Some((PEER.to_owned(), payload.to_vec()));
    assert_eq!(received(&mut script, &data(PEER, b"early")), None, "it has no permission");
    assert_eq!(received(&mut script, b"\x40\0\0\x01x"), None, "the channel is not bound");
    script.bind(address(PEER));
    assert_eq!(received(&mut script, &data(PEER, b"data")), mine(b"data"));
    assert_eq!(received(&mut script, b"\x40\0\0\x04more"), mine(b"more"));
    assert_eq!(received(&mut script, b"\x40\0\0\x03pad\0"), mine(b"pad"));
    assert_eq!(received(&mut script, b"\x40\0\0\0"), mine(b""));
    // Another port has the same permission; another address and another channel have none.
    assert_eq!(
        received(&mut script, &data("192.0.2.1:9", b"x")),
        Some(("192.0.2.1:9".to_owned(), b"x".to_vec()))
    );
    assert_eq!(received(&mut script, &data("192.0.2.2:4001", b"x")), None);
    assert_eq!(received(&mut script, b"\x40\x01\0\x01x"), None);
    assert_eq!(received(&mut script, b"\x40\0\0\x05four"), None, "it is longer than the datagram");
}

#[test]
fn permissions_and_channels_are_renewed_while_they_are_used() {
    let mut script = Script::allocated();
    script.bind(address(PEER));
    let mut seen = Vec::new();
    for minute in 0..20 {
        seen.extend(
            script.serve(Duration::from_secs(60)).into_iter().map(|(what, at)| (what, minute * 60 + at)),
        );
        script.allocation.send(address(PEER), b"x", script.now).unwrap();
        assert_eq!(script.datagram().unwrap(), b"\x40\0\0\x01x");
    }
    let times = |what| seen.iter().filter(|(sent, _)| *sent == what).map(|(_, at)| *at).collect::<Vec<_>>();
    assert_eq!(times(method::CREATE_PERMISSION), [240, 480, 720, 960, 1200]);
    assert_eq!(times(method::CHANNEL_BIND), [540, 1080]);
}

#[test]
fn peers_that_are_not_used_are_forgotten() {
    let mut script = Script::allocated();
    script.bind(address(PEER));
    let seen = script.serve(Duration::from_secs(1200));
    assert!(seen.iter().all(|(sent, _)| *sent == method::REFRESH), "{seen:?}");
    assert_eq!(received(&mut script, &data(PEER, b"x")), None);
    script.bind(address(PEER));
}

#[test]
fn a_peer_that_the_server_refuses_is_reported_once() {
    let mut script = Script::allocated();
    let peer = address(PEER);
    script.allocation.send(peer, b"x", script.now).unwrap();
    let request = script.request();
    script.handle(&request.refused(403));
    let error = TurnError::Forbidden;
    assert_eq!(script.event(), Some(AllocationEvent::PeerRefused { peer: peer.ip(), error }));
    assert_eq!(script.allocation.send(peer, b"x", script.now), Err(SendError::Refused));
    assert_eq!(received(&mut script, &data(PEER, b"x")), None);
    script.silence();
    script.serve(limits::REFUSED);
    script.bind(peer);
}

#[test]
fn a_permission_without_reply_may_be_requested_again() {
    let mut script = Script::allocated();
    let peer = address(PEER);
    script.allocation.send(peer, b"x", script.now).unwrap();
    let end = script.now + limits::REQUEST;
    while script.wait(end) {
        while script.datagram().is_some() {}
    }
    let error = TurnError::TimedOut;
    assert_eq!(script.event(), Some(AllocationEvent::PeerRefused { peer: peer.ip(), error }));
    script.bind(peer);
}

#[test]
fn a_channel_that_the_server_refuses_leaves_indications() {
    let mut script = Script::allocated();
    let peer = address(PEER);
    script.allocation.send(peer, b"x", script.now).unwrap();
    let permission = script.request();
    script.handle(&permission.granted());
    let binding = script.request();
    script.handle(&binding.refused(508));
    assert_eq!(script.request().method(), method::SEND);
    script.allocation.send(peer, b"x", script.now).unwrap();
    assert_eq!(script.request().method(), method::SEND);
    script.silence();
    assert_eq!(script.event(), None);
    // Later it is tried again, with the same number.
    script.serve(limits::REFUSED);
    script.allocation.send(peer, b"x", script.now).unwrap();
    let again = script.request();
    let number = |sent: &Sent| sent.message().attribute(attribute::CHANNEL_NUMBER).map(<[u8]>::to_vec);
    assert_eq!((again.method(), number(&again)), (method::CHANNEL_BIND, number(&binding)));
}

#[test]
fn peers_can_be_permitted_before_anything_is_sent() {
    let mut script = Script::allocated();
    let peer = address(PEER);
    assert_eq!(script.allocation.permit(peer.ip(), script.now), Ok(false));
    let permission = script.request();
    script.handle(&permission.granted());
    script.silence();
    assert_eq!(script.allocation.permit(peer.ip(), script.now), Ok(true));
    assert!(received(&mut script, &data(PEER, b"x")).is_some());
}

#[test]
fn queues_and_lists_are_bounded() {
    let mut script = Script::allocated();
    let peer = |index: u8| format!("192.0.2.{index}:1").parse().unwrap();
    assert_eq!(script.allocation.send(peer(1), &[0; 2049], script.now), Err(SendError::TooLong));
    assert_eq!(script.allocation.send(address("192.0.2.1:0"), b"", script.now), Err(SendError::Address));
    assert_eq!(script.allocation.send(address("[::1]:1"), b"", script.now), Err(SendError::Family));
    for index in 1..=32 {
        assert_eq!(script.allocation.send(peer(index), b"x", script.now), Ok(()));
    }
    for index in 33..=64 {
        assert_eq!(script.allocation.send(peer(index), b"x", script.now), Err(SendError::QueueFull));
    }
    assert_eq!(script.allocation.send(peer(65), b"x", script.now), Err(SendError::TooManyPeers));
    let requests: Vec<Sent> = std::iter::from_fn(|| script.datagram()).map(Sent).collect();
    assert_eq!(requests.len(), 64);
    for request in requests {
        script.handle(&request.granted());
    }
    let sent = (0..1000).map(|_| script.allocation.send(peer(1), b"x", script.now));
    assert_eq!(sent.filter(Result::is_ok).count(), limits::OUTGOING - 32);
    assert_eq!(std::iter::from_fn(|| script.datagram()).count(), limits::OUTGOING + 32);
}

#[test]
fn requests_and_events_that_are_not_taken_are_bounded() {
    let mut script = Script::allocated();
    // Each time 64 requests, sent four times, none of which gets a reply.
    for round in 0..3 {
        for index in 0..64 {
            let peer = std::net::IpAddr::from([192, 0, round, index]);
            assert_eq!(script.allocation.permit(peer, script.now), Ok(false));
        }
        let end = script.now + limits::REQUEST;
        while script.wait(end) {}
    }
    assert_eq!(std::iter::from_fn(|| script.datagram()).count(), limits::OUTGOING_REQUESTS);
    assert_eq!(std::iter::from_fn(|| script.event()).count(), limits::EVENTS);
}
