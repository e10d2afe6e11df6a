//! The clippy front and the daemon's life cycle: start, stop, crash; and our own sessions beside those of wrappers.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use swb_testkit::{ClippyClient, ClippyItem, CoopClient, LIMIT, QUIET, Swb, keepers_in, signal, wait_for};
use swb_wire::clippy::{PeerRole, Request};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// Gives back every byte as it is.
const MIRROR: &str = "stty raw -echo; echo ready; exec cat";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a daemon that is to refuse to start; one that starts all the same is ended.
fn refusal(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    output
}

fn configure(swb: &Swb, text: &str) {
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn front(swb: &Swb) -> Value {
    let status = swb.status();
    let dialects = status["dialects"].as_array().unwrap();
    dialects.iter().find(|dialect| dialect["name"] == "clippy").unwrap().clone()
}

/// All sockets below a directory.
fn sockets(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let output = Command::new("find").arg(dir).args(["-type", "s"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(Into::into).collect()
}

/// Puts `content` into the relay buffer.
fn capture(swb: &Swb, content: &[u8]) -> ClippyClient {
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    wrapper.register("source of it");
    wrapper.turn("source of it", content);
    wrapper.ok(&Request::Capture { session: "source of it" });
    wrapper
}

// CB-1, CB-4, CB-5, CB-6, CB-58
#[test]
fn the_socket_is_private_and_the_only_one() {
    let mut swb = Swb::new(EXE);
    let dir = swb.dir().join("r/clippy");
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    swb.start_daemon();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&dir.join("broker.sock"))), (0o700, 0o600));
    assert_eq!(front(&swb)["socket"], dir.join("broker.sock").to_str().unwrap());
    assert_eq!(front(&swb)["state"], "listening");
    let pid = swb.daemon_pid();
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let links: Vec<_> = links.filter_map(|entry| entry.path().read_link().ok()).collect();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let table = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in table.lines().skip(1) {
            let inode = line.split_whitespace().nth(9).unwrap();
            let ours = format!("socket:[{inode}]");
            assert!(!links.iter().any(|link| link.to_string_lossy() == ours), "{line}");
        }
    }
    // Nothing but the greeting is asked for.
    assert_eq!(swb.clippy(PeerRole::Client).sessions(), []);
}

// CB-2, CB-3, XS-1
#[test]
fn an_explicitly_started_daemon_requires_a_runtime_directory() {
    for runtime in [None, Some("")] {
        let swb = Swb::new(EXE);
        let mut command = swb.command(&["daemon"]);
        command.env("TMPDIR", swb.dir());
        match runtime {
            Some(runtime) => command.env("XDG_RUNTIME_DIR", runtime),
            None => command.env_remove("XDG_RUNTIME_DIR"),
        };
        let output = refusal(command);
        assert!(said(&output).contains("XDG_RUNTIME_DIR"), "{}", said(&output));
        assert_eq!(sockets(swb.dir()), Vec::<std::path::PathBuf>::new());
        assert_eq!(keepers_in(swb.dir()), Vec::<i64>::new());
    }
}

// XS-1: one that another command starts does without, and reports that there and in the status.
#[test]
fn an_automatically_started_daemon_needs_no_runtime_directory() {
    let swb = Swb::new(EXE);
    let without = |args: &[&str]| {
        let mut command = swb.command(args);
        command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", swb.dir()).output().unwrap()
    };
    let run = without(&["run", "-d", "-n", "one", "--", "cat"]);
    let status = without(&["status", "--json"]);
    let again = without(&["ls"]);
    let ended = without(&["shutdown", "--kill"]);
    assert!(run.status.success() && ended.status.success(), "{}", said(&run));
    assert!(said(&run).contains("clippy") && said(&run).contains("XDG_RUNTIME_DIR"), "{}", said(&run));
    assert_eq!(said(&again), "", "once is enough");
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let clippy = status["dialects"].as_array().unwrap().iter().find(|d| d["name"] == "clippy").unwrap();
    assert!(clippy.to_string().contains("XDG_RUNTIME_DIR is not set"), "{clippy}");
    assert!(status["warnings"].to_string().contains("XDG_RUNTIME_DIR"), "{status}");
    assert!(!swb.dir().join("clippy").exists() && !swb.dir().join("r/clippy").exists());
}

// XS-1
#[test]
fn the_front_can_be_switched_off() {
    let mut swb = Swb::new(EXE);
    configure(&swb, "[clippy]\nenabled = false\n");
    swb.start_daemon();
    assert_eq!(front(&swb)["state"], "off");
    assert!(!swb.paths().clippy_socket().unwrap().exists());
}

// CB-53
#[test]
fn a_stale_socket_is_replaced() {
    let mut swb = Swb::new(EXE);
    let socket = swb.paths().clippy_socket().unwrap();
    std::fs::create_dir(socket.parent().unwrap()).unwrap();
    drop(UnixListener::bind(&socket).unwrap());
    swb.start_daemon();
    assert_eq!(swb.clippy(PeerRole::Client).sessions(), []);
}

// CB-54, XS-1
#[test]
fn a_live_broker_keeps_its_socket() {
    let swb = Swb::new(EXE);
    let socket = swb.paths().clippy_socket().unwrap();
    std::fs::create_dir(socket.parent().unwrap()).unwrap();
    let other = UnixListener::bind(&socket).unwrap();
    let output = refusal(swb.command(&["daemon"]));
    assert!(said(&output).contains("already running"), "{}", said(&output));
    // One that a command starts by itself does without.
    let run = swb.run(&["run", "-d", "-n", "one", "--", "cat"]);
    assert!(run.status.success() && said(&run).contains("already running"), "{}", said(&run));
    let state = front(&swb)["state"].as_str().unwrap().to_owned();
    assert!(state.starts_with("failed") && state.contains("already running"), "{state}");
    swb.ok(&["shutdown", "--kill"]);
    assert!(socket.exists());
    other.set_nonblocking(true).unwrap();
    // Both have only checked whether a broker is there.
    while let Ok((mut stream, _)) = other.accept() {
        let mut byte = [0];
        assert_eq!(std::io::Read::read(&mut stream, &mut byte).unwrap(), 0);
    }
}

// CB-54: our own daemon is a live broker, too.
#[test]
fn a_second_daemon_does_not_start() {
    let swb = Swb::start(EXE);
    let mut client = swb.clippy(PeerRole::Wrapper);
    client.register("s");
    let output = refusal(swb.command(&["daemon"]));
    assert!(said(&output).contains("already running"), "{}", said(&output));
    assert_eq!(client.sessions().len(), 1);
    assert_eq!(swb.clippy(PeerRole::Client).sessions().len(), 1);
}

// CB-56, CB-57
#[test]
fn signals_end_the_broker_and_remove_its_files() {
    for how in [Signal::TERM, Signal::INT] {
        let mut swb = Swb::start(EXE);
        let socket = swb.paths().clippy_socket().unwrap();
        let mut wrapper = capture(&swb, b"secret-4711");
        let mut silent = swb.clippy_raw();
        // One that has never read anything.
        let mut deaf = swb.clippy(PeerRole::Client);
        deaf.send_raw(&vec![0; 1 << 20]);
        // A session of ours keeps the keeper.
        swb.script("ours", "exec cat");
        let began = Instant::now();
        signal(swb.daemon_pid(), how);
        assert_eq!(swb.daemon().wait().unwrap().code(), Some(0));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        wrapper.closed();
        silent.closed();
        assert!(!socket.exists());
        swb.start_daemon();
        let mut client = swb.clippy(PeerRole::Client);
        assert_eq!(client.refused(&Request::Paste { session: "ours" }), "buffer_empty");
        let sessions: Vec<_> = client.sessions().into_iter().map(|(name, ..)| name).collect();
        assert_eq!(sessions, ["ours"]);
    }
}

// CB-57, XS-8, XS-13
#[test]
fn turns_are_never_written_to_disk_or_logs() {
    let mut swb = Swb::new(EXE);
    configure(&swb, "[daemon]\nlog_level = \"trace\"\n");
    swb.start_daemon();
    let secret = "turn-secret-4711";
    swb.script("ours", MIRROR);
    let mut wrapper = capture(&swb, secret.as_bytes());
    wrapper.ok(&Request::Paste { session: "ours" });
    wrapper.send_raw(format!("\0\0\0\u{10}{secret}").as_bytes());
    wrapper.closed();
    swb.kill_daemon();
    swb.clippy(PeerRole::Client).ok(&Request::Paste { session: "ours" });
    swb.ok(&["shutdown", "--kill"]);
    let found = Command::new("grep").args(["-rl", secret]).arg(swb.dir()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

// XS-14, CB-57: after a crash the buffer is there, connects have waited, and wrappers can come back.
#[test]
fn a_crash_loses_only_connections() {
    let swb = Swb::start(EXE);
    swb.script("ours", MIRROR);
    swb.attach("ours").until("ready");
    let long: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    let mut wrapper = capture(&swb, &long);
    for round in 0..3 {
        swb.kill_daemon();
        wrapper.closed();
        // The name is free, and numbers begin anew, as the wrapper's session does.
        wrapper = swb.clippy(PeerRole::Wrapper);
        wrapper.register("source of it");
        assert_eq!(wrapper.turn("source of it", b"kept"), "source of it:1");
        wrapper.send(9, &Request::Paste { session: "source of it" });
        assert!(wrapper.injected() == long, "round {round}");
        assert_eq!(wrapper.answer().error, None);
    }
    wrapper.ok(&Request::Capture { session: "source of it" });
    let mut ours = swb.attach("ours");
    wrapper.ok(&Request::Paste { session: "ours" });
    ours.until("kept");
}

// XS-14: whenever it dies, what is in the buffer is whole, and no older than what was last reported to be there.
#[test]
fn a_crash_at_any_moment_leaves_a_whole_turn() {
    let swb = Swb::start(EXE);
    // A keeper without any session would give up after some deaths in a row.
    swb.script("ours", "exec cat");
    let pieces = |n: u32| n.to_be_bytes().repeat(1000 + n as usize * 37 % 90_000);
    let mut said = 0;
    for round in 0..12 {
        let mut wrapper = swb.clippy(PeerRole::Wrapper);
        wrapper.register("s");
        if round > 0 {
            wrapper.send(1, &Request::Paste { session: "s" });
            let content = wrapper.injected();
            let n = u32::from_be_bytes(*content.first_chunk().unwrap());
            assert!(content == pieces(n), "round {round}");
            assert!((said..=said + 1).contains(&n), "{n} after {said}");
            said = n;
            assert_eq!(wrapper.answer().error, None);
        }
        let daemon = swb.daemon_pid();
        let killer = std::thread::spawn(move || {
            std::thread::park_timeout(Duration::from_millis(30 + round * 17));
            signal(daemon, Signal::KILL);
        });
        // Until it dies.
        loop {
            let content = pieces(said + 1);
            let content = content.as_slice();
            let turn = Request::TurnCompleted {
                session: "s",
                content,
                interrupted: false,
                timestamp: None,
                byte_length: None,
            };
            wrapper.send(1, &turn);
            wrapper.send(2, &Request::Capture { session: "s" });
            let mut answered =
                || matches!(wrapper.item(LIMIT), Some(ClippyItem::Answer(answer)) if answer.error.is_none());
            if !answered() || !answered() {
                break;
            }
            said += 1;
        }
        killer.join().unwrap();
        wait_for("the next daemon", || swb.try_status().filter(|status| status["daemon"]["pid"] != daemon));
    }
    assert!(said > 12, "{said}");
}

// XS-14: the program can be replaced under it.
#[test]
fn an_upgrade_keeps_the_buffer() {
    let swb = Swb::start(EXE);
    let wrapper = capture(&swb, b"kept over an upgrade");
    swb.ok(&["upgrade"]);
    drop(wrapper);
    let mut other = swb.clippy(PeerRole::Wrapper);
    other.register("t");
    other.send(9, &Request::Paste { session: "t" });
    assert_eq!(other.injected(), b"kept over an upgrade");
}

// XS-2: one name space.
#[test]
fn names_in_use_are_refused_on_both_sides() {
    let swb = Swb::start(EXE);
    swb.script("ours", "exec cat");
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    let register = |session| Request::Register { session, pid: 1, pattern: "" };
    assert_eq!(wrapper.refused(&register("ours")), "duplicate_session");
    wrapper.register("theirs");
    let create = json!({"cmd": "create", "name": "theirs", "workspace": swb.workspace(""), "argv": ["cat"]});
    assert_eq!(swb.coop().error(&create), "SESSION_EXISTS");
    let run = swb.run(&["run", "-d", "-n", "theirs", "--", "cat"]);
    assert!(!run.status.success());
    // Theirs end in their way and ours in ours.
    wrapper.ok(&Request::Deregister { session: "ours" });
    assert_eq!(wrapper.sessions().len(), 2);
    let turn = Request::TurnCompleted {
        session: "ours",
        content: b"x",
        interrupted: false,
        timestamp: None,
        byte_length: None,
    };
    assert_eq!(wrapper.refused(&turn), "session_not_found");
    swb.ok(&["kill", "ours"]);
    wrapper.register("ours");
    drop(wrapper);
    wait_for("the name", || {
        swb.run(&["run", "-d", "-n", "theirs", "--", "cat"]).status.success().then_some(())
    });
}

// XS-3, CB-40: sessions of ours are there by themselves, unless they are hidden.
#[test]
fn our_sessions_are_listed_and_can_be_pasted_to() {
    let swb = Swb::start(EXE);
    let pid = swb.script("ours", MIRROR);
    let create = json!({"cmd": "create", "name": "hidden", "workspace": swb.workspace(""), "argv": ["cat"],
        "hide": ["clippy"]});
    swb.control().ok(&create);
    let mut client = swb.clippy(PeerRole::Client);
    assert_eq!(client.sessions(), [("ours".into(), pid as u32, false)]);
    assert_eq!(client.refused(&Request::Capture { session: "ours" }), "no_turn");
    assert_eq!(client.refused(&Request::Capture { session: "hidden" }), "session_not_found");
    let turns = client.ok(&Request::ListTurns { session: "ours", limit: None }).turns;
    assert_eq!(turns, Some(vec![]));
    let mut ours = swb.attach("ours");
    ours.until("ready");
    let content: Vec<u8> = (0..=255).cycle().take(50_000).collect();
    let _wrapper = capture(&swb, &content);
    assert_eq!(client.refused(&Request::Paste { session: "hidden" }), "session_not_found");
    // CT-18: byte for byte, and whole among what others type.
    client.ok(&Request::Paste { session: "ours" });
    ours.type_in(b"<typed>");
    let got = ours.until("<typed>");
    let got = got.strip_prefix(b"\r\n").or(got.strip_prefix(b"\n")).unwrap_or(&got);
    assert_eq!(got.len(), content.len() + 7);
    assert!(got[..content.len()] == content);
    swb.ok(&["kill", "ours"]);
    assert_eq!(client.refused(&Request::Paste { session: "ours" }), "session_not_found");
}

/// A shell of ours.
fn shell(swb: &Swb) -> CoopClient {
    let argv = ["bash", "--norc", "--noprofile", "-i"];
    let create = json!({"cmd": "create", "name": "shell", "workspace": swb.workspace(""), "argv": argv,
        "env": {"PATH": "/usr/bin:/bin", "PS1": "$ ", "TERM": "xterm-256color"}});
    swb.control().ok(&create);
    let mut shell = swb.attach("shell");
    shell.until("$ ");
    shell
}

/// Lets it say `word` until the turn with that number is there. How well turns are found is tested elsewhere.
fn say(shell: &mut CoopClient, client: &mut ClippyClient, word: &str, turn: usize) -> Vec<u8> {
    // In other words than it is asked for, so that it is not found in the echo.
    let (front, back) = word.split_at(3);
    let turn_id = format!("shell:{turn}");
    wait_for("the turn", || {
        shell.type_in(format!("echo {front}''{back}\r").as_bytes());
        shell.until(word);
        let end = Instant::now() + Duration::from_secs(3);
        loop {
            let found = client.ask(&Request::GetTurn { turn_id: &turn_id }).content;
            if found.is_some() || Instant::now() > end {
                return found;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    })
}

// XS-3, XS-14, CB-57, CR-4: turns of our own sessions can be captured, and are there after a crash.
#[test]
fn turns_of_our_sessions_survive_a_crash() {
    let mut swb = Swb::start(EXE);
    let mut terminal = shell(&swb);
    let mut client = swb.clippy(PeerRole::Client);
    let contents = [
        say(&mut terminal, &mut client, "first-answer", 1),
        say(&mut terminal, &mut client, "second-answer", 2),
    ];
    assert!(String::from_utf8_lossy(&contents[0]).trim().ends_with("first-answer"), "{contents:?}");
    let list =
        |client: &mut ClippyClient| client.ok(&Request::ListTurns { session: "shell", limit: None }).turns;
    let before = list(&mut client).unwrap();
    swb.kill_daemon();
    let mut client = swb.clippy(PeerRole::Client);
    let after = list(&mut client).unwrap();
    assert_eq!(after[after.len() - before.len()..], before);
    for (n, content) in contents.iter().enumerate() {
        let turn_id = format!("shell:{}", n + 1);
        assert_eq!(client.ok(&Request::GetTurn { turn_id: &turn_id }).content.as_ref(), Some(content));
    }
    assert_eq!(client.sessions().iter().map(|session| session.2).collect::<Vec<_>>(), [true]);
    // Numbers go on.
    let mut terminal = swb.attach("shell");
    say(&mut terminal, &mut client, "third-answer", after.len() + 1);
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    wrapper.register("w");
    client.ok(&Request::Capture { session: "shell" });
    client.ok(&Request::Paste { session: "w" });
    assert!(String::from_utf8_lossy(&wrapper.injected()).trim().ends_with("third-answer"));
    // An orderly stop leaves none of it.
    signal(swb.daemon_pid(), Signal::TERM);
    client.closed();
    wait_for("its end", || swb.try_status().is_none().then_some(()));
    swb.start_daemon();
    let mut client = swb.clippy(PeerRole::Client);
    assert_eq!(client.refused(&Request::Paste { session: "shell" }), "buffer_empty");
    let turn_id = format!("shell:{}", after.len() + 1);
    assert_eq!(client.refused(&Request::GetTurn { turn_id: &turn_id }), "turn_not_found");
    // Nor is it found again in the output that is still there.
    let mut terminal = swb.attach("shell");
    say(&mut terminal, &mut client, "fresh-answer", 1);
}

// CB-35, CB-36, CR-11: the turns of a session of ours end with it, and what was captured does not.
#[test]
fn turns_of_our_sessions_end_with_them() {
    let swb = Swb::start(EXE);
    let mut shell = shell(&swb);
    let mut client = swb.clippy(PeerRole::Client);
    say(&mut shell, &mut client, "an-answer", 1);
    client.ok(&Request::Capture { session: "shell" });
    shell.type_in(b"exit\r");
    wait_for("its end", || client.sessions().is_empty().then_some(()));
    assert_eq!(client.refused(&Request::GetTurn { turn_id: "shell:1" }), "turn_not_found");
    assert_eq!(client.refused(&Request::Capture { session: "shell" }), "session_not_found");
    // Another one of that name begins anew.
    swb.script("shell", MIRROR);
    let mut shell = swb.attach("shell");
    shell.until("ready");
    assert_eq!(client.refused(&Request::Capture { session: "shell" }), "no_turn");
    client.ok(&Request::Paste { session: "shell" });
    shell.until("an-answer");
}

// CB-47, CB-59: a program that does not read its input delays no client, and what waits for it is bounded.
#[test]
fn a_program_that_does_not_read_delays_no_client() {
    let swb = Swb::start(EXE);
    swb.script("stuck", "stty raw -echo; echo ready; exec sleep 1000");
    swb.script("ours", MIRROR);
    let mut stuck = swb.attach("stuck");
    stuck.until("ready");
    let mut ours = swb.attach("ours");
    ours.until("ready");
    let mut wrapper = capture(&swb, &vec![b'x'; 4 << 20]);
    let reason = (0..20).find_map(|_| wrapper.ask(&Request::Paste { session: "stuck" }).error);
    assert_eq!(reason.as_deref(), Some("session_busy"));
    wrapper.turn("source of it", b"short");
    let mut client = swb.clippy(PeerRole::Client);
    client.ok(&Request::Capture { session: "source of it" });
    client.ok(&Request::Paste { session: "ours" });
    ours.until("short");
    swb.ok(&["kill", "stuck"]);
    assert_eq!(client.refused(&Request::Paste { session: "stuck" }), "session_not_found");
}

// CB-55
#[test]
fn the_broker_stays_without_clients() {
    let mut swb = Swb::start(EXE);
    drop(swb.clippy(PeerRole::Client));
    std::thread::park_timeout(QUIET);
    assert!(swb.daemon().try_wait().unwrap().is_none());
    assert!(LIMIT > QUIET);
    assert_eq!(swb.clippy(PeerRole::Client).sessions(), []);
}
