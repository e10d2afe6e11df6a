//! Hostile output: the daemon stays small and responsive, and other sessions are not affected.

use super::{EXE, known, script, wait_for_text};
use serde_json::json;
use std::path::Path;
use swb_testkit::{ScreenClient, Swb};

/// What the daemon may grow by: the largest screen with all its scrollback, and some buffers.
const GROWTH: u64 = 24 << 20;
/// Bytes of each attack: more than the ring has.
const ATTACK: usize = 5 << 18;

/// `unit` again and again.
fn endless(begin: &str, unit: &str) -> Vec<u8> {
    [begin.as_bytes(), unit.repeat(ATTACK / unit.len()).as_bytes()].concat()
}

/// Attacks by name.
fn attacks() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a title without an end", endless("\x1b]2;", "title")),
        ("a device control string without an end", endless("\x1bP", "$q")),
        ("an application command without an end", endless("\x1b_G", "AAAA")),
        ("a parameter without an end", endless("\x1b[", "9")),
        ("parameters without an end", endless("\x1b[", "1;")),
        ("giant parameters", endless("", "\x1b[99999999999@\x1b[4294967295L\x1b[65535b\x1b[999999999S")),
        // Each of them draws the whole screen.
        ("repetitions", format!("x{}", "\x1b[65535b".repeat(10_000)).into_bytes()),
        ("deep stacks", endless("", "\x1b[>1u\x1b[22t\x1b7\x1b]2;deeper\x07\x1b[?1049h\x1b[?1s")),
        ("giant sizes", endless("", "\x1b[8;10000;10000t\x1b[?3h\x1b[10000;10000H\x1b[4;9999;9999t")),
        ("a line without an end", endless("", "no line break here ")),
        ("combining characters", endless("e", "\u{301}\u{302}\u{303}")),
        ("wide characters", endless("", "漢字👩\u{200d}💻")),
        (
            "links",
            (0..20_000).flat_map(|n| format!("\x1b]8;id={n};http://host/{n}\x1b\\x").into_bytes()).collect(),
        ),
        ("colours of the palette", endless("", "\x1b]4;1;#123456;2;#654321;255;#abcdef\x07\x1b]10;#111\x07")),
        ("invalid characters", (0..ATTACK).map(|n| (n * 7 % 128 + 128) as u8).collect()),
        (
            "anything",
            (0..ATTACK as u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 51) as u8).collect(),
        ),
        ("questions", endless("", "\x1b[c\x1b[6n\x1b]11;?\x07\x1bP+q544e\x1b\\\x1b[?u")),
        (
            "marks and reports",
            endless("", "\x1b]133;A\x07\x1b]9;4;1;50\x07\x1b]7;file://h/\x07\x1b]7501;x=y\x07\x07"),
        ),
    ]
}

/// Memory of a process that it does not share, in bytes.
fn private_memory(pid: i64) -> u64 {
    let rollup =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("smaps_rollup")).unwrap();
    let kib = |name: &str| {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    (kib("Private_Dirty:") + kib("Private_Clean:")) << 10
}

#[test]
fn hostile_output_does_not_affect_other_sessions() {
    let swb = Swb::start(EXE);
    script(&swb, "other", "stty -echo; printf 'unharmed'; while read word; do echo \"got $word\"; done");
    wait_for_text(&swb, "other", "unharmed");
    let mut person = ScreenClient::attach(&swb, "other");
    let daemon = swb.daemon_pid();
    let before = private_memory(daemon);
    for (n, (attack, bytes)) in attacks().into_iter().enumerate() {
        // Replies may come while no program reads them; they are for no program.
        let attacker =
            "stty raw -echo; cat output; printf '\\030\\033\\\\\\033c\\033]2;\\007survived'; exec sleep 1000";
        let name = format!("attack-{n}");
        std::fs::write(swb.workspace(&name).join("output"), &bytes).unwrap();
        script(&swb, &name, attacker);
        wait_for_text(&swb, &name, "survived");
        // The screen is that of a terminal whose program has left it in peace.
        let (screen, _) = known(&swb, &name);
        assert_eq!((screen.size().cols(), screen.size().rows()), (80, 24), "{attack}");
        assert_eq!(screen.text().trim(), "survived", "{attack}");
        // Others are served meanwhile.
        person.type_in(format!("word-{n}\n").as_bytes());
        person.until_text(&format!("got word-{n}"));
        swb.control().ok(&json!({"cmd": "kill", "session": name, "force": true}));
        let grown = private_memory(daemon).saturating_sub(before);
        assert!(grown < GROWTH, "{attack}: the daemon has grown by {} KiB", grown >> 10);
    }
    assert_eq!(swb.daemon_pid(), daemon, "it never died");
}

#[test]
fn a_client_attached_amid_hostile_output_sees_the_screen() {
    let swb = Swb::start(EXE);
    for (n, (attack, bytes)) in attacks().into_iter().enumerate().filter(|(n, _)| n % 2 == 0) {
        let name = format!("attack-{n}");
        std::fs::write(swb.workspace(&name).join("output"), &bytes).unwrap();
        let workspace = script(&swb, &name, "stty raw -echo; cat output; touch written; exec sleep 1000");
        swb_testkit::wait_for("all of it", || workspace.join("written").exists().then_some(()));
        // A client that attaches in the middle of a sequence sees its effect.
        let mut late = ScreenClient::with(&swb, &name, &json!({"repaint": true, "watch": true}));
        late.until("a picture", |late| late.pictures() > 0);
        let (known, offset) = known(&swb, &name);
        late.read_to(offset);
        assert_eq!(late.screen().contents(5), known.contents(5), "{attack}");
        swb.control().ok(&json!({"cmd": "kill", "session": name, "force": true}));
    }
}
