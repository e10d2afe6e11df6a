//! Paths that clients and repositories name, and that do not respond: no other request waits for them.

use crate::support::hung_mount::HungMount;
use crate::support::needs;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use swb_testkit::{CoopClient, Swb};
use swb_wire::clippy::{PeerRole, Request, Sink};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Sends a request and leaves its reply for later.
fn asked(swb: &Swb, request: &Value) -> CoopClient {
    let mut client = swb.control();
    client.send(request);
    client
}

/// The error in a reply.
#[track_caller]
fn complaint(client: &mut CoopClient) -> String {
    let answer = client.answer().unwrap();
    assert_eq!(answer["ok"], false, "{answer}");
    answer["message"].as_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs root and FUSE: run by cargo xtask ci"]
fn requests_with_a_path_that_never_responds_delay_no_other_client() {
    needs::root();
    needs::fuse();
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let linked = swb.workspace("linked");
    let hung = HungMount::new(&swb.dir().join("hung"));
    let path = hung.path();
    std::os::unix::fs::symlink(&path, linked.join("coop.toml")).unwrap();
    let mut clients: Vec<CoopClient> = [
        json!({"cmd": "attach", "session": path.join("attach")}),
        json!({"cmd": "kill", "session": path.join("kill")}),
        json!({"cmd": "create", "workspace": path.join("create"), "argv": ["cat"]}),
        json!({"cmd": "create", "workspace": linked}),
        json!({"cmd": "workspace", "path": path.join("workspace")}),
        json!({"cmd": "upgrade", "exe": path.join("swb")}),
    ]
    .iter()
    .map(|request| asked(&swb, request))
    .collect();
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    wrapper.register("wrapped");
    wrapper.turn("wrapped", b"text");
    wrapper.ok(&Request::Capture { session: "wrapped" });
    let sink = path.join("sink").to_str().unwrap().to_owned();
    let mut chat = swb.chat();
    let directory = path.join("chat");
    let (sunk, created) = std::thread::scope(|scope| {
        let sunk = scope.spawn(|| wrapper.refused(&Request::Deliver(Sink::File { path: &sink })));
        let created = scope.spawn(|| chat.ask("session_create", json!({"working_dir": directory})));
        // All of these are waiting now, or will be: everyone else is served.
        for _ in 0..3 {
            assert_eq!(swb.json(&["ls"])[0]["name"], "one");
            let mut other = swb.attach("one");
            other.type_in(b"echoed\r");
            other.until("echoed");
        }
        swb.ok(&["kill", "one"]);
        (sunk.join().unwrap(), created.join().unwrap())
    });
    assert_eq!(sunk, "file_write_failed");
    assert_eq!(created["error"]["code"], "WORKSPACE_ACCESS_DENIED", "{created}");
    for client in &mut clients {
        let error = complaint(client);
        assert!(error.contains("does not respond"), "{error}");
        let named = [path.to_str().unwrap(), linked.to_str().unwrap()];
        assert!(named.iter().any(|path| error.contains(path)), "{error}");
        // The connection is of further use.
        client.ok(&json!({"cmd": "ls"}));
    }
    // Calls that never return do not delay the end either.
    swb.ok(&["shutdown"]);
}

#[test]
fn a_coop_file_that_is_no_file_is_an_error() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("w");
    let file = workspace.join("coop.toml");
    let create = json!({"cmd": "create", "workspace": workspace});
    let error = |swb: &Swb| complaint(&mut asked(swb, &create));
    fifo(&file);
    assert!(error(&swb).ends_with("coop.toml: not a regular file, but a FIFO"), "{}", error(&swb));
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    assert!(error(&swb).ends_with("coop.toml: not a regular file, but a device"), "{}", error(&swb));
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(error(&swb).ends_with("coop.toml: not a regular file, but a directory"), "{}", error(&swb));
}

#[test]
fn a_coop_file_that_turns_into_a_fifo_blocks_nothing() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("w");
    let at = |name: &str| workspace.join(name);
    // Invalid, so that no session is created.
    std::fs::write(at("file"), "[agent").unwrap();
    fifo(&at("fifo"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for source in ["file", "fifo"] {
                    std::fs::hard_link(at(source), at("next")).unwrap();
                    std::fs::rename(at("next"), at("coop.toml")).unwrap();
                }
            }
        });
        let mut client = swb.control();
        for _ in 0..500 {
            client.error(&json!({"cmd": "create", "workspace": workspace}));
        }
        done.store(true, Ordering::Relaxed);
    });
}

// CO-30
#[test]
fn a_session_is_found_by_a_link_to_its_workspace() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("real");
    let link = swb.dir().join("w/link");
    std::os::unix::fs::symlink(&workspace, &link).unwrap();
    let create = json!({"cmd": "create", "name": "one", "workspace": workspace, "argv": ["cat"]});
    swb.control().ok(&create);
    let listed = swb.control().ok(&json!({"cmd": "sessionls", "session": link}));
    assert_eq!(listed["session"], "one");
    assert_eq!(swb.control().error(&json!({"cmd": "attach", "session": "/no/such"})), "SESSION_NOT_FOUND");
}
