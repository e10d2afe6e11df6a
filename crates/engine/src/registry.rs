//! The only session map: names to live sessions, and the ended ones that are still remembered.
//!
//! A short standard mutex, never held over an await.

use crate::error::Error;
use crate::limits;
use crate::session::Session;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use swb_types::SessionName;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    tables: Mutex<Tables>,
}

/// Which name a session may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The one that is wanted, if it is free.
    Free,
    /// The one that is wanted, or the same with a number.
    Numbered,
    /// The one that is wanted, also if it is reserved: whoever makes the session has reserved it.
    Reserved,
}

#[derive(Debug, Default)]
struct Tables {
    live: BTreeMap<SessionName, Session>,
    /// Oldest first.
    ended: VecDeque<Session>,
    /// Names of sessions that somebody else runs.
    reserved: BTreeSet<String>,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters the session that `make` returns for the first free name.
    pub(crate) fn insert(
        &self,
        wanted: &SessionName,
        claim: Claim,
        bound_to: Option<&Path>,
        make: impl FnOnce(SessionName) -> Result<Session, Error>,
    ) -> Result<Session, Error> {
        let mut tables = self.lock();
        if tables.live.len() >= limits::SESSIONS {
            return Err(Error::Limit("too many sessions; end some of them first"));
        }
        if let Some(workspace) = bound_to
            && let Some(other) =
                tables.live.values().find(|s| s.binds_workspace() && s.workspace() == workspace)
        {
            return Err(Error::WorkspaceTaken(other.name().clone()));
        }
        let numbered = (2..).map(|n| wanted.numbered(n));
        let mut names = std::iter::once(wanted.clone()).chain(numbered).take(if claim == Claim::Numbered {
            usize::MAX
        } else {
            1
        });
        let free = |name: &SessionName| {
            let reserved = claim != Claim::Reserved && tables.reserved.contains(name.as_str());
            !tables.live.contains_key(name) && !reserved
        };
        let name = names.find(free);
        let name = name.ok_or_else(|| Error::NameTaken(wanted.clone()))?;
        let session = make(name.clone())?;
        tables.live.insert(name.clone(), session.clone());
        Ok(session)
    }

    /// Enters a session found again after a restart.
    pub(crate) fn adopt(&self, session: Session) {
        self.lock().live.insert(session.name().clone(), session);
    }

    /// Keeps a name from being used for a session of ours; `false` if it is in use.
    pub(crate) fn reserve(&self, name: &str) -> bool {
        let mut tables = self.lock();
        !tables.live.contains_key(name) && tables.reserved.insert(name.to_owned())
    }

    /// Reserves a name whoever has it.
    pub(crate) fn hold(&self, name: &str) {
        self.lock().reserved.insert(name.to_owned());
    }

    /// Makes a reserved name free again.
    pub(crate) fn release(&self, name: &str) {
        self.lock().reserved.remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<Session> {
        self.lock().live.get(name).cloned()
    }

    /// A live session, or else the newest ended one of that name.
    pub(crate) fn get_remembered(&self, name: &str) -> Option<Session> {
        let tables = self.lock();
        let ended = || tables.ended.iter().rev().find(|session| session.name().as_str() == name);
        tables.live.get(name).or_else(ended).cloned()
    }

    /// The session of a directory among those that are `offered`: the one bound to it, else the newest.
    pub(crate) fn of_workspace(
        &self,
        workspace: &Path,
        offered: impl Fn(&Session) -> bool,
    ) -> Option<Session> {
        let tables = self.lock();
        let here =
            tables.live.values().filter(|session| session.workspace() == workspace && offered(session));
        here.max_by_key(|session| (session.binds_workspace(), session.created())).cloned()
    }

    pub(crate) fn live(&self) -> Vec<Session> {
        self.lock().live.values().cloned().collect()
    }

    pub(crate) fn ended(&self) -> Vec<Session> {
        self.lock().ended.iter().cloned().collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().live.len()
    }

    /// Frees a session's name. Says whether it was still entered.
    pub(crate) fn remove(&self, session: &Session) -> bool {
        let mut tables = self.lock();
        let entered = tables.live.get(session.name()).is_some_and(|found| found.is(session));
        if entered {
            tables.live.remove(session.name());
        }
        entered
    }

    /// Moves a session to the remembered ones; gives those that are forgotten for it.
    pub(crate) fn remember(&self, session: &Session) -> Vec<Session> {
        self.remove(session);
        let mut tables = self.lock();
        tables.ended.push_back(session.clone());
        let surplus = tables.ended.len().saturating_sub(limits::REMEMBERED);
        tables.ended.drain(..surplus).collect()
    }

    /// Forgets ended sessions of that name.
    pub(crate) fn forget(&self, name: Option<&str>) -> Vec<Session> {
        let mut tables = self.lock();
        let (gone, kept) = tables
            .ended
            .drain(..)
            .partition(|session| name.is_none_or(|name| session.name().as_str() == name));
        tables.ended = kept;
        gone.into()
    }
}
