//! Session names.

use crate::limits;
use serde::{Deserialize, Serialize};
use std::{borrow::Borrow, fmt, sync::Arc};

/// A session's name: its id in every dialect, and part of a file name in one of them.
///
/// Any text without `/` and control characters that is not `.` or `..`. Names we make up ourselves
/// keep to `[A-Za-z0-9._-]` ([`SessionName::from_path_component`]); foreign clients may use more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(Arc<str>);

/// Why a text cannot be a session name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is empty.
    #[error("a session name cannot be empty")]
    Empty,
    /// It would be a directory entry with another meaning.
    #[error("a session cannot be named '.' or '..'")]
    Reserved,
    /// It contains `/`, NUL or another control character.
    #[error("a session name cannot contain '/' or control characters")]
    Character,
    /// It is longer than a file name can be.
    #[error("a session name can have at most {} bytes", SessionName::MAX_LEN)]
    TooLong,
}

impl SessionName {
    /// Maximum length in bytes: it has to fit into a file name together with a prefix and a suffix.
    pub const MAX_LEN: usize = limits::SESSION_NAME;

    /// Checks a name from a client.
    pub fn new(name: &str) -> Result<Self, NameError> {
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name == "." || name == ".." {
            return Err(NameError::Reserved);
        }
        if name.len() > Self::MAX_LEN {
            return Err(NameError::TooLong);
        }
        if name.chars().any(|c| c == '/' || c.is_control()) {
            return Err(NameError::Character);
        }
        Ok(Self(name.into()))
    }

    /// Makes a name from the last component of a path, replacing characters that need quoting in a shell.
    pub fn from_path_component(component: &str) -> Self {
        let keep = |c: char| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }
        };
        let name: String = component.chars().map(keep).take(Self::MAX_LEN - 8).collect();
        let name = name.trim_start_matches('-');
        Self::new(name).unwrap_or_else(|_| Self("session".into()))
    }

    /// The name with a number appended, for when the plain one is taken.
    pub fn numbered(&self, n: u32) -> Self {
        let mut end = self.0.len().min(Self::MAX_LEN - 11);
        while !self.0.is_char_boundary(end) {
            end -= 1;
        }
        Self(format!("{}-{n}", &self.0[..end]).into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SessionName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionName {
    type Error = NameError;
    fn try_from(name: String) -> Result<Self, NameError> {
        Self::new(&name)
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        name.0.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CO-23, KP-13
    #[test]
    fn names_that_would_leave_their_directory_are_refused() {
        assert_eq!(SessionName::new(""), Err(NameError::Empty));
        assert_eq!(SessionName::new("."), Err(NameError::Reserved));
        assert_eq!(SessionName::new(".."), Err(NameError::Reserved));
        assert_eq!(SessionName::new("a/b"), Err(NameError::Character));
        assert_eq!(SessionName::new("../x"), Err(NameError::Character));
        assert_eq!(SessionName::new("a\0b"), Err(NameError::Character));
        assert_eq!(SessionName::new(&"x".repeat(201)), Err(NameError::TooLong));
        assert!(SessionName::new("größe 1:2").is_ok());
    }

    #[test]
    fn our_own_names_are_plain() {
        assert_eq!(SessionName::from_path_component("my repo").as_str(), "my-repo");
        assert_eq!(SessionName::from_path_component("..").as_str(), "session");
        assert_eq!(SessionName::from_path_component("").as_str(), "session");
        assert_eq!(SessionName::from_path_component("-x").as_str(), "x");
    }

    #[test]
    fn a_number_never_makes_a_name_too_long() {
        let long = SessionName::new(&"ä".repeat(100)).unwrap();
        assert!(SessionName::new(long.numbered(4_000_000_000).as_str()).is_ok());
    }
}
