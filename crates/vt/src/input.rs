//! The grammar of terminal input: bytes that a terminal sends to keys, pastes and reports, at any split.
//!
//! Knows xterm's sequences, its modifyOtherKeys, and the kitty keyboard protocol. Holds back only what may become a key; the
//! caller decides how long to wait for the rest of it ([`InputParser::give_up`]), because a lone escape character is a key too.

use crate::grammar::{BEL, CAN, ESC};
use crate::keys::{Key, KeyCode, other_case};
use crate::limits;
use memchr::memchr;
use serde::{Deserialize, Serialize};

const PASTE_END: &[u8] = b"\x1b[201~";
const SUB: u8 = 0x1a;

/// What a terminal sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<'a> {
    /// A key was pressed, or repeats.
    Press(KeyPress),
    /// A key was released.
    Release(KeyPress),
    /// Pasted text begins.
    PasteStart,
    /// A piece of pasted text, with any bytes in it.
    Pasted(&'a [u8]),
    /// Pasted text is complete.
    PasteEnd,
    /// The reply to a query.
    Reply,
    /// Focus or mouse.
    Report,
}

/// A key, and what it types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPress {
    /// The key with its modifiers.
    pub key: Key,
    /// What it types, as far as that is known.
    pub text: Option<char>,
    /// The character that the key is with Shift, if the terminal sent it.
    pub shifted: Option<char>,
    /// The key that is in the same place on a US keyboard, if the terminal sent it.
    pub base: Option<char>,
}

impl KeyPress {
    fn new(code: KeyCode, modifiers: u8) -> Self {
        Self { key: Key { code, modifiers }, text: None, shifted: None, base: None }
    }

    /// A character that was typed, which may have needed Shift.
    fn character(c: char, modifiers: u8) -> Self {
        let small = other_case(c, char::to_lowercase);
        let shift = if small.is_some() { Key::SHIFT } else { 0 };
        Self {
            text: Some(c).filter(|_| modifiers == 0),
            shifted: small.map(|_| c),
            ..Self::new(KeyCode::Char(small.unwrap_or(c)), modifiers | shift)
        }
    }
}

/// What a byte did.
enum Step {
    /// It was taken; more has to come.
    More,
    /// It completes this.
    Done(Input<'static>),
    /// This ended before the byte, which is read again.
    Again(Input<'static>),
}

/// Reads one stream of input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InputParser {
    /// The beginning of a sequence or character. Of a string only its kind, and ESC if that came last.
    held: Vec<u8>,
    /// Pasted text is read as keys.
    plain: bool,
    pasting: bool,
    /// How much of the end mark of a paste has come.
    matched: usize,
}

impl InputParser {
    /// Makes a parser that reads pasted text as if it were typed.
    pub fn without_pastes() -> Self {
        Self { plain: true, ..Self::default() }
    }

    /// Gives what comes next in `rest` and removes it from there; nothing when `rest` is used up.
    pub fn next<'a>(&mut self, rest: &mut &'a [u8]) -> Option<Input<'a>> {
        loop {
            let (&byte, after) = rest.split_first()?;
            if self.pasting {
                if let Some(input) = self.paste(rest) {
                    return Some(input);
                }
                continue;
            }
            let step = self.step(byte);
            if !matches!(step, Step::Again(_)) {
                *rest = after;
            }
            if let Step::Done(input) | Step::Again(input) = step {
                return Some(input);
            }
        }
    }

    /// Bytes that may become a key; empty within a paste.
    pub fn pending(&self) -> &[u8] {
        &self.held
    }

    /// Whether what is held back is a key of its own if nothing follows: Escape, or Alt with a character.
    pub fn may_be_key(&self) -> bool {
        matches!(self.held.as_slice(), [ESC] | [ESC, 0x20..=0x7e])
    }

    /// Ends what is held back, because nothing has followed for a while.
    pub fn give_up(&mut self) -> Option<Input<'static>> {
        let held = std::mem::take(&mut self.held);
        match held.as_slice() {
            [ESC] => Some(Input::Press(KeyPress::new(KeyCode::Escape, 0))),
            [ESC, c @ 0x20..=0x7e] => Some(Input::Press(KeyPress::character(char::from(*c), Key::ALT))),
            _ => None,
        }
    }

    fn step(&mut self, byte: u8) -> Step {
        match self.held.as_slice() {
            [] if byte == ESC => self.hold(byte),
            [] => self.character(byte, 0),
            [ESC] => self.after_escape(byte),
            [ESC, b'[', ..] => self.csi(byte),
            [ESC, b'O'] => {
                self.held.clear();
                match byte {
                    0x21..=0x7e => Step::Done(ss3(byte)),
                    _ => Step::Again(Input::Press(KeyPress::character('O', Key::ALT))),
                }
            }
            [ESC, b']' | b'P' | b'_', ..] => self.string(byte),
            [ESC, ..] => self.character(byte, Key::ALT),
            _ => self.character(byte, 0),
        }
    }

    fn hold(&mut self, byte: u8) -> Step {
        self.held.push(byte);
        Step::More
    }

    fn after_escape(&mut self, byte: u8) -> Step {
        match byte {
            ESC => {
                self.held.clear();
                Step::Again(Input::Press(KeyPress::new(KeyCode::Escape, 0)))
            }
            b'[' | b'O' | b']' | b'P' | b'_' => self.hold(byte),
            _ => self.character(byte, Key::ALT),
        }
    }

    /// Takes a byte of a character, or a control, with Alt if an escape character came before it.
    fn character(&mut self, byte: u8, alt: u8) -> Step {
        self.held.push(byte);
        let start = usize::from(alt != 0);
        let error = match std::str::from_utf8(&self.held[start..]) {
            Ok(text) => {
                let c = text.chars().next().unwrap_or_default();
                self.held.clear();
                return Step::Done(Input::Press(typed(c, alt)));
            }
            Err(error) => error,
        };
        let only = self.held.len() == start + 1;
        match error.error_len() {
            None => Step::More,
            Some(_) => {
                self.held.clear();
                if only { Step::Done(unknown()) } else { Step::Again(unknown()) }
            }
        }
    }

    fn csi(&mut self, byte: u8) -> Step {
        match byte {
            0x20..=0x3f => {
                if self.held.len() < limits::KEY_BYTES {
                    self.held.push(byte);
                }
                Step::More
            }
            0x40..=0x7e => {
                let held = std::mem::take(&mut self.held);
                let known = held.len() < limits::KEY_BYTES;
                let input = if known { control_sequence(&held[2..], byte) } else { unknown() };
                self.pasting = input == Input::PasteStart && !self.plain;
                Step::Done(input)
            }
            _ => {
                self.held.clear();
                Step::Again(unknown())
            }
        }
    }

    fn string(&mut self, byte: u8) -> Step {
        let after_escape = self.held.len() > 2 && self.held.last() == Some(&ESC);
        match byte {
            b'\\' if after_escape => {}
            _ if after_escape => {
                self.held = vec![ESC];
                return Step::Again(unknown());
            }
            BEL => {}
            CAN | SUB => {
                self.held.clear();
                return Step::Done(unknown());
            }
            ESC => return self.hold(ESC),
            _ => {
                self.held.resize(3, b'.');
                return Step::More;
            }
        }
        self.held.clear();
        Step::Done(Input::Reply)
    }

    /// Reads pasted text; nothing when all that there is may be the beginning of the end mark.
    fn paste<'a>(&mut self, rest: &mut &'a [u8]) -> Option<Input<'a>> {
        let bytes = *rest;
        if self.matched == 0 {
            let end = memchr(ESC, bytes).unwrap_or(bytes.len());
            if end > 0 {
                *rest = &bytes[end..];
                return Some(Input::Pasted(&bytes[..end]));
            }
        }
        let expected = &PASTE_END[self.matched..];
        let same = expected.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        self.matched += same;
        *rest = &bytes[same..];
        if self.matched == PASTE_END.len() {
            (self.pasting, self.matched) = (false, 0);
            return Some(Input::PasteEnd);
        }
        if rest.is_empty() {
            return None;
        }
        let matched = std::mem::take(&mut self.matched);
        Some(Input::Pasted(&PASTE_END[..matched]))
    }
}

/// A key that is not known by name.
fn unknown() -> Input<'static> {
    Input::Press(KeyPress::new(KeyCode::Other, 0))
}

/// The key that sends this character.
fn typed(c: char, alt: u8) -> KeyPress {
    let code = match c {
        '\r' => KeyCode::Enter,
        '\n' if alt != 0 => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        '\x08' | '\x7f' => KeyCode::Backspace,
        '\0' => return KeyPress::new(KeyCode::Char('@'), alt | Key::CTRL),
        '\x01'..='\x1a' => return KeyPress::new(KeyCode::Char(char::from(c as u8 + 0x60)), alt | Key::CTRL),
        '\x1c'..='\x1f' => return KeyPress::new(KeyCode::Char(char::from(c as u8 + 0x40)), alt | Key::CTRL),
        _ => return KeyPress::character(c, alt),
    };
    KeyPress::new(code, alt)
}

/// A key of the application modes.
fn ss3(last: u8) -> Input<'static> {
    let code = match last {
        b'M' => KeyCode::Enter,
        b'A'..=b'D' | b'F' | b'H' => KeyCode::Cursor(last),
        b'P'..=b'S' => KeyCode::Function(last - b'P' + 1),
        _ => KeyCode::Other,
    };
    Input::Press(KeyPress::new(code, 0))
}

fn control_sequence(params: &[u8], last: u8) -> Input<'static> {
    let private = params.first().copied().filter(|byte| matches!(byte, b'<'..=b'?'));
    match (private, last) {
        (None, b'u') => coded(params),
        (None, b'~') => numbered(params),
        (None, b'A'..=b'D' | b'F' | b'H') => plain(KeyCode::Cursor(last), params),
        (None, b'P' | b'Q' | b'S') => plain(KeyCode::Function(last - b'P' + 1), params),
        (None, b'Z') => Input::Press(KeyPress::new(KeyCode::Tab, Key::SHIFT)),
        _ if is_reply(private, params, last) => Input::Reply,
        (_, b'I' | b'O' | b'M' | b'm' | b'R' | b'c' | b'n' | b'y' | b't' | b'u') => Input::Report,
        _ => unknown(),
    }
}

/// Whether terminals answer a query so. F3 with a modifier looks like a cursor position on some, and is taken for one.
fn is_reply(private: Option<u8>, params: &[u8], last: u8) -> bool {
    match last {
        b'c' => matches!(private, Some(b'?' | b'>' | b'=')),
        b'n' | b'R' => !params.is_empty() && private != Some(b'<'),
        b'y' => params.ends_with(b"$"),
        b'u' => private == Some(b'?'),
        b't' => private.is_none() && !params.is_empty(),
        b'm' => private == Some(b'>'),
        _ => false,
    }
}

/// Reads `CSI 1 ; modifiers:event letter`.
fn plain(code: KeyCode, params: &[u8]) -> Input<'static> {
    let [_, state, _] = fields(params);
    event(state, |modifiers| KeyPress::new(code, modifiers))
}

/// Reads `CSI number ; modifiers:event ~` and `CSI 27 ; modifiers ; code ~`.
fn numbered(params: &[u8]) -> Input<'static> {
    let [first, state, third] = fields(params);
    let code = match first.number() {
        Some(200) => return Input::PasteStart,
        // The end of no paste.
        Some(201) => return Input::Report,
        Some(27) if third.number().is_some() => return event(state, |modifiers| key_of(third, modifiers)),
        Some(1 | 7) => KeyCode::Cursor(b'H'),
        Some(4 | 8) => KeyCode::Cursor(b'F'),
        Some(number @ (2 | 3 | 5 | 6)) => KeyCode::Editing(number as u8),
        Some(number @ 11..=15) => KeyCode::Function(number as u8 - 10),
        Some(number @ 17..=21) => KeyCode::Function(number as u8 - 11),
        Some(number @ 23..=24) => KeyCode::Function(number as u8 - 12),
        _ => KeyCode::Other,
    };
    event(state, |modifiers| KeyPress::new(code, modifiers))
}

/// Reads `CSI code:shifted:base ; modifiers:event ; text u`.
fn coded(params: &[u8]) -> Input<'static> {
    let [code, state, text] = fields(params);
    event(state, |modifiers| {
        let press = key_of(code, modifiers);
        KeyPress { text: text.character().or(press.text), ..press }
    })
}

/// A field of parameters, with its parts.
#[derive(Clone, Copy)]
struct Field<'a>(&'a [u8]);

impl Field<'_> {
    fn part(self, n: usize) -> Option<u32> {
        let part = self.0.split(|byte| *byte == b':').nth(n)?;
        std::str::from_utf8(part).ok()?.parse().ok()
    }

    fn number(self) -> Option<u32> {
        self.part(0)
    }

    fn character(self) -> Option<char> {
        self.number().and_then(char::from_u32).filter(|c| !c.is_control())
    }
}

/// The first three fields.
fn fields(params: &[u8]) -> [Field<'_>; 3] {
    let mut all = params.split(|byte| *byte == b';');
    [(); 3].map(|()| Field(all.next().unwrap_or_default()))
}

fn event(state: Field<'_>, press: impl Fn(u8) -> KeyPress) -> Input<'static> {
    /// Caps Lock and Num Lock, which are no part of what the user means.
    const LOCKS: u32 = 64 | 128;
    let modifiers = state.number().unwrap_or(1).saturating_sub(1) & !LOCKS;
    let press = press(u8::try_from(modifiers).unwrap_or(u8::MAX));
    if state.part(1) == Some(3) { Input::Release(press) } else { Input::Press(press) }
}

/// The key with the number that kitty's protocol and modifyOtherKeys have for it.
fn key_of(field: Field<'_>, modifiers: u8) -> KeyPress {
    let graphic = |n| field.part(n).and_then(char::from_u32).filter(|c| !c.is_control());
    let (shifted, base) = (graphic(1), graphic(2));
    let code = match field.number() {
        Some(9) => KeyCode::Tab,
        Some(13 | 57414) => KeyCode::Enter,
        Some(27) => KeyCode::Escape,
        Some(8 | 127) => KeyCode::Backspace,
        Some(number @ 57376..=57387) => KeyCode::Function((number - 57376) as u8 + 13),
        // Keys that type nothing, such as modifiers, have numbers for private use.
        Some(0xe000..=0xf8ff) | None => KeyCode::Other,
        // modifyOtherKeys sends the capital letter.
        Some(_) => graphic(0)
            .map_or(KeyCode::Other, |c| KeyCode::Char(other_case(c, char::to_lowercase).unwrap_or(c))),
    };
    let text = match code {
        KeyCode::Char(c) if modifiers == Key::SHIFT => {
            shifted.or_else(|| other_case(c, char::to_uppercase)).or(Some(c))
        }
        KeyCode::Char(c) if modifiers == 0 => Some(c),
        _ => None,
    };
    KeyPress { key: Key { code, modifiers }, text, shifted, base }
}
