//! Modes that are on or off, and the few of which one excludes the other.

use crate::limits;
use std::collections::BTreeMap;
use std::io::Write;

/// A mouse mode or encoding: the number of the private mode that chose it, or 0.
type Choice = u16;

/// Modes that are on in a fresh terminal.
const ON: [u16; 3] = [AUTO_WRAP, SHOW_CURSOR, ALTERNATE_SCROLL];

pub(crate) const APP_CURSOR: u16 = 1;
pub(crate) const REVERSE_VIDEO: u16 = 5;
pub(crate) const ORIGIN: u16 = 6;
pub(crate) const AUTO_WRAP: u16 = 7;
pub(crate) const BLINK: u16 = 12;
pub(crate) const SHOW_CURSOR: u16 = 25;
pub(crate) const APP_KEYPAD: u16 = 66;
pub(crate) const FOCUS: u16 = 1004;
const ALTERNATE_SCROLL: u16 = 1007;
pub(crate) const BRACKETED_PASTE: u16 = 2004;
pub(crate) const SYNCHRONIZED: u16 = 2026;

/// Modes that are known and nothing but on or off.
const PLAIN: [u16; 22] = [
    APP_CURSOR,
    REVERSE_VIDEO,
    ORIGIN,
    AUTO_WRAP,
    8,
    SHOW_CURSOR,
    45,
    APP_KEYPAD,
    FOCUS,
    ALTERNATE_SCROLL,
    1034,
    1035,
    1036,
    1039,
    1042,
    BRACKETED_PASTE,
    SYNCHRONIZED,
    2027,
    2031,
    2048,
    5522,
    9001,
];

/// Modes that do something once, or that are not done here at all; none is remembered.
const ACTIONS: [u16; 12] = [2, 3, 4, 38, 40, 41, 47, 69, 95, 1047, 1048, 1049];
const MOUSE: [u16; 5] = [9, 1000, 1001, 1002, 1003];
const MOUSE_ENCODING: [u16; 4] = [1005, 1006, 1015, 1016];

/// All modes of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TerminalModes {
    /// Modes that differ from a fresh terminal's, and unknown ones as they were last set.
    changed: BTreeMap<u16, bool>,
    /// [`AUTO_WRAP`] and [`ORIGIN`] as `changed` has them: text and movements need them all the time.
    no_wrap: bool,
    origin: bool,
    mouse: Choice,
    mouse_encoding: Choice,
    /// IRM.
    pub(crate) insert: bool,
    /// LNM.
    pub(crate) newline: bool,
}

impl TerminalModes {
    pub(crate) fn has(&self, mode: u16) -> bool {
        let fresh = || ON.contains(&mode);
        self.changed.get(&mode).copied().unwrap_or_else(fresh)
    }

    #[inline]
    pub(crate) fn wraps(&self) -> bool {
        !self.no_wrap
    }

    #[inline]
    pub(crate) fn origin(&self) -> bool {
        self.origin
    }

    fn update(&mut self) {
        self.no_wrap = !self.has(AUTO_WRAP);
        self.origin = self.has(ORIGIN);
    }

    /// The mouse mode, 0 when the mouse is not reported.
    pub(crate) fn mouse(&self) -> u16 {
        self.mouse
    }

    /// How the mouse is reported, 0 for the first way there was.
    pub(crate) fn mouse_encoding(&self) -> u16 {
        self.mouse_encoding
    }

    pub(crate) fn set(&mut self, mode: u16, on: bool) {
        if MOUSE.contains(&mode) {
            self.mouse = if on { mode } else { 0 };
        } else if MOUSE_ENCODING.contains(&mode) {
            if on {
                self.mouse_encoding = mode;
            } else if self.mouse_encoding == mode {
                self.mouse_encoding = 0;
            }
        } else if PLAIN.contains(&mode) {
            if on == ON.contains(&mode) {
                self.changed.remove(&mode);
            } else {
                self.changed.insert(mode, on);
            }
            self.update();
        } else if !ACTIONS.contains(&mode) && mode != BLINK {
            let known = self.changed.contains_key(&mode);
            let others = || self.changed.keys().filter(|key| !PLAIN.contains(key)).count();
            if known || others() < limits::OTHER_MODES {
                self.changed.insert(mode, on);
            }
        }
    }

    /// The answer to a private DECRQM: 0 unknown, 1 set, 2 reset.
    pub(crate) fn report(&self, mode: u16) -> u8 {
        let on = match mode {
            _ if MOUSE.contains(&mode) => self.mouse == mode,
            _ if MOUSE_ENCODING.contains(&mode) => self.mouse_encoding == mode,
            // What these say is not done here, so a program must not count on it.
            45 | 2027 | 2031 | 2048 | 5522 | 9001 => return 0,
            _ if PLAIN.contains(&mode) => self.has(mode),
            _ => return 0,
        };
        if on { 1 } else { 2 }
    }

    /// What DECSTR resets.
    pub(crate) fn soft_reset(&mut self) {
        for mode in [APP_CURSOR, ORIGIN, APP_KEYPAD, AUTO_WRAP, SHOW_CURSOR] {
            self.changed.remove(&mode);
        }
        self.update();
        self.insert = false;
    }

    /// Appends what sets the modes of a fresh terminal so, except those of [`TerminalModes::write_late`].
    pub(crate) fn write_early(&self, out: &mut Vec<u8>) {
        for (mode, on) in self.changed.iter().filter(|(mode, _)| !is_late(**mode)) {
            match (*mode, *on) {
                // Every terminal knows these, but few know the mode's number.
                (APP_KEYPAD, true) => out.extend_from_slice(b"\x1b="),
                (APP_KEYPAD, false) => out.extend_from_slice(b"\x1b>"),
                _ => write_private(out, *mode, *on),
            }
        }
        for choice in [self.mouse, self.mouse_encoding] {
            if choice != 0 {
                let _written = write!(out, "\x1b[?{choice}h");
            }
        }
    }

    /// Appends what sets the modes of keys, paste and focus so, and with `mouse` those of the mouse.
    pub(crate) fn write_input(&self, mouse: bool, out: &mut Vec<u8>) {
        if self.has(APP_KEYPAD) {
            out.extend_from_slice(b"\x1b=");
        }
        for mode in [APP_CURSOR, FOCUS, BRACKETED_PASTE].into_iter().filter(|mode| self.has(*mode)) {
            write_private(out, mode, true);
        }
        if !self.has(ALTERNATE_SCROLL) {
            write_private(out, ALTERNATE_SCROLL, false);
        }
        for choice in [self.mouse, self.mouse_encoding].into_iter().filter(|choice| mouse && *choice != 0) {
            write_private(out, choice, true);
        }
    }

    /// Appends the modes that change what text and movements do.
    pub(crate) fn write_late(&self, out: &mut Vec<u8>) {
        // Origin mode comes with the cursor, which it moves.
        let late = self.changed.iter().filter(|(mode, _)| is_late(**mode) && **mode != ORIGIN);
        for (mode, on) in late {
            write_private(out, *mode, *on);
        }
        if self.insert {
            out.extend_from_slice(b"\x1b[4h");
        }
        if self.newline {
            out.extend_from_slice(b"\x1b[20h");
        }
    }

    /// The numbers of the private modes that are on.
    pub(crate) fn on(&self) -> Vec<u16> {
        let fresh = ON.iter().filter(|mode| !self.changed.contains_key(mode));
        let changed = self.changed.iter().filter(|(_, on)| **on).map(|(mode, _)| mode);
        let choices = [self.mouse, self.mouse_encoding].into_iter().filter(|mode| *mode != 0);
        let mut on: Vec<u16> = fresh.chain(changed).copied().chain(choices).collect();
        on.sort_unstable();
        on
    }
}

/// Appends what sets or resets a private mode. Writing to a vector cannot fail.
fn write_private(out: &mut Vec<u8>, mode: u16, on: bool) {
    let _written = write!(out, "\x1b[?{mode}{}", if on { 'h' } else { 'l' });
}

/// Whether a mode changes what text and movements do.
fn is_late(mode: u16) -> bool {
    matches!(mode, AUTO_WRAP | ORIGIN | SYNCHRONIZED)
}
