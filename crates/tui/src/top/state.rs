//! The state of the list: sessions, selection, filter, and what is open.

use super::dialog::{DialogResult, TopDialog};
use super::list::{self, ListEntry};
use super::row::{ApprovalRow, SessionRow, SessionState};
use crate::input::editor::Editor;
use crate::input::keys::Key;

/// What the program has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopAction {
    /// Answer an approval.
    Answer {
        /// Its id.
        approval: String,
        /// How.
        decision: Decision,
    },
    /// Submit a text to an agent.
    Ask {
        /// Its session.
        session: String,
        /// The text.
        text: String,
    },
    /// Attach to a session.
    Attach(String),
    /// Kill a session.
    Kill(String),
    /// Leave the list.
    Quit,
    /// Type the newest turn of a session into another.
    Relay {
        /// The session.
        from: String,
        /// The other.
        to: String,
        /// Whether to press Enter there, too.
        submit: bool,
    },
    /// Open a shell in a session.
    Shell(String),
}

/// The answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Allow it.
    Allow,
    /// Deny it.
    Deny,
    /// Choose this option.
    Choice(String),
}

/// A line for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The line.
    pub text: String,
    /// Whether something failed.
    pub failed: bool,
}

/// The list and everything in it.
#[derive(Debug, Default)]
pub struct Top {
    pub(super) rows: Vec<SessionRow>,
    pub(super) approvals: Vec<ApprovalRow>,
    pub(super) entries: Vec<ListEntry>,
    /// The name of the selected session.
    pub(super) selected: Option<String>,
    /// The first entry that is shown.
    pub(super) first: usize,
    /// Sessions that fit into the list; known after it was drawn.
    pub(super) page: usize,
    pub(super) filter: String,
    pub(super) filtering: bool,
    pub(super) dialog: Option<TopDialog>,
    pub(super) notice: Option<Notice>,
    /// The session to return to, if the list is open over one.
    pub(super) home: Option<String>,
    /// Whether the list is left with the help.
    pub(super) only_keys: bool,
    /// Whether sessions were received.
    pub(super) known: bool,
    /// Whether the connection to the daemon is lost.
    pub(super) lost: bool,
}

impl Top {
    /// An empty list that selects a session; with `home`, it is open over that one, and quitting returns there. With
    /// `only_keys` it shows the keys and then returns.
    pub fn new(home: Option<String>, select: Option<String>, only_keys: bool) -> Self {
        let dialog = only_keys.then_some(TopDialog::Help);
        Self {
            selected: select.or_else(|| home.clone()),
            home,
            page: 1,
            only_keys,
            dialog,
            ..Self::default()
        }
    }

    /// Replaces the sessions.
    pub fn set_sessions(&mut self, rows: Vec<SessionRow>) {
        self.rows = rows;
        self.known = true;
        self.arrange();
    }

    /// Replaces the approvals. A dialog about one that is no longer pending closes.
    pub fn set_approvals(&mut self, approvals: Vec<ApprovalRow>) {
        self.approvals = approvals;
        if let Some(TopDialog::Approve { approval, .. }) = &self.dialog
            && !self.approvals.iter().any(|pending| pending.id == approval.id)
        {
            self.dialog = None;
            self.notify("the request is no longer pending", false);
        }
        self.arrange();
    }

    /// Shows a line until the next key.
    pub fn notify(&mut self, text: impl Into<String>, failed: bool) {
        self.notice = Some(Notice { text: text.into(), failed });
    }

    /// Whether the connection to the daemon is lost.
    pub fn set_lost(&mut self, lost: bool) {
        self.lost = lost;
    }

    /// Whether keys have something to act on: the sessions, or what is open.
    pub fn takes_keys(&self) -> bool {
        self.known || self.dialog.is_some()
    }

    /// The selected session.
    pub fn selected(&self) -> Option<&SessionRow> {
        let name = self.selected.as_deref()?;
        self.rows.iter().find(|row| row.name == name)
    }

    /// A session of the list.
    pub fn session(&self, name: &str) -> Option<&SessionRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// The sessions that are on the screen.
    pub fn visible(&self) -> impl Iterator<Item = &SessionRow> {
        let entries = self.entries.iter().skip(self.first).take(self.page.saturating_mul(2));
        entries.filter_map(|entry| match entry {
            ListEntry::Session(at) => self.rows.get(*at),
            ListEntry::Heading(_) => None,
        })
    }

    /// Orders the rows and keeps the selection; if the selected session is gone, its neighbour is selected.
    fn arrange(&mut self) {
        let was_at = self.place();
        self.entries = list::entries(&self.rows, &self.filter);
        if self.place().is_some() || !self.known {
            return;
        }
        let sessions = self.sessions();
        let near = was_at.unwrap_or(0).min(sessions.len().saturating_sub(1));
        self.selected = sessions.get(near).map(|at| self.rows[*at].name.clone());
    }

    fn sessions(&self) -> Vec<usize> {
        let session = |entry: &ListEntry| match entry {
            ListEntry::Session(at) => Some(*at),
            ListEntry::Heading(_) => None,
        };
        self.entries.iter().filter_map(session).filter(|at| *at < self.rows.len()).collect()
    }

    /// Where the selection is among the sessions.
    fn place(&self) -> Option<usize> {
        let name = self.selected.as_deref()?;
        self.sessions().iter().position(|at| self.rows[*at].name == name)
    }

    fn go_to(&mut self, place: usize) {
        let sessions = self.sessions();
        if let Some(at) = sessions.get(place.min(sessions.len().saturating_sub(1))) {
            self.selected = Some(self.rows[*at].name.clone());
        }
    }

    fn step(&mut self, by: isize) {
        self.go_to(self.place().unwrap_or(0).saturating_add_signed(by));
    }

    /// Selects the next session that waits for a person.
    fn next_waiting(&mut self) {
        let sessions = self.sessions();
        let from = self.place().map_or(0, |place| place + 1);
        let order = (from..sessions.len()).chain(0..from.min(sessions.len()));
        let found = order.into_iter().find(|place| self.rows[sessions[*place]].state.needs_attention());
        match found {
            Some(place) => self.go_to(place),
            None => self.notify("no session is waiting for you", false),
        }
    }

    /// Handles a key; returns what the program has to do.
    pub fn handle_key(&mut self, key: &Key) -> Option<TopAction> {
        self.notice = None;
        if let Some(dialog) = self.dialog.take() {
            return match dialog.handle(key) {
                DialogResult::Open(dialog) => {
                    self.dialog = Some(dialog);
                    None
                }
                DialogResult::Closed => self.only_keys.then_some(TopAction::Quit),
                DialogResult::Done(action) => Some(action),
            };
        }
        if self.filtering {
            self.filter_key(key);
            return None;
        }
        self.list_key(key)
    }

    fn filter_key(&mut self, key: &Key) {
        match key {
            Key::Enter => self.filtering = false,
            Key::Escape | Key::Ctrl('c' | ']') => {
                self.filtering = false;
                self.filter.clear();
            }
            Key::Backspace if self.filter.is_empty() => self.filtering = false,
            Key::Backspace => drop(self.filter.pop()),
            Key::Ctrl('u') => self.filter.clear(),
            Key::Down => self.step(1),
            Key::Up => self.step(-1),
            Key::Char(c) if self.filter.len() < crate::limits::FILTER => self.filter.push(*c),
            _ => {}
        }
        self.arrange();
    }

    fn list_key(&mut self, key: &Key) -> Option<TopAction> {
        let page = isize::try_from(self.page.max(1)).unwrap_or(1);
        match key {
            Key::Char('q') | Key::Ctrl('c' | ']') => return Some(TopAction::Quit),
            Key::Escape if !self.filter.is_empty() => {
                self.filter.clear();
                self.arrange();
            }
            Key::Escape => return self.home.is_some().then_some(TopAction::Quit),
            Key::Down | Key::Char('j') => self.step(1),
            Key::Up | Key::Char('k') => self.step(-1),
            Key::Home | Key::Char('g') => self.go_to(0),
            Key::End | Key::Char('G') => self.go_to(usize::MAX),
            Key::Ctrl('d' | 'f') | Key::PageDown => self.step(page),
            Key::Ctrl('u' | 'b') | Key::PageUp => self.step(-page),
            Key::Char('n') | Key::Tab => self.next_waiting(),
            Key::Char('/') => self.filtering = true,
            Key::Char('?') => self.dialog = Some(TopDialog::Help),
            _ => return self.session_key(key),
        }
        None
    }

    /// A key that concerns the selected session.
    fn session_key(&mut self, key: &Key) -> Option<TopAction> {
        let row = self.selected()?;
        let (session, ended, talk) = (row.name.clone(), row.state == SessionState::Exited, row.conversation);
        match key {
            Key::Char('y') => self.open_approval(&session),
            Key::Enter | Key::Char('s' | 'a' | 'r' | 'x') if talk => {
                self.notify("this is a conversation without a terminal; `swb chat` opens it", false);
            }
            Key::Enter => return Some(TopAction::Attach(session)),
            Key::Char('x') => self.dialog = Some(TopDialog::Kill(session)),
            Key::Char('r') => {
                self.dialog = TopDialog::relay(session, &self.rows);
                if self.dialog.is_none() {
                    self.notify("there is no other session to relay to", false);
                }
            }
            Key::Char('s' | 'a') if ended => self.notify(format!("'{session}' has ended"), false),
            Key::Char('s') => return Some(TopAction::Shell(session)),
            Key::Char('a') => self.dialog = Some(TopDialog::Ask { session, line: Editor::default() }),
            _ => {}
        }
        None
    }

    fn open_approval(&mut self, session: &str) {
        match self.approvals.iter().find(|approval| approval.session == session) {
            Some(approval) => {
                let approval = approval.clone();
                self.dialog = Some(TopDialog::Approve { approval, at: 0, scroll: 0 });
            }
            None if self.selected().is_some_and(|row| row.state == SessionState::Asking) => {
                self.notify(format!("'{session}' asks in its terminal; Enter attaches to it"), false);
            }
            None => self.notify(format!("'{session}' is not asking anything"), false),
        }
    }
}
