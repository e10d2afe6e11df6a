//! Other users of the machine.

use super::*;
use crate::support::needs;
use serde_json::{Value, json};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use swb_testkit::{CoopClient, KeeptyClient, LIMIT};
use swb_wire::keepty::KeeptyRole;

/// A user that is not the one the tests run as, if that is root.
const NOBODY: u32 = 65534;

// CO-7 for the other sockets: file modes do not matter.
#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn another_user_can_connect_to_no_socket() {
    needs::root();
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let paths = swb.paths();
    open_up(&[swb.dir(), &swb.dir().join("r"), &paths.run_dir(), &paths.keepty_dir()], 0o755);
    let (control, keepty) = (paths.control_socket(), paths.keepty_socket("one"));
    open_up(&[&control, &keepty], 0o666);
    let stranger = std::thread::spawn(move || {
        let nobody = rustix::process::Uid::from_raw(NOBODY);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        let mut client = CoopClient::connect(&control).unwrap();
        client.send(&json!({"version": 1}));
        assert_eq!(client.answer(), None);
        let mut client = KeeptyClient::connect(&keepty).unwrap();
        client.hello(KeeptyRole::Writer, 80, 24);
        client.closed();
    });
    stranger.join().unwrap();
    // The program does not even try.
    let status = nobody(&swb, &["status"]).output().unwrap();
    assert_eq!(status.status.code(), Some(1));
    assert!(said(&status).contains("belongs to another user"), "{}", said(&status));
    assert_eq!(swb.status()["sessions"], 1);
}

// A directory or socket that another user has prepared is not used.
#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn files_of_another_user_are_an_error() {
    needs::root();
    let swb = Swb::new(EXE);
    let run_dir = swb.paths().run_dir();
    std::fs::create_dir_all(&run_dir).unwrap();
    std::os::unix::fs::chown(&run_dir, Some(NOBODY), None).unwrap();
    for arguments in [&["daemon"][..], &["ls"]] {
        let output = swb.run(arguments);
        let error = said(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("another user") && error.contains(run_dir.to_str().unwrap()), "{error}");
    }
    std::os::unix::fs::chown(&run_dir, Some(0), None).unwrap();

    let mut swb = Swb::new(EXE);
    let keepty_dir = swb.paths().keepty_dir();
    std::fs::create_dir_all(&keepty_dir).unwrap();
    std::os::unix::fs::chown(&keepty_dir, Some(NOBODY), None).unwrap();
    swb.start_daemon();
    let state = state(&swb, "keepty");
    assert!(state.starts_with("failed: ") && state.contains("another user"), "{state}");
    assert_eq!(self::state(&swb, "coop"), "listening");
}

/// A server of another user at `path`, whose directory then is ours again. Returns what the first client sends.
fn foreign_server(path: &Path) -> std::thread::JoinHandle<Vec<u8>> {
    let dir = path.parent().unwrap();
    std::fs::create_dir_all(dir).unwrap();
    open_up(&[dir], 0o777);
    let (bind, bound) = (path.to_owned(), std::sync::mpsc::sync_channel(1));
    let (tell, told) = bound;
    let server = std::thread::spawn(move || {
        let nobody = rustix::process::Uid::from_raw(NOBODY);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        let listener = UnixListener::bind(&bind).unwrap();
        tell.send(()).unwrap();
        let (mut client, _) = listener.accept().unwrap();
        client.set_read_timeout(Some(LIMIT)).unwrap();
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        received
    });
    told.recv().unwrap();
    open_up(&[dir], 0o700);
    server
}

#[track_caller]
fn refuses(command: &mut Command, server: std::thread::JoinHandle<Vec<u8>>) {
    let output = command.output().unwrap();
    let error = said(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("runs as another user (uid 65534"), "{error}");
    assert_eq!(server.join().unwrap(), b"", "nothing was sent");
}

// A server that listens there gets not one byte, be it a password.
#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn clients_send_nothing_to_a_server_of_another_user() {
    needs::root();
    let swb = Swb::new(EXE);
    // The places of the sockets are searched on all the way.
    open_up(&[swb.dir(), &swb.dir().join("r"), &swb.dir().join("h")], 0o755);
    let paths = swb.paths();
    for verb in ["attach", "stop", "start"] {
        let socket = paths.keepty_socket(verb);
        let server = foreign_server(&socket);
        refuses(&mut swb.named("keepty", &[verb, verb]), server);
    }
    let server = foreign_server(&paths.clippy_socket().unwrap());
    refuses(&mut swb.named("clippyctl", &["list-sessions"]), server);
    let server = foreign_server(&paths.control_socket());
    refuses(&mut swb.command(&["ls"]), server);
    std::fs::remove_file(paths.control_socket()).unwrap();
    let socket = swb.dir().join("chat/s.sock");
    let server = foreign_server(&socket);
    let socket = socket.to_str().unwrap();
    refuses(&mut swb.command(&["chat", "--socket", socket, "-m", "secret"]), server);
}

// A directory below a shared one belongs to the user who created it.
#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn clients_do_not_use_a_socket_directory_of_another_user() {
    needs::root();
    let swb = Swb::new(EXE);
    let shared = swb.dir().join("shared");
    let dir = shared.join("keepty");
    std::fs::create_dir_all(&dir).unwrap();
    open_up(&[&shared], 0o1777);
    let _listener = UnixListener::bind(dir.join("keepty-one.sock")).unwrap();
    std::os::unix::fs::chown(&dir, Some(NOBODY), None).unwrap();
    let refusals = |why: &str| {
        for arguments in [&["attach", "one"][..], &["stop", "one"], &["list"], &["start", "one"]] {
            let mut command = swb.named("keepty", arguments);
            let output = command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", &shared).output().unwrap();
            let error = said(&output);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
            assert!(error.contains(dir.to_str().unwrap()) && error.contains(why), "{error}");
        }
    };
    refusals("belongs to another user (uid 65534)");
    // Nor one that others can write to, nor a link.
    std::os::unix::fs::chown(&dir, Some(0), None).unwrap();
    open_up(&[&dir], 0o777);
    refusals("can be written by other users");
    std::fs::rename(&dir, shared.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(shared.join("elsewhere"), &dir).unwrap();
    refusals("is a symbolic link");
}

// Directories that cannot be written to; root could, so another user tries.
#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn unwritable_directories_are_reported() {
    needs::root();
    let swb = Swb::new(EXE);
    let (home, runtime) = (swb.dir().join("h"), swb.dir().join("r"));
    open_up(&[swb.dir(), &home, &runtime, &swb.dir().join("w")], 0o755);
    let daemon = nobody(&swb, &["daemon"]).output().unwrap();
    let error = said(&daemon);
    assert_eq!(daemon.status.code(), Some(1), "{error}");
    assert!(error.contains(runtime.to_str().unwrap()) && error.contains("Permission denied"), "{error}");
    let list = nobody(&swb, &["ls"]).output().unwrap();
    assert!(said(&list).contains(runtime.to_str().unwrap()), "{}", said(&list));

    // A home that cannot be written to costs the fronts with sockets there, and the log.
    std::os::unix::fs::chown(&runtime, Some(NOBODY), None).unwrap();
    let run = nobody(&swb, &["run", "-d", "-n", "one", "--", "cat"]).output().unwrap();
    let ended = || nobody(&swb, &["shutdown", "--kill"]).output().unwrap();
    assert!(run.status.success(), "{}", said(&run));
    let status = nobody(&swb, &["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let state = |name: &str| {
        let dialects = status["dialects"].as_array().unwrap();
        dialects.iter().find(|dialect| dialect["name"] == name).unwrap()["state"].as_str().unwrap()
    };
    // Conversations go through the control socket instead.
    let chat = ["chat", "--agent", "shell", "--new", "-m", "echo $((6*7))"];
    let answer = nobody(&swb, &chat).output().unwrap();
    assert!(answer.status.success() && answer.stdout.starts_with(b"42"), "{}", said(&answer));
    let killed = ended();
    assert!(killed.status.success(), "{}", said(&killed));
    assert_eq!((state("keepty"), state("clippy")), ("listening", "listening"));
    let coop = state("coop");
    assert!(coop.starts_with("failed: ") && coop.contains(home.to_str().unwrap()), "{coop}");
}

/// The program, called by another user; needs to be root.
fn nobody(swb: &Swb, arguments: &[&str]) -> Command {
    let exe = swb.dir().join("swb");
    if !exe.exists() {
        std::fs::copy(EXE, &exe).unwrap();
        open_up(&[&exe], 0o755);
    }
    let usual = swb.command(&[]);
    let mut command = Command::new(exe);
    command.args(arguments).current_dir("/").uid(NOBODY).gid(NOBODY);
    for (key, value) in usual.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    command
}

fn open_up(paths: &[&Path], mode: u32) {
    for path in paths {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
}
