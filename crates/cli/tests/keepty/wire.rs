//! Frames on the keepty front: which are handled, which are ignored, which end a connection.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use swb_testkit::{KeeptyClient, Swb};
use swb_wire::keepty::{KeeptyRole, MAX_PAYLOAD, Message, encode};

/// Gives every byte back as it came.
const ECHO: &str = "stty raw -echo; printf ready; cat";

// KP-6
#[test]
fn the_bytes_of_a_greeting_are_those_of_the_specification() {
    let swb = swb();
    swb.keepty_start("s", ECHO);
    let mut stream = UnixStream::connect(swb.paths().keepty_socket("s")).unwrap();
    // A Monitor of 132×50 that looks at a session of 80×24 before its start.
    stream.write_all(&[0, 0, 0, 7, 1, 1, 3, 0, 132, 0, 50]).unwrap();
    let mut ack = [0; 14];
    stream.read_exact(&mut ack).unwrap();
    assert_eq!(ack, [0, 0, 0, 10, 1, 2, 0, 0, 0, 0, 0, 80, 0, 24]);
    stream.write_all(&[0, 0, 0, 2, 1, 12]).unwrap();
    let mut pong = [0; 6];
    stream.read_exact(&mut pong).unwrap();
    assert_eq!(pong, [0, 0, 0, 2, 1, 13]);
}

// KP-1
#[test]
fn frames_may_come_in_any_pieces() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    let mut bytes = Vec::new();
    let hello = Message::Hello { role: KeeptyRole::Monitor, cols: 80, rows: 24 };
    encode(&hello, &mut bytes);
    encode(&Message::Ping, &mut bytes);
    let mut bytewise = swb.keepty_raw("s");
    for byte in &bytes {
        bytewise.send_raw(&[*byte]);
    }
    assert!(bytewise.ack().0 > 0);
    assert_eq!(bytewise.message(), Message::Output(b"ready".to_vec()));
    assert_eq!(bytewise.message(), Message::Pong);
    // And many in one piece, the last of them not complete yet.
    let mut bytes = Vec::new();
    for n in 0..200 {
        encode(&Message::Input(format!("{n:03}").into_bytes()), &mut bytes);
    }
    encode(&Message::Input(b"end".to_vec()), &mut bytes);
    let (all_but_one, last) = bytes.split_at(bytes.len() - 1);
    writer.send_raw(all_but_one);
    let mut seen = writer.until("199");
    writer.quiet();
    writer.send_raw(last);
    seen.extend(writer.until("end"));
    let expected: String = (0..200).map(|n| format!("{n:03}")).collect();
    assert_eq!(String::from_utf8_lossy(&seen), expected + "end");
}

// KP-2
#[test]
fn a_length_outside_the_limits_closes() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    for length in [0, 1, MAX_PAYLOAD as u32 + 3, 0x8000_0000, u32::MAX] {
        let mut before_hello = swb.keepty_raw("s");
        before_hello.send_raw(&length.to_be_bytes());
        before_hello.closed();
        let mut client = monitor(&swb);
        client.send_raw(&length.to_be_bytes());
        client.closed();
    }
    assert_works(&mut writer);
}

// KP-2
#[test]
fn the_largest_frame_is_taken_and_arrives_complete() {
    let swb = swb();
    let script = format!("stty raw -echo; printf ready; head -c {MAX_PAYLOAD} | cksum; printf done; cat");
    let mut writer = swb.keepty_running("s", &script);
    let keys: Vec<u8> = (0..MAX_PAYLOAD).map(|n| (n % 251) as u8).collect();
    writer.type_in(&keys);
    let sum = String::from_utf8(writer.until("done")).unwrap();
    let expected = format!("{} {MAX_PAYLOAD}\ndone", cksum(&keys));
    assert_eq!(sum, expected);
}

// KP-3
#[test]
fn another_version_closes() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    for version in [0, 2, 255] {
        let mut before_hello = swb.keepty_raw("s");
        before_hello.send_raw(&[0, 0, 0, 7, version, 1, 3, 0, 80, 0, 24]);
        before_hello.closed();
        let mut client = monitor(&swb);
        client.send_raw(&[0, 0, 0, 2, version, 12]);
        client.closed();
    }
    assert_works(&mut writer);
}

// KP-4
#[test]
fn an_unknown_kind_closes() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    for kind in [0, 7, 8, 9, 14, 64, 126, 128, 255] {
        let mut client = monitor(&swb);
        client.send_raw(&[0, 0, 0, 2, 1, kind]);
        client.closed();
    }
    assert_works(&mut writer);
}

// KP-5
#[test]
fn messages_of_the_other_direction_are_ignored() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
    watcher.ack();
    let (cols, rows) = (33, 11);
    for message in [
        Message::HelloAck { pid: 1, cols, rows },
        Message::Output(b"not output".to_vec()),
        Message::ResizeAck { generation: 9, cols, rows },
        Message::Exit { code: 3 },
        Message::Pong,
        Message::Error("nothing is wrong".to_owned()),
        // A second Hello gives no other role and is not answered.
        Message::Hello { role: KeeptyRole::Writer, cols, rows },
    ] {
        watcher.send(&message);
        assert_eq!(watcher.ping(), b"", "after {message:?}");
    }
    watcher.type_in(b"typed by a watcher");
    assert_eq!(watcher.ping(), b"");
    assert_works(&mut writer);
    assert_eq!(watcher.message(), Message::Output(b"works".to_vec()));
}

// KP-7
#[test]
fn extra_bytes_are_skipped_and_short_payloads_mean_nothing() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    // Hello: a short one closes, a long one is a Hello.
    for hello in [&[0, 0, 0, 2, 1, 1][..], &[0, 0, 0, 6, 1, 1, 3, 0, 80, 0]] {
        let mut client = swb.keepty_raw("s");
        client.send_raw(hello);
        client.closed();
    }
    let mut client = swb.keepty_raw("s");
    client.send_raw(&[0, 0, 0, 10, 1, 1, 3, 0, 80, 0, 24, 1, 2, 3]);
    assert!(client.ack().0 > 0);
    // Resize: a short one is ignored, a long one is a Resize; Ping and Shutdown have no payload.
    for resize in [&[0, 0, 0, 2, 1, 5][..], &[0, 0, 0, 5, 1, 5, 0, 90, 0]] {
        writer.send_raw(resize);
        assert_eq!(writer.ping(), b"");
    }
    writer.send_raw(&[0, 0, 0, 8, 1, 5, 0, 90, 0, 30, 7, 7]);
    let acknowledged = Message::ResizeAck { generation: 1, cols: 90, rows: 30 };
    assert_eq!(writer.message(), acknowledged);
    writer.send_raw(&[0, 0, 0, 5, 1, 12, 1, 2, 3]);
    assert_eq!(writer.message(), Message::Pong);
    assert_works(&mut writer);
}

// KP-8
#[test]
fn an_unknown_role_closes() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    for role in [0, 4, 255] {
        let mut client = swb.keepty_raw("s");
        client.send_raw(&[0, 0, 0, 7, 1, 1, role, 0, 80, 0, 24]);
        client.closed();
    }
    assert_works(&mut writer);
}

// KP-18, KP-9: `closed` allows nothing but an Error before the end.
#[test]
fn a_first_message_other_than_hello_closes() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    for message in [
        Message::Input(b"x".to_vec()),
        Message::Resize { cols: 10, rows: 10 },
        Message::Shutdown,
        Message::Ping,
        Message::Exit { code: 0 },
        Message::HelloAck { pid: 0, cols: 80, rows: 24 },
    ] {
        let mut client = swb.keepty_raw("s");
        client.send(&message);
        client.closed();
    }
    assert_works(&mut writer);
}

// KP-38
#[test]
fn every_role_gets_a_reply_to_ping() {
    let swb = swb();
    swb.keepty_start("s", ECHO);
    let mut early = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
    early.ack();
    assert_eq!(early.ping(), b"", "before the start");
    let mut replaced = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    replaced.ack();
    replaced.until("ready");
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    for client in [&mut writer, &mut monitor] {
        client.ack();
        client.until("ready");
    }
    early.until("ready");
    for client in [&mut replaced, &mut writer, &mut early, &mut monitor] {
        assert_eq!(client.ping(), b"");
        client.quiet();
    }
}

// KP-46: a frame that the end of the stream cuts short is not obeyed.
#[test]
fn a_cut_frame_is_not_acted_on() {
    let swb = swb();
    let mut monitor = {
        let writer = swb.keepty_running("s", ECHO);
        drop(writer);
        monitor(&swb)
    };
    let mut cut = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    cut.ack();
    cut.until("ready");
    let mut bytes = Vec::new();
    encode(&Message::Input(b"whole".to_vec()), &mut bytes);
    encode(&Message::Input(b"cut".to_vec()), &mut bytes);
    cut.send_raw(&bytes[..bytes.len() - 1]);
    drop(cut);
    assert_eq!(monitor.message(), Message::Output(b"whole".to_vec()));
    monitor.quiet();
}

fn swb() -> Swb {
    Swb::start(env!("CARGO_BIN_EXE_swb"))
}

/// A Monitor of session `s` that has seen everything so far.
fn monitor(swb: &Swb) -> KeeptyClient {
    let mut client = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    assert!(client.ack().0 > 0);
    client.until("ready");
    client
}

/// The session and its Writer are as they should be.
#[track_caller]
fn assert_works(writer: &mut KeeptyClient) {
    writer.type_in(b"works");
    assert_eq!(String::from_utf8_lossy(&writer.until("works")), "works");
}

/// What `cksum` prints: POSIX's CRC-32.
fn cksum(data: &[u8]) -> u32 {
    let mut length = data.len();
    let mut tail = Vec::new();
    while length > 0 {
        tail.push(length as u8);
        length >>= 8;
    }
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte) << 24, |crc, _| {
            crc << 1 ^ if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 }
        })
    };
    !data.iter().chain(&tail).fold(0, step)
}
