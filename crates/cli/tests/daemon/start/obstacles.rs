//! Obstructed or missing files and directories.

use super::*;
use rustix::process::Signal;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use swb_testkit::{CoopClient, KeeptyClient, keepers_in, signal, wait_for};
use swb_wire::keepty::KeeptyRole;

// XS-1: what concerns one front is reported and the others work.
#[test]
fn an_obstructed_front_does_not_stop_the_others() {
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

// XS-1: the command that starts the daemon prints it, and the others can query it.
#[test]
fn starting_the_daemon_reports_a_missing_front() {
    let swb = Swb::new(EXE);
    Thing::File.put(&swb.paths().coop_dir());
    let warning = format!(
        "coop clients cannot connect: {} exists and is neither a socket nor a directory",
        swb.paths().coop_dir().display()
    );
    let first = swb.run(&["ls"]);
    assert!(first.status.success() && said(&first).contains(&warning), "{}", said(&first));
    assert_eq!(said(&swb.run(&["ls"])), "", "once");
    let status = swb.ok(&["status"]);
    assert!(status.contains(&warning), "{status}");
}

// Without a directory for its own sockets there is no daemon; the message names the path, which is not changed.
#[test]
fn an_obstructed_control_socket_is_an_error_with_its_path() {
    for (place, kind, words) in [
        ("r/switchboard", Thing::File, "neither a socket nor a directory"),
        ("r/switchboard", Thing::Link, "symbolic link"),
        ("r/switchboard", Thing::Dangling, "symbolic link"),
        ("r/switchboard/control.sock", Thing::File, "neither a socket nor a directory"),
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
        // Another command that would start it prints the reason, too.
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
    swb.keepty("one", KeeptyRole::Monitor, 80, 24).ack();
}

#[test]
fn a_runtime_directory_with_a_too_long_path_is_reported() {
    let swb = Swb::new(EXE);
    let long = swb.dir().join("x".repeat(100));
    for arguments in [&["daemon"][..], &["ls"]] {
        let output = swb.command(arguments).env("XDG_RUNTIME_DIR", &long).output().unwrap();
        let error = said(&output);
        assert!(!output.status.success() && error.contains("too long"), "{error}");
        assert!(error.contains(long.to_str().unwrap()), "{error}");
    }
}

#[test]
fn missing_directories_are_created() {
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
fn without_a_home_every_command_reports_what_to_do() {
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
            // CB-2: one of them has no place then.
            let wanted = match dialect["name"].as_str() {
                Some("clippy") => "failed: XDG_RUNTIME_DIR is not set",
                _ => "listening",
            };
            assert_eq!(dialect["state"], wanted, "{status}");
        }
        let mut monitor = KeeptyClient::connect(&away.swb.dir().join("r/keepty/keepty-one.sock")).unwrap();
        monitor.hello(KeeptyRole::Monitor, 80, 24);
        monitor.ack();
        // And the next daemon is found in the same place.
        signal(status["daemon"]["pid"].as_i64().unwrap(), Signal::KILL);
        let list = away.run(&["ls", "--json"]);
        assert!(String::from_utf8_lossy(&list.stdout).contains("\"one\""), "{}", said(&list));
        assert_eq!(said(&list), "");
    }
}

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
