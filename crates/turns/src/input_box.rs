//! The input of a program: whether it is there to be typed into, and what it holds.
//!
//! An empty input box often shows a hint instead of the text. The cursor distinguishes them: it is before a hint and
//! behind what was typed.

use crate::detector::Detector;
use crate::limits;
use crate::look::{self, Shows, anchor_row, box_top};
use crate::profile::{Profile, ProgramKind};
use crate::verdict::cursor_line;
use swb_vt::{Screen, ScreenLine};

/// The input box of an agent that repaints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputBox {
    /// Whether the box is shown, and nothing else has the keyboard.
    pub visible: bool,
    /// Whether the agent shows a mark of work beside it.
    pub busy: bool,
    /// The text before the cursor; `None` if the cursor is not in the box.
    pub typed: Option<String>,
    /// The first row with text, which may be a hint.
    pub shown: String,
}

impl InputBox {
    /// Whether it holds this text, or the end of it, after it was typed into the box `before`.
    pub fn holds(&self, text: &str, before: &Self) -> bool {
        if !self.visible {
            return false;
        }
        let wanted = letters(text);
        match &self.typed {
            // Agents show long pastes as a mark.
            Some(typed) if typed.to_lowercase().contains("[pasted") => true,
            Some(typed) if wanted.is_empty() => !typed.trim().is_empty(),
            Some(typed) => !letters(typed).is_empty() && wanted.ends_with(&letters(typed)),
            None => {
                let shown = letters(&self.shown);
                self.shown != before.shown
                    && (wanted.contains(&shown) || self.shown.to_lowercase().contains("[pasted"))
            }
        }
    }
}

/// The input box on a screen; `None` for programs that write lines.
pub fn input_box(profile: &Profile, screen: &Screen) -> Option<InputBox> {
    if profile.kind != ProgramKind::Screen {
        return None;
    }
    let (view, rows) = (&profile.view, screen.row_texts());
    let used = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |y| y + 1);
    let sight = look::look(view, &rows);
    let anchor = anchor_row(view, &rows, used).filter(|_| sight.shows != Shows::Asking);
    let Some(anchor) = anchor else {
        return Some(InputBox { visible: false, busy: false, typed: None, shown: String::new() });
    };
    let cursor = screen.cursor();
    let row = usize::from(cursor.row);
    let (first, last) = match view.body {
        Some(_) => {
            let top = box_top(view, &rows, anchor);
            let empty = |y: &usize| rows.get(*y).is_none_or(|row| letters(row).is_empty());
            // A list of commands may be above the box, in the same frame.
            ((top..row).rev().find(empty).map_or(top, |y| y + 1), anchor.saturating_sub(1))
        }
        None => (anchor, anchor + limits::INPUT_ROWS),
    };
    let typed = (first..=last).contains(&row).then(|| {
        let text = rows.iter().enumerate().take(row + 1).skip(first).map(|(y, text)| {
            let end = if y == row { usize::from(cursor.col) } else { usize::MAX };
            // The mark of the box is in its first row, or its frame in each.
            let marked = y == first || view.body.is_some();
            let before: String = text.chars().take(end).collect();
            let skipped = before.trim_start().chars().skip(usize::from(marked));
            skipped.collect::<String>().trim().to_owned()
        });
        text.collect::<Vec<_>>().join("\n").trim().to_owned()
    });
    Some(InputBox { visible: true, busy: sight.shows == Shows::Busy, typed, shown: sight.input })
}

/// The prompt with which a program asks for more lines of what it was given, if the cursor is behind it and nothing else
/// was typed there.
pub fn continuation(profile: &Profile, screen: &Screen) -> Option<String> {
    let line = cursor_line(screen);
    let ready = profile.prompt.ready.prefix(&line).is_some();
    let prompt = profile.prompt.continuation.prefix(&line).filter(|_| !ready)?;
    let (shown, typed) = line.split_at_checked(prompt)?;
    // Programs indent the next line.
    typed.trim().is_empty().then(|| shown.trim().to_owned()).filter(|shown| !shown.is_empty())
}

impl Detector {
    /// Text in the input that was not submitted, as far as it is known.
    pub fn half_typed(&self, screen: &Screen) -> Option<String> {
        let text = match input_box(&self.profile, screen) {
            Some(input) if !input.visible => return None,
            // The program has not shown it yet.
            Some(_) if self.live.keys_at == Some(self.live.offset) => self.typed_text(),
            Some(input) => input.typed?,
            None => self.half_typed_line(screen)?,
        };
        Some(text.trim().to_owned()).filter(|text| !letters(text).is_empty())
    }

    fn typed_text(&self) -> String {
        String::from_utf8_lossy(self.live.keys.typed()).into_owned()
    }

    /// The same for a program that writes lines: what is behind its prompt, or else what was typed, if it is shown. The
    /// program may have removed it, and it may take several rows.
    fn half_typed_line(&self, screen: &Screen) -> Option<String> {
        if !self.live.keys.touched() {
            return None;
        }
        let typed = self.typed_text();
        let (lines, row) = (screen.lines(), usize::from(screen.cursor().row));
        let prompt = self.live.prompt.as_deref().map(str::trim_end).filter(|prompt| !prompt.is_empty());
        let begins =
            |y: &usize| prompt.is_some_and(|p| lines.get(*y).is_some_and(|line| line.text().starts_with(p)));
        let Some(first) = (0..=row).rev().find(begins) else {
            // Its beginning may have left the screen.
            let (shown, typed_letters) =
                (letters(&joined(&lines, 0, &cursor_line(screen), row)), letters(&typed));
            let fills_screen = !shown.is_empty() && typed_letters.ends_with(&shown);
            return Some(typed).filter(|_| fills_screen || shown.ends_with(&typed_letters));
        };
        let behind = |text: String| prompt.and_then(|p| text.strip_prefix(p)).unwrap_or_default().to_owned();
        let before_cursor = behind(joined(&lines, first, &cursor_line(screen), row));
        if !letters(&before_cursor).is_empty() {
            return Some(before_cursor);
        }
        // The cursor may have been moved to the beginning.
        let all = behind(joined(&lines, first, "", lines.len()));
        Some(typed).filter(|typed| letters(&all).contains(&letters(typed)))
    }
}

/// The rows from `first` to the one before `row`, and `last`; a line that was wrapped is one again.
fn joined(lines: &[ScreenLine], first: usize, last: &str, row: usize) -> String {
    let above = lines.iter().take(row).skip(first);
    let text = above.map(|line| line.text() + if line.wrapped { "" } else { "\n" });
    text.collect::<String>() + last
}

/// The characters by which text is recognised however it was wrapped, padded or drawn.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profiles;
    use crate::time::Time;
    use std::sync::Arc;
    use swb_types::{Offset, Size};
    use swb_vt::Options;

    const RULE: &str = "────────────────────────────────────────";

    fn profile(name: &str) -> Arc<Profile> {
        Profiles::built_in().unwrap().named(name).unwrap()
    }

    fn screen(text: &str) -> Screen {
        let mut screen = Screen::new(Size::new(80, 24).unwrap(), Options::default());
        screen.feed(text.replace('\n', "\r\n").as_bytes());
        screen
    }

    #[test]
    fn a_prompt_for_more_lines_is_known() {
        let prompt = |name, text| continuation(&profile(name), &screen(text));
        assert_eq!(prompt("python", ">>> def f():\n... ").as_deref(), Some("..."));
        assert_eq!(prompt("python", ">>> def f():\n...     ").as_deref(), Some("..."), "indented");
        assert_eq!(prompt("python", ">>> def f():\n...     return"), None, "something is typed behind it");
        assert_eq!(prompt("python", ">>> "), None);
        assert_eq!(prompt("shell", "$ echo 'a\n> ").as_deref(), Some(">"));
        assert_eq!(prompt("shell", "$ echo 'a\nquote> ").as_deref(), Some("quote>"));
        assert_eq!(prompt("shell", "u@h ~> "), None, "fish is ready");
        assert_eq!(prompt("claude", "... "), None);
    }

    /// The box with the cursor behind `typed`.
    fn seen(name: &str, above: &str, typed: &str, below: &str) -> InputBox {
        input_box(&profile(name), &screen(&format!("{above}{typed}\x1b7{below}\x1b8"))).unwrap()
    }

    #[test]
    fn what_is_before_the_cursor_was_typed_and_the_rest_is_a_hint() {
        let claude = |typed: &str| seen("claude", &format!("{RULE}\n❯ "), typed, &format!("\n{RULE}"));
        assert_eq!(claude("half typed").typed.as_deref(), Some("half typed"));
        assert_eq!(claude("").typed.as_deref(), Some(""));
        let codex =
            |typed: &str, hint: &str| seen("codex", "› ", typed, &format!("{hint}\n\n  ? for shortcuts"));
        assert_eq!(codex("", "Ask Codex to do anything").typed.as_deref(), Some(""));
        assert_eq!(codex("one\n  two", "").typed.as_deref(), Some("one\ntwo"));
        let edge = "\n   ┃\n   ┃  Build · Stub\n   ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n";
        let opencode =
            |typed: &str, hint: &str| seen("opencode", "   ┃\n   ┃  ", typed, &format!("{hint}{edge}"));
        assert_eq!(opencode("half", "").typed.as_deref(), Some("half"));
        assert_eq!(opencode("", "Ask anything…").typed.as_deref(), Some(""));
        let commands = "   ┃ /new    New session ┃\n   ┃\n   ┃  ";
        assert_eq!(seen("opencode", commands, "/clear", edge).typed.as_deref(), Some("/clear"));
    }

    #[test]
    fn a_box_holds_text_that_was_typed_and_a_mark_of_a_long_paste() {
        let claude = |typed: &str| seen("claude", &format!("{RULE}\n❯ "), typed, &format!("\n{RULE}"));
        let empty = claude("");
        assert!(claude("what  is 日本?").holds("what is\n日本?", &empty));
        assert!(claude("[Pasted text #1 +29 lines]").holds("a\nb", &empty));
        assert!(claude("the end").holds("a text and the end", &empty));
        assert!(!claude("other").holds("what is it", &empty) && !empty.holds("what", &empty));
        // Without the cursor, by the first row.
        let unseen =
            |shown: &str| InputBox { visible: true, busy: false, typed: None, shown: shown.to_owned() };
        assert!(unseen("what is").holds("what is it", &unseen("Try this")));
        assert!(!unseen("Try this").holds("what is it", &unseen("Try this")));
    }

    #[test]
    fn a_list_to_choose_from_is_no_input_box() {
        let trust =
            "  Trust this folder?\n\n› 1. Trust and continue\n  2. Back\n\n  enter continue · esc back";
        assert!(!input_box(&profile("codex"), &screen(trust)).unwrap().visible);
        assert!(!input_box(&profile("claude"), &screen("Welcome\n")).unwrap().visible);
        assert_eq!(input_box(&profile("shell"), &screen("$ ")), None);
    }

    #[test]
    fn half_typed_text_of_an_agent_counts_before_it_is_shown() {
        let size = Size::new(80, 24).unwrap();
        let mut shown = Screen::new(size, Options::default());
        let mut detector = Detector::new(profile("claude"), size);
        let now = Time(1_000_000);
        let frame = format!("\x1b[H{RULE}\r\n❯ \x1b7\r\n{RULE}\x1b8");
        detector.output(&mut shown, frame.as_bytes(), Offset::START, now);
        assert_eq!(detector.half_typed(&shown), None);
        detector.input(&shown, b"half", now);
        assert_eq!(detector.half_typed(&shown).as_deref(), Some("half"));
        detector.output(&mut shown, b"half", detector.offset(), now);
        assert_eq!(detector.half_typed(&shown).as_deref(), Some("half"));
        // What the program has done with it is known by its output only.
        detector.output(&mut shown, frame.as_bytes(), detector.offset(), now);
        detector.output(&mut shown, b"\x1b[K", detector.offset(), now);
        assert_eq!(detector.half_typed(&shown), None);
    }

    #[test]
    fn half_typed_text_of_a_line_is_what_was_typed_and_is_shown() {
        let mut shown = Screen::new(Size::new(80, 24).unwrap(), Options::default());
        let mut detector = Detector::new(profile("shell"), Size::new(80, 24).unwrap());
        let now = Time(1_000_000);
        detector.output(&mut shown, b"$ ", Offset::START, now);
        assert_eq!(detector.half_typed(&shown), None);
        detector.input(&shown, b"rm -r", now);
        detector.output(&mut shown, b"rm -r", detector.offset(), now);
        assert_eq!(detector.half_typed(&shown).as_deref(), Some("rm -r"));
        detector.output(&mut shown, b"^C\r\n$ ", detector.offset(), now);
        assert_eq!(detector.half_typed(&shown), None);
    }

    /// What is half typed after `input`, which the program echoes as `echo`, at a prompt that was seen before.
    fn at_prompt(input: &[u8], echo: &str) -> Option<String> {
        let size = Size::new(20, 6).unwrap();
        let mut shown = Screen::new(size, Options::default());
        let mut detector = Detector::new(profile("shell"), size);
        detector.output(&mut shown, b"some output\r\n\x1b[?2004hhost $ ", Offset::START, Time(1_000_000));
        let now = Time(5_000_000);
        detector.tick(&shown, now);
        detector.input(&shown, input, now);
        detector.output(&mut shown, echo.as_bytes(), detector.offset(), now);
        detector.tick(&shown, Time(9_000_000));
        detector.half_typed(&shown)
    }

    #[test]
    fn half_typed_text_may_take_several_rows() {
        let long = format!("echo {}end", "word ".repeat(12));
        assert_eq!(at_prompt(long.as_bytes(), &long).as_deref(), Some(long.as_str()));
        let longer = format!("echo {}end", "word ".repeat(60));
        assert_eq!(
            at_prompt(longer.as_bytes(), &longer).as_deref(),
            Some(longer.as_str()),
            "it fills the screen"
        );
        let lines = at_prompt(b"\x1b[200~echo one\necho two\x1b[201~", "echo one\r\necho two");
        assert_eq!(lines.as_deref(), Some("echo one\necho two"));
    }

    #[test]
    fn half_typed_text_is_what_is_behind_the_prompt() {
        let recalled = at_prompt(b"\x1b[A", "rm -r old");
        assert_eq!(recalled.as_deref(), Some("rm -r old"), "a line of the history");
        assert_eq!(at_prompt(b"ec\t", "echo").as_deref(), Some("echo"), "completed");
        assert_eq!(
            at_prompt(b"rm -r\x01", "rm -r\x1b[5D").as_deref(),
            Some("rm -r"),
            "the cursor is before it"
        );
        assert_eq!(at_prompt(b"rm\x7f\x7f", "rm\x08 \x08\x08 \x08"), None, "removed");
        assert_eq!(at_prompt(b"", "job 1 has ended\r\n"), None, "nothing was typed");
    }
}
