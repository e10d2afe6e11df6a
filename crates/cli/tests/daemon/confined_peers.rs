//! No socket of ours serves a confined command of an agent, nor anything that it has started: with our help it would act
//! outside its workspace.

use crate::support::needs;
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use swb_testkit::{Swb, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Connects to the socket in its first argument and waits for the end of the connection.
const CONNECT: &str = "
import socket, sys
path, kind = sys.argv[1], sys.argv[2]
sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if kind == 'packets' else socket.SOCK_STREAM)
sock.settimeout(60)
sock.connect(path)
try:
    print('served' if sock.recv(1) else 'refused')
except ConnectionResetError:
    print('refused')
";

/// Every socket of a daemon with one session, and a first message for it.
fn sockets(swb: &Swb) -> Vec<(String, &'static str)> {
    let paths = swb.paths();
    let keepty = paths.keepty_socket("one");
    [
        paths.control_socket(),
        paths.coop_socket(),
        paths.clippy_socket().unwrap(),
        keepty,
        paths.scriptschnell_socket(),
    ]
    .into_iter()
    .map(|path| (path, "stream"))
    .chain([(paths.keeper_socket(), "packets")])
    .map(|(path, kind)| (path.to_str().unwrap().to_owned(), kind))
    .collect()
}

fn connected(mut command: Command, socket: &str, kind: &str) -> String {
    let output =
        command.args(["python3", "-c", CONNECT, socket, kind]).stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A guard that confines its program, which can make Unix sockets all the same.
fn guard(write: &Path) -> Command {
    let mut command = Command::new(EXE);
    command.args(["guard", "--confine", "--unix-sockets", "--write"]).arg(write).arg("--");
    command
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_confined_peer_is_refused_on_every_socket() {
    needs::landlock();
    let swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "one", "--", "sleep", "1000"]);
    // Silent connections end sooner or later on some sockets, so the log has to say why.
    let rejected = || swb.log().matches("rejected a connection of a confined command").count();
    for (number, (socket, kind)) in (1..).zip(sockets(&swb)) {
        assert_eq!(connected(guard(swb.dir()), &socket, kind), "refused\n", "{socket}");
        // One that has left its parents behind.
        let mut command = guard(swb.dir());
        command.args(["setsid", "--fork", "--wait"]);
        assert_eq!(connected(command, &socket, kind), "refused\n", "{socket}");
        // The keeper has no log.
        let expected = if kind == "packets" { 2 * (number - 1) } else { 2 * number };
        assert_eq!(rejected(), expected, "{socket}");
    }
    assert_eq!(swb.session("one").unwrap()["status"], "running", "the others are not disturbed");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn what_survives_its_guard_is_refused() {
    needs::landlock();
    let swb = Swb::start(EXE);
    let go = swb.dir().join("go");
    // A grandchild, which is not killed with its guard.
    let script = r#"
        setsid --fork python3 -c '
import os, sys, time
print(os.getpid(), flush=True)
while not os.path.exists(sys.argv[3]):
    time.sleep(0.01)
exec(sys.argv[4])
' "$@"
        exec sleep 1000"#;
    let mut command = guard(swb.dir());
    command
        .args(["sh", "-c", script, "sh"])
        .arg(swb.paths().control_socket())
        .arg("stream")
        .arg(&go)
        .arg(CONNECT);
    let mut guard = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(guard.stdout.take().unwrap()).lines();
    let survivor: u32 = lines.next().unwrap().unwrap().parse().unwrap();
    guard.kill().unwrap();
    guard.wait().unwrap();
    assert!(Path::new(&format!("/proc/{survivor}")).exists());
    std::fs::write(go, "").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "refused");
    wait_for("the log", || swb.log().contains("rejected a connection of a confined command").then_some(()));
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_confined_command_that_uses_swb_gets_the_reason() {
    needs::landlock();
    let swb = Swb::start(EXE);
    for guard in [vec![], vec!["--unix-sockets"]] {
        let mut command = swb.command(&["guard", "--confine", "--read", EXE, "--write"]);
        command.arg(swb.dir()).args(guard).arg("--").args([EXE, "ls"]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("a command that is confined to its workspace cannot use swb"), "{error}");
        assert_eq!(output.status.code(), Some(4));
    }
}

#[test]
fn a_peer_that_has_ended_is_refused() {
    let swb = Swb::start(EXE);
    let gone = "
import os, socket, sys
sock = socket.socket(socket.AF_UNIX)
pid = os.fork()
if pid == 0:
    sock.connect(sys.argv[1])
    os._exit(0)
os.waitpid(pid, 0)
print('connected', flush=True)
sock.settimeout(60)
print('refused' if sock.recv(1) == b'' else 'served')
";
    // Stopped, so that it accepts the connection after the end of the process.
    let (daemon, socket) = (swb.daemon_pid(), swb.paths().control_socket());
    signal(daemon, Signal::STOP);
    let mut command = Command::new("python3");
    let mut child = command.args(["-c", gone]).arg(socket).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "connected");
    signal(daemon, Signal::CONT);
    assert_eq!(lines.next().unwrap().unwrap(), "refused");
    child.wait().unwrap();
}

#[test]
fn a_process_without_the_key_gets_nothing_from_the_keeper() {
    let mut swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "one", "--", "sleep", "1000"]);
    swb.ok(&["shutdown"]);
    swb.daemon().wait().unwrap();
    // The greeting of a daemon: a kind, a slot, a key and two numbers, little-endian.
    let greet = "
import array, socket, struct, sys
sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
sock.settimeout(20)
sock.connect(sys.argv[1])
sock.send(struct.pack('<HHIQQ', 1, 0, 0xffffffff, 1, 0))
data, ancillary, flags, address = sock.recvmsg(64, socket.CMSG_SPACE(64))
print(struct.unpack('<HHIQQ', data)[0], len(ancillary))
print(len(sock.recv(64)))
";
    let output =
        Command::new("python3").args(["-c", greet]).arg(swb.paths().keeper_socket()).output().unwrap();
    // The refusal, without descriptors, and the end.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "109 0\n0\n", "{output:?}");
    swb.start_daemon();
    assert_eq!(swb.session("one").unwrap()["status"], "running", "a daemon of ours gets it");
}
