//! coop's REST.

use crate::SWB;
use serde_json::{Value, json};
use swb_testkit::{Swb, resize, sorted_keys, wait_for};

// CO-45, CO-69
#[test]
fn sessions_are_listed_created_and_killed() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    assert_eq!(web.request("GET", "/api/sessions", "").json(), json!([]));
    let dir = swb.workspace("api");
    let coopfile = swb.paths().default_coopfile();
    std::fs::create_dir_all(coopfile.parent().unwrap()).unwrap();
    std::fs::write(coopfile, "[agent]\ncommand = \"cat\"\n").unwrap();
    let create = json!({"name": "api", "workspace": dir}).to_string();
    let created = web.request("POST", "/api/sessions", &create);
    assert_eq!(created.status, 200, "{created:?}");
    assert_eq!((&created.json()["ok"], &created.json()["session"]), (&json!(true), &json!("api")));
    let again = web.request("POST", "/api/sessions", &create);
    assert_eq!((again.status, &again.json()["error"]), (409, &json!("SESSION_EXISTS")));
    let listed = web.request("GET", "/api/sessions", "").json();
    assert_eq!(
        sorted_keys(&listed[0]),
        ["created", "local_clients", "name", "pid", "ptys", "web_clients", "workspace"]
    );
    let killed = web.request("DELETE", "/api/sessions/api", "");
    assert_eq!((killed.status, &killed.json()["ok"]), (200, &json!(true)));
    wait_for("the session to end", || {
        (web.request("GET", "/api/sessions", "").json() == json!([])).then_some(())
    });
    let unknown = web.request("DELETE", "/api/sessions/api", "");
    assert_eq!((unknown.status, &unknown.json()["error"]), (404, &json!("SESSION_NOT_FOUND")));
}

// CO-69
#[test]
fn a_shell_is_started_without_a_stream() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let started = web.request("POST", "/api/sessions/a/shell", "");
    assert_eq!((started.status, started.json()), (200, json!({"ok": true, "pty": 1})));
    let sized = json!({"command": "/bin/sh", "cols": 50, "rows": 9}).to_string();
    assert_eq!(web.request("POST", "/api/sessions/a/shell", &sized).json(), json!({"ok": true, "pty": 2}));
    let mut shell = web.socket("/ws?session=a&pty=2");
    let attached = shell.message("attached");
    assert_eq!((&attached["cols"], &attached["rows"]), (&json!(50), &json!(9)));
    shell.input(b"echo $((6*7))\r");
    shell.shows("42");
    let unknown = web.request("POST", "/api/sessions/none/shell", "{}");
    assert_eq!(unknown.status, 404);
}

// CO-26, CO-69
#[test]
fn the_coopfile_of_a_workspace_counts_as_on_coops_socket() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let dir = swb.workspace("api");
    std::fs::write(
        dir.join("coop.toml"),
        "[agent]\ncommand = \"sh\"\nargs = [\"-c\", \"echo from the file; cat\"]\n",
    )
    .unwrap();
    let created = web.request("POST", "/api/sessions", &json!({"workspace": dir}).to_string());
    assert_eq!(created.status, 200, "{created:?}");
    web.socket("/ws?session=api").shows("from the file");
    let home = web.request("POST", "/api/sessions", r#"{"name":"home","workspace":"~"}"#);
    assert_eq!(home.status, 200, "{home:?}");
}

// CO-69
#[test]
fn malformed_bodies_are_refused() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    for body in [
        "",
        "not JSON",
        "[]",
        "{}",
        r#"{"workspace":5}"#,
        r#"{"workspace":"/nonexistent"}"#,
        r#"{"workspace":"/tmp","name":"a b/c"}"#,
    ] {
        let refused = web.request("POST", "/api/sessions", body);
        assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("INVALID_COMMAND")), "{body}");
    }
    let shell = web.request("POST", "/api/sessions/a/shell", r#"{"cols":"wide"}"#);
    assert_eq!(shell.status, 400);
    let huge = format!(r#"{{"workspace":"{}"}}"#, "x".repeat(2 << 20));
    assert_eq!(web.request("POST", "/api/sessions", &huge).status, 413);
    // An announced length is refused before the body comes.
    let announced = format!(
        "POST /api/sessions?token={} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n",
        web.token
    );
    assert_eq!(web.raw(&announced).status, 413);
    assert_eq!(web.request("PUT", "/api/sessions", "").status, 405);
    assert_eq!(web.request("GET", "/../../etc/passwd", "").status, 404);
    assert_eq!(web.request("GET", "/assets/%2e%2e/%2e%2e/etc/passwd", "").status, 404);
}

// CO-72
#[test]
fn a_terminal_is_resized_by_request() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let resized = web.request("POST", "/api/sessions/a/pty/0/resize", &resize(91, 33).to_string());
    assert_eq!((resized.status, resized.json()), (200, json!({"ok": true})));
    let size = || swb.session("a").map(|item| (item["cols"].clone(), item["rows"].clone()));
    wait_for("the new size", || (size() == Some((json!(91), json!(33)))).then_some(()));
    let refused = web.request("POST", "/api/sessions/a/pty/7/resize", &resize(91, 33).to_string());
    assert_eq!((refused.status, &refused.json()["error"]), (404, &json!("PTY_NOT_FOUND")));
    assert_eq!(web.request("POST", "/api/sessions/a/pty/x/resize", "{}").status, 400);
    let watcher = web.with_token(&swb.token(&["--role", "watch"]));
    let resize = resize(40, 10).to_string();
    assert_eq!(watcher.request("POST", "/api/sessions/a/pty/0/resize", &resize).status, 403);
    let mut sized = web.socket("/api/sessions/a/pty?pty=0&cols=77&rows=21");
    assert_eq!(sized.message("attached")["cols"], 77);
}

#[test]
fn interfaces_are_described_by_documents() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let openapi = web.request("GET", "/api/openapi.json", "").json();
    assert!(openapi["paths"]["/api/sessions"]["post"].is_object());
    let schema = web.request("GET", "/api/schema.json", "").json();
    let titles: Vec<&Value> = schema["oneOf"].as_array().unwrap().iter().map(|one| &one["title"]).collect();
    assert!(titles.contains(&&json!("approval")) && titles.contains(&&json!("filter")));
    for path in ["/api/openapi.json", "/api/schema.json"] {
        assert_eq!(web.bare("GET", path, &[], "").status, 403, "{path}");
    }
}
