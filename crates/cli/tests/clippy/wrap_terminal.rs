//! `swb wrap` between user and command, without a broker: bytes, modes, sizes, signals, environment, exit.

use rustix::process::{Signal, WaitOptions, WaitStatus};
use rustix::termios::LocalModes;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;
use swb_testkit::{QUIET, Swb, Terminal, children, is_alive, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

fn wrap(swb: &Swb, script: &str) -> Command {
    swb.command(&["wrap", "--", "/bin/sh", "-c", script])
}

fn start(swb: &Swb, script: &str) -> Terminal {
    Terminal::start(wrap(swb, script), 80, 24)
}

fn shown(terminal: &Terminal) -> String {
    String::from_utf8_lossy(terminal.seen()).into_owned()
}

/// The command that a wrapper runs.
fn command_of(terminal: &mut Terminal) -> i64 {
    let wrapper = i64::from(terminal.child().id());
    wait_for("the command", || children(wrapper).first().copied())
}

/// Prints each signal it gets; ends on command.
const TELLS_SIGNALS: &str = r"
    trap 'echo got-int' INT; trap 'echo got-hup' HUP; trap 'echo got-quit' QUIT
    trap 'echo got-usr1' USR1; trap 'echo got-usr2' USR2; trap 'echo got-cont' CONT; trap 'echo got-alrm' ALRM
    trap 'echo got-winch' WINCH; trap 'echo got-tstp; : > got-tstp' TSTP; trap 'echo got-term; exit 9' TERM
    echo ready; while :; do sleep 0.02; done";

// CP-1
#[test]
fn the_command_leads_a_session_on_a_terminal_of_its_own() {
    let swb = Swb::new(EXE);
    let script = "set -- $(cat /proc/$$/stat); echo \"pid=$1 group=$5 session=$6\"
        for fd in 0 1 2; do [ -t $fd ] && echo tty$fd=$(readlink /proc/$$/fd/$fd); done; echo direct >/dev/tty";
    let mut terminal = start(&swb, script);
    let outer = wait_for("the terminal's name", || {
        std::fs::read_link(format!("/proc/{}/fd/0", terminal.child().id())).ok()
    });
    assert_eq!(terminal.wait(), 0);
    let shown = shown(&terminal);
    let value =
        |key: &str| shown.split_whitespace().find_map(|word| word.strip_prefix(key)).unwrap_or_default();
    assert!(!value("pid=").is_empty(), "{shown}");
    assert_eq!(value("pid="), value("session="), "{shown}");
    assert_eq!(value("pid="), value("group="), "{shown}");
    assert!(value("tty0=").starts_with("/dev/pts/"), "{shown}");
    assert_ne!(value("tty0="), outer.to_str().expect("a name"));
    assert_eq!([value("tty1="), value("tty2=")], [value("tty0="); 2], "{shown}");
    assert!(shown.ends_with("direct\r\n"), "{shown}");
}

// CP-2, CP-4, CP-21: everything, nothing else, up to the last byte before the end.
#[test]
fn output_goes_through_byte_for_byte() {
    let swb = Swb::new(EXE);
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| (i ^ (i >> 8)) as u8).collect();
    let file = swb.dir().join("bytes");
    std::fs::write(&file, &bytes).expect("a file");
    let output = wrap(&swb, &format!("stty raw; cat {}", file.display())).output().expect("it runs");
    assert!(output.status.success());
    assert!(output.stdout == bytes, "{} of {} bytes", output.stdout.len(), bytes.len());
    assert_eq!(output.stderr, b"");
}

// CP-2
#[test]
fn output_does_not_wait_for_a_newline() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, "printf abc; read x; printf 'got %s' \"$x\"; read y");
    terminal.until("abc");
    terminal.type_in(b"1\r");
    terminal.until("got 1");
}

// CP-2: a user's side that takes nothing stops the command, as it would without us, and loses nothing.
#[test]
fn a_slow_reader_gets_everything() {
    let swb = Swb::new(EXE);
    let mut command = wrap(&swb, "stty raw; head -c 2000000 /dev/zero; printf end");
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    std::thread::park_timeout(QUIET);
    assert!(child.try_wait().expect("a child").is_none(), "it waits for its reader");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.stdout.len(), 2_000_003);
    assert!(output.stdout.ends_with(b"\0end"));
}

// CP-3
#[test]
fn input_goes_through_byte_for_byte() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, r"stty raw -echo; printf 'ready\r\n'; exec od -An -v -tu1 -w1");
    terminal.until("ready\r\n");
    terminal.forget();
    let keys: Vec<u8> = (0..=255).chain(*b"\x1b[200~pasted\x1b[201~\x1d\x03\x04\x1a\x1c\xff").collect();
    terminal.type_in(&keys);
    let decimal: String = keys.iter().map(|byte| format!("{byte:4}\n")).collect();
    wait_for("the keys", || {
        terminal.shows("\u{0}", Duration::from_millis(20));
        (terminal.seen().len() >= decimal.len()).then_some(())
    });
    assert_eq!(shown(&terminal), decimal);
}

// CP-3: more than a terminal holds.
#[test]
fn long_input_is_not_lost() {
    let swb = Swb::new(EXE);
    let mut command = wrap(&swb, "stty raw -echo; printf ready; head -c 500000 | cksum");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut ready = [0; 5];
    std::io::Read::read_exact(&mut stdout, &mut ready).expect("it is ready");
    let bytes: Vec<u8> = (0..500_000_u32).map(|i| (i % 251) as u8).collect();
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, &bytes).expect("it reads");
    let mut sum = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut sum).expect("it ends");
    assert!(child.wait().expect("a child").success());
    std::fs::write(swb.dir().join("bytes"), &bytes).expect("a file");
    let want =
        Command::new("cksum").stdin(std::fs::File::open(swb.dir().join("bytes")).expect("a file")).output();
    let want = String::from_utf8_lossy(&want.expect("it runs").stdout).into_owned();
    assert_eq!(sum.trim(), want.trim());
}

// CP-6
#[test]
fn the_first_size_is_that_of_the_users_terminal() {
    let swb = Swb::new(EXE);
    let mut terminal = Terminal::start(wrap(&swb, "stty size"), 101, 37);
    assert_eq!(terminal.wait(), 0);
    assert_eq!(shown(&terminal), "37 101\r\n");
}

// CP-7
#[test]
fn the_command_gets_a_terminal_even_if_the_user_has_none() {
    let swb = Swb::new(EXE);
    // In a session of its own, so that no terminal of the test's caller is found.
    let mut command = Command::new("setsid");
    command.args(["-w", EXE, "wrap", "--", "/bin/sh", "-c", "stty size; read x; echo got $x"]);
    let mut child = command
        .env("XDG_RUNTIME_DIR", swb.dir().join("r"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    std::io::Write::write_all(child.stdin.as_mut().expect("a pipe"), b"typed\n").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("24 80\r\n") && shown.ends_with("got typed\r\n"), "{shown:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

// CP-7: the end of the input is not the end of the command.
#[test]
fn a_command_outlives_its_input() {
    let swb = Swb::new(EXE);
    let output = wrap(&swb, "sleep 0.5; echo done").output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\r\n");
}

// CP-8, CP-9
#[test]
fn the_users_terminal_is_raw_while_the_command_runs() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, "echo ready; read x; exit 3");
    terminal.until("ready");
    let raw = wait_for("raw mode", || {
        let modes = terminal.modes();
        let cooked = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        (!modes.local_modes.intersects(cooked)).then_some(modes)
    });
    assert!(!raw.output_modes.contains(rustix::termios::OutputModes::OPOST));
    terminal.type_in(b"\r");
    assert_eq!(terminal.wait(), 3);
    terminal.assert_modes_restored();
}

// CP-1, CP-8: what the user has set holds for the command.
#[test]
fn the_commands_terminal_is_set_like_the_users() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, "exit 0");
    terminal.wait();
    let mut modes = terminal.modes();
    modes.local_modes.remove(LocalModes::ECHOE);
    modes.input_modes.remove(rustix::termios::InputModes::IXON);
    terminal.set_modes(&modes);
    terminal.next(wrap(&swb, "stty -a"));
    assert_eq!(terminal.wait(), 0);
    let shown = shown(&terminal);
    assert!(shown.contains("-echoe") && shown.contains("-ixon"), "{shown}");
}

// CP-9, CP-22
#[test]
fn the_terminal_is_restored_when_a_signal_ends_the_command() {
    let swb = Swb::new(EXE);
    for (name, number) in
        [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("HUP", 1), ("INT", 2), ("USR1", 10), ("ABRT", 6)]
    {
        let mut terminal = start(&swb, &format!("echo dying; kill -{name} $$"));
        let code = terminal.wait();
        let status = terminal.child().wait().expect("a child");
        assert_eq!((status.signal(), code), (Some(number), 128 + number), "{name}");
        terminal.assert_modes_restored();
        assert_eq!(shown(&terminal), "dying\r\n");
    }
}

// CP-9, CP-24
#[test]
fn the_terminal_is_restored_when_a_signal_ends_the_wrapper() {
    let swb = Swb::new(EXE);
    for (sent, number) in [(Signal::TERM, 15), (Signal::HUP, 1)] {
        let mut terminal = start(&swb, "echo ready; while :; do sleep 0.02; done");
        terminal.until("ready");
        let command = command_of(&mut terminal);
        terminal.signal(sent);
        assert_eq!(terminal.wait(), 128 + number);
        terminal.assert_modes_restored();
        wait_for("the command's end", || (!is_alive(command)).then_some(()));
    }
}

// CP-9
#[test]
fn the_terminal_is_restored_after_a_panic() {
    if !cfg!(debug_assertions) {
        return;
    }
    let swb = Swb::new(EXE);
    let mut command = wrap(&swb, "echo ready; read x");
    command.env("SWB_TEST_PANIC", "P");
    let mut terminal = Terminal::start(command, 80, 24);
    terminal.until("ready");
    let child = command_of(&mut terminal);
    terminal.type_in(b"P");
    assert_eq!(terminal.wait(), 101);
    terminal.assert_modes_restored();
    assert!(shown(&terminal).contains("internal error"), "{}", shown(&terminal));
    wait_for("the command's end", || (!is_alive(child)).then_some(()));
}

// CP-11, CP-12
#[test]
fn the_environment_is_the_callers() {
    let swb = Swb::new(EXE);
    let environment = |args: &[&str]| {
        let mut command = swb.command(&[args, &["--", "cat", "/proc/self/environ"]].concat());
        command.env_clear().envs([("A", "1"), ("PATH", "/usr/bin:/bin"), ("EMPTY", ""), ("B", "x=y z")]);
        command.env("XDG_RUNTIME_DIR", swb.dir().join("r"));
        let output = command.output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let mut lines: Vec<String> =
            text.split('\0').filter(|line| !line.is_empty()).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let runtime = format!("XDG_RUNTIME_DIR={}", swb.dir().join("r").display());
    let plain = ["A=1", "B=x=y z", "EMPTY=", "PATH=/usr/bin:/bin", &runtime];
    assert_eq!(environment(&["wrap"]), plain);
    let told = environment(&["wrap", "--env"]);
    let (extra, rest): (Vec<_>, Vec<_>) =
        told.iter().partition(|line| line.starts_with("CLIPPY_SESSION_ID="));
    assert_eq!((extra.len(), rest.len()), (1, plain.len()), "{told:?}");
}

// CP-21
#[test]
fn the_exit_code_is_the_commands() {
    let swb = Swb::new(EXE);
    for code in [0, 1, 3, 127, 128, 255] {
        let output = wrap(&swb, &format!("printf last; exit {code}")).output().expect("it runs");
        assert_eq!((output.status.code(), &*output.stdout), (Some(code), &b"last"[..]));
    }
}

// CP-21: what runs on in the background does not hold the wrapper.
#[test]
fn a_background_job_does_not_delay_the_end() {
    let swb = Swb::new(EXE);
    let script = "trap '' HUP; (while [ ! -e stop ]; do echo noise; done) & echo $!; exit 4";
    let mut command = wrap(&swb, script);
    let output = command.current_dir(swb.workspace("w")).output().expect("it runs");
    std::fs::write(swb.workspace("w").join("stop"), "").expect("a file");
    assert_eq!(output.status.code(), Some(4));
    assert!(output.stdout.len() < 4 * 1024 * 1024);
}

// CP-21: a command that has no terminal open any more still runs, and costs nothing meanwhile.
#[test]
fn a_command_may_close_its_terminal() {
    let swb = Swb::new(EXE);
    let script = "echo ready; exec </dev/null >/dev/null 2>&1; sleep 2; echo back >/dev/tty; exit 7";
    let mut terminal = start(&swb, script);
    terminal.until("ready");
    std::thread::park_timeout(Duration::from_secs(1));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", terminal.child().id())).expect("a process");
    let fields: Vec<&str> = stat.rsplit_once(") ").expect("a name").1.split(' ').collect();
    let ticks: u64 =
        fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number");
    assert!(ticks < 50, "{ticks} hundredths of a second");
    assert_eq!(terminal.wait(), 7);
    assert_eq!(shown(&terminal), "ready\r\nback\r\n");
}

// CP-23
#[test]
fn a_command_that_cannot_run_is_127() {
    let swb = Swb::new(EXE);
    let file = swb.dir().join("plain");
    std::fs::write(&file, "no program").expect("a file");
    for command in ["/does/not/exist", "no-such-program-anywhere", file.to_str().expect("a path")] {
        let mut terminal = Terminal::start(swb.command(&["wrap", "--", command]), 80, 24);
        assert_eq!(terminal.wait(), 127, "{command}");
        assert!(shown(&terminal).contains(command), "{}", shown(&terminal));
        terminal.assert_modes_restored();
    }
}

// CT-1, CT-2
#[test]
fn a_bad_pattern_is_refused_before_the_command_starts() {
    let swb = Swb::new(EXE);
    let mark = swb.dir().join("started");
    for pattern in ["(", "a\nb"] {
        let args = ["wrap", "--pattern", pattern, "--", "touch", mark.to_str().expect("a path")];
        let output = swb.run(&args);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("pattern"));
        assert!(!mark.exists());
    }
}

// CP-24, CP-27
#[test]
fn signals_are_forwarded_to_the_command() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, TELLS_SIGNALS);
    terminal.until("ready");
    for (sent, name) in [
        (Signal::INT, "int"),
        (Signal::HUP, "hup"),
        (Signal::QUIT, "quit"),
        (Signal::USR1, "usr1"),
        (Signal::USR2, "usr2"),
        (Signal::ALARM, "alrm"),
    ] {
        terminal.signal(sent);
        terminal.until(&format!("got-{name}"));
    }
    // Orderly: the command prints its last output and chooses its code.
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.wait(), 9);
    assert!(shown(&terminal).ends_with("got-term\r\n"), "{}", shown(&terminal));
    terminal.assert_modes_restored();
}

// CP-24: the whole group, not only its leader.
#[test]
fn signals_reach_the_commands_group() {
    let swb = Swb::new(EXE);
    let script = "trap : USR1; sh -c \"trap 'echo inner-got-it; exit' USR1; echo ready; while :; do sleep 0.02; done\"; exit 0";
    let mut terminal = start(&swb, script);
    terminal.until("ready");
    terminal.signal(Signal::USR1);
    terminal.until("inner-got-it");
    assert_eq!(terminal.wait(), 0);
}

// CP-24: a command that does not end is left running in the end.
#[test]
fn a_command_that_ignores_sigterm_does_not_hold_the_wrapper() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, "trap '' TERM; echo ready; while :; do sleep 0.02; done");
    terminal.until("ready");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.wait(), 143);
    terminal.assert_modes_restored();
}

// CP-25
#[test]
fn stop_restores_the_terminal_and_continue_makes_it_raw_again() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, TELLS_SIGNALS);
    terminal.until("ready");
    let wrapper = i64::from(terminal.child().id());
    terminal.signal(Signal::TSTP);
    let pid = rustix::process::Pid::from_child(terminal.child());
    let stopped = wait_for("the stop", || {
        rustix::process::waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::NOHANG).expect("a child")
    });
    assert!(WaitStatus::stopped(stopped.1), "{stopped:?}");
    terminal.assert_modes_restored();
    // The kernel drops a stop signal that has not arrived when the next one continues the process.
    wait_for("the signal", || swb.dir().join("w/got-tstp").exists().then_some(()));
    // As a shell leaves it: cooked, and with another size.
    terminal.resize(90, 30);
    signal(wrapper, Signal::CONT);
    terminal.until("got-cont");
    assert!(shown(&terminal).contains("got-tstp"), "{}", shown(&terminal));
    wait_for("raw mode", || (!terminal.modes().local_modes.contains(LocalModes::ICANON)).then_some(()));
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.wait(), 9);
    terminal.assert_modes_restored();
}

// CP-25: in any order they are found, no process is left behind stopped.
#[test]
fn a_quick_stop_and_continue_leaves_no_process_stopped() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, TELLS_SIGNALS);
    terminal.until("ready");
    for _ in 0..20 {
        terminal.signal(Signal::TSTP);
        terminal.signal(Signal::CONT);
    }
    terminal.forget();
    terminal.signal(Signal::USR1);
    terminal.until("got-usr1");
    wait_for("raw mode", || (!terminal.modes().local_modes.contains(LocalModes::ICANON)).then_some(()));
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.wait(), 9);
    terminal.assert_modes_restored();
}

// CP-26
#[test]
fn a_new_size_reaches_the_command_and_the_signal_only_through_it() {
    let swb = Swb::new(EXE);
    let script = "trap 'echo size $(stty size)' WINCH; echo ready; while :; do sleep 0.02; done";
    let mut terminal = start(&swb, script);
    terminal.until("ready");
    terminal.resize(120, 40);
    terminal.until("size 40 120");
    terminal.forget();
    // The signal without a change of size is not for the command.
    terminal.signal(Signal::WINCH);
    assert!(!terminal.shows("size", QUIET));
}

// CP-29
#[test]
fn no_descriptor_but_three_is_inherited() {
    let swb = Swb::new(EXE);
    let script = "exec 7</dev/null 9>/dev/null; exec \"$SWB\" wrap -- /bin/sh -c 'ls /proc/$$/fd; :'";
    let output = swb.shell(script).output().expect("it runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut open: Vec<&str> = shown.split_whitespace().collect();
    // The shell keeps a copy of its terminal in some versions.
    open.retain(|fd| *fd != "10");
    assert_eq!(open, ["0", "1", "2"]);
}

// CP-9: the window is closed.
#[test]
fn a_closed_window_ends_the_command() {
    let swb = Swb::new(EXE);
    let mut terminal = start(&swb, "echo ready; while :; do sleep 0.02; done");
    terminal.until("ready");
    let command = command_of(&mut terminal);
    terminal.close();
    wait_for("the command's end", || (!is_alive(command)).then_some(()));
}

// CP-30: all arguments behind the hyphens are the command's.
#[test]
fn arguments_and_name_are_passed_unchanged() {
    let swb = Swb::new(EXE);
    let output =
        swb.run(&["wrap", "--pattern", "claude", "--", "printf", "%s|", "--json", "", "a b", "--pattern"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "--json||a b|--pattern|");
    let mut strange = swb.command(&["wrap", "--", "printf", "%s"]);
    strange.arg(std::ffi::OsStr::new("x")).arg0("swb");
    assert_eq!(strange.output().expect("it runs").stdout, b"x");
}
