//! The user's terminal while the list is shown: raw, with a screen of its own; both end when it is dropped.

use crate::console::print_bytes;
use crate::error::Failure;
use crate::limits;
use crate::terminal::raw::RawMode;
use crate::terminal::size;
use swb_tui::top::{Buffer, Rect, TerminalLook, changes};
use swb_types::Size;

/// The alternate screen without a cursor and without wrapping, with bracketed paste; the title is saved.
const ENTER: &str = "\x1b[?1049h\x1b[22;0t\x1b[?25l\x1b[?7l\x1b[?2004h";
const LEAVE: &str = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[23;0t\x1b[?1049l";

/// The terminal, and what it shows.
#[derive(Debug)]
pub(super) struct ListTerminal {
    raw: Option<RawMode>,
    look: TerminalLook,
    shown: Option<Buffer>,
    title: String,
}

impl ListTerminal {
    pub(super) fn enter() -> Result<Self, Failure> {
        let raw = RawMode::enter()?;
        let terminal =
            Self { raw, look: look(|key| std::env::var(key).ok()), shown: None, title: String::new() };
        print_bytes(ENTER.as_bytes())?;
        Ok(terminal)
    }

    /// An empty picture of the terminal's size.
    pub(super) fn blank() -> Buffer {
        let size = size::current().unwrap_or(Size::DEFAULT);
        let (cols, rows) = (size.cols().min(limits::TOP_COLS), size.rows().min(limits::TOP_ROWS));
        Buffer::empty(Rect::new(0, 0, cols, rows))
    }

    /// Brings the terminal to the next picture.
    pub(super) fn show(&mut self, picture: Buffer) -> Result<(), Failure> {
        let bytes = changes(self.shown.as_ref(), &picture, self.look);
        self.shown = Some(picture);
        if bytes.is_empty() { Ok(()) } else { print_bytes(bytes.as_bytes()) }
    }

    /// Shows a title, if it is another one.
    pub(super) fn show_title(&mut self, title: String) -> Result<(), Failure> {
        if title == self.title {
            return Ok(());
        }
        self.title = title;
        print_bytes(format!("\x1b]2;{}\x1b\\", self.title).as_bytes())
    }

    /// Draws everything again, after another program has used the terminal.
    pub(super) fn renew(&mut self) -> Result<(), Failure> {
        if let Some(raw) = &self.raw {
            raw.renew()?;
        }
        self.shown = None;
        print_bytes(ENTER.as_bytes())
    }
}

impl Drop for ListTerminal {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        drop(print_bytes(LEAVE.as_bytes()));
        self.raw = None;
    }
}

/// What the terminal can show, by the user's environment.
fn look(var: impl Fn(&str) -> Option<String>) -> TerminalLook {
    let set = |key: &str| var(key).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|key| set(key));
    let unicode = locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        // Without a locale the terminal's own default counts, which is UTF-8 nowadays.
        !matches!(locale.as_str(), "c" | "posix") && (!locale.contains('.') || locale.contains("utf"))
    });
    let term = set("TERM").unwrap_or_default();
    let plain = term == "dumb" || term.starts_with("vt1") || term.starts_with("vt2") || term.ends_with("-m");
    TerminalLook { colours: set("NO_COLOR").is_none() && !plain, unicode }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> (bool, bool) {
        let find =
            |key: &str| pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        let look = look(find);
        (look.colours, look.unicode)
    }

    #[test]
    fn the_environment_decides_about_colours_and_characters() {
        assert_eq!(of(&[]), (true, true));
        assert_eq!(of(&[("NO_COLOR", "1"), ("LANG", "de_DE.UTF-8")]), (false, true));
        assert_eq!(of(&[("NO_COLOR", ""), ("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]), (true, false));
        assert_eq!(of(&[("TERM", "vt100"), ("LANG", "de_DE.ISO-8859-1")]), (false, false));
        assert_eq!(of(&[("LANG", "C.utf8")]), (true, true));
    }
}
