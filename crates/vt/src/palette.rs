//! Colours a program has changed, and what the others are.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;

/// Red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Reads `rgb:r/g/b` with one to four digits each, or `#rgb` with the same digits each.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if let Some(digits) = text.strip_prefix('#') {
            let len = digits.len() / 3;
            let fits = matches!(digits.len(), 3 | 6 | 9 | 12) && digits.is_ascii();
            // A short colour names the high bits here, while it is a fraction in the other form.
            let part = |n: usize| {
                let digits = digits.get(n * len..(n + 1) * len)?;
                let value = u32::from_str_radix(digits, 16).ok()?;
                Some((value << (16 - 4 * len) >> 8) as u8)
            };
            return if fits { Some(Self(part(0)?, part(1)?, part(2)?)) } else { None };
        }
        let mut parts = text.strip_prefix("rgb:")?.split('/').map(|part| {
            let max = match part.len() {
                1..=4 => (1u32 << (4 * part.len())) - 1,
                _ => return None,
            };
            let value = u32::from_str_radix(part, 16).ok()?;
            Some((value * 255 / max) as u8)
        });
        let color = Self(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(color)
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(r, g, b) = self;
        write!(f, "rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}")
    }
}

/// Number of the OSC that sets the first of the special colours (the foreground), and of the last.
pub(crate) const SPECIAL: std::ops::RangeInclusive<u16> = 10..=19;
const FOREGROUND: u16 = 10;
const CURSOR: u16 = 12;

/// The changes to a terminal's colours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Palette {
    indexed: BTreeMap<u8, Rgb>,
    special: BTreeMap<u16, Rgb>,
}

impl Palette {
    /// The colour at `n`, changed or not.
    pub(crate) fn indexed(&self, n: u8) -> Rgb {
        self.indexed.get(&n).copied().unwrap_or_else(|| standard(n))
    }

    /// The colour OSC `number` sets, changed or not: foreground 10, background 11, cursor 12…
    pub(crate) fn special(&self, number: u16) -> Rgb {
        let light = matches!(number, FOREGROUND | CURSOR);
        let fresh = || if light { Rgb(0xd8, 0xd8, 0xd8) } else { Rgb(0x18, 0x18, 0x18) };
        self.special.get(&number).copied().unwrap_or_else(fresh)
    }

    pub(crate) fn set_indexed(&mut self, n: u8, color: Rgb) {
        self.indexed.insert(n, color);
    }

    pub(crate) fn set_special(&mut self, number: u16, color: Rgb) {
        if SPECIAL.contains(&number) {
            self.special.insert(number, color);
        }
    }

    pub(crate) fn reset_indexed(&mut self, n: Option<u8>) {
        match n {
            Some(n) => drop(self.indexed.remove(&n)),
            None => self.indexed.clear(),
        }
    }

    pub(crate) fn reset_special(&mut self, number: u16) {
        self.special.remove(&number);
    }

    /// Appends what changes a fresh terminal's colours so.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for (n, color) in &self.indexed {
            let _written = write!(out, "\x1b]4;{n};{color}\x1b\\");
        }
        for (number, color) in &self.special {
            let _written = write!(out, "\x1b]{number};{color}\x1b\\");
        }
    }
}

/// The palette of xterm.
fn standard(n: u8) -> Rgb {
    const BASE: [Rgb; 16] = [
        Rgb(0, 0, 0),
        Rgb(205, 0, 0),
        Rgb(0, 205, 0),
        Rgb(205, 205, 0),
        Rgb(0, 0, 238),
        Rgb(205, 0, 205),
        Rgb(0, 205, 205),
        Rgb(229, 229, 229),
        Rgb(127, 127, 127),
        Rgb(255, 0, 0),
        Rgb(0, 255, 0),
        Rgb(255, 255, 0),
        Rgb(92, 92, 255),
        Rgb(255, 0, 255),
        Rgb(0, 255, 255),
        Rgb(255, 255, 255),
    ];
    let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    match n {
        0..16 => BASE[usize::from(n)],
        16..232 => {
            let n = n - 16;
            Rgb(step(n / 36), step(n / 6 % 6), step(n % 6))
        }
        _ => {
            let level = 8 + 10 * (n - 232);
            Rgb(level, level, level)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_in_every_form() {
        assert_eq!(Rgb::parse(b"rgb:ff/80/0"), Some(Rgb(255, 128, 0)));
        assert_eq!(Rgb::parse(b"rgb:ffff/8080/0000"), Some(Rgb(255, 128, 0)));
        assert_eq!(Rgb::parse(b"#eeeeee"), Some(Rgb(0xee, 0xee, 0xee)));
        assert_eq!(Rgb::parse(b"#f80"), Some(Rgb(0xf0, 0x80, 0)));
        assert_eq!(Rgb::parse(b"#ffff80800000"), Some(Rgb(255, 128, 0)));
        for bad in [
            &b"red"[..],
            b"#ff",
            b"rgb:1/2",
            b"rgb:1/2/3/4",
            b"rgb:12345/0/0",
            b"\xff",
            b"#\xc3\xa9\xc3\xa9\xc3\xa9",
        ] {
            assert_eq!(Rgb::parse(bad), None);
        }
        let color = Rgb(1, 2, 3);
        assert_eq!(Rgb::parse(color.to_string().as_bytes()), Some(color));
    }

    #[test]
    fn the_cube_and_the_greys_are_xterms() {
        assert_eq!(standard(16), Rgb(0, 0, 0));
        assert_eq!(standard(231), Rgb(255, 255, 255));
        assert_eq!(standard(255), Rgb(238, 238, 238));
    }
}
