//! What is open over the list.

use super::{ACCENT, BOLD, DIM, columns_u16, put, style_of};
use crate::input::editor::Editor;
use crate::text::{StyledLine, StyledRow, TextStyle, visible};
use crate::top::dialog::TopDialog;
use crate::top::row::{ApprovalRow, SessionState};
use crate::top::state::Top;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Text;
use ratatui::widgets::{Block, BorderType, Clear, Padding, Paragraph, Widget, Wrap};

const KEYS: [(&str, &str); 15] = [
    ("Enter", "attach to the session"),
    ("n, Tab", "select the next session that waits for you"),
    ("y", "show what it asks, and answer"),
    ("a", "ask its agent: type a line"),
    ("r", "relay its latest answer to another session"),
    ("s", "open a shell beside it"),
    ("x", "kill it"),
    ("/", "filter by name, workspace, command or state"),
    ("j k, arrows", "move; g and G jump to the ends"),
    ("PageUp/Down", "move by a page; so do Ctrl+u and Ctrl+d"),
    ("q", "quit; over a session: return to it"),
    ("", ""),
    ("Ctrl+] s", "open this list while attached"),
    ("Ctrl+] d", "detach; so does Ctrl+] alone"),
    ("Ctrl+] Ctrl+]", "type Ctrl+] into the session"),
];

pub(super) fn draw(top: &mut Top, buffer: &mut Buffer) {
    match &mut top.dialog {
        None => {}
        Some(TopDialog::Help) => help(buffer),
        Some(TopDialog::Kill(session)) => {
            let text = format!("Kill session '{session}'? Its programs end.");
            let inner = frame(buffer, "Kill", 58, 3);
            paragraph(&text, inner, buffer);
            keys(buffer, inner, &[("y", "kill it"), ("Esc", "keep it")]);
        }
        Some(TopDialog::Ask { session, line }) => ask(session, line, buffer),
        Some(TopDialog::Relay { from, targets, at }) => relay(from, targets, *at, buffer),
        Some(TopDialog::Approve { approval, at, scroll }) => approve(approval, *at, scroll, buffer),
    }
}

/// An empty frame in the middle, with room for so much if there is so much; returns the room.
fn frame(buffer: &mut Buffer, title: &str, width: u16, height: u16) -> Rect {
    let area = buffer.area;
    let bordered = area.height >= 7 && area.width >= 24;
    let (wide, tall) = if bordered { (width + 4, height + 2) } else { (area.width, area.height) };
    let (wide, tall) = (wide.min(area.width), tall.min(area.height));
    let at = Rect {
        x: area.x + (area.width - wide) / 2,
        y: area.y + (area.height - tall) / 3,
        width: wide,
        height: tall,
    };
    Clear.render(at, buffer);
    if !bordered {
        return at;
    }
    let block =
        Block::bordered().border_type(BorderType::Rounded).border_style(DIM).padding(Padding::horizontal(1));
    let inner = block.inner(at);
    block.render(at, buffer);
    // Drawn by itself: a title of the block would be as dim as its border.
    let (plain, room) = (format!(" {title} "), at.width.saturating_sub(4));
    for x in at.x + 2..at.x + 2 + columns_u16(&plain).min(room) {
        if let Some(cell) = buffer.cell_mut((x, at.y)) {
            cell.reset();
        }
    }
    put(buffer, at.x + 2, at.y, room, &plain, BOLD);
    inner
}

/// Folded text.
fn paragraph(text: &str, area: Rect, buffer: &mut Buffer) {
    let text: Vec<String> = text.lines().map(|line| visible(line).into_owned()).collect();
    Paragraph::new(Text::from_iter(text)).wrap(Wrap { trim: false }).render(area, buffer);
}

/// Keys on the last row of an area.
fn keys(buffer: &mut Buffer, area: Rect, keys: &[(&str, &str)]) {
    if area.height == 0 {
        return;
    }
    let (mut x, y, end) = (area.x, area.y + area.height - 1, area.x + area.width);
    for (key, word) in keys {
        x += put(buffer, x, y, end.saturating_sub(x), key, ACCENT) + 1;
        x += put(buffer, x, y, end.saturating_sub(x), word, DIM) + 2;
    }
}

fn help(buffer: &mut Buffer) {
    let inner = frame(buffer, "Keys", 62, u16::try_from(KEYS.len()).unwrap_or(u16::MAX));
    for ((key, text), y) in KEYS.iter().zip(inner.y..inner.y + inner.height) {
        let used = put(buffer, inner.x, y, inner.width, key, ACCENT);
        let column = if inner.width >= 40 { 16 } else { used + 2 };
        put(buffer, inner.x + column, y, inner.width.saturating_sub(column), text, Style::new());
    }
}

fn ask(session: &str, line: &Editor, buffer: &mut Buffer) {
    let wide = buffer.area.width.saturating_sub(8).clamp(20, 90);
    let (rows, _) = line.rows("", wide.into());
    let rows = u16::try_from(rows.len()).unwrap_or(u16::MAX).min(6);
    let inner = frame(buffer, &format!("Ask {session}"), wide, rows.saturating_add(2));
    let (lines, (row, column)) = line.rows("", inner.width.into());
    let tall = usize::from(inner.height.saturating_sub(2)).max(1);
    let first = (row + 1).saturating_sub(tall);
    for (line, y) in lines.iter().skip(first).take(tall).zip(inner.y..) {
        put(buffer, inner.x, y, inner.width, line, Style::new());
    }
    let cursor = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let place = (inner.x.saturating_add(cursor(column)), inner.y.saturating_add(cursor(row - first)));
    if let Some(cell) = buffer.cell_mut(place).filter(|_| place.0 < inner.x + inner.width) {
        cell.set_style(Style::new().reversed());
    }
    if inner.height > 1 {
        keys(buffer, inner, &[("Enter", "send"), ("Esc", "cancel")]);
    }
}

fn relay(from: &str, targets: &[String], at: usize, buffer: &mut Buffer) {
    let rows = u16::try_from(targets.len()).unwrap_or(u16::MAX).min(12);
    let inner = frame(buffer, &format!("Relay the latest answer of {from} to"), 50, rows.saturating_add(2));
    let tall = usize::from(inner.height.saturating_sub(2)).max(1);
    let first = (at + 1).saturating_sub(tall);
    for ((place, target), y) in targets.iter().enumerate().skip(first).take(tall).zip(inner.y..) {
        choice(buffer, inner, y, "", target, place == at);
    }
    if inner.height > 1 {
        keys(buffer, inner, &[("Enter", "type it there"), ("s", "and submit it"), ("Esc", "cancel")]);
    }
}

/// One line to choose.
fn choice(buffer: &mut Buffer, area: Rect, y: u16, key: &str, text: &str, selected: bool) {
    if selected {
        put(buffer, area.x, y, 1, "▌", ACCENT);
    }
    let key = put(buffer, area.x + 2, y, area.width.saturating_sub(2), key, ACCENT);
    let x = area.x + 2 + if key > 0 { key + 1 } else { 0 };
    let style = if selected { BOLD } else { Style::new() };
    put(buffer, x, y, (area.x + area.width).saturating_sub(x), text, style);
}

/// Shows an approval, at most `scroll` rows of its text above the area; sets `scroll` to what was possible.
fn approve(approval: &ApprovalRow, at: usize, scroll: &mut usize, buffer: &mut Buffer) {
    let mut choices: Vec<(String, &str)> = approval
        .choices
        .iter()
        .enumerate()
        .map(|(at, choice)| {
            (if at < 9 { (at + 1).to_string() } else { String::new() }, choice.label.as_str())
        })
        .collect();
    if choices.is_empty() {
        choices = vec![("y".to_owned(), "Allow"), ("n".to_owned(), "Deny")];
    }
    let wide = buffer.area.width.saturating_sub(8).clamp(16, 90);
    let count = u16::try_from(choices.len()).unwrap_or(u16::MAX).min(12);
    let lines = u16::try_from(folded(&approval.details, wide).len()).unwrap_or(u16::MAX);
    let most = buffer.area.height.saturating_sub(count + 7).max(1);
    let inner = frame(buffer, &format!("{} asks", approval.session), wide, lines.min(most) + count + 3);
    // The choices come first: without them nothing can be answered. A row of the text is there even then.
    let rows = count.min(inner.height.saturating_sub(1).max(1));
    let below = if inner.height > rows + 3 { 2 } else { 0 };
    let body = inner.height.saturating_sub(rows + below);
    details(&approval.details, Rect { height: body, ..inner }, scroll, buffer);
    let first = (at + 1).saturating_sub(rows.into());
    for ((place, (key, label)), y) in
        choices.iter().enumerate().skip(first).take(rows.into()).zip(inner.y + body..)
    {
        choice(buffer, inner, y, key, label, place == at);
    }
    if below > 0 {
        keys(buffer, inner, &[("y", "allow"), ("n", "deny"), ("Enter", "choose"), ("Esc", "later")]);
    }
}

/// The text of an approval. What does not fit is announced: nothing is allowed unseen without a word.
fn details(details: &[String], area: Rect, scroll: &mut usize, buffer: &mut Buffer) {
    let (mut text, mut width) = (area.height, area.width);
    if text > 2 {
        // The last row separates the choices, or says that there is more.
        text -= 1;
    }
    let mut all = folded(details, width);
    let all_fit = all.len() <= usize::from(text);
    let has_row = area.height > text;
    if !all_fit && !has_row {
        width = width.saturating_sub(MORE);
        all = folded(details, width);
    }
    *scroll = (*scroll).min(all.len().saturating_sub(text.into()));
    for (row, y) in all.iter().skip(*scroll).take(text.into()).zip(area.y..) {
        // All of it, however many marks its characters have: `put` would cut it.
        buffer.set_stringn(area.x, y, row, width.into(), Style::new());
    }
    let (above, below) = (*scroll, all.len().saturating_sub(*scroll + usize::from(text)));
    if area.height == 0 || above + below == 0 {
        return;
    }
    let style = style_of(SessionState::Asking).bold();
    let y = area.y + area.height - 1;
    if has_row {
        let rows = |count: usize| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
        let note = match (above, below) {
            (_, 0) => format!("↑ {} above: Ctrl+u", rows(above)),
            _ => format!("↓ {} NOT shown: Space", rows(below)),
        };
        put(buffer, area.x, y, area.width, &note, style);
    } else {
        let note = if below > 0 { format!("↓{}", below.min(999)) } else { "↑".to_owned() };
        put(buffer, area.x + width + 1, y, MORE, &note, style);
    }
}

/// Columns of the note that there is more, where it has no row.
const MORE: u16 = 5;

/// Rows of at most this width. Those that continue a line are indented as far as the line, or further, so that none looks like
/// the beginning of another.
fn folded(details: &[String], width: u16) -> Vec<String> {
    let fold = |line: &String| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = StyledLine::new(TextStyle::PLAIN, line).hanging(indent + 2);
        line.fold(width.into()).iter().map(StyledRow::plain).collect::<Vec<_>>()
    };
    details.iter().flat_map(fold).collect()
}
