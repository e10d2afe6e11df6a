//! What a terminal answers: sequences that must not be in history, because they would be answered again.

use crate::csi::Csi;
use crate::grammar::Sequence;
use crate::osc::{parse_number, split};

/// Whether some terminal would answer this.
pub(crate) fn is_query(sequence: &Sequence<'_>) -> bool {
    match *sequence {
        Sequence::Apc(content) => is_answered_image(content),
        Sequence::Csi(csi) => is_csi_query(&csi),
        // DECRQSS, XTGETTCAP.
        Sequence::Dcs(content) => content.starts_with(b"$q") || content.starts_with(b"+q"),
        Sequence::Escape(intermediates, action) => intermediates.is_empty() && action == b'Z',
        Sequence::Osc(content, _) => osc_without_queries(content).as_deref() != Some(content),
        Sequence::Other => false,
    }
}

/// Whether nothing is left of this without the questions in it.
pub(crate) fn only_asks(sequence: &Sequence<'_>) -> bool {
    match *sequence {
        Sequence::Osc(content, _) => osc_without_queries(content).is_none(),
        _ => is_query(sequence),
    }
}

fn is_csi_query(csi: &Csi) -> bool {
    match (csi.private, csi.intermediate, csi.action) {
        // DA1, DA2, DA3; DSR; XTVERSION.
        (0 | b'>' | b'=', 0, b'c') | (0 | b'?', 0, b'n') | (b'>', 0, b'q') => true,
        // DECRQM; keyboard flags; XTQMODKEYS; DECREQTPARM; XTSMGRAPHICS.
        (0 | b'?', b'$', b'p') | (b'?', 0, b'u' | b'm' | b'S') | (0, 0, b'x') => true,
        // DECRQCRA, DECRQDE, DECRQPSR, DECRQTSR, DECRQUPSS, DECRQLP.
        (0, b'*', b'y') | (0, b'"', b'v') | (0, b'$', b'w' | b'u') | (0, b'&', b'u') => true,
        (0, b'\'', b'|') => true,
        // Reports of the window: state, place, sizes, titles.
        (0, 0, b't') => matches!(csi.param(0), 11 | 13..=16 | 18..=21),
        _ => false,
    }
}

/// The command without the questions in it; nothing when nothing else is left.
pub(crate) fn osc_without_queries(content: &[u8]) -> Option<Vec<u8>> {
    let (number, rest) = split(content);
    let (Some(number), Some(rest)) = (parse_number(number), rest) else {
        return Some(content.to_vec());
    };
    let parts = || rest.split(|byte| *byte == b';');
    let asks = match number {
        4 | 5 => return colors_without_queries(number, rest),
        10..=19 => parts().any(|part| part == b"?"),
        // Pointer shapes, clipboard, program status.
        22 | 52 | 7501 => parts().any(|part| part == b"?"),
        // kitty's colours.
        21 => parts().any(|part| part.ends_with(b"=?")),
        // Notifications: what the terminal can do, and which are alive.
        99 => parts().next().is_some_and(|meta| {
            let mut pairs = meta.split(|byte| *byte == b':');
            pairs.any(|pair| pair == b"p=?" || pair == b"p=alive")
        }),
        // kitty's and iTerm's questions about themselves.
        60..=62 => true,
        1337 => {
            let asks: [&[u8]; 4] = [b"Capabilities", b"ReportCellSize", b"ReportVariable", b"RequestUpload"];
            asks.iter().any(|name| rest.starts_with(name))
        }
        _ => false,
    };
    (!asks).then(|| content.to_vec())
}

/// Of several colours in one command, those that are set stay.
fn colors_without_queries(number: u16, rest: &[u8]) -> Option<Vec<u8>> {
    let parts: Vec<&[u8]> = rest.split(|byte| *byte == b';').collect();
    let mut kept = number.to_string().into_bytes();
    let start = kept.len();
    for pair in parts.chunks(2) {
        if pair.get(1) != Some(&&b"?"[..]) {
            for part in pair {
                kept.push(b';');
                kept.extend_from_slice(part);
            }
        }
    }
    (kept.len() > start).then_some(kept)
}

/// kitty answers every image that has a number, unless told to be quiet.
fn is_answered_image(content: &[u8]) -> bool {
    let Some(rest) = content.strip_prefix(b"G") else {
        return false;
    };
    let keys = || split(rest).0.split(|byte| *byte == b',');
    let numbered = keys().any(|key| key.starts_with(b"i=") || key.starts_with(b"I=") || key == b"a=q");
    numbered && !keys().any(|key| key == b"q=2")
}
