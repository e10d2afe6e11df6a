//! The codec, with the test vectors of RFC 5769.

use std::net::SocketAddr;
use swb_stun::address;
use swb_stun::integrity::IntegrityKey;
use swb_stun::message::{Class, Malformed, MessageWriter, StunMessage, attribute, method};
use swb_stun::{Credentials, TransactionId, is_channel_data, is_stun};

const TRANSACTION: &str = "b7e7a701 bc34d686 fa87dfae";
const PASSWORD: &[u8] = b"VOkJxbRl1RmTxUk/WvJxBt";

const REQUEST: &str = "00010058 2112a442 b7e7a701 bc34d686 fa87dfae
    80220010 5354554e 20746573 7420636c 69656e74
    00240004 6e0001ff
    80290008 932ff9b1 51263b36
    00060009 6576746a 3a683676 59202020
    00080014 9aeaa70c bfd8cb56 781ef2b5 b2d3f249 c1b571a2
    80280004 e57a3bcf";
const IPV4_RESPONSE: &str = "0101003c 2112a442 b7e7a701 bc34d686 fa87dfae
    8022000b 74657374 20766563 746f7220
    00200008 0001a147 e112a643
    00080014 2b91f599 fd9e90c3 8c7489f9 2af9ba53 f06be7d7
    80280004 c07d4c96";
const IPV6_RESPONSE: &str = "01010048 2112a442 b7e7a701 bc34d686 fa87dfae
    8022000b 74657374 20766563 746f7220
    00200014 0002a147 0113a9fa a5d3f179 bc25f4b5 bed2b9d9
    00080014 a382954e 4be67bf1 1784c97c 8292c275 bfe3ed41
    80280004 c8fb0b4c";
const LONG_TERM_REQUEST: &str = "00010060 2112a442 78ad3433 c6ad72c0 29da412e
    00060012 e3839ee3 8388e383 aae38383 e382afe3 82b90000
    0015001c 662f2f34 39396b39 35346436 4f4c3334 6f4c3946 53547679 36347341
    0014000b 6578616d 706c652e 6f726700
    00080014 f6702465 6dd64a3e 02b8e071 2e85c9a2 8ca89666";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("digits");
    digits.chunks(2).map(byte).collect()
}

fn transaction() -> TransactionId {
    TransactionId(bytes(TRANSACTION).try_into().expect("twelve bytes"))
}

#[test]
fn the_sample_request_is_read_and_verified() {
    let datagram = bytes(REQUEST);
    assert!(is_stun(&datagram) && !is_channel_data(&datagram));
    let message = StunMessage::parse(&datagram).unwrap();
    assert_eq!((message.class(), message.method()), (Class::Request, method::BINDING));
    assert_eq!(message.transaction(), transaction());
    assert_eq!(message.attribute(attribute::USERNAME), Some(&b"evtj:h6vY"[..]));
    assert_eq!(message.attributes().count(), 4);
    assert_eq!(message.verify(&IntegrityKey::new(PASSWORD)), Some(true));
    assert_eq!(message.verify(&IntegrityKey::new(b"another")), Some(false));
}

#[test]
fn the_sample_responses_have_both_kinds_of_addresses() {
    for (sample, mapped) in
        [(IPV4_RESPONSE, "192.0.2.1:32853"), (IPV6_RESPONSE, "[2001:db8:1234:5678:11:2233:4455:6677]:32853")]
    {
        let datagram = bytes(sample);
        let message = StunMessage::parse(&datagram).unwrap();
        let mapped: SocketAddr = mapped.parse().unwrap();
        assert_eq!((message.class(), message.method()), (Class::Success, method::BINDING));
        assert_eq!(message.verify(&IntegrityKey::new(PASSWORD)), Some(true));
        assert_eq!(message.xor_address(attribute::XOR_MAPPED_ADDRESS), Some(mapped));
        let range = message.attribute_range(attribute::XOR_MAPPED_ADDRESS).unwrap();
        assert_eq!(datagram.get(range), Some(&*address::write_xor(mapped, &transaction())));
    }
}

#[test]
fn the_sample_with_long_term_credentials_is_verified_and_written_the_same() {
    let datagram = bytes(LONG_TERM_REQUEST);
    let message = StunMessage::parse(&datagram).unwrap();
    let realm = message.attribute(attribute::REALM).unwrap();
    let nonce = message.attribute(attribute::NONCE).unwrap();
    let credentials = Credentials::new("マトリックス", "TheMatrIX").unwrap();
    let key = credentials.key(realm);
    assert_eq!(message.verify(&key), Some(true));
    assert_eq!(message.verify(&Credentials::new("マトリックス", "x").unwrap().key(realm)), Some(false));

    let written = MessageWriter::new(Class::Request, method::BINDING, message.transaction())
        .attribute(attribute::USERNAME, credentials.username().as_bytes())
        .attribute(attribute::NONCE, nonce)
        .attribute(attribute::REALM, realm)
        .integrity(&key)
        .finish_plain();
    assert_eq!(written, datagram);
}

#[test]
fn what_is_written_with_a_fingerprint_is_the_sample() {
    // The sample pads with blanks, we with zeros: the longest piece without padding is compared.
    let datagram = bytes(REQUEST);
    let message = StunMessage::parse(&datagram).unwrap();
    let mut writer = MessageWriter::new(Class::Request, method::BINDING, transaction());
    for (kind, value) in message.attributes() {
        writer = writer.attribute(kind, value);
    }
    let written = writer.integrity(&IntegrityKey::new(PASSWORD)).finish();
    assert_eq!(written.len(), datagram.len());
    assert_eq!(written[..69], datagram[..69]);
    assert_eq!(StunMessage::parse(&written).unwrap().verify(&IntegrityKey::new(PASSWORD)), Some(true));
}

#[test]
fn every_changed_bit_is_noticed() {
    let datagram = bytes(IPV6_RESPONSE);
    for bit in 0..(datagram.len() - 8) * 8 {
        let mut changed = datagram.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let message = StunMessage::parse(&changed);
        let verified = message.as_ref().ok().and_then(|message| message.verify(&IntegrityKey::new(PASSWORD)));
        assert_ne!(verified, Some(true), "bit {bit}");
        // A changed length may hide the fingerprint; any other change does not match it.
        if (8 * 8..8 * 20).contains(&bit) || (8 * 40..8 * 60).contains(&bit) {
            assert_eq!(message.unwrap_err(), Malformed::Fingerprint, "bit {bit}");
        }
    }
    // Without the fingerprint, the integrity covers everything before it.
    let mut unsealed = datagram[..datagram.len() - 8].to_vec();
    unsealed[3] -= 8;
    assert_eq!(StunMessage::parse(&unsealed).unwrap().verify(&IntegrityKey::new(PASSWORD)), Some(true));
    for bit in 64..unsealed.len() * 8 {
        let mut changed = unsealed.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let verified = StunMessage::parse(&changed)
            .ok()
            .and_then(|message| message.verify(&IntegrityKey::new(PASSWORD)));
        assert_ne!(verified, Some(true), "bit {bit}");
    }
}

#[test]
fn lengths_that_lead_beyond_the_message_are_rejected() {
    let datagram = bytes(IPV4_RESPONSE);
    for length in 0..datagram.len() {
        assert!(StunMessage::parse(&datagram[..length]).is_err(), "{length}");
    }
    let mut longer = bytes(LONG_TERM_REQUEST);
    longer[23] = 0xff;
    assert_eq!(StunMessage::parse(&longer).unwrap_err(), Malformed::Attribute);
    let mut more = bytes(LONG_TERM_REQUEST);
    more.extend([0; 4]);
    assert_eq!(StunMessage::parse(&more).unwrap_err(), Malformed::Header);
}

#[test]
fn attributes_behind_the_integrity_do_not_count() {
    let key = IntegrityKey::new(PASSWORD);
    let datagram = MessageWriter::new(Class::Success, method::BINDING, transaction())
        .integrity(&key)
        .attribute(attribute::LIFETIME, &[0, 0, 1, 0])
        .finish();
    let message = StunMessage::parse(&datagram).unwrap();
    assert_eq!(message.verify(&key), Some(true));
    assert_eq!(message.attribute(attribute::LIFETIME), None);
}

#[test]
fn methods_and_classes_are_kept() {
    for class in [Class::Request, Class::Indication, Class::Success, Class::Error] {
        for method in 0..=0x0fff {
            let datagram = MessageWriter::new(class, method, transaction()).finish();
            let message = StunMessage::parse(&datagram).unwrap();
            assert_eq!((message.class(), message.method()), (class, method));
        }
    }
}

#[test]
fn reasons_of_errors_are_short_and_printable() {
    let reason = format!("\0\0\x04\x01no\x1b[31m \u{202e}way\n{}", "x".repeat(500));
    let datagram = MessageWriter::new(Class::Error, method::BINDING, transaction())
        .attribute(attribute::ERROR_CODE, reason.as_bytes())
        .finish();
    let error = StunMessage::parse(&datagram).unwrap().error().unwrap();
    assert_eq!(error.code, 401);
    assert!(error.reason.starts_with("no[31m wayxxx"), "{error}");
    assert_eq!(error.reason.len(), 127);
}

#[test]
fn other_datagrams_are_recognised() {
    assert!(is_channel_data(&[0x40, 0, 0, 0]) && is_channel_data(&[0x4f, 0xff, 0, 9, 1]));
    // DTLS, RTP, channel numbers that are reserved, and fragments.
    for other in [&[22, 254, 253, 0][..], &[128, 0, 0, 0], &[0x50, 0, 0, 0], &[0x40, 0, 0], &[]] {
        assert!(!is_channel_data(other) && !is_stun(other));
    }
}
