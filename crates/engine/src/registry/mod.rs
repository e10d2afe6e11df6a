//! The one table of names: what the name of each live session, wrapper and conversation stands for.
//!
//! A wrapper shares its name with nothing. A conversation shares its name with the session it is held with, whichever
//! of the two comes first. [`admits`] alone decides who may take a name. Sessions leave with [`Registry::remove`];
//! wrappers and conversations leave when their guard is dropped. A name is free when nothing is left of its entry.
//!
//! A short standard mutex, never held over an await.

use crate::chat::Chat;
use crate::error::Error;
use crate::limits;
use crate::session::Session;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_types::SessionName;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    names: BTreeMap<String, NameEntry>,
    /// Ended sessions that are still remembered, oldest first. They do not hold their names.
    ended: VecDeque<Session>,
    next_wrapper: u64,
}

/// What a name stands for.
#[derive(Debug)]
enum NameEntry {
    /// A session that a wrapper runs.
    Wrapper(WrapperId),
    /// A session with terminals of ours.
    Session(Session),
    /// A conversation, and the session it is held with if that lives.
    Conversation { chat: Chat, hold: NameHold, session: Option<Session> },
}

/// Distinguishes wrappers that use the same name one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WrapperId(u64);

/// Whether a conversation keeps its name while no session uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameHold {
    /// Only a session made for the conversation may take the name.
    Own,
    /// The name belongs to the session the conversation is about; any session may take it after that one.
    Shared,
}

/// Which name a new session may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionClaim {
    /// The given name, if it is free.
    Exact,
    /// The given name, or the first free one with a number.
    Numbered,
    /// The name of the conversation that the session is made for.
    OfConversation,
}

/// Why a conversation cannot have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRefusal {
    Taken,
    TooManyConversations,
}

/// What a name resolves to where turns are exchanged.
#[derive(Debug, Clone)]
pub(crate) enum TurnSource {
    Session(Session),
    Wrapper(WrapperId),
}

/// Who asks for a name.
#[derive(Debug, Clone, Copy)]
enum Claimant {
    Wrapper,
    Session,
    SessionOfConversation,
    Conversation,
    /// A conversation with the session of that name.
    ConversationWithSession,
}

/// Whether a name can be given to the claimant.
fn admits(entry: Option<&NameEntry>, claimant: Claimant) -> bool {
    use Claimant as C;
    match (entry, claimant) {
        (None, _) => true,
        (Some(NameEntry::Session(_)), C::ConversationWithSession) => true,
        (Some(NameEntry::Conversation { session: None, .. }), C::SessionOfConversation) => true,
        (Some(NameEntry::Conversation { session: None, hold: NameHold::Shared, .. }), C::Session) => true,
        (Some(_), _) => false,
    }
}

impl NameEntry {
    fn session(&self) -> Option<&Session> {
        match self {
            Self::Wrapper(_) => None,
            Self::Session(session) => Some(session),
            Self::Conversation { session, .. } => session.as_ref(),
        }
    }

    fn chat(&self) -> Option<&Chat> {
        match self {
            Self::Conversation { chat, .. } => Some(chat),
            Self::Wrapper(_) | Self::Session(_) => None,
        }
    }
}

impl Tables {
    fn admits(&self, name: &str, claimant: Claimant) -> bool {
        admits(self.names.get(name), claimant)
    }

    fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.names.values().filter_map(NameEntry::session)
    }

    fn chats(&self) -> impl Iterator<Item = &Chat> {
        self.names.values().filter_map(NameEntry::chat)
    }

    fn session(&self, name: &str) -> Option<&Session> {
        self.names.get(name)?.session()
    }

    /// The name that a claim comes to.
    fn name_for(&self, wanted: &SessionName, claim: SessionClaim) -> Option<SessionName> {
        let free = |name: &SessionName, claimant| self.admits(name.as_str(), claimant);
        let mut numbered = std::iter::once(wanted.clone()).chain((2..).map(|number| wanted.numbered(number)));
        match claim {
            SessionClaim::Exact => Some(wanted.clone()).filter(|name| free(name, Claimant::Session)),
            SessionClaim::Numbered => numbered.find(|name| free(name, Claimant::Session)),
            SessionClaim::OfConversation => {
                Some(wanted.clone()).filter(|name| free(name, Claimant::SessionOfConversation))
            }
        }
    }

    fn add_session(&mut self, added: Session) {
        match self.names.get_mut(added.name().as_str()) {
            Some(NameEntry::Conversation { session, .. }) => *session = Some(added),
            _ => drop(self.names.insert(added.name().to_string(), NameEntry::Session(added))),
        }
    }

    fn remove_session(&mut self, name: &str) {
        match self.names.get_mut(name) {
            Some(NameEntry::Conversation { session, .. }) => *session = None,
            Some(NameEntry::Session(_)) => drop(self.names.remove(name)),
            Some(NameEntry::Wrapper(_)) | None => {}
        }
    }

    fn add_chat(&mut self, chat: Chat, hold: NameHold) {
        let name = chat.name().to_string();
        let session = self.session(&name).cloned();
        self.names.insert(name, NameEntry::Conversation { chat, hold, session });
    }

    fn remove_chat(&mut self, name: &str) {
        if let Some(NameEntry::Conversation { session: Some(session), .. }) = self.names.remove(name) {
            self.names.insert(name.to_owned(), NameEntry::Session(session));
        }
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- sessions ----

    /// Enters the session that `make` returns for the name that the claim comes to.
    pub(crate) fn insert(
        &self,
        wanted: &SessionName,
        claim: SessionClaim,
        bound_to: Option<&Path>,
        make: impl FnOnce(SessionName) -> Result<Session, Error>,
    ) -> Result<Session, Error> {
        let mut tables = self.lock();
        if tables.sessions().count() >= limits::SESSIONS {
            return Err(Error::Limit("too many sessions; end some of them first".into()));
        }
        if let Some(workspace) = bound_to
            && let Some(other) = tables.sessions().find(|s| s.binds_workspace() && s.workspace() == workspace)
        {
            return Err(Error::WorkspaceTaken(other.name().clone()));
        }
        let name = tables.name_for(wanted, claim).ok_or_else(|| Error::NameTaken(wanted.clone()))?;
        let session = make(name)?;
        tables.add_session(session.clone());
        Ok(session)
    }

    /// Enters a session that outlived a daemon, before or after the conversation of that name. No wrapper has the name:
    /// wrappers connect only when everything that outlived the daemon is entered.
    pub(crate) fn adopt(&self, session: Session) {
        self.lock().add_session(session);
    }

    /// A live session.
    pub(crate) fn get(&self, name: &str) -> Option<Session> {
        self.lock().session(name).cloned()
    }

    /// A live session, or else the newest ended one of that name.
    pub(crate) fn get_remembered(&self, name: &str) -> Option<Session> {
        let tables = self.lock();
        let ended = || tables.ended.iter().rev().find(|session| session.name().as_str() == name);
        tables.session(name).or_else(ended).cloned()
    }

    /// The session of a directory among those that are `offered`: the one bound to it, else the newest.
    pub(crate) fn of_workspace(
        &self,
        workspace: &Path,
        offered: impl Fn(&Session) -> bool,
    ) -> Option<Session> {
        let tables = self.lock();
        let here = tables.sessions().filter(|session| session.workspace() == workspace && offered(session));
        here.max_by_key(|session| (session.binds_workspace(), session.created())).cloned()
    }

    /// All live sessions by name.
    pub(crate) fn live(&self) -> Vec<Session> {
        self.lock().sessions().cloned().collect()
    }

    /// Ended sessions that are still remembered, oldest first.
    pub(crate) fn ended(&self) -> Vec<Session> {
        self.lock().ended.iter().cloned().collect()
    }

    /// Number of live sessions.
    pub(crate) fn count(&self) -> usize {
        self.lock().sessions().count()
    }

    /// Takes a session out, unless its name already belongs to another one.
    pub(crate) fn remove(&self, session: &Session) {
        let mut tables = self.lock();
        if tables.session(session.name().as_str()).is_some_and(|found| found.is(session)) {
            tables.remove_session(session.name().as_str());
        }
    }

    /// Moves a session to the remembered ones; returns those that are forgotten to make room.
    pub(crate) fn remember(&self, session: &Session) -> Vec<Session> {
        self.remove(session);
        let mut tables = self.lock();
        tables.ended.push_back(session.clone());
        let surplus = tables.ended.len().saturating_sub(limits::REMEMBERED);
        tables.ended.drain(..surplus).collect()
    }

    /// Forgets the ended session that is remembered longest, and returns it.
    pub(crate) fn forget_oldest(&self) -> Option<Session> {
        self.lock().ended.pop_front()
    }

    /// Forgets the ended sessions for which `chosen` is true, and returns them.
    pub(crate) fn forget(&self, chosen: impl Fn(&Session) -> bool) -> Vec<Session> {
        let mut tables = self.lock();
        let (gone, kept) = tables.ended.drain(..).partition(chosen);
        tables.ended = kept;
        gone.into()
    }

    // ---- wrappers ----

    /// Takes a name for a session that a wrapper runs, if it is free (XS-2).
    pub(crate) fn claim_for_wrapper(self: &Arc<Self>, name: &str) -> Option<WrapperName> {
        let mut tables = self.lock();
        if !tables.admits(name, Claimant::Wrapper) {
            return None;
        }
        let id = WrapperId(tables.next_wrapper);
        tables.next_wrapper += 1;
        tables.names.insert(name.to_owned(), NameEntry::Wrapper(id));
        Some(WrapperName { registry: Arc::clone(self), name: name.to_owned(), id })
    }

    /// All wrappers by name.
    pub(crate) fn wrappers(&self) -> Vec<(String, WrapperId)> {
        let wrapper = |(name, entry): (&String, &NameEntry)| match entry {
            NameEntry::Wrapper(id) => Some((name.clone(), *id)),
            NameEntry::Session(_) | NameEntry::Conversation { .. } => None,
        };
        self.lock().names.iter().filter_map(wrapper).collect()
    }

    /// Where the turns of this name come from.
    pub(crate) fn turn_source(&self, name: &str) -> Option<TurnSource> {
        let tables = self.lock();
        match tables.names.get(name)? {
            NameEntry::Wrapper(id) => Some(TurnSource::Wrapper(*id)),
            entry => entry.session().cloned().map(TurnSource::Session),
        }
    }

    // ---- conversations ----

    /// Enters a new conversation: with a name of its own, which must be free, or beside a session.
    pub(crate) fn enter_chat(self: &Arc<Self>, chat: &Chat, hold: NameHold) -> Result<ChatName, NameRefusal> {
        let claimant = match hold {
            NameHold::Own => Claimant::Conversation,
            NameHold::Shared => Claimant::ConversationWithSession,
        };
        let mut tables = self.lock();
        if hold == NameHold::Own && tables.chats().count() >= limits::CHATS {
            return Err(NameRefusal::TooManyConversations);
        }
        self.claim_for_chat(&mut tables, chat, hold, claimant)
    }

    /// Enters a conversation that outlived a daemon, before or after the session it is held with.
    pub(crate) fn adopt_chat(self: &Arc<Self>, chat: &Chat, hold: NameHold) -> Result<ChatName, NameRefusal> {
        self.claim_for_chat(&mut self.lock(), chat, hold, Claimant::ConversationWithSession)
    }

    fn claim_for_chat(
        self: &Arc<Self>,
        tables: &mut Tables,
        chat: &Chat,
        hold: NameHold,
        claimant: Claimant,
    ) -> Result<ChatName, NameRefusal> {
        if !tables.admits(chat.name().as_str(), claimant) {
            return Err(NameRefusal::Taken);
        }
        tables.add_chat(chat.clone(), hold);
        Ok(ChatName { registry: Arc::clone(self), name: chat.name().clone(), hold })
    }

    /// A live conversation.
    pub(crate) fn chat(&self, name: &str) -> Option<Chat> {
        self.lock().names.get(name)?.chat().cloned()
    }

    /// All live conversations by name.
    pub(crate) fn chats(&self) -> Vec<Chat> {
        self.lock().chats().cloned().collect()
    }
}

/// A wrapper's name; dropping it frees the name.
#[derive(Debug)]
pub(crate) struct WrapperName {
    registry: Arc<Registry>,
    name: String,
    id: WrapperId,
}

impl WrapperName {
    pub(crate) fn id(&self) -> WrapperId {
        self.id
    }
}

impl Drop for WrapperName {
    fn drop(&mut self) {
        let mut tables = self.registry.lock();
        if matches!(tables.names.get(&self.name), Some(NameEntry::Wrapper(id)) if *id == self.id) {
            tables.names.remove(&self.name);
        }
    }
}

/// A conversation's name; dropping it takes the conversation out, and frees the name unless a session has it.
#[derive(Debug)]
pub(crate) struct ChatName {
    registry: Arc<Registry>,
    name: SessionName,
    hold: NameHold,
}

impl ChatName {
    pub(crate) fn hold(&self) -> NameHold {
        self.hold
    }
}

impl Drop for ChatName {
    fn drop(&mut self) {
        self.registry.lock().remove_chat(self.name.as_str());
    }
}

#[cfg(test)]
mod tests;
