//! The short way of most output: text, controls and plain control sequences, straight from the bytes to the terminal.
//!
//! What is rare (strings, sequences with intermediates, what a piece of output cuts in two, invalid characters) is left
//! to `grammar` and `parser`, which know all of it. Both ways lead to the same methods of [`Terminal`], and to the same
//! state: `tests/model/short_way.rs`.

use crate::csi::Csi;
use crate::grammar::{DEL, ESC};
use crate::parser::Sink;
use crate::terminal::Terminal;

impl Terminal {
    /// Takes bytes that begin between two sequences and characters, up to the first that are not simple; how many it took.
    pub(crate) fn take_run(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let rest = &bytes[at..];
            let taken = match byte {
                0x20..=0x7e => self.take_ascii(rest),
                0x80.. => self.take_characters(rest),
                ESC => self.take_sequence(rest),
                _ => {
                    self.control(byte);
                    1
                }
            };
            if taken == 0 {
                break;
            }
            at += taken;
        }
        at
    }

    #[inline]
    fn take_ascii(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.iter().position(|byte| !matches!(byte, 0x20..=0x7e)).unwrap_or(bytes.len());
        let text = &bytes[..len];
        if self.prints_plainly() {
            self.print_run(text, true);
        } else {
            text.iter().for_each(|byte| self.print_char(self.registers.charsets.map(char::from(*byte))));
        }
        len
    }

    /// Takes text, up to a control or the first character that is invalid or cut off.
    fn take_characters(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.iter().position(|byte| matches!(*byte, 0..0x20 | DEL)).unwrap_or(bytes.len());
        let text = match std::str::from_utf8(&bytes[..len]) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        };
        self.print(text);
        text.len()
    }

    #[inline]
    fn take_sequence(&mut self, bytes: &[u8]) -> usize {
        let [ESC, b'[', body @ ..] = bytes else { return 0 };
        let Some((csi, len)) = Csi::parse_plain(body) else { return 0 };
        self.control_sequence(&csi);
        len + 2
    }
}
