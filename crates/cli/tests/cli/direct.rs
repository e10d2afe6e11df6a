//! `swb attach` reading the output where the keeper writes it.

use rustix::process::Signal;
use serde_json::json;
use std::fs::File;
use std::process::Stdio;
use swb_testkit::{Swb, Terminal, is_alive, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Numbers its lines, as many as each line of its input demands.
const COUNTS: &str = "stty -echo; i=0; printf ready; while read n; do end=$((i+n)); \
                      while [ $i -lt $end ]; do i=$((i+1)); echo \"<$i>\"; done; echo \"done $i\"; done";

/// Whether a process has mapped the memory of a terminal's output.
fn reads_directly(pid: u32) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let rings: Vec<&str> = maps.lines().filter(|line| line.contains("memfd:swb-ring")).collect();
    assert!(rings.iter().all(|line| line.contains(" r--s ")), "mapped for reading only: {rings:?}");
    !rings.is_empty()
}

fn attach(swb: &Swb, arguments: &[&str]) -> Terminal {
    Terminal::start(swb.command(&[&["attach"], arguments].concat()), 80, 24)
}

/// Waits until the client reads directly.
fn until_direct(terminal: &mut Terminal) -> u32 {
    let pid = terminal.child().id();
    wait_for("a mapping of the output", || reads_directly(pid).then_some(()));
    pid
}

/// The numbers shown, in order.
fn numbers(shown: &[u8]) -> Vec<u32> {
    let text = String::from_utf8_lossy(shown).into_owned();
    let inside = text.split('<').skip(1).filter_map(|rest| rest.split_once('>'));
    inside.filter_map(|(number, _)| number.parse().ok()).collect()
}

#[test]
fn output_is_shown_while_the_daemon_stands_still() {
    let swb = Swb::start(EXE);
    let go = swb.dir().join("go");
    swb.script(
        "x",
        &format!("printf ready; until [ -e {} ]; do sleep 0.05; done; echo past-it; cat", go.display()),
    );
    let mut terminal = attach(&swb, &["x"]);
    terminal.until("ready");
    until_direct(&mut terminal);
    let daemon = swb.daemon_pid();
    signal(daemon, Signal::STOP);
    std::fs::write(&go, "").unwrap();
    terminal.until("past-it");
    // The keeper replaces a daemon that stands still for seconds; until then this one has sent nothing.
    if is_alive(daemon) {
        signal(daemon, Signal::CONT);
    }
    // And the socket still carries what is typed.
    terminal.type_in(b"typed\n");
    terminal.until("typed");
}

#[test]
fn nothing_is_lost_or_doubled_when_the_daemon_dies_in_a_flood() {
    const LINES: u32 = 60_000;
    let swb = Swb::start(EXE);
    swb.script("x", COUNTS);
    let mut terminal = attach(&swb, &["x"]);
    terminal.until("ready");
    until_direct(&mut terminal);
    terminal.forget();
    terminal.type_in(format!("{LINES}\n").as_bytes());
    terminal.until("<2000>");
    swb.kill_daemon();
    terminal.until(&format!("done {LINES}"));
    assert!(numbers(terminal.seen()).into_iter().eq(1..=LINES), "each line once, in order");
    // It reads directly again.
    until_direct(&mut terminal);
    terminal.forget();
    terminal.type_in(b"3\n");
    terminal.until(&format!("done {}", LINES + 3));
}

#[test]
fn a_client_that_stopped_reading_is_repainted_and_reads_directly_again() {
    let swb = Swb::start(EXE);
    swb.script("x", COUNTS);
    let mut terminal = attach(&swb, &["x"]);
    terminal.until("ready");
    let pid = until_direct(&mut terminal);
    terminal.type_in(b"400000\n");
    terminal.until("<10>");
    // Nothing takes its place: the program runs on.
    signal(pid.into(), Signal::STOP);
    wait_for("the end of the output", || swb.ok(&["screen", "x"]).contains("done 400000").then_some(()));
    signal(pid.into(), Signal::CONT);
    terminal.until("done 400000");
    until_direct(&mut terminal);
    terminal.forget();
    terminal.type_in(b"2\n");
    terminal.until("done 400002");
    assert_eq!(numbers(terminal.seen()), [400_001, 400_002]);
}

#[test]
fn the_end_of_a_session_comes_behind_all_of_its_output() {
    let swb = Swb::start(EXE);
    swb.script(
        "x",
        "printf ready; read n; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo \"<$i>\"; done; exit 7",
    );
    let mut terminal = attach(&swb, &["x"]);
    terminal.until("ready");
    until_direct(&mut terminal);
    terminal.type_in(b"\n");
    assert_eq!(terminal.wait(), 7);
    assert!(numbers(terminal.seen()).into_iter().eq(1..=20_000));
}

#[test]
fn more_than_a_buffer_at_once_is_shown_to_its_end() {
    // Two and a half times what the client reads at once, and less than a ring.
    const LINES: u32 = 40_000;
    let swb = Swb::start(EXE);
    swb.script("x", COUNTS);
    let file = swb.dir().join("shown");
    let mut attach = swb.command(&["attach", "x"]);
    attach.stdin(Stdio::piped()).stdout(File::create(&file).unwrap()).stderr(Stdio::null());
    let mut client = attach.spawn().unwrap();
    wait_for("a mapping of the output", || reads_directly(client.id()).then_some(()));
    // All of it is there before the client runs again, and nothing follows that would wake it once more.
    signal(client.id().into(), Signal::STOP);
    swb.ok(&["send", "x", &LINES.to_string(), "--enter"]);
    let done = format!("done {LINES}");
    swb.ok(&["wait", "x", "--text", &done]);
    signal(client.id().into(), Signal::CONT);
    wait_for("the end of the output", || std::fs::read_to_string(&file).ok()?.contains(&done).then_some(()));
    assert!(numbers(&std::fs::read(&file).unwrap()).into_iter().eq(1..=LINES));
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
fn a_client_that_declines_is_not_offered_the_memory_again() {
    let swb = Swb::start(EXE);
    swb.script("x", "printf ready; read x; echo answered; read x");
    let mut client = swb.control();
    client.ok(&json!({"cmd": "attach", "session": "x", "offsets": true, "direct": true}));
    let (_, offered) = client.event("direct");
    client.control(&json!({"cmd": "indirect", "offset": offered["offset"]}));
    client.type_in(b"\n");
    client.until("answered");
    client.type_in(b"\n");
    let (_, events) = client.to_end();
    assert!(events.iter().all(|event| event["event"] != "direct"), "{events:?}");
}

#[test]
fn watchers_do_not_get_the_memory() {
    let swb = Swb::start(EXE);
    swb.script("x", COUNTS);
    let mut watcher = attach(&swb, &["--watch", "x"]);
    let mut terminal = attach(&swb, &["x"]);
    terminal.until("ready");
    watcher.until("ready");
    until_direct(&mut terminal);
    terminal.type_in(b"3\n");
    watcher.until("done 3");
    assert!(!reads_directly(watcher.child().id()));
}

// ---- what it costs: counts, which do not depend on the machine ----

/// How often the main thread of a process has gone to sleep so far.
fn sleeps(pid: i64) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).expect("a count")
}

#[test]
fn a_key_and_its_echo_wake_each_process_a_few_times() {
    const KEYS: u64 = 100;
    let swb = Swb::start(EXE);
    swb.script("x", "stty raw -echo; printf ready; exec cat");
    let mut terminal = attach(&swb, &["x"]);
    terminal.until("ready");
    let client = until_direct(&mut terminal);
    let processes = [("daemon", swb.daemon_pid()), ("keeper", swb.keeper_pid()), ("client", client.into())];
    let before = processes.map(|(_, pid)| sleeps(pid));
    for key in 0..KEYS {
        terminal.forget();
        let letter = [b'a' + (key % 26) as u8];
        terminal.type_in(&letter);
        terminal.until(std::str::from_utf8(&letter).expect("a letter"));
    }
    for ((name, pid), before) in processes.into_iter().zip(before) {
        let each = (sleeps(pid) - before) as f64 / KEYS as f64;
        assert!(each <= 3.0, "the {name} went to sleep {each} times per key");
    }
}

#[test]
fn output_read_directly_wakes_the_daemon_for_reports_only() {
    const MEBIBYTES: u64 = 8;
    let swb = Swb::start(EXE);
    let flood = format!("head -c {} /dev/zero | tr '\\0' x", MEBIBYTES << 20);
    swb.script("x", &format!("printf ready; read n; {flood}; printf past-it; cat"));
    let mut terminal = attach(&swb, &["x"]);
    terminal.until("ready");
    until_direct(&mut terminal);
    let before = sleeps(swb.daemon_pid());
    terminal.type_in(b"\n");
    terminal.until("past-it");
    let each = (sleeps(swb.daemon_pid()) - before) as f64 / MEBIBYTES as f64;
    // A report every 64 KiB makes 16; pieces of 4 KiB would make 256.
    assert!(each <= 80.0, "the daemon went to sleep {each} times per MiB");
}
