//! Takes out of old output what must not happen a second time.
//!
//! Old output is shown again to bring a screen back. Questions in it have been answered once; a second
//! answer would be typed into the program as if the user had. Bells, notifications and clipboard writes
//! belong to their moment as well. Everything that draws stays as it is.

use super::escape::{Control, Item, Kind, Tokenizer, number};

/// Filters the old part of one output stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    tokenizer: Tokenizer,
}

impl History {
    /// Appends what of `bytes` may be shown again; an unfinished sequence is kept back.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.tokenizer.feed(bytes, |item| match item {
            Item::Text(text) => out.extend(text.iter().filter(|byte| !matches!(byte, 0x05 | 0x07))),
            Item::Sequence(kind, raw) if acts(kind, raw) => {}
            Item::Sequence(_, raw) | Item::Opaque(raw) => out.extend_from_slice(raw),
        });
    }

    /// Ends the old part: appends the sequence that goes on in the new part.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.tokenizer.take_held());
    }
}

/// Tells whether a sequence does something other than to draw or to set a mode.
fn acts(kind: Kind, raw: &[u8]) -> bool {
    match kind {
        Kind::Control => Control::parse(raw).is_some_and(is_report),
        Kind::Escape => raw == b"\x1bZ",
        Kind::System => system_acts(raw.get(2..).unwrap_or_default()),
        // DECRQSS and XTGETTCAP.
        Kind::Device => raw.starts_with(b"\x1bP$q") || raw.starts_with(b"\x1bP+q"),
        // A kitty graphics query.
        Kind::Application => raw.starts_with(b"\x1b_G") && raw.windows(3).any(|part| part == b"a=q"),
    }
}

fn is_report(control: Control<'_>) -> bool {
    match (control.prefix, control.intermediates, control.last) {
        // Device attributes, status and mode reports, terminal parameters, checksums, attributes.
        (_, b"", b'c' | b'n') => !(control.prefix == b'>' && control.last == b'n'),
        (0 | b'?', b"$", b'p') => true,
        (0, b"", b'x') | (0, b"*", b'y') | (0, b"#", b'|') => true,
        // Keyboard flags, key resources, version, graphics limits.
        (b'?', b"", b'u' | b'm' | b'S') | (b'>', b"", b'q') => true,
        // Window reports; the other window operations push, pop or move.
        (0, b"", b't') => matches!(control.first_or(0), 11 | 13..=16 | 18..=21),
        _ => false,
    }
}

fn system_acts(body: &[u8]) -> bool {
    let body = body.strip_suffix(b"\x07").or_else(|| body.strip_suffix(b"\x1b\\")).unwrap_or(body);
    let mut fields = body.split(|byte| *byte == b';');
    match fields.next().and_then(number) {
        // Texts may contain question marks.
        Some(0..=2 | 7 | 8 | 133 | 633) => false,
        // Progress is a state, other messages of this number are notifications.
        Some(9) => fields.next() != Some(b"4"),
        Some(52 | 99 | 777) => true,
        Some(1337) => body.starts_with(b"1337;Report") || body.starts_with(b"1337;RequestAttention"),
        _ => fields.any(|field| field == b"?" || field.ends_with(b"=?")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(output: &[u8]) -> String {
        let run = |chunks: [&[u8]; 2]| {
            let mut history = History::default();
            let mut out = Vec::new();
            for chunk in chunks {
                history.feed(chunk, &mut out);
            }
            history.finish(&mut out);
            String::from_utf8(out).unwrap()
        };
        let whole = run([output, b""]);
        for cut in 0..=output.len() {
            assert_eq!(run([&output[..cut], &output[cut..]]), whole, "cut at {cut}");
        }
        whole
    }

    #[test]
    fn questions_go() {
        for question in [
            "\x1b[c",
            "\x1b[0c",
            "\x1b[>c",
            "\x1b[=c",
            "\x1b[5n",
            "\x1b[6n",
            "\x1b[?6n",
            "\x1b[?996n",
            "\x1b[?2026$p",
            "\x1b[?u",
            "\x1b[>0q",
            "\x1b[14t",
            "\x1b[18t",
            "\x1b[?4m",
            "\x1b]11;?\x07",
            "\x1b]4;1;?\x1b\\",
            "\x1b]52;c;?\x07",
            "\x1bP+q544e\x1b\\",
            "\x1bP$qm\x1b\\",
            "\x1b_Gi=1,a=q;AAAA\x1b\\",
            "\x1bZ",
            "\x05",
            "\x07",
            "\x1b]9;done\x07",
            "\x1b]777;notify;a;b\x07",
            "\x1b]21;foreground=?\x07",
        ] {
            assert_eq!(filtered(format!("a{question}b").as_bytes()), "ab", "{question:?}");
        }
    }

    #[test]
    fn drawing_stays() {
        for drawing in [
            "\x1b[1;31mred\x1b[m",
            "\x1b[2J\x1b[H",
            "\x1b[>4;2m",
            "\x1b[>1u",
            "\x1b[?25h",
            "\x1b[22;0t",
            "\x1b]0;what?\x07",
            "\x1b]8;;http://x/?\x1b\\",
            "\x1b]9;4;1;50\x07",
            "\x1b]11;#000\x07",
            "\x1bPq#0\x1b\\",
            "\x1b[4 q",
            "\x1b[!p",
        ] {
            assert_eq!(filtered(drawing.as_bytes()), drawing, "{drawing:?}");
        }
    }

    #[test]
    fn a_sequence_that_goes_on_in_the_live_part_is_kept() {
        assert_eq!(filtered(b"text\x1b[6"), "text\x1b[6");
    }
}
