//! When and how a conversation is written to disk.

use super::error::ChatError;
use super::handle::{ChatReply, CloseMode};
use super::task::ConversationTask;
use crate::limits;
use std::sync::Arc;
use std::time::Duration;
use swb_chat::SavedConversation;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// When and how a conversation is saved. The disk may be slow: only callers that requested a save wait for it.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// The interval of automatic saves.
    pub(super) every: Option<Duration>,
    /// When it is saved next, if it has changed since the last save.
    pub(super) due: Option<Instant>,
    /// The save that runs, with its callers.
    pub(super) running: Option<Save>,
    /// Whether another save follows, and its callers.
    again: bool,
    waiting: Vec<ChatReply<SavedConversation>>,
    /// Number of changes, and that number at the last save.
    pub(super) changes: u64,
    saved: Option<u64>,
    /// Whether the last save failed.
    failed: bool,
}

/// A save that runs.
#[derive(Debug)]
pub(super) struct Save {
    pub(super) task: JoinHandle<Result<(), ChatError>>,
    what: Arc<SavedConversation>,
    changes: u64,
    replies: Vec<ChatReply<SavedConversation>>,
}

impl Saving {
    pub(super) fn new(every: Option<Duration>) -> Self {
        let every = every.map(|every| every.clamp(limits::CHAT_SAVE[0], limits::CHAT_SAVE[1]));
        Self { every, ..Self::default() }
    }

    /// The state of a conversation that was just loaded.
    pub(super) fn loaded() -> Self {
        Self { saved: Some(0), ..Self::default() }
    }

    pub(super) fn is_saved(&self) -> bool {
        self.saved == Some(self.changes)
    }

    /// Whether what is not saved yet will be, without a request.
    pub(super) fn is_automatic(&self) -> bool {
        self.every.is_some() && !self.failed
    }
}

impl ConversationTask {
    /// Saves it to disk, again if a save runs; `reply` gets the result.
    pub(super) fn save(&mut self, reply: Option<ChatReply<SavedConversation>>) {
        self.saving.due = None;
        if self.saving.running.is_some() {
            self.saving.again = true;
            return self.saving.waiting.extend(reply);
        }
        self.begin_save(reply.into_iter().collect());
    }

    fn begin_save(&mut self, replies: Vec<ChatReply<SavedConversation>>) {
        let what = Arc::new(self.conversation.saved().clone());
        let (chats, kept) = (self.chats.clone(), Arc::clone(&what));
        let write = async move { chats.archived(move |archive| archive.save(&kept)).await };
        let task = self.chats.inner.tasks.spawn(write);
        self.saving.running = Some(Save { task, what, changes: self.saving.changes, replies });
    }

    /// Handles the end of a save.
    pub(super) fn saved(&mut self, result: Result<(), ChatError>) {
        let Some(save) = self.saving.running.take() else { return };
        self.saving.failed = result.is_err();
        match &result {
            Ok(()) => self.saving.saved = Some(save.changes),
            Err(error) => {
                tracing::warn!(session = %save.what.name, %error, "cannot save a conversation");
                self.saving.due = self.saving.every.map(|every| Instant::now() + every);
            }
        }
        for reply in save.replies {
            let _sent = reply.send(result.clone().map(|()| save.what.as_ref().clone()));
        }
        self.show();
        if std::mem::take(&mut self.saving.again) {
            let waiting = std::mem::take(&mut self.saving.waiting);
            self.begin_save(waiting);
        }
    }

    /// Waits for the save that runs, and saves the rest: if automatic saves are enabled, and a conversation that was saved
    /// before also if the daemon stops. Its user has every reason to expect all of it on disk.
    pub(super) async fn finish_saving(&mut self, mode: CloseMode) {
        let due = self.saving.every.is_some() && self.saving.due.is_some();
        if match mode {
            CloseMode::Delete => false,
            CloseMode::Stop => due || !self.saving.is_saved() && self.is_on_disk().await,
            CloseMode::Drop | CloseMode::PutAway => due,
        } {
            self.save(None);
        }
        while let Some(save) = &mut self.saving.running {
            let result = written(Some(&mut save.task)).await;
            self.saved(result);
        }
    }

    /// Whether an earlier state of it is on disk. An earlier daemon may have saved it.
    async fn is_on_disk(&mut self) -> bool {
        if self.saving.saved.is_some() {
            return true;
        }
        let (chats, name) = (self.chats.clone(), self.conversation.saved().name.clone());
        matches!(chats.kept(name.as_str()).await, Ok(Some(_)))
    }
}

/// Waits for the save that runs; forever if there is none.
pub(super) async fn written(task: Option<&mut JoinHandle<Result<(), ChatError>>>) -> Result<(), ChatError> {
    match task {
        Some(task) => task.await.unwrap_or_else(|error| Err(ChatError::Store(error.to_string()))),
        None => std::future::pending().await,
    }
}
