//! coop: creating sessions — names, workspaces, Coopfiles, and what our own clients add to `create`.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use swb_testkit::{StreamItem, Swb, is_alive, wait_for};
use swb_wire::keepty::KeeptyRole;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

// CO-19, CO-20, CO-25
#[test]
fn create_starts_the_agent_in_its_workspace_and_stays_in_command_mode() {
    let swb = Swb::start(EXE);
    let mut client = swb.coop();
    for (name, detach) in [("attached", json!(false)), ("detached", json!(true)), ("neither", Value::Null)] {
        let workspace = swb.workspace(name);
        let answer = client.ok(&json!({
            "cmd": "create", "workspace": workspace, "coopfile": coopfile("exec cat"), "detach": detach,
        }));
        let pid = answer["pid"].as_i64().unwrap();
        assert_eq!(answer, json!({"ok": true, "session": name, "pid": pid}));
        assert!(is_alive(pid));
        wait_for("the agent's directory", || {
            (std::fs::read_link(format!("/proc/{pid}/cwd")).ok()? == workspace.canonicalize().unwrap())
                .then_some(())
        });
        // A stream would send old output now; commands are still answered instead.
        assert_eq!(session(&client.ok(&json!({"cmd": "ls"})), name)["pid"], pid);
    }
    client.ok(&json!({"cmd": "attach", "session": "attached"}));
    client.type_in(b"hello\r");
    client.until("hello");
}

// CO-20
#[test]
fn the_name_is_the_last_component_of_the_workspace_as_it_was_given() {
    let swb = Swb::start(EXE);
    let real = swb.workspace("real name");
    std::os::unix::fs::symlink(&real, swb.dir().join("w/alias")).unwrap();
    let given = [
        (real.clone(), "real name"),
        (swb.dir().join("w/alias"), "alias"),
        (swb.workspace("slash").join(""), "slash"),
        (swb.workspace("dot").join("."), "dot"),
        (swb.workspace("up/below").join(".."), "up"),
    ];
    for (workspace, name) in given {
        let answer = swb
            .coop()
            .ok(&json!({"cmd": "create", "workspace": workspace, "coopfile": coopfile("exec cat")}));
        assert_eq!(answer["session"], name);
        swb.coop().ok(&json!({"cmd": "kill", "session": name}));
    }
}

// CO-21
#[test]
fn a_name_in_use_is_refused_and_named() {
    let swb = Swb::start(EXE);
    swb.make("box", &["cat"]);
    let answer =
        swb.coop().ask(&json!({"cmd": "create", "name": "box", "workspace": swb.workspace("elsewhere")}));
    assert_eq!(
        (&answer["ok"], &answer["error"], &answer["session"]),
        (&json!(false), &json!("SESSION_EXISTS"), &json!("box"))
    );
    assert_eq!(names(&swb), ["box"]);
    // Another directory of the same name means the same name.
    let answer = swb.coop().ask(&json!({"cmd": "create", "workspace": swb.workspace("other/box")}));
    assert_eq!((&answer["error"], &answer["session"]), (&json!("SESSION_EXISTS"), &json!("box")));
}

// CO-22
#[test]
fn a_workspace_has_one_session_made_by_coop_whatever_it_is_called() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let create = |name: &str, workspace: &Path| json!({"cmd": "create", "name": name, "workspace": workspace, "coopfile": coopfile("exec cat")});
    // Made in another way, so it binds nothing.
    swb.coop().ok(&json!({"cmd": "create", "name": "run", "workspace": workspace, "argv": ["cat"]}));
    swb.coop().ok(&create("first", &workspace));
    swb.coop().ok(&json!({"cmd": "create", "name": "run2", "workspace": workspace, "argv": ["cat"]}));
    std::os::unix::fs::symlink(&workspace, swb.dir().join("w/link")).unwrap();
    for same in [workspace.clone(), workspace.join(""), swb.dir().join("w/link")] {
        let answer = swb.coop().ask(&create("second", &same));
        assert_eq!((&answer["error"], &answer["session"]), (&json!("SESSION_EXISTS"), &json!("first")));
    }
    assert_eq!(names(&swb), ["first", "run", "run2"]);
    // Only a live session binds its workspace.
    swb.coop().ok(&json!({"cmd": "kill", "session": "first"}));
    swb.coop().ok(&create("second", &workspace));
}

// CO-23
#[test]
fn invalid_names_are_rejected() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    for name in ["", ".", "..", "a/b", "/", "../x", "a\0b", "a\nb"] {
        let code = swb.coop().error(&json!({"cmd": "create", "name": name, "workspace": workspace}));
        assert_eq!(code, "INVALID_COMMAND", "{name:?}");
    }
    assert_eq!(names(&swb), [] as [&str; 0]);
    for name in ["a b", "ü", "...", "-x", "x:y"] {
        let answer =
            swb.coop().ok(&json!({"cmd": "create", "name": name, "workspace": workspace, "argv": ["cat"]}));
        assert_eq!(answer["session"], name);
    }
}

// CO-24
#[test]
fn a_workspace_that_is_not_a_directory_is_rejected() {
    let swb = Swb::start(EXE);
    let file = swb.dir().join("w/file");
    std::fs::write(&file, "").unwrap();
    let bad = [swb.dir().join("w/missing"), file.clone(), file.join("below"), "relative".into(), "".into()];
    for workspace in bad {
        for extra in [json!({}), json!({"argv": ["cat"]})] {
            let mut request = json!({"cmd": "create", "name": "x", "workspace": workspace});
            request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            assert_eq!(swb.coop().error(&request), "INVALID_COMMAND", "{workspace:?}");
        }
    }
    assert_eq!(names(&swb), [] as [&str; 0]);
    assert!(!swb.dir().join("w/missing").exists());
}

// CO-26
#[test]
fn later_coopfiles_win_over_earlier_ones() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let says = |text: &str| coopfile(&format!("echo it is {text}; exec cat"));
    let from = |coopfile: Option<String>| {
        let mut client = swb.coop();
        client.ok(&json!({"cmd": "create", "workspace": workspace, "coopfile": coopfile}));
        let pid = session(&client.ok(&json!({"cmd": "ls"})), "ws")["pid"].clone();
        client.ok(&json!({"cmd": "attach", "session": "ws"}));
        let said = if coopfile.as_deref() == Some("") { Vec::new() } else { client.until("\n") };
        swb.coop().ok(&json!({"cmd": "kill", "session": "ws", "force": true}));
        wait_for("its end", || (!is_alive(pid.as_i64()?)).then_some(()));
        String::from_utf8(said).unwrap()
    };

    let default = swb.paths().config_home.join("coop/default.toml");
    std::fs::create_dir_all(default.parent().unwrap()).unwrap();
    std::fs::write(&default, says("the default")).unwrap();
    assert_eq!(from(None), "it is the default\r\n");

    std::fs::write(workspace.join("coop.toml"), says("the workspace")).unwrap();
    assert_eq!(from(None), "it is the workspace\r\n");

    assert_eq!(from(Some(says("the request"))), "it is the request\r\n");
    // A layer without a command does not change it; one may change only the arguments.
    assert_eq!(from(Some("[session]\nauto_restart = false\n".into())), "it is the workspace\r\n");
    assert_eq!(
        from(Some("[agent]\nargs = ['-c', 'echo only arguments; exec cat']\n".into())),
        "only arguments\r\n"
    );
}

// CO-26
#[test]
fn an_invalid_coopfile_is_rejected_with_the_reason() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    for wrong in ["[agent", "[agent]\ncommand = 5\n", "[session]\nauto_restart = 'yes'\n", "agent = 1\n"] {
        let code = swb.coop().error(&json!({"cmd": "create", "workspace": workspace, "coopfile": wrong}));
        assert_eq!(code, "INVALID_COMMAND", "{wrong:?}");
    }
    std::fs::write(workspace.join("coop.toml"), "[agent").unwrap();
    let answer = swb.coop().ask(&json!({"cmd": "create", "workspace": workspace}));
    assert_eq!(answer["error"], "INVALID_COMMAND");
    assert!(answer["message"].as_str().unwrap().contains("coop.toml"), "{answer}");
    assert_eq!(names(&swb), [] as [&str; 0]);
}

// CO-26: without any Coopfile it is the user's shell.
#[test]
fn without_a_coopfile_the_shell_of_the_daemon_is_the_agent() {
    for (shell, command) in [(Some("/bin/cat"), "/bin/cat"), (Some(""), "/bin/sh"), (None, "/bin/sh")] {
        let mut swb = Swb::new(EXE);
        swb.start_daemon_with(|daemon| {
            match shell {
                Some(shell) => daemon.env("SHELL", shell),
                None => daemon.env_remove("SHELL"),
            };
        });
        swb.coop().ok(&json!({"cmd": "create", "workspace": swb.workspace("ws")}));
        let item = session(&swb.coop().ok(&json!({"cmd": "ls"})), "ws");
        assert_eq!(item["ptys"][0]["command"], command);
    }
}

// CO-27
#[test]
fn the_newer_coopfile_layout_is_supported() {
    let swb = Swb::start(EXE);
    let text = "[sandbox]\nagent = '/bin/sh'\nargs = ['-c', 'echo newer; exec cat']\nshell = '/bin/bash'\n";
    swb.coop().ok(&json!({"cmd": "create", "workspace": swb.workspace("ws"), "coopfile": text}));
    swb.attach("ws").until("newer\r\n");
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "ws"}));
    let ptys = &session(&swb.coop().ok(&json!({"cmd": "ls"})), "ws")["ptys"];
    assert_eq!((&ptys[0]["command"], &ptys[1]["command"]), (&json!("/bin/sh"), &json!("/bin/bash")));
}

// CO-28
#[test]
fn the_agent_knows_its_session_and_gets_what_the_coopfile_adds() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let text = coopfile("env > seen; echo done; exec cat")
        + "\n[env]\nPLAIN = 'as it is'\nTAKEN = '$HOME'\nMISSING = '$NO_SUCH_VARIABLE'\nNUMBER = 5\nSHELL = 'changed'\n";
    swb.coop().ok(&json!({"cmd": "create", "name": "me", "workspace": workspace, "coopfile": text}));
    swb.attach("me").until("done");
    let seen = std::fs::read_to_string(workspace.join("seen")).unwrap();
    let value =
        |key: &str| seen.lines().find_map(|line| line.strip_prefix(&format!("{key}="))).map(str::to_owned);
    assert_eq!(value("COOP_SESSION").unwrap(), "me");
    assert_eq!(PathBuf::from(value("COOP_WORKSPACE").unwrap()), workspace.canonicalize().unwrap());
    let created = session(&swb.coop().ok(&json!({"cmd": "ls"})), "me")["created"].as_u64().unwrap();
    assert!(value("COOP_CREATED").unwrap().parse::<u64>().unwrap().abs_diff(created) <= 1);
    assert_eq!(value("PLAIN").unwrap(), "as it is");
    assert_eq!(value("TAKEN").unwrap(), swb.dir().join("h").to_str().unwrap());
    assert_eq!(value("MISSING").unwrap(), "");
    assert_eq!(value("NUMBER").unwrap(), "5");
    assert_eq!(value("SHELL").unwrap(), "changed");
    // The rest is the daemon's.
    assert_eq!(value("XDG_RUNTIME_DIR").unwrap(), swb.dir().join("r").to_str().unwrap());
}

// CO-67
#[test]
fn settings_for_a_sandbox_do_not_keep_the_agent_from_running() {
    let swb = Swb::start(EXE);
    let text = coopfile("echo runs; exec cat")
        + "\n[network]\nmode = 'none'\n[base]\nimage = 'x'\n[packages]\napt = ['y']\n[setup]\nrun = 'z'\n";
    swb.coop().ok(&json!({"cmd": "create", "workspace": swb.workspace("ws"), "coopfile": text}));
    swb.attach("ws").until("runs");
}

// The agent has the terminal, its own session, and nothing else of ours.
#[test]
fn the_process_leads_its_own_session_and_inherits_no_descriptors() {
    let swb = Swb::start(EXE);
    let pid = swb.make("one", &["cat"]);
    let open = || -> BTreeSet<String> {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let standard = BTreeSet::from(["0", "1", "2"].map(str::to_owned));
    // While it starts, it reads its libraries.
    wait_for("nothing but the standard descriptors", || (open() == standard).then_some(()));
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<i64> = stat
        .rsplit_once(") ")
        .unwrap()
        .1
        .split(' ')
        .skip(2)
        .take(3)
        .map(|field| field.parse().unwrap())
        .collect();
    let [group, session, terminal] = fields[..] else { panic!("{stat}") };
    assert_eq!((group, session), (pid, pid));
    assert_ne!(terminal, 0);
}

// ---- additions ----

// 7.1 argv
#[test]
fn argv_runs_unchanged_without_marks_binding_or_restart() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    std::fs::write(workspace.join("coop.toml"), coopfile("echo from the coopfile; exec cat")).unwrap();
    let script = "env | grep -c ^COOP_; printf '[%s]' \"$@\"; exit 3";
    let argv = ["sh", "-c", script, "sh", "two words", "", "$HOME;*"];
    let mut client = swb.coop();
    client
        .ok(&json!({"cmd": "create", "name": "x", "workspace": workspace, "argv": argv, "start": "writer"}));
    client.ok(&json!({"cmd": "attach", "session": "x"}));
    let (data, controls) = client.to_end();
    assert_eq!(String::from_utf8(data).unwrap(), "0\r\n[two words][][$HOME;*]");
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 3})]);
    assert_eq!(names(&swb), [] as [&str; 0]);
    assert_eq!(
        swb.coop().error(&json!({"cmd": "create", "name": "x", "workspace": workspace, "argv": []})),
        "INVALID_COMMAND"
    );
}

// 7.1 env
#[test]
fn env_is_the_complete_environment() {
    let swb = Swb::start(EXE);
    let answer = swb.coop().ok(&json!({
        "cmd": "create", "name": "x", "workspace": swb.workspace("ws"), "argv": ["/bin/cat"],
        "env": {"ONE": "1", "TWO": "two = 2\n"},
    }));
    let environ = std::fs::read(format!("/proc/{}/environ", answer["pid"])).unwrap();
    assert_eq!(String::from_utf8(environ).unwrap(), "ONE=1\0TWO=two = 2\n\0");
    // Without it, the daemon's.
    let pid = swb.make("y", &["/bin/cat"]);
    let environ =
        String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/environ")).unwrap()).into_owned();
    assert!(environ.split('\0').any(|entry| entry == format!("HOME={}", swb.dir().join("h").display())));
}

// 7.1 umask
#[test]
fn the_umask_is_the_one_given_or_the_daemons_at_its_start() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let ask = |name: &str, umask: Value| {
        swb.coop().ok(&json!({
            "cmd": "create", "name": name, "workspace": workspace, "umask": umask,
            "argv": ["sh", "-c", "umask; exec cat"],
        }));
        let shown = String::from_utf8(swb.attach(name).until("\n")).unwrap();
        u32::from_str_radix(shown.trim(), 8).unwrap()
    };
    assert_eq!(ask("given", json!(0o027)), 0o027);
    // Not the daemon's own, which keeps everything private.
    std::fs::write(workspace.join("probe"), "").unwrap();
    let ours = !workspace.join("probe").metadata().unwrap().mode() & 0o666;
    assert_eq!(ask("default", Value::Null) & 0o666, ours);
}

// 7.1 cols, rows
#[test]
fn the_initial_size_is_the_one_given_or_the_default() {
    let swb = Swb::start(EXE);
    let script = "stty size; exec cat";
    let shown = |name: &str, extra: Value| {
        let mut request = json!({"cmd": "create", "name": name, "workspace": swb.workspace(name)});
        request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        swb.coop().ok(&request);
        let mut client = swb.coop();
        client.ok(&json!({"cmd": "attach", "session": name, "watch": true}));
        String::from_utf8(client.until("\n")).unwrap()
    };
    assert_eq!(shown("a", json!({"argv": ["sh", "-c", script]})), "24 80\r\n");
    assert_eq!(shown("b", json!({"argv": ["sh", "-c", script], "cols": 100, "rows": 50})), "50 100\r\n");
    assert_eq!(shown("c", json!({"coopfile": coopfile(script)})), "40 120\r\n");
}

// 7.1 start
#[test]
fn a_session_can_wait_for_its_first_terminal() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let answer = swb.coop().ok(&json!({
        "cmd": "create", "name": "x", "workspace": workspace, "start": "writer",
        "argv": ["sh", "-c", "echo started > mark; stty size; exec cat"],
    }));
    assert_eq!(answer, json!({"ok": true, "session": "x", "pid": 0}));
    let details = |swb: &Swb| session(&swb.coop().ok(&json!({"cmd": "ls", "details": true})), "x");
    assert_eq!(details(&swb)["status"], "starting");

    let mut watcher = swb.coop();
    watcher.ok(&json!({"cmd": "attach", "session": "x", "watch": true, "cols": 33, "rows": 11}));
    watcher.quiet();
    assert!(!workspace.join("mark").exists() && details(&swb)["status"] == "starting");

    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "x", "cols": 91, "rows": 17}));
    assert_eq!(client.until("\n"), b"17 91\r\n");
    assert_eq!(watcher.until("\n"), b"17 91\r\n");
    assert!(is_alive(details(&swb)["pid"].as_i64().unwrap()));
    assert_eq!(details(&swb)["status"], "running");
}

// 7.1 start: a command that cannot be run is reported to those who wait for it.
#[test]
fn a_waiting_session_whose_command_cannot_be_run_ends() {
    let swb = Swb::start(EXE);
    swb.coop().ok(&json!({
        "cmd": "create", "name": "x", "workspace": swb.workspace("ws"), "start": "writer", "argv": ["/no/such"],
    }));
    let mut client = swb.attach("x");
    assert_eq!(client.to_end(), (vec![], vec![json!({"event": "pty_exited", "code": 127})]));
    wait_for("the name", || names(&swb).is_empty().then_some(()));
}

// 7.1 unique
#[test]
fn a_name_in_use_gets_a_number_on_request() {
    let swb = Swb::start(EXE);
    let create = |name: &str| {
        let answer = swb.coop().ok(&json!({
            "cmd": "create", "name": name, "workspace": swb.workspace("ws"), "argv": ["cat"], "unique": true,
        }));
        answer["session"].as_str().unwrap().to_owned()
    };
    assert_eq!([create("x"), create("x"), create("x"), create("y")], ["x", "x-2", "x-3", "y"]);
    swb.coop().ok(&json!({"cmd": "kill", "session": "x-2"}));
    assert_eq!(create("x"), "x-2");
}

// 7.1 hide
#[test]
fn a_session_can_be_kept_out_of_a_dialect() {
    let swb = Swb::start(EXE);
    let create = |name: &str, hide: Value| json!({"cmd": "create", "name": name, "workspace": swb.workspace("ws"), "argv": ["cat"], "hide": hide});
    swb.coop().ok(&create("nokeepty", json!(["keepty"])));
    swb.coop().ok(&create("nocoop", json!(["coop"])));
    assert!(!swb.paths().keepty_socket("nokeepty").exists());
    assert_eq!(names(&swb), ["nokeepty"]);
    swb.attach("nokeepty");
    for cmd in ["attach", "shell", "kill", "tunnel", "sessionls", "logs", "restart"] {
        let code = swb.coop().error(&json!({"cmd": cmd, "session": "nocoop"}));
        assert_eq!(code, "SESSION_NOT_FOUND", "{cmd}");
    }
    // Nor can it be looked at by its position, alive or ended.
    let peek = json!({"cmd": "attach", "session": "nocoop", "offsets": true});
    assert_eq!(swb.coop().error(&peek), "SESSION_NOT_FOUND");
    let mut keepty = swb.keepty("nocoop", KeeptyRole::Writer, 80, 24);
    keepty.ack();
    keepty.type_in(b"hello\r");
    keepty.until("hello");
    // Its name is taken all the same.
    assert_eq!(swb.coop().error(&create("nocoop", json!([]))), "SESSION_EXISTS");
    keepty.type_in(b"\x04");
    keepty.to_end();
    wait_for("its end", || (!swb.paths().keepty_socket("nocoop").exists()).then_some(()));
    assert_eq!(swb.coop().error(&peek), "SESSION_NOT_FOUND");
}

// 7.1 hide: a hidden session does not stand in the way of one that is offered.
#[test]
fn a_workspace_finds_only_sessions_that_are_offered() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let create = |name: &str, hide: Value| json!({"cmd": "create", "name": name, "workspace": workspace, "argv": ["cat"], "hide": hide});
    swb.coop().ok(&create("shown", json!([])));
    swb.coop().ok(&create("zhidden", json!(["coop"])));
    let answer = swb.coop().ok(&json!({"cmd": "sessionls", "session": workspace}));
    assert_eq!(answer["session"], "shown");
}

// 7.1 require, FRONT_FAILED
#[test]
fn a_dialect_that_is_required_and_cannot_offer_the_session_prevents_it() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let create = |name: &str, require: Value| {
        json!({"cmd": "create", "name": name, "workspace": workspace, "require": require,
            "argv": ["sh", "-c", "echo ran >> mark; exec cat"]})
    };
    let long = "n".repeat(104);
    let answer = swb.coop().ask(&create(&long, json!(["keepty"])));
    assert_eq!(answer["error"], "FRONT_FAILED");
    assert!(answer["message"].as_str().unwrap().contains("too long"), "{answer}");

    std::fs::write(swb.paths().keepty_socket("taken"), "a file").unwrap();
    assert_eq!(swb.coop().error(&create("taken", json!(["keepty"]))), "FRONT_FAILED");
    assert_eq!(std::fs::read_to_string(swb.paths().keepty_socket("taken")).unwrap(), "a file");
    assert_eq!(swb.coop().error(&create("x", json!(["nonsense"]))), "FRONT_FAILED");

    assert_eq!(names(&swb), [] as [&str; 0]);
    assert!(!workspace.join("mark").exists(), "nothing was started");
    // Without the requirement they can be made, and with it where it can be met.
    swb.coop().ok(&create(&long, json!([])));
    swb.coop().ok(&create("taken", json!([])));
    swb.coop().ok(&create("x", json!(["keepty", "coop"])));
    for front in ["keepty", "coop"] {
        let mut hidden = create("y", json!([front]));
        hidden["hide"] = json!([front]);
        assert_eq!(swb.coop().error(&hidden), "FRONT_FAILED", "{front} cannot offer what is hidden from it");
    }
    swb.keepty("x", KeeptyRole::Monitor, 1, 1).ack();
}

// 7.1 require: a dialect that is switched off offers nothing.
#[test]
fn a_dialect_that_is_off_cannot_be_required() {
    let mut swb = Swb::new(EXE);
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, "[keepty]\nenabled = false\n").unwrap();
    swb.start_daemon();
    let create = json!({"cmd": "create", "name": "x", "workspace": swb.workspace("ws"), "argv": ["cat"],
        "require": ["keepty"]});
    assert_eq!(swb.coop().error(&create), "FRONT_FAILED");
    assert_eq!(names(&swb), [] as [&str; 0]);
}

// 7.6 SPAWN_FAILED
#[test]
fn a_command_that_cannot_be_started_is_an_error_and_leaves_nothing() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    std::fs::write(workspace.join("plain"), "no program").unwrap();
    let plain = workspace.join("plain").to_str().unwrap().to_owned();
    for (program, reason) in [("/no/such/program", "no such file"), (plain.as_str(), "permission denied")] {
        let answer =
            swb.coop().ask(&json!({"cmd": "create", "name": "x", "workspace": workspace, "argv": [program]}));
        assert_eq!(answer["error"], "SPAWN_FAILED");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(program) && message.contains(reason), "{message}");
        assert_eq!(names(&swb), [] as [&str; 0]);
    }
    let nul = json!({"cmd": "create", "name": "x", "workspace": workspace, "argv": ["cat", "a\u{0}b"]});
    assert_eq!(swb.coop().error(&nul), "SPAWN_FAILED");
    let agent = json!({"cmd": "create", "name": "x", "workspace": workspace, "coopfile": "[agent]\ncommand='/no/such'"});
    assert_eq!(swb.coop().error(&agent), "SPAWN_FAILED");
    // Name and workspace are free at once, also in the other dialect.
    for _ in 0..20 {
        swb.coop().error(&agent);
        swb.coop().ok(&json!({"cmd": "create", "name": "x", "workspace": workspace, "require": ["keepty"],
            "coopfile": coopfile("exec cat")}));
        swb.coop().ok(&json!({"cmd": "kill", "session": "x", "force": true}));
    }
    swb.coop()
        .ok(&json!({"cmd": "create", "name": "x", "workspace": workspace, "coopfile": coopfile("exec cat")}));
    let mut keepty = swb.keepty("x", KeeptyRole::Writer, 80, 24);
    keepty.ack();
    keepty.type_in(b"hello\r");
    keepty.until("hello");
}

// A short life is no failure: the session was made, and its end is reported to every client that asks.
#[test]
fn a_command_that_ends_at_once_was_started() {
    let swb = Swb::start(EXE);
    for round in 0..20 {
        let mut client = swb.coop();
        client.ok(&json!({
            "cmd": "create", "name": "x", "workspace": swb.workspace("ws"), "argv": ["sh", "-c", "echo brief; exit 9"],
        }));
        client.ok(&json!({"cmd": "attach", "session": "x", "offsets": true}));
        let mut data = Vec::new();
        let code = loop {
            match client.item(swb_testkit::LIMIT) {
                Some(StreamItem::Data(bytes)) => data.extend(bytes),
                Some(StreamItem::Control(event)) => break event["code"].clone(),
                other => panic!("{other:?} in round {round}"),
            }
        };
        assert_eq!((data.as_slice(), code), (&b"brief\r\n"[..], json!(9)));
        wait_for("the name", || names(&swb).is_empty().then_some(()));
    }
}

// ---- helpers ----

/// A Coopfile that runs `script` in a shell.
fn coopfile(script: &str) -> String {
    format!("[agent]\ncommand = '/bin/sh'\nargs = ['-c', {}]\n", json!(script))
}

fn session(list: &Value, name: &str) -> Value {
    let sessions = list["sessions"].as_array().unwrap();
    sessions
        .iter()
        .find(|session| session["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {list}"))
        .clone()
}

fn names(swb: &Swb) -> Vec<String> {
    let list = swb.coop().ok(&json!({"cmd": "ls"}));
    let names = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["name"].as_str().unwrap().to_owned());
    names.collect()
}
