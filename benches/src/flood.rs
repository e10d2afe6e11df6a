//! The output that floods a terminal: lines as compilers and agents write them, or what programs that draw the whole
//! screen send.

/// What a flood consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Lines of text, some of them coloured.
    Text,
    /// A cursor position and colours every few characters.
    Ansi,
}

impl Style {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Text, Self::Ansi];

    /// Its name, in keys, titles and orders.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Ansi => "ansi",
        }
    }

    /// The style of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }
}

/// A long stretch of output, repeated for as long as a flood lasts.
pub(crate) struct Text {
    bytes: Vec<u8>,
}

/// Length of the stretch. Long enough that short cycles in it cannot flatter anyone's caches.
const LENGTH: usize = 1 << 20;

/// Bytes per write: what a program with a generous output buffer does.
const CHUNK: usize = 64 * 1024;

const WORDS: [&str; 12] = [
    "error",
    "warning:",
    "Compiling",
    "src/main.rs:42:7",
    "ok",
    "│",
    "Grüße",
    "→",
    "0x7ffe",
    "in",
    "test",
    "{}",
];

impl Text {
    /// Output in this style.
    pub(crate) fn new(style: Style) -> Self {
        match style {
            Style::Text => Self::lines(),
            Style::Ansi => Self::screens(),
        }
    }

    /// Screens as full-screen programs redraw them, the same every time.
    fn screens() -> Self {
        let mut bytes = Vec::with_capacity(LENGTH + 256);
        let mut seed: u32 = 7;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        while bytes.len() < LENGTH {
            let (row, column) = (1 + next(24), 1 + next(70));
            bytes.extend_from_slice(format!("\x1b[{row};{column}H").as_bytes());
            match next(4) {
                0 => bytes.extend_from_slice(format!("\x1b[38;5;{}m", next(256)).as_bytes()),
                1 => {
                    let (red, green, blue) = (next(256), next(256), next(256));
                    bytes.extend_from_slice(format!("\x1b[48;2;{red};{green};{blue}m").as_bytes());
                }
                2 => bytes.extend_from_slice(format!("\x1b[1;{}m", 31 + next(6)).as_bytes()),
                _ => bytes.extend_from_slice(b"\x1b[0m\x1b[K"),
            }
            bytes.extend_from_slice(WORDS[next(WORDS.len() as u32) as usize].as_bytes());
        }
        Self { bytes }
    }

    /// Writes the same text every time: no randomness between contenders or runs.
    fn lines() -> Self {
        let mut bytes = Vec::with_capacity(LENGTH + 256);
        let mut seed: u32 = 1;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        while bytes.len() < LENGTH {
            let colour = (next(4) == 0).then(|| 31 + next(6));
            if let Some(colour) = colour {
                bytes.extend_from_slice(format!("\x1b[{colour}m").as_bytes());
            }
            for _ in 0..next(20) {
                bytes.extend_from_slice(WORDS[next(WORDS.len() as u32) as usize].as_bytes());
                bytes.push(b' ');
            }
            if colour.is_some() {
                bytes.extend_from_slice(b"\x1b[0m");
            }
            bytes.push(b'\n');
        }
        Self { bytes }
    }

    /// The pieces that make up the first `length` bytes.
    pub(crate) fn pieces(&self, length: u64) -> impl Iterator<Item = &[u8]> {
        let mut left = length;
        self.endless().map_while(move |piece| {
            let take = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= take as u64;
            (take > 0).then(|| &piece[..take])
        })
    }

    /// The pieces without end.
    pub(crate) fn endless(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(CHUNK).cycle()
    }

    /// How many bytes the first `length` become on a terminal, where each newline also gets a carriage return.
    pub(crate) fn shown_length(&self, length: u64) -> u64 {
        self.pieces(length).map(|p| p.len() as u64 + memchr::memchr_iter(b'\n', p).count() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up_to_exactly_what_was_asked_for() {
        let text = Text::new(Style::Text);
        for length in [0, 1, CHUNK as u64, LENGTH as u64 * 3 + 5] {
            assert_eq!(text.pieces(length).map(|p| p.len() as u64).sum::<u64>(), length);
        }
    }

    #[test]
    fn markers_cannot_occur_in_the_text() {
        for style in Style::ALL {
            assert!(!Text::new(style).bytes.contains(&b'@'));
        }
    }
}
