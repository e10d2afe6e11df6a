//! Arbitrary output of a program on a screen of changing size: no panic, bounded memory, the same however
//! the bytes arrive, skipping without a visible effect, and a snapshot that leads to the same state.
//!
//! The first two bytes are the size. `FE` and two bytes change it, `FD` and one byte repeat what came since
//! the last of the two; neither byte is ever part of UTF-8.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swb_types::Size;
use swb_vt::{Options, QueryFilter, Screen, View};

const RESIZE: u8 = 0xfe;
const REPEAT: u8 = 0xfd;
/// Lines of scrollback: few, so that short output fills it.
const SCROLLBACK: usize = 6;
/// Bytes a repeated piece may grow to, so that one input takes milliseconds; enough for `feed` to skip by itself.
const MAX_PIECE: usize = 66 * 1024;
/// Bytes of a snapshot for each cell on the screen and in the scrollback, and for all the rest: a character
/// with all it can be combined with, its looks and a link at most.
const PER_CELL: usize = 512;
const FOR_THE_REST: usize = 256 * 1024;

fuzz_target!(|data: &[u8]| {
    let [cols, rows, data @ ..] = data else { return };
    let mut screen = Screen::new(size(*cols, *rows), Options { scrollback: SCROLLBACK });
    let mut view = View::new(size(*rows, *cols));
    let mut rest = data;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| matches!(*byte, RESIZE | REPEAT));
        let (piece, mark) = rest.split_at(end.unwrap_or(rest.len()));
        match mark {
            [RESIZE, cols, rows, tail @ ..] => {
                screen = feed(screen, piece);
                screen.resize(size(*cols, *rows));
                rest = tail;
            }
            [REPEAT, n, tail @ ..] => {
                let times = usize::from(*n).min(MAX_PIECE / piece.len().max(1));
                screen = feed(screen, &piece.repeat(times));
                rest = tail;
            }
            _ => {
                screen = feed(screen, piece);
                rest = &[];
            }
        }
        round_trip(&screen);
        drop(view.paint(&screen));
    }
    drop((screen.to_svg(), screen.to_ansi(SCROLLBACK), screen.contents(SCROLLBACK)));
});

fn size(cols: u8, rows: u8) -> Size {
    Size::new(u16::from(cols % 40) + 1, u16::from(rows % 12) + 1).expect("neither is 0")
}

/// Feeds the bytes in three ways, which must not differ.
fn feed(mut screen: Screen, bytes: &[u8]) -> Screen {
    screen.take_events();
    screen.take_replies();
    let before = screen.scrolled();
    let (mut drawn, mut skipped) = (screen.clone(), screen.clone());
    screen.feed(bytes);
    for piece in bytes.chunks(61) {
        drawn.feed(piece);
    }
    let n = skipped.skip(bytes);
    let checkpoint = skipped.snapshot();
    skipped.feed(&bytes[n..]);
    same(&screen, &drawn, "fed in pieces");
    same(&skipped, &drawn, "skipped");
    let mut restored = fresh(&skipped);
    restored.feed(&checkpoint);
    restored.feed(&bytes[n..]);
    same(&restored, &drawn, "restored from a checkpoint");
    assert!(screen.scrolled() >= before && skipped.scrolled() >= before);
    let (events, replies) = (screen.take_events(), screen.take_replies());
    assert!(events.len() <= 256 && replies.len() <= 4096);
    for other in [&mut drawn, &mut skipped] {
        assert_eq!((other.take_events(), other.take_replies()), (events.clone(), replies.clone()));
    }
    screen
}

fn round_trip(screen: &Screen) {
    let snapshot = screen.snapshot();
    let cells = usize::from(screen.size().cols()) * (usize::from(screen.size().rows()) + SCROLLBACK);
    assert!(snapshot.len() <= PER_CELL * cells + FOR_THE_REST, "{} bytes", snapshot.len());
    let mut copy = fresh(screen);
    copy.feed(&snapshot);
    same(&copy, screen, "restored");
    assert_eq!(copy.take_replies(), b"", "a snapshot asks nothing");
    let (mut filter, mut filtered) = (QueryFilter::new(), Vec::new());
    filter.feed(&snapshot, &mut filtered);
    filter.finish(&mut filtered);
    assert!(filtered == snapshot, "a snapshot has nothing to answer");
}

fn fresh(screen: &Screen) -> Screen {
    Screen::new(screen.size(), Options { scrollback: SCROLLBACK })
}

fn same(one: &Screen, two: &Screen, how: &str) {
    if let Some(difference) = one.state().difference(&two.state()) {
        panic!("{how}: {difference}");
    }
}
