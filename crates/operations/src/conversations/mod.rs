//! Conversations with agents: list, search, read and forget them; list the agents.

pub(crate) mod items;
mod pages;

use crate::errors::{chat_error, invalid};
use crate::execute::Call;
use crate::limits;
use crate::reply::{OperationResult, done, first_items};
use pages::PageCursor;
use std::path::Path;
use swb_chat::{SavedConversation, Summary};
use swb_engine::chat::{ChatError, Chats};
use swb_types::Scope;
use swb_wire::control::{
    AgentsReply, ChatAgentItem, Conversation, ConversationItem, ConversationReply, ErrorCode, ErrorReply,
    Forget, History, HistoryReply, OkReply,
};

impl Call<'_> {
    /// The conversations, if the daemon holds any.
    pub(crate) fn chats(&self) -> Result<&Chats, ErrorReply> {
        let none = || ErrorReply::new(ErrorCode::NotImplemented, "this daemon has no conversations");
        self.operations.chats.as_ref().ok_or_else(none)
    }

    fn covers_conversation(&self, summary: &Summary) -> bool {
        self.caller.covers(summary.name.as_str(), Some(&summary.workspace))
    }

    /// A conversation, live or saved, within the caller's scope.
    async fn saved_conversation(&self, chats: &Chats, name: &str) -> Result<SavedConversation, ErrorReply> {
        let saved = chats.saved(name).await.map_err(|error| chat_error(&error))?;
        let unknown = || chat_error(&ChatError::NotFound(name.to_owned()));
        if self.covers_conversation(&saved.summary()) { Ok(saved) } else { Err(unknown()) }
    }

    pub(crate) async fn history(&self, history: History) -> OperationResult {
        let chats = self.chats()?;
        let workspace = history.workspace.as_deref().map(Path::new);
        let offset = usize::try_from(history.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        if let Some(words) = &history.search {
            let most = history.limit.unwrap_or(limits::HITS).min(limits::HITS * 10);
            let most = usize::try_from(most).unwrap_or(0);
            // One more item shows whether there are further ones.
            let looked = match self.caller.scope() {
                Scope::All => most.saturating_add(offset).saturating_add(1),
                // Hits outside the scope are removed afterwards; they must not displace those within it.
                Scope::Session(_) | Scope::Workspace(_) => limits::SCOPED_HITS,
            };
            let hits = chats.search(words, workspace, looked).await.map_err(|error| chat_error(&error))?;
            let shown =
                |hit: &swb_chat::SearchHit| items::hit(hit, chats.live(hit.summary.name.as_str()).as_ref());
            let hits = hits.iter().filter(|hit| self.covers_conversation(&hit.summary));
            let hits: Vec<_> = hits.skip(offset).map(shown).collect();
            return first_items(&hits, most, |some, more| HistoryReply {
                ok: true,
                hits: some.to_vec(),
                more,
                ..HistoryReply::default()
            });
        }
        if history.prompts == Some(true) {
            return self.prompts(chats, offset, history.limit).await;
        }
        let listed = chats.list(workspace).await.map_err(|error| chat_error(&error))?;
        // A terminal without messages has no history.
        let listed = listed
            .iter()
            .filter(|one| !one.live || one.summary.message_count > 0)
            .filter(|one| self.covers_conversation(&one.summary));
        let listed: Vec<_> = listed.skip(offset).map(items::conversation).collect();
        let most = usize::try_from(history.limit.unwrap_or(limits::LISTED)).unwrap_or(usize::MAX);
        first_items(&listed, most, |some, more| HistoryReply {
            ok: true,
            conversations: some.to_vec(),
            more,
            ..HistoryReply::default()
        })
    }

    /// The messages of users in the conversations within the caller's scope.
    async fn prompts(&self, chats: &Chats, offset: usize, limit: Option<u64>) -> OperationResult {
        let most = limit.unwrap_or(limits::PROMPTS).min(limits::PROMPTS);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        // One more item shows whether there are further ones.
        let looked = match self.caller.scope() {
            Scope::All => most.saturating_add(offset).saturating_add(1),
            Scope::Session(_) | Scope::Workspace(_) => limits::SCOPED_HITS,
        };
        let found = chats.prompts(looked).await.map_err(|error| chat_error(&error))?;
        let found =
            found.iter().filter(|prompt| self.caller.covers(prompt.name.as_str(), Some(&prompt.workspace)));
        let found: Vec<_> = found.skip(offset).map(items::prompt).collect();
        first_items(&found, most, |some, more| HistoryReply {
            ok: true,
            prompts: some.to_vec(),
            more,
            ..HistoryReply::default()
        })
    }

    pub(crate) async fn conversation(&self, request: Conversation) -> OperationResult {
        let chats = self.chats()?;
        let cursor = match &request.cursor {
            Some(text) => PageCursor::parse(text)
                .ok_or_else(|| invalid("invalid cursor; use the value of 'next' in the previous page"))?,
            None => PageCursor::default(),
        };
        let saved = self.saved_conversation(chats, &request.session).await?;
        let live = chats.live(&request.session);
        let view = live.map(|chat| chat.view());
        let running = view.as_ref().is_some_and(|view| view.state.is_running());
        let asking_since = view.as_ref().and_then(|view| view.asking_since()).map(|since| since.0);
        let item = items::summary(&saved.summary(), view.is_some(), running);
        let conversation = ConversationItem { asking_since, ..item };
        let mut room = limits::PAGE;
        loop {
            let (messages, next) = pages::page(&saved.messages, cursor, room);
            let next = next.map(|next| next.to_string());
            let page = ConversationReply { ok: true, conversation: conversation.clone(), messages, next };
            match done(&page) {
                Err(_) if room > limits::PAGE_LEAST => room /= 2,
                answer => return answer,
            }
        }
    }

    pub(crate) async fn forget(&self, request: Forget) -> OperationResult {
        let chats = self.chats()?;
        if *self.caller.scope() != Scope::All {
            self.saved_conversation(chats, &request.session).await?;
        }
        chats.delete(&request.session, None).await.map_err(|error| chat_error(&error))?;
        done(&OkReply::default())
    }

    pub(crate) fn agents(&self) -> OperationResult {
        let agents = self.chats()?.backends().agents().into_iter();
        let agents = agents.map(|agent| ChatAgentItem {
            name: agent.name,
            kind: agent.kind.to_owned(),
            detail: agent.detail,
        });
        done(&AgentsReply { ok: true, agents: agents.collect() })
    }
}
