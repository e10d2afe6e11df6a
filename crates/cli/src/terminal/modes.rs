//! Tracks what a program has changed about the terminal, so that it can be restored.
//!
//! Pure: output goes in, [`ModeTracker::undo`] returns at any moment the bytes that restore the terminal. Only what the
//! program really changed is undone, because not every terminal ignores unknown sequences. Changes from before the
//! first byte that was fed are unknown and stay.

use crate::limits;
use swb_vt::{Csi, Sequence, Token, Tokenizer};

/// Private modes that are off in a fresh terminal; each becomes one bit of [`ChangedModes::set`].
const OFF_BY_DEFAULT: [u16; 25] = [
    1,  // cursor keys send application sequences
    5,  // reverse video
    6,  // origin is the scroll region
    9,  // X10 mouse
    45, // reverse wrap
    69, // left and right margins
    1000, 1001, 1002, 1003, // mouse: buttons, highlight, drag, motion
    1004, // focus reports
    1005, 1006, 1015, 1016, // mouse encodings
    1045, // extended reverse wrap
    2004, 2026, // bracketed paste, synchronized output
    2027, 2029, 2031, 2048, // grapheme clusters, passive mouse, colour scheme and size reports
    5522, 7727, 9001, // paste events, application escape key, win32 input
];

/// Private modes that are on in a fresh terminal; each becomes one bit of [`ChangedModes::cleared`].
const ON_BY_DEFAULT: [u16; 3] = [
    7,  // lines wrap
    8,  // keys repeat
    25, // the cursor is visible
];

/// Origin mode, whose reset moves the cursor home.
const ORIGIN: u16 = 6;
/// The application keypad, which `ESC =` and `ESC >` switch as well.
const KEYPAD: u16 = 66;

/// Follows one output stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModeTracker {
    tokenizer: Tokenizer,
    /// Bytes that are missing from a character in UTF-8 at the end of the output.
    missing: usize,
    state: ChangedModes,
}

/// What differs from a fresh terminal.
#[derive(Debug, Clone, Default)]
struct ChangedModes {
    set: u32,
    cleared: u8,
    /// The application keypad. Few terminals know its number, so it is reset with `ESC >`, which all know.
    keypad: bool,
    /// Modes without `?`: insert (4) and newline (20).
    insert: bool,
    newline: bool,
    /// The mode number that switched to the alternate screen.
    alternate: Option<u16>,
    /// Kitty keyboard flags of the primary and the alternate screen, which have a stack each.
    keyboard: [Keyboard; 2],
    modify_other_keys: bool,
    format_other_keys: bool,
    cursor_shape: bool,
    scroll_region: bool,
    pen: Pen,
    /// What `ESC 7` saves, and what is restored with the primary screen.
    saved: Pen,
    link: bool,
    colours: Colours,
    progress: bool,
    /// Pushed titles: both, icon only, window only.
    titles: [u16; 3],
    /// The title that the program has set last.
    title: ProgramTitle,
    line: CursorLine,
    /// The line of the primary screen's cursor while the alternate screen is shown.
    primary_line: CursorLine,
}

/// The title of the window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProgramTitle {
    /// Its bytes; empty if none was set.
    pub(crate) text: Vec<u8>,
    /// How often one was set.
    pub(crate) times: u64,
}

/// How text is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Pen {
    attributes: bool,
    shifted_out: bool,
    charset: bool,
}

/// Kitty keyboard flags of one screen.
#[derive(Debug, Clone, Copy, Default)]
struct Keyboard {
    pushed: u16,
    /// Flags were set without being pushed first.
    base: bool,
}

/// Colours that programs redefine.
#[derive(Debug, Clone, Copy, Default)]
struct Colours {
    palette: bool,
    foreground: bool,
    background: bool,
    cursor: bool,
}

/// What is known about the line the cursor is on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CursorLine {
    /// It is empty and the cursor is at its start.
    #[default]
    Fresh,
    /// The last byte was a carriage return after text.
    Returned,
    /// Anything else.
    Used,
}

impl ModeTracker {
    /// Takes output on its way to the terminal.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.missing = missing_after(self.missing, bytes);
        let mut rest = bytes;
        while let Some(token) = self.tokenizer.next(&mut rest) {
            match token {
                Token::Text(text) => self.state.text(text),
                Token::Control(byte, _) => self.state.text(&[byte]),
                Token::Sequence(raw) => {
                    if !self.state.common(raw) {
                        self.state.sequence(&Sequence::parse(raw));
                    }
                }
                Token::Cut(_) | Token::Ignored(_) => {}
            }
        }
    }

    /// The shortest bytes that restore the terminal and leave the cursor on an empty line.
    pub(crate) fn undo(&self) -> Vec<u8> {
        let mut out = self.abort().to_vec();
        self.state.undo(&mut out);
        out
    }

    /// Whether bytes of our own can be written here: not within a sequence, nor within a character.
    pub(crate) fn is_between(&self) -> bool {
        self.missing == 0 && self.abort().is_empty()
    }

    /// The title that was set last.
    pub(crate) fn title(&self) -> &ProgramTitle {
        &self.state.title
    }

    /// Keeps a title that was set as that of the program although it is not: `feed` was given bytes of our own.
    pub(crate) fn keep_title(&mut self, title: ProgramTitle) {
        self.state.title = title;
    }

    /// The bytes that end a sequence whose rest will not arrive.
    pub(crate) fn abort(&self) -> &'static [u8] {
        if self.tokenizer.is_ground() {
            b""
        } else if self.tokenizer.is_in_string() {
            b"\x1b\\"
        } else {
            b"\x18"
        }
    }
}

/// The bytes missing from the last character, after so many were missing before.
fn missing_after(before: usize, bytes: &[u8]) -> usize {
    for (behind, byte) in bytes.iter().rev().take(3).enumerate() {
        let length: usize = match byte {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        return length.saturating_sub(behind + 1);
    }
    before.saturating_sub(bytes.len())
}

impl ChangedModes {
    fn text(&mut self, text: &[u8]) {
        if let Some(at) = memchr::memrchr2(0x0e, 0x0f, text) {
            self.pen.shifted_out = text.get(at) == Some(&0x0e);
        }
        if !matches!(text, [.., b'\r' | b'\n']) {
            self.line = CursorLine::Used;
            return;
        }
        let above = without_newlines(text);
        let fed = above.len() < text.len();
        self.line = match (self.line, above) {
            (_, [.., b'\r']) if fed => CursorLine::Fresh,
            (CursorLine::Returned, []) if fed => CursorLine::Fresh,
            (CursorLine::Fresh, _) if above.iter().all(|byte| matches!(byte, b'\r' | b'\n')) => {
                CursorLine::Fresh
            }
            (_, [.., b'\r']) => CursorLine::Returned,
            _ => CursorLine::Used,
        };
    }

    /// The same as [`Self::sequence`] for what programs that draw the whole screen send all the time, without taking the
    /// numbers apart; whether this was such a sequence.
    fn common(&mut self, raw: &[u8]) -> bool {
        let [_, b'[', numbers @ .., action] = raw else { return false };
        if numbers.len() > limits::COMMON_SEQUENCE || !numbers.iter().all(|byte| matches!(byte, b'0'..=b';'))
        {
            return false;
        }
        match action {
            b'm' => self.pen.attributes = numbers.iter().any(|byte| matches!(byte, b'1'..=b'9')),
            b'A'..=b'I' => self.line = CursorLine::Used,
            b'J' | b'K' | b'P' | b'X' => {}
            _ => return false,
        }
        true
    }

    fn sequence(&mut self, sequence: &Sequence<'_>) {
        match sequence {
            Sequence::Csi(csi) => self.control(csi),
            Sequence::Escape(intermediates, action) => self.escape(intermediates, *action),
            Sequence::Osc(content, _) => self.system(content),
            Sequence::Apc(_) | Sequence::Dcs(_) | Sequence::Other => {}
        }
    }

    fn escape(&mut self, intermediates: &[u8], action: u8) {
        match (intermediates, action) {
            (b"", b'=') => self.set_private(KEYPAD, true),
            (b"", b'>') => self.set_private(KEYPAD, false),
            (b"", b'7') => self.saved = self.pen,
            (b"", b'8') => {
                self.pen = self.saved;
                self.line = CursorLine::Used;
            }
            (b"", b'c') => {
                let title = std::mem::take(&mut self.title);
                *self = Self { titles: self.titles, title, line: CursorLine::Fresh, ..Self::default() };
            }
            (b"", b'n' | b'o') => self.pen.shifted_out = true,
            ([b'(', ..], _) => self.pen.charset = action != b'B',
            (b"", b'D' | b'E' | b'M') => self.line = CursorLine::Used,
            _ => {}
        }
    }

    fn control(&mut self, csi: &Csi) {
        match (csi.private, csi.intermediate, csi.action) {
            (b'?', 0, b'h' | b'l') => {
                for mode in csi.params() {
                    self.set_private(*mode, csi.action == b'h');
                }
            }
            (0, 0, b'h' | b'l') => self.set_ansi(csi),
            (0, 0, b'm') => self.pen.attributes = csi.params().iter().any(|param| *param != 0),
            (b'>', 0, b'm') if csi.params().is_empty() => self.modify_other_keys = false,
            (b'>', 0, b'm') if csi.param(0) == 4 => self.modify_other_keys = csi.param(1) != 0,
            (b'>', 0, b'n') if csi.param(0) == 4 => self.modify_other_keys = false,
            (b'>', 0, b'f') if csi.param(0) == 4 => self.format_other_keys = csi.param(1) != 0,
            (b'>' | b'<' | b'=', 0, b'u') => self.set_keyboard(csi),
            (0, b' ', b'q') => self.cursor_shape = csi.param(0) != 0,
            (0, b'!', b'p') => self.soft_reset(),
            (0, 0, b'r') => {
                self.scroll_region = !csi.params().is_empty();
                self.line = CursorLine::Used;
            }
            (0, 0, b't') => self.window(csi),
            (0, 0, b'A'..=b'I' | b'Z' | b'`' | b'a' | b'd' | b'e' | b'f' | b'u') => {
                self.line = CursorLine::Used
            }
            _ => {}
        }
    }

    fn set_private(&mut self, mode: u16, on: bool) {
        if matches!(mode, 47 | 1047 | 1049) {
            return self.set_alternate(mode, on);
        }
        match mode {
            ORIGIN => self.line = CursorLine::Used,
            KEYPAD => self.keypad = on,
            _ => {}
        }
        if let Some(bit) = OFF_BY_DEFAULT.iter().position(|known| *known == mode) {
            self.set = with_bit(self.set, bit, on);
        } else if let Some(bit) = ON_BY_DEFAULT.iter().position(|known| *known == mode) {
            let cleared = with_bit(u32::from(self.cleared), bit, !on);
            self.cleared = u8::try_from(cleared).unwrap_or(self.cleared);
        }
    }

    fn set_alternate(&mut self, mode: u16, on: bool) {
        match (on, self.alternate) {
            (true, None) => {
                self.primary_line = if mode == 1049 { self.line } else { CursorLine::Used };
                self.saved = if mode == 1049 { self.pen } else { self.saved };
                self.alternate = Some(mode);
            }
            (false, Some(_)) => {
                self.pen = if mode == 1049 { self.saved } else { self.pen };
                self.line = self.primary_line;
                self.alternate = None;
            }
            _ => {}
        }
    }

    fn set_ansi(&mut self, csi: &Csi) {
        let on = csi.action == b'h';
        for mode in csi.params() {
            match mode {
                4 => self.insert = on,
                20 => self.newline = on,
                _ => {}
            }
        }
    }

    fn set_keyboard(&mut self, csi: &Csi) {
        let [primary, alternate] = &mut self.keyboard;
        let keyboard = if self.alternate.is_some() { alternate } else { primary };
        match csi.private {
            b'>' => keyboard.pushed = keyboard.pushed.saturating_add(1),
            b'<' => {
                let count = csi.param(0).max(1);
                // Popping more than the stack holds empties it and clears the flags set below it.
                keyboard.base &= count <= keyboard.pushed;
                keyboard.pushed = keyboard.pushed.saturating_sub(count);
            }
            _ if keyboard.pushed == 0 => keyboard.base = csi.param(0) != 0,
            _ => {}
        }
    }

    /// DECSTR, which leaves screens, mouse and keyboard reporting as they are.
    fn soft_reset(&mut self) {
        for mode in [1, ORIGIN, KEYPAD, 69] {
            self.set_private(mode, false);
        }
        for mode in ON_BY_DEFAULT {
            self.set_private(mode, true);
        }
        self.insert = false;
        self.scroll_region = false;
        self.pen = Pen::default();
        self.saved = Pen::default();
        self.line = CursorLine::Used;
    }

    fn window(&mut self, csi: &Csi) {
        let Some(pushed) = self.titles.get_mut(usize::from(csi.param(1))) else {
            return;
        };
        match csi.param(0) {
            22 => *pushed = pushed.saturating_add(1),
            23 => *pushed = pushed.saturating_sub(1),
            _ => {}
        }
    }

    fn system(&mut self, content: &[u8]) {
        let (code, rest) = content.split_at(memchr::memchr(b';', content).unwrap_or(content.len()));
        let rest = rest.get(1..).unwrap_or_default();
        let asks = rest.ends_with(b"?");
        match code {
            b"0" | b"2" => {
                self.title.text.clear();
                let kept = rest.get(..rest.len().min(limits::TITLE)).unwrap_or_default();
                self.title.text.extend_from_slice(kept);
                self.title.times = self.title.times.wrapping_add(1);
            }
            b"4" if !asks => self.colours.palette = true,
            b"8" => self.link = !rest.ends_with(b";"),
            b"9" if rest.starts_with(b"4;") => self.progress = !rest.starts_with(b"4;0"),
            b"10" if !asks => self.colours.foreground = true,
            b"11" if !asks => self.colours.background = true,
            b"12" if !asks => self.colours.cursor = true,
            b"104" if rest.is_empty() => self.colours.palette = false,
            b"110" => self.colours.foreground = false,
            b"111" => self.colours.background = false,
            b"112" => self.colours.cursor = false,
            _ => {}
        }
    }

    fn undo(&self, out: &mut Vec<u8>) {
        self.undo_modes(out);
        // Both move the cursor home. On the alternate screen that does no harm, so this comes first.
        let homed = self.scroll_region || self.is_set(ORIGIN);
        if self.scroll_region {
            out.extend_from_slice(b"\x1b[r");
        }
        let [primary, alternate] = self.keyboard;
        let mut pen = self.pen;
        let mut line = self.line;
        if let Some(mode) = self.alternate {
            alternate.undo(out);
            out.extend_from_slice(format!("\x1b[?{mode}l").as_bytes());
            line = self.primary_line;
            if mode == 1049 {
                pen = Pen {
                    attributes: pen.attributes || self.saved.attributes,
                    shifted_out: pen.shifted_out || self.saved.shifted_out,
                    charset: pen.charset || self.saved.charset,
                };
            }
        }
        primary.undo(out);
        pen.undo(out);
        self.undo_decoration(out);
        if homed && self.alternate != Some(1049) {
            // The cursor position is lost; below everything, new text overwrites nothing.
            out.extend_from_slice(b"\x1b[999B");
            line = CursorLine::Used;
        }
        if line != CursorLine::Fresh {
            out.extend_from_slice(b"\r\n");
        }
    }

    fn undo_modes(&self, out: &mut Vec<u8>) {
        if self.keypad {
            out.extend_from_slice(b"\x1b>");
        }
        list(out, "?", &OFF_BY_DEFAULT, self.set, 'l');
        list(out, "?", &ON_BY_DEFAULT, u32::from(self.cleared), 'h');
        list(out, "", &[4, 20], u32::from(self.insert) | u32::from(self.newline) << 1, 'l');
        if self.modify_other_keys {
            out.extend_from_slice(b"\x1b[>4m");
        }
        if self.format_other_keys {
            out.extend_from_slice(b"\x1b[>4f");
        }
    }

    fn undo_decoration(&self, out: &mut Vec<u8>) {
        let Colours { palette, foreground, background, cursor } = self.colours;
        let simple: [(bool, &[u8]); 7] = [
            (self.link, b"\x1b]8;;\x1b\\"),
            (self.cursor_shape, b"\x1b[0 q"),
            (palette, b"\x1b]104\x1b\\"),
            (foreground, b"\x1b]110\x1b\\"),
            (background, b"\x1b]111\x1b\\"),
            (cursor, b"\x1b]112\x1b\\"),
            (self.progress, b"\x1b]9;4;0\x1b\\"),
        ];
        for (_, bytes) in simple.iter().filter(|(changed, _)| *changed) {
            out.extend_from_slice(bytes);
        }
        for (which, pushed) in self.titles.iter().enumerate() {
            // Terminals keep about ten titles; a program that pushes endlessly must not cause a flood of pops.
            for _ in 0..(*pushed).min(16) {
                out.extend_from_slice(format!("\x1b[23;{which}t").as_bytes());
            }
        }
    }

    fn is_set(&self, mode: u16) -> bool {
        OFF_BY_DEFAULT.iter().position(|known| *known == mode).is_some_and(|bit| self.set & (1 << bit) != 0)
    }
}

impl Keyboard {
    fn undo(self, out: &mut Vec<u8>) {
        if self.pushed > 0 {
            out.extend_from_slice(format!("\x1b[<{}u", self.pushed).as_bytes());
        }
        if self.base {
            out.extend_from_slice(b"\x1b[=0u");
        }
    }
}

impl Pen {
    fn undo(self, out: &mut Vec<u8>) {
        if self.shifted_out {
            out.push(0x0f);
        }
        if self.charset {
            out.extend_from_slice(b"\x1b(B");
        }
        if self.attributes {
            out.extend_from_slice(b"\x1b[m");
        }
    }
}

/// Strips newlines from the end.
fn without_newlines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
    text.get(..end).unwrap_or_default()
}

fn with_bit(bits: u32, bit: usize, on: bool) -> u32 {
    if on { bits | 1 << bit } else { bits & !(1 << bit) }
}

/// Appends one control sequence that names every mode whose bit is set, or nothing.
fn list(out: &mut Vec<u8>, prefix: &str, modes: &[u16], bits: u32, last: char) {
    let numbers: Vec<String> = modes
        .iter()
        .enumerate()
        .filter(|(bit, _)| bits & (1 << bit) != 0)
        .map(|(_, mode)| mode.to_string())
        .collect();
    if !numbers.is_empty() {
        out.extend_from_slice(format!("\x1b[{prefix}{}{last}", numbers.join(";")).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo(output: &[u8]) -> String {
        let mut whole = ModeTracker::default();
        whole.feed(output);
        let expected = whole.undo();
        for cut in 0..=output.len() {
            let mut modes = ModeTracker::default();
            modes.feed(&output[..cut]);
            modes.feed(&output[cut..]);
            let both =
                (String::from_utf8_lossy(&expected), String::from_utf8_lossy(&modes.undo()).into_owned());
            assert_eq!(both.0, both.1, "cut at {cut}");
        }
        String::from_utf8(expected).unwrap()
    }

    #[test]
    fn a_character_that_is_not_complete_is_noticed() {
        for (bytes, between) in [
            (&b"abc"[..], true),
            ("─".as_bytes(), true),
            (b"a\xe2", false),
            (b"a\xe2\x94", false),
            (b"\xf0\x9f\x98", false),
            (b"\xff", true),
            (b"\x1b[3", false),
        ] {
            let mut whole = ModeTracker::default();
            whole.feed(bytes);
            assert_eq!(whole.is_between(), between, "{bytes:?}");
            let mut single = ModeTracker::default();
            bytes.iter().for_each(|byte| single.feed(&[*byte]));
            assert_eq!(single.is_between(), between, "{bytes:?} byte by byte");
        }
    }

    #[test]
    fn common_sequences_change_what_they_change_otherwise() {
        let numbers = [
            "",
            "0",
            "00",
            "1",
            "7;3",
            "0;0",
            "38;5;0",
            "4:3",
            "0:3",
            ";",
            ":",
            ";1",
            "48;2;255;20;3",
            "70000",
        ];
        let states = ["", "\x1b[1m", "text", "\r\n", "text\r"];
        for (start, numbers, action) in states.iter().flat_map(|start| {
            numbers.iter().flat_map(move |numbers| (b'@'..=b'~').map(move |action| (start, numbers, action)))
        }) {
            let mut before = ModeTracker::default();
            before.feed(start.as_bytes());
            let raw = [b"\x1b[", numbers.as_bytes(), &[action]].concat();
            let (mut quick, mut whole) = (before.state.clone(), before.state.clone());
            whole.sequence(&Sequence::parse(&raw));
            if quick.common(&raw) {
                let shown = (format!("{quick:?}"), format!("{whole:?}"));
                assert_eq!(shown.0, shown.1, "{start:?} {numbers} {}", char::from(action));
            }
        }
        assert!(ChangedModes::default().common(b"\x1b[38;5;17m"));
        for rare in [&b"\x1b[?1000h"[..], b"\x1b[4h", b"\x1b[2 q", b"\x1b[!p", b"\x1b[>4m"] {
            assert!(!ChangedModes::default().common(rare), "{rare:?}");
        }
    }

    #[test]
    fn an_untouched_terminal_needs_nothing() {
        assert_eq!(undo(b""), "");
        assert_eq!(undo(b"\x1b[1mbold\x1b[0m\r\n"), "");
        assert_eq!(undo(b"\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?1006;1000l\x1b[?25h\x1b[?1049l"), "");
        assert_eq!(undo(b"\x1b[>1u\x1b[<u\x1b=\x1b>\x1b[>4;2m\x1b[>4m\x1b[4 q\x1b[ q"), "");
    }

    #[test]
    fn modes_are_undone_in_one_go() {
        assert_eq!(undo(b"\x1b[?1h\x1b=\x1b[?2004h\x1b[?25l\x1b[?7l"), "\x1b>\x1b[?1;2004l\x1b[?7;25h");
        assert_eq!(undo(b"\x1b[?66h\r\n"), "\x1b>");
        assert_eq!(undo(b"\x1b[?1000h\x1b[?1002h\x1b[?1006h\x1b[?1004h"), "\x1b[?1000;1002;1004;1006l");
        assert_eq!(undo(b"\x1b[4h\x1b[20h"), "\x1b[4;20l");
    }

    #[test]
    fn the_primary_screen_comes_back() {
        assert_eq!(undo(b"\x1b[?1049h\x1b[2J\x1b[3;4Htext"), "\x1b[?1049l");
        assert_eq!(undo(b"\x1b[?47htext"), "\x1b[?47l\r\n");
        // The cursor returns to a line with a prompt.
        assert_eq!(undo(b"$ vi\x1b[?1049htext"), "\x1b[?1049l\r\n");
        // Attributes that were on when the program switched come back with the cursor.
        assert_eq!(undo(b"\x1b[1m\x1b[?1049h\x1b[m"), "\x1b[?1049l\x1b[m");
    }

    #[test]
    fn the_keyboard_has_a_stack_per_screen() {
        assert_eq!(undo(b"\x1b[>1u\x1b[?1049h\x1b[>3u\x1b[>5u"), "\x1b[<2u\x1b[?1049l\x1b[<1u");
        assert_eq!(undo(b"\x1b[=1u"), "\x1b[=0u");
        assert_eq!(undo(b"\x1b[=1u\x1b[<3u"), "");
        assert_eq!(undo(b"\x1b[>1u\x1b[=5;1u"), "\x1b[<1u");
        assert_eq!(undo(b"\x1b[>4;2m\x1b[>4;1f"), "\x1b[>4m\x1b[>4f");
    }

    #[test]
    fn a_region_moves_the_cursor_below_everything() {
        assert_eq!(undo(b"\x1b[1;20r"), "\x1b[r\x1b[999B\r\n");
        assert_eq!(undo(b"\x1b[1;20r\x1b[r\r\n"), "");
        assert_eq!(undo(b"\x1b[?6h"), "\x1b[?6l\x1b[999B\r\n");
        assert_eq!(undo(b"\x1b[?1049h\x1b[1;20r"), "\x1b[r\x1b[?1049l");
        // Restoring a private mode looks similar, but sets no region.
        assert_eq!(undo(b"\x1b[?1000r"), "");
    }

    #[test]
    fn pen_and_decoration() {
        assert_eq!(undo(b"\x1b[1;38;5;0mx\r\n"), "\x1b[m");
        assert_eq!(undo(b"\x0e"), "\x0f\r\n");
        assert_eq!(undo(b"\x1b(0\x1b[4 q"), "\x1b(B\x1b[0 q");
        assert_eq!(undo(b"\x1b[31m\x1b7\x1b[m\x1b8\r\n"), "\x1b[m");
        assert_eq!(undo(b"\x1b]8;;http://x\x07\r\n"), "\x1b]8;;\x1b\\");
        assert_eq!(undo(b"\x1b]8;;http://x\x07y\x1b]8;;\x07\r\n"), "");
        assert_eq!(undo(b"\x1b]11;?\x07"), "");
        assert_eq!(undo(b"\x1b]12;red\x1b\\\x1b]4;1;red\x07"), "\x1b]104\x1b\\\x1b]112\x1b\\");
        assert_eq!(undo(b"\x1b]9;4;1;50\x07"), "\x1b]9;4;0\x1b\\");
        assert_eq!(undo(b"\x1b[22;0t\x1b[22;2t\x1b[23;2t"), "\x1b[23;0t");
    }

    #[test]
    fn resets_clear_what_they_reset() {
        assert_eq!(undo(b"\x1b[?1049h\x1b[?1000h\x1b[>1u\x1b[1m\x1bc"), "");
        assert_eq!(undo(b"\x1b[?1000h\x1b[?25l\x1b[1m\x1b[4h\x1b[2;3r\x1b[!p\r\n"), "\x1b[?1000l");
    }

    #[test]
    fn an_unfinished_sequence_is_aborted() {
        let mut modes = ModeTracker::default();
        modes.feed(b"\r\n\x1b[?10");
        assert_eq!(modes.undo(), b"\x18");
        let mut modes = ModeTracker::default();
        modes.feed(b"\x1b]0;ti");
        assert_eq!(modes.undo(), b"\x1b\\");
    }

    #[test]
    fn the_cursor_ends_on_a_fresh_line() {
        assert_eq!(undo(b"text"), "\r\n");
        assert_eq!(undo(b"text\r\n"), "");
        assert_eq!(undo(b"50%\r"), "\r\n");
        assert_eq!(undo(b"text\n"), "\r\n");
        assert_eq!(undo(b"\r\n\x1b[?2004h$ \x1b[K"), "\x1b[?2004l\r\n");
    }
}
