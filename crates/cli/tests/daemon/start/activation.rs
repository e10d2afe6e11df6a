//! Starting for a service manager: sockets that it has opened, the message that the daemon is ready, restarts.
//!
//! The test is the manager: it binds the socket, and a shell makes it descriptor 3 of the daemon, as systemd does.

use super::*;
use rustix::process::Signal;
use serde_json::json;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Child, Command, Stdio};
use swb_testkit::{LIMIT, signal, stays, wait_for};

/// A manager that listens on the control socket and starts the daemon on command.
struct Manager {
    listener: OwnedFd,
    ready: UnixDatagram,
    notify: std::path::PathBuf,
}

impl Manager {
    fn new(swb: &Swb) -> Self {
        let run = swb.paths().run_dir();
        std::fs::create_dir(&run).unwrap();
        std::fs::set_permissions(&run, PermissionsExt::from_mode(0o700)).unwrap();
        let notify = swb.dir().join("notify");
        let ready = UnixDatagram::bind(&notify).unwrap();
        ready.set_read_timeout(Some(LIMIT)).unwrap();
        Self { listener: UnixListener::bind(swb.paths().control_socket()).unwrap().into(), ready, notify }
    }

    /// The command that starts `swb daemon` with the socket.
    fn daemon(&self, swb: &Swb, arguments: &str) -> Command {
        let script =
            format!("exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$SWB\" daemon {arguments}");
        let mut command = swb.shell(&script);
        let log = std::fs::File::options().create(true).append(true).open(swb.dir().join("daemon.log"));
        command.stdin(self.listener.try_clone().unwrap()).stdout(Stdio::null()).stderr(log.unwrap());
        command.env("NOTIFY_SOCKET", &self.notify);
        command
    }

    fn message(&self) -> String {
        let mut bytes = [0; 256];
        let count = self.ready.recv(&mut bytes).expect("a message of the daemon");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }
}

/// Ends the daemon of a manager with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = (self.0.kill(), self.0.wait());
    }
}

/// What `swb ls` shows about the environment that a session has from the daemon.
fn environment_of(swb: &Swb, name: &str) -> String {
    let pid = swb.session(name).unwrap()["pid"].as_i64().unwrap();
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/environ")).unwrap()).into_owned()
}

#[test]
fn a_command_that_waits_on_a_passed_socket_is_served() {
    let swb = Swb::new(EXE);
    let manager = Manager::new(&swb);
    // It connects before there is a daemon, and starts none itself.
    let early = swb.command(&["ls", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = Running(manager.daemon(&swb, "").spawn().unwrap());
    assert_eq!(manager.message(), "READY=1");
    let early = early.wait_with_output().unwrap();
    assert!(early.status.success() && said(&early).is_empty(), "{}", said(&early));
    assert_eq!(early.stdout, b"[]\n");
    assert_eq!(swb.daemon_pid(), i64::from(running.0.id()), "no other daemon was started");
    assert_eq!((daemons(&swb).len(), state(&swb, "coop")), (1, "listening".to_owned()));
    assert_eq!(swb.status()["warnings"], json!([]));

    // The variables are for the daemon alone.
    swb.script("one", "exec cat");
    let environment = environment_of(&swb, "one");
    let keeper = std::fs::read(format!("/proc/{}/environ", swb.keeper_pid())).unwrap();
    for name in ["LISTEN_", "NOTIFY_SOCKET"] {
        assert!(!environment.contains(name), "{environment}");
        assert!(!String::from_utf8_lossy(&keeper).contains(name));
    }

    // Its end leaves the socket to the manager, whose next daemon has the session.
    swb.ok(&["shutdown"]);
    assert_eq!(manager.message(), "STOPPING=1");
    assert!(running.0.wait().unwrap().success());
    assert!(swb.paths().control_socket().exists(), "the manager is still listening");
    let late = swb.command(&["ls", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let _next = Running(manager.daemon(&swb, "").spawn().unwrap());
    let late = String::from_utf8(late.wait_with_output().unwrap().stdout).unwrap();
    assert!(late.contains("\"one\""), "{late}");
    swb.ok(&["shutdown", "--kill"]);
}

#[test]
fn the_keeper_restarts_an_unsupervised_daemon_with_the_same_socket() {
    let swb = Swb::new(EXE);
    let manager = Manager::new(&swb);
    let _running = Running(manager.daemon(&swb, "").spawn().unwrap());
    assert_eq!(manager.message(), "READY=1");
    swb.script("one", "exec cat");
    swb.kill_daemon();
    assert_eq!(swb.status()["daemon"]["restarts"], 1);
    assert!(swb.session("one").is_some());
    swb.ok(&["shutdown"]);
    assert!(swb.paths().control_socket().exists(), "the manager is still listening");
    let _next = Running(manager.daemon(&swb, "").spawn().unwrap());
    assert!(swb.session("one").is_some());
    swb.ok(&["shutdown", "--kill"]);
}

#[test]
fn a_supervised_daemon_is_restarted_by_its_manager_alone() {
    let swb = Swb::new(EXE);
    let manager = Manager::new(&swb);
    let mut running = Running(manager.daemon(&swb, "--supervised").spawn().unwrap());
    assert_eq!(manager.message(), "READY=1");
    let pid = swb.script("one", "exec cat");
    let mut client = swb.attach("one");
    signal(i64::from(running.0.id()), Signal::KILL);
    running.0.wait().unwrap();
    client.to_end();
    stays("the keeper starts no daemon", || daemons(&swb).is_empty());
    let again = Running(manager.daemon(&swb, "--supervised").spawn().unwrap());
    assert_eq!(manager.message(), "READY=1");
    assert_eq!(swb.daemon_pid(), i64::from(again.0.id()));
    assert_eq!(swb.session("one").unwrap()["pid"], pid);

    // An upgrade stays in the process that the manager knows.
    swb.ok(&["upgrade"]);
    assert_eq!(swb.daemon_pid(), i64::from(again.0.id()));
    assert_eq!(swb.session("one").unwrap()["pid"], pid);
    let words = std::fs::read(format!("/proc/{}/cmdline", again.0.id())).unwrap();
    assert!(String::from_utf8_lossy(&words).contains("--supervised"));
    swb.ok(&["shutdown", "--kill"]);
}

#[test]
fn a_socket_that_no_front_serves_is_reported() {
    let swb = Swb::new(EXE);
    let manager = Manager::new(&swb);
    let odd = UnixListener::bind(swb.dir().join("odd.sock")).unwrap();
    let script = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=3 exec \"$SWB\" daemon";
    let mut command = swb.shell(script);
    command.stdin(OwnedFd::from(odd)).stdout(Stdio::null()).stderr(Stdio::null());
    // No process accepts on the control socket of the manager any more.
    drop(manager.listener);
    let _running = Running(command.spawn().unwrap());
    let warnings = wait_for("a daemon", || swb.try_status())["warnings"].to_string();
    assert!(warnings.contains("odd.sock, but no front serves it"), "{warnings}");
}
