//! Answers to programs that ask their terminal. Whether they are sent is the caller's decision.

use crate::csi::Csi;
use crate::limits;
use crate::modes;
use crate::sgr;
use crate::terminal::Terminal;

impl Terminal {
    fn reply(&mut self, text: &str) {
        if self.replies.len() + text.len() <= limits::REPLY_BYTES {
            self.replies.extend_from_slice(text.as_bytes());
        }
    }

    /// Answers in the way the question ended.
    pub(crate) fn reply_osc(&mut self, content: &str, bel: bool) {
        self.reply(&format!("\x1b]{content}{}", if bel { "\x07" } else { "\x1b\\" }));
    }

    /// A VT220 with colours.
    pub(crate) fn reply_attributes(&mut self) {
        self.reply("\x1b[?62;22c");
    }

    pub(crate) fn reply_csi(&mut self, csi: &Csi) {
        let n = csi.param(0);
        match (csi.private, csi.intermediate, csi.action, n) {
            (0, 0, b'c', 0) => self.reply_attributes(),
            (b'>', 0, b'c', 0) => self.reply("\x1b[>1;10;0c"),
            (b'=', 0, b'c', 0) => self.reply("\x1bP!|00000000\x1b\\"),
            (0, 0, b'n', 5) => self.reply("\x1b[0n"),
            (0, 0, b'n', 6) => self.reply_position(""),
            (b'?', 0, b'n', 6) => self.reply_position("?"),
            (b'>', 0, b'q', 0) => {
                self.reply(concat!("\x1bP>|switchboard(", env!("CARGO_PKG_VERSION"), ")\x1b\\"));
            }
            (0, b'$', b'p', _) => {
                let state = match n {
                    4 => self.registers.modes.insert.into(),
                    20 => self.registers.modes.newline.into(),
                    _ => None,
                };
                let state = state.map_or(0, |on| if on { 1 } else { 2 });
                self.reply(&format!("\x1b[{n};{state}$y"));
            }
            (b'?', b'$', b'p', _) => {
                let state = self.private_mode_state(n);
                self.reply(&format!("\x1b[?{n};{state}$y"));
            }
            (b'?', 0, b'u', _) => {
                let flags = self.page().keyboard.flags;
                self.reply(&format!("\x1b[?{flags}u"));
            }
            (b'?', 0, b'm', 4) => {
                let value = self.registers.key_modifiers[4].unwrap_or(0);
                self.reply(&format!("\x1b[>4;{value}m"));
            }
            (0, 0, b't', 18) => self.reply(&format!("\x1b[8;{};{}t", self.rows(), self.cols())),
            _ => {}
        }
    }

    fn private_mode_state(&self, mode: u16) -> u8 {
        let flag = |on| if on { 1 } else { 2 };
        match mode {
            modes::BLINK => flag(self.registers.cursor.blink.unwrap_or(false)),
            47 | 1047 | 1049 => flag(self.alternate.is_some()),
            _ => self.registers.modes.report(mode),
        }
    }

    fn reply_position(&mut self, marker: &str) {
        let mut at = self.position();
        if self.mode(modes::ORIGIN) {
            at.y -= self.registers.region.start.min(at.y);
        }
        self.reply(&format!("\x1b[{marker}{};{}R", at.y + 1, at.x + 1));
    }

    /// DECRQSS and XTGETTCAP; no other device control string matters to a screen.
    pub(crate) fn dcs(&mut self, content: &[u8]) {
        if let Some(names) = content.strip_prefix(b"+q") {
            // Refused as unknown: terminfo is the program's to read.
            if names.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b';') {
                self.reply(&format!("\x1bP0+r{}\x1b\\", names.escape_ascii()));
            }
        } else if let Some(setting) = content.strip_prefix(b"$q") {
            match self.setting(setting) {
                Some(value) => self.reply(&format!("\x1bP1$r{value}\x1b\\")),
                None => self.reply("\x1bP0$r\x1b\\"),
            }
        }
    }

    fn setting(&self, name: &[u8]) -> Option<String> {
        Some(match name {
            b"m" => {
                let mut codes = Vec::new();
                sgr::push_all(&mut codes, &self.registers.pen);
                let codes = String::from_utf8(codes).ok()?;
                if codes.is_empty() { "0m".into() } else { codes + "m" }
            }
            b"r" => {
                let region = &self.registers.region;
                format!("{};{}r", region.start + 1, region.end)
            }
            b" q" => format!("{} q", self.cursor_style_number()),
            _ => return None,
        })
    }

    /// The number DECSCUSR has for the cursor.
    pub(crate) fn cursor_style_number(&self) -> u8 {
        let cursor = self.registers.cursor;
        let steady = cursor.blink != Some(true);
        cursor.shape.map_or(0, |shape| 2 * shape + 1 + u8::from(steady))
    }
}
