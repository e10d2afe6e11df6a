//! Notifications on the user's terminal: which sequence it understands, and the bytes of it.
//!
//! Pure. The text consists of names and states; still, no character of it can end the sequence or begin another.

use crate::limits;
use swb_vt::printable;
use swb_wire::control::TerminalMeans;

/// How one terminal is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TerminalNotifier {
    means: TerminalMeans,
    /// Whether a tmux is in between, which passes on what is wrapped for it if its `allow-passthrough` is on.
    wrapped: bool,
}

impl TerminalNotifier {
    /// No notifications.
    pub(crate) const NONE: Self = Self { means: TerminalMeans::None, wrapped: false };

    /// As configured, or by what the terminal understands.
    pub(crate) fn new(configured: TerminalMeans, variable: impl Fn(&str) -> Option<String>) -> Self {
        let wrapped = variable("TMUX").is_some();
        let means = match configured {
            TerminalMeans::Auto => detect(variable),
            means => means,
        };
        Self { means, wrapped }
    }

    /// The bytes that notify a user, to be written between two sequences of the program.
    pub(crate) fn bytes(self, text: &str, own_session: bool) -> Vec<u8> {
        let plain = sequence(self.means, text, own_session);
        // tmux knows the bell itself.
        if !self.wrapped || !plain.starts_with(b"\x1b") {
            return plain;
        }
        let doubled = String::from_utf8_lossy(&plain).replace('\x1b', "\x1b\x1b");
        format!("\x1bPtmux;{doubled}\x1b\\").into_bytes()
    }
}

/// What the terminal understands, going by its environment: a sequence for notifications, or else the bell.
fn detect(variable: impl Fn(&str) -> Option<String>) -> TerminalMeans {
    let term = variable("TERM").unwrap_or_default();
    let program = variable("TERM_PROGRAM").unwrap_or_default();
    // A multiplexer swallows what it does not know, and passes on the bell.
    if variable("TMUX").is_some() || ["screen", "tmux"].iter().any(|name| term.starts_with(name)) {
        return TerminalMeans::Bell;
    }
    if variable("KITTY_WINDOW_ID").is_some() || term == "xterm-kitty" {
        return TerminalMeans::Osc99;
    }
    if term.starts_with("rxvt-unicode") || term.starts_with("foot") {
        return TerminalMeans::Osc777;
    }
    let knows_osc9 = ["iTerm.app", "WezTerm", "ghostty"].contains(&program.as_str());
    if knows_osc9 || ["wezterm", "xterm-ghostty", "ghostty"].contains(&term.as_str()) {
        return TerminalMeans::Osc9;
    }
    TerminalMeans::Bell
}

/// The sequence for a notification, as the terminal itself understands it.
fn sequence(means: TerminalMeans, text: &str, own_session: bool) -> Vec<u8> {
    let text = body(text);
    match means {
        TerminalMeans::None => Vec::new(),
        TerminalMeans::Auto | TerminalMeans::Bell => b"\x07".to_vec(),
        TerminalMeans::Osc9 => format!("\x1b]9;swb: {text}\x1b\\").into_bytes(),
        TerminalMeans::Osc99 => {
            // A user who looks at the session sees it without a notification.
            let when = if own_session { "unfocused" } else { "always" };
            format!("\x1b]99;a=focus:o={when};swb: {text}\x1b\\").into_bytes()
        }
        TerminalMeans::Osc777 => format!("\x1b]777;notify;swb;{text}\x1b\\").into_bytes(),
    }
}

/// Text without characters that act on a terminal or separate the fields of a sequence, of limited length.
fn body(text: &str) -> String {
    let text = printable(text);
    let text = text.chars().take(limits::NOTIFICATION_BODY);
    text.map(|char| if char == ';' || char == '\\' { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(variables: &[(&str, &str)]) -> TerminalMeans {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name);
        detect(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_sequence_is_one_that_the_terminal_knows() {
        assert_eq!(means(&[]), TerminalMeans::Bell);
        assert_eq!(means(&[("TERM", "xterm-256color")]), TerminalMeans::Bell);
        assert_eq!(means(&[("TERM", "xterm-kitty")]), TerminalMeans::Osc99);
        assert_eq!(means(&[("TERM", "foot")]), TerminalMeans::Osc777);
        let iterm = ("TERM_PROGRAM", "iTerm.app");
        assert_eq!(means(&[iterm, ("TERM", "xterm-256color")]), TerminalMeans::Osc9);
        assert_eq!(means(&[("TERM", "xterm-ghostty")]), TerminalMeans::Osc9);
        assert_eq!(means(&[iterm, ("TMUX", "/tmp/t")]), TerminalMeans::Bell);
        assert_eq!(means(&[iterm, ("TERM", "screen-256color")]), TerminalMeans::Bell);
    }

    #[test]
    fn sequences_are_those_of_their_terminals() {
        let text = "api finished after 40 s";
        let bytes = |means| String::from_utf8(sequence(means, text, false)).unwrap();
        assert_eq!(bytes(TerminalMeans::Bell), "\x07");
        assert_eq!(bytes(TerminalMeans::Osc9), "\x1b]9;swb: api finished after 40 s\x1b\\");
        assert_eq!(bytes(TerminalMeans::Osc777), "\x1b]777;notify;swb;api finished after 40 s\x1b\\");
        assert_eq!(
            bytes(TerminalMeans::Osc99),
            "\x1b]99;a=focus:o=always;swb: api finished after 40 s\x1b\\"
        );
        assert!(sequence(TerminalMeans::None, text, false).is_empty());
        let own = sequence(TerminalMeans::Osc99, text, true);
        assert!(String::from_utf8(own).unwrap().contains("o=unfocused"));
    }

    #[test]
    fn tmux_passes_a_sequence_on_if_it_is_wrapped() {
        let in_tmux = |configured| {
            TerminalNotifier::new(configured, |name| (name == "TMUX").then(|| "/tmp/t,1,0".to_owned()))
        };
        assert_eq!(in_tmux(TerminalMeans::Auto).bytes("a", false), b"\x07");
        assert_eq!(
            in_tmux(TerminalMeans::Osc9).bytes("a", false),
            b"\x1bPtmux;\x1b\x1b]9;swb: a\x1b\x1b\\\x1b\\"
        );
        let plain = TerminalNotifier::new(TerminalMeans::Osc9, |_| None);
        assert_eq!(plain.bytes("a", false), b"\x1b]9;swb: a\x1b\\");
        assert!(TerminalNotifier::NONE.bytes("a", false).is_empty());
    }

    #[test]
    fn no_text_ends_the_sequence_or_begins_another() {
        let evil = "a\x07b\x1b\\c\x1b]0;title\x07\u{9c}\u{9d}d;e\n\r\0\u{202e}".repeat(50);
        for means in [TerminalMeans::Osc9, TerminalMeans::Osc99, TerminalMeans::Osc777] {
            let bytes = sequence(means, &evil, false);
            let text = String::from_utf8(bytes).unwrap();
            let inner = text.strip_prefix("\x1b]").and_then(|rest| rest.strip_suffix("\x1b\\")).unwrap();
            assert!(!inner.chars().any(char::is_control), "{inner:?}");
            assert!(inner.len() < 4 * limits::NOTIFICATION_BODY + 40);
        }
    }
}
