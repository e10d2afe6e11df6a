//! coop: the socket, its permissions, the handshake and frames in command mode.

use crate::support::needs;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};
use swb_testkit::{CoopClient, LIMIT, Swb, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// A user that is not the one the tests run as, if that is root.
const NOBODY: u32 = 65534;

// CO-1, CO-2, CO-3
#[test]
fn the_socket_is_private_and_in_a_directory_that_is_made_if_it_is_missing() {
    let mut swb = Swb::new(EXE);
    assert!(!swb.paths().coop_dir().exists());
    swb.start_daemon();
    let socket = swb.dir().join("h/.coop/sock");
    let meta = socket.symlink_metadata().unwrap();
    assert!(meta.file_type().is_socket());
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    // No moment with wider permissions: what the daemon creates is private by its umask.
    assert_eq!(proc_status(swb.daemon_pid(), "Umask:"), "0177");
    CoopClient::connect(&socket).unwrap().hello();
}

// CO-9, CO-68
#[test]
fn the_pid_file_comes_and_goes_with_the_socket_and_the_client_finds_its_base() {
    let mut swb = Swb::start(EXE);
    let dir = swb.paths().coop_dir();
    let pid = std::fs::read_to_string(dir.join("daemon.pid")).unwrap();
    assert_eq!(pid.trim().parse::<i64>().unwrap(), swb.daemon_pid());
    let base = dir.join("rootfs/base");
    assert_eq!(base.read_dir().unwrap().count(), 0, "the base is there and empty");

    std::fs::write(base.join("kept"), "").unwrap();
    swb.coop().ok(&json!({"cmd": "shutdown"}));
    assert!(swb.daemon().wait().unwrap().success());
    assert!(!dir.join("daemon.pid").exists() && !dir.join("sock").exists());

    swb.start_daemon();
    assert!(base.join("kept").exists(), "a base that exists is left alone");
}

// CO-4
#[test]
fn a_socket_that_was_left_over_is_replaced() {
    let mut swb = Swb::new(EXE);
    let socket = swb.paths().coop_socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    drop(UnixListener::bind(&socket).unwrap());
    assert!(UnixStream::connect(&socket).is_err());
    swb.start_daemon();
    swb.coop().ok(&json!({"cmd": "ls"}));
}

// CO-4
#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn a_socket_of_another_user_is_an_error() {
    needs::root();
    let mut swb = Swb::new(EXE);
    let socket = swb.paths().coop_socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    drop(UnixListener::bind(&socket).unwrap());
    std::os::unix::fs::chown(&socket, Some(NOBODY), None).unwrap();
    swb.start_daemon();
    let reason = coop_state(&swb);
    assert!(reason.starts_with("failed: ") && reason.contains("another user"), "{reason}");
    assert!(socket.exists() && UnixStream::connect(&socket).is_err());
}

// CO-5
#[test]
fn a_symbolic_link_in_place_of_the_socket_is_refused_and_left_alone() {
    for target_exists in [true, false] {
        let mut swb = Swb::new(EXE);
        let (socket, target) = (swb.paths().coop_socket(), swb.dir().join("target"));
        std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&target, &socket).unwrap();
        if target_exists {
            std::fs::write(&target, "precious").unwrap();
        }
        swb.start_daemon();
        let reason = coop_state(&swb);
        assert!(reason.starts_with("failed: ") && reason.contains("symbolic link"), "{reason}");
        assert_eq!(socket.read_link().unwrap(), target);
        assert_eq!(std::fs::read_to_string(&target).ok().as_deref(), target_exists.then_some("precious"));
        swb.coop_free_stop();
        assert_eq!(socket.read_link().unwrap(), target, "the stop does not touch it either");
    }
}

// CO-5
#[test]
fn without_another_dialect_a_symbolic_link_keeps_the_daemon_from_starting() {
    let swb = Swb::new(EXE);
    let socket = swb.paths().coop_socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(swb.dir().join("nowhere"), &socket).unwrap();
    configure(&swb, "[clippy]\nenabled = false\n[keepty]\nenabled = false\n");
    let output = swb.run(&["daemon"]);
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("symbolic link"), "{error}");
    assert!(socket.is_symlink());
}

// CO-6
#[test]
fn a_second_daemon_does_not_replace_the_first() {
    let swb = Swb::start(EXE);
    let first = swb.daemon_pid();
    let mut client = swb.coop();
    let output = swb.run(&["daemon"]);
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("already running"), "{error}");
    client.ok(&json!({"cmd": "ls"}));
    swb.coop().ok(&json!({"cmd": "ls"}));
    assert_eq!(swb.daemon_pid(), first);
}

// CO-6
#[test]
fn another_process_listening_on_the_socket_keeps_it() {
    let mut swb = Swb::new(EXE);
    let socket = swb.paths().coop_socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let stranger = UnixListener::bind(&socket).unwrap();
    swb.start_daemon();
    let reason = coop_state(&swb);
    assert!(reason.starts_with("failed: ") && reason.contains("already running"), "{reason}");
    // The daemon's own look is the first to be accepted, then ours.
    stranger.accept().unwrap();
    let _ours = UnixStream::connect(&socket).unwrap();
    stranger.accept().unwrap();
    swb.coop_free_stop();
    assert!(UnixStream::connect(&socket).is_ok(), "it is still the stranger's at the end");
}

// CO-7
#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn connections_of_other_users_are_closed_silently() {
    needs::root();
    let swb = Swb::start(EXE);
    let socket = swb.paths().coop_socket();
    // Everything the file system would refuse is allowed here, so that only the check is left.
    for path in [swb.dir(), &swb.dir().join("h"), &swb.paths().coop_dir()] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o666)).unwrap();
    let path = socket.clone();
    let stranger = std::thread::spawn(move || {
        let nobody = rustix::process::Uid::from_raw(NOBODY);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        let mut client = CoopClient::connect(&path).unwrap();
        client.send(&json!({"version": 1}));
        assert_eq!(client.answer(), None);
    });
    stranger.join().unwrap();
    swb.coop().ok(&json!({"cmd": "ls"}));
}

// CO-8
#[test]
fn many_connections_are_served_each_on_its_own() {
    let swb = Swb::start(EXE);
    let mut clients: Vec<CoopClient> = (0..200).map(|_| swb.coop()).collect();
    // One that stops in the middle of a message delays no other client, and is not forgotten.
    let mut slow = swb.coop();
    slow.send_raw(&[0, 0, 0, 12, b'{']);
    for client in clients.iter_mut().rev() {
        client.send(&json!({"cmd": "ls"}));
    }
    for client in &mut clients {
        assert_eq!(client.answer().unwrap(), json!({"ok": true, "sessions": []}));
    }
    slow.send_raw(br#""cmd":"ls"}"#);
    assert_eq!(slow.answer().unwrap(), json!({"ok": true, "sessions": []}));
}

// CO-8
#[test]
fn a_client_that_reads_no_replies_delays_no_other() {
    let swb = Swb::start(EXE);
    swb.make("x", &["cat"]);
    let deaf = swb.coop();
    deaf.socket().set_nonblocking(true).unwrap();
    let question = framed(br#"{"cmd":"ls","details":true}"#);
    let mut asked = 0;
    // Until neither side's buffers take any more.
    while std::io::Write::write_all(&mut deaf.socket(), &question).is_ok() {
        asked += 1;
        if asked % 100 == 0 {
            swb.coop().ok(&json!({"cmd": "ls"}));
        }
        assert!(asked < 1_000_000, "there is no end to what it takes");
    }
    swb.coop().ok(&json!({"cmd": "ls"}));
    let mut client = swb.attach("x");
    client.type_in(b"hello\r");
    client.until("hello");
}

// CO-10, CO-11
#[test]
fn the_handshake_is_framed_however_its_bytes_arrive() {
    let swb = Swb::start(EXE);
    let mut client = connect(&swb);
    for byte in framed(br#"{"version":1}"#) {
        client.send_raw(&[byte]);
        swb.status();
    }
    assert_eq!(client.answer().unwrap(), json!({"version": 1, "ok": true}));
    client.ok(&json!({"cmd": "ls"}));
}

// CO-12
#[test]
fn another_version_is_rejected_with_our_number() {
    let swb = Swb::start(EXE);
    for version in ["0", "2", "-1", "99999999999999999999"] {
        let mut client = connect(&swb);
        client.send_raw(&framed(format!(r#"{{"version":{version}}}"#).as_bytes()));
        let answer = client.answer().unwrap();
        assert_eq!(
            (&answer["version"], &answer["ok"], &answer["error"]),
            (&json!(1), &json!(false), &json!("VERSION_MISMATCH"))
        );
        assert!(answer["message"].as_str().unwrap().contains(version), "{answer}");
        assert_eq!(client.answer(), None, "the connection ends");
    }
    connect(&swb).hello();
}

// CO-13
#[test]
fn a_first_message_without_a_version_ends_the_connection() {
    let swb = Swb::start(EXE);
    for first in
        ["1", "[]", "{}", r#"{"version":"1"}"#, r#"{"version":1.5}"#, r#"{"cmd":"ls"}"#, "nonsense", ""]
    {
        let mut client = connect(&swb);
        client.send_raw(&framed(first.as_bytes()));
        client.send(&json!({"cmd": "ls"}));
        if let Some(answer) = client.answer() {
            assert_eq!(answer["error"], "INVALID_COMMAND", "{first}");
            assert_eq!(client.answer(), None, "{first}");
        }
    }
    connect(&swb).hello();
}

// CO-14
#[test]
fn a_message_may_have_at_most_a_megabyte() {
    let swb = Swb::start(EXE);
    let mut client = swb.coop();
    let (head, tail) = (r#"{"cmd":"ls","pad":""#, r#""}"#);
    let pad = "a".repeat(1_048_576 - head.len() - tail.len());
    client.send_raw(&framed(format!("{head}{pad}{tail}").as_bytes()));
    assert_eq!(client.answer().unwrap(), json!({"ok": true, "sessions": []}));
    // The length alone is answered; nothing of the content is waited for.
    client.send_raw(&1_048_577_u32.to_be_bytes());
    let answer = client.answer().unwrap();
    assert_eq!(answer["error"], "MESSAGE_TOO_LARGE");
    let keys: BTreeSet<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, BTreeSet::from(["error", "message", "ok"]));
    assert_eq!(client.answer(), None);

    // Before the handshake too; bare JSON reads as a huge length.
    let mut bare = connect(&swb);
    bare.send_raw(br#"{"version":1}"#);
    assert_eq!(bare.answer().unwrap()["error"], "MESSAGE_TOO_LARGE");
    assert_eq!(bare.answer(), None);
    swb.coop().ok(&json!({"cmd": "ls"}));
}

// CO-15, CO-18, CO-49
#[test]
fn invalid_requests_get_an_error_and_keep_the_connection() {
    let swb = Swb::start(EXE);
    let mut client = swb.coop();
    let senseless: [&[u8]; 20] = [
        b"",
        b"{",
        b"null",
        b"5",
        b"[{}]",
        b"\"ls\"",
        b"{\"cmd\":\"\xff\xfe\"}",
        b"{}",
        br#"{"session":"x"}"#,
        br#"{"cmd":5}"#,
        br#"{"cmd":"LS"}"#,
        br#"{"cmd":"frobnicate"}"#,
        br#"{"cmd":"resize","cols":80,"rows":24}"#,
        br#"{"cmd":"create"}"#,
        br#"{"cmd":"create","workspace":5}"#,
        br#"{"cmd":"attach","session":5}"#,
        br#"{"cmd":"attach","session":"x","cols":70000}"#,
        br#"{"cmd":"attach","session":"x","pty":-1}"#,
        br#"{"cmd":"kill"}"#,
        br#"{"cmd":"ls"} {"cmd":"ls"}"#,
    ];
    for message in senseless {
        client.send_raw(&framed(message));
        let answer = client.answer().unwrap();
        let text = String::from_utf8_lossy(message);
        assert_eq!((&answer["ok"], &answer["error"]), (&json!(false), &json!("INVALID_COMMAND")), "{text}");
        assert!(answer["message"].as_str().is_some_and(|text| !text.is_empty()), "{text}");
        client.ok(&json!({"cmd": "ls"}));
    }
}

// CO-16
#[test]
fn unknown_fields_are_ignored() {
    let swb = Swb::start(EXE);
    let mut client = connect(&swb);
    client.ok(&json!({"version": 1, "client": "some/1.0", "features": ["x"]}));
    client.ok(&json!({"cmd": "ls", "filter": {"deep": [1, {"a": null}]}}));
}

// CO-17
#[test]
fn commands_sent_in_one_go_are_answered_in_order() {
    let swb = Swb::start(EXE);
    let mut client = connect(&swb);
    let messages = [
        json!({"version": 1}),
        json!({"cmd": "ls"}),
        json!({"cmd": "frobnicate"}),
        json!({"cmd": "create", "workspace": swb.workspace("one"), "argv": ["cat"]}),
        json!({"cmd": "kill", "session": "one", "force": true}),
        json!({"cmd": "detach"}),
    ];
    let bytes: Vec<u8> = messages.iter().flat_map(|message| framed(message.to_string().as_bytes())).collect();
    client.send_raw(&bytes);
    let mut next = || client.answer().unwrap();
    assert_eq!(next(), json!({"version": 1, "ok": true}));
    assert_eq!(next(), json!({"ok": true, "sessions": []}));
    assert_eq!(next()["error"], "INVALID_COMMAND");
    assert_eq!(next()["session"], "one");
    assert_eq!(next(), json!({"ok": true}));
    assert_eq!(next(), json!({"ok": true}));
    assert_eq!(client.answer(), None);
}

// CO-10: a message that never ends is not acted on.
#[test]
fn a_frame_cut_off_by_the_end_of_the_stream_does_nothing() {
    let swb = Swb::start(EXE);
    let mut client = swb.coop();
    let shutdown = framed(json!({"cmd": "shutdown"}).to_string().as_bytes());
    client.send_raw(&shutdown[..shutdown.len() - 1]);
    client.socket().shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.answer(), None);
    swb.coop().ok(&json!({"cmd": "ls"}));
}

// Section 5 of the protocol page: silence before the handshake has an end, silence after it has none.
#[test]
fn a_connection_without_handshake_times_out_after_30_seconds() {
    let swb = Swb::start(EXE);
    let mut quiet = swb.coop();
    let mut silent = connect(&swb);
    silent.send_raw(&[0, 0]);
    let began = Instant::now();
    assert!(silent.item(Duration::from_secs(25)).is_none(), "there is time for a slow client");
    assert!(matches!(silent.item(LIMIT), Some(swb_testkit::StreamItem::End)), "closed in the end");
    assert!(began.elapsed() >= Duration::from_secs(29));
    quiet.ok(&json!({"cmd": "ls"}));
}

// Section 7: our own socket speaks the same protocol.
#[test]
fn the_control_socket_speaks_the_same_protocol() {
    let swb = Swb::start(EXE);
    swb.make("one", &["cat"]);
    let mut control = CoopClient::connect(&swb.paths().control_socket()).unwrap();
    control.hello();
    let sessions = control.ok(&json!({"cmd": "ls"}));
    assert_eq!(sessions, swb.coop().ok(&json!({"cmd": "ls"})));
    assert_eq!(control.ask(&json!({"cmd": "attach", "session": "one"})), json!({"ok": true}));
    control.type_in(b"hello\r");
    control.until("hello");
}

// ---- helpers ----

trait Stop {
    fn coop_free_stop(&mut self);
}

impl Stop for Swb {
    /// Stops the daemon when its coop socket is not its own.
    fn coop_free_stop(&mut self) {
        let mut control = CoopClient::connect(&self.paths().control_socket()).unwrap();
        control.hello();
        control.ok(&json!({"cmd": "shutdown"}));
        assert!(self.daemon().wait().unwrap().success());
    }
}

fn connect(swb: &Swb) -> CoopClient {
    CoopClient::connect(&swb.paths().coop_socket()).unwrap()
}

fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_be_bytes(), body].concat()
}

fn configure(swb: &Swb, text: &str) {
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn coop_state(swb: &Swb) -> String {
    let status = swb.status();
    let dialects = status["dialects"].as_array().unwrap();
    let coop: &Value = dialects.iter().find(|dialect| dialect["name"] == "coop").unwrap();
    coop["state"].as_str().unwrap().to_owned()
}

fn proc_status(pid: i64, key: &str) -> String {
    wait_for("the process", || {
        let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().to_owned())
    })
}
