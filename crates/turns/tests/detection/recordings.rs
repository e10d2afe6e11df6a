//! The detector on recordings of real agents, shells and REPLs.

use crate::common::{Case, Random, cases};
use swb_turns::recording::{DetectionResult, Recording, Step, detect, guess};
use swb_turns::score::Score;
use swb_turns::{Detector, DetectorEvent, Profiles, SavedDetector};
use swb_vt::{Options, Screen};

fn run(case: &Case, recording: &Recording) -> DetectionResult {
    detect(recording, case.profile.clone(), case.expected.size())
}

/// What must not depend on how the output was split. Where a turn ends may: joined reads hide a pause.
fn essence(found: &DetectionResult) -> Vec<(u64, bool, usize, String)> {
    let turns = found.turns.iter();
    turns.map(|turn| (turn.submit.0, turn.interrupted, turn.dialogs.len(), turn.text.clone())).collect()
}

/// Runs the detector on the recording, split differently, and compares.
fn same_when_cut(case: &Case, whole: &DetectionResult, how: &str, len: impl FnMut() -> usize) {
    let cut = run(case, &case.recording.recut(len));
    assert_eq!(essence(&cut), essence(whole), "{} {how}", case.name);
    let mut score = Score::default();
    score.add(&case.name, &case.expected, &cut, &case.recording.output());
    let total = score.total();
    assert_eq!((total.found, total.early), (total.turns, 0), "{} {how}: {:?}", case.name, score.misses());
}

#[test]
fn every_turn_is_found_and_nothing_else() {
    let mut score = Score::default();
    for case in cases() {
        score.add(&case.name, &case.expected, &run(&case, &case.recording), &case.recording.output());
    }
    let total = score.total();
    assert!(score.misses().is_empty(), "{:#?}\n{}", score.misses(), score.table());
    assert_eq!((total.found, total.early, total.missed, total.extra), (total.turns, 0, 0, 0));
    assert!(total.turns > 50 && total.text * 100 >= total.turns * 98);
}

/// The answers of shells and REPLs are known to the letter in the recordings made for it.
#[test]
fn the_text_of_shells_and_repls_is_exact() {
    let lines = |text: &str| -> Vec<String> {
        text.trim_end().trim_start_matches('\n').lines().map(|line| line.trim_end().to_owned()).collect()
    };
    let mut compared = 0;
    for case in cases().iter().filter(|case| case.name.contains("/1")) {
        let found = run(case, &case.recording).turns;
        for (turn, expected) in found.iter().zip(&case.expected.turns) {
            let Some(answer) = &expected.answer else { continue };
            assert_eq!(lines(&turn.text), lines(answer), "{}: {:?}", case.name, expected.input);
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn the_result_does_not_depend_on_how_output_is_split() {
    let mut random = Random(7);
    for case in cases() {
        let whole = run(&case, &case.recording);
        same_when_cut(&case, &whole, "in one piece", || 65_536);
        same_when_cut(&case, &whole, "cut at random", || 1 + random.below(700) as usize);
        // Byte by byte takes long for the largest.
        if case.recording.output().len() < 60_000 {
            same_when_cut(&case, &whole, "byte by byte", || 1);
        }
    }
}

#[test]
fn a_restored_detector_continues() {
    for case in cases() {
        let mut random = Random(3);
        let mut screen = Screen::new(case.expected.size(), Options::default());
        let mut detector = Detector::new(case.profile.clone(), case.expected.size());
        let (mut events, output) = (Vec::new(), case.recording.output());
        for (now, step) in &case.recording.steps {
            match step {
                Step::Output(bytes) => detector.output(&mut screen, bytes, detector.offset(), *now),
                Step::Input(bytes) => detector.input(&screen, bytes, *now),
                Step::Resize(size) => detector.resize(&mut screen, *size, *now),
            }
            events.extend(detector.take_events());
            if random.below(20) == 0 {
                let saved = serde_json::to_string(detector.saved()).unwrap();
                let saved: SavedDetector = serde_json::from_str(&saved).unwrap();
                detector = Detector::restore(case.profile.clone(), saved);
                if let Some((from, len)) = detector.open_output() {
                    let (from, len) = (usize::try_from(from.0).unwrap(), usize::try_from(len).unwrap());
                    detector.refill(&output[from..from + len]);
                }
            }
        }
        let (end, _) = case.recording.steps.last().unwrap();
        detector.tick(&screen, *end + std::time::Duration::from_secs(5));
        events.extend(detector.take_events());
        let ends = |event: &DetectorEvent| match event {
            DetectorEvent::TurnEnded(turn) => {
                Some((turn.submit, turn.end, turn.interrupted, turn.text.clone()))
            }
            _ => None,
        };
        let found: Vec<_> = events.iter().filter_map(ends).collect();
        let whole = run(&case, &case.recording);
        let live = whole.turns.iter().filter(|turn| turn.signal.name() != "end");
        let expected: Vec<_> =
            live.map(|turn| (turn.submit, turn.end, turn.interrupted, turn.text.clone())).collect();
        assert_eq!(found, expected, "{}", case.name);
    }
}

#[test]
fn programs_are_recognised_by_their_screen() {
    let profiles = Profiles::built_in().unwrap();
    for case in cases() {
        let guessed = guess(&case.recording, &profiles, case.expected.size()).unwrap();
        assert_eq!(guessed.name(), case.profile.name(), "{}", case.name);
    }
}

#[test]
fn the_result_is_json() {
    let case = cases().into_iter().find(|case| case.name == "claude-code/04-tool").unwrap();
    let lines = run(&case, &case.recording).json_lines();
    assert!(lines[0].starts_with(
        r#"{"turn":1,"submit_offset":1568,"end_offset":7384,"interrupted":false,"text":"I will"#
    ));
    assert!(lines[0].ends_with(r#"","profile":"claude","signal":"title"}"#), "{}", lines[0]);
    assert_eq!(lines[2], r#"{"ready0_offset":1248,"dialogs":[3883],"turns":2}"#);
}
