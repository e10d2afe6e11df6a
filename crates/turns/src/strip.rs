//! Text without escape sequences (CT-6).
//!
//! Works on a whole line that was gathered before, so that a sequence split across reads is whole here.

const ESC: u8 = 0x1b;

/// The bytes of `line` that are text: without control sequences (CSI), strings (OSC, DCS, APC, PM, SOS)
/// ended by BEL or ST, charset selections, two-byte escapes and controls. A carriage return starts the
/// line anew, as on a screen; a backspace takes one character back.
pub fn strip(line: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(line.len());
    let mut rest = line;
    let mut returned = false;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == ESC {
            rest = &rest[sequence_len(rest)..];
            continue;
        }
        rest = after;
        match byte {
            b'\r' => returned = true,
            0x08 => take_back(&mut text),
            b'\t' | 0x20..=0x7e | 0x80.. => {
                // What follows a return overwrites the line; a return at the end leaves it.
                if std::mem::take(&mut returned) {
                    text.clear();
                }
                text.push(byte);
            }
            _ => {}
        }
    }
    text
}

/// The same as text; bytes that are not UTF-8 become replacement characters.
pub fn strip_text(line: &[u8]) -> String {
    String::from_utf8_lossy(&strip(line)).into_owned()
}

fn take_back(text: &mut Vec<u8>) {
    while text.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}

/// Bytes of the sequence at the start of `bytes`, which begins with ESC; all of them if it does not end.
fn sequence_len(bytes: &[u8]) -> usize {
    let end = match bytes.get(1) {
        None => None,
        Some(b'[') => bytes.iter().skip(2).position(|byte| matches!(byte, 0x40..=0x7e)).map(|n| n + 3),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => string_len(bytes),
        // Intermediates, then a final byte: charset selection and its kin.
        Some(0x20..=0x2f) => {
            bytes.iter().skip(2).position(|byte| !matches!(byte, 0x20..=0x2f)).map(|n| n + 3)
        }
        Some(_) => Some(2),
    };
    end.unwrap_or(bytes.len())
}

fn string_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 2;
    loop {
        match *bytes.get(at)? {
            0x07 => return Some(at + 1),
            ESC => return Some(if bytes.get(at + 1) == Some(&b'\\') { at + 2 } else { at }),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(line: &str) -> String {
        strip_text(line.as_bytes())
    }

    // CT-6
    #[test]
    fn sequences_of_every_kind_go() {
        assert_eq!(stripped("\x1b[1;32muser\x1b[0m$ "), "user$ ");
        assert_eq!(stripped("\x1b]0;title\x07$ "), "$ ");
        assert_eq!(stripped("\x1b]0;title\x1b\\$ "), "$ ");
        assert_eq!(stripped("\x1b(B\x1b)0$ "), "$ ");
        assert_eq!(stripped("\x1b=\x1b>\x1b7$ \x1b8"), "$ ");
        assert_eq!(stripped("\x1bP+q4d73\x1b\\$ "), "$ ");
        assert_eq!(stripped("\x1b[?2004h$ "), "$ ");
    }

    #[test]
    fn unfinished_sequences_are_not_text() {
        assert_eq!(stripped("$ \x1b"), "$ ");
        assert_eq!(stripped("$ \x1b[12;"), "$ ");
        assert_eq!(stripped("$ \x1b]0;tit"), "$ ");
    }

    #[test]
    fn returns_and_backspaces_count() {
        assert_eq!(stripped("%      \r \r\x1b[Juser % "), "user % ");
        assert_eq!(stripped("50%\r100%\r"), "100%");
        assert_eq!(stripped("ab\x08c"), "ac");
        assert_eq!(stripped("é\x08e"), "e");
    }
}
