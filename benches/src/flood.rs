//! The output that floods a terminal: lines as compilers and agents write them.

/// A long stretch of mixed lines, repeated for as long as a flood lasts.
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
    /// Writes the same text every time: no randomness between contenders or runs.
    pub(crate) fn new() -> Self {
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
        let text = Text::new();
        for length in [0, 1, CHUNK as u64, LENGTH as u64 * 3 + 5] {
            assert_eq!(text.pieces(length).map(|p| p.len() as u64).sum::<u64>(), length);
        }
    }

    #[test]
    fn markers_cannot_occur_in_the_text() {
        assert!(!Text::new().bytes.contains(&b'@'));
    }
}
