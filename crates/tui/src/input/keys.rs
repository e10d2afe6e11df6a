//! Keys from the bytes that a terminal sends for them.

use std::time::{Duration, Instant};
use swb_vt::{Input, InputParser, KeyCode, KeyPress};

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// Alt with a character.
    Alt(char),
    /// Alt+Enter: a line feed within the message.
    AltEnter,
    /// Backspace.
    Backspace,
    /// A character.
    Char(char),
    /// Ctrl with a letter, in lower case.
    Ctrl(char),
    /// Delete.
    Delete,
    /// Down.
    Down,
    /// End.
    End,
    /// Enter.
    Enter,
    /// Escape, alone.
    Escape,
    /// Home.
    Home,
    /// Left.
    Left,
    /// Text that was pasted, with line feeds.
    Paste(String),
    /// Right.
    Right,
    /// Tab.
    Tab,
    /// Up.
    Up,
    /// Ctrl+Left, Alt+Left.
    WordLeft,
    /// Ctrl+Right, Alt+Right.
    WordRight,
}

/// Takes bytes cut anywhere and gives keys.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    parser: InputParser,
    paste: Vec<u8>,
    /// When something came last.
    came: Option<Instant>,
}

impl Keys {
    /// Takes more bytes; gives the keys that are complete.
    pub fn push(&mut self, bytes: &[u8], now: Instant) -> Vec<Key> {
        self.came = Some(now);
        let (mut keys, mut rest) = (Vec::new(), bytes);
        while let Some(input) = self.parser.next(&mut rest) {
            keys.extend(self.key(input));
        }
        keys
    }

    /// When to [`Keys::flush`] what is held and may be a key by itself: the Escape key, or the beginning of another.
    pub fn due(&self) -> Option<Instant> {
        let waits = self.paste.is_none() && self.held.first() == Some(&0x1b);
        self.came.filter(|_| waits).map(|came| came + limits::ESCAPE)
    }

    /// Gives what is held, if nothing has followed for a while.
    pub fn flush(&mut self, now: Instant) -> Option<Key> {
        self.due().filter(|due| *due <= now)?;
        let input = self.parser.give_up()?;
        self.key(input)
    }

    /// Moves what is held into the paste; gives it when its end is there.
    fn pasted(&mut self) -> Option<Key> {
        let paste = self.paste.get_or_insert_default();
        let end = self.held.windows(PASTE_END.len()).position(|window| window == PASTE_END);
        // The end mark itself may be cut.
        let ready = end.unwrap_or(self.held.len().saturating_sub(PASTE_END.len() - 1));
        paste.extend(self.held.drain(..ready).take(limits::PASTE.saturating_sub(paste.len())));
        end?;
        self.held.drain(..PASTE_END.len());
        let text = String::from_utf8_lossy(&self.paste.take()?).replace("\r\n", "\n").replace('\r', "\n");
        Some(Key::Paste(text))
    }
}

fn step(bytes: &[u8]) -> Step {
    let Some(first) = bytes.first() else { return Step::More };
    match first {
        0x1b => escape(bytes),
        b'\r' | b'\n' => Step::Key(Some(if *first == b'\r' { Key::Enter } else { Key::Ctrl('j') }), 1),
        b'\t' => Step::Key(Some(Key::Tab), 1),
        0x08 | 0x7f => Step::Key(Some(Key::Backspace), 1),
        0x01..=0x1a => Step::Key(Some(Key::Ctrl(char::from(first + 0x60))), 1),
        0x00 | 0x1c..=0x1f => Step::Key(None, 1),
        _ => character(bytes, 0),
    }
}

/// A character that begins at `at`; before it is at most the Escape that makes it an Alt key.
fn character(bytes: &[u8], at: usize) -> Step {
    let rest = bytes.get(at..).unwrap_or_default();
    let length = match rest.first() {
        None => return Step::More,
        Some(0x00..=0x7f) => 1,
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) => return Step::Key(None, at + 1),
    };
    let Some(encoded) = rest.get(..length) else { return Step::More };
    match str::from_utf8(encoded).ok().and_then(|text| text.chars().next()) {
        Some(c) if at > 0 => Step::Key(Some(Key::Alt(c)), at + length),
        Some(c) => Step::Key(Some(Key::Char(c)), length),
        None => Step::Key(None, at + 1),
    }
}

fn escape(bytes: &[u8]) -> Step {
    match bytes.get(1) {
        None => Step::More,
        Some(b'[') => sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            Some(last) => Step::Key(named(*last, ""), 3),
            None => Step::More,
        },
        Some(b'\r' | b'\n') => Step::Key(Some(Key::AltEnter), 2),
        Some(0x7f | 0x08) => Step::Key(Some(Key::Ctrl('w')), 2),
        Some(0x1b) => Step::Key(Some(Key::Escape), 1),
        Some(0x00..=0x1f) => Step::Key(None, 2),
        Some(_) => character(bytes, 1),
    }
}

/// A control sequence: parameters and a last byte.
fn sequence(bytes: &[u8]) -> Step {
    let body = bytes.get(2..).unwrap_or_default();
    let Some(end) = body.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return if body.len() > limits::SEQUENCE { Step::Key(None, bytes.len()) } else { Step::More };
    };
    let parameters = body.get(..end).and_then(|text| str::from_utf8(text).ok()).unwrap_or_default();
    Step::Key(named(body.get(end).copied().unwrap_or_default(), parameters), end + 3)
}

fn named(last: u8, parameters: &str) -> Option<Key> {
    let mut numbers = parameters.split(';').map(|number| number.split(':').next().unwrap_or_default());
    let mut next = || numbers.next().unwrap_or_default();
    let (first, modifier, code) = (next(), next(), next());
    // Modifiers are counted from 1: shift 1, alt 2, control 4.
    let held = modifier.parse::<u8>().unwrap_or(1).saturating_sub(1);
    let word = held & 0b110 != 0;
    let enter = if held > 0 { Key::AltEnter } else { Key::Enter };
    match (last, first) {
        (b'A', _) => Some(Key::Up),
        (b'B', _) => Some(Key::Down),
        (b'C', _) => Some(if word { Key::WordRight } else { Key::Right }),
        (b'D', _) => Some(if word { Key::WordLeft } else { Key::Left }),
        (b'H', _) | (b'~', "1" | "7") => Some(Key::Home),
        (b'F', _) | (b'~', "4" | "8") => Some(Key::End),
        (b'~', "3") => Some(Key::Delete),
        // Enter with a modifier, as terminals with extended keys tell it.
        (b'u', "13") => Some(enter),
        (b'~', "27") if code == "13" => Some(enter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let now = Instant::now();
        let whole = Keys::default().push(bytes, now);
        for cut in 0..=bytes.len() {
            let mut keys = Keys::default();
            let mut parts = keys.push(&bytes[..cut], now);
            parts.extend(keys.push(&bytes[cut..], now));
            assert_eq!(parts, whole, "cut at {cut}");
        }
        whole
    }

    #[test]
    fn keys_are_told_apart_wherever_they_are_cut() {
        let typed = "aü日\r\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b\r\x1b[13;2u\x7f\x03\x1bb\x1b[Z".as_bytes();
        assert_eq!(
            keys(typed),
            [
                Key::Char('a'),
                Key::Char('ü'),
                Key::Char('日'),
                Key::Enter,
                Key::Up,
                Key::Down,
                Key::WordRight,
                Key::Delete,
                Key::AltEnter,
                Key::AltEnter,
                Key::Backspace,
                Key::Ctrl('c'),
                Key::Alt('b'),
            ]
        );
    }

    #[test]
    fn a_paste_is_one_key_whatever_is_in_it() {
        let pasted = b"\x1b[200~one\r\ntwo\x1b[A\rthree\x1b[201~x";
        assert_eq!(keys(pasted), [Key::Paste("one\ntwo\x1b[A\nthree".into()), Key::Char('x')]);
        let (mut endless, now) = (Keys::default(), Instant::now());
        endless.push(b"\x1b[200~", now);
        (0..40).for_each(|_| drop(endless.push(&[b'x'; 65536], now)));
        assert_eq!(endless.due(), None);
        assert!(
            matches!(&endless.push(PASTE_END, now)[..], [Key::Paste(text)] if text.len() == limits::PASTE)
        );
    }

    #[test]
    fn a_lone_escape_is_known_after_a_while() {
        let (mut keys, now) = (Keys::default(), Instant::now());
        let later = now + limits::ESCAPE;
        assert_eq!((keys.push(b"\x1b", now), keys.due()), (vec![], Some(later)));
        assert_eq!(keys.flush(now + limits::ESCAPE / 2), None, "somebody else may have ended the wait");
        assert_eq!((keys.push(b"[A", later), keys.due()), (vec![Key::Up], None));
        keys.push(b"\x1b", now);
        assert_eq!((keys.flush(later), keys.flush(later), keys.due()), (Some(Key::Escape), None, None));
        keys.push(b"\x1b[1", now);
        assert_eq!((keys.flush(later), keys.push(b"a", later)), (None, vec![Key::Char('a')]));
    }

    #[test]
    fn other_keys_with_modifiers_are_no_enter() {
        assert_eq!(
            keys(b"\x1b[27;2;13~\x1b[27;5;44~\x1b[27;6;65~\x1b[44;5ua"),
            [Key::AltEnter, Key::Char('a')]
        );
    }

    #[test]
    fn bytes_that_mean_nothing_are_passed_over() {
        assert_eq!(keys(b"\xff\xc3(a"), [Key::Char('('), Key::Char('a')]);
        assert_eq!(keys(b"\x00\x1c\x1b[?1;2ca"), [Key::Char('a')]);
    }
}
