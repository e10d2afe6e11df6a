//! Emoji of several code points: which of them are shown as one, in two columns.
//!
//! Agents lay out their text that way, and so do most terminals of today (kitty, Ghostty, WezTerm, foot, iTerm2, Windows
//! Terminal, tmux). With the width of each part instead, what an agent draws behind such an emoji lands on other
//! text.

use crate::cell::Cell;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const JOINER: char = '\u{200d}';
const EMOJI_STYLE: char = '\u{fe0f}';

/// Whether a character can be part of the emoji in this cell at all; nearly none can.
#[inline]
pub(crate) fn may_join(cell: &Cell, c: char) -> bool {
    cell.extra.is_some() || joins_plain(c)
}

/// Whether a character can be part of an emoji without anything combined with it.
#[inline]
pub(crate) fn joins_plain(c: char) -> bool {
    matches!(c, EMOJI_STYLE | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// Whether a character is shown as part of the emoji in this cell, right behind which it was written.
pub(crate) fn joins(cell: &Cell, c: char) -> bool {
    let marks = cell.zero_width();
    match c {
        // Two letters of a country are a flag.
        _ if is_letter(c) => is_letter(cell.c) && !cell.is_wide() && marks.is_empty(),
        // Colours of skin.
        '\u{1f3fb}'..='\u{1f3ff}' => cell.is_wide() && takes_two(cell, &[c]),
        // Some of those that follow a joiner are emoji only with the style that comes next.
        _ => {
            let joined = marks.last() == Some(&JOINER) && c.width() != Some(0);
            joined && (takes_two(cell, &[c]) || takes_two(cell, &[c, EMOJI_STYLE]))
        }
    }
}

/// Whether a character makes the narrow one in this cell a wide emoji.
pub(crate) fn widens(cell: &Cell, c: char) -> bool {
    let narrow = !cell.is_wide() && !cell.is_spacer();
    narrow && (is_letter(c) && joins(cell, c) || c == EMOJI_STYLE && takes_two(cell, &[c]))
}

/// Whether a cell has an emoji of several code points, to which other terminals may give other columns.
pub(crate) fn is_joined(cell: &Cell) -> bool {
    cell.zero_width().iter().any(|c| c.width() != Some(0) || *c == EMOJI_STYLE)
}

/// Whether the characters of a cell would take two columns if they were written at once, but have one.
pub(crate) fn was_kept_narrow(cell: &Cell) -> bool {
    cell.zero_width().contains(&EMOJI_STYLE) && !cell.is_wide() && text(cell).width() == 2
}

/// Whether a cell's characters and some more take two columns together.
fn takes_two(cell: &Cell, more: &[char]) -> bool {
    let mut text = text(cell);
    text.extend(more);
    text.width() == 2
}

fn text(cell: &Cell) -> String {
    std::iter::once(&cell.c).chain(cell.zero_width()).collect()
}

/// Whether this is one of the letters that flags are made of.
fn is_letter(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}
