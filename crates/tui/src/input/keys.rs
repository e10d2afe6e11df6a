//! Decodes the bytes of a terminal as keys.

use crate::limits;
use std::time::Instant;
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
    /// Ctrl with a letter, in lower case, or with `]`.
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
    /// Page down.
    PageDown,
    /// Page up.
    PageUp,
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

/// Takes bytes split anywhere and returns keys.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    parser: InputParser,
    paste: Vec<u8>,
    /// When the last bytes arrived.
    came: Option<Instant>,
}

impl Keys {
    /// Takes more bytes; returns the complete keys.
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
        let waits = self.parser.pending().first() == Some(&0x1b);
        self.came.filter(|_| waits).map(|came| came + limits::ESCAPE)
    }

    /// Returns the held key, if nothing has followed for a while.
    pub fn flush(&mut self, now: Instant) -> Option<Key> {
        self.due().filter(|due| *due <= now)?;
        let input = self.parser.give_up()?;
        self.key(input)
    }

    fn key(&mut self, input: Input<'_>) -> Option<Key> {
        match input {
            Input::Press(press) => named(&press),
            Input::Pasted(text) => {
                let room = limits::PASTE.saturating_sub(self.paste.len()).min(text.len());
                self.paste.extend_from_slice(&text[..room]);
                None
            }
            Input::PasteEnd => {
                let paste = std::mem::take(&mut self.paste);
                let text = String::from_utf8_lossy(&paste).replace("\r\n", "\n").replace('\r', "\n");
                Some(Key::Paste(text))
            }
            Input::Release(_) | Input::PasteStart | Input::Reply | Input::Report => None,
        }
    }
}

fn named(press: &KeyPress) -> Option<Key> {
    let modifiers = press.key.modifiers;
    let held = |modifier: u8| modifiers & modifier != 0;
    let word = held(swb_vt::Key::ALT | swb_vt::Key::CTRL);
    Some(match press.key.code {
        KeyCode::Backspace if held(swb_vt::Key::ALT) => Key::Ctrl('w'),
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Char(c @ ('a'..='z' | ']')) if modifiers == swb_vt::Key::CTRL => Key::Ctrl(c),
        KeyCode::Char(_) if held(swb_vt::Key::CTRL) => return None,
        KeyCode::Char(c) if held(swb_vt::Key::ALT) => Key::Alt(press.shifted.unwrap_or(c)),
        KeyCode::Char(_) => Key::Char(press.text?),
        KeyCode::Cursor(b'A') => Key::Up,
        KeyCode::Cursor(b'B') => Key::Down,
        KeyCode::Cursor(b'C') => {
            if word {
                Key::WordRight
            } else {
                Key::Right
            }
        }
        KeyCode::Cursor(b'D') => {
            if word {
                Key::WordLeft
            } else {
                Key::Left
            }
        }
        KeyCode::Cursor(b'F') => Key::End,
        KeyCode::Cursor(b'H') => Key::Home,
        KeyCode::Editing(3) => Key::Delete,
        KeyCode::Editing(5) => Key::PageUp,
        KeyCode::Editing(6) => Key::PageDown,
        KeyCode::Enter if modifiers != 0 => Key::AltEnter,
        KeyCode::Enter => Key::Enter,
        KeyCode::Escape => Key::Escape,
        KeyCode::Tab if modifiers == 0 => Key::Tab,
        _ => return None,
    })
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
    fn keys_are_decoded_wherever_they_are_split() {
        let typed =
            "aü日\r\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b\r\x1b[13;2u\x7f\x03\x1bb\x1b[Z\x1b[5~\x1b[6~".as_bytes();
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
                Key::PageUp,
                Key::PageDown,
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
            matches!(&endless.push(b"\x1b[201~", now)[..], [Key::Paste(text)] if text.len() == limits::PASTE)
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
    fn other_keys_with_modifiers_are_not_enter() {
        assert_eq!(
            keys(b"\x1b[27;2;13~\x1b[27;5;44~\x1b[27;6;65~\x1b[44;5ua"),
            [Key::AltEnter, Key::Char('a')]
        );
    }

    #[test]
    fn invalid_bytes_are_ignored() {
        assert_eq!(keys(b"\xff\xc3(a"), [Key::Char('('), Key::Char('a')]);
        assert_eq!(keys(b"\x00\x1c\x1b[?1;2ca"), [Key::Char('a')]);
    }
}
