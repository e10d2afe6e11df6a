//! Output that has scrolled out of reach: found quickly, and taken without being drawn.
//!
//! A program that floods the terminal writes far more lines than the screen and its scrollback hold. Of a
//! stretch of such output only the last lines are ever seen; of what lies before them, nothing lasts but
//! the pen. [`Screen::skip`] takes it so.
//!
//! A stretch is simple when it moves the cursor down by line feeds and wrapping alone and changes
//! nothing but cells and the pen: text, controls other than SO and SI, and the sequences of [`simple`]. Line
//! feeds are counted from its end. Everything before a place `p` is unseen when `p` stands directly behind
//! CR LF (the column is known), the parser is between sequences, the margins are those of the screen, and
//! enough rows follow in the stretch:
//!
//! - the screen's rows, until the cursor is at the bottom wherever it was, because lines before that are
//!   drawn over older ones;
//! - the screen's rows and those of the scrollback, until all lines that were touched so are gone.

use crate::csi::Csi;
use crate::event::ScreenEvent;
use crate::limits;
use crate::modes;
use crate::screen::Screen;
use crate::sgr;
use crate::terminal::Terminal;
use memchr::{memchr, memchr_iter, memchr3_iter, memrchr_iter};
use std::ops::Range;

const SO: u8 = 0x0e;
const SI: u8 = 0x0f;
const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

impl Screen {
    /// Takes a first part of `bytes` that cannot be seen any more because of what follows in `bytes`,
    /// without drawing it, and returns how many bytes that were: 0 if there is no such part.
    ///
    /// What stands in front of such a part and is more than text is fed first, and counts as taken.
    ///
    /// Feeding the rest leads to the same state as feeding all of `bytes`. Until then the screen is not to
    /// be looked at: it is blank. Its snapshot is short, and good as long as the rest is fed after it.
    pub fn skip(&mut self, bytes: &[u8]) -> usize {
        let taken = self.take_unseen(bytes);
        if taken.dropped {
            self.terminal_mut().clear_for_skipped();
        }
        taken.bytes
    }

    /// Takes what cannot be seen, as [`Screen::skip`] does, but leaves the old cells standing.
    pub(crate) fn skip_before_feeding(&mut self, bytes: &[u8]) -> usize {
        if bytes.len() < limits::SKIP_FROM { 0 } else { self.take_unseen(bytes).bytes }
    }

    fn take_unseen(&mut self, bytes: &[u8]) -> Taken {
        let mut taken = Taken::default();
        if memchr(b'\n', bytes).is_none() {
            // Full-screen programs have better ways to move.
            return taken;
        }
        for run in Runs::new(bytes) {
            // What lies before the stretch may switch to the page without scrollback.
            let history = if run.start == taken.bytes { self.terminal().history_limit() } else { 0 };
            let fewest = rows_to_hide(self.terminal().rows(), history);
            let wraps = Some(self.terminal().cols());
            if run.len() > fewest && unseen(&bytes[run.clone()], fewest, wraps).is_some() {
                self.take_unseen_of(bytes, run, &mut taken);
            }
        }
        taken
    }

    /// Takes what is unseen of a simple stretch, and with it all that lies before the stretch.
    fn take_unseen_of(&mut self, bytes: &[u8], run: Range<usize>, taken: &mut Taken) {
        let mut start = run.start;
        self.draw(&bytes[taken.bytes..start]);
        if !self.parser().is_ground() {
            // The first line ends the sequence the stretch begins in, unless it is a string with a line feed.
            let line = memchr(b'\n', &bytes[run.clone()]).map_or(run.len(), |line| line + 1);
            self.draw(&bytes[start..start + line]);
            start += line;
        }
        *taken = Taken { bytes: start, dropped: false };
        let Some(rows) = self.rows_to_hide() else { return };
        let wraps = self.terminal().mode(modes::AUTO_WRAP).then(|| self.terminal().cols());
        if let Some(len) = unseen(&bytes[start..run.end], rows, wraps) {
            self.terminal_mut().take_unseen(&bytes[start..start + len]);
            *taken = Taken { bytes: start + len, dropped: true };
        }
    }

    /// Rows of simple output after which nothing from before can be seen; nothing when there is no such number.
    fn rows_to_hide(&self) -> Option<usize> {
        let terminal = self.terminal();
        let regular = terminal.registers.region == (0..terminal.rows())
            && terminal.registers.charsets.sets[0] == b'B'
            && self.parser().is_ground();
        regular.then(|| rows_to_hide(terminal.rows(), terminal.history_limit()))
    }
}

/// How much of the bytes was taken.
#[derive(Debug, Default)]
struct Taken {
    bytes: usize,
    /// Whether the last of them were not drawn.
    dropped: bool,
}

fn rows_to_hide(rows: usize, history: usize) -> usize {
    // One more than needed, because the line the rows begin with may be the end of an older one.
    history + 2 * rows + 1
}

impl Terminal {
    /// Does what simple output does that lasts; it ends with CR LF.
    fn take_unseen(&mut self, bytes: &[u8]) {
        let (line_feeds, bell) = count(bytes);
        if bell {
            self.events.push(ScreenEvent::Bell);
        }
        if self.alternate.is_none() {
            self.buffer().count_scrolled(line_feeds);
        }
        self.take_looks(bytes);
        self.last = None;
        self.carriage_return();
    }

    /// Applies the changes of looks.
    ///
    /// A change sets parts of the pen to its values, independent of the former ones. So only the last of several equal
    /// ones counts, and none before one that sets all parts.
    fn take_looks(&mut self, bytes: &[u8]) {
        let mut last: Vec<&[u8]> = Vec::new();
        for at in memrchr_iter(ESC, bytes) {
            let Some(change) = style_change(&bytes[at..]).filter(|change| !last.contains(change)) else {
                continue;
            };
            if last.len() == limits::DISTINCT_LOOKS {
                for at in memchr_iter(ESC, &bytes[..=at]) {
                    self.change_looks(style_change(&bytes[at..]));
                }
                break;
            }
            last.push(change);
            if is_full_reset(change) {
                break;
            }
        }
        for change in last.into_iter().rev() {
            self.change_looks(Some(change));
        }
        self.pen_changed();
    }

    fn change_looks(&mut self, change: Option<&[u8]>) {
        if let Some(csi) = change.and_then(Csi::parse) {
            sgr::apply(&csi, &mut self.registers.pen);
        }
    }

    /// A blank page with the cursor at the bottom.
    fn clear_for_skipped(&mut self) {
        let rows = self.rows();
        self.buffer().set_fill(Default::default());
        self.buffer().erase_lines(0..rows);
        self.buffer().clear_history();
        self.go(0, rows - 1);
        self.pen_changed();
    }
}

/// The longest stretches of simple output, in order.
struct Runs<'a, I> {
    bytes: &'a [u8],
    candidates: I,
    start: usize,
}

impl<'a> Runs<'a, ()> {
    fn new(bytes: &'a [u8]) -> Runs<'a, impl Iterator<Item = usize>> {
        Runs { bytes, candidates: memchr3_iter(ESC, SO, SI, bytes), start: 0 }
    }
}

impl<I: Iterator<Item = usize>> Iterator for Runs<'_, I> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.start > self.bytes.len() {
            return None;
        }
        let start = self.start;
        let end = self.candidates.find(|at| simple(&self.bytes[*at..]).is_none());
        let end = end.unwrap_or(self.bytes.len());
        self.start = end + 1;
        Some(start..end)
    }
}

/// The length of the sequence that `bytes` begin with, if it is a simple one: a change of style, an
/// edit or a movement within the line, or the choice of ASCII, which is in force already.
#[inline]
fn simple(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [ESC, b'[', rest @ ..] => {
            let rest = &rest[..rest.len().min(limits::CSI_BYTES - 3)];
            let end = rest.iter().position(|byte| !matches!(byte, b'0'..=b';'))?;
            matches!(rest[end], b'm' | b'K' | b'C' | b'D' | b'G' | b'P' | b'X' | b'@').then_some(end + 3)
        }
        [ESC, b'(', b'B', ..] => Some(3),
        _ => None,
    }
}

/// The change of style that `bytes` begin with, without its `ESC [`.
fn style_change(bytes: &[u8]) -> Option<&[u8]> {
    let sequence = &bytes[..simple(bytes)?];
    sequence.strip_prefix(b"\x1b[").filter(|change| change.ends_with(b"m"))
}

/// Whether a change of style first takes all others back.
fn is_full_reset(change: &[u8]) -> bool {
    [&b"m"[..], b"0m", b"0;", b";"].iter().any(|start| change.starts_with(start))
}

/// How many bytes of simple output lie before its last `rows` rows and the CR LF before them.
/// `wraps` is the width at which lines are wrapped, if they are.
fn unseen(bytes: &[u8], rows: usize, wraps: Option<usize>) -> Option<usize> {
    let (mut found, mut end) = (0, bytes.len());
    for at in memrchr_iter(b'\n', bytes) {
        if end < bytes.len() {
            // The line behind this line feed, up to the next.
            found += rows_of(&bytes[at + 1..end], wraps);
        }
        end = at;
        if found >= rows && bytes[..at].last() == Some(&b'\r') {
            return Some(at + 1);
        }
    }
    None
}

/// Rows the cursor goes down by a line and the line feed behind it, at least.
fn rows_of(line: &[u8], wraps: Option<usize>) -> usize {
    let text = line.strip_suffix(b"\r").unwrap_or(line);
    match wraps {
        Some(cols) if text.len() > cols && is_printable_ascii(text) => 1 + (text.len() - 1) / cols,
        _ => 1,
    }
}

fn is_printable_ascii(text: &[u8]) -> bool {
    // No early end within a piece, so that many bytes are looked at at once.
    let other = |found: bool, byte: &u8| found | !(0x20..0x7f).contains(byte);
    text.chunks(1024).all(|piece| !piece.iter().fold(false, other))
}

/// Line feeds in `bytes`, and whether there is a bell.
fn count(bytes: &[u8]) -> (u64, bool) {
    let (mut line_feeds, mut bells) = (0u64, 0u8);
    // Pieces so short that the sum cannot overflow: bytes are the widest vectors there are.
    for piece in bytes.chunks(255) {
        let (mut sum, mut any) = (0u8, 0u8);
        for byte in piece {
            sum += u8::from(*byte == b'\n');
            any |= u8::from(*byte == BEL);
        }
        line_feeds += u64::from(sum);
        bells |= any;
    }
    (line_feeds, bells != 0)
}
