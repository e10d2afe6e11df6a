//! Odd circumstances: others who were there first, things in the way, and what is missing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rustix::process::Signal;
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use swb_testkit::{CoopClient, KeeptyClient, LIMIT, Swb, is_alive, keepers_in, signal, wait_for};
use swb_wire::keepty::Role;

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// A user that is not the one the tests run as, if that is root.
const NOBODY: u32 = 65534;

// ---- others who were there first ----

// KP-47: the terminal of whoever started the daemon is nothing to it either.
#[test]
fn a_hang_up_of_its_terminal_does_not_disturb_the_daemon() {
    let swb = Swb::start(env!("CARGO_BIN_EXE_swb"));
    let mut client = swb.coop();
    let pid = swb.daemon_pid();
    signal(pid, Signal::HUP);
    client.ok(&json!({"cmd": "ls"}));
    assert_eq!(swb.daemon_pid(), pid);
    assert_eq!(swb.status()["daemon"]["restarts"], 0);
}

// CO-6: the second says so and leaves everything as it is.
#[test]
fn a_second_daemon_disturbs_nothing() {
    let swb = Swb::start(EXE);
    let pid = swb.script("one", "echo ready; exec cat");
    let mut client = swb.attach("one");
    client.until("ready");
    let before = (swb.status(), swb.session("one"));
    for arguments in [&["daemon"][..], &["daemon", "--auto"]] {
        let second = swb.run(arguments);
        assert_eq!(second.status.code(), Some(1));
        assert_eq!(
            said(&second),
            format!("swb: another daemon is already running (pid {})\n", swb.daemon_pid())
        );
    }
    assert_eq!((swb.status(), swb.session("one")), before);
    client.type_in(b"still here\n");
    client.until("still here");
    let mut monitor = swb.keepty("one", Role::Monitor, 80, 24);
    assert_eq!(i64::from(monitor.ack().0), pid);
    let pid_file = std::fs::read_to_string(swb.paths().coop_dir().join("daemon.pid")).unwrap();
    assert_eq!(pid_file.trim(), swb.daemon_pid().to_string());
}

// XS-1, CO-6: two runtime directories, as after a new login, but one home.
#[test]
fn the_home_of_another_daemon_costs_only_the_coop_front() {
    let first = Swb::start(EXE);
    let mut second = Swb::new(EXE);
    second.start_daemon_with(|command| {
        command.env("HOME", first.paths().home);
    });
    let state = state(&second, "coop");
    assert!(state.starts_with("failed: ") && state.contains("already running"), "{state}");
    assert!(state.contains(".coop/sock"), "{state}");
    assert_eq!(self::state(&second, "keepty"), "listening");
    let pid = second.script("one", "cat");
    assert_eq!(i64::from(second.keepty("one", Role::Monitor, 80, 24).ack().0), pid);
    assert_eq!(first.session("one"), None);
    let status = second.ok(&["status"]);
    assert!(status.contains("failed: "), "{status}");

    // Its end takes nothing of the first one's along.
    second.ok(&["shutdown", "--kill"]);
    assert!(second.daemon().wait().unwrap().success());
    first.coop().ok(&json!({"cmd": "ls"}));
    assert!(first.paths().coop_dir().join("daemon.pid").exists());
    assert_eq!(self::state(&first, "coop"), "listening");
}

// Any command starts the daemon when there is none; of many only one does.
#[test]
fn many_commands_at_once_start_one_daemon_and_one_keeper() {
    let swb = Swb::new(EXE);
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(|| swb.run(&["ls", "--json"]))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for output in &outputs {
        assert!(output.status.success(), "{}", said(output));
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "[]");
    }
    let status = swb.status();
    let daemon = status["daemon"]["pid"].as_i64().unwrap();
    let told: Vec<String> = outputs.iter().map(said).filter(|said| !said.is_empty()).collect();
    assert_eq!(told, [format!("swb: started the daemon (pid {daemon})\n")], "one says so, once");
    assert_eq!((daemons(&swb), keepers_in(swb.dir())), (vec![daemon], vec![swb.keeper_pid()]));
    assert_eq!((&status["daemon"]["auto"], &status["daemon"]["restarts"]), (&json!(true), &json!(0)));
}

// What a machine that was switched off leaves behind is no obstacle.
#[test]
fn what_was_left_over_is_replaced() {
    let mut swb = Swb::new(EXE);
    let paths = swb.paths();
    for dir in [paths.run_dir(), paths.keepty_dir(), paths.coop_dir()] {
        std::fs::create_dir_all(&dir).unwrap();
        // KP-11: also with a mode they should not have.
        std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let sockets =
        [paths.control_socket(), paths.keeper_socket(), paths.coop_socket(), paths.keepty_socket("one")];
    for socket in &sockets {
        drop(UnixListener::bind(socket).unwrap());
    }
    for lock in ["keeper.lock", "start.lock"] {
        std::fs::write(paths.run_dir().join(lock), "").unwrap();
    }
    swb.start_daemon();
    let pid = swb.script("one", "cat");
    assert_eq!(i64::from(swb.keepty("one", Role::Monitor, 80, 24).ack().0), pid);
    swb.coop().ok(&json!({"cmd": "ls"}));
    for path in sockets.iter().chain(&[paths.run_dir(), paths.keepty_dir(), paths.coop_dir()]) {
        let mode = path.metadata().unwrap().permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{} is not private", path.display());
    }
}

// CO-5: also for a daemon that takes over from one that died.
#[test]
fn a_link_that_was_put_in_the_place_of_the_socket_meanwhile_is_refused_too() {
    let swb = Swb::start(EXE);
    let socket = swb.paths().coop_socket();
    std::fs::remove_file(&socket).unwrap();
    symlink(swb.dir().join("nowhere"), &socket).unwrap();
    swb.kill_daemon();
    let state = state(&swb, "coop");
    assert!(state.starts_with("failed: ") && state.contains("symbolic link"), "{state}");
    assert_eq!(socket.read_link().unwrap(), swb.dir().join("nowhere"));
    // Once it is gone the next daemon has its socket again.
    std::fs::remove_file(&socket).unwrap();
    swb.kill_daemon();
    assert_eq!(self::state(&swb, "coop"), "listening");
    swb.coop().ok(&json!({"cmd": "ls"}));
}

// CO-4, CO-6: a daemon whose socket was removed has no right to that of another one in its place.
#[test]
fn a_place_that_another_daemon_took_meanwhile_is_left_to_it() {
    let mut first = Swb::start(EXE);
    std::fs::remove_file(first.paths().coop_socket()).unwrap();
    let mut second = Swb::new(EXE);
    second.start_daemon_with(|command| {
        command.env("HOME", first.paths().home);
    });
    assert_eq!(state(&second, "coop"), "listening");
    let daemon = second.daemon_pid();
    // At the end of the first one nothing is taken away,
    first.ok(&["shutdown"]);
    assert!(first.daemon().wait().unwrap().success());
    first.coop().ok(&json!({"cmd": "ls"}));
    let pid_file = first.paths().coop_dir().join("daemon.pid");
    assert_eq!(std::fs::read_to_string(pid_file).unwrap().trim(), daemon.to_string());
    // and after its death its successor notices.
    second.ok(&["shutdown"]);
    assert!(second.daemon().wait().unwrap().success());
    first.start_daemon();
    std::fs::remove_file(first.paths().coop_socket()).unwrap();
    second.start_daemon_with(|command| {
        command.env("HOME", first.paths().home);
    });
    first.kill_daemon();
    let state = state(&first, "coop");
    assert!(state.starts_with("failed: ") && state.contains("already running"), "{state}");
    assert_eq!(self::state(&second, "coop"), "listening");
}

// A socket file that somebody removed is made anew by the next daemon; sessions keep theirs.
#[test]
fn a_socket_that_was_removed_comes_back_with_the_next_daemon() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let socket = swb.paths().coop_socket();
    std::fs::remove_file(&socket).unwrap();
    std::fs::remove_file(swb.paths().keepty_socket("one")).unwrap();
    swb.kill_daemon();
    swb.coop().ok(&json!({"cmd": "ls"}));
    swb.keepty("one", Role::Monitor, 80, 24).ack();
}

// ---- things in the way ----

// XS-1: what concerns one front is reported and the others work.
#[test]
fn something_in_the_way_of_a_front_costs_only_that_front() {
    for (place, kind, front, other) in [
        ("h/.coop", Thing::File, "coop", "keepty"),
        ("h/.coop", Thing::Dangling, "coop", "keepty"),
        ("h/.coop/sock", Thing::Directory, "coop", "keepty"),
        ("h/.coop/sock", Thing::File, "coop", "keepty"),
        ("r/keepty", Thing::File, "keepty", "coop"),
        ("r/keepty", Thing::Link, "keepty", "coop"),
    ] {
        let mut swb = Swb::new(EXE);
        let place = swb.dir().join(place);
        let before = kind.put(&place);
        swb.start_daemon();
        let state = state(&swb, front);
        assert!(state.starts_with("failed: ") && state.contains(place.to_str().unwrap()), "{state}");
        assert_eq!(self::state(&swb, other), "listening");
        swb.script("one", "cat");
        let required =
            json!({"cmd": "create", "name": "two", "workspace": "/", "argv": ["cat"], "require": [front]});
        assert_eq!(swb.control().error(&required), "FRONT_FAILED");
        swb.ok(&["shutdown", "--kill"]);
        assert_eq!(Thing::look(&place), before, "it is left alone");
    }
}

// XS-1: whoever starts the daemon hears it, and everybody else can ask.
#[test]
fn the_command_that_starts_the_daemon_says_which_front_is_missing() {
    let swb = Swb::new(EXE);
    Thing::File.put(&swb.paths().coop_dir());
    let warning = format!("coop clients cannot connect: {} is in the way", swb.paths().coop_dir().display());
    let first = swb.run(&["ls"]);
    assert!(first.status.success() && said(&first).contains(&warning), "{}", said(&first));
    assert_eq!(said(&swb.run(&["ls"])), "", "once");
    let status = swb.ok(&["status"]);
    assert!(status.contains(&warning), "{status}");
}

// Without a place for its own sockets there is no daemon; the message names it, and it is left alone.
#[test]
fn something_in_the_way_of_our_own_sockets_is_an_error_that_names_it() {
    for (place, kind, words) in [
        ("r/switchboard", Thing::File, "in the way"),
        ("r/switchboard", Thing::Link, "symbolic link"),
        ("r/switchboard", Thing::Dangling, "symbolic link"),
        ("r/switchboard/control.sock", Thing::File, "in the way"),
        ("r/switchboard/control.sock", Thing::Dangling, "symbolic link"),
        ("r/switchboard/keeper.sock", Thing::Directory, "keeper.sock"),
        ("r/switchboard/keeper.lock", Thing::Dangling, "keeper.lock"),
    ] {
        let swb = Swb::new(EXE);
        let place = swb.dir().join(place);
        let before = kind.put(&place);
        let daemon = swb.run(&["daemon"]);
        let error = said(&daemon);
        assert_eq!(daemon.status.code(), Some(1), "{error}");
        assert!(error.contains(words) && error.contains(place.to_str().unwrap()), "{place:?}: {error}");
        // Another command that would start it says why, too.
        let list = swb.run(&["ls"]);
        let error = said(&list);
        assert!(matches!(list.status.code(), Some(1 | 4)), "{error}");
        assert!(error.contains(place.to_str().unwrap()), "{place:?}: {error}");
        assert_eq!(Thing::look(&place), before, "it is left alone");
        wait_for("the keeper's end", || keepers_in(swb.dir()).is_empty().then_some(()));
        assert_eq!(daemons(&swb), Vec::<i64>::new());
    }
}

// A runtime directory that is itself reached through a link is the user's own affair.
#[test]
fn a_runtime_directory_behind_a_link_works() {
    let mut swb = Swb::new(EXE);
    let link = swb.dir().join("link");
    symlink(swb.dir().join("r"), &link).unwrap();
    swb.start_daemon_with(|command| {
        command.env("XDG_RUNTIME_DIR", &link);
    });
    swb.script("one", "cat");
    swb.keepty("one", Role::Monitor, 80, 24).ack();
}

#[test]
fn a_runtime_directory_whose_path_is_too_long_is_named() {
    let swb = Swb::new(EXE);
    let long = swb.dir().join("x".repeat(100));
    for arguments in [&["daemon"][..], &["ls"]] {
        let output = swb.command(arguments).env("XDG_RUNTIME_DIR", &long).output().unwrap();
        let error = said(&output);
        assert!(!output.status.success() && error.contains("too long"), "{error}");
        assert!(error.contains(long.to_str().unwrap()), "{error}");
    }
}

// ---- what is missing ----

#[test]
fn missing_directories_are_made() {
    let mut swb = Swb::new(EXE);
    for dir in ["h", "r"] {
        std::fs::remove_dir(swb.dir().join(dir)).unwrap();
    }
    swb.start_daemon();
    swb.script("one", "cat");
    swb.coop().ok(&json!({"cmd": "ls"}));
    for dir in ["r", "r/switchboard", "r/keepty", "h/.coop"] {
        let mode = swb.dir().join(dir).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{dir}");
    }
}

#[test]
fn without_a_home_every_command_says_what_to_do() {
    let swb = Swb::new(EXE);
    for arguments in [&["daemon"][..], &["ls"], &["status"], &["run", "-d", "--", "true"], &["shutdown"]] {
        for home in [None, Some("")] {
            let mut command = swb.command(arguments);
            match home {
                Some(home) => command.env("HOME", home),
                None => command.env_remove("HOME"),
            };
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(1));
            assert!(said(&output).contains("HOME is not set"), "{}", said(&output));
        }
    }
    assert_eq!(std::fs::read_dir(swb.dir().join("r")).unwrap().count(), 0);
}

// XS-1, Q-3, KP-10
#[test]
fn without_a_runtime_directory_sockets_are_in_the_state_directory() {
    for runtime in [None, Some("")] {
        let away = Away::new(|swb, command| {
            command.env("TMPDIR", swb.dir().join("r"));
            match runtime {
                Some(runtime) => command.env("XDG_RUNTIME_DIR", runtime),
                None => command.env_remove("XDG_RUNTIME_DIR"),
            };
        });
        let run = away.run(&["run", "-d", "-n", "one", "--", "cat"]);
        assert!(run.status.success() && said(&run).contains("started the daemon"), "{}", said(&run));
        let dir = away.swb.dir().join("h/.local/state/switchboard/run");
        assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let mut control = CoopClient::connect(&dir.join("control.sock")).unwrap();
        control.hello();
        let status = control.ok(&json!({"cmd": "status"}));
        for dialect in status["dialects"].as_array().unwrap() {
            assert_eq!(dialect["state"], "listening", "{status}");
        }
        let mut monitor = KeeptyClient::connect(&away.swb.dir().join("r/keepty/keepty-one.sock")).unwrap();
        monitor.hello(Role::Monitor, 80, 24);
        monitor.ack();
        // And the next daemon is found in the same place.
        signal(status["daemon"]["pid"].as_i64().unwrap(), Signal::KILL);
        let list = away.run(&["ls", "--json"]);
        assert!(String::from_utf8_lossy(&list.stdout).contains("\"one\""), "{}", said(&list));
        assert_eq!(said(&list), "");
    }
}

// ---- logs ----

// A full disk costs log lines and nothing else.
#[test]
fn a_full_disk_for_logs_is_no_reason_to_stop() {
    let swb = Swb::new(EXE);
    configure(&swb, "[daemon]\nlog_level = \"trace\"\n");
    let log = swb.paths().daemon_log();
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    symlink("/dev/full", &log).unwrap();
    // Its standard error is that file; the next one opens it itself.
    swb.ok(&["run", "-d", "-n", "one", "--", "cat"]);
    let daemon = swb.daemon_pid();
    use_it(&swb);
    assert_eq!(swb.daemon_pid(), daemon);
    swb.kill_daemon();
    let daemon = swb.daemon_pid();
    use_it(&swb);
    assert_eq!(swb.daemon_pid(), daemon);
    assert_eq!(swb.status()["daemon"]["restarts"], 1);
    swb.ok(&["upgrade"]);
    use_it(&swb);
    assert_eq!(swb.daemon_pid(), daemon);
}

#[test]
fn a_log_that_cannot_be_written_is_no_reason_to_stop() {
    for spoil in ["h/.local/state/switchboard/daemon.log/directory", "h/.local/state/switchboard"] {
        let swb = Swb::new(EXE);
        let spoil = swb.dir().join(spoil);
        std::fs::create_dir_all(spoil.parent().unwrap()).unwrap();
        std::fs::write(&spoil, "").unwrap();
        swb.ok(&["run", "-d", "-n", "one", "--", "cat"]);
        use_it(&swb);
        swb.kill_daemon();
        use_it(&swb);
    }
}

// A closed or full standard error of a daemon in the foreground, too.
#[test]
fn a_daemon_whose_standard_error_is_full_goes_on() {
    let mut swb = Swb::new(EXE);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    swb.start_daemon_with(|command| {
        command.stderr(full);
    });
    swb.script("one", "cat");
    let daemon = swb.daemon_pid();
    use_it(&swb);
    assert_eq!(swb.daemon_pid(), daemon);
    signal(daemon, Signal::TERM);
    assert_eq!(swb.daemon().wait().unwrap().code(), Some(0));
}

// XS-8, XS-13: what goes through a terminal, or is in an environment, is on no disk and in no log.
#[test]
fn neither_logs_nor_files_know_what_sessions_say() {
    let secrets =
        ["env-secret-4711", "out-secret-4711", "in-secret-4711", "sent-secret-4711", "coopfile-secret"];
    let [variable, output, input, sent, coopfile] = secrets;
    let mut swb = Swb::new(EXE);
    configure(&swb, "[daemon]\nlog_level = \"trace\"\n");
    swb.start_daemon_with(|command| {
        command.env("DAEMON_VARIABLE", "env-secret-4711-daemon");
    });
    let script = "echo $0 $VARIABLE; exec cat";
    let create = json!({"cmd": "create", "name": "one", "workspace": "/", "argv": ["/bin/sh", "-c", script, output],
        "env": {"VARIABLE": variable, "PATH": "/usr/bin:/bin"}});
    swb.control().ok(&create);
    let coopfile = format!("[agent]\ncommand = 'cat'\n[env]\nTOKEN = '{coopfile}'");
    swb.coop().ok(&json!({"cmd": "create", "name": "two", "workspace": "/", "coopfile": coopfile}));
    for round in 0..2 {
        let mut client = swb.attach("one");
        client.until(variable);
        client.type_in(format!("{input}\n").as_bytes());
        client.until(input);
        swb.ok(&["send", "one", sent, "--enter"]);
        client.until(sent);
        let mut writer = swb.keepty("one", Role::Writer, 90, 30);
        writer.ack();
        writer.type_in(format!("{input}\n").as_bytes());
        // Bad input is logged, if at all, without what it was.
        writer.send_raw(format!("\0\0\0\u{20}{input}{input}{input}").as_bytes());
        swb.coop().error(&json!({"cmd": "create", "workspace": input, "name": sent}));
        if round == 0 {
            swb.kill_daemon();
        }
    }
    swb.ok(&["shutdown"]);
    assert!(swb.paths().daemon_log().metadata().unwrap().len() > 0, "the second daemon has written a log");
    let mut files = Vec::new();
    all_files(swb.dir(), &mut files);
    assert!(files.iter().any(|file| file.ends_with("daemon.log")));
    for file in files {
        let content = std::fs::read(&file).unwrap();
        for secret in secrets {
            let found = content.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {}", file.display());
        }
    }
}

// ---- configuration ----

#[test]
fn a_mistake_in_the_configuration_is_named_with_its_line() {
    let swb = Swb::new(EXE);
    configure(&swb, "[coop]\nenabled = true\nenable = false\n");
    let file = swb.paths().config_file();
    let daemon = swb.run(&["daemon"]);
    let error = said(&daemon);
    assert_eq!(daemon.status.code(), Some(1));
    for word in [file.to_str().unwrap(), "line 3", "enable"] {
        assert!(error.contains(word), "{word} is not in {error}");
    }
    // A command that would have started it passes that on, with the code for it.
    let list = swb.run(&["ls"]);
    assert_eq!(list.status.code(), Some(4), "{}", said(&list));
    let error = said(&list);
    assert!(error.contains("daemon"), "{error}");
    let missing = swb.run(&["daemon", "--config", "/nowhere/config.toml"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(said(&missing).contains("/nowhere/config.toml"), "{}", said(&missing));
    assert_eq!(keepers_in(swb.dir()), Vec::<i64>::new());
}

// XS-1: each front can be switched off.
#[test]
fn fronts_can_be_switched_off() {
    for (off, on) in [("coop", "keepty"), ("keepty", "coop")] {
        let mut swb = Swb::new(EXE);
        configure(&swb, &format!("[{off}]\nenabled = false\n"));
        swb.start_daemon();
        assert_eq!((state(&swb, off), state(&swb, on)), ("off".to_owned(), "listening".to_owned()));
        swb.script("one", "cat");
        assert_eq!(swb.paths().coop_socket().exists(), off != "coop");
        assert_eq!(swb.paths().keepty_socket("one").exists(), off != "keepty");
    }
    // Our own command line needs neither.
    let mut swb = Swb::new(EXE);
    configure(&swb, "[coop]\nenabled = false\n[keepty]\nenabled = false\n");
    swb.start_daemon();
    swb.ok(&["run", "-d", "-n", "one", "--", "cat"]);
    use_it(&swb);
}

// XS-10: only a daemon that another command has started ends by itself.
#[test]
fn an_idle_daemon_ends_only_if_nobody_started_it_explicitly() {
    let explicit = Swb::start(EXE);
    let busy = Swb::new(EXE);
    busy.ok(&["run", "-d", "-n", "one", "--", "cat"]);
    let idle = Swb::new(EXE);
    idle.ok(&["run", "-d", "-n", "one", "--", "true"]);
    let (daemon, keeper) = (idle.daemon_pid(), idle.keeper_pid());
    let began = Instant::now();
    // Half a minute is what it waits.
    let end = began + Duration::from_secs(30) + LIMIT;
    while is_alive(daemon) {
        assert!(Instant::now() < end, "it does not end");
        std::thread::park_timeout(Duration::from_millis(100));
    }
    assert!(began.elapsed() > Duration::from_secs(25), "it ended after {:?}", began.elapsed());
    wait_for("the keeper's end", || (!is_alive(keeper)).then_some(()));
    assert!(!idle.paths().control_socket().exists() && !idle.paths().coop_socket().exists());
    assert_eq!(explicit.status()["daemon"]["auto"], false);
    assert_eq!((&busy.status()["daemon"]["auto"], &busy.status()["sessions"]), (&json!(true), &json!(1)));
}

// ---- other users ----

// CO-7 for the other sockets: whatever the file modes say.
#[test]
fn another_user_is_let_in_nowhere() {
    if !is_root() {
        return;
    }
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let paths = swb.paths();
    open_up(&[swb.dir(), &swb.dir().join("r"), &paths.run_dir(), &paths.keepty_dir()], 0o755);
    let (control, keepty) = (paths.control_socket(), paths.keepty_socket("one"));
    open_up(&[&control, &keepty], 0o666);
    let stranger = std::thread::spawn(move || {
        let nobody = rustix::process::Uid::from_raw(NOBODY);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        let mut client = CoopClient::connect(&control).unwrap();
        client.send(&json!({"version": 1}));
        assert_eq!(client.answer(), None);
        let mut client = KeeptyClient::connect(&keepty).unwrap();
        client.hello(Role::Writer, 80, 24);
        client.closed();
    });
    stranger.join().unwrap();
    // The program does not even try.
    let status = nobody(&swb, &["status"]).output().unwrap();
    assert_eq!(status.status.code(), Some(1));
    assert!(said(&status).contains("belongs to another user"), "{}", said(&status));
    assert_eq!(swb.status()["sessions"], 1);
}

// A directory or socket that another user has prepared is not used.
#[test]
fn what_belongs_to_another_user_is_an_error() {
    if !is_root() {
        return;
    }
    let swb = Swb::new(EXE);
    let run_dir = swb.paths().run_dir();
    std::fs::create_dir_all(&run_dir).unwrap();
    std::os::unix::fs::chown(&run_dir, Some(NOBODY), None).unwrap();
    for arguments in [&["daemon"][..], &["ls"]] {
        let output = swb.run(arguments);
        let error = said(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("another user") && error.contains(run_dir.to_str().unwrap()), "{error}");
    }
    std::os::unix::fs::chown(&run_dir, Some(0), None).unwrap();

    let mut swb = Swb::new(EXE);
    let keepty_dir = swb.paths().keepty_dir();
    std::fs::create_dir_all(&keepty_dir).unwrap();
    std::os::unix::fs::chown(&keepty_dir, Some(NOBODY), None).unwrap();
    swb.start_daemon();
    let state = state(&swb, "keepty");
    assert!(state.starts_with("failed: ") && state.contains("another user"), "{state}");
    assert_eq!(self::state(&swb, "coop"), "listening");
}

// Directories that cannot be written to; root could, so somebody else tries.
#[test]
fn directories_that_cannot_be_written_to_are_named() {
    if !is_root() {
        return;
    }
    let swb = Swb::new(EXE);
    let (home, runtime) = (swb.dir().join("h"), swb.dir().join("r"));
    open_up(&[swb.dir(), &home, &runtime, &swb.dir().join("w")], 0o755);
    let daemon = nobody(&swb, &["daemon"]).output().unwrap();
    let error = said(&daemon);
    assert_eq!(daemon.status.code(), Some(1), "{error}");
    assert!(error.contains(runtime.to_str().unwrap()) && error.contains("Permission denied"), "{error}");
    let list = nobody(&swb, &["ls"]).output().unwrap();
    assert!(said(&list).contains(runtime.to_str().unwrap()), "{}", said(&list));

    // A home that cannot be written to costs the coop front and the log.
    std::os::unix::fs::chown(&runtime, Some(NOBODY), None).unwrap();
    let run = nobody(&swb, &["run", "-d", "-n", "one", "--", "cat"]).output().unwrap();
    let ended = || nobody(&swb, &["shutdown", "--kill"]).output().unwrap();
    assert!(run.status.success(), "{}", said(&run));
    let status = nobody(&swb, &["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let states: Vec<&str> = status["dialects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dialect| dialect["state"].as_str().unwrap())
        .collect();
    let killed = ended();
    assert!(killed.status.success(), "{}", said(&killed));
    assert_eq!(states[0], "listening");
    assert!(states[1].starts_with("failed: ") && states[1].contains(home.to_str().unwrap()), "{}", states[1]);
}

// ---- help ----

/// Something that does not belong where it is.
#[derive(Debug, Clone, Copy)]
enum Thing {
    File,
    Directory,
    /// A link to a directory.
    Link,
    /// A link to nothing.
    Dangling,
}

impl Thing {
    /// Puts it there; gives what [`Thing::look`] has to say of it.
    fn put(self, place: &Path) -> String {
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        let target = place.with_extension("target");
        match self {
            Self::File => std::fs::write(place, "precious").unwrap(),
            Self::Directory => std::fs::create_dir(place).unwrap(),
            Self::Link => {
                std::fs::create_dir(&target).unwrap();
                symlink(&target, place).unwrap();
            }
            Self::Dangling => symlink(&target, place).unwrap(),
        }
        Self::look(place)
    }

    /// What is there, with its content and, for a link, that of its target.
    fn look(place: &Path) -> String {
        let meta = place.symlink_metadata().map(|meta| (meta.file_type(), meta.permissions().mode()));
        let entries = std::fs::read_dir(place).map(|entries| entries.flatten().count()).ok();
        format!(
            "{:?} {:?} {:?} {entries:?}",
            meta.ok(),
            std::fs::read_link(place).ok(),
            std::fs::read(place).ok()
        )
    }
}

/// A home in which the program is called with other variables; ends what it started there.
struct Away<F: Fn(&Swb, &mut Command)> {
    swb: Swb,
    change: F,
}

impl<F: Fn(&Swb, &mut Command)> Away<F> {
    fn new(change: F) -> Self {
        Self { swb: Swb::new(EXE), change }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.swb.command(arguments);
        (self.change)(&self.swb, &mut command);
        command.output().unwrap()
    }
}

impl<F: Fn(&Swb, &mut Command)> Drop for Away<F> {
    fn drop(&mut self) {
        self.run(&["shutdown", "--kill"]);
    }
}

/// Insists that session `one`, which runs `cat`, can be used in every way.
#[track_caller]
fn use_it(swb: &Swb) {
    swb.ok(&["send", "one", "typed", "--enter"]);
    let mut client = swb.control();
    client.ok(&json!({"cmd": "attach", "session": "one"}));
    client.until("typed");
    // Enough of it to be logged.
    for _ in 0..20 {
        let mut client = swb.control();
        client.error(&json!({"cmd": "attach", "session": "none"}));
    }
}

fn configure(swb: &Swb, content: &str) {
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, content).unwrap();
}

/// How a front is doing.
fn state(swb: &Swb, front: &str) -> String {
    let status = swb.status();
    let found = status["dialects"].as_array().unwrap().iter().find(|dialect| dialect["name"] == front);
    found.expect("the front is listed")["state"].as_str().unwrap().to_owned()
}

/// What a command wrote to standard error.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The daemons that run in this home.
fn daemons(swb: &Swb) -> Vec<i64> {
    let runtime = format!("XDG_RUNTIME_DIR={}", swb.dir().join("r").display());
    let words = |pid: i64, file: &str| -> Vec<String> {
        let content = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        content.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    };
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i64>().ok());
    pids.filter(|pid| is_alive(*pid))
        .filter(|pid| words(*pid, "cmdline").get(1).is_some_and(|verb| verb == "daemon"))
        .filter(|pid| words(*pid, "environ").contains(&runtime))
        .collect()
}

/// The program, called by another user; needs to be root.
fn nobody(swb: &Swb, arguments: &[&str]) -> Command {
    let exe = swb.dir().join("swb");
    if !exe.exists() {
        std::fs::copy(EXE, &exe).unwrap();
        open_up(&[&exe], 0o755);
    }
    let usual = swb.command(&[]);
    let mut command = Command::new(exe);
    command.args(arguments).current_dir("/").uid(NOBODY).gid(NOBODY);
    for (key, value) in usual.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    command
}

fn open_up(paths: &[&Path], mode: u32) {
    for path in paths {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
}

fn all_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all_files(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
