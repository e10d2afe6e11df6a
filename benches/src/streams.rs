//! Output that keeps a screen model busy: what programs write at full speed, one kind each, and recorded sessions.
//!
//! The kinds resemble those of vtebench. They are the same every time, so that instructions can be counted.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub(crate) const COLS: u16 = 120;
pub(crate) const ROWS: u16 = 40;

/// Bytes before a stream repeats: more than any cache of a core holds.
const LENGTH: usize = 1 << 20;

/// What a stream resembles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Each cell with attributes of its own.
    Cells,
    /// Single characters all over the screen.
    Cursor,
    /// Recorded sessions of agents.
    Recorded,
    /// Lines that scroll between margins.
    Region,
    /// Whole screens, drawn over and over, as editors and agents do.
    Repaint,
    /// Each cell with colours of 24 bits.
    Rgb,
    /// Lines of a compiler.
    Text,
    /// Text beyond ASCII.
    Utf8,
}

impl Stream {
    pub(crate) const ALL: [Self; 8] = [
        Self::Text,
        Self::Utf8,
        Self::Cells,
        Self::Rgb,
        Self::Cursor,
        Self::Region,
        Self::Repaint,
        Self::Recorded,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells",
            Self::Cursor => "cursor",
            Self::Recorded => "recorded",
            Self::Region => "region",
            Self::Repaint => "repaint",
            Self::Rgb => "rgb",
            Self::Text => "text",
            Self::Utf8 => "utf8",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.name() == name)
    }

    /// For a row of the table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Cells => "256 colours in each cell",
            Self::Cursor => "cursor addressing",
            Self::Recorded => "recorded agents",
            Self::Region => "scrolling between margins",
            Self::Repaint => "repainted screens",
            Self::Rgb => "24-bit colours in each cell",
            Self::Text => "plain text",
            Self::Utf8 => "text beyond ASCII",
        }
    }

    /// What the screen has to show first.
    pub(crate) fn stage(self) -> &'static [u8] {
        match self {
            Self::Text | Self::Utf8 | Self::Recorded => b"",
            Self::Region => b"\x1b[?1049h\x1b[5;30r\x1b[30H",
            Self::Cells | Self::Cursor | Self::Repaint | Self::Rgb => b"\x1b[?1049h\x1b[H",
        }
    }

    /// The bytes, which may be repeated.
    pub(crate) fn bytes(self) -> Result<Vec<u8>> {
        if self == Self::Recorded {
            return recorded();
        }
        let (mut out, mut dice) = (String::with_capacity(2 * LENGTH), Dice(1));
        while out.len() < LENGTH {
            // Writing to a string cannot fail.
            let _written = self.write(&mut out, &mut dice);
        }
        Ok(out.into_bytes())
    }

    fn write(self, out: &mut String, dice: &mut Dice) -> std::fmt::Result {
        match self {
            Self::Cells => cells(out, dice),
            Self::Cursor => {
                let (y, x) = (1 + dice.below(ROWS.into()), 1 + dice.below(COLS.into()));
                write!(out, "\x1b[{y};{x}H{}", dice.letter())
            }
            Self::Recorded => Ok(()),
            Self::Region => write!(out, "line {}\r\n", dice.below(1000)),
            Self::Repaint => repaint(out, dice),
            Self::Rgb => rgb(out, dice),
            Self::Text => text(out, dice),
            Self::Utf8 => {
                const WORDS: [&str; 6] = ["Grüße", "→", "│ ", "漢字", "👍", "naïve "];
                out.write_str(WORDS[dice.below(WORDS.len())])
            }
        }
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u32);

impl Dice {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) as usize % below
    }

    fn letter(&mut self) -> char {
        char::from(b'a' + self.below(26) as u8)
    }
}

fn text(out: &mut String, dice: &mut Dice) -> std::fmt::Result {
    const WORDS: [&str; 8] =
        ["error", "warning:", "Compiling", "src/main.rs:42:7", "ok", "0x7ffe", "in", "{}"];
    let coloured = dice.below(4) == 0;
    if coloured {
        write!(out, "\x1b[{}m", 31 + dice.below(6))?;
    }
    for _ in 0..dice.below(20) {
        write!(out, "{} ", WORDS[dice.below(WORDS.len())])?;
    }
    out.write_str(if coloured { "\x1b[0m\r\n" } else { "\r\n" })
}

fn cells(out: &mut String, dice: &mut Dice) -> std::fmt::Result {
    let (offset, letter) = (dice.below(200), dice.letter());
    out.write_str("\x1b[H")?;
    for at in (0..usize::from(ROWS)).flat_map(|y| (0..usize::from(COLS)).map(move |x| x + y + offset)) {
        write!(out, "\x1b[38;5;{};48;5;{};1;3;4m{letter}", at % 156 + 100, 255 - at % 156)?;
    }
    Ok(())
}

fn rgb(out: &mut String, dice: &mut Dice) -> std::fmt::Result {
    let offset = dice.below(200);
    out.write_str("\x1b[H")?;
    for y in 0..usize::from(ROWS) {
        for x in 0..usize::from(COLS) {
            let (red, blue) = ((x + offset) % 256, x * y % 256);
            write!(out, "\x1b[38;2;{red};{y};{blue}m\x1b[48;2;{};0;7m#", (x + y) % 256)?;
        }
        out.write_str(if y + 1 < usize::from(ROWS) { "\r\n" } else { "" })?;
    }
    Ok(())
}

fn repaint(out: &mut String, dice: &mut Dice) -> std::fmt::Result {
    out.write_str("\x1b[?2026h\x1b[?25l")?;
    for y in 1..=ROWS {
        write!(out, "\x1b[{y};1H\x1b[{}m{y:>4} \x1b[m", 90 + dice.below(7))?;
        for _ in 0..dice.below(9) {
            let colour = 31 + dice.below(6);
            write!(out, "\x1b[{colour}mlet\x1b[39m mut \x1b[1mvalue\x1b[22m = ")?;
        }
        out.write_str("\x1b[K")?;
    }
    let (y, x) = (1 + dice.below(ROWS.into()), 1 + dice.below(COLS.into()));
    write!(out, "\x1b[{y};{x}H\x1b[?25h\x1b[?2026l")
}

/// The output of the recordings that the tests of the model use.
fn recorded() -> Result<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/vt/tests/recordings");
    let mut files = Vec::new();
    for program in fs::read_dir(&root).with_context(|| format!("no recordings in {}", root.display()))? {
        for scenario in fs::read_dir(program?.path())? {
            files.push(scenario?.path().join("stream.jsonl"));
        }
    }
    files.sort();
    let mut out = Vec::new();
    for file in files {
        for line in fs::read_to_string(&file)?.lines() {
            let entry: serde_json::Value = serde_json::from_str(line)?;
            if let ("o", Some(bytes)) = (entry["d"].as_str().unwrap_or_default(), entry["b64"].as_str()) {
                out.extend(STANDARD.decode(bytes)?);
            }
        }
        // What one program has left behind must not change how the next one is drawn.
        out.extend_from_slice(b"\x1bc");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_has_bytes_and_a_name() {
        for stream in Stream::ALL {
            assert!(stream.bytes().unwrap().len() > 100_000, "{stream:?}");
            assert_eq!(Stream::named(stream.name()), Some(stream));
        }
        assert_eq!(Stream::named("x"), None);
    }
}
