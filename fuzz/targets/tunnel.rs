//! Arbitrary text and bytes from a peer that finds a tunnel: offers, answers, first messages, frames. No panic, and what was
//! understood survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swb_wire::tunnel::frame::{PeerFrame, ack, parse_host_frame, parse_peer_frame};
use swb_wire::tunnel::{Answer, Envelope, PeerProof, Secret, TunnelId, pack, sdp, unpack};

fuzz_target!(|data: &[u8]| {
    check_frames(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    check_packed(text);
    check_sdp(text);
    if let Some(name) = PeerProof::parse(text).and_then(|proof| proof.name()) {
        assert!(!name.chars().any(char::is_control) && name.chars().count() <= 64);
    }
    if let Some(secret) = Secret::parse(text) {
        assert_eq!(Secret::parse(&secret.reveal()), Some(secret));
    }
});

fn check_frames(data: &[u8]) {
    let (peer, host) = (parse_peer_frame(data), parse_host_frame(data));
    assert_eq!(peer.is_ok(), host.is_ok());
    if let Ok(PeerFrame::Ack(bytes)) = peer {
        assert_eq!(parse_peer_frame(&ack(bytes)), Ok(PeerFrame::Ack(bytes)));
    }
}

fn check_packed(text: &str) {
    drop(unpack::<Envelope>(text));
    if let Ok(answer) = unpack::<Answer>(text) {
        assert_eq!(unpack::<Answer>(&pack(&answer)), Ok(answer));
    }
    // Reached without compression, too: the fuzzer does not find valid streams often.
    let answer = Answer { version: 1, tunnel: TunnelId::new("tunnel-1").expect("valid"), sdp: text.to_owned() };
    if text.len() < 8192 {
        assert_eq!(unpack::<Answer>(&pack(&answer)), Ok(answer));
    }
}

fn check_sdp(text: &str) {
    let plain = sdp::with_sha256_only(text);
    assert_eq!(sdp::fingerprint(&plain), sdp::fingerprint(text));
    if sdp::missing(text, text).is_none() {
        assert!(sdp::fingerprint(text).is_some_and(|print| print.len() == 95));
    }
    drop(sdp::complete(text));
}
