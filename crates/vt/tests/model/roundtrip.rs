//! A snapshot brings a fresh terminal into the same state: random programs.
//!
//! `SWB_VT_CASES` sets how many, `SWB_VT_SEED` picks other ones.

use crate::common::{self, SCROLLBACK, program, round_trip, run, runner, screen, step};
use proptest::prelude::*;

#[test]
fn random_programs_round_trip() {
    runner(300)
        .run(&program(60), |(cols, rows, steps)| {
            let mut screen = screen(cols, rows, SCROLLBACK);
            run(&mut screen, &steps);
            round_trip(&screen, SCROLLBACK).map_err(TestCaseError::fail)?;
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_copy_goes_on_like_the_original() {
    let more = prop::collection::vec(step(), 0..20);
    runner(300)
        .run(&(program(40), more), |((cols, rows, steps), more)| {
            let mut screen = screen(cols, rows, SCROLLBACK);
            run(&mut screen, &steps);
            let mut copy = round_trip(&screen, SCROLLBACK).map_err(TestCaseError::fail)?;
            screen.take_replies();
            run(&mut screen, &more);
            run(&mut copy, &more);
            if let Some(difference) = screen.state().difference(&copy.state()) {
                return Err(TestCaseError::fail(difference));
            }
            prop_assert_eq!(screen.take_replies(), copy.take_replies());
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_snapshot_with_less_scrollback_has_the_newest_lines() {
    runner(100)
        .run(&(program(40), 0..SCROLLBACK), |((cols, rows, steps), keep)| {
            let mut original = screen(cols, rows, SCROLLBACK);
            run(&mut original, &steps);
            let mut copy = screen(original.size().cols(), original.size().rows(), SCROLLBACK);
            copy.feed(&original.snapshot_limited(keep));
            prop_assert_eq!(copy.scrollback(usize::MAX), original.scrollback(keep));
            prop_assert_eq!(copy.lines(), original.lines());
            prop_assert_eq!(copy.cursor(), original.cursor());
            Ok(())
        })
        .unwrap();
}

#[test]
fn splits_do_not_matter() {
    runner(200)
        .run(&(program(40), any::<prop::sample::Index>()), |((cols, rows, steps), index)| {
            let (mut whole, mut split) = (screen(cols, rows, SCROLLBACK), screen(cols, rows, SCROLLBACK));
            run(&mut whole, &steps);
            for step in &steps {
                match step {
                    common::Step::Bytes(bytes) => {
                        let at = index.index(bytes.len() + 1);
                        split.feed(&bytes[..at]);
                        split.feed(&bytes[at..]);
                    }
                    resize => run(&mut split, std::slice::from_ref(resize)),
                }
            }
            prop_assert!(whole.state() == split.state());
            prop_assert_eq!(whole.take_events(), split.take_events());
            prop_assert_eq!(whole.take_replies(), split.take_replies());
            Ok(())
        })
        .unwrap();
}

#[test]
fn arbitrary_bytes_do_no_harm() {
    let bytes = prop::collection::vec(any::<u8>(), 0..400);
    let sizes = (1..40u16, 1..12u16, 1..40u16, 1..12u16);
    runner(300)
        .run(&(bytes, sizes), |(bytes, (cols, rows, cols2, rows2))| {
            let mut screen = screen(cols, rows, SCROLLBACK);
            screen.feed(&bytes);
            screen.resize(swb_types::Size::new(cols2, rows2).unwrap());
            screen.feed(&bytes);
            round_trip(&screen, SCROLLBACK).map_err(TestCaseError::fail)?;
            screen.to_svg();
            screen.to_ansi(5);
            Ok(())
        })
        .unwrap();
}
