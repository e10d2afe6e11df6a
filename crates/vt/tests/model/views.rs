//! Watchers of any size, and terminals that have shown something else before.

use crate::common::{self, SCROLLBACK, program, run, screen};
use proptest::prelude::*;
use swb_types::Size;
use swb_vt::{RESET, Screen, View};

/// Plain cells of a row: what each column shows.
fn columns(screen: &Screen, y: usize) -> Vec<String> {
    let mut columns = Vec::new();
    for run in &screen.lines()[y].runs {
        let style = format!("{:?}", run.style);
        let mut wide = String::new();
        for c in run.text.chars() {
            match unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) {
                0 => columns.last_mut().map_or_else(|| (), |cell: &mut String| cell.push(c)),
                1 => columns.push(format!("{style}{c}")),
                _ => {
                    columns.push(format!("{style}{c}"));
                    columns.push(std::mem::take(&mut wide));
                }
            }
        }
    }
    columns
}

proptest! {
    // After any change between two pictures, the watcher shows the part around the cursor.
    #[test]
    fn a_watcher_sees_a_cut_out(
        (cols, rows, first) in program(30),
        second in prop::collection::vec(common::step(), 0..10),
        (watch_cols, watch_rows) in (2..30u16, 1..12u16),
    ) {
        let mut original = screen(cols, rows, SCROLLBACK);
        let size = Size::new(watch_cols, watch_rows).unwrap();
        let mut watcher = screen(watch_cols, watch_rows, SCROLLBACK);
        let mut view = View::new(size);
        for steps in [first, second] {
            run(&mut original, &steps);
            watcher.feed(&view.paint(&original));
            prop_assert_eq!(watcher.scrollback_len(), 0);
            prop_assert!(watcher.take_replies().is_empty());
            let cursor = original.cursor();
            let left = usize::from((cursor.col + 1).saturating_sub(watch_cols));
            let top = usize::from((cursor.row + 1).saturating_sub(watch_rows));
            prop_assert_eq!(watcher.cursor().visible, cursor.visible);
            if cursor.visible {
                let at = (watcher.cursor().row, watcher.cursor().col);
                prop_assert_eq!(at, (cursor.row - top as u16, cursor.col - left as u16));
            }
            for y in 0..usize::from(watch_rows).min(usize::from(original.size().rows()) - top) {
                if common::has_joined_emoji(&original.row_texts()[top + y]) {
                    continue;
                }
                let whole = columns(&original, top + y);
                let part = columns(&watcher, y);
                // The cells at both edges may be halves of wide characters.
                let end = part.len().min(usize::from(watch_cols) - 1);
                for x in 1..end {
                    prop_assert_eq!(&part[x], &whole[left + x], "row {} column {}", y, x);
                }
                let shown = whole.len().saturating_sub(left).min(usize::from(watch_cols));
                prop_assert!(part.len() <= shown);
            }
            let nothing = view.paint(&original);
            prop_assert!(nothing.len() < 100 + original.title().len(), "{}", nothing.escape_ascii());
        }
    }

    // A terminal that has shown one program is reset and shows another, as a fresh one would.
    #[test]
    fn a_used_terminal_can_be_repainted((cols, rows, used) in program(30), (_, _, wanted) in program(30)) {
        let mut terminal = screen(cols, rows, SCROLLBACK);
        run(&mut terminal, &used);
        let mut original = screen(terminal.size().cols(), terminal.size().rows(), SCROLLBACK);
        let wanted: Vec<_> = wanted.into_iter().filter(|step| matches!(step, common::Step::Bytes(_))).collect();
        run(&mut original, &wanted);
        terminal.feed(RESET);
        terminal.take_replies();
        terminal.feed(&original.snapshot());
        prop_assert_eq!(terminal.lines(), original.lines());
        prop_assert_eq!(terminal.cursor(), original.cursor());
        prop_assert!(terminal.take_replies().is_empty());
        let (mut ours, mut theirs) = (terminal.modes(), original.modes());
        // Modes we do not know cannot be reset.
        ours.private.retain(|mode| *mode != 777);
        theirs.private.retain(|mode| *mode != 777);
        prop_assert_eq!(ours, theirs);
    }
}

#[test]
fn a_watcher_sees_joined_emoji_in_their_columns() {
    let mut original = screen(30, 3, SCROLLBACK);
    original
        .feed("👩\u{200d}👩\u{200d}👧a🇩🇪🇯🇵 1\u{fe0f}\u{20e3}b     ❤\u{fe0f}      c\r\n🇩\x1b[m🇪".as_bytes());
    let mut watcher = screen(30, 3, SCROLLBACK);
    watcher.feed(&View::new(Size::new(30, 3).unwrap()).paint(&original));
    assert_eq!(watcher.row_texts(), original.row_texts());
    let mut copy = screen(30, 3, SCROLLBACK);
    copy.feed(&original.snapshot());
    assert_eq!(copy.row_texts(), original.row_texts());
}
