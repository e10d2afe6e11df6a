//! Text as bytes for a program: in a bracketed paste if the program supports it, and never such that it presses a key.

/// Start and end of a bracketed paste.
const PASTE: (&[u8], &[u8]) = (b"\x1b[200~", b"\x1b[201~");

/// Warning when several lines were typed into a program where each may have been submitted.
const LINES: &str =
    "the target does not support bracketed paste, so each line may have been submitted separately";

/// Input to type.
#[derive(Debug, Clone)]
pub enum TypedText {
    /// Text; it cannot press keys.
    Text(String),
    /// Bytes as they are.
    Raw(Vec<u8>),
}

impl TypedText {
    /// The bytes to type, and a warning for the user.
    pub fn encode(self, bracketed: bool) -> (Vec<u8>, Option<&'static str>) {
        match self {
            Self::Raw(bytes) => (bytes, None),
            Self::Text(text) => {
                let text = harmless(&text);
                if bracketed {
                    return ([PASTE.0, text.as_bytes(), PASTE.1].concat(), None);
                }
                let warning = text.contains('\n').then_some(LINES);
                (text.into_bytes(), warning)
            }
        }
    }
}

/// Text that presses no keys: of control characters only line breaks and tabs are left, and no line break at the end.
/// Without escapes it cannot end a paste, either.
fn harmless(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept: String = lines.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, bracketed: bool) -> (String, bool) {
        let (bytes, warning) = TypedText::Text(text.to_owned()).encode(bracketed);
        (String::from_utf8(bytes).unwrap(), warning.is_some())
    }

    #[test]
    fn text_presses_no_keys() {
        let hostile = "a\x03\x1b[201~\x1b[A\u{9b}201~b\r\nc\td\x7f\r\n";
        assert_eq!(typed(hostile, false), ("a[201~[A201~b\nc\td".to_owned(), true));
        assert_eq!(typed(hostile, true), ("\x1b[200~a[201~[A201~b\nc\td\x1b[201~".to_owned(), false));
        assert_eq!(typed("one line\n", false), ("one line".to_owned(), false));
        let (raw, _) = TypedText::Raw(b"\x1b[A\r".to_vec()).encode(true);
        assert_eq!(raw, b"\x1b[A\r");
    }
}
