//! Recordings of real programs: exact snapshots at many places, and the screens they led to.
//!
//! `SWB_RECORDINGS` names a directory with more of them; `SWB_VT_REPORT` prints every difference.

use crate::common::{self, Recording, recordings, round_trip};
use swb_vt::{QueryFilter, limits};

/// Distance of the places at which a recording is cut.
const EVERY: usize = 1000;

fn fresh(recording: &Recording) -> swb_vt::Screen {
    common::screen(recording.cols, recording.rows, limits::DEFAULT_SCROLLBACK)
}

#[test]
fn every_recording_round_trips_at_every_cut() {
    let mut cuts = 0;
    for recording in recordings() {
        let all = recording.bytes();
        let offsets = (0..all.len()).step_by(EVERY).chain([all.len()]);
        recording.play(&mut fresh(&recording), offsets, |screen, offset| {
            cuts += 1;
            if let Err(difference) = round_trip(screen, limits::DEFAULT_SCROLLBACK) {
                panic!("{} at {offset}: {difference}", recording.name);
            }
        });
    }
    eprintln!("{cuts} cuts");
}

/// A section of `screen_after.txt`.
struct Expected {
    offset: usize,
    cursor: (u16, u16),
    rows: Vec<String>,
}

fn expected(recording: &Recording) -> Vec<Expected> {
    let text = std::fs::read_to_string(recording.dir.join("screen_after.txt")).unwrap();
    let mut sections: Vec<Expected> = Vec::new();
    for line in text.split('\n') {
        if let Some(head) = line.strip_prefix("=== turn ") {
            let field = |name: &str| {
                let rest = &head[head.find(name).unwrap() + name.len()..];
                rest.split(' ').next().unwrap().to_owned()
            };
            let cursor = field("cursor=");
            let (row, col) = cursor.split_once(',').unwrap();
            sections.push(Expected {
                offset: field("offset=").parse().unwrap(),
                cursor: (row.parse().unwrap(), col.parse().unwrap()),
                rows: Vec::new(),
            });
        } else if let Some(section) = sections.last_mut() {
            section.rows.push(line.trim_end().to_owned());
        }
    }
    sections
}

/// Why a row or cursor may differ from what the recorder saw, as `docs/terminal.md` explains.
fn is_known(recording: &Recording, want: &str) -> bool {
    // The recorder neither wrapped lines anew on a resize nor gave each emoji of a family its cells.
    recording.name.ends_with("-resize") || want.contains("Family emoji")
}

#[test]
fn the_screens_after_each_turn_are_reproduced() {
    let report = std::env::var_os("SWB_VT_REPORT").is_some();
    let (mut screens, mut same, mut rows, mut same_rows, mut cursors) = (0, 0, 0, 0, 0);
    let mut unknown = Vec::new();
    for recording in recordings() {
        let mut sections = expected(&recording);
        sections.sort_by_key(|section| section.offset);
        let offsets: Vec<usize> = sections.iter().map(|section| section.offset).collect();
        let mut sections = sections.into_iter();
        recording.play(&mut fresh(&recording), offsets, |screen, offset| {
            let section = sections.next().unwrap();
            let cursor = screen.cursor();
            let at = (cursor.row + 1, cursor.col + 1 + u16::from(cursor.wrap_pending));
            let mut differences = Vec::new();
            for (y, row) in screen.row_texts().iter().enumerate() {
                let want = section.rows.get(y).map_or("", String::as_str);
                rows += 1;
                if row.trim_end() != want {
                    differences.push((want.to_owned(), format!("row {} is {row:?}", y + 1)));
                }
            }
            same_rows += screen.row_texts().len() - differences.len();
            if at == section.cursor {
                cursors += 1;
            } else {
                differences.push((format!("{:?}", section.cursor), format!("cursor is {at:?}")));
            }
            screens += 1;
            same += usize::from(differences.is_empty());
            for (want, got) in differences {
                let text = format!("{} at {offset}: {got}, expected {want:?}", recording.name);
                if report {
                    eprintln!("{text}");
                }
                if !is_known(&recording, &want) {
                    unknown.push(text);
                }
            }
        });
    }
    eprintln!("screens {same}/{screens}, rows {same_rows}/{rows}, cursors {cursors}/{screens}");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn recordings_without_their_queries_look_the_same_and_ask_nothing() {
    for recording in recordings() {
        let all = recording.bytes();
        let (mut filter, mut filtered) = (QueryFilter::new(), Vec::new());
        for piece in all.chunks(777) {
            filter.feed(piece, &mut filtered);
        }
        filter.finish(&mut filtered);
        let (mut with, mut without) = (fresh(&recording), fresh(&recording));
        with.feed(&all);
        without.feed(&filtered);
        assert!(without.take_replies().is_empty(), "{}", recording.name);
        assert_eq!(with.contents(usize::MAX), without.contents(usize::MAX), "{}", recording.name);
    }
}
