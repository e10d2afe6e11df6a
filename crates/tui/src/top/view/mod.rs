//! Draws the list into a buffer.

mod dialogs;
mod screen;
mod sessions;

use super::row::{SessionRow, SessionState};
use super::state::Top;
use crate::text::{columns, shortened, visible};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

/// Columns from which on the selected session is shown beside the list.
const BESIDE: u16 = 64;
/// Rows from which on there is a header.
const HEADER: u16 = 8;
/// Rows from which on the header is followed by a blank row.
const AIRY: u16 = 20;
/// Rows from which on what is shown of a session has a heading of three rows instead of one.
const ROOMY: u16 = 16;

pub(super) const DIM: Style = Style::new().dim();
pub(super) const BOLD: Style = Style::new().bold();
/// What is selected, and keys.
pub(super) const ACCENT: Style = Style::new().fg(Color::Cyan);

/// What is shown of the selected session.
#[derive(Debug, Clone, Copy, Default)]
pub struct Preview<'a> {
    /// Its screen, if it is known.
    pub screen: Option<&'a swb_vt::Screen>,
    /// Why there is none.
    pub note: &'a str,
}

/// Where everything is.
struct TopLayout {
    header: Option<Rect>,
    list: Rect,
    detail: Option<Rect>,
    footer: Option<Rect>,
}

impl TopLayout {
    fn of(area: Rect) -> Self {
        let header = u16::from(area.height >= HEADER) + u16::from(area.height >= AIRY);
        let footer = u16::from(area.height >= 3);
        let body = Rect { y: area.y + header, height: area.height.saturating_sub(header + footer), ..area };
        let beside = area.width >= BESIDE && area.height >= HEADER;
        let wide = (area.width * 2 / 5).clamp(34, 62);
        let list = Rect { width: if beside { wide } else { area.width }, ..body };
        let left = list.width + 2;
        let detail = Rect { x: area.x + left, width: area.width.saturating_sub(left), ..body };
        Self {
            header: (header > 0).then_some(Rect { height: 1, ..area }),
            list,
            detail: beside.then_some(detail),
            footer: (footer > 0).then_some(Rect { y: area.y + area.height - 1, height: 1, ..area }),
        }
    }
}

/// Where the screen of the selected session is drawn; `None` if there is no room for it.
pub fn preview_area(area: Rect) -> Option<Rect> {
    let detail = TopLayout::of(area).detail?;
    let heading = if area.height >= ROOMY { 3 } else { 1 };
    let inner = Rect { y: detail.y + heading, height: detail.height.saturating_sub(heading), ..detail };
    (inner.width >= 2 && inner.height >= 1).then_some(inner)
}

/// Draws everything; `now` is in Unix milliseconds.
pub fn draw(top: &mut Top, preview: Preview<'_>, now: u64, buffer: &mut Buffer) {
    let places = TopLayout::of(buffer.area);
    if let Some(area) = places.header {
        header(top, area, buffer);
    }
    sessions::draw(top, places.list, now, buffer);
    if let Some(area) = places.detail {
        for y in area.y..area.y + area.height {
            put(buffer, area.x - 2, y, 1, "│", DIM);
        }
        detail(top, preview, area, now, buffer);
    }
    if let Some(area) = places.footer {
        footer(top, area, buffer);
    }
    dialogs::draw(top, buffer);
}

fn header(top: &Top, area: Rect, buffer: &mut Buffer) {
    let count =
        |wanted: &dyn Fn(SessionState) -> bool| top.rows.iter().filter(|row| wanted(row.state)).count();
    let waiting = count(&SessionState::needs_attention);
    let working = count(&|state| state == SessionState::Working);
    let live = count(&|state| state != SessionState::Exited);
    let mut x = area.x + 1;
    let mut add = |text: &str, style| x += put(buffer, x, area.y, area.width.saturating_sub(x), text, style);
    add("Switchboard", BOLD);
    if !top.known {
        return;
    }
    add(&format!("  {live} session{}", if live == 1 { "" } else { "s" }), DIM);
    if waiting > 0 {
        add("  ", DIM);
        add(&format!("{waiting} waiting for you"), style_of(SessionState::Asking).bold());
    }
    if working > 0 {
        add("  ", DIM);
        add(&format!("{working} working"), style_of(SessionState::Working));
    }
    let right = match (&top.home, top.lost) {
        (_, true) => "reconnecting".to_owned(),
        (Some(home), _) => format!("over {home}"),
        _ => String::new(),
    };
    put_right(buffer, area, area.y, x, &right, if top.lost { style_of(SessionState::Asking) } else { DIM });
}

/// The heading of the selected session, and its screen.
fn detail(top: &Top, preview: Preview<'_>, area: Rect, now: u64, buffer: &mut Buffer) {
    let inner = preview_area(buffer.area);
    let Some(row) = top.selected() else { return };
    let right = state_words(row, now);
    let room = area.width.saturating_sub(columns_u16(&right) + 2);
    let used = put(buffer, area.x, area.y, room, &row.name, BOLD);
    put(buffer, area.x + used, area.y, room.saturating_sub(used), &format!("  {}", row.workspace), DIM);
    put_right(buffer, area, area.y, area.x + used, &right, style_of(row.state));
    if inner.is_some_and(|inner| inner.y >= area.y + 3) {
        let turns = match row.turns {
            0 => String::new(),
            1 => "1 turn".to_owned(),
            turns => format!("{turns} turns"),
        };
        let facts = [turns, row.attached()];
        let facts: Vec<&str> = facts.iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
        let facts = facts.join(" · ");
        let room = area.width.saturating_sub(columns_u16(&facts) + 2);
        let used = put(buffer, area.x, area.y + 1, room, &row.command, DIM);
        put_right(buffer, area, area.y + 1, area.x + used, &facts, DIM);
        let rule = "─".repeat(area.width.saturating_sub(1).into());
        put(buffer, area.x, area.y + 2, area.width, &rule, DIM);
    }
    let Some(inner) = inner else { return };
    match preview.screen {
        Some(screen) => screen::draw(screen, inner, buffer),
        None => drop(put(buffer, inner.x, inner.y, inner.width, preview.note, DIM)),
    }
}

fn footer(top: &Top, area: Rect, buffer: &mut Buffer) {
    if let Some(notice) = &top.notice {
        let style = if notice.failed { style_of(SessionState::Error) } else { Style::new() };
        put(buffer, area.x + 1, area.y, area.width.saturating_sub(1), &notice.text, style);
        return;
    }
    if top.filtering {
        let used = put(buffer, area.x + 1, area.y, area.width.saturating_sub(1), "/", ACCENT);
        let text = put(buffer, area.x + 1 + used, area.y, area.width.saturating_sub(4), &top.filter, BOLD);
        put(buffer, area.x + 1 + used + text, area.y, 1, " ", Style::new().reversed());
        return;
    }
    hints(top, area, buffer);
}

/// The keys that fit, the most useful first; help and the way out always.
fn hints(top: &Top, area: Rect, buffer: &mut Buffer) {
    let asks = |row: &SessionRow| top.approvals.iter().any(|approval| approval.session == row.name);
    let leave = if top.home.is_some() { ("q", "return") } else { ("q", "quit") };
    let mut keys: Vec<(&str, &str)> = Vec::new();
    if let Some(row) = top.selected() {
        if asks(row) {
            keys.push(("y", "answer"));
        }
        if !row.conversation {
            keys.push(("Enter", "attach"));
        }
    }
    let elsewhere =
        |row: &SessionRow| row.state.needs_attention() && top.selected.as_ref() != Some(&row.name);
    if top.rows.iter().any(elsewhere) {
        keys.push(("n", "next waiting"));
    }
    if !top.rows.is_empty() {
        keys.extend([("a", "ask"), ("r", "relay"), ("s", "shell"), ("x", "kill"), ("/", "filter")]);
    }
    let last = [("?", "keys"), leave];
    let width = |(key, word): &(&str, &str)| columns_u16(key) + columns_u16(word) + 3;
    let reserved: u16 = last.iter().map(width).sum();
    let mut left = area.width.saturating_sub(reserved);
    keys.retain(|hint| {
        let fits = width(hint) <= left;
        left = if fits { left - width(hint) } else { 0 };
        fits
    });
    let mut x = area.x + 1;
    for (key, word) in keys.into_iter().chain(last) {
        let room = |x: u16| (area.x + area.width).saturating_sub(x);
        x += put(buffer, x, area.y, room(x), key, ACCENT) + 1;
        x += put(buffer, x, area.y, room(x), word, DIM) + 2;
    }
    if !top.filter.is_empty() {
        put_right(buffer, area, area.y, x, &format!("/{}", top.filter), ACCENT);
    }
}

/// The state in words, and since when.
pub(super) fn state_words(row: &SessionRow, now: u64) -> String {
    let word = match (row.state, row.exit_code) {
        (SessionState::Exited, Some(code)) if code != 0 => format!("exit {code}"),
        (state, _) => state.word().to_owned(),
    };
    let since = since(row.since, now);
    if since.is_empty() { word } else { format!("{word} {since}") }
}

/// A rough age that changes once a minute at most; empty if the beginning is unknown.
pub(super) fn since(since: u64, now: u64) -> String {
    let minutes = now.saturating_sub(since) / 60_000;
    match minutes {
        _ if since == 0 => String::new(),
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1440 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1440),
    }
}

/// The colour of a state; those that need no action of the user have none.
pub(super) fn style_of(state: SessionState) -> Style {
    match state {
        SessionState::Asking => Style::new().fg(Color::Yellow),
        SessionState::Error => Style::new().fg(Color::Red),
        SessionState::Working => Style::new().fg(Color::Green),
        SessionState::Ready => Style::new(),
        SessionState::Starting | SessionState::Unknown | SessionState::Exited => DIM,
    }
}

/// The sign of a state; each has a shape of its own, for terminals without colours.
pub(super) fn sign_of(state: SessionState) -> &'static str {
    match state {
        SessionState::Asking => "◆",
        SessionState::Error => "▲",
        SessionState::Working => "●",
        SessionState::Ready => "○",
        SessionState::Starting => "◌",
        SessionState::Unknown => "·",
        SessionState::Exited => "×",
    }
}

/// Writes a text, cut to `width` columns; returns the columns it takes. Characters that act on a terminal become visible.
pub(super) fn put(buffer: &mut Buffer, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
    let area = buffer.area;
    if width == 0 || y >= area.y + area.height || x >= area.x + area.width {
        return 0;
    }
    let width = width.min(area.x + area.width - x);
    // Longer texts would only cost time: a column takes few bytes.
    let most = text.floor_char_boundary(usize::from(width) * 16);
    let text = shortened(&visible(&text[..most]), width.into());
    let (end, _) = buffer.set_stringn(x, y, text, width.into(), style);
    end - x
}

/// Writes a text at the right end of an area, if it does not reach into the first `left` columns.
pub(super) fn put_right(buffer: &mut Buffer, area: Rect, y: u16, left: u16, text: &str, style: Style) {
    let wide = columns_u16(text);
    let x = (area.x + area.width).saturating_sub(wide + 1);
    if wide > 0 && x > left {
        put(buffer, x, y, wide, text, style);
    }
}

pub(super) fn columns_u16(text: &str) -> u16 {
    u16::try_from(columns(&visible(text))).unwrap_or(u16::MAX)
}
