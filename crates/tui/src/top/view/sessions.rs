//! The list itself.

use super::{ACCENT, BOLD, DIM, columns_u16, put, put_right, sign_of, state_words, style_of};
use crate::top::list::ListEntry;
use crate::top::row::SessionRow;
use crate::top::state::Top;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Rows from which on a session takes two.
const TWO_ROWS: u16 = 12;
/// Columns from which on the second row has turns and clients.
const FACTS: u16 = 46;

/// How tall entries are.
#[derive(Clone, Copy)]
struct Heights {
    session: u16,
    /// A blank row before a heading.
    gap: u16,
}

impl Heights {
    fn of(self, entries: &[ListEntry], at: usize, first: usize) -> u16 {
        match entries.get(at) {
            Some(ListEntry::Heading(_)) => 1 + if at > first { self.gap } else { 0 },
            _ => self.session,
        }
    }
}

/// Draws the list and scrolls so that the selected session can be seen.
pub(super) fn draw(top: &mut Top, area: Rect, now: u64, buffer: &mut Buffer) {
    let roomy = u16::from(area.height >= TWO_ROWS);
    let heights = Heights { session: 1 + roomy, gap: roomy };
    top.page = usize::from(area.height / heights.session).max(1);
    scroll(top, area.height, heights);
    if top.entries.is_empty() {
        return empty(top, area, buffer);
    }
    let mut y = area.y;
    let end = area.y + area.height;
    for at in top.first..top.entries.len() {
        let tall = heights.of(&top.entries, at, top.first);
        if y + tall.min(heights.session) > end {
            break;
        }
        match &top.entries[at] {
            // A heading without rows below it is useless.
            ListEntry::Heading(_) if y + tall + heights.session > end => break,
            ListEntry::Heading(text) => {
                y += tall - 1;
                put(buffer, area.x + 1, y, area.width.saturating_sub(2), text, DIM);
                y += 1;
            }
            ListEntry::Session(row) => {
                if let Some(row) = top.rows.get(*row) {
                    session(top, row, Rect { y, height: tall, ..area }, now, buffer);
                }
                y += tall;
            }
        }
    }
}

/// Moves the first entry so that the selected one is on the screen, and its heading if that is next to it.
fn scroll(top: &mut Top, height: u16, heights: Heights) {
    let is_selected = |entry: &ListEntry| match entry {
        ListEntry::Session(at) => top.rows.get(*at).map(|row| &row.name) == top.selected.as_ref(),
        ListEntry::Heading(_) => false,
    };
    let last = top.entries.len().saturating_sub(1);
    let selected = top.entries.iter().position(is_selected).unwrap_or(0);
    let mut first = top.first.min(last).min(selected);
    if first == selected && first > 0 && matches!(top.entries.get(first - 1), Some(ListEntry::Heading(_))) {
        first -= 1;
    }
    let used = |from: usize, to: usize| -> u32 {
        (from..=to).map(|at| u32::from(heights.of(&top.entries, at, from))).sum()
    };
    // No more entries fit than there are rows.
    first = first.max(selected.saturating_sub(height.into()));
    while first < selected && used(first, selected) > u32::from(height) {
        first += 1;
    }
    // No room is left free at the end while entries are hidden above.
    while first > 0 && last - first < usize::from(height) && used(first - 1, last) <= u32::from(height) {
        first -= 1;
    }
    top.first = first;
}

fn empty(top: &Top, area: Rect, buffer: &mut Buffer) {
    let lines: &[&str] = match (top.known, top.filter.is_empty()) {
        (false, _) => &[],
        (true, true) => &["No sessions.", "`swb run -- CMD` starts one."],
        (true, false) => &["No session matches.", "Esc clears the filter."],
    };
    for (line, y) in lines.iter().zip(area.y..area.y + area.height) {
        put(buffer, area.x + 1, y, area.width.saturating_sub(1), line, DIM);
    }
}

fn session(top: &Top, row: &SessionRow, area: Rect, now: u64, buffer: &mut Buffer) {
    let selected = top.selected.as_ref() == Some(&row.name);
    if selected {
        for y in area.y..area.y + area.height {
            put(buffer, area.x, y, 1, "▌", ACCENT);
        }
    }
    put(buffer, area.x + 1, area.y, 1, sign_of(row.state), style_of(row.state));
    let words = state_words(row, now);
    // The name comes first where there is room for one of the two.
    let wide = columns_u16(&words);
    let room = area.width.saturating_sub(4);
    let room = if room > wide + 12 { room - wide - 1 } else { room };
    let name = if selected { BOLD } else { Style::new() };
    let used = put(buffer, area.x + 3, area.y, room, &row.name, name);
    let here = if top.home.as_ref() == Some(&row.name) { " (here)" } else { "" };
    let here = put(buffer, area.x + 3 + used, area.y, room.saturating_sub(used), here, DIM);
    put_right(buffer, area, area.y, area.x + 3 + used + here, &words, style_of(row.state));
    if area.height > 1 {
        second_row(top, row, Rect { y: area.y + 1, height: 1, ..area }, buffer);
    }
}

/// What the session shows or asks, its turns and its clients.
fn second_row(top: &Top, row: &SessionRow, area: Rect, buffer: &mut Buffer) {
    let facts = [
        if row.turns > 0 {
            format!("{} turn{}", row.turns, if row.turns == 1 { "" } else { "s" })
        } else {
            String::new()
        },
        row.attached(),
    ];
    let facts: Vec<&str> = facts.iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
    let facts = if area.width >= FACTS { facts.join(" · ") } else { String::new() };
    let room = area.width.saturating_sub(5 + columns_u16(&facts));
    let asked = top.approvals.iter().find(|approval| approval.session == row.name);
    let used = match asked {
        Some(approval) => put(buffer, area.x + 3, area.y, room, &approval.title, Style::new()),
        None => put(buffer, area.x + 3, area.y, room, &row.last_line, DIM),
    };
    put_right(buffer, area, area.y, area.x + 3 + used, &facts, DIM);
}
