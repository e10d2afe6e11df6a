//! Conversations with agents, what they ask, and where they work: for our own command line only.

mod approvals;
mod items;
mod pages;

use super::Door;
use super::connection::{Answer, Connection, Next, invalid, ok};
use pages::Cursor;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use swb_chat::Refused;
use swb_engine::chat::{self, Chat, ChatError, Chats};
use swb_types::Timestamp;
use swb_wire::control::{
    AgentsReply, ChatAgentItem, Conversation, ConversationReply, ErrorCode, ErrorReply, Forget, History,
    HistoryReply, OkReply, Workspace, WorkspaceItem, WorkspaceReply, WorkspacesReply,
};

/// Messages found in one answer unless the client wants fewer.
const HITS: u64 = 50;
/// Conversations in one answer unless the client wants fewer.
const LISTED: u64 = 500;
/// Bytes of messages in one answer; what needs more room as JSON gets less.
const PAGE: usize = 800 << 10;
/// Context directories of a workspace at most.
const CONTEXT_DIRS: usize = 64;

impl Connection {
    /// The conversations, for whoever may have all of them.
    fn chats(&self, command: &str) -> Result<&Chats, ErrorReply> {
        match (&self.coop.chats, self.door) {
            (_, Door::Coop) => Err(invalid(format!("unknown command '{command}'"))),
            (None, Door::Control) => {
                Err(ErrorReply::new(ErrorCode::NotImplemented, "this daemon holds no conversations"))
            }
            (Some(chats), Door::Control) => Ok(chats),
        }
    }

    // ---- what was said ----

    pub(super) async fn history(&self, history: History) -> Answer {
        let chats = self.chats("history")?;
        let workspace = history.workspace.as_deref().map(Path::new);
        let offset = usize::try_from(history.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        if let Some(words) = &history.search {
            let most = history.limit.unwrap_or(HITS).min(HITS * 10);
            let most = usize::try_from(most).unwrap_or(0);
            // One more tells whether there are more.
            let looked = most.saturating_add(offset).saturating_add(1);
            let hits = chats.search(words, workspace, looked).await.map_err(|error| reply(&error))?;
            let shown = |hit: &swb_chat::Hit| items::hit(hit, chats.live(hit.summary.name.as_str()).as_ref());
            let hits: Vec<_> = hits.iter().skip(offset).map(shown).collect();
            return pages::cut(&hits, most, |some, more| {
                ok(&HistoryReply { ok: true, conversations: Vec::new(), hits: some.to_vec(), more })
            });
        }
        let listed = chats.list(workspace).await.map_err(|error| reply(&error))?;
        // A terminal that nobody has talked to has no history.
        let told = listed.iter().filter(|one| !one.live || one.summary.message_count > 0);
        let told: Vec<_> = told.skip(offset).map(items::conversation).collect();
        let most = usize::try_from(history.limit.unwrap_or(LISTED)).unwrap_or(usize::MAX);
        pages::cut(&told, most, |some, more| {
            ok(&HistoryReply { ok: true, conversations: some.to_vec(), hits: Vec::new(), more })
        })
    }

    pub(super) async fn conversation(&self, request: Conversation) -> Answer {
        let chats = self.chats("conversation")?;
        let cursor = match &request.cursor {
            Some(text) => {
                Cursor::parse(text).ok_or_else(|| invalid("there is no such place in a conversation"))?
            }
            None => Cursor::default(),
        };
        let saved = chats.saved(&request.session).await.map_err(|error| reply(&error))?;
        let live = chats.live(&request.session);
        let conversation =
            items::summary(&saved.summary(), live.is_some(), live.is_some_and(|chat| is_running(&chat)));
        let mut room = PAGE;
        loop {
            let (messages, next) = pages::page(&saved.messages, cursor, room);
            let next = next.map(|next| next.to_string());
            let page = ConversationReply { ok: true, conversation: conversation.clone(), messages, next };
            match ok(&page) {
                Err(_) if room > pages::LEAST => room /= 2,
                answer => return Ok((answer?, Next::Request)),
            }
        }
    }

    pub(super) async fn forget(&self, request: Forget) -> Answer {
        let chats = self.chats("forget")?;
        chats.delete(&request.session, None).await.map_err(|error| reply(&error))?;
        Ok((ok(&OkReply::default())?, Next::Request))
    }

    // ---- where agents work ----

    pub(super) async fn workspaces(&self) -> Answer {
        let chats = self.chats("workspaces")?;
        let (known, git) = (chats.workspaces().all(), chats.git());
        // Saved sessions that cannot be read are no reason to show nothing.
        let sessions = chats.list(None).await.unwrap_or_default();
        let looked = move || -> Vec<WorkspaceItem> {
            let count = |path: &Path| sessions.iter().filter(|one| one.summary.workspace == path).count();
            known.iter().map(|one| items::workspace(one, &git.facts(&one.path), count(&one.path))).collect()
        };
        let all = tokio::task::spawn_blocking(looked).await.map_err(|error| lost(&error))?;
        as_many(&all, |some, more| ok(&WorkspacesReply { ok: true, workspaces: some.to_vec(), more }))
    }

    pub(super) async fn workspace(&self, request: Workspace) -> Answer {
        let chats = self.chats("workspace")?;
        let mut path = directory(&request.path).await?;
        request
            .agent
            .as_deref()
            .map_or(Ok(()), |agent| chats.check_agent(agent))
            .map_err(|error| reply(&error))?;
        let context_dirs = match &request.context_dirs {
            Some(dirs) if dirs.len() > CONTEXT_DIRS => {
                return Err(invalid(format!("a workspace has {CONTEXT_DIRS} context directories at most")));
            }
            Some(dirs) => {
                let mut found = Vec::with_capacity(dirs.len());
                for dir in dirs {
                    found.push(directory(dir).await?);
                }
                Some(found)
            }
            None => None,
        };
        if let Some(name) = &request.worktree {
            let umask = request.umask.unwrap_or(self.coop.settings.umask);
            path = chats.git().create_worktree(&path, name, umask).await.map_err(invalid)?;
        }
        let mut workspace = chats.workspaces().get(&path).as_ref().clone();
        workspace.context_dirs = context_dirs.unwrap_or(workspace.context_dirs);
        workspace.agent = request.agent.or(workspace.agent);
        workspace.last_accessed = Timestamp::of(SystemTime::now());
        let kept = chats.workspaces().keep(workspace.clone()).await;
        kept.map_err(|error| reply(&ChatError::Store(error.to_string())))?;
        let git = chats.git();
        let facts =
            tokio::task::spawn_blocking(move || git.facts(&path)).await.map_err(|error| lost(&error))?;
        let workspace = items::workspace(&workspace, &facts, 0);
        Ok((ok(&WorkspaceReply { ok: true, workspace })?, Next::Request))
    }

    pub(super) fn agents(&self) -> Answer {
        let agents = self.chats("agents")?.backends().agents().into_iter();
        let agents = agents.map(|agent| ChatAgentItem {
            name: agent.name,
            kind: agent.kind.to_owned(),
            detail: agent.detail,
        });
        Ok((ok(&AgentsReply { ok: true, agents: agents.collect() })?, Next::Request))
    }
}

fn is_running(chat: &Chat) -> bool {
    chat.view().state.is_running()
}

/// A directory that exists, by its full path.
async fn directory(text: &str) -> Result<PathBuf, ErrorReply> {
    chat::directory(Path::new(text)).await.map_err(|error| reply(&error))
}

/// As many items as fit into an answer.
fn as_many<T: Clone>(items: &[T], encode: impl Fn(&[T], bool) -> Result<Vec<u8>, ErrorReply>) -> Answer {
    pages::cut(items, usize::MAX, encode)
}

fn lost(error: &tokio::task::JoinError) -> ErrorReply {
    ErrorReply::new(ErrorCode::InternalError, error.to_string())
}

/// Errors about conversations in the words of the protocol.
fn reply(error: &ChatError) -> ErrorReply {
    let code = match error {
        ChatError::Agent(_) | ChatError::Store(_) => ErrorCode::InternalError,
        ChatError::Exists(_) => ErrorCode::SessionExists,
        ChatError::Limit(_) | ChatError::Refused(Refused::Limit(_)) => ErrorCode::LimitReached,
        ChatError::Name(_)
        | ChatError::NoAgent(..)
        | ChatError::Refused(Refused::Empty | Refused::NotOwner)
        | ChatError::Terminal(_)
        | ChatError::WorkspaceDenied(_)
        | ChatError::WorkspaceInvalid(_) => ErrorCode::InvalidCommand,
        ChatError::NotFound(_) => ErrorCode::SessionNotFound,
        ChatError::Refused(Refused::Busy) => ErrorCode::AgentBusy,
        ChatError::Refused(Refused::NotAsked) => ErrorCode::ApprovalNotFound,
    };
    let text = match error {
        ChatError::Refused(Refused::NotAsked) => "nothing of that name waits for an approval".to_owned(),
        other => other.to_string(),
    };
    ErrorReply::new(code, text)
}
