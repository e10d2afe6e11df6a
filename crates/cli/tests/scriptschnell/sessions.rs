//! Sessions on the scriptschnell socket: created, found, listed, detached, deleted.

use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use swb_testkit::{ChatClient, Swb, is_alive, of_kind, wait_for};
use swb_types::Timestamp;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// What is listed, for a workspace if one is given.
#[track_caller]
fn listed(client: &mut ChatClient, workspace: Option<&Path>) -> Vec<Value> {
    let data = workspace.map_or(json!({}), |dir| json!({"workspace": dir}));
    let answer = client.ok_as("session_list", data, "session_list_response");
    answer["sessions"].as_array().unwrap().clone()
}

/// The names of what is listed, in order of their names.
#[track_caller]
fn names(client: &mut ChatClient, workspace: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = listed(client, workspace)
        .iter()
        .map(|item| item["session_id"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn time(value: &Value) -> Timestamp {
    Timestamp::parse(value.as_str().unwrap()).unwrap()
}

// SS-29, SS-32
#[test]
fn a_session_is_created_and_attached() {
    let swb = Swb::start(EXE);
    let dir = swb.workspace("project");
    let mut client = swb.chat();
    let created = client.ok_as("session_create", json!({"workspace": dir}), "session_create_response");
    assert_eq!(created["status"], "created");
    assert_eq!((&created["workspace"], &created["working_dir"]), (&json!(dir), &json!(dir)));
    time(&created["created_at"]);
    let name = created["session_id"].as_str().unwrap();
    let words: Vec<&str> = name.split('-').collect();
    assert_eq!(words.len(), 3, "{name}");
    assert!(
        words.iter().all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())),
        "{name}"
    );
    let detached = client.ok("session_detach", json!({}));
    assert_eq!(detached, json!({"session_id": name, "status": "detached"}));
}

// SS-30
#[test]
fn the_directory_is_the_working_dir_else_the_workspace_else_the_connections() {
    let swb = Swb::start(EXE);
    let (a, b, c) = (swb.workspace("a"), swb.workspace("b"), swb.workspace("c"));
    let mut client = swb.chat();
    assert_eq!(client.refused("session_create", json!({})), "INVALID_REQUEST");
    let mut made = |data: Value| {
        let created = client.ok_as("session_create", data, "session_create_response");
        assert_eq!(created["workspace"], created["working_dir"]);
        created["working_dir"].as_str().unwrap().to_owned()
    };
    assert_eq!(Path::new(&made(json!({"working_dir": a, "workspace": b}))), a);
    assert_eq!(Path::new(&made(json!({"workspace": b}))), b);
    client.ok("session_detach", json!({}));
    client.ok("workspace_set", json!({"workspace": c}));
    let mut made =
        |data: Value| client.ok_as("session_create", data, "session_create_response")["working_dir"].clone();
    assert_eq!(made(json!({})), json!(c));
    assert_eq!(made(json!({"workspace": b})), json!(b));
}

// SS-31
#[test]
fn the_working_directory_must_be_a_directory() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    let dir = swb.dir().join("w");
    std::fs::write(dir.join("file"), "").unwrap();
    symlink("nowhere", dir.join("dangling")).unwrap();
    for wrong in [dir.join("missing"), dir.join("file"), dir.join("dangling"), dir.join("file/below")] {
        for key in ["workspace", "working_dir"] {
            assert_eq!(
                client.refused("session_create", json!({key: wrong})),
                "WORKSPACE_INVALID",
                "{wrong:?}"
            );
        }
    }
    for wrong in ["relative/path", ".", "\u{0}", "/\u{0}x"] {
        let code = client.refused("session_create", json!({"workspace": wrong}));
        assert!(["WORKSPACE_INVALID", "INVALID_REQUEST"].contains(&code.as_str()), "{wrong:?}: {code}");
    }
    assert_eq!(names(&mut client, None), [] as [&str; 0], "nothing was made");
}

// SS-31
#[test]
fn an_inaccessible_directory_is_rejected() {
    obey_file_modes();
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    let closed = swb.workspace("closed");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(client.refused("session_create", json!({"workspace": closed})), "WORKSPACE_ACCESS_DENIED");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
}

/// File modes bind root, too, in programs that this thread starts from now on.
fn obey_file_modes() {
    if rustix::process::geteuid().is_root() {
        for capability in [CapabilitySet::DAC_OVERRIDE, CapabilitySet::DAC_READ_SEARCH] {
            remove_capability_from_bounding_set(capability).unwrap();
        }
    }
}

// SS-32
#[test]
fn a_name_in_use_is_rejected() {
    let swb = Swb::start(EXE);
    let mut first = swb.chat_in("mine");
    let dir = swb.dir().join("w");
    let again = json!({"workspace": dir, "session_id": "mine"});
    assert_eq!(first.refused("session_create", again.clone()), "SESSION_EXISTS");
    assert_eq!(swb.chat().refused("session_create", again.clone()), "SESSION_EXISTS");
    // A client that was refused is still attached to what it was attached to.
    assert_eq!(first.ok("session_detach", json!({}))["session_id"], "mine");
    first.ok("session_delete", json!({"session_id": "mine"}));
    assert_eq!(first.create(again), "mine");
}

// XS-2: names are shared with all other fronts.
#[test]
fn a_name_in_use_by_another_dialect_is_rejected() {
    let swb = Swb::start(EXE);
    swb.make("terminal", &["sh", "-c", "sleep 1000"]);
    let mut client = swb.chat_in("talk");
    let dir = swb.dir().join("w");
    let wanted = json!({"workspace": dir, "session_id": "terminal"});
    assert_eq!(client.refused("session_create", wanted), "SESSION_EXISTS");
    let wanted = json!({"cmd": "create", "name": "talk", "workspace": dir, "argv": ["true"]});
    let answer = swb.coop().ask(&wanted);
    assert_eq!(answer["ok"], false, "{answer}");
}

// SS-33
#[test]
fn invalid_names_are_rejected() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    let dir = swb.dir().join("w");
    for wrong in
        ["../x", ".", "..", "a/b", "a b", "ä", "a\n", "a\u{0}", "a:b", "~", "a*", &"x".repeat(10_000)]
    {
        let data = json!({"workspace": dir, "session_id": wrong});
        assert_eq!(client.refused("session_create", data), "INVALID_REQUEST", "{wrong:?}");
    }
    for right in ["a", "A.b_c-D", "0", "...", "_x"] {
        assert_eq!(client.create(json!({"workspace": dir, "session_id": right})), right);
    }
}

// SS-34
#[test]
fn attaching_to_an_unknown_session_is_rejected() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    assert_eq!(client.refused("session_attach", json!({"session_id": "nobody"})), "SESSION_NOT_FOUND");
    assert_eq!(client.refused("session_attach", json!({})), "INVALID_REQUEST");
    assert_eq!(client.refused("session_attach", json!({"session_id": ""})), "INVALID_REQUEST");
}

// SS-34
#[test]
fn a_detached_session_can_be_attached_again() {
    let swb = Swb::start(EXE);
    let dir = swb.dir().join("w");
    let mut client = swb.chat_in("talk");
    client.ok("session_detach", json!({}));
    for mut client in [client, swb.chat()] {
        let attached = client.ok("session_attach", json!({"session_id": "talk"}));
        let wanted =
            json!({"session_id": "talk", "status": "attached", "workspace": dir, "working_dir": dir});
        for (key, value) in wanted.as_object().unwrap() {
            assert_eq!(&attached[key], value, "{attached}");
        }
        client.ok("session_detach", json!({}));
    }
}

// SS-37
#[test]
fn detaching_without_a_session_is_rejected() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    assert_eq!(client.refused("session_detach", json!({})), "OPERATION_NOT_ALLOWED");
    client.create(json!({"workspace": swb.dir().join("w")}));
    client.ok("session_detach", json!({}));
    assert_eq!(client.refused("session_detach", json!({})), "OPERATION_NOT_ALLOWED");
}

// SS-38
#[test]
fn a_connection_is_in_one_session_at_a_time() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("one");
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "two"}));
    // The first one has no owner now, so the next who comes is.
    let mut other = swb.chat();
    assert_eq!(other.ok("session_attach", json!({"session_id": "one"}))["status"], "attached");
    assert_eq!(other.answer_to("say:from one"), "from one");
    let seen = client.so_far();
    assert!(of_kind(&seen, "chat_message").is_empty(), "{seen:?}");
    assert_eq!(other.ok("session_attach", json!({"session_id": "two"}))["status"], "observing");
    assert_eq!(client.ok("session_attach", json!({"session_id": "one"}))["status"], "attached");
    assert_eq!(client.ok("session_detach", json!({}))["session_id"], "one");
}

// SS-39
#[test]
fn sessions_are_listed_by_workspace() {
    let swb = Swb::start(EXE);
    let (a, b) = (swb.workspace("a"), swb.workspace("b"));
    let mut client = swb.chat();
    assert_eq!(names(&mut client, None), [] as [&str; 0]);
    for (name, dir) in [("a1", &a), ("a2", &a), ("b1", &b)] {
        client.create(json!({"workspace": dir, "session_id": name}));
    }
    assert_eq!(names(&mut client, Some(&a)), ["a1", "a2"]);
    assert_eq!(names(&mut client, Some(&b)), ["b1"]);
    assert_eq!(names(&mut client, Some(&b.join(""))), ["b1"], "with a slash at its end");
    assert_eq!(names(&mut client, Some(Path::new("/no/such/dir"))), [] as [&str; 0]);
    let mut other = swb.chat();
    assert_eq!(names(&mut other, None), ["a1", "a2", "b1"], "all, for who has no workspace");
    other.ok("workspace_set", json!({"workspace": a}));
    assert_eq!(names(&mut other, None), ["a1", "a2"]);
    assert_eq!(names(&mut other, Some(&b)), ["b1"]);
}

// SS-40, SS-41
#[test]
fn a_list_describes_each_session() {
    let swb = Swb::scripted(EXE, "");
    let dir = swb.dir().join("w");
    let mut client = swb.chat_in("talk");
    let new = &listed(&mut client, None)[0];
    for (key, value) in [
        ("session_id", json!("talk")),
        ("id", json!("talk")),
        ("workspace", json!(dir)),
        ("working_dir", json!(dir)),
        ("title", json!("")),
        ("message_count", json!(0)),
        ("status", json!("idle")),
        ("message_history", json!([])),
    ] {
        assert_eq!(new[key], value, "{new}");
    }
    let gate = swb.dir().join("gate");
    client.answer_to("say:hello");
    let id = client.prompt(&format!("say:begun;await:{}", gate.display()));
    client.until("begun");
    let busy = listed(&mut client, None).remove(0);
    assert_eq!((&busy["status"], &busy["message_count"]), (&json!("active"), &json!(3)));
    std::fs::write(&gate, "").unwrap();
    client.generation(&id);
    let idle = listed(&mut client, None).remove(0);
    assert_eq!((&idle["status"], &idle["message_count"]), (&json!("idle"), &json!(4)));
    assert_eq!(idle["title"], "say:hello");
    assert_eq!(idle["created_at"], new["created_at"]);
    assert!(time(&idle["updated_at"]) >= time(&new["updated_at"]));
    let history = idle["message_history"].as_array().unwrap();
    let said: Vec<(&str, &str)> =
        history.iter().map(|m| (m["role"].as_str().unwrap(), m["content"].as_str().unwrap())).collect();
    assert_eq!(said[..2], [("user", "say:hello"), ("assistant", "hello")]);
    assert_eq!(said[3], ("assistant", "begun"));
    assert!(history.iter().all(|message| time(&message["timestamp"]) >= time(&new["created_at"])));
}

// SS-41: what answers have cost.
#[test]
fn a_list_has_the_cost_of_each_session() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    client.answer_to("cost:100,20;say:x");
    client.answer_to("cost:10,2;say:x");
    let listed = listed(&mut client, None).remove(0);
    assert_eq!(listed["total_tokens"], 132, "{listed}");
}

// XS-3: terminals of ours can be talked to, so they are listed.
#[test]
fn terminals_are_listed_too() {
    let swb = Swb::start(EXE);
    swb.make("terminal", &["sh", "-c", "sleep 1000"]);
    let mut client = swb.chat();
    assert_eq!(names(&mut client, None), ["terminal"]);
    assert_eq!(client.ok("session_attach", json!({"session_id": "terminal"}))["status"], "attached");
    assert_eq!(names(&mut client, None), ["terminal"], "once");
}

// SS-42, SS-43
#[test]
fn a_session_is_deleted_by_its_owner_or_when_it_has_none() {
    let swb = Swb::start(EXE);
    let mut owner = swb.chat_in("talk");
    let mut other = swb.chat();
    assert_eq!(other.refused("session_delete", json!({"session_id": "nobody"})), "SESSION_NOT_FOUND");
    assert_eq!(other.refused("session_delete", json!({})), "INVALID_REQUEST");
    assert_eq!(other.refused("session_delete", json!({"session_id": "talk"})), "OPERATION_NOT_ALLOWED");
    other.ok("session_attach", json!({"session_id": "talk"}));
    assert_eq!(other.refused("session_delete", json!({"session_id": "talk"})), "OPERATION_NOT_ALLOWED");
    let deleted = owner.ok("session_delete", json!({"session_id": "talk", "workspace": swb.dir().join("w")}));
    assert_eq!(deleted, json!({"session_id": "talk", "status": "deleted"}));
    assert_eq!(owner.refused("session_detach", json!({})), "OPERATION_NOT_ALLOWED", "it is detached");
    let code = other.refused("chat_send", json!({"content": "hi"}));
    assert!(["OPERATION_NOT_ALLOWED", "SESSION_NOT_FOUND"].contains(&code.as_str()), "{code}");
    assert_eq!(names(&mut other, None), [] as [&str; 0]);
    assert_eq!(owner.refused("session_delete", json!({"session_id": "talk"})), "SESSION_NOT_FOUND");
    let pid = swb.script("terminal", "cat");
    assert_eq!(owner.refused("session_delete", json!({"session_id": "terminal"})), "OPERATION_NOT_ALLOWED");
    assert!(is_alive(pid), "a terminal that nobody has talked to is none of its sessions");
    owner.create(json!({"workspace": swb.dir().join("w"), "session_id": "free"}));
    owner.ok("session_detach", json!({}));
    other.ok("session_delete", json!({"session_id": "free"}));
}

// SS-43: also while the agent is at work, which ends it; a client that waited for the answer gets a reply.
#[test]
fn deleting_ends_the_generation() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let id = client.prompt("pid;hang");
    let pid: i64 = client.until(" ").trim().parse().unwrap();
    client.ok("session_delete", json!({"session_id": "talk"}));
    let answer = client.answer(&id);
    assert!(answer["data"]["status"] == "stopped" || answer["type"] == "error", "{answer}");
    wait_for("the agent's end", || (!swb_testkit::is_alive(pid)).then_some(()));
    assert_eq!(names(&mut client, None), [] as [&str; 0]);
}

// SS-38: more sessions on one connection where that is configured; data may say which one is meant.
#[test]
fn a_connection_may_have_several_sessions_if_configured() {
    let swb = Swb::scripted(EXE, "[scriptschnell]\nmax_sessions_per_connection = 2");
    let mut client = swb.chat_in("one");
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "two"}));
    let mut other = swb.chat();
    assert_eq!(other.ok("session_attach", json!({"session_id": "one"}))["status"], "observing");
    let id = client.begin("chat_send", json!({"content": "say:first", "session_id": "one"}));
    let events = client.generation(&id).events;
    assert!(of_kind(&events, "chat_message").iter().all(|event| event["session_id"] == "one"), "{events:?}");
    let id = client.prompt("say:second");
    let events = client.generation(&id).events;
    assert!(of_kind(&events, "chat_message").iter().all(|event| event["session_id"] == "two"), "{events:?}");
}
