//! The terminal that this command runs in: its name, colours, encoding and size, and what is around it.

use super::{DoctorContext, Finding};
use crate::limits;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{isatty, tcgetwinsize};

const TERMINAL: &str = "terminal";
const COLOURS: &str = "colours";
const ENCODING: &str = "encoding";
const SIZE: &str = "size";

/// What is known about a terminal.
#[derive(Debug, Default, Clone)]
struct TerminalFacts {
    term: String,
    colorterm: String,
    /// The locale of characters.
    locale: String,
    /// Columns and rows.
    size: Option<(u16, u16)>,
    /// The program that shows the terminal.
    program: Option<String>,
    tmux: bool,
    no_color: bool,
    /// The session of ours that this command runs in.
    session: Option<String>,
}

/// Checks the terminal, if there is one.
pub(super) fn check(_place: &DoctorContext) -> Vec<Finding> {
    let size = [stdout(), stdin(), stderr()].into_iter().find(|fd| isatty(fd));
    match size {
        Some(terminal) => {
            let size = tcgetwinsize(terminal).ok().map(|size| (size.ws_col, size.ws_row));
            judge(&TerminalFacts { size, ..facts(|key| std::env::var(key).ok()) })
        }
        None => vec![Finding::ok(TERMINAL, "none here; run `swb doctor` in the one that you use")],
    }
}

fn facts(var: impl Fn(&str) -> Option<String>) -> TerminalFacts {
    let set = |key: &str| var(key).filter(|value| !value.is_empty());
    TerminalFacts {
        term: set("TERM").unwrap_or_default(),
        colorterm: set("COLORTERM").unwrap_or_default(),
        locale: ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|key| set(key)).unwrap_or_default(),
        size: None,
        program: program(&set),
        tmux: set("TMUX").is_some(),
        no_color: set("NO_COLOR").is_some(),
        session: set("SWB_SESSION"),
    }
}

/// The program that shows the terminal, by the variables that it sets.
fn program(set: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let by_variable = [
        ("KITTY_WINDOW_ID", "kitty"),
        ("WEZTERM_PANE", "WezTerm"),
        ("GHOSTTY_RESOURCES_DIR", "Ghostty"),
        ("ALACRITTY_WINDOW_ID", "Alacritty"),
        ("KONSOLE_VERSION", "Konsole"),
        ("VTE_VERSION", "VTE (GNOME Terminal and others)"),
        ("WT_SESSION", "Windows Terminal"),
        ("XTERM_VERSION", "xterm"),
    ];
    let by_term = ["foot", "alacritty", "xterm-kitty", "xterm-ghostty", "rxvt-unicode", "linux"];
    let term = set("TERM").unwrap_or_default();
    let known = by_variable.iter().find(|(key, _)| set(key).is_some()).map(|(_, name)| (*name).to_owned());
    // In tmux it is that of the client which started the server.
    known
        .or_else(|| set("TERM_PROGRAM").filter(|name| name != "tmux"))
        .or_else(|| by_term.iter().find(|name| term.starts_with(**name)).map(|name| (*name).to_owned()))
}

fn judge(facts: &TerminalFacts) -> Vec<Finding> {
    vec![name(facts), colours(facts), encoding(facts), size(facts)]
}

fn name(facts: &TerminalFacts) -> Finding {
    let term = &facts.term;
    if term.is_empty() || term == "dumb" {
        let message = if term.is_empty() { "TERM is not set".to_owned() } else { format!("TERM is {term}") };
        return Finding::warning(
            TERMINAL,
            format!("{message}: full-screen programs do not work"),
            "`export TERM=xterm-256color` suits most terminals",
        );
    }
    let mut message = match &facts.program {
        Some(program) => format!("{program}, TERM={term}"),
        None => format!("TERM={term}, not one that swb knows by name"),
    };
    if let Some(session) = &facts.session {
        message.push_str(&format!(", inside session '{session}'"));
    }
    if facts.tmux {
        message.push_str(", inside tmux");
        let hint = "tmux shows the bell of a notification; those of your terminal need `set -g allow-passthrough on` and \
                    `terminal = \"osc9\"`, \"osc99\" or \"osc777\" under [notifications]";
        return Finding { hint: Some(hint.to_owned()), ..Finding::ok(TERMINAL, message) };
    }
    Finding::ok(TERMINAL, message)
}

fn colours(facts: &TerminalFacts) -> Finding {
    let (term, colorterm) = (facts.term.as_str(), facts.colorterm.as_str());
    if facts.no_color {
        return Finding::ok(COLOURS, "off, because NO_COLOR is set");
    }
    let direct = ["direct", "kitty", "ghostty", "foot", "alacritty", "wezterm"];
    if matches!(colorterm, "truecolor" | "24bit") || direct.iter().any(|name| term.contains(name)) {
        return Finding::ok(COLOURS, "24 bit");
    }
    if term.contains("256color") {
        return Finding::ok(COLOURS, "256; COLORTERM=truecolor announces more");
    }
    Finding::warning(
        COLOURS,
        format!("16 at most, according to TERM={term}"),
        "`export TERM=xterm-256color` if your terminal has more (in tmux: `set -g default-terminal tmux-256color`)",
    )
}

fn encoding(facts: &TerminalFacts) -> Finding {
    let locale = facts.locale.to_ascii_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") {
        return Finding::ok(ENCODING, facts.locale.clone());
    }
    let locale = if locale.is_empty() { "no locale is set" } else { facts.locale.as_str() };
    Finding::warning(
        ENCODING,
        format!("not UTF-8 ({locale}): programs show other characters than they should"),
        "`export LANG=C.UTF-8`",
    )
}

fn size(facts: &TerminalFacts) -> Finding {
    let (least_cols, least_rows) = limits::USUAL_TERMINAL;
    match facts.size {
        None | Some((0, _) | (_, 0)) => {
            Finding::warning(SIZE, "the terminal does not report its size", "`stty cols 80 rows 24` sets it")
        }
        Some((cols, rows)) if cols < least_cols || rows < least_rows => Finding::warning(
            SIZE,
            format!("{cols}x{rows}"),
            format!("make the window larger: most programs are made for {least_cols}x{least_rows} and more"),
        ),
        Some((cols, rows)) => Finding::ok(SIZE, format!("{cols}x{rows}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    fn judged(vars: &[(&str, &str)], size: Option<(u16, u16)>) -> Vec<(Level, String)> {
        let found =
            facts(|key| vars.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned()));
        let findings = judge(&TerminalFacts { size, ..found });
        findings.into_iter().map(|finding| (finding.status, finding.message)).collect()
    }

    #[test]
    fn a_modern_terminal_is_fine() {
        let vars = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("LANG", "de_DE.UTF-8")];
        let vars = [&vars[..], &[("WEZTERM_PANE", "0"), ("TMUX", "/tmp/x,1,2")]].concat();
        let findings = judged(&vars, Some((120, 40)));
        assert!(findings.iter().all(|(level, _)| *level == Level::Ok), "{findings:?}");
        assert_eq!(findings[0].1, "WezTerm, TERM=xterm-256color, inside tmux");
    }

    #[test]
    fn a_poor_terminal_gets_warnings_and_no_problem() {
        let findings = judged(&[("TERM", "dumb"), ("LANG", "C")], Some((20, 5)));
        assert!(findings.iter().all(|(level, _)| *level == Level::Warning), "{findings:?}");
        let findings = judged(&[], None);
        assert!(findings.iter().all(|(level, _)| *level == Level::Warning), "{findings:?}");
        assert_eq!(judged(&[("NO_COLOR", "1")], None)[1].0, Level::Ok);
    }

    #[test]
    fn the_locale_of_characters_decides() {
        let level = |vars: &[(&str, &str)]| judged(vars, None)[2].0;
        assert_eq!(level(&[("LANG", "C"), ("LC_CTYPE", "C.utf8")]), Level::Ok);
        assert_eq!(level(&[("LANG", "C.UTF-8"), ("LC_ALL", "POSIX")]), Level::Warning);
    }
}
