//! The meaning of the user's bytes: which of them submit, which interrupt, and what text was typed.
//!
//! The terminal's replies arrive on the same path as the user's keys, so they are distinguished here.
//! A lone ESC is a key only when nothing follows it for a moment: see [`TurnKeys::settle`].

use crate::limits;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use swb_vt::{Input, InputParser, Key as KeyName, KeyCode, KeyPress};

/// A key that matters to turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnKey {
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

/// Parses input, split anywhere.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TurnKeys {
    // A daemon of another version may have saved something else.
    #[serde(default)]
    parser: InputParser,
    /// When the ESC arrived that may yet be a key.
    escape_at: Option<Time>,
    typed: Vec<u8>,
    /// A key other than Enter was pressed since the typed text was last taken.
    #[serde(default)]
    touched: bool,
}

impl TurnKeys {
    /// Takes input and calls `on` for every key, in order, after the typed text was updated.
    pub fn feed(&mut self, bytes: &[u8], now: Time, mut on: impl FnMut(&mut Self, TurnKey)) {
        if self.settle(now) {
            on(self, TurnKey::Escape);
        }
        let mut rest = bytes;
        while let Some(input) = self.parser.next(&mut rest) {
            for key in self.input(input).into_iter().flatten() {
                on(self, key);
            }
        }
        if !bytes.is_empty() {
            self.escape_at = (self.parser.pending() == [0x1b]).then_some(now);
        }
    }

    /// Whether the input contains a key, rather than only the terminal's replies.
    pub(crate) fn would_press(&self, bytes: &[u8], now: Time) -> bool {
        let mut pressed = false;
        let mut keys = Self { typed: Vec::new(), parser: self.parser.clone(), ..*self };
        keys.feed(bytes, now, |_, _| pressed = true);
        pressed || keys.escape_at.is_some()
    }

    /// Whether an ESC that arrived a moment ago counts as a key by now.
    pub fn settle(&mut self, now: Time) -> bool {
        let due = self.escape_at.is_some_and(|at| now >= at + limits::ESCAPE);
        if due {
            self.escape_at = None;
            self.parser.give_up();
        }
        due
    }

    /// When [`TurnKeys::settle`] has to be called.
    pub fn deadline(&self) -> Option<Time> {
        self.escape_at.map(|at| at + limits::ESCAPE)
    }

    /// The text typed since it was last taken, as far as it is known: history and completion are up to the
    /// program.
    pub fn typed(&self) -> &[u8] {
        &self.typed
    }

    /// Whether the input line may hold text, even if it is not known: a key may have brought back an earlier line.
    pub fn touched(&self) -> bool {
        self.touched
    }

    /// Takes the typed text, at a submission.
    pub fn take_typed(&mut self) -> String {
        self.touched = false;
        let typed = std::mem::take(&mut self.typed);
        String::from_utf8_lossy(&typed).into_owned()
    }

    fn input(&mut self, input: Input<'_>) -> [Option<TurnKey>; 2] {
        let key = match input {
            Input::Press(press) if is_interrupt(press.key) && press.key.modifiers & KeyName::ALT != 0 => {
                return [Some(TurnKey::Escape), Some(TurnKey::Interrupt)];
            }
            Input::Press(press) => Some(self.press(&press)),
            Input::Pasted(text) => {
                text.iter().for_each(|byte| self.push(if *byte == b'\r' { b'\n' } else { *byte }));
                Some(TurnKey::Other)
            }
            // No key was pressed.
            Input::Release(_) | Input::PasteStart | Input::PasteEnd | Input::Reply | Input::Report => None,
        };
        self.touched |= matches!(key, Some(TurnKey::Other | TurnKey::LineFeed));
        [key, None]
    }

    fn press(&mut self, press: &KeyPress) -> TurnKey {
        let held = |modifiers: u8| press.key.modifiers & modifiers != 0;
        let (alt, ctrl) = (held(KeyName::ALT), held(KeyName::CTRL));
        match press.key.code {
            KeyCode::Enter if !(alt || ctrl || held(KeyName::SHIFT)) => return TurnKey::Enter,
            KeyCode::Enter => {
                self.push(b'\n');
                return TurnKey::LineFeed;
            }
            KeyCode::Char('j') if ctrl => {
                self.push(b'\n');
                return TurnKey::LineFeed;
            }
            KeyCode::Escape if !(alt || ctrl) => return TurnKey::Escape,
            _ if is_interrupt(press.key) => return TurnKey::Interrupt,
            KeyCode::Backspace if !alt => while self.typed.pop().is_some_and(|last| last & 0xc0 == 0x80) {},
            KeyCode::Char('u') if ctrl => self.typed.clear(),
            KeyCode::Char('w') if ctrl => {
                let word = self.typed.trim_ascii_end().iter().rposition(|byte| *byte == b' ');
                self.typed.truncate(word.map_or(0, |at| at + 1));
            }
            KeyCode::Tab if !alt => self.push(b'\t'),
            _ => {
                let text = press.text.map(|c| c.to_string()).unwrap_or_default();
                text.bytes().for_each(|byte| self.push(byte));
            }
        }
        TurnKey::Other
    }

    fn push(&mut self, byte: u8) {
        if self.typed.len() < limits::TYPED_BYTES {
            self.typed.push(byte);
        }
    }
}

fn is_interrupt(key: KeyName) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers & KeyName::CTRL != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(input: &[u8]) -> (Vec<TurnKey>, String) {
        let mut all = Vec::new();
        let mut keys = TurnKeys::default();
        keys.feed(input, Time(0), |_, key| all.push(key));
        if keys.settle(Time::from_millis(1000)) {
            all.push(TurnKey::Escape);
        }
        (all, keys.take_typed())
    }

    #[test]
    fn text_and_enter() {
        assert_eq!(
            keys(b"ab\x7fc\r"),
            (
                vec![TurnKey::Other, TurnKey::Other, TurnKey::Other, TurnKey::Other, TurnKey::Enter],
                "ac".into()
            )
        );
        assert_eq!(keys(b"one two\x17three").1, "one three");
        assert_eq!(keys(b"\n").0, [TurnKey::LineFeed]);
    }

    #[test]
    fn a_lone_escape_is_a_key_and_the_start_of_a_sequence_is_not() {
        assert_eq!(keys(b"\x1b").0, [TurnKey::Escape]);
        assert_eq!(keys(b"\x1b[A").0, [TurnKey::Other]);
        let mut split = TurnKeys::default();
        let mut all = Vec::new();
        split.feed(b"\x1b", Time(0), |_, key| all.push(key));
        split.feed(b"[A", Time(10), |_, key| all.push(key));
        assert_eq!(all, [TurnKey::Other]);
        split.feed(b"\x1b", Time(20), |_, key| all.push(key));
        split.feed(b"[", Time::from_millis(500), |_, key| all.push(key));
        assert_eq!(all, [TurnKey::Other, TurnKey::Escape, TurnKey::Other]);
    }

    #[test]
    fn replies_of_the_terminal_are_not_keys() {
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
        assert_eq!(all.iter().filter(|key| **key == TurnKey::Enter).count(), 1);
        assert_eq!(typed, "a\nb");
    }

    #[test]
    fn keyboard_protocols() {
        assert_eq!(keys(b"\x1b[13u").0, [TurnKey::Enter]);
        assert_eq!(keys(b"\x1b[13;2u").0, [TurnKey::LineFeed]);
        assert_eq!(keys(b"\x1b[27u").0, [TurnKey::Escape]);
        assert_eq!(keys(b"\x1b[99;5u").0, [TurnKey::Interrupt]);
        assert_eq!(keys(b"\x1b[97u\x1b[98;1:1u\x1b[98;1:3u\x1b[99;2;67u").1, "abC");
        assert_eq!(keys(b"\x1b[13;1:1u\x1b[13;1:3u").0, [TurnKey::Enter]);
        assert_eq!(keys(b"\x1b[13;129u").0, [TurnKey::Enter], "num lock");
        assert_eq!(keys(b"\x1b\x1b").0, [TurnKey::Escape, TurnKey::Escape]);
    }
}
