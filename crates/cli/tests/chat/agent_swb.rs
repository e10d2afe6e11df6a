//! Agents that use `swb`: their programs inherit a connection with the role `agent`, limited to the workspace.

use crate::support::agents::{self, AGENT};
use crate::support::{models, needs};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Signal, pidfd_getfd, pidfd_open};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use swb_testkit::{ChatClient, LIMIT, Swb, scripted_agent, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Asks for connections as no program of ours does. Prints what became of each request, then `end`.
const RAW_CLIENT: &str = r#"
import array, os, signal, socket, struct, sys, time
inherited = socket.socket(fileno=int(os.environ["SWB_CONNECTION"]))
def send(packet, *files, to=inherited):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file.fileno() for file in files]))]
    to.sendmsg([packet], rights if files else [])
def pair():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
def connect():
    ours, theirs = pair()
    send(b"connect", theirs)
    theirs.close()
    packet, rights, _, _ = socket.recv_fds(ours, 100, 4)
    return packet.decode(), rights
def lingering():
    # Closing it blocks for a minute, as the other end reads nothing.
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    peers.append(server.accept())
    client.setblocking(False)
    try:
        while True:
            client.send(b"x" * 65536)
    except BlockingIOError:
        pass
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
    return client
peers = []
if sys.argv[1] == "linger":
    targets = [(b"junk", inherited), (b"connect", inherited), (b"x", socket.socket(fileno=connect()[1][0]))]
    clients = [lingering() for _ in targets]
    open("prepared", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.01)
    for client, (packet, to) in zip(clients, targets):
        send(packet, client, to=to)
        client.close()
    open("sent", "w").close()
    signal.pause()
elif sys.argv[1] == "junk":
    for packet in [b"", b"junk", b"connect", b"x" * 4096]:
        send(packet)
    null, stream = open("/dev/null"), socket.socketpair()
    for files in [(null,), (stream[0],), (socket.socket(),), (pair()[0], null), (null,) * 50]:
        send(b"connect", *files)
    send(b"junk", pair()[0])
    # The other end is closed, or is never read.
    send(b"connect", pair()[1])
    full = pair()
    full[1].setblocking(False)
    try:
        while True:
            full[1].send(b"x" * 1000)
    except BlockingIOError:
        pass
    send(b"connect", full[1])
else:
    kept = []
    for _ in range(int(sys.argv[1])):
        packet, rights = connect()
        kept.append(rights)
        print(packet, len(rights))
print("end")
"#;

/// A daemon with an agent that may use `swb`, whose commands may run our program; `client` sends prompts to the agent.
struct Rig {
    client: ChatClient,
    swb: Swb,
}

impl Rig {
    fn new() -> Self {
        let mut swb = Swb::new(EXE);
        swb.configure(&format!("{}\n{}swb = true\n", readable(&swb), scripted_agent(&[])));
        swb.start_daemon();
        fs::write(swb.dir().join("w/raw.py"), RAW_CLIENT).unwrap();
        let client = swb.chat_in("talk");
        Self { client, swb }
    }

    /// What a shell command of the agent prints, with its exit code; `$S` is our program.
    #[track_caller]
    fn runs(&mut self, command: &str) -> String {
        self.client.answer_to(&script("sh", command))
    }
}

/// The agent's step that runs a shell command; `$S` is our program.
fn script(step: &str, command: &str) -> String {
    format!("{step}:S={EXE}\\s {}", command.replace(';', "\\s"))
}

/// The workspace's settings: confined commands may read the directory of our program.
fn readable(swb: &Swb) -> String {
    let directory = Path::new(EXE).parent().unwrap();
    format!(
        "[[chat.workspaces]]\npath = {}\nlandlock_read = [{}]\n",
        json!(swb.workspace("")),
        json!(directory)
    )
}

/// The names in the JSON that `swb ls` printed.
#[track_caller]
fn listed(said: &str) -> Vec<String> {
    let json = said.split_once(": ").unwrap().1;
    let list: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {said}"));
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// A session in the agent's workspace, and one elsewhere.
fn near_and_far(swb: &Swb) {
    agents::start(swb, "near", &["sh", "-c", AGENT], "ready");
    let elsewhere = swb.workspace("elsewhere");
    swb.control().ok(&json!({"cmd": "create", "name": "far", "workspace": elsewhere, "argv": ["cat"]}));
}

#[test]
fn an_agents_swb_reaches_its_workspace_only() {
    let mut rig = Rig::new();
    near_and_far(&rig.swb);
    assert_eq!(listed(&rig.runs("$S ls --json")), ["near"]);
    assert_eq!(rig.runs("$S ask near hello"), "sh 0: you said: hello\n");
    assert_eq!(rig.runs("$S turn near"), "sh 0: you said: hello\n");
    assert!(rig.runs("$S turns near").contains("near:1"));
    assert!(rig.runs("$S screen near").contains("you said: hello"));
    assert_eq!(rig.runs("$S wait near --text said"), "sh 0: ");
    assert_eq!(rig.runs("$S relay near near"), "sh 0: ");
    for command in ["screen far", "turns far", "ask far hello", "relay near far", "wait far --exit"] {
        let said = rig.runs(&format!("$S {command}"));
        assert!(said.starts_with("sh 3: ") && said.contains("far"), "{command}: {said}");
    }
}

#[test]
fn an_agents_swb_has_no_other_operations() {
    let mut rig = Rig::new();
    near_and_far(&rig.swb);
    for (command, role) in [
        ("keys near Enter", "drive"),
        ("send near x", "drive"),
        ("ask --force near x", "drive"),
        ("run -d -- touch pwned", "drive"),
        ("kill near", "drive"),
        ("approvals", "watch"),
        ("logs near", "watch"),
        ("events", "watch"),
        ("history", "watch"),
        ("status", "watch"),
        ("capture near", "prompt"),
        ("workspace add . --context /", "owner"),
        // It asks for the status of the running daemon first.
        ("upgrade", "watch"),
        ("shutdown", "owner"),
    ] {
        let said = rig.runs(&format!("$S {command}"));
        assert!(said.starts_with("sh 1: swb: "), "{command}: {said}");
        assert!(
            said.contains(&format!("needs the role '{role}'; this connection has 'agent'")),
            "{command}: {said}"
        );
    }
    assert!(!rig.swb.dir().join("w/pwned").exists());
    assert_eq!(rig.swb.session("near").unwrap()["status"], "running");
}

#[test]
fn processes_of_an_agent_connect_at_the_same_time() {
    let mut rig = Rig::new();
    near_and_far(&rig.swb);
    let id = rig.client.prompt(&script(
        "sh",
        "$S wait near --text 'said: go' & for i in 1 2 3 4 5 6 7 8; do $S ls --json > list$i & lists=\"$lists $!\"; done; \
         wait $lists && touch listed; wait; echo all",
    ));
    // One process waits for the session all the time.
    wait_for("the lists", || rig.swb.dir().join("w/listed").exists().then_some(()));
    for number in 1..=8 {
        let list = fs::read_to_string(rig.swb.dir().join(format!("w/list{number}"))).unwrap();
        assert_eq!(listed(&format!(": {list}")), ["near"]);
    }
    rig.swb.ok(&["ask", "near", "go"]);
    assert_eq!(rig.client.generation(&id).text(), "sh 0: all\n");
}

#[test]
fn invalid_packets_on_an_agents_connection_disturb_nothing() {
    let mut rig = Rig::new();
    near_and_far(&rig.swb);
    for _ in 0..3 {
        assert_eq!(rig.runs("python3 raw.py junk"), "sh 0: end\n");
        assert_eq!(listed(&rig.runs("$S ls --json")), ["near"]);
    }
    rig.swb.ok(&["ls"]);
}

// The kernel closes descriptors that a peer sends unasked, and closing these takes a minute.
#[test]
fn descriptors_that_block_when_closed_do_not_block_the_daemon() {
    let mut rig = Rig::new();
    let id = rig.client.prompt(&script("sh", "python3 raw.py linger"));
    let file = |name: &str| rig.swb.dir().join("w").join(name);
    wait_for("the connections", || file("prepared").exists().then_some(()));
    // The daemon receives the descriptors after the agent has closed its own, so that it closes the last ones.
    let daemon = rig.swb.daemon_pid();
    signal(daemon, Signal::STOP);
    fs::write(file("go"), "").unwrap();
    wait_for("the descriptors", || file("sent").exists().then_some(()));
    signal(daemon, Signal::CONT);
    for _ in 0..3 {
        rig.swb.ok(&["ls"]);
    }
    rig.client.ok("chat_stop", json!({}));
    assert_eq!(rig.client.generation(&id).status(), "stopped");
}

#[test]
fn an_agents_connections_are_limited() {
    let mut rig = Rig::new();
    let said = rig.runs("python3 raw.py 18");
    let (connected, full) = ("connected 1\n".repeat(16), "full 0\n".repeat(2));
    assert_eq!(said, format!("sh 0: {connected}{full}end\n"));
    // They end with the process that had them; the daemon notices that a moment later.
    wait_for("a place", || rig.runs("$S ls --json").starts_with("sh 0: ").then_some(()));
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn confined_commands_of_an_agent_use_swb() {
    needs::landlock();
    let mut rig = Rig::new();
    near_and_far(&rig.swb);
    assert_eq!(listed(&rig.client.answer_to(&script("term", "$S ls --json"))), ["near"]);
    let refused = rig.client.answer_to(&script("term", "$S run -d -- touch pwned"));
    assert!(refused.starts_with("term 1: ") && refused.contains("this connection has 'agent'"), "{refused}");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn commands_of_a_model_use_swb() {
    needs::landlock();
    let command = format!("{EXE} ls --json; {EXE} approvals");
    let rules = json!([
        {"match": "go", "after_tool": false, "text": "I try. ",
         "tool": {"name": "execute_command", "input": {"command": command}}},
        {"match": "go", "after_tool": true, "text": "end"},
    ]);
    let stub = models::Stub::start(&json!({"rules": rules}));
    let mut swb = Swb::new(EXE);
    let agent = models::configuration("openai", stub.url());
    swb.configure(&format!("[chat.allow]\ntools = [\"*\"]\n{}\n{agent}swb = true\n", readable(&swb)));
    swb.start_daemon();
    near_and_far(&swb);
    let generation = swb.chat_in("talk").chat("go");
    let result = generation.all("tool_result")[0]["result"].as_str().unwrap().to_owned();
    let (list, refused) = result.split_once("swb: ").unwrap();
    assert_eq!(listed(&format!(": {list}")), ["near"]);
    assert!(refused.contains("needs the role 'watch'; this connection has 'agent'"), "{result}");
}

#[test]
fn the_connection_ends_with_the_agent() {
    let mut rig = Rig::new();
    let pid = rig.client.answer_to("pid").trim().parse().ok().and_then(Pid::from_raw).unwrap();
    let number = rig.client.answer_to("env:SWB_CONNECTION").parse().unwrap();
    // A copy that outlives the agent.
    let agent = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    let socket = pidfd_getfd(&agent, number, PidfdGetfdFlags::empty()).unwrap();
    set_socket_timeout(&socket, Timeout::Recv, Some(LIMIT)).unwrap();
    rig.client.ok("session_delete", json!({"session_id": "talk"}));
    let (_, received) = recv(&socket, &mut [0u8; 1], RecvFlags::empty()).expect("its end");
    assert_eq!(received, 0);
}

#[test]
fn agents_have_no_connection_unless_configured() {
    let swb = Swb::scripted(EXE, "");
    assert_eq!(swb.chat_in("talk").answer_to("env:SWB_CONNECTION"), "(not set)");
}

#[test]
fn an_unusable_descriptor_is_an_error_and_starts_no_daemon() {
    let swb = Swb::new(EXE);
    for value in ["99", "0", "-1", "x", "4294967296"] {
        let output = swb.command(&["ls"]).env("SWB_CONNECTION", value).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{value}");
        let said = agents::said(&output);
        assert!(said.contains(&format!("SWB_CONNECTION is {value}, which is not")), "{said}");
    }
    assert!(!swb.paths().control_socket().exists());
}
