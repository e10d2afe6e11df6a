//! Keys by name, and the bytes a terminal sends for them in the modes a program has set.
//!
//! Names are those of tmux and emacs: `C-c`, `M-x`, `S-Tab`, `PageUp`. The bytes are xterm's, or those of the kitty keyboard
//! protocol as far as the program asked for it. Keys are pressed once: neither repeats nor releases are reported.

use crate::data::Modes;
use std::io::Write;

const SHIFT: u8 = Key::SHIFT;
const ALT: u8 = Key::ALT;
const CTRL: u8 = Key::CTRL;

/// Flags of the kitty keyboard protocol.
const DISAMBIGUATE: u8 = 1;
const ALTERNATES: u8 = 4;
const ALL_KEYS: u8 = 8;
const TEXT: u8 = 16;

/// DECBKM: the backspace key sends BS.
const BACKSPACE_IS_BS: u16 = 67;
/// The kitty protocol's number of F13, which the others follow.
const KITTY_F13: u32 = 57376;

/// A key, with the modifiers that are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which key it is.
    pub code: KeyCode,
    /// [`Key::SHIFT`], [`Key::ALT`] and [`Key::CTRL`]; of keys that were pressed, further bits of the kitty protocol.
    pub modifiers: u8,
}

/// Which key it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// A key that types this; a letter is the small one.
    Char(char),
    /// Backspace.
    Backspace,
    /// Enter, also that of the keypad.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// A key whose sequence ends in this letter.
    Cursor(u8),
    /// A key whose sequence has this number.
    Editing(u8),
    /// F1 to F24.
    Function(u8),
    /// A key that has no name here; it cannot be sent.
    Other,
}

impl Key {
    /// Shift is held.
    pub const SHIFT: u8 = 1;
    /// Alt is held.
    pub const ALT: u8 = 2;
    /// Ctrl is held.
    pub const CTRL: u8 = 4;

    /// The key of this name; nothing if it is no key's name.
    ///
    /// Modifiers are `C-`, `M-` or `A-`, and `S-`; names are read in any case. A single character names
    /// its own key, and a capital letter that with Shift, except after `C-`, where `C-A` is `C-a` as
    /// ever. Control characters are no names.
    pub fn parse(name: &str) -> Option<Self> {
        let (mut rest, mut modifiers) = (name, 0);
        while let Some((modifier, tail)) = split_modifier(rest) {
            modifiers |= modifier;
            rest = tail;
        }
        let mut chars = rest.chars();
        let code = match (chars.next()?, chars.next()) {
            (c, None) if c.is_control() => return None,
            (c, None) => {
                let small = other_case(c, char::to_lowercase);
                if small.is_some() && modifiers & CTRL == 0 {
                    modifiers |= SHIFT;
                }
                KeyCode::Char(small.unwrap_or(c))
            }
            _ => {
                let (code, implied) = named(&rest.to_ascii_lowercase())?;
                modifiers |= implied;
                code
            }
        };
        Some(Self { code, modifiers })
    }

    /// Appends what a terminal in these modes sends for the key.
    pub fn encode(&self, modes: &Modes, out: &mut Vec<u8>) {
        let kitty = modes.keyboard & (DISAMBIGUATE | ALL_KEYS) != 0;
        match self.code {
            KeyCode::Cursor(letter) if self.modifiers == 0 && modes.app_cursor && !kitty => {
                out.extend_from_slice(&[0x1b, b'O', letter]);
            }
            KeyCode::Cursor(letter) => self.letter(letter, out),
            KeyCode::Editing(number) => self.number(number.into(), b'~', out),
            KeyCode::Function(n) => self.function(n, kitty, out),
            KeyCode::Other => {}
            _ if kitty && self.needs_kitty(modes.keyboard) => self.kitty(modes.keyboard, out),
            _ if !kitty && self.needs_other(modes.modify_other_keys) => self.modify_other(out),
            _ => self.legacy(modes, out),
        }
    }

    fn has(self, modifier: u8) -> bool {
        self.modifiers & modifier != 0
    }

    /// `CSI letter`, with the modifiers if there are any.
    fn letter(self, letter: u8, out: &mut Vec<u8>) {
        if self.modifiers == 0 {
            out.extend_from_slice(&[0x1b, b'[', letter]);
        } else {
            put(out, format_args!("\x1b[1;{}{}", 1 + self.modifiers, char::from(letter)));
        }
    }

    /// `CSI number end`, with the modifiers if there are any.
    fn number(self, number: u32, end: u8, out: &mut Vec<u8>) {
        let end = char::from(end);
        if self.modifiers == 0 {
            put(out, format_args!("\x1b[{number}{end}"));
        } else {
            put(out, format_args!("\x1b[{number};{}{end}", 1 + self.modifiers));
        }
    }

    fn function(self, n: u8, kitty: bool, out: &mut Vec<u8>) {
        /// The numbers of F5 to F12.
        const NUMBERS: [u32; 8] = [15, 17, 18, 19, 20, 21, 23, 24];
        match n {
            13.. if kitty => self.number(KITTY_F13 + u32::from(n - 13), b'u', out),
            // Terminal descriptions have them as the first twelve with Shift.
            13.. => Self { modifiers: self.modifiers | SHIFT, ..self }.function(n - 12, kitty, out),
            // Its letter would make it a cursor position report.
            3 if kitty => self.number(13, b'~', out),
            1..=4 if self.modifiers == 0 && !kitty => out.extend_from_slice(&[0x1b, b'O', b'P' + n - 1]),
            1..=4 => self.letter(b'P' + n - 1, out),
            _ => {
                if let Some(number) = NUMBERS.get(usize::from(n).saturating_sub(5)) {
                    self.number(*number, b'~', out);
                }
            }
        }
    }

    fn needs_kitty(self, flags: u8) -> bool {
        let typed = self.modifiers & !SHIFT == 0;
        match self.code {
            _ if flags & ALL_KEYS != 0 => true,
            KeyCode::Escape => true,
            KeyCode::Char(_) => !typed,
            // Without modifiers they stay as they were, so that one can type `reset` after a crash.
            _ => self.modifiers != 0,
        }
    }

    fn kitty(self, flags: u8, out: &mut Vec<u8>) {
        let code = self.number_of_code();
        let shifted = match self.code {
            KeyCode::Char(c) if self.has(SHIFT) => other_case(c, char::to_uppercase),
            _ => None,
        };
        put(out, format_args!("\x1b[{code}"));
        if let Some(c) = shifted.filter(|_| flags & ALTERNATES != 0) {
            put(out, format_args!(":{}", u32::from(c)));
        }
        let text = match self.code {
            KeyCode::Char(c) if self.modifiers & !SHIFT == 0 => Some(shifted.unwrap_or(c)),
            _ => None,
        };
        let text = text.filter(|_| flags & (ALL_KEYS | TEXT) == ALL_KEYS | TEXT);
        if self.modifiers != 0 {
            put(out, format_args!(";{}", 1 + self.modifiers));
        } else if text.is_some() {
            out.push(b';');
        }
        if let Some(c) = text {
            put(out, format_args!(";{}", u32::from(c)));
        }
        out.push(b'u');
    }

    /// The character the key is known by in sequences.
    fn number_of_code(self) -> u32 {
        match self.code {
            KeyCode::Char(c) => c.into(),
            KeyCode::Backspace => 127,
            KeyCode::Enter => 13,
            KeyCode::Escape => 27,
            KeyCode::Tab => 9,
            KeyCode::Cursor(_) | KeyCode::Editing(_) | KeyCode::Function(_) | KeyCode::Other => 0,
        }
    }

    /// Whether xterm's modifyOtherKeys at this level makes a sequence of the key.
    fn needs_other(self, level: u8) -> bool {
        let well_known = match self.code {
            KeyCode::Char(c) if self.has(CTRL) => control(c).is_some(),
            KeyCode::Char(_) => true,
            KeyCode::Enter => false,
            _ => true,
        };
        let typed = matches!(self.code, KeyCode::Char(_)) && self.modifiers == SHIFT;
        let back_tab = self.code == KeyCode::Tab && self.has(SHIFT);
        self.modifiers != 0 && !typed && !back_tab && (level >= 2 || (level == 1 && !well_known))
    }

    fn modify_other(self, out: &mut Vec<u8>) {
        let code = match self.code {
            KeyCode::Char(c) if self.has(SHIFT) => other_case(c, char::to_uppercase).unwrap_or(c).into(),
            _ => self.number_of_code(),
        };
        put(out, format_args!("\x1b[27;{};{code}~", 1 + self.modifiers));
    }

    fn legacy(self, modes: &Modes, out: &mut Vec<u8>) {
        if self.has(ALT) {
            out.push(0x1b);
        }
        match self.code {
            KeyCode::Char(c) => match control(c).filter(|_| self.has(CTRL)) {
                Some(byte) => out.push(byte),
                None => {
                    let shifted = other_case(c, char::to_uppercase).filter(|_| self.has(SHIFT));
                    put(out, format_args!("{}", shifted.unwrap_or(c)));
                }
            },
            KeyCode::Backspace => {
                let bs = modes.private.contains(&BACKSPACE_IS_BS) != self.has(CTRL);
                out.push(if bs { 0x08 } else { 0x7f });
            }
            KeyCode::Tab if self.has(SHIFT) => out.extend_from_slice(b"\x1b[Z"),
            KeyCode::Tab => out.push(b'\t'),
            KeyCode::Enter => out.push(b'\r'),
            KeyCode::Escape => out.push(0x1b),
            // They have sequences in every mode.
            KeyCode::Cursor(_) | KeyCode::Editing(_) | KeyCode::Function(_) | KeyCode::Other => {}
        }
    }
}

/// Writing to a vector cannot fail.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _written = out.write_fmt(text);
}

fn split_modifier(name: &str) -> Option<(u8, &str)> {
    const MODIFIERS: [(&str, u8); 4] = [("C-", CTRL), ("M-", ALT), ("A-", ALT), ("S-", SHIFT)];
    let found = MODIFIERS.iter().find_map(|(prefix, modifier)| Some((*modifier, name.strip_prefix(prefix)?)));
    found.filter(|(_, rest)| !rest.is_empty())
}

/// The key of a name in small letters, and the modifiers the name implies.
fn named(name: &str) -> Option<(KeyCode, u8)> {
    let code = match name {
        "backspace" | "bspace" => KeyCode::Backspace,
        "btab" => return Some((KeyCode::Tab, SHIFT)),
        "delete" | "dc" => KeyCode::Editing(3),
        "down" => KeyCode::Cursor(b'B'),
        "end" => KeyCode::Cursor(b'F'),
        "enter" => KeyCode::Enter,
        "escape" | "esc" => KeyCode::Escape,
        "home" => KeyCode::Cursor(b'H'),
        "insert" | "ic" => KeyCode::Editing(2),
        "left" => KeyCode::Cursor(b'D'),
        "pagedown" | "npage" | "pgdn" => KeyCode::Editing(6),
        "pageup" | "ppage" | "pgup" => KeyCode::Editing(5),
        "right" => KeyCode::Cursor(b'C'),
        "space" => KeyCode::Char(' '),
        "tab" => KeyCode::Tab,
        "up" => KeyCode::Cursor(b'A'),
        _ => {
            let number = name.strip_prefix('f').filter(|number| !number.starts_with(['0', '+']))?;
            KeyCode::Function(number.parse().ok().filter(|n| (1..=24).contains(n))?)
        }
    };
    Some((code, 0))
}

/// The character in the other case, if it has one and that is a single character.
pub(crate) fn other_case<I: Iterator<Item = char>>(c: char, convert: impl Fn(char) -> I) -> Option<char> {
    let mut all = convert(c);
    let other = all.next().filter(|other| *other != c)?;
    all.next().is_none().then_some(other)
}

/// The control character that Ctrl makes of a character, as on DEC's keyboards.
fn control(c: char) -> Option<u8> {
    Some(match c {
        'a'..='z' => c as u8 & 0x1f,
        ' ' | '@' | '2' => 0,
        '[' | '3' => 0x1b,
        '\\' | '4' => 0x1c,
        ']' | '5' => 0x1d,
        '^' | '6' | '~' => 0x1e,
        '_' | '7' | '/' => 0x1f,
        '?' | '8' => 0x7f,
        _ => return None,
    })
}
