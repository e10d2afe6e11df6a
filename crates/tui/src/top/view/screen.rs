//! The screen of the selected session.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use swb_vt::{Screen, Style as Look, Underline, acts};
use unicode_width::UnicodeWidthChar;

/// Joins the characters of one emoji.
const JOINER: char = '\u{200d}';

/// Draws what fits of a screen, and its cursor.
pub(super) fn draw(screen: &Screen, area: Rect, buffer: &mut Buffer) {
    for (line, y) in screen.lines().iter().zip(area.y..area.y + area.height) {
        let mut x = area.x;
        for run in &line.runs {
            let style = style(&run.style);
            put_run(buffer, (&mut x, y), area.x + area.width, &run.text, style);
        }
    }
    let cursor = screen.cursor();
    let (x, y) = (area.x.saturating_add(cursor.col), area.y.saturating_add(cursor.row));
    if cursor.visible
        && x < area.x + area.width
        && y < area.y + area.height
        && let Some(cell) = buffer.cell_mut((x, y))
    {
        cell.modifier.toggle(Modifier::REVERSED);
    }
}

fn put_run(buffer: &mut Buffer, (x, y): (&mut u16, u16), end: u16, text: &str, style: Style) {
    let mut joined = false;
    let mut last = None;
    for c in text.chars() {
        let wide = u16::try_from(c.width().unwrap_or(0)).unwrap_or(0);
        let extends = wide == 0 || joined;
        joined = c == JOINER;
        if extends {
            if let Some(cell) = last.and_then(|at| buffer.cell_mut(at)).filter(|_| !acts(c)) {
                let joined = format!("{}{c}", cell.symbol());
                cell.set_symbol(&joined);
            }
            continue;
        }
        if *x + wide > end {
            return;
        }
        if let Some(cell) = buffer.cell_mut((*x, y)) {
            cell.set_char(c).set_style(style);
        }
        last = Some((*x, y));
        *x += wide;
    }
}

fn style(look: &Look) -> Style {
    let mut style = Style::new().fg(colour(look.fg)).bg(colour(look.bg));
    for (set, modifier) in [
        (look.bold, Modifier::BOLD),
        (look.dim, Modifier::DIM),
        (look.italic, Modifier::ITALIC),
        (look.underline != Underline::None, Modifier::UNDERLINED),
        (look.inverse, Modifier::REVERSED),
        (look.strike, Modifier::CROSSED_OUT),
    ] {
        if set {
            style = style.add_modifier(modifier);
        }
    }
    if look.hidden { style.fg(colour(look.bg)) } else { style }
}

fn colour(colour: swb_vt::Color) -> Color {
    match colour {
        swb_vt::Color::Default => Color::Reset,
        swb_vt::Color::Indexed(at) => Color::Indexed(at),
        swb_vt::Color::Rgb(r, g, b) => Color::Rgb(r, g, b),
    }
}
