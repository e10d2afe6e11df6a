//! A turn as the relay keeps it: its id, its details and its bytes.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use swb_types::Offset;

/// Id of a turn: `<session>:<number>` (CR-4).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TurnId {
    session: Arc<str>,
    seq: u64,
}

impl TurnId {
    /// The turn with this number in a session.
    pub fn new(session: &str, seq: u64) -> Self {
        Self { session: session.into(), seq }
    }

    /// The session it belongs to.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Its number in the session, from 1.
    pub fn seq(&self) -> u64 {
        self.seq
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.session, self.seq)
    }
}

impl From<TurnId> for String {
    fn from(id: TurnId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for TurnId {
    type Error = BadTurnId;

    fn try_from(text: String) -> Result<Self, BadTurnId> {
        text.parse()
    }
}

/// A text that is not the id of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid turn id: expected <session>:<number>")]
pub struct BadTurnId;

impl FromStr for TurnId {
    type Err = BadTurnId;

    fn from_str(text: &str) -> Result<Self, BadTurnId> {
        // CR-5: names of sessions may contain colons.
        let (session, number) = text.rsplit_once(':').ok_or(BadTurnId)?;
        let seq: u64 = number.parse().map_err(|_| BadTurnId)?;
        // A turn has one id: `+1` and `01` are invalid.
        if seq == 0 || seq.to_string() != number {
            return Err(BadTurnId);
        }
        Ok(Self::new(session, seq))
    }
}

/// Where the text of a turn comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextSource {
    /// The screen, or the output.
    #[default]
    Screen,
    /// The session file that the agent writes.
    Transcript,
}

/// A completed turn to store.
#[derive(Debug, Clone, Default)]
pub struct NewTurn<'a> {
    /// Its bytes, which are cut at the limit per turn.
    pub content: Cow<'a, [u8]>,
    /// Its full length, if `content` was cut already; ignored if less than the length of `content`.
    pub byte_length: u64,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Whether lines of its text are missing: they were never shown, or are out of reach.
    pub incomplete: bool,
    /// When it ended, in Unix milliseconds; 0 means now (CB-42).
    pub timestamp: u64,
    /// What the detector found out.
    pub details: TurnDetails,
}

/// A turn in a list, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnInfo {
    /// Its id.
    pub id: TurnId,
    /// When it ended, in Unix milliseconds.
    pub timestamp: u64,
    /// Its length before any cut (CR-9).
    pub byte_length: u64,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Whether bytes were cut off (CR-8).
    pub truncated: bool,
    /// Whether lines of its text are missing.
    pub incomplete: bool,
    /// Where its text comes from.
    pub source: TextSource,
}

/// What the detector found out about a turn; empty for turns that wrappers report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnDetails {
    /// The answer as plain text, or as the Markdown that the agent has written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where `text` comes from; a turn that an older daemon stored has it from the screen.
    pub source: TextSource,
    /// Why it comes from the screen, if the agent writes session files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_reason: Option<String>,
    /// What the screen showed, if `text` is something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// Offset in the output at which the input was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submit: Option<Offset>,
    /// Offset at which the bytes of the turn begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Offset>,
    /// Offset at which the turn was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Offset>,
    /// When the input was submitted, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_at: Option<u64>,
    /// Offsets at which the program waited for an answer during the turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dialogs: Vec<Offset>,
    /// The detection profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The kind of signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The evidence, as text for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// A turn with its bytes.
#[derive(Debug, Clone)]
pub struct StoredTurn {
    /// Its id, time and length.
    pub info: TurnInfo,
    /// Its bytes, as far as they are kept.
    pub content: Arc<Vec<u8>>,
    /// What its detector found out.
    pub details: TurnDetails,
}

#[cfg(test)]
mod tests {
    use super::*;

    // CR-4, CR-5
    #[test]
    fn a_turn_is_named_by_its_session_and_number() {
        let id: TurnId = "a:b:12".parse().unwrap();
        assert_eq!((id.session(), id.seq()), ("a:b", 12));
        assert_eq!(id.to_string(), "a:b:12");
        assert_eq!(":1".parse::<TurnId>().unwrap().session(), "");
        for text in ["", "s", "s:", "s:0", "s:01", "s:+1", "s:-1", "s:1 ", "s:99999999999999999999", "s:x"] {
            assert_eq!(text.parse::<TurnId>(), Err(BadTurnId), "{text:?}");
        }
    }
}
