//! Operating system commands: titles, colours, links and what programs report about themselves.

use crate::cell::Hyperlink;
use crate::event::{Mark, Progress, ScreenEvent};
use crate::limits;
use crate::palette::{Rgb, SPECIAL};
use crate::terminal::Terminal;

impl Terminal {
    pub(crate) fn osc(&mut self, content: &[u8], bel: bool) {
        let (number, rest) = split(content);
        let Some(number) = parse_number(number) else { return };
        let rest = rest.unwrap_or_default();
        match number {
            0 | 2 => self.set_title(clean(rest)),
            4 => self.set_indexed_colors(rest, bel),
            7 => {
                self.registers.cwd = clean(rest);
                self.events.push(ScreenEvent::Cwd(self.registers.cwd.clone()));
            }
            8 => self.set_link(rest),
            9 => self.notify(rest),
            10..=19 => self.set_special_colors(number, rest, bel),
            104 => self.reset_indexed_colors(rest),
            110..=119 => self.registers.palette.reset_special(number - 100),
            133 => self.set_mark(rest),
            777 => {
                if let Some(text) = rest.strip_prefix(b"notify;") {
                    self.events.push(ScreenEvent::Notify(clean(text)));
                }
            }
            7501 if rest == b"?" => self.reply_osc("7501;?", bel),
            7501 => {
                self.registers.status = clean(rest);
                self.events.push(ScreenEvent::Status(self.registers.status.clone()));
            }
            _ => {}
        }
    }

    fn set_indexed_colors(&mut self, rest: &[u8], bel: bool) {
        let mut parts = rest.split(|byte| *byte == b';');
        while let (Some(n), Some(color)) = (parts.next(), parts.next()) {
            let Some(n) = parse_number(n).and_then(|n| u8::try_from(n).ok()) else {
                continue;
            };
            if color == b"?" {
                let color = self.registers.palette.indexed(n);
                self.reply_osc(&format!("4;{n};{color}"), bel);
            } else if let Some(color) = Rgb::parse(color) {
                self.registers.palette.set_indexed(n, color);
            }
        }
    }

    fn reset_indexed_colors(&mut self, rest: &[u8]) {
        if rest.is_empty() {
            self.registers.palette.reset_indexed(None);
        }
        for n in rest.split(|byte| *byte == b';').filter_map(parse_number) {
            if let Ok(n) = u8::try_from(n) {
                self.registers.palette.reset_indexed(Some(n));
            }
        }
    }

    fn set_special_colors(&mut self, first: u16, rest: &[u8], bel: bool) {
        // Further colours are for the numbers that follow.
        for (number, color) in (first..).zip(rest.split(|byte| *byte == b';')) {
            if !SPECIAL.contains(&number) {
                return;
            }
            if color == b"?" {
                let color = self.registers.palette.special(number);
                self.reply_osc(&format!("{number};{color}"), bel);
            } else if let Some(color) = Rgb::parse(color) {
                self.registers.palette.set_special(number, color);
            }
        }
    }

    fn set_link(&mut self, rest: &[u8]) {
        let (params, uri) = split(rest);
        let uri = uri.unwrap_or_default();
        let link = (!uri.is_empty()).then(|| parse_link(params, uri)).flatten();
        let link = link.and_then(|link| self.links.intern(link));
        self.registers.pen.set_link(link);
    }

    fn notify(&mut self, rest: &[u8]) {
        let mut parts = rest.split(|byte| *byte == b';');
        let first = parts.next().unwrap_or_default();
        match parse_number(first) {
            Some(4) => {
                let mut number = || parts.next().and_then(parse_number).unwrap_or(0);
                let (state, percent) = (number(), number());
                if let Some(progress) = Progress::from_params(state, percent) {
                    self.registers.progress = Some(progress).filter(|now| *now != Progress::None);
                    self.events.push(ScreenEvent::Progress(progress));
                }
            }
            // Other numbers are commands of ConEmu.
            Some(_) if first.len() < rest.len() => {}
            _ => self.events.push(ScreenEvent::Notify(clean(rest))),
        }
    }

    fn set_mark(&mut self, rest: &[u8]) {
        let mut parts = rest.split(|byte| *byte == b';');
        let mark = match parts.next() {
            Some(b"A" | b"N") => Mark::Prompt,
            Some(b"B" | b"I") => Mark::Input,
            Some(b"C") => Mark::Output,
            Some(b"D") => {
                let code = parts.next().and_then(|code| std::str::from_utf8(code).ok());
                Mark::Done(code.and_then(|code| code.parse().ok()))
            }
            _ => return,
        };
        self.registers.mark = Some(mark);
        self.events.push(ScreenEvent::Mark(mark));
    }
}

/// Cuts at the first semicolon.
pub(crate) fn split(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.iter().position(|byte| *byte == b';') {
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
        None => (bytes, None),
    }
}

pub(crate) fn parse_number(bytes: &[u8]) -> Option<u16> {
    let digits = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    if digits { std::str::from_utf8(bytes).ok()?.parse().ok() } else { None }
}

/// Text without controls, of bounded length: what can be sent again and shown anywhere.
fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(2 * limits::TEXT_BYTES)]);
    let mut kept = String::new();
    for c in text.chars().filter(|c| !c.is_control()) {
        if kept.len() + c.len_utf8() > limits::TEXT_BYTES {
            break;
        }
        kept.push(c);
    }
    kept
}

/// A link whose parts can be sent again as they are.
fn parse_link(params: &[u8], uri: &[u8]) -> Option<Hyperlink> {
    let id =
        params.split(|byte| *byte == b':').find_map(|param| param.strip_prefix(b"id=")).unwrap_or_default();
    let printable = |bytes: &[u8]| bytes.iter().all(|byte| (0x20..0x7f).contains(byte));
    let fits =
        printable(uri) && printable(id) && uri.len() <= limits::LINK_URI && id.len() <= limits::LINK_ID;
    fits.then(|| Hyperlink {
        id: String::from_utf8_lossy(id).into_owned(),
        uri: String::from_utf8_lossy(uri).into_owned(),
    })
}
