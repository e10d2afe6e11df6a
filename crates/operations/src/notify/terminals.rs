//! Notifications for terminals that are attached: each client takes the new ones between two pieces of its output.

use super::policy::AgentNotice;
use crate::{Caller, limits};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use swb_types::SessionName;
use swb_wire::control::{NotificationKind, StreamEvent};
use tokio::sync::watch;

/// The newest notifications for terminals, numbered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Posted {
    /// Number of the next one.
    next: u64,
    newest: VecDeque<Arc<Posting>>,
}

#[derive(Debug)]
struct Posting {
    /// Session and workspace; none for a test, which everyone gets.
    about: Option<(SessionName, Option<PathBuf>)>,
    kind: NotificationKind,
    text: String,
}

/// Where notifications for terminals are posted.
#[derive(Debug, Default)]
pub(crate) struct Board {
    posted: watch::Sender<Posted>,
}

impl Board {
    pub(crate) fn post(&self, notice: &AgentNotice) {
        let about = Some((notice.session.clone(), notice.workspace.clone()));
        self.add(Posting { about, kind: notice.kind, text: notice.text() });
    }

    /// Posts a test; false if no terminal gets it.
    pub(crate) fn post_test(&self, text: &str) -> bool {
        self.add(Posting { about: None, kind: NotificationKind::Test, text: text.to_owned() });
        self.posted.receiver_count() > 0
    }

    fn add(&self, posting: Posting) {
        self.posted.send_modify(|posted| {
            posted.next += 1;
            posted.newest.push_back(Arc::new(posting));
            if posted.newest.len() > limits::NOTIFY_TERMINALS {
                posted.newest.pop_front();
            }
        });
    }

    /// The notifications from now on, as far as the caller sees the sessions.
    pub(crate) fn read(&self, caller: Caller) -> BoardReader {
        let mut posted = self.posted.subscribe();
        let next = posted.borrow_and_update().next;
        BoardReader { posted, fresh: false, next, caller }
    }
}

/// A client's position among the notifications for terminals.
#[derive(Debug)]
pub(crate) struct BoardReader {
    posted: watch::Receiver<Posted>,
    /// A wait has ended with a notification that was not taken yet.
    fresh: bool,
    next: u64,
    caller: Caller,
}

impl BoardReader {
    /// The notifications since the last call. Costs one atomic load if there are none.
    pub(crate) fn take(&mut self) -> Vec<StreamEvent> {
        if !std::mem::take(&mut self.fresh) && !self.posted.has_changed().unwrap_or(false) {
            return Vec::new();
        }
        let posted = self.posted.borrow_and_update();
        let new = usize::try_from(posted.next - self.next).unwrap_or(usize::MAX).min(posted.newest.len());
        self.next = posted.next;
        let new = posted.newest.iter().skip(posted.newest.len() - new);
        new.filter_map(|posting| posting.seen_by(&self.caller)).collect()
    }

    /// Waits for the next notification. Never returns if the daemon stops.
    pub(crate) async fn changed(&mut self) {
        if self.posted.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.fresh = true;
    }
}

impl Posting {
    fn seen_by(&self, caller: &Caller) -> Option<StreamEvent> {
        let session = match &self.about {
            Some((session, workspace)) => {
                let covered = caller.covers(session.as_str(), workspace.as_deref());
                covered.then(|| session.to_string())?
            }
            None => String::new(),
        };
        Some(StreamEvent::Notification { session, notification: self.kind, text: self.text.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_types::{Role, Scope};

    fn posting(session: &str) -> Posting {
        let about = Some((SessionName::new(session).unwrap(), Some("/w".into())));
        Posting { about, kind: NotificationKind::Asking, text: format!("{session} asks") }
    }

    fn sessions(reader: &mut BoardReader) -> Vec<String> {
        let taken = reader.take().into_iter().map(|event| match event {
            StreamEvent::Notification { session, .. } => session,
            other => panic!("{other:?}"),
        });
        taken.collect()
    }

    #[test]
    fn a_client_gets_what_is_new_and_within_its_scope() {
        let board = Board::default();
        board.add(posting("old"));
        let mut all = board.read(Caller::owner());
        let mut one = board.read(Caller::new(Role::Drive, Scope::Session(SessionName::new("b").unwrap())));
        assert!(sessions(&mut all).is_empty());
        board.add(posting("a"));
        board.add(posting("b"));
        assert_eq!(sessions(&mut all), ["a", "b"]);
        assert_eq!(sessions(&mut one), ["b"]);
        assert!(sessions(&mut all).is_empty() && sessions(&mut one).is_empty());
        assert!(board.post_test("t") && !Board::default().post_test("t"));
        assert_eq!(sessions(&mut one), [""]);
    }

    #[test]
    fn a_client_that_lags_gets_the_newest() {
        let board = Board::default();
        let mut reader = board.read(Caller::owner());
        for number in 0..limits::NOTIFY_TERMINALS + 5 {
            board.add(posting(&format!("s{number}")));
        }
        let taken = sessions(&mut reader);
        assert_eq!((taken.len(), taken[0].as_str()), (limits::NOTIFY_TERMINALS, "s5"));
    }

    #[tokio::test]
    async fn a_client_waits_without_missing_one() {
        let board = Board::default();
        let mut reader = board.read(Caller::owner());
        board.add(posting("a"));
        reader.changed().await;
        assert_eq!(sessions(&mut reader), ["a"]);
    }
}
