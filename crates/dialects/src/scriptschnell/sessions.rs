//! Sessions: create, attach, load, detach, delete, save and list.

use super::attachment::{ConnectionPresence, SessionAttachment};
use super::errors::{invalid, mapped};
use super::event_mapper::usage_info;
use super::history;
use super::request_handler::RequestHandler;
use crate::limits;
use std::time::{Duration, SystemTime};
use swb_chat::{ClientRole, SavedConversation};
use swb_engine::chat::{Chat, ListedChat, NewChat};
use swb_types::{SessionName, Timestamp};
use swb_wire::scriptschnell as wire;
use swb_wire::scriptschnell::{
    CreateOptions, ErrorInfo, ServerMessage, SessionAttach, SessionCreate, SessionCreated, SessionFilter,
    SessionItem, SessionList, SessionLoaded, SessionPlace, SessionSave, SessionSaved, SessionState, Time,
};

impl RequestHandler {
    /// SS-29 to SS-33
    pub(super) async fn session_create(&mut self, create: SessionCreate) -> Result<ServerMessage, ErrorInfo> {
        let named = self.directory(create.working_dir.as_deref());
        let directory = named.or_else(|| self.directory(create.workspace.as_deref()));
        let directory = directory.or_else(|| self.workspace.clone());
        let directory = directory
            .ok_or_else(|| invalid("workspace is missing; name one, or send workspace_set first"))?;
        let name = create.session_id.as_deref().filter(|id| !id.is_empty()).map(session_name).transpose()?;
        let options = create.options.unwrap_or_default();
        let agent = options.agent.clone().filter(|agent| !agent.is_empty());
        let agent = mapped(agent.map(|agent| self.front.chats.named_agent(&agent)).transpose())?;
        let new = NewChat { name, directory, auto_save: auto_save(&options), agent };
        let chat = mapped(self.front.chats.create(new).await)?;
        self.log_session("created", chat.name().as_str());
        let (attached, role, _) = self.attach(&chat, false, false).await?;
        let answer = SessionCreated {
            session_id: chat.name().to_string(),
            status: "created".to_owned(),
            workspace: chat.workspace().display().to_string(),
            working_dir: chat.working_dir().display().to_string(),
            created_at: Time(chat.created()),
            owner: role == ClientRole::Owner,
            running: false,
            terminal: self.is_on_terminal(&chat),
            agent: answering(&chat),
        };
        self.attachments.push(attached);
        Ok(ServerMessage::SessionCreateResponse(answer))
    }

    /// SS-34, SS-35, Q-52
    pub(super) async fn session_attach(&mut self, attach: SessionAttach) -> Result<ServerMessage, ErrorInfo> {
        let id = attach.session_id.filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| invalid("session_id is missing"))?;
        let takeover = attach.takeover.unwrap_or(false);
        let chat = mapped(self.front.chats.load(&id).await)?;
        let (owner, _) = self.attach_once(&chat, takeover, false).await?;
        Ok(ServerMessage::SessionAttach(SessionPlace {
            session_id: chat.name().to_string(),
            status: if owner { "attached" } else { "observing" }.to_owned(),
            workspace: chat.workspace().display().to_string(),
            working_dir: chat.working_dir().display().to_string(),
            owner,
            running: chat.view().state.is_running(),
        }))
    }

    /// SS-45
    pub(super) async fn session_load(&mut self, which: wire::SessionRef) -> Result<ServerMessage, ErrorInfo> {
        let id = which.session_id.filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| invalid("session_id is missing"))?;
        let chat = mapped(self.front.chats.load(&id).await)?;
        let (owner, saved) = self.attach_once(&chat, false, true).await?;
        let saved = match saved {
            Some(saved) => saved,
            // The session is attached already, so all later messages are sent as events.
            None => mapped(chat.saved().await)?,
        };
        let (messages, truncated) = history::latest(&saved.messages, &mut limits::CHAT_HISTORY.clone());
        Ok(ServerMessage::SessionLoad(SessionLoaded {
            session_id: chat.name().to_string(),
            working_dir: saved.working_dir.display().to_string(),
            workspace: saved.workspace.display().to_string(),
            title: saved.title,
            messages,
            status: "loaded".to_owned(),
            owner,
            running: chat.view().state.is_running(),
            truncated,
            terminal: self.is_on_terminal(&chat),
            agent: answering(&chat),
        }))
    }

    /// Attaches to a session, or makes it the current one if it is attached already. Returns whether the connection
    /// owns it and, with `history`, the messages from before it was attached.
    async fn attach_once(
        &mut self,
        chat: &Chat,
        takeover: bool,
        history: bool,
    ) -> Result<(bool, Option<SavedConversation>), ErrorInfo> {
        if let Some(at) = self.attachments.iter().position(|attached| attached.chat.is(chat)) {
            let attached = self.attachments.remove(at);
            if takeover {
                mapped(chat.take_over(attached.client).await)?;
            }
            let owns = takeover || attached.owns();
            self.attachments.push(attached);
            return Ok((owns, None));
        }
        let (attached, role, saved) = self.attach(chat, takeover, history).await?;
        let owner = role == ClientRole::Owner;
        self.attachments.push(attached);
        self.log_session(if owner { "attached" } else { "observed" }, chat.name().as_str());
        Ok((owner, saved))
    }

    /// SS-38: beyond the limit the connection detaches from its oldest session first. With `history` also returns the
    /// earlier messages.
    async fn attach(
        &mut self,
        chat: &Chat,
        takeover: bool,
        history: bool,
    ) -> Result<(SessionAttachment, ClientRole, Option<SavedConversation>), ErrorInfo> {
        let most = self.settings().max_sessions_per_connection.max(1);
        while self.attachments.len() >= most {
            let left = self.attachments.remove(0);
            self.log_session("detached", left.name());
            left.leave().await;
        }
        let leave = self.ended.child_token();
        let presence = ConnectionPresence::new(&self.stream, &self.outbound, &leave);
        let client = self.front.chats.client();
        let mut attachment = mapped(chat.attach(client, presence, takeover, history).await)?;
        let (role, saved) = (attachment.role, attachment.saved.take());
        let attached =
            SessionAttachment::new(attachment, &self.outbound, &self.front.fronts.tasks, leave, &self.ended);
        Ok((attached, role, saved))
    }

    /// SS-37
    pub(super) async fn session_detach(
        &mut self,
        which: wire::SessionRef,
    ) -> Result<ServerMessage, ErrorInfo> {
        let name = self.attached(which.session_id.as_deref())?.name().to_owned();
        if let Some(at) = self.attachments.iter().position(|attached| attached.name() == name) {
            self.attachments.remove(at).leave().await;
        }
        self.log_session("detached", &name);
        let state = SessionState { session_id: name, status: "detached".to_owned() };
        Ok(ServerMessage::SessionDetach(state))
    }

    /// SS-42, SS-43
    pub(super) async fn session_delete(
        &mut self,
        which: wire::SessionRef,
    ) -> Result<ServerMessage, ErrorInfo> {
        let id = which.session_id.filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| invalid("session_id is missing"))?;
        let here = self.attachments.iter().position(|attached| attached.name() == id);
        let client = here.and_then(|at| self.attachments.get(at)).map(|attached| attached.client);
        let by = client.unwrap_or_else(|| self.front.chats.client());
        mapped(self.front.chats.delete(&id, Some(by)).await)?;
        if let Some(at) = here {
            self.attachments.remove(at).deleted();
        }
        self.log_session("deleted", &id);
        Ok(ServerMessage::SessionDelete(SessionState { session_id: id, status: "deleted".to_owned() }))
    }

    /// SS-44
    pub(super) async fn session_save(&mut self, save: SessionSave) -> Result<ServerMessage, ErrorInfo> {
        let attached = self.attached(save.session_id.as_deref())?;
        let title = save.name.filter(|name| !name.is_empty());
        let saved = mapped(attached.chat.save(Some(attached.client), title).await)?;
        self.log_session("saved", saved.name.as_str());
        Ok(ServerMessage::SessionSave(SessionSaved {
            session_id: saved.name.to_string(),
            title: saved.title,
            saved_at: Time(Timestamp::of(SystemTime::now())),
            status: "saved".to_owned(),
        }))
    }

    /// SS-39 to SS-41
    pub(super) async fn session_list(&mut self, filter: SessionFilter) -> Result<ServerMessage, ErrorInfo> {
        let workspace = self.directory(filter.workspace.as_deref()).or_else(|| self.workspace.clone());
        let listed = mapped(self.front.chats.list(workspace.as_deref()).await)?;
        let [mut room, mut line] = limits::CHAT_LIST;
        let mut sessions = Vec::new();
        for (at, listed) in listed.into_iter().enumerate() {
            let wanted = at < limits::CHAT_HISTORIES && listed.summary.message_count > 0;
            let messages = match wanted {
                // It may have been removed meanwhile.
                true => self.front.chats.saved(listed.summary.name.as_str()).await.ok(),
                false => None,
            };
            let messages = messages.map(|saved| history::latest(&saved.messages, &mut room).0);
            let item = item(listed, messages.unwrap_or_default());
            let Some(left) = line.checked_sub(size(&item)) else { break };
            line = left;
            sessions.push(item);
        }
        Ok(ServerMessage::SessionListResponse(SessionList { sessions }))
    }
}

/// Who answers in a conversation.
fn answering(chat: &Chat) -> Option<String> {
    chat.view().settings.answering().map(str::to_owned)
}

/// SS-33: stricter than names of sessions, since other clients use them as file names.
fn session_name(id: &str) -> Result<SessionName, ErrorInfo> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !id.chars().all(allowed) {
        return Err(invalid("invalid session_id: only letters, digits, '.', '_' and '-' are allowed"));
    }
    SessionName::new(id).map_err(|error| invalid(error.to_string()))
}

/// SS-48
fn auto_save(options: &CreateOptions) -> Option<Duration> {
    let every = options.save_interval_seconds.map_or(limits::CHAT_AUTO_SAVE, Duration::from_secs);
    options.auto_save.unwrap_or(false).then_some(every)
}

fn item(listed: ListedChat, message_history: Vec<wire::HistoryItem>) -> SessionItem {
    let ListedChat { summary, running, live, .. } = listed;
    SessionItem {
        session_id: summary.name.to_string(),
        id: summary.name.to_string(),
        workspace: summary.workspace.display().to_string(),
        working_dir: summary.workspace.display().to_string(),
        title: summary.title,
        created_at: Time(summary.created),
        updated_at: Time(summary.updated),
        message_count: summary.message_count,
        status: if running { "active" } else { "idle" }.to_owned(),
        message_history,
        usage: usage_info(&summary.usage),
        live,
        agent: summary.agent,
    }
}

/// Maximum bytes of an item in a line, not counting its messages.
fn size(item: &SessionItem) -> usize {
    limits::SESSION_AROUND
        + 2 * (wire::text_len(&item.id) + wire::text_len(&item.workspace))
        + item.agent.as_deref().map_or(0, wire::text_len)
        + wire::text_len(&item.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    // SS-33
    #[test]
    fn session_ids_are_valid_file_names() {
        for good in ["a", "my-id", "A.b_c-9", "..."] {
            assert!(session_name(good).is_ok(), "{good}");
        }
        for bad in [".", "..", "../x", "a b", "ü", "a/b", "a\n", &"x".repeat(300)] {
            assert!(session_name(bad).is_err(), "{bad:?}");
        }
    }

    // SS-48
    #[test]
    fn autosave_is_off_unless_requested() {
        let options = |auto_save, save_interval_seconds| CreateOptions {
            auto_save,
            save_interval_seconds,
            ..CreateOptions::default()
        };
        assert_eq!(auto_save(&options(None, Some(5))), None);
        assert_eq!(auto_save(&options(Some(false), Some(5))), None);
        assert_eq!(auto_save(&options(Some(true), Some(5))), Some(Duration::from_secs(5)));
        assert_eq!(auto_save(&options(Some(true), None)), Some(limits::CHAT_AUTO_SAVE));
    }
}
