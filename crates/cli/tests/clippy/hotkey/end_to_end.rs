//! From one window to another, with our own daemon.

use super::{EXE, Hotkeys};
use crate::support::display::Display;
use swb_testkit::{Swb, wait_for};

/// Answers each line in a few words.
const AGENT: &str = r#"stty -echo; printf 'agent> '
    while IFS= read -r line; do printf 'so you mean %s?\n' "$line"; printf 'agent> '; done"#;

// CH-7, CH-8
#[test]
#[ignore = "needs Xvfb, openbox, xterm and xdotool: run by cargo xtask ci"]
fn an_answer_is_relayed_from_a_wrapper_to_a_window_that_shows_a_session() {
    let (swb, display) = (Swb::start(EXE), Display::start());
    swb.script("api", "stty -echo; printf ready; while IFS= read -r line; do echo \"took: $line\"; done");
    swb.script("web", "exec cat");
    let client = Hotkeys::start(display.command(swb.command(&["hotkey"])));
    assert_eq!(client.line(), "ready: capture Super+Shift+C, paste Super+Shift+V");

    let agent = display.open("agent", &swb.command(&["wrap", "--", "/bin/sh", "-c", AGENT]));
    let sessions = || swb.json(&["clippyctl", "list-sessions"]).as_array().cloned().unwrap_or_default();
    let wrapped = wait_for("the wrapper", || {
        let name = |item: &serde_json::Value| item["session"].as_str().map(str::to_owned);
        sessions().iter().filter_map(name).find(|name| name != "api" && name != "web")
    });
    let has_turn = || sessions().iter().any(|item| item["session"] == *wrapped && item["has_turn"] == true);
    display.press("super+shift+c");
    assert!(client.line().starts_with("capture failed: no_turn: "));
    wait_for("a turn", || {
        display.run("xdotool", &["type", "hello\r"]);
        has_turn().then_some(())
    });
    display.press("super+shift+c");
    let line = client.line();
    assert!(line.starts_with(&format!("capture: {wrapped}:")), "{line}");

    // The window has no process of the session: `swb attach` shows it.
    let _shown = display.open("shown", &swb.command(&["attach", "api"]));
    wait_for("the client", || (swb.json(&["ls"])[0]["clients"] == 1).then_some(()));
    display.press("super+shift+v");
    assert_eq!(client.line(), "paste: into api");
    wait_for("the text", || swb.ok(&["logs", "api"]).contains("took: so you mean hello?").then_some(()));
    drop(agent);
    client.stop();
}
