//! `swb wrap` and the broker: registration, turns, pastes, and brokers that are late, stuck, dying or misbehaving.

use crate::support::broker::{Broker, Peer, Said};
use rustix::process::Signal;
use std::collections::HashSet;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use swb_testkit::{QUIET, Swb, Terminal, children, wait_for};
use swb_wire::clippy::{Message, Reason, Response};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Answers each line; `quiet` gets no answer but a prompt, `exit` ends it.
const AGENT: &str = r#"stty -echo; printf 'agent> '
    while IFS= read -r line; do
        [ "$line" = exit ] && exit 5
        [ "$line" = quiet ] || printf 'you said \033[1m%s\033[0m, it seems\n' "$line"
        printf 'agent> '
    done"#;

fn wrap(swb: &Swb, args: &[&str], script: &str) -> Command {
    swb.command(&[&["wrap"], args, &["--", "/bin/sh", "-c", script]].concat())
}

fn start(swb: &Swb, script: &str) -> Terminal {
    Terminal::start(wrap(swb, &[], script), 80, 24)
}

/// Waits for the prompt, and until it is one: nothing follows it for a while (CT-8).
#[track_caller]
fn prompt(terminal: &mut Terminal) {
    terminal.until("agent> ");
    terminal.forget();
    std::thread::park_timeout(Duration::from_millis(300));
}

/// Types a line and waits for the prompt behind the answer.
#[track_caller]
fn type_line(terminal: &mut Terminal, line: &str) {
    terminal.type_in(format!("{line}\r").as_bytes());
    prompt(terminal);
}

/// The content of the turn that answers a line.
fn answer(line: &str) -> Vec<u8> {
    format!("you said \x1b[1m{line}\x1b[0m, it seems\r\n").into_bytes()
}

// CP-14
#[test]
fn the_wrapper_greets_and_registers() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = Terminal::start(wrap(&swb, &["--pattern", r"agent> $"], AGENT), 80, 24);
    let (_peer, registered) = broker.registered();
    let command = wait_for("the command", || children(i64::from(terminal.child().id())).first().copied());
    assert_eq!(i64::from(registered.pid), command);
    assert_eq!(registered.pattern, r"agent> $");
    prompt(&mut terminal);
}

// CP-13
#[test]
fn every_run_has_an_id_of_its_own() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut seen = HashSet::new();
    for _ in 0..10 {
        let mut child =
            wrap(&swb, &[], "read x").stdin(std::process::Stdio::piped()).spawn().expect("it runs");
        let (_peer, registered) = broker.registered();
        assert!(registered.session.len() >= 32, "{registered:?}");
        assert_eq!(registered.pattern, "generic");
        assert!(seen.insert(registered.session));
        child.kill().expect("a child");
        child.wait().expect("a child");
    }
}

// CP-18, CT-10, CT-11, CT-13, CT-15, CT-19
#[test]
fn each_turn_is_sent_with_its_bytes() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, AGENT);
    let (mut peer, registered) = broker.registered();
    prompt(&mut terminal);
    for line in ["one", "two", "\u{fc}ber"] {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis();
        type_line(&mut terminal, line);
        let turn = peer.turn();
        assert_eq!(turn.content, answer(line));
        assert_eq!((turn.session, turn.interrupted), (registered.session.clone(), false));
        assert_eq!(turn.byte_length, None);
        let at = u128::from(turn.timestamp.expect("a time"));
        assert!((before..before + 60_000).contains(&at), "{at} is not after {before}");
    }
    // CT-12: a prompt alone is no turn.
    type_line(&mut terminal, "quiet");
    assert_eq!(peer.within(QUIET), None);
}

// CT-8, Q-16
#[test]
fn a_prompt_on_a_complete_line_ends_a_turn() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let script = r#"stty -echo; echo 'READY>'
        while IFS= read -r line; do printf 'READY> is output\nyou said %s\n' "$line"; echo 'READY>'; done"#;
    let mut terminal = Terminal::start(wrap(&swb, &["--pattern", "^READY>"], script), 80, 24);
    let (mut peer, _registered) = broker.registered();
    terminal.until("READY>\r\n");
    for line in ["one", "two"] {
        terminal.forget();
        std::thread::park_timeout(Duration::from_millis(300));
        terminal.type_in(format!("{line}\r").as_bytes());
        terminal.until(&format!("you said {line}\r\nREADY>\r\n"));
        assert_eq!(peer.turn().content, format!("READY> is output\r\nyou said {line}\r\n").into_bytes());
    }
}

// CP-18, CT-17: by key and by signal.
#[test]
fn an_interrupted_turn_is_marked() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let script = r#"stty -echo; trap 'printf "stopped\nagent> "' INT; printf 'agent> '
        while :; do IFS= read -r line && printf 'busy\n'; done"#;
    let mut terminal = start(&swb, script);
    let (mut peer, _) = broker.registered();
    prompt(&mut terminal);
    terminal.type_in(b"work\r");
    terminal.until("busy");
    terminal.type_in(b"\x03");
    let turn = peer.turn();
    assert!(turn.interrupted, "{turn:?}");
    terminal.forget();
    terminal.type_in(b"work\r");
    terminal.until("busy");
    terminal.signal(Signal::INT);
    assert!(peer.turn().interrupted);
}

// CP-15, CP-16, CP-17
#[test]
fn a_broker_that_comes_late_gets_the_latest_turn_and_so_does_the_next_one() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, AGENT);
    prompt(&mut terminal);
    type_line(&mut terminal, "first");
    type_line(&mut terminal, "second");
    // Nothing happens in the session from here on: the wrapper comes by itself.
    std::thread::park_timeout(QUIET);
    let broker = Broker::listen(&swb);
    let waited = Instant::now();
    let (mut peer, registered) = broker.registered();
    assert!(waited.elapsed() < Duration::from_secs(6), "a try every 5 s at least");
    assert_eq!(peer.turn().content, answer("second"));
    assert_eq!(peer.within(QUIET), None, "one turn and no more");

    drop((peer, broker));
    type_line(&mut terminal, "third");
    let broker = Broker::listen(&swb);
    let (mut peer, again) = broker.registered();
    assert_eq!(again, registered);
    assert_eq!(peer.turn().content, answer("third"));
    // Also when nothing has happened in between: the new one knows nothing.
    drop((peer, broker));
    let broker = Broker::listen(&swb);
    let (mut peer, again) = broker.registered();
    assert_eq!(again, registered);
    assert_eq!(peer.turn().content, answer("third"));
}

// CP-16: a broker that still has the old registration refuses once; the wrapper comes back.
#[test]
fn a_rejected_registration_is_retried() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, AGENT);
    let mut peer = broker.accept();
    peer.greet("wrapper");
    let Said::Register { id, registered } = peer.hear() else { panic!("no registration") };
    peer.send(&Message::Response(Response::error(id, Reason::DuplicateSession)));
    let (_peer, again) = broker.registered();
    assert_eq!(again, registered);
    prompt(&mut terminal);
}

// CP-19
#[test]
fn injected_bytes_reach_the_command_unchanged_and_in_order() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, r"stty raw -echo; printf 'ready\r\n'; exec od -An -v -tu1 -w1");
    let (mut peer, _) = broker.registered();
    terminal.until("ready\r\n");
    terminal.forget();
    let all: Vec<u8> = (0..=255).collect();
    peer.inject(&all);
    peer.inject(b"");
    peer.inject(b"ZA");
    let want: Vec<u8> = [&all[..], b"ZAYBXC"].concat();
    let decimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:4}\n")).collect::<String>();
    terminal.until(&decimal(b"ZA"));
    terminal.type_in(b"YB");
    terminal.until(&decimal(b"YB"));
    peer.inject(b"XC");
    terminal.until(&decimal(b"XC"));
    assert_eq!(String::from_utf8_lossy(terminal.seen()), decimal(&want));
}

// CP-19: messages are not torn apart by keys typed meanwhile, also when they are longer than a terminal holds.
#[test]
fn a_long_paste_stays_whole() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let script = "stty raw -echo; printf ready; sleep 0.5; head -c 1000001 | tr -d k | cksum; printf done";
    let mut terminal = start(&swb, script);
    let (mut peer, _) = broker.registered();
    terminal.until("ready");
    let paste: Vec<u8> = (0..1_000_000_u32).map(|i| b"abcdefghij"[(i % 7) as usize]).collect();
    peer.inject(&paste);
    terminal.type_in(b"k");
    terminal.until("done");
    std::fs::write(swb.dir().join("paste"), &paste).expect("a file");
    let sum =
        Command::new("cksum").stdin(std::fs::File::open(swb.dir().join("paste")).expect("a file")).output();
    let sum = String::from_utf8_lossy(&sum.expect("it runs").stdout).trim().to_owned();
    let shown = String::from_utf8_lossy(terminal.seen()).into_owned();
    assert!(shown.contains(&sum), "{shown:?} is not {sum:?}");
}

// CP-20
#[test]
fn an_injected_line_makes_a_turn() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, AGENT);
    let (mut peer, _) = broker.registered();
    prompt(&mut terminal);
    peer.inject(b"pasted\r");
    let turn = peer.turn();
    assert_eq!((turn.content, turn.interrupted), (answer("pasted"), false));
}

// CP-21
#[test]
fn the_end_is_reported_before_the_wrapper_exits() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, AGENT);
    let (mut peer, registered) = broker.registered();
    prompt(&mut terminal);
    terminal.type_in(b"exit\r");
    let Said::Deregister { id, session } = peer.hear() else { panic!("no farewell") };
    assert_eq!(session, registered.session);
    peer.ok(id);
    assert_eq!(peer.hear(), Said::End);
    assert_eq!(terminal.wait(), 5);
    terminal.assert_modes_restored();
}

// CP-21, CP-24
#[test]
fn a_terminated_wrapper_sends_goodbye_too() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, AGENT);
    let (mut peer, registered) = broker.registered();
    prompt(&mut terminal);
    terminal.signal(Signal::TERM);
    let Said::Deregister { session, .. } = peer.hear() else { panic!("no farewell") };
    assert_eq!(session, registered.session);
    // Without an answer it does not wait for long.
    assert_eq!(terminal.wait(), 143);
}

/// The middle of the times that keys took to be shown.
fn echo_time(terminal: &mut Terminal) -> Duration {
    let mut times: Vec<Duration> = (0..50)
        .map(|i| {
            let key = char::from(b'a' + i % 26);
            terminal.forget();
            let start = Instant::now();
            terminal.type_in(key.to_string().as_bytes());
            terminal.until(&key.to_string());
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

// CP-5
#[test]
fn a_broker_that_never_answers_delays_nothing() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, "stty raw -echo; printf ready; exec cat");
    let mut peer = broker.accept();
    assert!(matches!(peer.hear(), Said::Hello { .. }));
    terminal.until("ready");
    let middle = echo_time(&mut terminal);
    assert!(middle < Duration::from_millis(100), "{middle:?}");
}

// CP-5: it does not even accept, and its queue is full.
#[test]
fn a_broker_that_never_accepts_delays_nothing() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let path = swb.paths().clippy_socket().expect("a runtime directory");
    // Until one would have to wait.
    let mut queue = Vec::new();
    for _ in 0..5000 {
        let socket = rustix::net::socket_with(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::STREAM,
            rustix::net::SocketFlags::NONBLOCK | rustix::net::SocketFlags::CLOEXEC,
            None,
        )
        .expect("a socket");
        let address = rustix::net::SocketAddrUnix::new(&path).expect("an address");
        if rustix::net::connect(&socket, &address).is_err() {
            break;
        }
        queue.push(socket);
    }
    assert!(queue.len() < 5000, "the queue has an end");
    let mut terminal = start(&swb, "stty raw -echo; printf ready; exec cat");
    terminal.until("ready");
    let middle = echo_time(&mut terminal);
    assert!(middle < Duration::from_millis(100), "{middle:?}");
    drop(broker);
}

// CP-5, CP-28: turns pile up at a broker that reads nothing; the user does not notice and memory stays bounded.
#[test]
fn a_broker_that_never_reads_costs_little() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let script = r#"stty -echo; printf 'agent> '
        while IFS= read -r line; do head -c 6000000 /dev/zero | tr '\0' 'x'; printf '\nagent> '; done"#;
    let mut terminal = start(&swb, script);
    let (peer, _) = broker.registered();
    prompt(&mut terminal);
    for _ in 0..8 {
        type_line(&mut terminal, "more");
    }
    let rss = rss_kib(terminal.child().id());
    assert!(rss < 150 * 1024, "{rss} KiB");
    drop(peer);
}

// CP-5, CP-19: pastes that the command does not read wait with the broker, not with us.
#[test]
fn a_broker_that_floods_is_held_back() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, "stty raw -echo; while :; do printf tick; sleep 0.1; done");
    let (mut peer, _) = broker.registered();
    terminal.until("tick");
    peer.stream.set_write_timeout(Some(QUIET)).expect("a socket");
    let mut frame = Vec::new();
    let paste = vec![b'x'; 1024 * 1024];
    swb_wire::clippy::encode_message(&Message::Inject { content: &paste }, &mut frame).expect("it fits");
    let taken = (0..200).take_while(|_| peer.stream.write_all(&frame).is_ok()).count();
    assert!(taken < 50, "{taken} MiB");
    let rss = rss_kib(terminal.child().id());
    assert!(rss < 64 * 1024, "{rss} KiB");
    terminal.forget();
    terminal.until("tick");
}

fn rss_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("a size");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

// CP-28
#[test]
fn endless_output_does_not_fill_the_memory() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let script = r#"stty raw -echo; printf 'agent> '; head -c 1 >/dev/null
        head -c 100000000 /dev/zero | tr '\0' 'x'; printf '\r\nagent> '; head -c 1 >/dev/null"#;
    let mut command = wrap(&swb, &["--max-turn", "1000000"], script);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it runs");
    let (mut peer, _) = broker.registered();
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut first = [0; 7];
    std::io::Read::read_exact(&mut stdout, &mut first).expect("a prompt");
    stdin.write_all(b"\r").expect("it reads");
    let reader = std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    let turn = peer.turn();
    assert_eq!((turn.content.len(), turn.byte_length), (1_000_000, Some(100_000_002)));
    let rss = rss_kib(child.id());
    assert!(rss < 64 * 1024, "{rss} KiB");
    stdin.write_all(b"x").expect("it reads");
    assert!(child.wait().expect("a child").success());
    assert!(reader.join().expect("a reader").is_ok());
}

/// A broker that sends `words` instead of a reply; the wrapper must come back to a better one and go on.
#[track_caller]
fn survives(words: &[u8], register_first: bool) {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, AGENT);
    let mut peer: Peer = broker.accept();
    if register_first {
        peer.register();
    }
    peer.stream.write_all(words).expect("it listens");
    drop(peer);
    prompt(&mut terminal);
    let (mut peer, _) = broker.registered();
    type_line(&mut terminal, "still here");
    assert_eq!(peer.turn().content, answer("still here"));
}

#[test]
fn a_broker_that_dies_in_mid_message_is_survived() {
    survives(b"\0\0\x10\0\x83", true);
    survives(b"", false);
}

#[test]
fn invalid_broker_messages_do_not_end_the_wrapper() {
    survives(b"\xff\xff\xff\xff", false);
    survives(b"HTTP/1.1 400 Bad Request\r\n\r\n", true);
    survives(b"\0\0\0\x01\xc1", true);
}

// CP-5: a broker that closes every connection at once is not tried without pause.
#[test]
fn reconnects_to_a_failing_broker_are_limited() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut terminal = start(&swb, AGENT);
    prompt(&mut terminal);
    let end = Instant::now() + Duration::from_secs(3);
    let mut count = 0;
    while Instant::now() < end {
        count += usize::from(broker.try_accept().is_some());
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert!((1..10).contains(&count), "{count} times in 3 s");
    type_line(&mut terminal, "still here");
}

// CP-15: no runtime directory, no broker, no trouble.
#[test]
fn without_a_runtime_directory_the_command_runs() {
    let swb = Swb::new(EXE);
    for empty in [true, false] {
        let mut command = wrap(&swb, &[], AGENT);
        if empty {
            command.env("XDG_RUNTIME_DIR", "");
        } else {
            command.env_remove("XDG_RUNTIME_DIR").env_remove("HOME");
        }
        let mut terminal = Terminal::start(command, 80, 24);
        prompt(&mut terminal);
        type_line(&mut terminal, "hello");
        terminal.type_in(b"exit\r");
        assert_eq!(terminal.wait(), 5);
    }
}

// CT-6, CT-8, CT-14: a shell with echo and a coloured prompt.
#[test]
fn the_output_of_a_real_shell_is_a_turn() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let mut command = swb.command(&["wrap", "--", "/bin/sh", "-i"]);
    command.env("PS1", "\u{1b}[32mhost\u{1b}[0m$ ");
    let mut terminal = Terminal::start(command, 80, 24);
    let (mut peer, _) = broker.registered();
    terminal.until("$ ");
    terminal.type_in(b"printf 'a\\nb\\n'\r");
    assert_eq!(String::from_utf8_lossy(&peer.turn().content), "a\r\nb\r\n");
}
