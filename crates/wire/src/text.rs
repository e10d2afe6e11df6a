//! Texts for people, cut so that they fit a frame.

/// Returns the longest beginning of `text` that has at most `max` bytes and ends with a whole character.
pub(crate) fn clip(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole() {
        assert_eq!(clip("größe", 3), "gr");
        assert_eq!(clip("größe", 4), "grö");
        assert_eq!(clip("größe", 99), "größe");
        assert_eq!(clip("ö", 1), "");
    }
}
