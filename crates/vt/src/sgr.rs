//! Select graphic rendition: how bytes change a pen, and how a pen becomes bytes.

use crate::cell::{Attrs, Color, Pen, Underline};
use crate::csi::Csi;
use std::io::Write;

/// Applies `CSI … m` to `pen`.
pub(crate) fn apply(csi: &Csi, pen: &mut Pen) {
    if csi.params().is_empty() {
        pen.reset();
    }
    if csi.has_groups() {
        return apply_groups(csi, pen);
    }
    let mut params = csi.params().iter().copied();
    while let Some(code) = params.next() {
        match code {
            38 | 48 | 58 => {
                if let Some(color) = separate_color(|| params.next()) {
                    set_color(pen, code, color);
                }
            }
            _ => simple(code, pen),
        }
    }
}

/// The same where parameters are joined by colons.
fn apply_groups(csi: &Csi, pen: &mut Pen) {
    let mut groups = csi.groups();
    while let Some(group) = groups.next() {
        match *group {
            [code @ (38 | 48 | 58)] => {
                if let Some(color) = separate_color(|| groups.next()?.first().copied()) {
                    set_color(pen, code, color);
                }
            }
            [code @ (38 | 48 | 58), ref rest @ ..] => {
                if let Some(color) = joined_color(rest) {
                    set_color(pen, code, color);
                }
            }
            [4, style] => {
                if let Some(style) = Underline::from_param(style) {
                    pen.attrs.set_underline(style);
                }
            }
            [code] => simple(code, pen),
            _ => {}
        }
    }
}

fn set_color(pen: &mut Pen, code: u16, color: Color) {
    match code {
        38 => pen.fg = color,
        48 => pen.bg = color,
        _ => pen.set_underline_color(color),
    }
}

/// The old form: each number is a parameter of its own.
#[inline]
fn separate_color(mut next: impl FnMut() -> Option<u16>) -> Option<Color> {
    match next()? {
        5 => Some(Color::Indexed(u8::try_from(next()?).ok()?)),
        2 => {
            let (r, g, b) = (next()?, next()?, next()?);
            rgb(r, g, b)
        }
        _ => None,
    }
}

/// The form with colons, with and without the empty place of the colour space.
fn joined_color(rest: &[u16]) -> Option<Color> {
    match *rest {
        [5, n, ..] => Some(Color::Indexed(u8::try_from(n).ok()?)),
        [2, r, g, b] | [2, _, r, g, b, ..] => rgb(r, g, b),
        _ => None,
    }
}

fn rgb(r: u16, g: u16, b: u16) -> Option<Color> {
    let part = |n| u8::try_from(n).ok();
    Some(Color::Rgb(part(r)?, part(g)?, part(b)?))
}

fn simple(code: u16, pen: &mut Pen) {
    let attrs = &mut pen.attrs;
    match code {
        0 => pen.reset(),
        1 => attrs.set(Attrs::BOLD),
        2 => attrs.set(Attrs::DIM),
        3 => attrs.set(Attrs::ITALIC),
        4 => attrs.set_underline(Underline::Single),
        5 | 6 => attrs.set(Attrs::BLINK),
        7 => attrs.set(Attrs::INVERSE),
        8 => attrs.set(Attrs::HIDDEN),
        9 => attrs.set(Attrs::STRIKE),
        21 => attrs.set_underline(Underline::Double),
        22 => attrs.clear(Attrs::BOLD | Attrs::DIM),
        23 => attrs.clear(Attrs::ITALIC),
        24 => attrs.set_underline(Underline::None),
        25 => attrs.clear(Attrs::BLINK),
        27 => attrs.clear(Attrs::INVERSE),
        28 => attrs.clear(Attrs::HIDDEN),
        29 => attrs.clear(Attrs::STRIKE),
        30..=37 => pen.fg = Color::Indexed((code - 30) as u8),
        39 => pen.fg = Color::Default,
        40..=47 => pen.bg = Color::Indexed((code - 40) as u8),
        49 => pen.bg = Color::Default,
        53 => attrs.set(Attrs::OVERLINE),
        55 => attrs.clear(Attrs::OVERLINE),
        59 => pen.set_underline_color(Color::Default),
        90..=97 => pen.fg = Color::Indexed((code - 90 + 8) as u8),
        100..=107 => pen.bg = Color::Indexed((code - 100 + 8) as u8),
        _ => {}
    }
}

/// Appends what turns the pen `from` into `to`, links apart.
pub(crate) fn change(out: &mut Vec<u8>, from: &Pen, to: &Pen) {
    let same_rest = from.attrs == to.attrs && from.underline_color() == to.underline_color();
    if same_rest && from.fg == to.fg && from.bg == to.bg {
        return;
    }
    let mut codes = Vec::new();
    if same_rest && (to.fg, to.bg) != (Color::Default, Color::Default) {
        if from.fg != to.fg {
            push_color(&mut codes, 30, to.fg);
        }
        if from.bg != to.bg {
            push_color(&mut codes, 40, to.bg);
        }
        codes.remove(0);
    } else {
        push_all(&mut codes, to);
    }
    out.extend_from_slice(b"\x1b[");
    out.extend_from_slice(&codes);
    out.push(b'm');
}

/// The parameters that describe `pen` from scratch: `0` (left out when it is alone) and what it has.
pub(crate) fn push_all(codes: &mut Vec<u8>, pen: &Pen) {
    const BITS: [(u16, &[u8]); 8] = [
        (Attrs::BOLD, b";1"),
        (Attrs::DIM, b";2"),
        (Attrs::ITALIC, b";3"),
        (Attrs::BLINK, b";5"),
        (Attrs::INVERSE, b";7"),
        (Attrs::HIDDEN, b";8"),
        (Attrs::STRIKE, b";9"),
        (Attrs::OVERLINE, b";53"),
    ];
    let start = codes.len();
    for (bit, code) in BITS {
        if pen.attrs.has(bit) {
            codes.extend_from_slice(code);
        }
    }
    match pen.attrs.underline() {
        Underline::None => {}
        Underline::Single => codes.extend_from_slice(b";4"),
        style => {
            let _written = write!(codes, ";4:{}", style as u8);
        }
    }
    if pen.fg != Color::Default {
        push_color(codes, 30, pen.fg);
    }
    if pen.bg != Color::Default {
        push_color(codes, 40, pen.bg);
    }
    // With colons, so that a terminal that does not know 58 does not take its numbers for attributes.
    let _written = match pen.underline_color() {
        Color::Default => Ok(()),
        Color::Indexed(n) => write!(codes, ";58:5:{n}"),
        Color::Rgb(r, g, b) => write!(codes, ";58:2::{r}:{g}:{b}"),
    };
    if codes.len() > start {
        codes.insert(start, b'0');
    }
}

/// `base` is 30 or 40. Writing to a vector cannot fail.
fn push_color(codes: &mut Vec<u8>, base: u8, color: Color) {
    let _written = match color {
        Color::Default => write!(codes, ";{}", base + 9),
        Color::Indexed(n @ 0..8) => write!(codes, ";{}", base + n),
        Color::Indexed(n @ 8..16) => write!(codes, ";{}", base + 60 + n - 8),
        Color::Indexed(n) => write!(codes, ";{};5;{n}", base + 8),
        Color::Rgb(r, g, b) => write!(codes, ";{};2;{r};{g};{b}", base + 8),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pen(text: &str) -> Pen {
        let mut pen = Pen::default();
        apply(&Csi::parse(text.as_bytes()).unwrap(), &mut pen);
        pen
    }

    #[test]
    fn both_forms_of_a_colour_mean_the_same() {
        assert_eq!(pen("38;2;1;2;3m"), pen("38:2::1:2:3m"));
        assert_eq!(pen("48;5;99m"), pen("48:5:99m"));
        assert_eq!(pen("38:2:1:2:3m"), pen("38:2::1:2:3m"));
        assert_eq!(pen("31m").fg, Color::Indexed(1));
        assert_eq!(pen("1;38;5;1;3m"), pen("1;31;3m"));
        assert_eq!(pen("38;2;1;2m"), Pen::default());
        assert_eq!(pen("38;5;300m"), Pen::default());
    }

    proptest! {
        #[test]
        fn a_change_leads_to_its_goal(a in "[0-9:;]{0,30}", b in "([0-9]{1,2};|4:[0-5];|58:5:9;){0,12}") {
            let (from, to) = (pen(&format!("{a}m")), pen(&format!("{b}m")));
            let mut out = Vec::new();
            change(&mut out, &from, &to);
            let mut got = from.clone();
            if !out.is_empty() {
                apply(&Csi::parse(&out[2..]).unwrap(), &mut got);
            }
            prop_assert_eq!(got, to);
        }
    }
}
