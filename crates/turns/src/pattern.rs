//! The pattern a prompt line matches (CT-1 to CT-5).

use crate::limits;
use regex::{Regex, RegexBuilder};

/// What the preset `generic` matches: the last character that is not blank is one of these.
const GENERIC: &str = r"[>$#%]\s*$";
/// What the preset `aider` matches: `>`, `ask>` and its other modes, alone on the line.
const AIDER: &str = r"^(?:[a-z][a-z-]* ?)*>\s*$";
/// What the preset `claude` matches: its prompt mark at the start of a line and nothing after it.
const CLAUDE: &str = r"^\s*(?:│ )?[>❯]\s*(?:│)?$";

/// Why a pattern is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The expression does not compile.
    #[error("invalid prompt pattern {pattern:?}: {reason}")]
    Invalid {
        /// The pattern.
        pattern: String,
        /// The error of the regex engine.
        reason: String,
    },
    /// A prompt is a line, so its pattern has no newline.
    #[error("prompt pattern {pattern:?} contains a newline; patterns are matched line by line")]
    Newline {
        /// The pattern.
        pattern: String,
    },
}

/// A prompt pattern, as given by a user; it never changes (CT-5).
#[derive(Debug, Clone)]
pub struct Pattern {
    given: String,
    regex: Regex,
}

impl Pattern {
    /// Parses the name of a preset (`claude`, `aider`, `generic`) or a regular expression.
    ///
    /// # Errors
    /// When it is neither: see [`PatternError`].
    pub fn new(given: &str) -> Result<Self, PatternError> {
        if given.contains('\n') {
            return Err(PatternError::Newline { pattern: given.to_owned() });
        }
        let expression = match given {
            "aider" => AIDER,
            "claude" => CLAUDE,
            "generic" => GENERIC,
            other => other,
        };
        let regex = compile(expression)
            .map_err(|reason| PatternError::Invalid { pattern: given.to_owned(), reason })?;
        Ok(Self { given: given.to_owned(), regex })
    }

    /// The text of the pattern, for the wire.
    pub fn as_str(&self) -> &str {
        &self.given
    }

    /// Whether a line, without escape sequences, is a prompt.
    pub fn matches(&self, line: &str) -> bool {
        self.regex.is_match(line)
    }
}

impl Default for Pattern {
    fn default() -> Self {
        Self::new("generic").unwrap_or_else(|_| unreachable!("a preset compiles, as a test shows"))
    }
}

/// Compiles an expression with a limit on its memory.
pub(crate) fn compile(expression: &str) -> Result<Regex, String> {
    RegexBuilder::new(expression).size_limit(limits::REGEX_BYTES).build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-1
    #[test]
    fn invalid_expressions_are_rejected() {
        let error = Pattern::new("(").unwrap_err();
        assert!(matches!(&error, PatternError::Invalid { pattern, .. } if pattern == "("), "{error}");
        assert!(Pattern::new(r"^\w+@\w+:.*\$ $").unwrap().matches("me@host:~$ "));
    }

    // CT-2
    #[test]
    fn a_newline_in_a_pattern_is_rejected() {
        assert!(Pattern::new("a\nb").unwrap_err().to_string().contains("newline"));
    }

    // CT-3
    #[test]
    fn names_select_presets_and_other_text_is_an_expression() {
        assert!(Pattern::new("claude").unwrap().matches("❯ "));
        assert!(Pattern::new("aider").unwrap().matches("ask> "));
        assert!(!Pattern::new("aider").unwrap().matches("a > b"));
        assert!(Pattern::new("generic").unwrap().matches("$ "));
        assert!(Pattern::new("Claude").unwrap().matches("Claude here"));
        assert!(!Pattern::new("Claude").unwrap().matches("❯ "));
        assert_eq!(Pattern::default().as_str(), "generic");
    }

    // CT-4
    #[test]
    fn generic_is_the_last_character_that_is_not_blank() {
        let generic = Pattern::default();
        for line in ["$", "$ ", "host# \t", "zsh %  ", ">>> ", "a>"] {
            assert!(generic.matches(line), "{line:?}");
        }
        for line in ["", " ", "$ ls", "50% done", "a > b", "price: $5"] {
            assert!(!generic.matches(line), "{line:?}");
        }
    }

    // CT-5: nothing in the interface changes a pattern once it is made.
    #[test]
    fn a_pattern_keeps_its_text() {
        assert_eq!(Pattern::new(r"x\d+").unwrap().as_str(), r"x\d+");
    }

    // CT-7
    #[test]
    fn a_match_anywhere_in_the_line_counts() {
        assert!(Pattern::new("READY").unwrap().matches("-- READY --"));
    }
}
