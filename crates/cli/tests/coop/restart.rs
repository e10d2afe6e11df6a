//! coop: restarting agents, automatically or on request.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use swb_testkit::{CoopClient, Fifo, LIMIT, QUIET, StreamItem, Swb, is_alive, wait_for};
use swb_wire::keepty::KeeptyRole;

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// Prints its process id, and ends with the next line it reads.
const MORTAL: &str = "stty raw -echo; echo I am $$; read line; echo \"bye $line\"; exit 3";

// CO-62
#[test]
fn an_agent_that_ends_is_started_again_on_the_same_connections() {
    let swb = Swb::start(EXE);
    let first = create(&swb, "x", MORTAL, "");
    let mut clients = [swb.attach("x"), swb.attach("x")];
    clients.iter_mut().for_each(|client| drop(client.until(&format!("I am {first}\n"))));
    let began = Instant::now();
    clients[0].type_in(b"now\n");
    for client in &mut clients {
        // Everything it wrote, then the event, and no `pty_exited`.
        let mut data = Vec::new();
        let event = loop {
            match client.item(LIMIT).unwrap() {
                StreamItem::Data(bytes) => data.extend(bytes),
                StreamItem::Control(event) => break event,
                StreamItem::End => panic!("the client was to stay"),
            }
        };
        assert_eq!(String::from_utf8(data).unwrap(), "bye now\n");
        assert_eq!(event, json!({"event": "pty_restarting", "delay_ms": 1000}));
    }
    for client in &mut clients {
        let said = String::from_utf8(client.until("\n")).unwrap();
        let second: i64 = said.trim().strip_prefix("I am ").unwrap().parse().unwrap();
        assert_ne!(second, first);
        assert_eq!(details(&swb, "x")["pid"], second);
    }
    assert!(began.elapsed() >= Duration::from_millis(950), "after {:?}", began.elapsed());
    assert_eq!(details(&swb, "x")["status"], "running");
    assert_eq!(details(&swb, "x")["local_clients"], 2);
}

// CO-62
#[test]
fn the_pause_is_the_one_the_coopfile_sets() {
    let swb = Swb::start(EXE);
    create(&swb, "x", MORTAL, "restart_delay_ms = 10\n");
    let mut client = swb.attach("x");
    client.until("\n");
    client.type_in(b"\n");
    assert_eq!(client.event("pty_restarting").1, json!({"event": "pty_restarting", "delay_ms": 10}));
    client.until("I am ");
}

// CO-62
#[test]
fn an_agent_is_not_started_again_when_the_coopfile_forbids_it() {
    let swb = Swb::start(EXE);
    create(&swb, "x", MORTAL, "auto_restart = false\n");
    let mut client = swb.attach("x");
    client.until("\n");
    client.type_in(b"\n");
    let (data, controls) = client.to_end();
    assert_eq!(String::from_utf8(data).unwrap(), "bye \n");
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 3})]);
    wait_for("the session to end", || sessions(&swb).is_empty().then_some(()));
    // Name and workspace are free again.
    create(&swb, "x", MORTAL, "");
}

// CO-63
#[test]
fn three_short_runs_in_a_row_end_the_session() {
    let swb = Swb::start(EXE);
    create_waiting(&swb, "x", "stty raw; echo run; exit 9", "restart_delay_ms = 20\n");
    let (data, controls) = swb.attach("x").to_end();
    assert_eq!(String::from_utf8(data).unwrap(), "run\nrun\nrun\n");
    let restarting = json!({"event": "pty_restarting", "delay_ms": 20});
    assert_eq!(controls, [restarting.clone(), restarting, json!({"event": "pty_exited", "code": 9})]);
    wait_for("the session to end", || sessions(&swb).is_empty().then_some(()));
}

// CO-63
#[test]
fn a_long_run_resets_the_count_of_short_ones() {
    let swb = Swb::start(EXE);
    // The third run is a long one.
    let script = "echo >> runs; [ $(wc -l < runs) -eq 3 ] && sleep 6; exit 1";
    create_waiting(&swb, "x", script, "restart_delay_ms = 20\n");
    let (_, controls) = swb.attach("x").to_end();
    let restarts = controls.iter().filter(|control| control["event"] == "pty_restarting").count();
    assert_eq!(restarts, 5, "{controls:?}");
    assert_eq!(controls.last(), Some(&json!({"event": "pty_exited", "code": 1})));
}

// CO-62
#[test]
fn input_waits_for_the_next_process_and_unread_input_is_dropped() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("x");
    let fifo = Fifo::make(&workspace.join("go"));
    // The first one reads nothing, the others give back what they read.
    let script = "stty raw -echo; echo ready; [ -e ran ] && exec cat; touch ran; cat go; exit 0";
    create(&swb, "x", script, "restart_delay_ms = 1000\n");
    let mut client = swb.attach("x");
    client.until("ready\n");
    client.type_in(b"for the first one");
    swb.coop().ok(&json!({"cmd": "ls"}));
    fifo.write("");
    client.event("pty_restarting");
    client.type_in(b"for the next one");
    // The fresh terminal may have echoed it before the process changed that; then the process has it.
    let data = String::from_utf8(client.until("ready\nfor the next one")).unwrap();
    assert!(!data.contains("first"), "{data}");
}

// CO-62: input that a program was too slow to read does not stand in its successor's way.
#[test]
fn a_megabyte_of_unread_input_is_dropped_at_the_end() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("x");
    let fifo = Fifo::make(&workspace.join("go"));
    let script = "stty raw -echo; echo ready; [ -e ran ] && exec cat; touch ran; cat go; exit 0";
    create(&swb, "x", script, "restart_delay_ms = 10\n");
    let mut typist = swb.attach("x");
    typist.until("ready\n");
    typist.type_in(&vec![b'x'; 1_000_000]);
    let mut other = swb.attach("x");
    other.until("ready\n");
    fifo.write("");
    other.event("pty_restarting");
    other.until("ready\n");
    other.type_in(b"other");
    assert_eq!(other.until("other"), b"other");
    // The typist is still a client like any other.
    typist.type_in(b"typist");
    typist.until("typist");
}

// CO-62: positions, old output and size outlive the process.
#[test]
fn output_and_size_continue_across_a_restart() {
    let swb = Swb::start(EXE);
    create(&swb, "x", "stty raw -echo; stty size; read line; exit 0", "restart_delay_ms = 10\n");
    let mut client = swb.attach("x");
    client.until("\n");
    client.control(&json!({"cmd": "resize", "cols": 77, "rows": 33}));
    client.type_in(b"\n");
    client.event("pty_restarting");
    assert_eq!(client.until("\n"), b"33 77\n");
    let mut late = swb.coop();
    let answer = late.ok(&json!({"cmd": "attach", "session": "x", "watch": true, "resume": 0}));
    assert_eq!(answer["head"], details(&swb, "x")["offset"]);
    late.until("33 77\n");
}

// 7.1 restart
#[test]
fn a_command_line_is_restarted_only_on_request() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let request = |name: &str, restart: Value| json!({"cmd": "create", "name": name, "workspace": workspace, "argv": ["sh", "-c", MORTAL], "restart": restart});
    let next = |name: &str| {
        let mut client = swb.attach(name);
        client.until("\n");
        client.type_in(b"\n");
        loop {
            match client.item(LIMIT).unwrap() {
                StreamItem::Data(_) => {}
                StreamItem::Control(event) => break event["event"].clone(),
                StreamItem::End => panic!("no event"),
            }
        }
    };
    for (name, restart, event) in [
        ("yes", json!(true), "pty_restarting"),
        ("no", json!(false), "pty_exited"),
        ("default", Value::Null, "pty_exited"),
    ] {
        swb.coop().ok(&request(name, restart));
        assert_eq!(next(name), event, "{name}");
    }
    // And an agent of a Coopfile is not, if that is asked for.
    swb.coop().ok(&json!({
        "cmd": "create", "name": "agent", "workspace": workspace, "coopfile": coopfile(MORTAL, ""), "restart": false,
    }));
    assert_eq!(next("agent"), "pty_exited");
}

// CO-62: an agent whose program is gone cannot be started again.
#[test]
fn a_failed_restart_ends_the_session() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("x");
    let program = workspace.join("agent");
    std::fs::write(&program, "#!/bin/sh\nstty raw\nrm agent\necho once\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let text = format!("[agent]\ncommand = '{}'\n[session]\nrestart_delay_ms = 10\n", program.display());
    swb.coop().ok(&json!({"cmd": "create", "workspace": workspace, "coopfile": text, "start": "writer"}));
    let (data, controls) = swb.attach("x").to_end();
    assert_eq!(String::from_utf8(data).unwrap(), "once\n");
    assert_eq!(
        controls,
        [json!({"event": "pty_restarting", "delay_ms": 10}), json!({"event": "pty_exited", "code": 127})]
    );
    wait_for("the session to end", || sessions(&swb).is_empty().then_some(()));
}

// CO-40: between two runs there is nothing to wait for.
#[test]
fn a_session_can_be_killed_while_its_agent_pauses() {
    let swb = Swb::start(EXE);
    create(
        &swb,
        "x",
        "echo >> runs; stty raw -echo; echo up; read line; exit 0",
        "restart_delay_ms = 4000\n",
    );
    let mut client = swb.attach("x");
    client.until("up\n");
    client.type_in(b"\n");
    client.event("pty_restarting");
    swb.coop().ok(&json!({"cmd": "kill", "session": "x"}));
    assert_eq!(client.to_end().1.last().unwrap()["event"], "pty_exited");
    assert_eq!(sessions(&swb), [] as [&str; 0]);
    // It is not started after all: a successor has the place to itself for longer than the pause was.
    create(&swb, "x", "stty raw -echo; echo successor; exec cat", "");
    let mut successor = swb.attach("x");
    successor.until("successor\n");
    assert_eq!(successor.item(Duration::from_millis(4000) + QUIET), None);
    assert_eq!(std::fs::read_to_string(swb.workspace("x").join("runs")).unwrap().lines().count(), 1);
}

// CO-51
#[test]
fn restart_ends_the_process_and_starts_it_again() {
    let swb = Swb::start(EXE);
    let first = swb.make("x", &["sh", "-c", "stty raw -echo; echo I am $$; exec cat"]);
    let mut client = swb.attach("x");
    client.until("\n");
    let answer = swb.coop().ok(&json!({"cmd": "restart", "session": "x"}));
    let second = answer["pid"].as_i64().unwrap();
    assert_eq!(answer, json!({"ok": true, "pid": second, "pty": 0}));
    assert!(second != first && is_alive(second) && !is_alive(first));
    let (_, event) = client.event("pty_restarting");
    assert_eq!(event, json!({"event": "pty_restarting", "delay_ms": 0}));
    assert_eq!(client.until("\n"), format!("I am {second}\n").as_bytes());
    assert_eq!(details(&swb, "x")["pid"], second);
    // Once was asked for: its own end is the end.
    client.type_in(b"x");
    client.until("x");
    kill(second);
    assert_eq!(client.to_end().1, [json!({"event": "pty_exited", "code": 128 + 9})]);
}

// CO-51
#[test]
fn restart_works_for_shells_and_while_an_agent_pauses() {
    let swb = Swb::start(EXE);
    create(&swb, "x", MORTAL, "restart_delay_ms = 600000\n");
    let mut shell = swb.coop();
    let script = "stty raw -echo; echo shell $$; exec cat";
    shell.ok(&json!({"cmd": "shell", "session": "x", "argv": ["sh", "-c", script]}));
    shell.until("\n");
    let answer = swb.coop().ok(&json!({"cmd": "restart", "session": "x", "pty": 1}));
    assert_eq!(answer["pty"], 1);
    shell.event("pty_restarting");
    assert_eq!(shell.until("\n"), format!("shell {}\n", answer["pid"]).as_bytes());

    let mut client = swb.attach("x");
    client.until("\n");
    client.type_in(b"\n");
    client.event("pty_restarting");
    assert_eq!(details(&swb, "x")["status"], "restarting");
    let answer = swb.coop().ok(&json!({"cmd": "restart", "session": "x", "pty": 0}));
    assert_eq!(client.until("\n"), format!("I am {}\n", answer["pid"]).as_bytes());
}

// CO-51
#[test]
fn restart_kills_a_process_that_ignores_signals() {
    let swb = Swb::start(EXE);
    let script = "trap '' TERM HUP; echo I am $$; while :; do sleep 1000; done";
    let first = swb.make("x", &["sh", "-c", script]);
    swb.attach("x").until("\n");
    let began = Instant::now();
    let answer = swb.coop().ok(&json!({"cmd": "restart", "session": "x"}));
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(4) && took < Duration::from_secs(8), "after {took:?}");
    assert!(!is_alive(first) && is_alive(answer["pid"].as_i64().unwrap()));
}

// CO-51: a session that lives on with a shell can have its agent back, in every dialect.
#[test]
fn an_agent_that_has_ended_can_be_started_again() {
    let swb = Swb::start(EXE);
    for how in ["ended", "killed"] {
        swb.make(how, &["sh", "-c", MORTAL]);
        let mut shell = swb.coop();
        shell.ok(&json!({"cmd": "shell", "session": how, "command": "cat"}));
        let mut client = swb.attach(how);
        client.until("\n");
        if how == "ended" {
            client.type_in(b"\n");
        } else {
            swb.coop().ok(&json!({"cmd": "sessionkill", "session": how, "pty": 0}));
        }
        assert_eq!(client.event("pty_exited").1["event"], "pty_exited");
        client.closed();

        let pid = swb.coop().ok(&json!({"cmd": "restart", "session": how}))["pid"].as_i64().unwrap();
        let said = format!("I am {pid}\n");
        let mut again = swb.attach(how);
        again.until(&said);
        assert!(is_alive(pid), "{how}");
        assert_eq!(again.item(QUIET), None, "{how}: its former end is history");
        let mut keepty = swb.keepty(how, KeeptyRole::Writer, 80, 24);
        assert_eq!(keepty.ack().0, u32::try_from(pid).unwrap());
        keepty.type_in(b"typed\n");
        again.until("bye typed\n");
        assert_eq!(again.event("pty_exited").1["code"], 3);
    }
}

// ---- helpers ----

fn coopfile(script: &str, session: &str) -> String {
    format!("[agent]\ncommand = '/bin/sh'\nargs = ['-c', {}]\n[session]\n{session}", json!(script))
}

/// Makes a session of a workspace of the same name; gives the process id.
fn create(swb: &Swb, name: &str, script: &str, session: &str) -> i64 {
    let answer = swb.coop().ok(&json!({
        "cmd": "create", "workspace": swb.workspace(name), "coopfile": coopfile(script, session),
    }));
    answer["pid"].as_i64().unwrap()
}

/// The same, but it starts when a client attaches.
fn create_waiting(swb: &Swb, name: &str, script: &str, session: &str) {
    swb.coop().ok(&json!({
        "cmd": "create", "workspace": swb.workspace(name), "coopfile": coopfile(script, session), "start": "writer",
    }));
}

fn sessions(swb: &Swb) -> Vec<String> {
    let mut client: CoopClient = swb.coop();
    let list = client.ok(&json!({"cmd": "ls"}));
    list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["name"].as_str().unwrap().to_owned())
        .collect()
}

fn details(swb: &Swb, session: &str) -> Value {
    let list = swb.coop().ok(&json!({"cmd": "ls", "details": true}));
    list["sessions"].as_array().unwrap().iter().find(|item| item["name"] == session).unwrap().clone()
}

fn kill(pid: i64) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
