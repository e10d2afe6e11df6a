//! Answers of real agents, sent while they grow.

use crate::common::{Case, cases};
use std::time::Duration;
use swb_turns::recording::Step;
use swb_turns::{Detector, DetectorEvent, Growth, Profiles, Time};
use swb_types::Size;
use swb_vt::{Options, Screen};

/// The parts sent for each turn, and the text of the turn in the end.
fn told(case: &Case) -> Vec<(Vec<String>, String)> {
    let mut screen = Screen::new(case.expected.size(), Options::default());
    let mut detector = Detector::new(case.profile.clone(), case.expected.size());
    let mut growth = Growth::new(&case.profile);
    let (mut parts, mut all, mut looked) = (Vec::new(), Vec::new(), Time::default());
    let mut steps: Vec<_> = case.recording.steps.clone();
    let end = steps.last().unwrap().0 + Duration::from_secs(5);
    steps.push((end, Step::Output(Vec::new())));
    for (now, step) in steps {
        while now.since(looked) >= Duration::from_millis(100) {
            looked = looked + Duration::from_millis(100);
            detector.tick(&screen, looked);
            if let Some(so_far) = detector.so_far(&screen, looked) {
                parts.extend(growth.grow(&so_far.text, looked));
            }
        }
        match step {
            Step::Output(bytes) => detector.output(&mut screen, &bytes, detector.offset(), now),
            Step::Resize(size) => detector.resize(&mut screen, size, now),
            Step::Input(bytes) => detector.input(&screen, &bytes, now),
        }
        for event in detector.take_events() {
            if let DetectorEvent::TurnEnded(turn) = event {
                let growth = std::mem::replace(&mut growth, Growth::new(&case.profile));
                parts.extend(growth.finish(&turn.text));
                all.push((std::mem::take(&mut parts), turn.text));
            }
        }
    }
    all
}

#[test]
fn the_parts_add_up_to_the_answer() {
    let (mut turns, mut early, mut other) = (0, 0, Vec::new());
    for case in cases() {
        for (n, (parts, text)) in told(&case).into_iter().enumerate() {
            turns += 1;
            early += usize::from(parts.len() > 1);
            let whole = parts.concat();
            if whole != text {
                other.push(format!("{} turn {}\n--- told\n{whole}\n--- is\n{text}", case.name, n + 1));
            }
            // Even after changes meanwhile, nothing of the answer is missing.
            let missing = text.lines().find(|line| !whole.lines().any(|told| told == *line));
            assert_eq!(missing, None, "{}: {whole}\n---\n{text}", case.name);
        }
    }
    // Blank lines between the points of a list may be drawn later than the list.
    assert!(other.len() * 50 <= turns, "{} of {turns} turns: {}", other.len(), other.join("\n"));
    assert!(turns > 50 && early > 50, "{turns} turns, {early} in parts");
}

#[test]
fn a_growing_line_is_sent_once() {
    for paste in [false, true] {
        let (on, off) = if paste { ("\x1b[?2004h", "\x1b[?2004l\r") } else { ("", "") };
        let profile = Profiles::built_in().unwrap().named("shell").unwrap();
        let size = Size::new(80, 24).unwrap();
        let mut screen = Screen::new(size, Options::default());
        let mut detector = Detector::new(profile.clone(), size);
        let mut growth = Growth::new(&profile);
        let mut now = Time::default();
        let (mut parts, mut whole) = (Vec::new(), None);
        let steps = [
            format!("{on}$ "),
            "<printf\r".to_owned(),
            format!("printf\r\n{off}"),
            "a ".to_owned(),
            "b ".to_owned(),
            "c\r\n".to_owned(),
            "last".to_owned(),
            format!("\r\n{on}$ "),
        ];
        for step in steps {
            match step.strip_prefix('<') {
                Some(typed) => detector.input(&screen, typed.as_bytes(), now),
                None => detector.output(&mut screen, step.as_bytes(), detector.offset(), now),
            }
            for _ in 0..15 {
                now = now + Duration::from_millis(100);
                detector.tick(&screen, now);
                if let Some(so_far) = detector.so_far(&screen, now) {
                    parts.extend(growth.grow(&so_far.text, now));
                }
                for event in detector.take_events() {
                    if let DetectorEvent::TurnEnded(turn) = event {
                        whole = Some(turn.text);
                    }
                }
            }
        }
        let whole = whole.unwrap();
        parts.extend(growth.finish(&whole));
        assert_eq!((parts.concat(), whole.as_str()), ("a b c\nlast".to_owned(), "a b c\nlast"), "{parts:?}");
    }
}
