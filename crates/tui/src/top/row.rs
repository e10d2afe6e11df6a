//! One session in the list, and one approval.

use crate::limits;
use swb_vt::printable;

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionState {
    /// Its agent waits for a permission or an answer.
    Asking,
    /// Its agent reported a failure.
    Error,
    /// Its agent works.
    Working,
    /// Its agent waits for input.
    Ready,
    /// It has not been ready yet.
    Starting,
    /// The program runs; more is not known.
    #[default]
    Unknown,
    /// Its program has ended.
    Exited,
}

impl SessionState {
    /// The word shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Error => "error",
            Self::Working => "working",
            Self::Ready => "ready",
            Self::Starting => "starting",
            Self::Unknown => "running",
            Self::Exited => "ended",
        }
    }

    /// Whether a person has to act.
    pub fn needs_attention(self) -> bool {
        matches!(self, Self::Asking | Self::Error)
    }
}

/// A session, as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionRow {
    /// Its name.
    pub name: String,
    /// Its directory, as it is shown.
    pub workspace: String,
    /// Its command line.
    pub command: String,
    /// Its state.
    pub state: SessionState,
    /// Since when, in Unix milliseconds.
    pub since: u64,
    /// When it was created, in Unix seconds.
    pub created: u64,
    /// Number of its newest turn.
    pub turns: u64,
    /// Clients that are attached, without this one.
    pub clients: u32,
    /// How many of them are browsers.
    pub web_clients: u32,
    /// How its program ended.
    pub exit_code: Option<i32>,
    /// End of its output, to see whether `last_line` is current.
    pub offset: u64,
    /// The last line of its screen.
    pub last_line: String,
    /// A conversation without a terminal: only its approvals can be answered.
    pub conversation: bool,
}

impl SessionRow {
    /// Who is attached, in words; empty if no client is.
    pub fn attached(&self) -> String {
        match (self.clients, self.web_clients) {
            (0, _) => String::new(),
            (all, 0) => format!("{all} attached"),
            (all, web) if web >= all => format!("{all} on the web"),
            (all, web) => format!("{all} attached, {web} on the web"),
        }
    }

    /// Whether its output may change without an event: no event reports what a program prints.
    pub fn may_print(&self) -> bool {
        use SessionState::{Starting, Unknown, Working};
        !self.conversation && matches!(self.state, Starting | Unknown | Working)
    }

    /// Whether a filter finds it; an empty one finds everything.
    pub fn matches(&self, filter: &str) -> bool {
        let all =
            format!("{} {} {} {}", self.name, self.workspace, self.command, self.state.word()).to_lowercase();
        filter.to_lowercase().split_whitespace().all(|word| all.contains(word))
    }
}

/// One option of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalChoice {
    /// Its id.
    pub id: String,
    /// Its text.
    pub label: String,
}

/// A pending approval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApprovalRow {
    /// Its id.
    pub id: String,
    /// Its session.
    pub session: String,
    /// The session's directory, as it is shown.
    pub workspace: String,
    /// What is asked, in one line.
    pub title: String,
    /// Everything that is known about it.
    pub details: Vec<String>,
    /// The options; allow and deny if there are none.
    pub choices: Vec<ApprovalChoice>,
    /// When it was requested, in Unix milliseconds.
    pub asked: u64,
}

/// The most useful line of a screen: the question if the program asks, else the last one with words in it.
pub fn last_line(screen: &str, asking: bool) -> String {
    let frame = |c: char| if matches!(c, '\u{2500}'..='\u{259f}') { ' ' } else { c };
    let line = |line: &str| {
        let line: String = line.chars().map(frame).collect();
        printable(line.split_whitespace().collect::<Vec<_>>().join(" ").as_str()).into_owned()
    };
    let lines: Vec<String> =
        screen.lines().map(line).filter(|line| line.chars().any(char::is_alphanumeric)).collect();
    let question = lines.iter().rev().take(limits::DIALOG_LINES).find(|line| asking && line.ends_with('?'));
    question.or(lines.last()).cloned().unwrap_or_default()
}
