//! What the user's bytes mean: which of them submit, which interrupt, and what text was typed.
//!
//! Terminals answer questions on the same way the user's keys take, so answers are told from keys here.
//! A lone ESC is a key only when nothing follows it for a moment: see [`Keys::settle`].

use crate::limits;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// A key that matters to turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Key {
    /// Enter, as a carriage return: submits everywhere.
    Enter,
    /// Escape, alone.
    Escape,
    /// Ctrl+C.
    Interrupt,
    /// A line feed, or Enter with a modifier: submits to a line discipline, but not to agents.
    LineFeed,
    /// Some other key.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum State {
    #[default]
    Ground,
    Escape,
    Csi,
    /// ESC O and one more.
    Single,
    /// An answer of the terminal, up to BEL or ST.
    String,
    StringEscape,
}

/// Reads input, cut anywhere.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Keys {
    state: State,
    params: Vec<u8>,
    pasting: bool,
    /// When the ESC came that may yet be a key.
    escape_at: Option<Time>,
    typed: Vec<u8>,
}

impl Keys {
    /// Takes input and calls `on` for every key, in order, after the typed text knows of it.
    pub fn feed(&mut self, bytes: &[u8], now: Time, mut on: impl FnMut(&mut Self, Key)) {
        if self.settle(now) {
            on(self, Key::Escape);
        }
        for byte in bytes {
            for key in self.byte(*byte, now).into_iter().flatten() {
                on(self, key);
            }
        }
    }

    /// Whether there is a key in the input, rather than the terminal's answers alone.
    pub(crate) fn would_press(&self, bytes: &[u8], now: Time) -> bool {
        let mut pressed = false;
        let mut keys = Self { typed: Vec::new(), params: self.params.clone(), ..*self };
        keys.feed(bytes, now, |_, _| pressed = true);
        pressed || keys.escape_at.is_some()
    }

    /// Whether an ESC that came a moment ago has become a key by now.
    pub fn settle(&mut self, now: Time) -> bool {
        let due = self.escape_at.is_some_and(|at| now >= at + limits::ESCAPE);
        if due {
            self.escape_at = None;
            self.state = State::Ground;
        }
        due
    }

    /// When [`Keys::settle`] is to be called.
    pub fn deadline(&self) -> Option<Time> {
        self.escape_at.map(|at| at + limits::ESCAPE)
    }

    /// The text typed since it was last taken, as far as it can be known: history and completion are the
    /// program's.
    pub fn typed(&self) -> &[u8] {
        &self.typed
    }

    /// Takes the typed text, at a submission.
    pub fn take_typed(&mut self) -> String {
        let typed = std::mem::take(&mut self.typed);
        String::from_utf8_lossy(&typed).into_owned()
    }

    fn byte(&mut self, byte: u8, now: Time) -> [Option<Key>; 2] {
        let key = match self.state {
            State::Ground => return [self.ground(byte, now), None],
            State::Escape => return self.after_escape(byte, now),
            State::Csi if matches!(byte, 0x40..=0x7e) => {
                self.state = State::Ground;
                self.sequence(byte)
            }
            State::Csi => {
                if self.params.len() < 32 {
                    self.params.push(byte);
                }
                None
            }
            State::Single => {
                self.state = State::Ground;
                // The keypad's Enter, in application mode.
                Some(if byte == b'M' { Key::Enter } else { Key::Other })
            }
            State::String => {
                self.state = match byte {
                    0x07 => State::Ground,
                    0x1b => State::StringEscape,
                    _ => State::String,
                };
                None
            }
            State::StringEscape => {
                self.state = State::Ground;
                None
            }
        };
        [key, None]
    }

    fn ground(&mut self, byte: u8, now: Time) -> Option<Key> {
        if byte == 0x1b {
            self.state = State::Escape;
            self.escape_at = Some(now);
            return None;
        }
        if self.pasting {
            self.push(if byte == b'\r' { b'\n' } else { byte });
            return Some(Key::Other);
        }
        Some(match byte {
            b'\r' => Key::Enter,
            b'\n' => {
                self.push(b'\n');
                Key::LineFeed
            }
            0x03 => Key::Interrupt,
            _ => {
                self.edit(byte);
                Key::Other
            }
        })
    }

    fn edit(&mut self, byte: u8) {
        match byte {
            0x08 | 0x7f => while self.typed.pop().is_some_and(|last| last & 0xc0 == 0x80) {},
            0x15 => self.typed.clear(),
            0x17 => {
                let word = self.typed.trim_ascii_end().iter().rposition(|byte| *byte == b' ');
                self.typed.truncate(word.map_or(0, |at| at + 1));
            }
            b'\t' | 0x20.. => self.push(byte),
            _ => {}
        }
    }

    fn after_escape(&mut self, byte: u8, now: Time) -> [Option<Key>; 2] {
        self.escape_at = None;
        self.state = State::Ground;
        match byte {
            b'[' => {
                self.params.clear();
                self.state = State::Csi;
                [None, None]
            }
            b'O' => {
                self.state = State::Single;
                [None, None]
            }
            b']' | b'P' | b'_' | b'^' => {
                self.state = State::String;
                [None, None]
            }
            0x1b => {
                self.state = State::Escape;
                self.escape_at = Some(now);
                [Some(Key::Escape), None]
            }
            b'\r' | b'\n' => {
                self.push(b'\n');
                [Some(Key::LineFeed), None]
            }
            // Alt and a key; Ctrl+C stays what it is.
            0x03 => [Some(Key::Escape), Some(Key::Interrupt)],
            _ => [Some(Key::Other), None],
        }
    }

    fn sequence(&mut self, action: u8) -> Option<Key> {
        let params = std::mem::take(&mut self.params);
        match (params.as_slice(), action) {
            (b"200", b'~') => self.pasting = true,
            (b"201", b'~') => self.pasting = false,
            // xterm's modifyOtherKeys, and kitty's protocol.
            (b"27;5;99", b'~') => return Some(Key::Interrupt),
            (other, b'u') => return self.coded(other),
            // Focus, mouse, and the terminal's answers: nobody pressed a key.
            (_, b'I' | b'O' | b'M' | b'm' | b'R' | b'c' | b'n' | b'y' | b't') => {}
            _ => return Some(Key::Other),
        }
        None
    }

    /// A key of kitty's protocol: `code:…;modifiers:event;text`.
    fn coded(&mut self, params: &[u8]) -> Option<Key> {
        let number = |part: &[u8]| std::str::from_utf8(part).ok().and_then(|text| text.parse::<u32>().ok());
        let mut parts = params.split(|byte| *byte == b';');
        let first = |part: Option<&[u8]>| {
            part.and_then(|part| part.split(|byte| *byte == b':').next()).and_then(number)
        };
        let code = first(parts.next())?;
        let modifiers = parts.next().unwrap_or_default();
        if modifiers.ends_with(b":3") {
            // Released.
            return None;
        }
        // Shift, Alt and Ctrl; locks do not count.
        let bits = first(Some(modifiers)).unwrap_or(1).saturating_sub(1);
        let (shift, alt, control) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
        match code {
            13 | 57414 if !(shift || alt || control) => return Some(Key::Enter),
            13 | 57414 => {
                self.push(b'\n');
                return Some(Key::LineFeed);
            }
            27 if !(alt || control) => return Some(Key::Escape),
            99 if control => return Some(Key::Interrupt),
            127 => self.edit(0x7f),
            _ if !alt && !control => {
                let typed = first(parts.next()).or(Some(code)).filter(|code| (0x20..0xe000).contains(code));
                if let Some(c) = typed.and_then(char::from_u32) {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| self.push(byte));
                }
            }
            _ => {}
        }
        Some(Key::Other)
    }

    fn push(&mut self, byte: u8) {
        if self.typed.len() < limits::TYPED_BYTES {
            self.typed.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(input: &[u8]) -> (Vec<Key>, String) {
        let mut all = Vec::new();
        let mut keys = Keys::default();
        keys.feed(input, Time(0), |_, key| all.push(key));
        if keys.settle(Time::from_millis(1000)) {
            all.push(Key::Escape);
        }
        (all, keys.take_typed())
    }

    #[test]
    fn text_and_enter() {
        assert_eq!(
            keys(b"ab\x7fc\r"),
            (vec![Key::Other, Key::Other, Key::Other, Key::Other, Key::Enter], "ac".into())
        );
        assert_eq!(keys(b"one two\x17three").1, "one three");
        assert_eq!(keys(b"\n").0, [Key::LineFeed]);
    }

    #[test]
    fn a_lone_escape_is_a_key_and_the_start_of_a_sequence_is_not() {
        assert_eq!(keys(b"\x1b").0, [Key::Escape]);
        assert_eq!(keys(b"\x1b[A").0, [Key::Other]);
        let mut split = Keys::default();
        let mut all = Vec::new();
        split.feed(b"\x1b", Time(0), |_, key| all.push(key));
        split.feed(b"[A", Time(10), |_, key| all.push(key));
        assert_eq!(all, [Key::Other]);
        split.feed(b"\x1b", Time(20), |_, key| all.push(key));
        split.feed(b"[", Time::from_millis(500), |_, key| all.push(key));
        assert_eq!(all, [Key::Other, Key::Escape, Key::Other]);
    }

    #[test]
    fn answers_of_the_terminal_are_no_keys() {
        for answer in [
            &b"\x1b[?62;22c"[..],
            b"\x1bP>|XTerm(388)\x1b\\",
            b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
            b"\x1b]7501;?\x07",
            b"\x1b[1;1R",
            b"\x1b[I",
            b"\x1b[?2026;2$y",
            b"\x1b[<0;1;1M",
        ] {
            assert_eq!(keys(answer), (vec![], String::new()), "{}", answer.escape_ascii());
        }
    }

    #[test]
    fn pasted_lines_are_not_submitted() {
        let (all, typed) = keys(b"\x1b[200~a\rb\x1b[201~\r");
        assert_eq!(all.iter().filter(|key| **key == Key::Enter).count(), 1);
        assert_eq!(typed, "a\nb");
    }

    #[test]
    fn keyboard_protocols() {
        assert_eq!(keys(b"\x1b[13u").0, [Key::Enter]);
        assert_eq!(keys(b"\x1b[13;2u").0, [Key::LineFeed]);
        assert_eq!(keys(b"\x1b[27u").0, [Key::Escape]);
        assert_eq!(keys(b"\x1b[99;5u").0, [Key::Interrupt]);
        assert_eq!(keys(b"\x1b[97u\x1b[98;1:1u\x1b[98;1:3u\x1b[99;2;67u").1, "abC");
        assert_eq!(keys(b"\x1b[13;1:1u\x1b[13;1:3u").0, [Key::Enter]);
        assert_eq!(keys(b"\x1b[13;129u").0, [Key::Enter], "num lock");
        assert_eq!(keys(b"\x1b\x1b").0, [Key::Escape, Key::Escape]);
    }
}
