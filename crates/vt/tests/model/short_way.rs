//! The short way through text and plain sequences leads to the same screen as the long one: random programs and
//! recordings, fed in one piece and byte by byte. A byte alone is never a whole sequence or character beyond ASCII, so the
//! second way takes them apart bit by bit.
//!
//! `SWB_VT_CASES` sets how many, `SWB_VT_SEED` picks other ones.

use crate::common::{self, Step, program, recordings, runner, screen};
use proptest::prelude::*;
use swb_vt::Screen;

/// Distance of the places at which the two ways are compared in a recording.
const EVERY: usize = 977;

fn feed_bytes(screen: &mut Screen, bytes: &[u8]) {
    for byte in bytes {
        screen.feed(std::slice::from_ref(byte));
    }
}

/// What differs, events and replies included.
fn difference(short: &mut Screen, long: &mut Screen) -> Option<String> {
    let (ours, theirs) =
        ((short.take_events(), short.take_replies()), (long.take_events(), long.take_replies()));
    if ours != theirs {
        return Some(format!("{ours:?} != {theirs:?}"));
    }
    if short.scrolled() != long.scrolled() {
        return Some(format!("scrolled {} != {}", short.scrolled(), long.scrolled()));
    }
    short.state().difference(&long.state())
}

#[test]
fn random_programs_lead_to_the_same_screen_both_ways() {
    let all = runner(400).run(&program(60), |(cols, rows, steps)| {
        let mut short = screen(cols, rows, common::SCROLLBACK);
        let mut long = short.clone();
        // All bytes between two resizes at once, so that sequences and text are together.
        let mut piece = Vec::new();
        for step in steps.iter().map(Some).chain([None]) {
            if let Some(Step::Bytes(bytes)) = step {
                piece.extend_from_slice(bytes);
                feed_bytes(&mut long, bytes);
                continue;
            }
            short.feed(&piece);
            piece.clear();
            if let Some(difference) = difference(&mut short, &mut long) {
                return Err(TestCaseError::fail(difference));
            }
            if let Some(resize) = step {
                common::run(&mut short, std::slice::from_ref(resize));
                common::run(&mut long, std::slice::from_ref(resize));
            }
        }
        Ok(())
    });
    all.unwrap();
}

#[test]
fn recordings_lead_to_the_same_screen_both_ways() {
    for recording in recordings() {
        let mut short = screen(recording.cols, recording.rows, 200);
        let mut long = short.clone();
        let mut since = 0;
        for step in &recording.steps {
            match step {
                Step::Resize(..) => {
                    common::run(&mut short, std::slice::from_ref(step));
                    common::run(&mut long, std::slice::from_ref(step));
                }
                Step::Bytes(bytes) => {
                    short.feed(bytes);
                    feed_bytes(&mut long, bytes);
                    since += bytes.len();
                }
            }
            if since >= EVERY {
                since = 0;
                assert_eq!(difference(&mut short, &mut long), None, "{}", recording.name);
            }
        }
        assert_eq!(difference(&mut short, &mut long), None, "{}", recording.name);
    }
}
