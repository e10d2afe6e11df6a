//! More connections than the limit: idle ones lock out no other client.

use crate::support::hung_mount::HungMount;
use crate::support::needs;
use serde_json::json;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use swb_testkit::{ChatClient, ClippyClient, CoopClient, Frame, KeeptyClient, LIMIT, Swb, wait_for};
use swb_wire::clippy::PeerRole;
use swb_wire::keepty::KeeptyRole;

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// More than any socket has places for.
const MANY: usize = 1100;

/// Connections that send nothing.
fn silent(socket: &Path) -> Vec<UnixStream> {
    allow_many_files();
    (0..MANY).map(|_| UnixStream::connect(socket).unwrap()).collect()
}

fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

/// The user's own commands work, and the session called "one" ends.
#[track_caller]
fn commands_work(swb: &Swb) {
    let listed = swb.ok(&["ls"]);
    assert!(listed.contains("one"), "{listed}");
    swb.ok(&["kill", "one"]);
}

#[track_caller]
fn is_served(terminal: &mut CoopClient) {
    terminal.type_in(b"served\r");
    terminal.until("served");
}

#[test]
fn silent_connections_to_the_control_socket_lock_out_no_client() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let mut terminal = swb.attach("one");
    let idle = silent(&swb.paths().control_socket());
    is_served(&mut terminal);
    commands_work(&swb);
    drop(idle);
}

#[test]
fn idle_clients_of_the_control_socket_lock_out_no_client() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let mut terminal = swb.control();
    terminal.ok(&json!({"cmd": "attach", "session": "one"}));
    allow_many_files();
    let mut idle: Vec<CoopClient> = (0..MANY).map(|_| swb.control()).collect();
    is_served(&mut terminal);
    commands_work(&swb);
    // The one that was idle longest learns why it was closed.
    let closed = idle[0].answer().unwrap();
    assert_eq!(closed["error"], "LIMIT_REACHED");
    assert!(
        closed["message"].as_str().unwrap().contains("connections of this socket are in use"),
        "{closed}"
    );
    assert_eq!(idle[0].answer(), None);
    idle[MANY - 1].ok(&json!({"cmd": "ls"}));
}

// CO-8
#[test]
fn idle_clients_of_the_coop_socket_lock_out_no_client() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let mut terminal = swb.attach("one");
    let silent = silent(&swb.paths().coop_socket());
    swb.coop().ok(&json!({"cmd": "ls"}));
    let greeted: Vec<CoopClient> = (0..MANY).map(|_| swb.coop()).collect();
    swb.coop().ok(&json!({"cmd": "ls"}));
    is_served(&mut terminal);
    commands_work(&swb);
    drop((silent, greeted));
}

#[test]
fn idle_peers_of_the_clippy_socket_lock_out_no_client() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    wrapper.register("wrapped");
    let silent = silent(&swb.paths().clippy_socket().unwrap());
    swb.clippy(PeerRole::Client).sessions();
    let greeted: Vec<ClippyClient> = (0..MANY).map(|_| swb.clippy(PeerRole::Client)).collect();
    let sessions = swb.clippy(PeerRole::Client).sessions();
    assert!(sessions.iter().any(|(name, ..)| name == "wrapped"), "{sessions:?}");
    wrapper.turn("wrapped", b"still here");
    commands_work(&swb);
    drop((silent, greeted));
}

// KP-19
#[test]
fn silent_connections_to_a_keepty_socket_lock_out_no_client() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let mut watcher = swb.keepty("one", KeeptyRole::Watcher, 80, 24);
    watcher.ack();
    let socket = swb.paths().keepty_socket("one");
    let idle = silent(&socket);
    wait_for("a place", || {
        let mut client = KeeptyClient::connect(&socket).ok()?;
        client.hello(KeeptyRole::Monitor, 80, 24);
        client.frame(LIMIT).filter(|frame| *frame != Frame::End)
    });
    assert_eq!(watcher.ping(), b"");
    drop(idle);
    let idle = silent(&socket);
    stop_works(&swb);
    drop(idle);
}

#[track_caller]
fn stop_works(swb: &Swb) {
    let stopped = swb.named("keepty", &["stop", "one"]).output().unwrap();
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    let is_ended = || swb.session("one").is_none_or(|session| session["status"] == "exited");
    wait_for("the end of the session", || is_ended().then_some(()));
}

// KP-19: clients that have sent their Hello keep their places.
#[test]
fn greeted_clients_of_a_keepty_socket_lock_out_no_client() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    allow_many_files();
    let socket = swb.paths().keepty_socket("one");
    let greeted = |_| {
        let mut client = KeeptyClient::connect(&socket).unwrap();
        client.hello(KeeptyRole::Monitor, 80, 24);
        client
    };
    let idle: Vec<KeeptyClient> = (0..MANY).map(greeted).collect();
    stop_works(&swb);
    drop(idle);
}

// SS-22
#[test]
fn silent_connections_to_the_scriptschnell_socket_lock_out_no_client() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let mut early = swb.chat();
    let socket = swb.paths().scriptschnell_socket();
    let idle = silent(&socket);
    let mut refused = Vec::new();
    wait_for("a place", || {
        let mut client = ChatClient::connect(&socket).ok()?;
        client.send(&json!({"type": "auth_request", "request_id": "x"}));
        let answer = client.message(LIMIT).unwrap();
        refused.extend(answer.clone().filter(|answer| answer["type"] == "closed"));
        answer.filter(|answer| answer["type"] == "auth_response")
    });
    for refusal in refused {
        assert_eq!(refusal["data"], json!({"reason": "max_connections", "reconnect": true}));
    }
    assert_eq!(early.ask("ping", json!({}))["type"], "pong");
    commands_work(&swb);
    drop(idle);
}

/// A daemon that may open few files, and so serves few connections.
struct SmallDaemon {
    swb: Swb,
    daemon: Child,
}

/// Its places, and those of them that terminals cannot take.
const PLACES: usize = 64;
const FOR_COMMANDS: usize = PLACES / 2;

impl SmallDaemon {
    fn start() -> Self {
        let swb = Swb::new(EXE);
        let mut command = swb.shell("ulimit -n 512 && exec \"$SWB\" daemon");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = command.spawn().unwrap();
        wait_for("the daemon", || swb.try_status());
        Self { swb, daemon }
    }
}

impl Drop for SmallDaemon {
    fn drop(&mut self) {
        let _ended = (self.daemon.kill(), self.daemon.wait());
    }
}

#[test]
fn open_terminals_leave_places_for_commands() {
    let small = SmallDaemon::start();
    let swb = &small.swb;
    swb.script("one", "cat");
    let attach = json!({"cmd": "attach", "session": "one", "watch": true});
    let mut terminals = Vec::new();
    let refused = loop {
        let mut client = swb.control();
        let answer = client.ask(&attach);
        if answer["ok"] == false {
            // The connection is of further use.
            client.ok(&json!({"cmd": "ls"}));
            break answer;
        }
        terminals.push(client);
        assert!(terminals.len() <= PLACES, "no limit");
    };
    assert_eq!(terminals.len(), PLACES - FOR_COMMANDS);
    assert_eq!(refused["error"], "LIMIT_REACHED", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("too many open terminals"), "{refused}");
    let idle: Vec<CoopClient> = (0..PLACES).map(|_| swb.control()).collect();
    commands_work(swb);
    drop((terminals, idle));
}

#[test]
#[ignore = "needs root and FUSE: run by cargo xtask ci"]
fn requests_that_wait_for_a_disk_leave_places_for_commands() {
    needs::root();
    needs::fuse();
    let small = SmallDaemon::start();
    let swb = &small.swb;
    swb.script("one", "cat");
    let hung = HungMount::new(&swb.dir().join("hung"));
    let request = json!({"cmd": "create", "workspace": hung.path(), "argv": ["cat"]});
    let asking = |_| {
        let mut client = swb.control();
        client.send(&request);
        client
    };
    let waiting: Vec<CoopClient> = (0..PLACES).map(asking).collect();
    commands_work(swb);
    drop(waiting);
}

#[test]
fn clients_that_do_not_read_lock_out_no_client() {
    let small = SmallDaemon::start();
    let swb = &small.swb;
    swb.script("one", "cat");
    let idle: Vec<UnixStream> = (0..PLACES + 10)
        .map(|_| {
            let client = swb.control();
            let socket = client.socket().try_clone().unwrap();
            socket.set_nonblocking(true).unwrap();
            let request = json!({"cmd": "status"}).to_string();
            let mut frame = u32::try_from(request.len()).unwrap().to_be_bytes().to_vec();
            frame.extend_from_slice(request.as_bytes());
            // Until the daemon reads no more of them, because its replies are not read.
            let requests = frame.repeat(10_000);
            let mut rest = requests.as_slice();
            while let Ok(sent) = rustix::io::write(&socket, rest) {
                rest = &rest[sent..];
                if rest.is_empty() {
                    break;
                }
            }
            socket
        })
        .collect();
    commands_work(swb);
    drop(idle);
}
