//! coop: the commands other than `create` — attaching, shells, lists, ending things.
//!
//! Long, because every rule of the subject has its test here and all of them share the helpers at the end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};
use swb_testkit::{CoopClient, LIMIT, StreamItem, Swb, is_alive, wait_for};
use swb_wire::keepty::KeeptyRole;

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// Answers each line with the terminal's size.
const SIZER: [&str; 3] = ["sh", "-c", "stty -echo; echo ready; while read x; do stty size; done"];
/// Gives back every byte as it is.
const MIRROR: [&str; 3] = ["sh", "-c", "stty raw -echo; echo ready; exec cat"];

// ---- attach ----

// CO-29, CO-32
#[test]
fn attach_is_answered_plainly_and_gives_the_terminal_the_clients_size() {
    let swb = Swb::start(EXE);
    swb.make("x", &SIZER);
    for (size, shown) in [
        (json!({}), "40 120\r\n"),
        (json!({"cols": 101, "rows": 31}), "31 101\r\n"),
        // A zero keeps that side as it is.
        (json!({"cols": 0, "rows": 12}), "12 101\r\n"),
        (json!({"cols": 65535, "rows": 65535}), "65535 65535\r\n"),
    ] {
        let mut client = swb.coop();
        let mut request = json!({"cmd": "attach", "session": "x", "pty": 0});
        request.as_object_mut().unwrap().extend(size.as_object().unwrap().clone());
        assert_eq!(client.ask(&request), json!({"ok": true}));
        client.type_in(b"\r");
        client.until(shown);
    }
}

// CO-30
#[test]
fn a_session_is_found_by_name_or_by_the_path_of_its_workspace() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let create = |name: &str, argv: Value| {
        swb.coop().ok(&json!({"cmd": "create", "name": name, "workspace": workspace, "argv": argv}));
    };
    create("older", json!(["cat"]));
    let found =
        |session: &Path| swb.coop().ok(&json!({"cmd": "sessionls", "session": session}))["session"].clone();
    assert_eq!(found(&workspace), "older");
    assert_eq!(found(Path::new("older")), "older");
    swb.coop().ok(&json!({"cmd": "create", "name": "bound", "workspace": workspace,
        "coopfile": "[agent]\ncommand = 'cat'\n"}));
    create("newer", json!(["cat"]));
    std::os::unix::fs::symlink(&workspace, swb.dir().join("w/link")).unwrap();
    for path in [workspace.clone(), workspace.join(""), workspace.join("../ws"), swb.dir().join("w/link")] {
        assert_eq!(found(&path), "bound", "the one that belongs to the workspace");
    }
    let mut client = swb.coop();
    assert_eq!(client.ask(&json!({"cmd": "attach", "session": workspace})), json!({"ok": true}));
    client.type_in(b"hello\r");
    client.until("hello");
    // What has no slash is a name and nothing else.
    assert_eq!(swb.coop().error(&json!({"cmd": "attach", "session": "ws"})), "SESSION_NOT_FOUND");
    assert_eq!(swb.coop().error(&json!({"cmd": "attach", "session": "/tmp"})), "SESSION_NOT_FOUND");
}

// CO-31
#[test]
fn unknown_sessions_and_terminals_have_distinct_errors() {
    let swb = Swb::start(EXE);
    swb.make("x", &["cat"]);
    let mut client = swb.coop();
    for cmd in ["attach", "shell", "kill", "tunnel", "sessionls", "logs", "restart"] {
        let code = client.error(&json!({"cmd": cmd, "session": "nope"}));
        assert_eq!(code, "SESSION_NOT_FOUND", "{cmd}");
    }
    for cmd in ["attach", "sessionkill", "logs", "restart"] {
        let code = client.error(&json!({"cmd": cmd, "session": "x", "pty": 9, "text": "y"}));
        assert_eq!(code, "PTY_NOT_FOUND", "{cmd}");
    }
    assert_eq!(
        client.error(&json!({"cmd": "sessionkill", "session": "nope", "pty": 0})),
        "SESSION_NOT_FOUND"
    );
    assert_eq!(client.ask(&json!({"cmd": "attach", "session": "x"})), json!({"ok": true}));
}

// ---- shells ----

// CO-34
#[test]
fn a_shell_is_a_new_terminal_in_the_session() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    swb.coop().ok(
        &json!({"cmd": "create", "name": "x", "workspace": workspace, "coopfile": "[agent]\ncommand='cat'"}),
    );
    let mut shell = swb.coop();
    let answer = shell.ask(&json!({"cmd": "shell", "session": "x", "cols": 91, "rows": 33}));
    assert_eq!(answer, json!({"ok": true, "pty": 1}));
    shell.type_in(b"stty size; pwd; echo $COOP_SESSION; exit 6\r");
    let (data, controls) = shell.to_end();
    let data = String::from_utf8(data).unwrap();
    let here = workspace.canonicalize().unwrap();
    for expected in ["33 91\r\n", &format!("\n{}\r\n", here.display()), "\nx\r\n"] {
        assert!(data.contains(expected), "{expected:?} in {data:?}");
    }
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 6})]);

    let mut other = swb.coop();
    let command = json!({"cmd": "shell", "session": "x", "command": "/bin/cat -u"});
    assert_eq!(other.ask(&command), json!({"ok": true, "pty": 2}));
    let list = swb.coop().ok(&json!({"cmd": "sessionls", "session": "x"}));
    assert_eq!(list["ptys"][1]["command"], "/bin/cat");
    // The agent has its own terminal.
    other.type_in(b"to the shell\r");
    other.until("to the shell\r\nto the shell\r\n");
    let mut agent = swb.attach("x");
    agent.quiet();
    assert_eq!(
        swb.coop().error(&json!({"cmd": "shell", "session": "x", "command": "/no/such"})),
        "SPAWN_FAILED"
    );
    assert_eq!(swb.coop().error(&json!({"cmd": "shell", "session": "x", "command": " "})), "INVALID_COMMAND");
}

// CO-35
#[test]
fn shell_numbers_are_not_reused() {
    let swb = Swb::start(EXE);
    swb.make("x", &["cat"]);
    let shell = || {
        let mut client = swb.coop();
        let pty = client.ok(&json!({"cmd": "shell", "session": "x", "command": "cat"}))["pty"].clone();
        (client, pty.as_u64().unwrap())
    };
    let (mut first, one) = shell();
    let (mut second, two) = shell();
    assert_eq!((one, two), (1, 2));
    first.type_in(b"\x04");
    first.to_end();
    wait_for("the shell to leave the list", || (ptys(&swb, "x") == [0, 2]).then_some(()));
    let mut late = swb.coop();
    assert_eq!(late.ask(&json!({"cmd": "attach", "session": "x", "pty": 2})), json!({"ok": true}));
    late.type_in(b"the second\r");
    second.until("the second");
    assert_eq!(swb.coop().error(&json!({"cmd": "attach", "session": "x", "pty": 1})), "PTY_NOT_FOUND");
    assert_eq!(shell().1, 3);
    // Another session counts for itself.
    swb.make("y", &["cat"]);
    assert_eq!(swb.coop().ok(&json!({"cmd": "shell", "session": "y"}))["pty"], 1);
}

// CO-36
#[test]
fn an_explicit_force_new_false_joins_a_shell_that_runs() {
    let swb = Swb::start(EXE);
    swb.make("x", &["cat"]);
    let shell = |extra: Value| {
        let mut client = swb.coop();
        let mut request = json!({"cmd": "shell", "session": "x", "command": "/bin/cat"});
        request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = client.ok(&request);
        assert_eq!(answer.as_object().unwrap().len(), 2);
        (client, answer["pty"].as_u64().unwrap())
    };
    let (mut first, one) = shell(json!({"force_new": false}));
    assert_eq!(one, 1, "there is none to join");
    first.type_in(b"hello\r");
    first.until("hello\r\nhello\r\n");
    let (mut joined, same) = shell(json!({"force_new": false, "cols": 77, "rows": 22}));
    assert_eq!(same, 1);
    joined.until("hello\r\nhello\r\n");
    joined.type_in(b"both\r");
    first.until("both");
    assert_eq!(shell(json!({})).1, 2);
    assert_eq!(shell(json!({"force_new": true})).1, 3);
    assert_eq!(shell(json!({"force_new": false, "command": "/bin/sh"})).1, 4, "another command");
}

// 7.2 env, argv of shell
#[test]
fn a_shell_can_have_its_own_command_line_and_environment() {
    let swb = Swb::start(EXE);
    swb.make("x", &["cat"]);
    let mut shell = swb.coop();
    shell.ok(&json!({
        "cmd": "shell", "session": "x", "argv": ["/bin/sh", "-c", "echo \"<$1>\"; /usr/bin/env; exit 0", "sh", "a b"],
        "env": {"ONLY": "this"},
    }));
    let (data, _) = shell.to_end();
    let data = String::from_utf8(data).unwrap();
    assert!(data.contains("<a b>\r\n") && data.contains("ONLY=this\r\n"), "{data}");
    assert!(!data.contains("HOME="), "{data}");
}

// 7.6 LIMIT_REACHED
#[test]
fn a_session_has_a_bounded_number_of_terminals() {
    let swb = Swb::start(EXE);
    swb.make("x", &["cat"]);
    let mut shells = Vec::new();
    let refused = loop {
        let mut client = swb.coop();
        let answer = client.ask(&json!({"cmd": "shell", "session": "x", "command": "cat"}));
        if answer["ok"] == false {
            break answer;
        }
        shells.push(client);
        assert!(shells.len() < 1000, "there is no end to it");
    };
    assert_eq!(refused["error"], "LIMIT_REACHED");
    assert!(shells.len() >= 32, "only {} shells", shells.len());
    let mut last = shells.pop().unwrap();
    last.type_in(b"\x04");
    last.to_end();
    wait_for("room", || {
        let answer = swb.coop().ask(&json!({"cmd": "shell", "session": "x", "command": "cat"}));
        (answer["ok"] == true).then_some(())
    });
}

// ---- lists ----

// CO-37, CO-38, CO-39
#[test]
fn ls_shows_sessions_their_terminals_and_clients() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws").canonicalize().unwrap();
    let before = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let pid = swb
        .coop()
        .ok(&json!({"cmd": "create", "name": "x", "workspace": workspace, "argv": ["/bin/cat"]}))["pid"]
        .clone();
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "x"}));
    let attached = swb.attach("x");
    // Neither a connection in command mode nor one of another dialect is a local client.
    let _idle = swb.coop();
    let mut keepty = swb.keepty("x", KeeptyRole::Watcher, 80, 24);
    keepty.ack();

    let list = swb.coop().ok(&json!({"cmd": "ls"}));
    let item = list["sessions"][0].clone();
    let created = item["created"].as_u64().unwrap();
    assert!((before..=before + 60).contains(&created));
    let shell_pid = item["ptys"][1]["pid"].as_i64().unwrap();
    assert!(is_alive(shell_pid));
    assert_eq!(
        list,
        json!({"ok": true, "sessions": [{
            "name": "x", "workspace": workspace, "pid": pid, "created": created,
            "ptys": [
                {"id": 0, "role": "agent", "command": "/bin/cat", "pid": pid},
                {"id": 1, "role": "shell", "command": "/bin/sh", "pid": shell_pid},
            ],
            "web_clients": 0, "local_clients": 2,
        }]})
    );

    let falls_to = |n: u64| {
        wait_for("the number of clients to fall", || {
            let list = swb.coop().ok(&json!({"cmd": "ls"}));
            (list["sessions"][0]["local_clients"] == n).then_some(())
        });
    };
    drop(attached);
    falls_to(1);
    shell.control(&json!({"cmd": "detach"}));
    shell.closed();
    falls_to(0);
}

// 7.3 ls details
#[test]
fn details_are_sent_on_request() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut client = swb.attach("x");
    client.until("ready\n");
    let _keepty = swb.keepty("x", KeeptyRole::Watcher, 80, 24).ack();
    let mut keepty = swb.keepty("x", KeeptyRole::Monitor, 80, 24);
    keepty.ack();
    let details = || swb.coop().ok(&json!({"cmd": "ls", "details": true}))["sessions"][0].clone();
    let item = wait_for("the first keepty client to be gone", || {
        Some(details()).filter(|item| item["clients"] == 2)
    });
    assert_eq!(item["argv"], json!(MIRROR));
    assert_eq!((&item["status"], &item["exit_code"]), (&json!("running"), &Value::Null));
    assert_eq!((&item["cols"], &item["rows"]), (&json!(120), &json!(40)));
    assert_eq!((&item["local_clients"], &item["origin"]), (&json!(1), &json!("run")));
    assert_eq!(item["offset"], "ready\n".len());
    client.type_in(b"12345");
    client.until("12345");
    assert_eq!(details()["offset"], "ready\n".len() + 5);
    swb.coop()
        .ok(&json!({"cmd": "create", "workspace": swb.workspace("a"), "coopfile": "[agent]\ncommand='cat'"}));
    assert_eq!(details()["origin"], "coop");
    assert!(swb.coop().ok(&json!({"cmd": "ls"}))["sessions"][0].get("argv").is_none());
}

// 7.3 ls all, kill; 7.2: an ended session can still be looked at.
#[test]
fn an_ended_session_is_remembered_until_it_is_killed() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "echo last words; exit 5"]);
    let list = |extra: Value| {
        let mut request = json!({"cmd": "ls", "details": true});
        request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        swb.coop().ok(&request)["sessions"].as_array().unwrap().clone()
    };
    wait_for("its end", || list(json!({})).is_empty().then_some(()));
    let all = list(json!({"all": true}));
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0]["status"], &all[0]["exit_code"]), (&json!("exited"), &json!(5)));

    let mut client = swb.coop();
    let answer = client.ok(&json!({"cmd": "attach", "session": "x", "offsets": true}));
    assert_eq!((&answer["offset"], &answer["head"]), (&json!(0), &json!(12)));
    assert_eq!(
        client.to_end(),
        (b"last words\r\n".to_vec(), vec![json!({"event": "pty_exited", "code": 5})])
    );
    // Clients that know nothing of this find no session.
    assert_eq!(swb.coop().error(&json!({"cmd": "attach", "session": "x"})), "SESSION_NOT_FOUND");

    // A new session of the same name comes first, and the old one is not lost by it.
    swb.make("x", &["cat"]);
    let answer = swb.coop().ok(&json!({"cmd": "attach", "session": "x", "offsets": true}));
    assert_eq!(answer["head"], 0);
    assert_eq!(list(json!({"all": true})).len(), 2);
    swb.coop().ok(&json!({"cmd": "kill", "session": "x"}));
    assert_eq!(list(json!({"all": true})).len(), 1, "the live one was meant");
    swb.coop().ok(&json!({"cmd": "kill", "session": "x"}));
    assert_eq!(list(json!({"all": true})).len(), 0);
    assert_eq!(swb.coop().error(&json!({"cmd": "kill", "session": "x"})), "SESSION_NOT_FOUND");
}

// ---- kill ----

// CO-40
#[test]
fn kill_sends_sigterm_and_all_clients_are_notified() {
    let swb = Swb::start(EXE);
    let script = "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 1000 & wait; done";
    let pid = swb.make("x", &["sh", "-c", script]);
    let mut client = swb.attach("x");
    client.until("ready");
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "x"}));
    let shell_pid = swb.coop().ok(&json!({"cmd": "sessionls", "session": "x"}))["ptys"][1]["pid"].clone();

    assert_eq!(swb.coop().ask(&json!({"cmd": "kill", "session": "x"})), json!({"ok": true}));
    assert_eq!(swb.coop().ok(&json!({"cmd": "ls"}))["sessions"], json!([]));
    let (data, controls) = client.to_end();
    assert!(String::from_utf8_lossy(&data).contains("asked"));
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 3})]);
    let (_, controls) = shell.to_end();
    assert_eq!(controls.len(), 1);
    assert_eq!(controls[0]["event"], "pty_exited");
    for pid in [pid, shell_pid.as_i64().unwrap()] {
        wait_for("the process to end", || (!is_alive(pid)).then_some(()));
    }
    assert!(!swb.paths().keepty_socket("x").exists());
}

// CO-40
#[test]
fn kill_does_not_wait_for_a_process_that_ignores_it_and_ends_it_after_five_seconds() {
    let swb = Swb::start(EXE);
    let stubborn = ["sh", "-c", "trap '' TERM HUP; echo ready; while :; do sleep 1000; done"];
    let pid = swb.make("x", &stubborn);
    let mut client = swb.attach("x");
    client.until("ready");
    let began = Instant::now();
    assert_eq!(swb.coop().ask(&json!({"cmd": "kill", "session": "x"})), json!({"ok": true}));
    let answered = began.elapsed();
    assert!(answered < Duration::from_secs(4), "answered after {answered:?}");
    assert!(is_alive(pid), "it has five seconds");

    // The name is free at once, in every dialect, and stays with its new owner.
    let successor = swb.make("x", &MIRROR);
    let mut keepty = swb.keepty("x", KeeptyRole::Writer, 80, 24);
    assert_eq!(keepty.ack().0, u32::try_from(successor).unwrap());

    let (_, end) = client.event("pty_exited");
    let ended = began.elapsed();
    assert_eq!(end["code"], 128 + 9);
    wait_for("the process to end", || (!is_alive(pid)).then_some(()));
    assert!(ended >= Duration::from_secs(4) && ended < Duration::from_secs(8), "ended after {ended:?}");
    assert!(is_alive(successor));
    keepty.type_in(b"still here");
    keepty.until("still here");
    swb.keepty("x", KeeptyRole::Monitor, 1, 1).ack();
}

// CO-40
#[test]
fn kill_reaches_background_jobs_in_their_own_process_groups() {
    let swb = Swb::start(EXE);
    let script = "set -m; sleep 1000 & echo plain $!; \
        sh -c 'trap \"\" TERM HUP; echo stubborn $$; exec sleep 1000' & \
        sh -c 'kill -STOP $$' & echo stopped $!; wait";
    swb.make("x", &["sh", "-c", script]);
    let mut client = swb.attach("x");
    let mut said = String::new();
    let mut pid = |what: &str| loop {
        let found = said.lines().find_map(|line| line.strip_prefix(what)?.trim().parse::<i64>().ok());
        match found.filter(|_| said.ends_with('\n')) {
            Some(pid) => break pid,
            None => said += &String::from_utf8(client.until("\n")).unwrap(),
        }
    };
    let (plain, stubborn, stopped) = (pid("plain "), pid("stubborn "), pid("stopped "));
    wait_for("the job to be stopped", || (state(stopped)? == 'T').then_some(()));
    let began = Instant::now();
    swb.coop().ok(&json!({"cmd": "kill", "session": "x"}));
    for pid in [plain, stopped] {
        wait_for("a job to end", || (!is_alive(pid)).then_some(()));
    }
    assert!(began.elapsed() < Duration::from_secs(4), "jobs that can be asked are asked at once");
    wait_for("the stubborn job to end", || (!is_alive(stubborn)).then_some(()));
    let ended = began.elapsed();
    assert!(ended >= Duration::from_secs(4) && ended < Duration::from_secs(8), "ended after {ended:?}");
}

// CO-40: an interactive shell ignores SIGTERM and is not worth five seconds.
#[test]
fn an_interactive_shell_ends_at_once_when_it_is_killed() {
    let swb = Swb::start(EXE);
    let pid = swb.make("x", &["sh", "-i"]);
    let mut client = swb.attach("x");
    client.type_in(b"trap\r echo re''ady\r");
    client.until("ready");
    let began = Instant::now();
    swb.coop().ok(&json!({"cmd": "kill", "session": "x"}));
    wait_for("the shell to end", || (!is_alive(pid)).then_some(()));
    assert!(began.elapsed() < Duration::from_secs(4));
}

// CO-41
#[test]
fn kill_can_be_forced() {
    let swb = Swb::start(EXE);
    let script = "trap '' TERM HUP; set -m; sleep 1000 & echo job $!; while :; do sleep 1000; done";
    let pid = swb.make("x", &["sh", "-c", script]);
    let mut client = swb.attach("x");
    let said = String::from_utf8(client.until("\n")).unwrap();
    let job: i64 = said.trim().strip_prefix("job ").unwrap().parse().unwrap();
    let began = Instant::now();
    swb.coop().ok(&json!({"cmd": "kill", "session": "x", "force": true}));
    for pid in [pid, job] {
        wait_for("it to end", || (!is_alive(pid)).then_some(()));
    }
    assert!(began.elapsed() < Duration::from_secs(4));
    assert_eq!(client.event("pty_exited").1["code"], 128 + 9);
}

// CO-41
#[test]
fn kill_all_ends_every_session() {
    let swb = Swb::start(EXE);
    let pids = ["a", "b", "c"].map(|name| swb.make(name, &["cat"]));
    swb.make("gone", &["true"]);
    wait_for("its end", || (sessions(&swb) == ["a", "b", "c"]).then_some(()));
    swb.coop().ok(&json!({"cmd": "kill", "session": "nobody looks at this", "all": true}));
    assert_eq!(swb.coop().ok(&json!({"cmd": "ls", "all": true}))["sessions"], json!([]));
    for pid in pids {
        wait_for("it to end", || (!is_alive(pid)).then_some(()));
    }
    swb.coop().ok(&json!({"cmd": "kill", "all": true}));
}

// ---- shutdown, detach ----

// CO-48
#[test]
fn shutdown_ends_the_daemon_in_order_and_no_session() {
    let mut swb = Swb::start(EXE);
    let pid = swb.make("x", &MIRROR);
    let mut attached = swb.attach("x");
    attached.until("ready\n");
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "x", "command": "cat"}));
    let mut idle = swb.coop();
    let mut client = swb.coop();
    assert_eq!(client.ask(&json!({"cmd": "shutdown"})), json!({"ok": true}));
    client.closed();
    assert_eq!(attached.to_end(), (vec![], vec![json!({"event": "detached"})]));
    assert_eq!(shell.to_end(), (vec![], vec![json!({"event": "detached"})]));
    idle.closed();
    assert!(swb.daemon().wait().unwrap().success());
    assert!(!swb.paths().coop_socket().exists());
    assert!(is_alive(pid));

    swb.start_daemon();
    assert_eq!(ptys(&swb, "x"), [0, 1]);
    let mut again = swb.attach("x");
    again.until("ready\n");
    again.type_in(b"and on");
    again.until("and on");
    // The counting of shells goes on where it was.
    let answer = swb.coop().ask(&json!({"cmd": "shell", "session": "x", "command": "cat"}));
    assert_eq!(answer, json!({"ok": true, "pty": 2}));
}

// CO-48: a client that does not read does not delay the stop.
#[test]
fn shutdown_does_not_wait_for_a_client_that_does_not_read() {
    let mut swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "while :; do echo flood flood flood flood flood flood; done"]);
    let _stuck = swb.attach("x");
    let mut reader = swb.attach("x");
    reader.until("flood");
    swb.coop().ok(&json!({"cmd": "shutdown"}));
    let (_, controls) = reader.to_end();
    assert_eq!(controls.last(), Some(&json!({"event": "detached"})));
    wait_for("the daemon to end", || swb.daemon().try_wait().unwrap());
}

// 7.3 shutdown kill
#[test]
fn shutdown_can_end_all_sessions_first() {
    let mut swb = Swb::start(EXE);
    let stubborn = ["sh", "-c", "trap '' TERM HUP; echo ready; while :; do sleep 1000; done"];
    let pids = [swb.make("a", &["cat"]), swb.make("b", &stubborn)];
    let mut client = swb.attach("b");
    client.until("ready");
    let keeper = swb.keeper_pid();
    assert_eq!(swb.coop().ask(&json!({"cmd": "shutdown", "kill": true})), json!({"ok": true}));
    let (_, controls) = client.to_end();
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 128 + 9})]);
    assert!(swb.daemon().wait().unwrap().success());
    for pid in pids.into_iter().chain([keeper]) {
        wait_for("everything to end", || (!is_alive(pid)).then_some(()));
    }
}

// 7.3 shutdown kill: jobs that outlive their session's first process are ended too.
#[test]
fn shutdown_that_kills_leaves_no_background_job_behind() {
    let mut swb = Swb::start(EXE);
    let script = "set -m; sh -c 'trap \"\" TERM HUP; echo job $$; exec sleep 1000' & wait";
    swb.make("x", &["sh", "-c", script]);
    let mut client = swb.attach("x");
    let said = String::from_utf8(client.until("\n")).unwrap();
    let job: i64 = said.trim().strip_prefix("job ").unwrap().parse().unwrap();
    swb.coop().ok(&json!({"cmd": "shutdown", "kill": true}));
    assert!(swb.daemon().wait().unwrap().success());
    wait_for("the job to end", || (!is_alive(job)).then_some(()));
}

// CO-40: a daemon that stops has finished what it was asked to end.
#[test]
fn shutdown_finishes_a_kill_that_is_under_way() {
    let mut swb = Swb::start(EXE);
    let stubborn = ["sh", "-c", "trap '' TERM HUP; echo ready; while :; do sleep 1000; done"];
    let pid = swb.make("x", &stubborn);
    swb.attach("x").until("ready");
    swb.coop().ok(&json!({"cmd": "kill", "session": "x"}));
    assert!(is_alive(pid));
    swb.coop().ok(&json!({"cmd": "shutdown"}));
    assert!(swb.daemon().wait().unwrap().success());
    wait_for("the process to end", || (!is_alive(pid)).then_some(()));
}

// CO-50
#[test]
fn detach_in_command_mode_ends_the_connection() {
    let swb = Swb::start(EXE);
    let mut client = swb.coop();
    assert_eq!(client.ask(&json!({"cmd": "detach"})), json!({"ok": true}));
    assert_eq!(client.answer(), None);
}

// ---- later commands ----

// CO-51
#[test]
fn sessionls_shows_the_terminals_of_one_session() {
    let swb = Swb::start(EXE);
    let pid = swb.make("x", &["/bin/cat"]);
    swb.make("y", &["/bin/cat"]);
    assert_eq!(
        swb.coop().ask(&json!({"cmd": "sessionls", "session": "x"})),
        json!({"ok": true, "session": "x", "ptys": [{"id": 0, "role": "agent", "command": "/bin/cat", "pid": pid}]})
    );
}

// CO-51
#[test]
fn sessionkill_ends_one_terminal() {
    let swb = Swb::start(EXE);
    let agent = swb.make("x", &["cat"]);
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "x", "command": "cat"}));
    assert_eq!(swb.coop().ask(&json!({"cmd": "sessionkill", "session": "x", "pty": 1})), json!({"ok": true}));
    assert_eq!(shell.to_end(), (vec![], vec![json!({"event": "pty_exited", "code": 128 + 15})]));
    wait_for("the shell to leave the list", || (ptys(&swb, "x") == [0]).then_some(()));
    assert!(is_alive(agent));
    assert_eq!(swb.coop().error(&json!({"cmd": "sessionkill", "session": "x", "pty": 1})), "PTY_NOT_FOUND");
    assert_eq!(swb.coop().error(&json!({"cmd": "sessionkill", "session": "x"})), "INVALID_COMMAND");

    // The agent's too, and it is not started again.
    let workspace = swb.workspace("ws");
    swb.coop().ok(
        &json!({"cmd": "create", "name": "y", "workspace": workspace, "coopfile": "[agent]\ncommand='cat'"}),
    );
    let mut client = swb.attach("y");
    swb.coop().ok(&json!({"cmd": "sessionkill", "session": "y", "pty": 0}));
    assert_eq!(client.to_end().1, [json!({"event": "pty_exited", "code": 128 + 15})]);
    wait_for("the session to end", || (sessions(&swb) == ["x"]).then_some(()));
}

// CO-51
#[test]
fn logs_return_all_old_output_or_its_last_lines() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "stty raw; printf 'one\\ntwo\\nthree\\n\\377\\n'; exec cat"]);
    swb.attach("x").until("three\n");
    let logs = |extra: Value| {
        let mut request = json!({"cmd": "logs", "session": "x", "pty": 0});
        request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = swb.coop().ok(&request);
        let keys: BTreeSet<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, BTreeSet::from(["log_data", "ok"]));
        BASE64.decode(answer["log_data"].as_str().unwrap()).unwrap()
    };
    wait_for("all output", || (logs(json!({})) == b"one\ntwo\nthree\n\xff\n").then_some(()));
    assert_eq!(logs(json!({"tail_lines": 2})), b"three\n\xff\n");
    assert_eq!(logs(json!({"tail_lines": 0})), b"");
    assert_eq!(logs(json!({"tail_lines": 99, "follow": false})), b"one\ntwo\nthree\n\xff\n");
}

// CO-51
#[test]
fn logs_that_are_too_long_for_a_frame_are_the_newest_that_fit() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "stty raw; seq -w 1 250000; printf done; exec cat"]);
    wait_for("all output", || (logs_of(&swb, "x").ends_with(b"250000\ndone")).then_some(()));
    let data = logs_of(&swb, "x");
    assert!(data.len() > 700_000, "{} bytes", data.len());
    let expected: Vec<u8> =
        (1..=250_000).flat_map(|n| format!("{n:06}\n").into_bytes()).chain(*b"done").collect();
    assert!(expected.ends_with(&data));
}

// CO-51
#[test]
fn logs_that_follow_have_no_gap() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "stty raw; while :; do seq -w 1000000 1999999; done"]);
    wait_for("a lot of output", || (logs_of(&swb, "x").len() > 500_000).then_some(()));
    for round in 0..20 {
        let mut client = swb.coop();
        let answer = client.ok(&json!({"cmd": "logs", "session": "x", "follow": true}));
        let mut data = BASE64.decode(answer["log_data"].as_str().unwrap()).unwrap();
        let seam = data.len();
        while data.len() < seam + 10_000 {
            match client.item(LIMIT) {
                Some(StreamItem::Data(bytes)) => data.extend(bytes),
                // Only a machine that gave the client no turn for long gets here.
                Some(StreamItem::Control(event)) if event["event"] == "lagged" => break,
                other => panic!("{other:?} in round {round}"),
            }
        }
        let first = data.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let lines: Vec<u32> = data[first..]
            .chunks_exact(8)
            .map(|line| std::str::from_utf8(line).unwrap().trim_end().parse().unwrap())
            .collect();
        for (at, pair) in lines.windows(2).enumerate() {
            let next = if pair[0] == 1_999_999 { 1_000_000 } else { pair[0] + 1 };
            assert_eq!(pair[1], next, "round {round}, byte {} of {seam} old ones", first + at * 8);
        }
    }
}

// CO-51
#[test]
fn logs_that_follow_take_no_input() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut typist = swb.attach("x");
    typist.until("ready\n");
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "logs", "session": "x", "follow": true}));
    client.control(&json!({"cmd": "resize", "cols": 3, "rows": 3}));
    client.type_in(b"not taken");
    client.quiet();
    typist.type_in(b"taken");
    assert_eq!(client.until("taken"), b"taken");
    assert_eq!(typist.until("taken"), b"taken");
    let item = swb.coop().ok(&json!({"cmd": "ls", "details": true}))["sessions"][0].clone();
    assert_eq!((&item["cols"], &item["rows"]), (&json!(120), &json!(40)));
    client.control(&json!({"cmd": "detach"}));
    assert_eq!(client.to_end().1, [json!({"ok": true}), json!({"event": "detached"})]);
}

// ---- helpers ----

fn sessions(swb: &Swb) -> Vec<String> {
    let list = swb.coop().ok(&json!({"cmd": "ls"}));
    list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["name"].as_str().unwrap().to_owned())
        .collect()
}

fn ptys(swb: &Swb, session: &str) -> Vec<u64> {
    let list = swb.coop().ok(&json!({"cmd": "sessionls", "session": session}));
    list["ptys"].as_array().unwrap().iter().map(|pty| pty["id"].as_u64().unwrap()).collect()
}

fn logs_of(swb: &Swb, session: &str) -> Vec<u8> {
    let mut client: CoopClient = swb.coop();
    let answer = client.ok(&json!({"cmd": "logs", "session": session}));
    BASE64.decode(answer["log_data"].as_str().unwrap()).unwrap()
}

/// The state letter of a process.
fn state(pid: i64) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}
