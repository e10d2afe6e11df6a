//! The input of a program: whether it is there to be typed into, and what it holds.
//!
//! An empty input box often shows a hint in the place of the text. The cursor tells them apart: it is before a hint and
//! behind what was typed.

use crate::detector::Detector;
use crate::limits;
use crate::look::{self, Shows, anchor_row, box_top};
use crate::profile::{Profile, ProgramKind};
use crate::verdict::cursor_line;
use swb_vt::Screen;

/// The input box of an agent that repaints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputBox {
    /// Whether the box is shown, and nothing else has the keyboard.
    pub visible: bool,
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
        return Some(InputBox { visible: false, typed: None, shown: String::new() });
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
    Some(InputBox { visible: true, typed, shown: sight.input })
}

impl Detector {
    /// Text in the input that was not submitted, as far as it is known.
    pub fn half_typed(&self, screen: &Screen) -> Option<String> {
        let text = match input_box(&self.profile, screen) {
            Some(input) => input.typed.filter(|_| input.visible)?,
            None => {
                let typed = String::from_utf8_lossy(self.live.keys.typed()).into_owned();
                // The program may have removed it.
                let shown = letters(&cursor_line(screen)).ends_with(&letters(&typed));
                Some(typed).filter(|_| shown)?
            }
        };
        Some(text.trim().to_owned()).filter(|text| !letters(text).is_empty())
    }
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
        let unseen = |shown: &str| InputBox { visible: true, typed: None, shown: shown.to_owned() };
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
}
