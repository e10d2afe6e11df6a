//! What a terminal shows to its user.

use std::time::{Duration, Instant};
use swb_testkit::{LIMIT, Terminal};
use swb_types::Size;
use swb_vt::{Options, Screen};

/// A terminal that has shown these bytes.
pub(crate) fn screen(bytes: &[u8], cols: u16, rows: u16) -> Screen {
    let size = Size::new(cols, rows).expect("a size");
    let mut screen = Screen::new(size, Options { scrollback: 100_000 });
    screen.feed(bytes);
    screen
}

/// What the terminal shows now, if it has 80 columns and 24 rows.
pub(crate) fn view(terminal: &Terminal) -> Screen {
    screen(terminal.seen(), 80, 24)
}

/// The text of the terminal's scrollback and screen, without blank lines before and behind it.
pub(crate) fn all_text(screen: &Screen) -> String {
    let mut lines: Vec<String> = screen.scrollback(usize::MAX).iter().map(|line| line.text()).collect();
    lines.extend(screen.row_texts());
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// Waits until what is shown satisfies a condition.
#[track_caller]
pub(crate) fn until_view(terminal: &mut Terminal, condition: impl Fn(&Screen) -> bool) {
    let end = Instant::now() + LIMIT;
    loop {
        let now = view(terminal);
        if condition(&now) {
            return;
        }
        assert!(Instant::now() < end, "the terminal never showed it, but {:?}", all_text(&now));
        // Never shown: reads for a while.
        terminal.shows("\u{0}", Duration::from_millis(20));
    }
}

/// Waits until a text is on the screen.
#[track_caller]
pub(crate) fn until_text(terminal: &mut Terminal, text: &str) {
    until_view(terminal, |screen| screen.text().contains(text));
}

/// What was shown, without the titles that `swb` has set and the sequences that save and restore the user's.
pub(crate) fn without_titles(shown: &str) -> String {
    let mut pieces = shown.split("\x1b]2;");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        out.push_str(piece.split_once("\x1b\\").map_or("", |(_, rest)| rest));
    }
    out.replace("\x1b[22;0t", "").replace("\x1b[23;0t", "")
}
