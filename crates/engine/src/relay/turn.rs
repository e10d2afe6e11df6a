//! A turn as the relay keeps it: what it is called, what is known of it, and its bytes.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use swb_types::Offset;

/// Name of a turn: `<session>:<number>` (CR-4).
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

/// A text that names no turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a turn is named <session>:<number>")]
pub struct BadTurnId;

impl FromStr for TurnId {
    type Err = BadTurnId;

    fn from_str(text: &str) -> Result<Self, BadTurnId> {
        // CR-5: names of sessions may contain colons.
        let (session, number) = text.rsplit_once(':').ok_or(BadTurnId)?;
        let seq: u64 = number.parse().map_err(|_| BadTurnId)?;
        // One turn has one name: neither `+1` nor `01` is it.
        if seq == 0 || seq.to_string() != number {
            return Err(BadTurnId);
        }
        Ok(Self::new(session, seq))
    }
}

/// A turn that somebody has seen end.
#[derive(Debug, Clone, Default)]
pub struct NewTurn<'a> {
    /// Its bytes. What is longer than the limit per turn is cut.
    pub content: Cow<'a, [u8]>,
    /// How long it was, if `content` has been cut already; less than its length means that it has not.
    pub byte_length: u64,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// When it ended, in Unix milliseconds; 0 means now (CB-42).
    pub timestamp: u64,
    /// What a detector knows beyond that.
    pub details: TurnDetails,
}

/// What is known of a turn beside its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnInfo {
    /// Its name.
    pub id: TurnId,
    /// When it ended, in Unix milliseconds.
    pub timestamp: u64,
    /// Its length before any cut (CR-9).
    pub byte_length: u64,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Whether bytes were cut off (CR-8).
    pub truncated: bool,
}

/// What whoever watched the terminal can tell about a turn; nothing of it is known of turns that were reported
/// from elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnDetails {
    /// The answer as plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
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
    /// Offsets at which the program asked something in between.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dialogs: Vec<Offset>,
    /// The profile by which the program was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The kind of signal that told its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// What was seen, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// A turn with everything that is kept of it.
#[derive(Debug, Clone)]
pub struct StoredTurn {
    /// What is known of it.
    pub info: TurnInfo,
    /// Its bytes, as far as they are kept.
    pub content: Arc<Vec<u8>>,
    /// What its detector told.
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
