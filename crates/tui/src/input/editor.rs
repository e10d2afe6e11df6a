//! The message being typed: text, cursor, history. Pure; [`Editor::rows`] lays it out.

use super::keys::Key;
use crate::limits;
use crate::text::{columns, visible};
use std::iter::Peekable;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// The message.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    text: String,
    /// A byte offset between two characters as people see them.
    cursor: usize,
    killed: String,
    history: Vec<String>,
    /// The message of the history that is shown, and what was typed before.
    recalled: Option<(usize, String)>,
}

/// The effect of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edited {
    /// The text or the cursor may have changed.
    Changed,
    /// The key has no effect here.
    Ignored,
    /// The message is complete.
    Submitted(String),
}

impl Editor {
    /// The text as it is.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Clears the text.
    pub fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
        self.recalled = None;
    }

    /// Replaces the text.
    pub fn put(&mut self, text: &str) {
        self.clear();
        self.insert(text);
    }

    /// The messages of the history, the newest first.
    pub fn remembered(&self) -> impl Iterator<Item = String> {
        self.history.clone().into_iter().rev()
    }

    /// Adds a message to the history.
    pub fn remember(&mut self, message: &str) {
        if !message.trim().is_empty() && self.history.last().is_none_or(|last| last != message) {
            self.history.push(message.to_owned());
            let surplus = self.history.len().saturating_sub(limits::REMEMBERED);
            self.history.drain(..surplus);
        }
    }

    /// Handles a key.
    pub fn handle(&mut self, key: &Key) -> Edited {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(text),
            Key::AltEnter | Key::Ctrl('j') => self.insert("\n"),
            Key::Tab => self.insert("\t"),
            Key::Enter => return self.enter(),
            Key::Backspace | Key::Ctrl('h') => self.remove(self.before(), self.cursor),
            Key::Delete | Key::Ctrl('d') => self.remove(self.cursor, self.after()),
            Key::Left | Key::Ctrl('b') => self.cursor = self.before(),
            Key::Right | Key::Ctrl('f') => self.cursor = self.after(),
            Key::WordLeft | Key::Alt('b') => self.cursor = self.word_before(),
            Key::WordRight | Key::Alt('f') => self.cursor = self.word_after(),
            Key::Home | Key::Ctrl('a') => self.cursor = self.line_start(),
            Key::End | Key::Ctrl('e') => self.cursor = self.line_end(),
            Key::Ctrl('k') => self.kill(self.cursor, self.line_end().max(self.after_newline())),
            Key::Ctrl('u') => self.kill(self.line_start(), self.cursor),
            Key::Ctrl('w') => self.kill(self.word_before(), self.cursor),
            Key::Alt('d') => self.kill(self.cursor, self.word_after()),
            Key::Ctrl('y') => self.insert(&self.killed.clone()),
            Key::Up | Key::Ctrl('p') => self.up(),
            Key::Down | Key::Ctrl('n') => self.down(),
            Key::Alt(_) | Key::Ctrl(_) | Key::Escape | Key::PageDown | Key::PageUp => return Edited::Ignored,
        }
        Edited::Changed
    }

    /// The rows it takes after a prompt, and the row and column of the cursor.
    pub fn rows(&self, prompt: &str, width: usize) -> (Vec<String>, (usize, usize)) {
        let indent = " ".repeat(columns(prompt));
        let width = width.max(columns(prompt) + 2);
        let mut rows = vec![prompt.to_owned()];
        let mut used = columns(prompt);
        let mut place = (0, used);
        for (at, grapheme) in self.text.grapheme_indices(true) {
            let shown = visible(grapheme);
            let wide = columns(&shown);
            // The cursor needs a column too.
            if grapheme != "\n" && used + wide >= width {
                rows.push(indent.clone());
                used = columns(&indent);
            }
            if at == self.cursor {
                place = (rows.len() - 1, used);
            }
            if grapheme == "\n" {
                rows.push(indent.clone());
                used = columns(&indent);
            } else if let Some(row) = rows.last_mut() {
                row.push_str(&shown);
                used += wide;
            }
        }
        if self.cursor >= self.text.len() {
            place = (rows.len() - 1, used);
        }
        (rows, place)
    }

    fn enter(&mut self) -> Edited {
        // A backslash at the end continues the message on another line.
        let continued = self.text.get(..self.cursor).and_then(|text| text.strip_suffix('\\')).map(str::len);
        if let Some(at) = continued.filter(|_| self.cursor == self.text.len()) {
            self.remove(at, self.cursor);
            self.insert("\n");
            return Edited::Changed;
        }
        let text = std::mem::take(&mut self.text);
        self.clear();
        self.remember(&text);
        Edited::Submitted(text)
    }

    fn insert(&mut self, text: &str) {
        if self.text.len() + text.len() <= limits::MESSAGE {
            self.text.insert_str(self.cursor, text);
            self.cursor += text.len();
            // The added text may form one character with the text after it.
            self.cursor = self.boundary(self.cursor);
        }
    }

    fn remove(&mut self, from: usize, to: usize) {
        if from < to && to <= self.text.len() {
            self.text.replace_range(from..to, "");
            self.cursor = self.boundary(from);
        }
    }

    fn kill(&mut self, from: usize, to: usize) {
        if let Some(killed) = self.text.get(from..to).filter(|killed| !killed.is_empty()) {
            self.killed = killed.to_owned();
            self.remove(from, to);
        }
    }

    fn up(&mut self) {
        let start = self.line_start();
        match self.text.get(..start).and_then(|above| above.strip_suffix('\n')) {
            Some(above) => {
                let from = above.rfind('\n').map_or(0, |at| at + 1);
                self.cursor = self.column_in(from, above.len(), start);
            }
            None => self.recall(true),
        }
    }

    fn down(&mut self) {
        let (start, end) = (self.line_start(), self.line_end());
        match self.text.get(end + 1..) {
            Some(below) => {
                let to = below.find('\n').map_or(self.text.len(), |at| end + 1 + at);
                self.cursor = self.column_in(end + 1, to, start);
            }
            None => self.recall(false),
        }
    }

    /// The place in the line `from..to` that is as far in as the cursor is in its own, which starts at `start`.
    fn column_in(&self, from: usize, to: usize, start: usize) -> usize {
        let wanted = self.text.get(start..self.cursor).map_or(0, columns);
        let line = self.text.get(from..to).unwrap_or_default();
        let mut used = 0;
        for (at, grapheme) in line.grapheme_indices(true) {
            if used >= wanted {
                return from + at;
            }
            used += columns(grapheme);
        }
        to
    }

    fn recall(&mut self, older: bool) {
        let (at, draft) = match self.recalled.take() {
            Some(recalled) => recalled,
            None => (self.history.len(), self.text.clone()),
        };
        let next = if older { at.checked_sub(1) } else { Some(at + 1) };
        let next = next.filter(|next| *next <= self.history.len()).unwrap_or(at);
        self.text = self.history.get(next).unwrap_or(&draft).clone();
        self.cursor = self.text.len();
        self.recalled = (next < self.history.len()).then_some((next, draft));
    }

    fn before(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.cursor, self.text.len(), true);
        cursor.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn after(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.cursor, self.text.len(), true);
        cursor.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len())
    }

    /// The place at or after `at` that is between two characters.
    fn boundary(&self, at: usize) -> usize {
        let mut cursor = GraphemeCursor::new(at, self.text.len(), true);
        match cursor.is_boundary(&self.text, 0) {
            Ok(true) | Err(_) => at.min(self.text.len()),
            Ok(false) => cursor.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len()),
        }
    }

    fn word_before(&self) -> usize {
        let text = self.text.get(..self.cursor).unwrap_or_default();
        let mut graphemes = text.graphemes(true).rev().peekable();
        text.len() - to_end_of_word(&mut graphemes)
    }

    fn word_after(&self) -> usize {
        let text = self.text.get(self.cursor..).unwrap_or_default();
        self.cursor + to_end_of_word(&mut text.graphemes(true).peekable())
    }

    fn line_start(&self) -> usize {
        let before = self.text.get(..self.cursor).unwrap_or_default();
        before.rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let after = self.text.get(self.cursor..).unwrap_or_default();
        after.find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// The place after a line feed at the cursor, so that killing at a line's end joins it with the next.
    fn after_newline(&self) -> usize {
        let at_newline = self.text.get(self.cursor..).is_some_and(|rest| rest.starts_with('\n'));
        if at_newline { self.cursor + 1 } else { self.cursor }
    }
}

/// Bytes up to the end of the next word. It is made of whole characters: an accent of its own is part of a letter.
fn to_end_of_word<'t>(graphemes: &mut Peekable<impl Iterator<Item = &'t str>>) -> usize {
    let of_word = |grapheme: &&str| grapheme.chars().any(char::is_alphanumeric);
    let mut bytes = 0;
    while let Some(gap) = graphemes.next_if(|grapheme| !of_word(grapheme)) {
        bytes += gap.len();
    }
    while let Some(letter) = graphemes.next_if(of_word) {
        bytes += letter.len();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::keys::Keys;
    use super::*;

    fn typed(editor: &mut Editor, bytes: &str) -> Vec<String> {
        let submitted = |edited| match edited {
            Edited::Submitted(text) => Some(text),
            _ => None,
        };
        Keys::default()
            .push(bytes.as_bytes(), std::time::Instant::now())
            .iter()
            .filter_map(|key| submitted(editor.handle(key)))
            .collect()
    }

    fn edited(bytes: &str) -> String {
        let mut editor = Editor::default();
        typed(&mut editor, bytes);
        let (before, after) = editor.text.split_at(editor.cursor);
        format!("{before}|{after}")
    }

    #[test]
    fn keys_edit() {
        for (bytes, wanted) in [
            ("abc\x1b[D\x1b[DX", "aX|bc"),
            ("abc\x7f\x7f", "a|"),
            ("abc\x01\x1b[3~", "|bc"),
            ("one two\x17", "one |"),
            ("one two\x17\x19\x19", "one twotwo|"),
            ("one two\x1b[1;5D\x0b", "one |"),
            ("one two\x01\x1bfX", "oneX| two"),
            ("e\u{301}te\u{301} x\x01\x1bf", "e\u{301}te\u{301}| x"),
            ("x e\u{301}te\u{301}!\x17", "x |"),
            ("1\u{fe0f}\u{20e3} x\x01\x1bf", "1\u{fe0f}\u{20e3}| x"),
            ("e\u{301}👩‍👩‍👧\x7f", "e\u{301}|"),
            ("e\u{301}\x7f", "|"),
            ("a\x1b\rb\x1b[AX", "aX|\nb"),
            ("日本\x1b\rab\x1b[A", "日|本\nab"),
            ("ab\x1b\r\x1b[A\x1b[B", "ab\n|"),
            ("\x1b[200~a\nb\x1b[201~", "a\nb|"),
            ("ab\x15c", "c|"),
        ] {
            assert_eq!(edited(bytes), wanted, "{bytes:?}");
        }
    }

    #[test]
    fn a_trailing_backslash_starts_another_line() {
        let mut editor = Editor::default();
        assert_eq!(typed(&mut editor, "one\\\rtwo\r"), ["one\ntwo"]);
        assert_eq!(typed(&mut editor, "a\\ b\r"), ["a\\ b"]);
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn earlier_messages_are_recalled() {
        let mut editor = Editor::default();
        typed(&mut editor, "one\rtwo\rtwo\rdraft");
        let mut look = |bytes: &str| {
            typed(&mut editor, bytes);
            editor.text().to_owned()
        };
        assert_eq!(look("\x1b[A"), "two");
        assert_eq!(look("\x1b[A"), "one");
        assert_eq!(look("\x1b[A"), "one");
        assert_eq!(look("\x1b[B"), "two");
        assert_eq!(look("\x1b[B"), "draft");
        assert_eq!(look("\x1b[B"), "draft");
        assert_eq!(look("\x1b[A!"), "two!");
    }

    #[test]
    fn rows_fold_and_the_cursor_is_where_it_is() {
        let mut editor = Editor::default();
        typed(&mut editor, "abcdef");
        assert_eq!(editor.rows("> ", 6), (vec!["> abc".into(), "  def".into()], (1, 5)));
        typed(&mut editor, "\x1b[D\x1b[D\x1b[D");
        assert_eq!(editor.rows("> ", 6).1, (1, 2));
        editor.clear();
        typed(&mut editor, "日本\x1b\rx\x1b[D");
        assert_eq!(editor.rows("> ", 80), (vec!["> 日本".into(), "  x".into()], (1, 2)));
        editor.clear();
        assert_eq!(editor.rows("> ", 80), (vec!["> ".into()], (0, 2)));
    }
}
