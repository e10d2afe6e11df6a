//! Questions to a STUN server.

use std::net::SocketAddr;
use std::time::{Duration, Instant};
use swb_stun::message::{Class, MessageWriter, StunMessage, attribute, method};
use swb_stun::{Binding, StunError, TransactionId, address, keepalive};

const ID: [u8; 12] = *b"transaction!";

fn reply() -> MessageWriter {
    MessageWriter::new(Class::Success, method::BINDING, TransactionId(ID))
}

#[test]
fn the_mapped_address_is_reported() {
    for mapped in ["192.0.2.7:4000", "[2001:db8::7]:4000"] {
        let mapped: SocketAddr = mapped.parse().unwrap();
        let plain = address::write(mapped);
        let other = "198.51.100.1:9".parse().unwrap();
        for reply in [
            reply().xor_address(attribute::XOR_MAPPED_ADDRESS, mapped),
            // An old server; and one that has both, of which a NAT has changed one.
            reply().attribute(attribute::MAPPED_ADDRESS, &plain),
            reply()
                .attribute(attribute::MAPPED_ADDRESS, &address::write(other))
                .xor_address(attribute::XOR_MAPPED_ADDRESS, mapped),
        ] {
            let mut binding = Binding::new(ID, Instant::now());
            assert_eq!(binding.handle(&reply.finish()), Some(Ok(mapped)));
            assert_eq!(binding.outcome(), Some(&Ok(mapped)));
            assert_eq!(binding.poll_timeout(), None);
        }
    }
}

#[test]
fn a_server_that_does_not_reply_is_given_up_after_five_seconds() {
    let began = Instant::now();
    let mut binding = Binding::new(ID, began);
    let mut sent = Vec::new();
    while let Some(now) = binding.poll_timeout() {
        sent.extend(binding.poll_transmit(now).map(|datagram| (now - began, datagram)));
    }
    assert_eq!(binding.outcome(), Some(&Err(StunError::TimedOut)));
    assert_eq!(sent.len(), 4);
    assert!(sent.iter().all(|(at, datagram)| *at < Duration::from_secs(5) && *datagram == sent[0].1));
    let message = StunMessage::parse(&sent[0].1).unwrap();
    assert_eq!((message.class(), message.method()), (Class::Request, method::BINDING));
    assert_eq!(message.transaction(), TransactionId(ID));
    // A reply that comes too late changes nothing.
    let late = reply().xor_address(attribute::XOR_MAPPED_ADDRESS, "192.0.2.7:1".parse().unwrap());
    assert_eq!(binding.handle(&late.finish()), None);
    assert_eq!(binding.outcome(), Some(&Err(StunError::TimedOut)));
}

#[test]
fn other_datagrams_are_ignored() {
    let mut binding = Binding::new(ID, Instant::now());
    let mapped = "192.0.2.7:1".parse().unwrap();
    let other = |class, method, id| {
        let message = MessageWriter::new(class, method, TransactionId(id));
        message.xor_address(attribute::XOR_MAPPED_ADDRESS, mapped).finish()
    };
    for datagram in [
        other(Class::Success, method::BINDING, *b"transaction?"),
        other(Class::Success, method::ALLOCATE, ID),
        other(Class::Request, method::BINDING, ID),
        other(Class::Indication, method::BINDING, ID),
        b"hello".to_vec(),
    ] {
        assert_eq!(binding.handle(&datagram), None);
    }
    assert_eq!(binding.outcome(), None);
}

#[test]
fn errors_and_invalid_replies_are_reported() {
    let error = MessageWriter::new(Class::Error, method::BINDING, TransactionId(ID))
        .attribute(attribute::ERROR_CODE, b"\0\0\x05\0Server Error");
    let outcome = Binding::new(ID, Instant::now()).handle(&error.finish());
    let error = outcome.unwrap().unwrap_err().to_string();
    assert_eq!(error, "the STUN server replied with error 500 (Server Error)");
    for reply in [
        reply(),
        reply().attribute(attribute::XOR_MAPPED_ADDRESS, &[0, 1, 0, 0]),
        reply().attribute(attribute::MAPPED_ADDRESS, &[0, 1, 0, 0, 1, 2, 3, 4]),
        reply().attribute(attribute::MAPPED_ADDRESS, &[0, 3, 0, 1, 1, 2, 3, 4]),
        MessageWriter::new(Class::Error, method::BINDING, TransactionId(ID)),
    ] {
        let outcome = Binding::new(ID, Instant::now()).handle(&reply.finish());
        assert!(matches!(outcome, Some(Err(StunError::Invalid(_)))), "{outcome:?}");
    }
}

#[test]
fn a_keepalive_expects_no_reply() {
    let datagram = keepalive(ID);
    let message = StunMessage::parse(&datagram).unwrap();
    assert_eq!((message.class(), message.method()), (Class::Indication, method::BINDING));
}
