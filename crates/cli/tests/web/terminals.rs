//! Open terminals over a WebSocket.

use crate::SWB;
use serde_json::json;
use swb_testkit::{QUIET, Swb, Terminal, resize, stays, wait_for};

fn web_clients(swb: &Swb, name: &str) -> Option<u64> {
    swb.session(name)?["web_clients"].as_u64()
}

// CO-45, CO-71
#[test]
fn recent_output_comes_first_then_live_output_then_the_end() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.script("a", "echo before; read line; echo \"got $line\"; exit 3");
    swb.ok(&["wait", "a", "--text", "before"]);
    let mut client = web.socket("/ws?session=a");
    let attached = client.message("attached");
    assert!(
        attached["offset"].is_u64() && attached["cols"].is_u64() && attached["rows"].is_u64(),
        "{attached}"
    );
    client.shows("before");
    assert_eq!(web_clients(&swb, "a"), Some(1));
    assert_eq!(swb.session("a").unwrap()["local_clients"], 0);
    client.input(b"hello\r");
    client.shows("got hello");
    assert_eq!(client.message("exited"), json!({"type": "exited", "code": 3}));
    client.closed();
}

// CO-71
#[test]
fn unknown_sessions_terminals_and_values_are_refused_before_the_upgrade() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let status = |path: &str| web.try_socket(path, &[]).err().map(|refused| refused.status);
    assert_eq!(status("/ws?session=none"), Some(404));
    assert_eq!(status("/ws?session=a&pty=9"), Some(404));
    for query in ["pty=x", "pty=-1", "resume=x", "resume=1.5", "repaint=yes", "watch=2", "watch="] {
        assert_eq!(status(&format!("/ws?session=a&{query}")), Some(400), "{query}");
    }
    assert_eq!(status("/ws"), Some(400));
    assert_eq!(web.request("GET", "/ws?session=a", "").status, 400, "no upgrade");
    assert_eq!(status("/ws?session=a&watch=0&repaint=0"), None);
}

// CO-45
#[test]
fn a_client_resizes_the_terminal_and_is_notified_of_other_sizes() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let size =
        || swb.session("a").map(|item| (item["cols"].as_u64().unwrap(), item["rows"].as_u64().unwrap()));
    let before = size();
    let mut client = web.socket("/ws?session=a&repaint=1");
    client.message("attached");
    assert_eq!(size(), before, "attaching without a size resizes nothing");
    client.text(&resize(72, 18));
    assert_eq!(client.message("resized"), json!({"type": "resized", "cols": 72, "rows": 18}));
    assert_eq!(size(), Some((72, 18)));
    for bad in [
        r#"{"type":"resize","cols":"wide","rows":1}"#,
        "not JSON",
        r#"{"type":"resize","cols":-1,"rows":70000}"#,
    ] {
        client.raw_text(bad);
        assert!(client.message("notice")["text"].as_str().unwrap().contains("ignored"), "{bad}");
    }
    client.text(&resize(0, 0));
    client.text(&json!({"type": "unknown", "cols": 1}));
    client.input(b"still\r");
    client.shows("still");
    assert_eq!(size(), Some((72, 18)));
}

#[test]
fn a_client_resumes_where_it_stopped() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let mut first = web.socket("/ws?session=a&repaint=1");
    let attached = first.message("attached");
    let picture = first.message("repaint");
    assert_eq!(picture["offset"], attached["offset"]);
    first.input(b"one\r");
    first.shows("one\r\none\r\n");
    let bytes = first.output().len() as u64 - picture["bytes"].as_u64().unwrap();
    let offset = attached["offset"].as_u64().unwrap() + bytes;
    drop(first);
    swb.ok(&["send", "a", "two", "--enter"]);
    let mut second = web.socket(&format!("/ws?session=a&repaint=1&resume={offset}"));
    assert_eq!(second.message("attached")["offset"], offset);
    let output = second.shows("two\r\ntwo\r\n");
    assert!(output.starts_with("two") && second.texts().is_empty(), "{output:?} {:?}", second.texts());
}

#[test]
fn a_client_continues_after_a_crash_of_the_daemon_without_a_byte_lost() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.script("a", "read go; seq 1 3000; read go; seq 3001 6000; echo done; read end");
    let mut client = web.socket("/ws?session=a");
    let offset = client.message("attached")["offset"].as_u64().unwrap();
    client.input(b"\r");
    client.shows("\r\n1000\r\n");
    swb.kill_daemon();
    client.closed();
    let seen = client.output().to_vec();
    let resume = offset + seen.len() as u64;
    let mut again = web.socket(&format!("/ws?session=a&resume={resume}"));
    assert_eq!(again.message("attached")["offset"], resume);
    again.input(b"\r");
    again.shows("done\r\n");
    let all = [seen.as_slice(), again.output()].concat();
    let all = String::from_utf8(all).unwrap();
    let numbers: Vec<u32> = all.lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert_eq!(numbers, (1..=6000).collect::<Vec<u32>>());
}

#[test]
fn a_watcher_types_nothing_resizes_nothing_and_sees_what_fits() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.script("a", "stty -echo; printf 'left%60sright\\n' ''; cat");
    swb.ok(&["wait", "a", "--text", "right"]);
    let size = || swb.session("a").map(|item| (item["cols"].clone(), item["rows"].clone()));
    let before = size();
    let mut watcher = web.socket("/ws?session=a&watch=1&repaint=1");
    watcher.message("attached");
    watcher.shows("right");
    assert_eq!(web_clients(&swb, "a"), Some(1), "watchers count");
    watcher.input(b"typed\r");
    watcher.text(&resize(20, 5));
    watcher.message("repaint");
    assert_eq!(size(), before);
    swb.ok(&["send", "a", "shown", "--enter"]);
    watcher.shows("shown");
    assert!(!String::from_utf8_lossy(watcher.output()).contains("typed"));
}

#[test]
fn below_drive_a_connection_only_watches() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let before = swb.session("a").unwrap()["cols"].clone();
    for role in ["watch", "prompt", "approve"] {
        let mut client = web.with_token(&swb.token(&["--role", role])).socket("/ws?session=a");
        client.message("attached");
        client.input(b"typed\r");
        client.text(&resize(33, 11));
        assert!(client.message("notice")["text"].as_str().unwrap().contains("drive"), "{role}");
        assert!(client.is_quiet_for(QUIET) || client.output().is_empty(), "{role}");
    }
    assert_eq!(swb.session("a").unwrap()["cols"], before);
    assert!(!swb.ok(&["logs", "a"]).contains("typed"));
    let mut driver = web.with_token(&swb.token(&["--role", "drive"])).socket("/ws?session=a");
    driver.input(b"typed\r");
    driver.shows("typed");
}

#[test]
fn a_client_that_does_not_read_is_repainted_and_delays_no_other() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.script(
        "a",
        "read go; yes 0123456789012345678901234567890123456789 | head -n 600000; echo THE-END; read end",
    );
    let mut slow = web.socket("/ws?session=a&repaint=1");
    slow.message("attached");
    let mut quick = web.socket("/ws?session=a");
    quick.message("attached");
    quick.input(b"\r");
    // 25 MB, while the slow one reads nothing.
    wait_for("the end", || swb.ok(&["screen", "a"]).contains("THE-END").then_some(()));
    let lagged = slow.message("lagged");
    assert!(lagged["offset"].is_u64() && lagged["dropped"].as_u64() > Some(0), "{lagged}");
    slow.shows("THE-END");
}

#[test]
fn many_clients_get_the_same_bytes() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.script("a", "read go; seq 1 20000; echo THE-END; read end");
    let mut clients: Vec<_> = (0..100).map(|_| web.socket("/ws?session=a")).collect();
    for client in &mut clients {
        client.message("attached");
    }
    assert_eq!(web_clients(&swb, "a"), Some(100));
    clients[0].input(b"\r");
    let first = clients[0].shows("THE-END\r\n");
    for client in &mut clients[1..] {
        assert_eq!(client.shows("THE-END\r\n"), first);
    }
    drop(clients);
    wait_for("the clients to leave", || (web_clients(&swb, "a") == Some(0)).then_some(()));
}

/// During a flood, one of many clients that has lagged gets the screen now and then, and not the flood: a hundred of them
/// would otherwise take the processor from the program.
#[test]
fn clients_that_keep_lagging_get_pictures_instead_of_the_flood() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.script("a", "read go; yes 0123456789012345678901234567890123456789");
    let mut clients: Vec<_> = (0..12).map(|_| web.socket("/ws?session=a&repaint=1")).collect();
    for client in &mut clients {
        client.message("attached");
    }
    clients[0].input(b"\r");
    // More than the connections hold, so that all of them lag.
    let offset = || swb.session("a").and_then(|item| item["offset"].as_u64());
    wait_for("the flood", || offset().filter(|offset| *offset > 64 << 20));
    // What the connection held when it began to lag comes first.
    let slow = &mut clients[0];
    slow.message("lagged");
    slow.message("lagged");
    let spans: Vec<usize> = (0..12)
        .map(|_| {
            let before = slow.output().len();
            slow.message("lagged");
            slow.output().len() - before
        })
        .collect();
    let short = spans.iter().filter(|span| **span < 128 << 10).count();
    assert!(short >= spans.len() / 2, "{spans:?}");
}

fn size_of(swb: &Swb, name: &str) -> (u64, u64) {
    let item = swb.session(name).unwrap();
    (item["cols"].as_u64().unwrap(), item["rows"].as_u64().unwrap())
}

/// A page draws the terminal in its own size, so it gets output and learns of each size; a terminal beside it gets pictures.
#[test]
fn a_page_and_a_terminal_take_turns_in_deciding_the_size() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.script("a", "stty -echo; printf ready; exec cat");
    let mut terminal = Terminal::start(swb.command(&["attach", "a"]), 90, 20);
    terminal.until("ready");
    wait_for("the terminal's size", || (size_of(&swb, "a") == (90, 20)).then_some(()));
    let mut page = web.socket("/ws?session=a&repaint=1");
    assert_eq!(page.message("attached")["cols"], 90);
    page.shows("ready");
    page.text(&resize(70, 25));
    assert_eq!(page.message("resized"), json!({"type": "resized", "cols": 70, "rows": 25}));
    terminal.type_in(b"from the terminal\r");
    assert_eq!(page.message("resized"), json!({"type": "resized", "cols": 90, "rows": 20}));
    page.shows("from the terminal");
    page.input(b"from the page\r");
    assert_eq!(page.message("resized"), json!({"type": "resized", "cols": 70, "rows": 25}));
    terminal.until("from the page");
    // A phone that watches changes nothing.
    let mut phone = web.socket("/ws?session=a&repaint=1&watch=1");
    phone.message("attached");
    phone.text(&resize(30, 50));
    phone.input(b"x");
    phone.shows("from the page");
    stays("the size", || size_of(&swb, "a") == (70, 25));
    drop(page);
    wait_for("the terminal's size", || (size_of(&swb, "a") == (90, 20)).then_some(()));
}

#[test]
fn a_page_learns_that_its_size_has_no_effect() {
    let mut swb = Swb::new(SWB);
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[screen]\nwindow_size = \"manual\"\n").unwrap();
    swb.start_daemon();
    let web = swb.web();
    swb.script("a", "exec cat");
    let before = size_of(&swb, "a");
    let mut page = web.socket("/ws?session=a&repaint=1");
    page.message("attached");
    page.text(&resize(70, 25));
    let told = page.message("resized");
    assert_eq!((told["cols"].as_u64().unwrap(), told["rows"].as_u64().unwrap()), before);
    assert_eq!(size_of(&swb, "a"), before);
}
