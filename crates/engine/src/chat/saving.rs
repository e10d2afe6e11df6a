//! When and how a conversation is written to disk.

use super::error::ChatError;
use super::handle::Reply;
use super::task::ConversationTask;
use crate::limits;
use std::sync::Arc;
use std::time::Duration;
use swb_chat::Saved;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// When and how a conversation is saved. The disk may be slow: nobody but those who asked waits for it.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// The interval at which it is saved by itself.
    pub(super) every: Option<Duration>,
    /// When, if it has changed since it was last saved.
    pub(super) due: Option<Instant>,
    /// What is being written, and who wants to know.
    pub(super) running: Option<Save>,
    /// It is to be written once more after that, and who wants to know.
    again: bool,
    waiting: Vec<Reply<Saved>>,
    /// How often it has changed, and how often it had when it was last saved.
    pub(super) changes: u64,
    saved: Option<u64>,
}

/// A conversation that is being written.
#[derive(Debug)]
pub(super) struct Save {
    pub(super) task: JoinHandle<Result<(), ChatError>>,
    what: Arc<Saved>,
    changes: u64,
    replies: Vec<Reply<Saved>>,
}

impl Saving {
    pub(super) fn new(every: Option<Duration>) -> Self {
        let every = every.map(|every| every.clamp(limits::CHAT_SAVE[0], limits::CHAT_SAVE[1]));
        Self { every, ..Self::default() }
    }

    /// Of a conversation that was just loaded.
    pub(super) fn loaded() -> Self {
        Self { saved: Some(0), ..Self::default() }
    }

    pub(super) fn is_saved(&self) -> bool {
        self.saved == Some(self.changes)
    }
}

impl ConversationTask {
    /// Has it written to disk, again if it is being written; whoever asks is told when it is.
    pub(super) fn save(&mut self, reply: Option<Reply<Saved>>) {
        self.saving.due = None;
        if self.saving.running.is_some() {
            self.saving.again = true;
            return self.saving.waiting.extend(reply);
        }
        self.begin_save(reply.into_iter().collect());
    }

    fn begin_save(&mut self, replies: Vec<Reply<Saved>>) {
        let what = Arc::new(self.conversation.saved().clone());
        let (chats, kept) = (self.chats.clone(), Arc::clone(&what));
        let write = async move { chats.archived(move |archive| archive.save(&kept)).await };
        let task = self.chats.inner.tasks.spawn(write);
        self.saving.running = Some(Save { task, what, changes: self.saving.changes, replies });
    }

    /// It was written, or could not be.
    pub(super) fn saved(&mut self, result: Result<(), ChatError>) {
        let Some(save) = self.saving.running.take() else { return };
        match &result {
            Ok(()) => self.saving.saved = Some(save.changes),
            Err(error) => {
                tracing::warn!(session = %save.what.name, %error, "a session could not be saved");
                self.saving.due = self.saving.every.map(|every| Instant::now() + every);
            }
        }
        for reply in save.replies {
            let _told = reply.send(result.clone().map(|()| save.what.as_ref().clone()));
        }
        self.show();
        if std::mem::take(&mut self.saving.again) {
            let waiting = std::mem::take(&mut self.saving.waiting);
            self.begin_save(waiting);
        }
    }

    /// Waits for what is being written, and has the rest written if it is to be saved by itself.
    pub(super) async fn finish_saving(&mut self, by_itself: bool) {
        if by_itself && self.saving.every.is_some() && self.saving.due.is_some() {
            self.save(None);
        }
        while let Some(save) = &mut self.saving.running {
            let result = written(Some(&mut save.task)).await;
            self.saved(result);
        }
    }
}

/// What became of what was being written; never, if nothing is.
pub(super) async fn written(task: Option<&mut JoinHandle<Result<(), ChatError>>>) -> Result<(), ChatError> {
    match task {
        Some(task) => task.await.unwrap_or_else(|error| Err(ChatError::Store(error.to_string()))),
        None => std::future::pending().await,
    }
}
