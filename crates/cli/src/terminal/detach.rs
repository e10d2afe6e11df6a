//! Finds the detach key in the user's input, and what follows it where it is a prefix.
//!
//! A prefix is a single key with Ctrl, by default Ctrl+]. Alone it detaches after a short pause ([`limits::PREFIX`]), because
//! it always has; the next key decides before: `s` opens the list of sessions, `?` shows the keys, the prefix again is typed
//! into the session, Escape does nothing, and any other key detaches at once. See docs/decisions/0018-prefix-key.md.
//!
//! Pure. A key arrives as a plain byte, or, if the program has enabled a richer keyboard
//! protocol, as `CSI code ; modifiers u` (kitty, fixterms) or `CSI 27 ; modifiers ; code ~` (xterm's
//! modifyOtherKeys). All of them stand for the same key. The start of such a sequence is held back until it is
//! complete, for [`Matcher::timeout`] at most, because a lone escape character is a key, too.

use crate::limits;
use std::time::Duration;
use swb_vt::limits::KEY_BYTES;
use swb_vt::{Input, InputParser, Key, KeyCode, KeyPress};

/// The prefixes that mean Ctrl.
const CTRL: [&str; 6] = ["C-", "^", "Ctrl-", "Ctrl+", "Control-", "Control+"];

/// One key: a character, perhaps with Ctrl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chord {
    character: char,
    ctrl: bool,
}

/// The key, or the sequence of keys, that detaches from a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DetachKey(Vec<Chord>);

/// A text that is not a valid detach key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a valid detach key; use C- and a character (C-], C-a), plain characters (,,,d), or none"
)]
pub(crate) struct KeyError(String);

impl DetachKey {
    /// Ctrl and a character, such as Ctrl+], the key of telnet and coop.
    pub(crate) fn ctrl(character: char) -> Self {
        Self(vec![Chord { character, ctrl: true }])
    }

    /// Parses `C-]`, `^]`, `,,,d` or `none`.
    pub(crate) fn parse(text: &str) -> Result<Self, KeyError> {
        let refused = || KeyError(text.to_owned());
        if text.eq_ignore_ascii_case("none") {
            return Ok(Self(Vec::new()));
        }
        if let Some(name) = CTRL.iter().find_map(|prefix| without_prefix(text, prefix)) {
            let mut characters = name.chars();
            let character = characters.next().map(|c| c.to_ascii_lowercase()).ok_or_else(refused)?;
            // Ctrl+[ is the escape key, and Enter and Tab are needed for other things.
            let usable =
                matches!(character, 'a'..='z' | '\\' | ']' | '^' | '_' | '@') && !"ijm".contains(character);
            return if usable && characters.next().is_none() {
                Ok(Self::ctrl(character))
            } else {
                Err(refused())
            };
        }
        let keys: Vec<Chord> = text.chars().map(|character| Chord { character, ctrl: false }).collect();
        let plain = keys.iter().all(|key| key.character.is_ascii_graphic());
        // A single letter would make that letter impossible to type.
        if plain && (2..=limits::DETACH_KEYS).contains(&keys.len()) { Ok(Self(keys)) } else { Err(refused()) }
    }

    /// A single plain key, for attachments that take no other input.
    pub(crate) fn plain(character: char) -> Self {
        Self(vec![Chord { character, ctrl: false }])
    }
}

/// Strips a prefix, ignoring case.
fn without_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// What a key of ours means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttachCommand {
    /// To detach.
    Detach,
    /// To show the keys.
    Help,
    /// To open the list of sessions.
    List,
}

/// Watches the input of one attachment.
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    keys: Vec<DetachKey>,
    /// The key after which the next one is for us.
    prefix: Option<Chord>,
    /// Whether the prefix was pressed, and no key after it.
    armed: bool,
    /// Whether the program has received a press of the prefix, and is to receive its release.
    literal: bool,
    /// The input after a command, for the code that handles it.
    rest: Vec<u8>,
    /// The last keys pressed, as many as the longest detach key has.
    recent: Vec<Chord>,
    longest: usize,
    parser: InputParser,
    /// Input that may become a key of ours.
    held: Vec<u8>,
}

impl Matcher {
    /// Creates a matcher for several keys, each of which detaches.
    pub(crate) fn new(keys: Vec<DetachKey>) -> Self {
        let longest = keys.iter().map(|key| key.0.len()).max().unwrap_or(0);
        // Pasted text counts as typed: a paste whose end is lost must not take the way out.
        let parser = InputParser::without_pastes();
        let (held, rest, recent) = (Vec::new(), Vec::new(), Vec::new());
        Self { keys, prefix: None, armed: false, literal: false, rest, recent, longest, parser, held }
    }

    /// Creates a matcher in which the first key is a prefix, if it is a single one with Ctrl.
    pub(crate) fn with_prefix(mut keys: Vec<DetachKey>) -> Self {
        let prefix = match keys.first().map(|key| key.0.as_slice()) {
            Some([chord]) if chord.ctrl => Some(*chord),
            _ => None,
        };
        if prefix.is_some() {
            keys.remove(0);
        }
        Self { prefix, ..Self::new(keys) }
    }

    /// Whether the prefix was pressed and waits for the next key.
    pub(crate) fn is_armed(&self) -> bool {
        self.armed
    }

    /// Takes the input that followed [`AttachCommand::List`] or [`AttachCommand::Help`].
    pub(crate) fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.rest)
    }

    /// Takes input and appends to `out` what is for the program; returns what the user pressed for us, if anything.
    ///
    /// Drops the input after a key that detaches.
    pub(crate) fn feed(&mut self, input: &[u8], out: &mut Vec<u8>) -> Option<AttachCommand> {
        if self.longest == 0 && self.prefix.is_none() {
            out.extend_from_slice(input);
            return None;
        }
        let mut rest = input;
        loop {
            let before = rest;
            let found = self.parser.next(&mut rest);
            self.held.extend_from_slice(before.strip_suffix(rest).unwrap_or(before));
            let Some(found) = found else { break };
            let command = self.found(found, out);
            if command.is_some() {
                self.rest = rest.to_vec();
                return command;
            }
        }
        if !may_become_key(self.parser.pending()) {
            out.append(&mut self.held);
        }
        None
    }

    /// How long to wait for more input before [`Matcher::give_up`], if what has come may be a whole key.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        match self.held.len() {
            // Alt with the first character of a string: the keys after it are not part of one.
            0 if self.parser.may_be_key() => Some(limits::LONE_ESCAPE),
            0 => None,
            1 | 2 => Some(limits::LONE_ESCAPE),
            _ => Some(limits::SEQUENCE),
        }
    }

    /// Releases the held bytes: they are not a detach key.
    pub(crate) fn give_up(&mut self, out: &mut Vec<u8>) {
        let escape =
            matches!(self.parser.give_up(), Some(Input::Press(press)) if press.key.code == KeyCode::Escape);
        if self.armed && escape {
            self.armed = false;
            self.held.clear();
        }
        out.append(&mut self.held);
    }

    fn found(&mut self, input: Input<'_>, out: &mut Vec<u8>) -> Option<AttachCommand> {
        let command = match input {
            Input::Press(press) if self.armed && !is_modifier(&press) => self.pressed_after_prefix(&press),
            Input::Press(press) => {
                let chord = chord(&press);
                if chord.is_some() && chord == self.prefix {
                    self.armed = true;
                    self.held.clear();
                    None
                } else {
                    self.pressed(chord).then_some(AttachCommand::Detach)
                }
            }
            Input::Release(press) => {
                // The program has not received the press of this key, so it must not receive the release.
                let chord = chord(&press);
                let literal = chord == self.prefix && std::mem::take(&mut self.literal);
                let ours = |chord| Some(chord) == self.prefix || self.keys.iter().any(|key| key.0 == [chord]);
                if !literal && chord.is_some_and(ours) {
                    self.held.clear();
                }
                None
            }
            _ => self.pressed(None).then_some(AttachCommand::Detach),
        };
        // The keys of a sequence pass on at once: holding them back would make every comma lag.
        match command {
            None => out.append(&mut self.held),
            Some(_) => self.held.clear(),
        }
        command
    }

    fn pressed_after_prefix(&mut self, press: &KeyPress) -> Option<AttachCommand> {
        self.armed = false;
        let chord = chord(press);
        if chord == self.prefix {
            // The bytes of this press are held, in the encoding that the program has chosen.
            self.literal = true;
            return None;
        }
        if press.key.code == KeyCode::Escape {
            self.held.clear();
            return None;
        }
        Some(match chord {
            Some(Chord { character: 's', ctrl: false }) => AttachCommand::List,
            Some(Chord { character: '?', .. }) => AttachCommand::Help,
            _ => AttachCommand::Detach,
        })
    }

    fn pressed(&mut self, chord: Option<Chord>) -> bool {
        let Some(chord) = chord else {
            self.recent.clear();
            return false;
        };
        if self.longest == 0 {
            return false;
        }
        if self.recent.len() == self.longest {
            self.recent.remove(0);
        }
        self.recent.push(chord);
        self.keys.iter().any(|key| !key.0.is_empty() && self.recent.ends_with(&key.0))
    }
}

/// Whether a press is that of a key without a name here, such as Shift, which kitty's protocol can report: it is on the way to
/// another key.
fn is_modifier(press: &KeyPress) -> bool {
    press.key.code == KeyCode::Other
}

/// Whether the beginning of a sequence may become a key that detaches.
fn may_become_key(pending: &[u8]) -> bool {
    matches!(pending, [0x1b] | [0x1b, b'['] | [0x1b, b'[', b'0'..=b'9', ..]) && pending.len() < KEY_BYTES
}

fn chord(press: &KeyPress) -> Option<Chord> {
    let modifiers = press.key.modifiers;
    let KeyCode::Char(character) = press.key.code else { return None };
    if modifiers & !(Key::SHIFT | Key::CTRL) != 0 {
        return None;
    }
    let ascii = |character: Option<char>| character.filter(|c| matches!(c, ' '..='~'));
    let character = if modifiers & Key::SHIFT != 0 {
        // Without the shifted code, the character that Shift produces is unknown.
        ascii(press.shifted)?
    } else {
        // On a keyboard for another script, the key is identified by its position on a US keyboard.
        ascii(Some(character)).or_else(|| ascii(press.base))?
    };
    let ctrl = modifiers & Key::CTRL != 0;
    Some(Chord { character: if ctrl { character.to_ascii_lowercase() } else { character }, ctrl })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(keys: &[&str], chunks: &[&[u8]]) -> (bool, Vec<u8>) {
        let keys = keys.iter().map(|key| DetachKey::parse(key).unwrap()).collect();
        let mut matcher = Matcher::new(keys);
        let mut out = Vec::new();
        for chunk in chunks {
            if matcher.feed(chunk, &mut out).is_some() {
                return (true, out);
            }
        }
        matcher.give_up(&mut out);
        (false, out)
    }

    /// Checks the outcome for every cut of the input.
    fn check(keys: &[&str], input: &[u8], detaches: bool, passes: &[u8]) {
        for cut in 0..=input.len() {
            let result = run(keys, &[&input[..cut], &input[cut..]]);
            assert_eq!(result, (detaches, passes.to_vec()), "{input:?} cut at {cut}");
        }
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(run(keys, &bytes), (detaches, passes.to_vec()), "{input:?} byte by byte");
    }

    #[test]
    fn every_encoding_of_the_key_is_recognised() {
        for form in [
            &b"\x1d"[..],
            b"\x1b[93;5u",
            b"\x1b[93;5:1u",
            b"\x1b[93;5:2u",
            b"\x1b[93;69u",
            b"\x1b[93;133u",
            b"\x1b[93;197:1u",
            b"\x1b[93::93;5u",
            b"\x1b[93:125;5u",
            b"\x1b[1098::93;5u",
            b"\x1b[57:93;6u",
            b"\x1b[93;5;93u",
            b"\x1b[27;5;93~",
        ] {
            let mut input = b"ab".to_vec();
            input.extend_from_slice(form);
            input.extend_from_slice(b"dropped");
            check(&["C-]"], &input, true, b"ab");
        }
    }

    #[test]
    fn the_key_works_after_alt_and_the_start_of_a_string() {
        for alt in [b"\x1b]", b"\x1bP", b"\x1b_"] {
            let mut matcher = Matcher::new(vec![DetachKey::parse("C-]").unwrap()]);
            let mut out = Vec::new();
            assert_eq!(matcher.feed(alt, &mut out), None);
            assert_eq!((out.as_slice(), matcher.timeout()), (&alt[..], Some(limits::LONE_ESCAPE)));
            matcher.give_up(&mut out);
            assert!(matcher.feed(b"\x1d", &mut out).is_some(), "{alt:?}");
        }
    }

    #[test]
    fn other_keys_pass_untouched() {
        for input in [
            &b"\x1b"[..],
            b"\x1b\x1b",
            b"\x1b[A",
            b"\x1b[",
            b"\x1bOP",
            b"\x1b[93u",
            b"\x1b[93;1u",
            b"\x1b[93;7u",
            b"\x1b[93;13u",
            b"\x1b[94;5u",
            b"\x1b[27;5;94~",
            b"\x1b[27;6;93~",
            b"\x1b[15;5~",
            b"\x1b[<0;10;5M",
            b"\x1b[200~pasted\x1b[201~",
            b"\x1b[57442;5u",
            b"\x1b[57442;1:3u",
            "größe\r\n".as_bytes(),
        ] {
            check(&["C-]"], input, false, input);
        }
    }

    #[test]
    fn the_release_of_the_key_is_swallowed() {
        check(&["C-]"], b"a\x1b[93;5:3ub", false, b"ab");
        check(&["C-]"], b"\x1b[97;5:3u", false, b"\x1b[97;5:3u");
    }

    // KP-52
    #[test]
    fn a_sequence_of_plain_keys_passes_until_it_is_complete() {
        check(&[",,,d"], b"a,,,d", true, b"a,,,");
        check(&[",,,d"], b",,,,d", true, b",,,,");
        check(&[",,,d"], b",,x,d", false, b",,x,d");
        check(&[",,,d"], b",,\x1b[A,d", false, b",,\x1b[A,d");
        check(
            &[",,,d"],
            b"\x1b[44u\x1b[44;1:3u\x1b[44u\x1b[44u\x1b[100u",
            true,
            b"\x1b[44u\x1b[44;1:3u\x1b[44u\x1b[44u",
        );
    }

    #[test]
    fn a_watcher_has_several_keys() {
        let mut matcher = Matcher::new(vec![DetachKey::plain('q'), DetachKey::ctrl('c')]);
        let mut out = Vec::new();
        assert!(matcher.feed(b"x", &mut out).is_none());
        assert!(matcher.clone().feed(b"q", &mut out).is_some());
        assert!(matcher.clone().feed(b"\x03", &mut out).is_some());
        assert!(matcher.feed(b"\x1b[113u", &mut out).is_some());
    }

    /// What keys mean after Ctrl+] as a prefix, whole and byte by byte: the command, what the program receives, and what is
    /// left for the list.
    fn prefixed(input: &[u8]) -> (Option<AttachCommand>, Vec<u8>, Vec<u8>, bool) {
        let mut matcher = Matcher::with_prefix(vec![DetachKey::ctrl(']'), DetachKey::plain('q')]);
        let mut out = Vec::new();
        let command = matcher.feed(input, &mut out);
        let result = (command, out, matcher.take_rest(), matcher.is_armed());
        let mut again = Matcher::with_prefix(vec![DetachKey::ctrl(']'), DetachKey::plain('q')]);
        let mut out = Vec::new();
        let command = input.iter().find_map(|byte| again.feed(&[*byte], &mut out));
        assert_eq!((command, &out), (result.0, &result.1), "{input:?} byte by byte");
        result
    }

    #[test]
    fn the_key_after_the_prefix_decides() {
        use AttachCommand::{Detach, Help, List};
        let nothing = Vec::new;
        assert_eq!(prefixed(b"ab\x1d"), (None, b"ab".to_vec(), nothing(), true), "a pause decides");
        assert_eq!(prefixed(b"a\x1dd"), (Some(Detach), b"a".to_vec(), nothing(), false));
        assert_eq!(prefixed(b"a\x1dsj\r"), (Some(List), b"a".to_vec(), b"j\r".to_vec(), false));
        assert_eq!(prefixed(b"\x1d?"), (Some(Help), nothing(), nothing(), false));
        assert_eq!(prefixed(b"a\x1d\x1db"), (None, b"a\x1db".to_vec(), nothing(), false));
        assert_eq!(prefixed(b"\x1dx").0, Some(Detach), "another key");
        assert_eq!(prefixed(b"\x1d\x1b[A").0, Some(Detach), "a cursor key");
        assert_eq!(prefixed(b"q").0, Some(Detach), "other keys stay as they are");
        assert_eq!(prefixed(b"\x1d\x1d\x1d\x1d"), (None, b"\x1d\x1d".to_vec(), nothing(), false));
    }

    #[test]
    fn the_prefix_works_in_every_encoding() {
        use AttachCommand::{Help, List};
        // Press, release, press, release: the program receives the second pair.
        let twice = b"\x1b[93;5u\x1b[93;5:3u\x1b[93;5:1u\x1b[93;5:3u";
        assert_eq!(prefixed(twice).1, b"\x1b[93;5:1u\x1b[93;5:3u");
        assert_eq!(prefixed(b"\x1b[27;5;93~\x1b[27;5;93~").1, b"\x1b[27;5;93~");
        // Shift alone is on the way to the question mark.
        assert_eq!(prefixed(b"\x1b[93;5u\x1b[57441;2u\x1b[47:63;2u").0, Some(Help));
        assert_eq!(prefixed(b"\x1b[93;5u\x1b[93;5:3u\x1b[115u").0, Some(List));
        // A report of the terminal is no key.
        assert_eq!(prefixed(b"\x1d\x1b[<35;1;1Ms").0, Some(List));
        assert_eq!(prefixed(b"\x1d\x1b[<35;1;1Ms").1, b"\x1b[<35;1;1M");
    }

    #[test]
    fn escape_takes_the_prefix_back() {
        let mut matcher = Matcher::with_prefix(vec![DetachKey::ctrl(']')]);
        let mut out = Vec::new();
        assert_eq!(matcher.feed(b"\x1d\x1b", &mut out), None);
        assert!(matcher.is_armed());
        matcher.give_up(&mut out);
        assert!(!matcher.is_armed() && out.is_empty());
        assert_eq!(matcher.feed(b"d", &mut out), None);
        assert_eq!(out, b"d");
        assert_eq!(prefixed(b"\x1d\x1b[27ud"), (None, b"d".to_vec(), Vec::new(), false));
    }

    #[test]
    fn a_sequence_is_no_prefix() {
        let mut matcher = Matcher::with_prefix(vec![DetachKey::parse(",,,d").unwrap()]);
        let mut out = Vec::new();
        assert_eq!(matcher.feed(b"\x1ds,,,d", &mut out), Some(AttachCommand::Detach));
        assert_eq!(out, b"\x1ds,,,");
        let mut matcher = Matcher::with_prefix(vec![DetachKey::parse("none").unwrap()]);
        assert_eq!(matcher.feed(b"\x1dd", &mut out), None);
    }

    #[test]
    fn a_lone_escape_is_not_held_for_long() {
        let mut matcher = Matcher::new(vec![DetachKey::ctrl(']')]);
        let mut out = Vec::new();
        assert_eq!(matcher.timeout(), None);
        assert!(matcher.feed(b"\x1b", &mut out).is_none());
        assert_eq!(matcher.timeout(), Some(limits::LONE_ESCAPE));
        matcher.give_up(&mut out);
        assert_eq!((matcher.timeout(), out.as_slice()), (None, &b"\x1b"[..]));
        assert!(matcher.feed(b"\x1b[9", &mut out).is_none());
        assert_eq!(matcher.timeout(), Some(limits::SEQUENCE));
    }

    #[test]
    fn endless_digits_are_released() {
        let input = [b"\x1b[".as_slice(), &[b'9'; 100]].concat();
        check(&["C-]"], &input, false, &input);
    }

    #[test]
    fn keys_have_names() {
        assert_eq!(DetachKey::parse("C-]"), Ok(DetachKey::ctrl(']')));
        assert_eq!(DetachKey::parse("^A"), Ok(DetachKey::ctrl('a')));
        for name in ["ctrl+]", "Ctrl-]", "CTRL+]", "control-]"] {
            assert_eq!(DetachKey::parse(name), Ok(DetachKey::ctrl(']')), "{name:?}");
        }
        assert_eq!(DetachKey::parse(",,,d").unwrap().0.len(), 4);
        assert!(DetachKey::parse("none").unwrap().0.is_empty());
        for bad in ["", "a", "C-", "C-[", "C-m", "C-aa", "Ctrl-Alt-x", "ä,", "a b", "12345678901234567"] {
            assert!(DetachKey::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn without_a_key_everything_passes() {
        check(&["none"], b"\x1d\x1b[93;5u", false, b"\x1d\x1b[93;5u");
    }
}
