//! Hostile output and input: nothing may panic, grow without bound, or set deadlines in the past forever.

use crate::common::Random;
use swb_turns::{Detector, Hook, LineOptions, LineRules, Pattern, Profiles, SavedDetector, Time};
use swb_types::{Offset, Size};
use swb_vt::{Options, Screen};

/// Pieces that programs are generated from, valid and broken.
const OUTPUT: [&[u8]; 40] = [
    b"text ",
    b"\r\n",
    b"\n",
    b"\r",
    b"\x08",
    b"$ ",
    b">>> ",
    b"> ",
    b"(gdb) ",
    b"\xff\xfe",
    b"\xe2\x9d",
    "❯ ".as_bytes(),
    "› 1. Yes".as_bytes(),
    "────────────────────".as_bytes(),
    "▄▄▄▄▄▄▄▄▄▄▄▄".as_bytes(),
    "  ╹▀▀▀▀▀▀▀▀▀▀▀▀".as_bytes(),
    "  ┃  ".as_bytes(),
    b"esc to interrupt",
    b"Press enter to confirm",
    b"(Y)es/(N)o [Yes]: ",
    b"\x1b[H",
    b"\x1b[2J",
    b"\x1b[3J",
    b"\x1b[5A",
    b"\x1b[?2026h",
    b"\x1b[?2026l",
    b"\x1b[?2004h",
    b"\x1b[?2004l",
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x1b]0;\xe2\x9c\xb3 x\x07",
    b"\x1b]0;\xe2\xa0\x82 x\x07",
    b"\x1b]7501;state=working\x07",
    b"\x1b]7501;state=idle\x07",
    b"\x1b]7501;state=\x07",
    b"\x1b]133;A\x07",
    b"\x1b]133;D\x1b\\",
    b"\x1b]9;4;1;5\x07",
    b"\x1b]0;never ends",
    b"\x1bP",
];

const INPUT: [&[u8]; 14] = [
    b"a",
    b"abc",
    b"\r",
    b"\n",
    b"\x1b",
    b"\x03",
    b"\x7f",
    b"\x1b[200~x\ry",
    b"\x1b[201~",
    b"\x1b[13u",
    b"\x1b[99;5u",
    b"\x1b[;;;;u",
    b"\x1b[4294967296;99999999999u",
    b"\x1b]11;rgb",
];

fn size(random: &mut Random) -> Size {
    Size::new(1 + random.below(60) as u16, 1 + random.below(12) as u16).unwrap()
}

fn step(detector: &mut Detector, screen: &mut Screen, random: &mut Random, now: Time) {
    match random.below(20) {
        0..=11 => {
            let pieces: Vec<&[u8]> =
                (0..random.below(12)).map(|_| OUTPUT[random.below(40) as usize]).collect();
            let lost = if random.below(50) == 0 { random.below(1 << 40) } else { 0 };
            let offset = Offset(detector.offset().0 + lost);
            detector.output(screen, &pieces.concat(), offset, now);
        }
        12..=16 => detector.input(screen, INPUT[random.below(14) as usize], now),
        17 => {
            let size = size(random);
            detector.resize(screen, size, now);
        }
        18 => {
            let hooks = [Hook::Working, Hook::Ready, Hook::Asking, Hook::Error];
            detector.hook(screen, hooks[random.below(4) as usize], now);
        }
        _ => detector.passed(OUTPUT[random.below(40) as usize], detector.offset(), now),
    }
}

#[test]
fn no_input_makes_the_detector_panic() {
    for profile in Profiles::built_in().unwrap().iter() {
        for seed in 0..60 {
            let mut random = Random(seed);
            let first = size(&mut random);
            let mut screen = Screen::new(first, Options { scrollback: 20 });
            let mut detector = Detector::new(profile.clone(), first);
            let mut now = 1_000_000;
            for _ in 0..150 {
                now += random.below(3) * random.below(2_000_000);
                step(&mut detector, &mut screen, &mut random, Time(now));
                detector.tick(&screen, Time(now));
                assert!(detector.deadline().is_none_or(|due| due > Time(now)), "woken for nothing");
            }
            detector.take_events();
            let saved = serde_json::to_string(detector.saved()).unwrap();
            let saved: SavedDetector = serde_json::from_str(&saved).unwrap();
            Detector::restore(profile.clone(), saved).tick(&screen, Time(now + 100_000_000));
        }
    }
}

#[test]
fn no_input_makes_the_line_rules_panic() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut rules =
            LineRules::new(Pattern::default(), LineOptions { turn_bytes: 64, ..LineOptions::default() });
        let mut now = 0;
        for _ in 0..200 {
            now += random.below(300_000);
            match random.below(3) {
                0 => rules.input(INPUT[random.below(14) as usize], Time(now)),
                _ => rules.output(OUTPUT[random.below(40) as usize], Time(now)),
            }
            rules.tick(Time(now));
        }
        for event in rules.take_events() {
            if let swb_turns::LineEvent::Turn(turn) = event {
                assert!(turn.content.len() <= 64 && turn.start <= turn.end);
            }
        }
    }
}
