//! Which session a name on the command line means: the one of that name, else the only one whose name begins so.
//!
//! `kill` and everything that creates a name take whole names: what they do cannot be undone.

use crate::console::eprint_line;
use crate::context::{Context, status};
use crate::error::{Failure, FailureKind};
use crate::limits;
use swb_types::did_you_mean;
use swb_wire::control::{
    History, HistoryReply, Ls, LsReply, Operation, SessionItem, SessionStatus, Turns, TurnsReply,
};

/// Names that an error lists.
const LISTED: usize = 8;

/// What a name means among these sessions.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    /// The name as it is; if there is no such session, the daemon reports that.
    Itself,
    /// The only session whose name begins so.
    Beginning(String),
    /// The sessions whose names begin so.
    Ambiguous(Vec<String>),
}

impl Context {
    /// The session that the user means.
    pub(crate) fn session(&self, name: String) -> Result<String, Failure> {
        // A path means the session of that directory.
        if name.is_empty() || name.contains('/') {
            return Ok(name);
        }
        // If the daemon does not list its sessions, it reports why when the command itself is executed.
        let Some(names) = self.listed(false)? else { return Ok(name) };
        // The whole name is what scripts use: the rest is requested only for others.
        if names.iter().any(|session| session.name == name) {
            return Ok(name);
        }
        let Some(listed) = self.listed(true)? else { return Ok(name) };
        let sessions = listed.iter();
        let known = sessions.map(|session| (session.name.as_str(), status(session) != SessionStatus::Exited));
        match meaning(&name, known) {
            Meaning::Itself => Ok(name),
            _ if self.is_wrapper(&name) => Ok(name),
            Meaning::Beginning(whole) => Ok(whole),
            Meaning::Ambiguous(names) => Err(ambiguous(&name, &names)),
        }
    }

    /// The session that the user means to type into; prints which one the beginning of a name has led to, because a session
    /// of another name may have been meant, which has ended.
    pub(crate) fn session_to_type(&self, name: String) -> Result<String, Failure> {
        let session = self.session(name.clone())?;
        if session != name && !self.json {
            eprint_line(format_args!("{}: session {session}", self.program));
        }
        Ok(session)
    }

    /// All sessions, if the daemon lists them in time.
    fn listed(&self, details: bool) -> Result<Option<Vec<SessionItem>>, Failure> {
        let list = Operation::Ls(Ls { details, all: true });
        let reply = self.connect()?.request_within::<LsReply>(&list, Some(limits::NAMES));
        Ok(reply.ok().map(|reply| reply.sessions))
    }

    /// The same; fails if there is no such session.
    pub(crate) fn existing_session(&self, name: String) -> Result<String, Failure> {
        let name = self.session(name)?;
        let sessions = self.sessions()?;
        if sessions.iter().any(|session| session.name == name || session.workspace == name) {
            return Ok(name);
        }
        let meant = did_you_mean(&name, sessions.iter().map(|session| session.name.as_str()));
        let hint = ["`swb ls` lists the sessions".to_owned()];
        let hint: Vec<String> = meant.into_iter().chain(hint).collect();
        Err(Failure::new(FailureKind::NoSession, format!("no session named '{name}'")).hint(hint.join(" ")))
    }

    /// The conversation or session that the user means.
    pub(crate) fn conversation(&self, name: String) -> Result<String, Failure> {
        let saved = self.conversations()?;
        let list = Operation::Ls(Ls { details: true, all: false });
        let live = self.connect()?.request_within::<LsReply>(&list, Some(limits::NAMES));
        let live = live.map(|reply| reply.sessions).unwrap_or_default();
        let known = saved.iter().map(String::as_str);
        resolved(name, known.chain(live.iter().map(|session| session.name.as_str())))
    }

    /// The conversation in the history that the user means.
    pub(crate) fn conversation_in_history(&self, name: String) -> Result<String, Failure> {
        let known = self.conversations()?;
        resolved(name, known.iter().map(String::as_str))
    }

    /// The names of the newest conversations, if the daemon lists them in time.
    pub(crate) fn conversations(&self) -> Result<Vec<String>, Failure> {
        let history = Operation::History(History::default());
        let reply = self.connect()?.request_within::<HistoryReply>(&history, Some(limits::NAMES));
        let conversations = reply.map(|reply| reply.conversations).unwrap_or_default();
        Ok(conversations.into_iter().map(|one| one.session).collect())
    }

    /// The turn that the user means; a session stands for its latest one.
    pub(crate) fn turn(&self, id: String) -> Result<String, Failure> {
        match id.rsplit_once(':') {
            Some((session, number))
                if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                Ok(format!("{}:{number}", self.session(session.to_owned())?))
            }
            _ => self.session(id),
        }
    }

    /// Whether a wrapper has a session of this name, which has turns and is not listed.
    fn is_wrapper(&self, name: &str) -> bool {
        let turns = Operation::Turns(Turns { session: name.to_owned(), limit: Some(1) });
        let reply =
            self.connect().and_then(|mut control| control.request_within(&turns, Some(limits::NAMES)));
        reply.is_ok_and(|_: TurnsReply| true)
    }
}

fn meaning<'a>(name: &str, sessions: impl Iterator<Item = (&'a str, bool)>) -> Meaning {
    let (mut live, mut ended) = (Vec::new(), Vec::new());
    for (known, runs) in sessions {
        if known == name {
            return Meaning::Itself;
        }
        if known.starts_with(name) {
            if runs { &mut live } else { &mut ended }.push(known.to_owned());
        }
    }
    // An ended session stays listed for days, and is rarely meant.
    let mut names = if live.is_empty() { ended } else { live };
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 => Meaning::Itself,
        1 => names.pop().map_or(Meaning::Itself, Meaning::Beginning),
        _ => Meaning::Ambiguous(names),
    }
}

fn resolved<'a>(name: String, known: impl Iterator<Item = &'a str>) -> Result<String, Failure> {
    match meaning(&name, known.map(|known| (known, true))) {
        Meaning::Itself => Ok(name),
        Meaning::Beginning(whole) => Ok(whole),
        Meaning::Ambiguous(names) => Err(ambiguous(&name, &names)),
    }
}

fn ambiguous(name: &str, names: &[String]) -> Failure {
    let mut list = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        list.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    Failure::new(FailureKind::NoSession, format!("'{name}' is the beginning of several names: {list}"))
        .hint("type more of the name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_means_the_only_session_that_has_it() {
        let sessions = [
            ("api", true),
            ("api-2", true),
            ("build", true),
            ("web", false),
            ("work", true),
            ("wide", false),
        ];
        let means = |name| meaning(name, sessions.into_iter());
        assert_eq!(means("api"), Meaning::Itself, "the exact name wins");
        assert_eq!(means("b"), Meaning::Beginning("build".into()));
        assert_eq!(means("ap"), Meaning::Ambiguous(vec!["api".into(), "api-2".into()]));
        assert_eq!(means("w"), Meaning::Beginning("work".into()), "running sessions come before ended ones");
        assert_eq!(means("we"), Meaning::Beginning("web".into()));
        assert_eq!(means("x"), Meaning::Itself);
        assert_eq!(meaning("a", [("ab", false), ("ab", false)].into_iter()), Meaning::Beginning("ab".into()));
    }

    #[test]
    fn an_ambiguous_beginning_lists_the_names() {
        let names: Vec<String> = (1..=10).map(|n| format!("a{n}")).collect();
        let shown = ambiguous("a", &names).render("swb");
        assert_eq!(
            shown,
            "swb: 'a' is the beginning of several names: a1, a2, a3, a4, a5, a6, a7, a8 and 2 more\n\
             hint: type more of the name\n"
        );
        assert_eq!(ambiguous("a", &names).kind().exit_code(), 3);
    }
}
