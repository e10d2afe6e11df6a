//! How many columns a character takes.

use crate::emoji;
use unicode_width::UnicodeWidthChar;

/// Columns of a character: none for controls, 0 for what is combined with the one before, at most 2.
#[inline]
pub(crate) fn of(c: char) -> Option<usize> {
    if is_frame(c) { Some(1) } else { c.width() }
}

/// Whether a character takes one column and is never part of an emoji before it.
#[inline]
pub(crate) fn is_narrow(c: char) -> bool {
    matches!(c, ' '..='~') || is_frame(c) || (c.width() == Some(1) && !emoji::joins_plain(c))
}

/// The lines and blocks that interfaces are drawn with: there are many of them, and looking them up takes longer.
#[inline]
fn is_frame(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{259f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_wide_as_unicode_demands() {
        assert!(('\u{2500}'..='\u{259f}').all(|c| c.width() == Some(1)));
    }

    #[test]
    fn only_what_stays_apart_from_the_character_before_is_narrow() {
        for c in ['a', 'ü', '─', '█', '…'] {
            assert!(is_narrow(c), "{c}");
        }
        for c in ['字', '\u{301}', '\u{fe0f}', '🇩', '🏽', '\u{85}', '\u{200d}', '\n'] {
            assert!(!is_narrow(c), "{}", c.escape_unicode());
        }
    }
}
