//! Classifies sequences by what they do besides drawing: queries, which terminals reply to, and those with an effect only at
//! their moment, such as notifications.
//!
//! The model asks it which sequences change nothing, [`crate::QueryFilter`] which must not be in history. It has what
//! xterm documents ("XTerm Control Sequences") and what kitty and iTerm have added.

use crate::csi::Csi;
use crate::grammar::Sequence;
use crate::osc::{parse_number, split};

/// What happens when a terminal reads a sequence a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It draws or sets something: the terminal is in the same state again.
    Lasting,
    /// It notifies the user or writes to the clipboard, which belongs to the moment it was written.
    Momentary,
    /// Some terminal answers it, as if the user had typed the answer.
    Query,
}

pub(crate) fn effect(sequence: &Sequence<'_>) -> Effect {
    let asks = match sequence {
        Sequence::Osc(content, _) => return osc_effect(content),
        Sequence::Apc(content) => is_answered_image(content),
        Sequence::Csi(csi) => is_csi_query(csi),
        // DECRQSS, XTGETTCAP, XTGETXRES.
        Sequence::Dcs(content) => [b"$q", b"+q", b"+Q"].iter().any(|start| content.starts_with(*start)),
        Sequence::Escape(intermediates, action) => intermediates.is_empty() && *action == b'Z',
        Sequence::Other => false,
    };
    if asks { Effect::Query } else { Effect::Lasting }
}

/// Whether nothing is left of this without the queries in it.
pub(crate) fn only_asks(sequence: &Sequence<'_>) -> bool {
    let sets = |content| without_queries(content).is_some();
    effect(sequence) == Effect::Query && !matches!(sequence, Sequence::Osc(content, _) if sets(content))
}

/// Whether a control sequence asks the terminal.
pub(crate) fn is_csi_query(csi: &Csi) -> bool {
    match (csi.private, csi.intermediate, csi.action) {
        // DA1, DA2, DA3; DSR; XTVERSION.
        (0 | b'>' | b'=', 0, b'c') | (0 | b'?', 0, b'n') | (b'>', 0, b'q') => true,
        // DECRQM; keyboard flags; XTQMODKEYS; DECREQTPARM; XTSMGRAPHICS.
        (0 | b'?', b'$', b'p') | (b'?', 0, b'u' | b'm' | b'S') | (0, 0, b'x') => true,
        // DECRQCRA, DECRQDE, DECRQPSR, DECRQTSR, DECRQUPSS, DECRQLP.
        (0, b'*', b'y') | (0, b'"', b'v') | (0, b'$', b'w' | b'u') | (0, b'&', b'u') => true,
        (0, b'\'', b'|') => true,
        // XTREPORTSGR, XTREPORTCOLORS, XTQFMTKEYS.
        (0, b'#', b'|' | b'R') | (b'?', 0, b'g') => true,
        // Reports of the window: state, place, sizes, titles.
        (0, 0, b't') => matches!(csi.param(0), 11 | 13..=16 | 18..=21),
        _ => false,
    }
}

fn osc_effect(content: &[u8]) -> Effect {
    let (number, rest) = split(content);
    let Some(number) = parse_number(number) else { return Effect::Lasting };
    let rest = rest.unwrap_or_default();
    let parts = || rest.split(|byte| *byte == b';');
    match number {
        // Titles, directories, links, marks and sized text may contain question marks; resets ask nothing.
        0..=2 | 7 | 8 | 66 | 104..=119 | 133 | 633 => Effect::Lasting,
        // Progress is a state; other messages of this number are notifications.
        9 if parts().next() == Some(b"4") => Effect::Lasting,
        9 | 777 => Effect::Momentary,
        // Notifications: what the terminal can do, and which are alive.
        99 => match parts().next().is_some_and(asks_about_notifications) {
            true => Effect::Query,
            false => Effect::Momentary,
        },
        // kitty's colours; features that xterm allows.
        21 if parts().any(|part| part.ends_with(b"=?")) => Effect::Query,
        60..=62 => Effect::Query,
        1337 => iterm_effect(rest),
        // Colours, fonts, pointer shapes, clipboard, program status: all are asked for in the same way.
        _ if parts().any(|part| part == b"?") => Effect::Query,
        52 => Effect::Momentary,
        _ => Effect::Lasting,
    }
}

fn asks_about_notifications(meta: &[u8]) -> bool {
    meta.split(|byte| *byte == b':').any(|pair| pair == b"p=?" || pair == b"p=alive")
}

fn iterm_effect(command: &[u8]) -> Effect {
    let is_one_of = |names: &[&[u8]]| names.iter().any(|name| command.starts_with(name));
    if is_one_of(&[b"Capabilities", b"Report", b"RequestUpload"]) {
        Effect::Query
    } else if is_one_of(&[b"Copy", b"RequestAttention", b"StealFocus"]) {
        Effect::Momentary
    } else {
        Effect::Lasting
    }
}

/// What a command with queries in it sets besides; nothing when it only asks.
pub(crate) fn without_queries(content: &[u8]) -> Option<Vec<u8>> {
    let (number, rest) = split(content);
    match (parse_number(number)?, rest?) {
        (number @ (4 | 5), rest) => colors_without_queries(number, rest),
        _ => None,
    }
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

/// kitty replies to every image that has a number, unless the sequence forbids that.
fn is_answered_image(content: &[u8]) -> bool {
    let Some(rest) = content.strip_prefix(b"G") else {
        return false;
    };
    let keys = || split(rest).0.split(|byte| *byte == b',');
    let numbered = keys().any(|key| key.starts_with(b"i=") || key.starts_with(b"I=") || key == b"a=q");
    numbered && !keys().any(|key| key == b"q=2")
}
