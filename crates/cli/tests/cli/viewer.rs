//! The terminal of the person who reads: text of agents, files and arguments cannot act on it.

use crate::support::agents::{start, wrote};
use serde_json::Value;
use std::process::Command;
use swb_testkit::{Swb, Terminal, wait_for};
use swb_wire::clippy::PeerRole;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// The clipboard, the title, two questions, the screen, and the order of the text.
const HOSTILE: &str =
    "\x1b]52;c;cm0=\x07\x1b]0;owned\x1b\\\x1b[6n\x1b[2J\u{9b}5n\u{202e}\u{2066}\x7f\x05\x08x";

/// The same for a shell's `printf`.
const PRINTED: &str = r"\033]52;c;cm0=\007\033]0;owned\033\\\033[6n\033[2J\302\2335n\342\200\256\177\005";

/// What a command shows on a terminal.
fn shown(command: Command) -> String {
    let mut terminal = Terminal::start(command, 250, 50);
    terminal.wait();
    String::from_utf8_lossy(terminal.seen()).into_owned()
}

/// Whether a character moves the cursor, changes or asks the terminal, or changes the order of what is read.
fn acts(c: char) -> bool {
    let control = c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    control
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text without sequences that set a colour or a style.
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == ':');
        match rest.strip_prefix('m') {
            Some(rest) => out.push_str(rest),
            None => out.push_str(&format!("\x1b[{piece}")),
        }
    }
    out
}

/// Requires that a command shows `text` and nothing that acts.
#[track_caller]
fn harmless(what: &str, shown: &str, text: &str) {
    let plain = without_colours(shown);
    assert!(!plain.contains(acts), "{what}: {shown:?}");
    assert!(plain.contains(text), "{what} shows {shown:?}, not {text:?}");
}

#[test]
fn lists_cannot_act_on_the_terminal() {
    let swb = Swb::start(EXE);
    let place = swb.workspace(&format!("p{HOSTILE}"));
    let mut run =
        swb.command(&["run", "-d", "-n", "evil", "--", "sh", "-c", &format!("sleep 600 # c{HOSTILE}")]);
    assert!(run.current_dir(&place).status().unwrap().success());
    let list = shown(swb.command(&["ls"]));
    harmless("ls", &list, r"c\u{1b}]52;c;cm0=\u{7}");
    harmless("ls", &list, r"p\u{1b}]52;c;cm0=\u{7}");
    harmless("coop ls", &shown(swb.named("coop", &["ls"])), r"\u{1b}]52");
    harmless("coop session ls", &shown(swb.named("coop", &["session", "ls", "evil"])), "agent");
    harmless(
        "workspace add",
        &shown(swb.command(&["workspace", "add", place.to_str().unwrap()])),
        r"p\u{1b}]52",
    );
    harmless("workspace ls", &shown(swb.command(&["workspace"])), r"p\u{1b}]52");
    let mut here = swb.command(&["attach"]);
    here.current_dir(swb.workspace(&format!("q{HOSTILE}")));
    harmless("attach", &shown(here), r"no session in");

    let mut watched = Terminal::start(swb.command(&["ls", "--watch"]), 250, 50);
    watched.until(r"c\u{1b}]52");
    let seen = String::from_utf8_lossy(watched.seen()).into_owned();
    for acting in ["\x1b]", "\x1b[6n", "\x1b[2J", "\x07", "\u{9b}", "\u{202e}", "\x05"] {
        assert!(!seen.contains(acting), "ls --watch: {seen:?}");
    }
    watched.type_in(b"\x03");
    watched.wait();
}

#[test]
fn logs_on_a_terminal_keep_colours_and_nothing_that_acts() {
    let swb = Swb::start(EXE);
    let script = format!(
        r"stty -echo; printf 'first\n\033[1;31mred\033[m {PRINTED}\033[>4;2m\033[32mgreen\n'; read x; printf 'new {PRINTED}\n'"
    );
    swb.script("evil", &script);
    wrote(&swb, "evil", "green");
    for args in [&["logs", "evil"][..], &["logs", "evil", "--tail", "1"]] {
        let log = shown(swb.command(args));
        harmless("logs", &log, "red ");
        assert!(log.contains("\x1b[1;31mred\x1b[m") && log.ends_with("\x1b[m"), "{log:?}");
        assert_eq!(log.contains("first"), args.len() == 2);
    }
    harmless("coop logs", &shown(swb.named("coop", &["logs", "evil"])), "red ");
    // The bytes, where they are asked for, and for programs.
    let raw = "\x1b]52;c;cm0=\x07\x1b]0;owned\x1b\\\x1b[6n\x1b[2J\u{9b}5n\u{202e}";
    assert!(shown(swb.command(&["logs", "evil", "--raw"])).contains(raw));
    assert!(swb.ok(&["logs", "evil"]).contains(raw));
    assert_eq!(swb.run(&["logs", "evil", "--raw", "--json"]).status.code(), Some(2));

    let mut following = Terminal::start(swb.command(&["logs", "evil", "--follow"]), 250, 50);
    following.until("green");
    swb.ok(&["send", "evil", "go", "--enter"]);
    following.until("new ");
    following.wait();
    harmless("logs --follow", &String::from_utf8_lossy(following.seen()), "new ");
}

#[test]
fn turns_cannot_act_on_the_terminal() {
    let swb = Swb::start(EXE);
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    wrapper.register("w");
    let id = wrapper.turn("w", format!("said{HOSTILE}\r\nend").as_bytes());
    let turn = shown(swb.command(&["turn", &id]));
    harmless("turn", &turn, "said");
    harmless("turn of a session", &shown(swb.command(&["turn", "w"])), "end");
    harmless("turns", &shown(swb.command(&["turns", "w"])), &id);
    harmless("capture", &shown(swb.command(&["capture", &id])), &id);
    harmless("clippyctl get-turn", &shown(swb.named("clippyctl", &["get-turn", &id])), "said");
    harmless("a pipe", &swb.ok(&["turn", &id]), "said");
    assert!(swb.ok(&["turn", &id, "--raw"]).contains(HOSTILE));
    let json = swb.ok(&["turn", &id, "--json"]);
    assert!(!json.contains(acts), "{json:?}");

    let agent = format!(
        r#"say() {{ printf '\033]7501;state=%s\033\\' "$1"; }}
        say idle; printf '> '
        while read -r line; do say working; printf 'x{PRINTED}x\nthe answer\n'; say idle; printf '> '; done"#
    );
    start(&swb, "agent", &["sh", "-c", &agent], "ready");
    harmless("ask", &shown(swb.command(&["ask", "agent", "hello", "--timeout", "60"])), "the answer");
    let mut raw = swb.command(&["ask", "agent", "hello", "--timeout", "60", "--raw"]);
    let raw = raw.output().unwrap();
    assert!(String::from_utf8_lossy(&raw.stdout).contains("\x1b]52;c;cm0=\x07"), "{raw:?}");
}

#[test]
fn screens_cannot_act_on_the_terminal() {
    let swb = Swb::start(EXE);
    let text =
        r"a\342\200\256b\033]8;;http://evil\007link\033]8;;\007\033[31mred\033[m\342\201\246c\302\233d\n";
    swb.script("evil", &format!("printf '{text}'; exec sleep 600"));
    wrote(&swb, "evil", "red");
    harmless("screen", &shown(swb.command(&["screen", "evil"])), "link");
    harmless("screen by a pipe", &swb.ok(&["screen", "evil"]), "link");
    let ansi = shown(swb.command(&["screen", "evil", "--ansi"]));
    harmless("screen --ansi", &ansi, "link");
    assert!(ansi.contains("\x1b["), "{ansi:?}");
    harmless("screen --svg", &shown(swb.command(&["screen", "evil", "--svg", "-"])), "<svg");
    let json = swb.ok(&["screen", "evil", "--json"]);
    assert!(!json.contains(acts), "{json:?}");
}

#[test]
fn states_of_agents_cannot_act_on_the_terminal() {
    let swb = Swb::start(EXE);
    let title = r"\033]0;\342\234\263 t\342\200\256itle\302\233\007";
    swb.script("evil", &format!("printf '{title}\\033]7501;state=idle\\033\\\\ready'; exec sleep 600"));
    wrote(&swb, "evil", "ready");
    harmless("explain", &shown(swb.command(&["explain", "evil"])), "profile");
    harmless("status", &shown(swb.command(&["status"])), "daemon");
    let mut events = Terminal::start(swb.command(&["events"]), 250, 50);
    wait_for("an event", || {
        swb.run(&["run", "--", "true"]);
        events.shows("opened", std::time::Duration::from_millis(100)).then_some(())
    });
    harmless("events", &String::from_utf8_lossy(events.seen()), "opened");
    events.type_in(b"\x03");
    events.wait();
}

#[test]
fn conversations_cannot_act_on_the_terminal() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("evil");
    client.answer_to(&format!("say:hello{HOSTILE}"));
    client.ok("session_save", serde_json::json!({}));
    harmless("history", &shown(swb.command(&["history"])), r"\u{1b}]52");
    harmless("history show", &shown(swb.command(&["history", "show", "evil"])), "hello");
    let found = shown(swb.command(&["history", "search", "hello"]));
    harmless("history search", &found, "hello");
    assert!(found.contains("\x1b[1mhello"), "matches are bold: {found:?}");
    drop(client);
    let said = shown(swb.command(&["chat", "evil", "-m", &format!("say:hello{HOSTILE}")]));
    harmless("chat", &said, "hello");
    let prompt = format!("say:hello{HOSTILE}");
    harmless("chat in a pipe", &swb.ok(&["chat", "evil", "-m", &prompt]), "hello");
    assert!(swb.ok(&["chat", "evil", "--raw", "-m", &prompt]).contains("\x1b]0;owned\x1b\\"));
    assert_eq!(swb.run(&["chat", "evil", "--raw", "--json", "-m", &prompt]).status.code(), Some(2));
    let json = swb.ok(&["chat", "evil", "--json", "-m", &prompt]);
    assert!(json.contains("hello") && !json.contains(acts), "{json:?}");

    let mut asking = swb.chat_in("asking");
    let id = asking.prompt(&format!("permit:run{}", HOSTILE.replace(';', "\\s")));
    let asked = asking.event("authorization_request");
    let approval = asked["auth_id"].as_str().unwrap();
    harmless("approvals", &shown(swb.command(&["approvals"])), "run");
    harmless("approvals show", &shown(swb.command(&["approvals", "show", approval])), "run");
    harmless("approvals deny", &shown(swb.command(&["approvals", "deny", approval])), "Denied");
    asking.generation(&id);
    let json = swb.ok(&["history", "show", "asking", "--json"]);
    assert!(!json.contains(acts), "{json:?}");
}

/// Every way an argument gets into a message.
#[test]
fn messages_quote_arguments_without_acting_on_the_terminal() {
    let swb = Swb::start(EXE);
    swb.script("live", "exec sleep 600");
    let evil = format!("evil{HOSTILE}");
    let evil = evil.as_str();
    let missing = format!("/nonexistent/evil{HOSTILE}");
    let missing = missing.as_str();
    for args in [
        &["attach", evil][..],
        &["run", "-n", evil],
        &["run", "-d", "--", missing],
        &["run", "-w", missing],
        &["run", "--detach-key", evil],
        &["shell", evil],
        &["kill", evil],
        &["send", evil, "x"],
        &["send", "live", "x", "--pty", evil],
        &["keys", evil, "Enter"],
        &["logs", evil],
        &["screen", evil],
        &["screen", "live", "--svg", missing],
        &["wait", evil, "--exit"],
        &["wait", "live", "--text", &format!("({evil}")],
        &["wait", "live", "--until", evil],
        &["ask", evil, "x"],
        &["chat", evil, "-m", "x"],
        &["chat", "-m", "x", "--agent", evil],
        &["chat", "-m", "x", "--socket", missing],
        &["chat", "-m", "x", "--directory", missing],
        &["turns", evil],
        &["turn", evil],
        &["relay", evil, "live"],
        &["relay", "live", "live", "--template", missing],
        &["capture", evil],
        &["paste", evil],
        &["explain", evil],
        &["events", "--since", evil],
        &["approvals", "approve", evil],
        &["approvals", evil],
        &["history", "show", evil],
        &["history", "rm", evil],
        &["workspace", "add", missing],
        &["record", evil, "x.cast"],
        &["record", "live", missing],
        &["replay", missing],
        &["detect", missing],
        &["detect", "--score", missing],
        &["clippyctl", "capture", evil],
        &["clippyctl", "deliver", evil],
        &["upgrade", "--exe", missing],
        &["--config", missing, "run", "--detach-key", evil],
        &["--config", evil, "ls", "--bad"],
        &["completions", evil],
        &[evil],
        &["ls", evil],
        &["ls", &format!("--{evil}")],
    ] {
        let shown = shown(swb.command(args));
        harmless(&format!("{args:?}"), &shown, "");
        assert!(!shown.trim().is_empty(), "{args:?} explains itself");
    }
    for (program, args) in [
        ("keepty", &["attach", evil][..]),
        ("keepty", &["start", evil]),
        ("keepty", &["stop", evil]),
        ("keepty", &[evil]),
        ("coop", &["attach", evil]),
        ("coop", &["kill", evil]),
        ("coop", &["restart", evil]),
        ("coop", &["session", "kill", "1", "-s", evil]),
        ("coop", &["session", "kill", evil]),
        ("clippyctl", &["get-turn", evil]),
        ("clippyctl", &["paste", evil]),
        ("clippyctl", &[evil]),
    ] {
        harmless(&format!("{program} {args:?}"), &shown(swb.named(program, args)), "");
    }
}

#[test]
fn recordings_ask_the_terminal_nothing() {
    let swb = Swb::new(EXE);
    let file = swb.dir().join("evil.cast");
    let output = serde_json::to_string(&format!("one{HOSTILE}two\r\n")).unwrap();
    let header = r#"{"version":3,"term":{"cols":80,"rows":24}}"#;
    std::fs::write(&file, format!("{header}\n[0.1, \"o\", {output}]\n")).unwrap();
    let shown = shown(swb.command(&["replay", file.to_str().unwrap()]));
    for acting in ["\x1b]52", "\x1b[6n", "\u{9b}", "\x05"] {
        assert!(!shown.contains(acting), "{acting:?}: {shown:?}");
    }
    assert!(shown.contains("one") && shown.contains("two"), "{shown:?}");
}

#[test]
fn json_escapes_what_acts_and_keeps_its_value() {
    let swb = Swb::start(EXE);
    let command = format!("sleep 600 # {HOSTILE}");
    swb.ok(&["run", "-d", "-n", "evil", "--", "sh", "-c", &command]);
    let list = swb.ok(&["ls", "--json"]);
    assert!(list.contains(r"\u009b") && list.contains(r"\u007f") && list.contains(r"\u202e"), "{list}");
    assert!(!list.contains(acts), "{list:?}");
    let value: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(value[0]["argv"][2], command);
    let failed = swb.run(&["kill", "nobody\u{9b}", "--json"]);
    let json = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(json.contains(r"nobody\u009b") && !json.contains(acts), "{json:?}");
}
