//! Tokens: what they allow, and when they end.

use crate::SWB;
use serde_json::json;
use swb_testkit::{Swb, sorted_keys, wait_for};

#[test]
fn a_token_is_shown_once_and_listed_without_its_secret() {
    let swb = Swb::start(SWB);
    let added = swb.json(&["token", "add"]);
    assert_eq!(
        (&added["role"], &added["label"], &added["expires"]),
        (&json!("watch"), &json!(null), &json!(null))
    );
    assert_eq!(sorted_keys(&added), ["expires", "id", "label", "role", "token"]);
    swb.ok(&["token", "add", "--role", "drive", "--label", "phone", "--expires", "2h"]);
    let listed = swb.ok(&["token", "ls", "--json"]);
    assert!(!listed.contains(added["token"].as_str().unwrap()));
    let people = swb.ok(&["token"]);
    assert!(people.contains("phone") && people.contains("drive") && people.contains("watch"), "{people}");
    for bad in [["--expires", "soon"], ["--role", "king"], ["--role", "agent"], ["--expires", "5"]] {
        let refused = swb.run(&["token", "add", bad[0], bad[1]]);
        assert_eq!(refused.status.code(), Some(2), "{bad:?}");
    }
    let nowhere = swb.run(&["token", "add", "--session", "nosuch"]);
    assert_eq!(nowhere.status.code(), Some(3));
    let said = String::from_utf8_lossy(&nowhere.stderr);
    assert!(said.contains("nosuch") && nowhere.stdout.is_empty(), "{nowhere:?}");
    let unknown = swb.run(&["token", "revoke", "nothing"]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn revoking_a_token_cuts_its_connections_at_once() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let added = swb.json(&["token", "add", "--role", "drive", "--label", "phone"]);
    let phone = web.with_token(added["token"].as_str().unwrap());
    let mut terminal = phone.socket("/ws?session=a");
    let mut control = phone.socket("/api/control");
    terminal.message("attached");
    assert_eq!(control.ask(&json!(1), json!({"cmd": "ls"}))["ok"], true);
    let mut owner = web.socket("/ws?session=a");
    owner.message("attached");
    swb.ok(&["token", "revoke", "phone"]);
    terminal.closed();
    control.closed();
    assert_eq!(phone.request("GET", "/api/sessions", "").status, 403);
    owner.input(b"here\r");
    owner.shows("here");
    let other = swb.json(&["token", "add"]);
    swb.ok(&["token", "revoke", other["id"].as_str().unwrap()]);
    assert_eq!(swb.json(&["token", "ls"]), json!([]));
}

#[test]
fn an_expired_token_cuts_its_connections_too() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let phone = web.with_token(&swb.token(&["--expires", "2s"]));
    let mut terminal = phone.socket("/ws?session=a");
    terminal.message("attached");
    terminal.closed();
    assert_eq!(phone.request("GET", "/api/sessions", "").status, 403);
    assert_eq!(swb.json(&["token", "ls"]), json!([]));
}

#[test]
fn a_scope_hides_everything_else() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    swb.make("b", &["cat"]);
    let only_a = web.with_token(&swb.token(&["--role", "drive", "--session", "a"]));
    let names = |listed: serde_json::Value| -> Vec<String> {
        listed.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(only_a.request("GET", "/api/sessions", "").json()), ["a"]);
    assert_eq!(only_a.try_socket("/ws?session=b", &[]).err().unwrap().status, 404);
    assert_eq!(only_a.request("DELETE", "/api/sessions/b", "").status, 404);
    assert_eq!(only_a.request("POST", "/api/sessions", r#"{"workspace":"/tmp"}"#).status, 403);
    let mut control = only_a.socket("/api/control");
    let who = control.ask(&json!(1), json!({"cmd": "whoami"}));
    assert_eq!((&who["role"], &who["session"]), (&json!("drive"), &json!("a")));
    assert_eq!(
        control.ask(&json!(2), json!({"cmd": "screen", "session": "b"}))["error"],
        "SESSION_NOT_FOUND"
    );
    let dir = swb.session("b").unwrap()["workspace"].as_str().unwrap().to_owned();
    let workspace = web.with_token(&swb.token(&["--workspace", &dir]));
    let seen = names(workspace.request("GET", "/api/sessions", "").json());
    assert!(seen.contains(&"b".to_owned()), "{seen:?}");
}

#[test]
fn tokens_survive_a_crash_and_not_an_orderly_stop() {
    let mut swb = Swb::start(SWB);
    let web = swb.web();
    let phone = web.with_token(&swb.token(&["--label", "phone"]));
    let short = web.with_token(&swb.token(&["--expires", "3s"]));
    swb.kill_daemon();
    wait_for("the server to be back", || {
        (web.request("GET", "/api/sessions", "").status == 200).then_some(())
    });
    assert_eq!(phone.request("GET", "/api/sessions", "").status, 200);
    wait_for("the token to expire", || {
        (short.request("GET", "/api/sessions", "").status == 403).then_some(())
    });
    swb.ok(&["shutdown"]);
    let _ended = swb.daemon().wait();
    swb.start_daemon();
    assert_eq!(swb.json(&["token", "ls"]), json!([]));
    assert_eq!(swb.json(&["status"])["web"], json!([]));
}
