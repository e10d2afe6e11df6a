//! A connection that is attached to a session, and the task that sends its client the session's events.

use super::errors;
use super::event_mapper::EventMapper;
use super::outbound::Outbound;
use crate::limits;
use crate::peer::{has_closed, has_stopped_sending};
use std::sync::{Arc, Weak};
use swb_chat::{ChatEvent, ClientId, PartialAnswer};
use swb_engine::chat::{Chat, ChatAttachment, ChatError, GenerationOutcome, Presence, PromptOptions, Sent};
use swb_wire::scriptschnell::{ChatEnd, ErrorInfo, ServerMessage};
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Attaches a connection to a session until it is dropped.
#[derive(Debug)]
pub(super) struct SessionAttachment {
    pub(super) chat: Chat,
    pub(super) client: ClientId,
    outbound: Arc<Outbound>,
    sends: mpsc::Sender<Pending>,
    leave: DropGuard,
}

/// A generation whose end is the reply to a request.
#[derive(Debug)]
struct Pending {
    request_id: Option<String>,
    sent: Sent,
    counted: Counted,
}

/// Counts a running generation of the connection until it is dropped.
#[derive(Debug)]
struct Counted(Arc<Outbound>);

impl Counted {
    fn new(outbound: &Arc<Outbound>) -> Self {
        outbound.generations.send_modify(|running| *running += 1);
        Self(Arc::clone(outbound))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.generations.send_modify(|running| *running -= 1);
    }
}

impl SessionAttachment {
    /// Sends events from now on, starting with pending approvals and questions, until `leave` is cancelled or the
    /// connection has `ended`.
    pub(super) fn new(
        attachment: ChatAttachment,
        outbound: &Arc<Outbound>,
        tasks: &TaskTracker,
        leave: CancellationToken,
        ended: &CancellationToken,
    ) -> Self {
        let (chat, client) = (attachment.chat.clone(), attachment.client);
        let owner = attachment.role == swb_chat::ClientRole::Owner;
        let event_mapper = EventMapper::new(chat.name().to_string(), outbound.capabilities(), owner);
        let (sends, pending) = mpsc::channel(limits::CHAT_SENDS);
        let forwarder = EventForwarder {
            chat: chat.clone(),
            client,
            event_mapper,
            outbound: Arc::clone(outbound),
            sends: pending,
            leave: leave.clone(),
        };
        tasks.spawn(ended.clone().run_until_cancelled_owned(forwarder.run(attachment)));
        Self { chat, client, outbound: Arc::clone(outbound), sends, leave: leave.drop_guard() }
    }

    pub(super) fn name(&self) -> &str {
        self.chat.name().as_str()
    }

    /// Whether this connection owns the session.
    pub(super) fn owns(&self) -> bool {
        self.chat.owner() == Some(self.client)
    }

    /// Whether the session was deleted.
    pub(super) fn is_deleted(&self) -> bool {
        self.sends.is_closed()
    }

    /// SS-49: starts a generation; the [`EventForwarder`] sends its end, after all events before it.
    pub(super) async fn send(
        &self,
        request_id: Option<String>,
        prompt: String,
        options: PromptOptions,
    ) -> Result<(), ErrorInfo> {
        let queued = self.sends.reserve().await;
        let queued = queued.map_err(|_| errors::info(&ChatError::NotFound(self.name().to_owned())))?;
        // Counted before it starts: a half-closed client with a generation must never seem to be leaving.
        let counted = Counted::new(&self.outbound);
        let sent = self.chat.send(Some(self.client), prompt, options).await;
        let sent = sent.map_err(|error| errors::info(&error))?;
        queued.send(Pending { request_id, sent, counted });
        Ok(())
    }

    /// Detaches, and waits until the engine has done so: the reply to the client follows.
    pub(super) async fn leave(self) {
        let (mut view, client) = (self.chat.watch(), self.client);
        drop(self);
        // The session may end meanwhile, which ends the attachment as well.
        let _left =
            tokio::time::timeout(limits::GOODBYE, view.wait_for(|view| view.owner != Some(client))).await;
    }

    /// Detaches from a session that was deleted; all earlier events are still sent.
    pub(super) fn deleted(self) {
        self.leave.disarm();
    }
}

/// What the engine can ask about the connection of an attached client.
#[derive(Debug)]
pub(super) struct ConnectionPresence {
    stream: Weak<UnixStream>,
    outbound: Arc<Outbound>,
    leave: CancellationToken,
}

impl ConnectionPresence {
    pub(super) fn new(
        stream: &Weak<UnixStream>,
        outbound: &Arc<Outbound>,
        leave: &CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self { stream: Weak::clone(stream), outbound: Arc::clone(outbound), leave: leave.clone() })
    }
}

impl Presence for ConnectionPresence {
    /// A client that has only stopped sending stays attached as long as one of its generations runs.
    fn is_leaving(&self) -> bool {
        let Some(stream) = self.stream.upgrade().filter(|_| !self.leave.is_cancelled()) else { return true };
        has_closed(&stream) || (has_stopped_sending(&stream) && self.outbound.running() == 0)
    }
}

/// What the forwarder was woken by.
enum Wake {
    Left,
    Event(Result<Arc<ChatEvent>, broadcast::error::RecvError>),
    Sent(Pending),
    Outcome(Option<GenerationOutcome>),
}

/// Sends the events of one session to one client.
struct EventForwarder {
    chat: Chat,
    client: ClientId,
    event_mapper: EventMapper,
    outbound: Arc<Outbound>,
    sends: mpsc::Receiver<Pending>,
    leave: CancellationToken,
}

impl EventForwarder {
    async fn run(mut self, attachment: ChatAttachment) {
        self.send_partial_answer(attachment.partial_answer.as_ref());
        self.send_waiting();
        let mut attachment = Some(attachment);
        let mut pending: Option<Pending> = None;
        loop {
            let (attached, waits) = (attachment.is_some(), pending.is_some());
            let wake = tokio::select! {
                // Biased: events from before the end of a generation are sent before that end.
                biased;
                () = self.leave.cancelled(), if attached => Wake::Left,
                event = next_event(&mut attachment), if attached => Wake::Event(event),
                outcome = ended(&mut pending), if waits => Wake::Outcome(outcome),
                Some(sent) = self.sends.recv(), if !waits => Wake::Sent(sent),
                else => return,
            };
            match wake {
                Wake::Left => attachment = None,
                Wake::Event(Ok(event)) => {
                    self.forward(&event);
                    if matches!(*event, ChatEvent::Deleted) {
                        attachment = None;
                        self.sends.close();
                    }
                }
                Wake::Event(Err(broadcast::error::RecvError::Closed)) => {
                    attachment = None;
                    self.sends.close();
                }
                Wake::Event(Err(broadcast::error::RecvError::Lagged(_))) => {
                    tracing::info!(
                        connection = self.outbound.id,
                        "closing a scriptschnell connection: the client was too slow for its events"
                    );
                    return self.outbound.queue.give_up();
                }
                Wake::Sent(sent) => pending = Some(sent),
                Wake::Outcome(outcome) => {
                    if let Some(Pending { request_id, counted, .. }) = pending.take() {
                        self.reply(outcome, request_id.as_deref());
                        drop(counted);
                    }
                }
            }
        }
    }

    /// SS-53: a client that attaches in the middle of an answer gets its beginning in one piece.
    fn send_partial_answer(&mut self, partial_answer: Option<&PartialAnswer>) {
        if let Some(PartialAnswer { stream, text }) = partial_answer.cloned() {
            self.forward(&ChatEvent::Text { stream, text, last: false });
        }
    }

    /// A client that attaches gets the pending approvals and questions.
    fn send_waiting(&mut self) {
        let view = self.chat.view();
        for approval in &view.approvals {
            let message = self.event_mapper.approval(approval);
            self.send(message);
        }
        for question in &view.questions {
            let message = self.event_mapper.question(question);
            self.send(message);
        }
    }

    fn forward(&mut self, event: &ChatEvent) {
        let owner = matches!(event, ChatEvent::OwnerChanged) && self.chat.owner() == Some(self.client);
        let messages = self.event_mapper.map(event, owner);
        self.send(messages);
    }

    fn send(&self, messages: impl IntoIterator<Item = ServerMessage>) {
        messages.into_iter().for_each(|message| self.outbound.send(&message, None));
    }

    /// SS-49, SS-55, SS-80: the only reply to a `chat_send` that started a generation.
    fn reply(&self, outcome: Option<GenerationOutcome>, request_id: Option<&str>) {
        let (status, notice) = match outcome {
            Some(GenerationOutcome::Completed) => ("completed", None),
            Some(GenerationOutcome::Stopped(goes_on)) => ("stopped", goes_on),
            None => ("stopped", None),
            Some(GenerationOutcome::Failed(failure)) => {
                return self.outbound.send_error(errors::failure(&failure), request_id);
            }
        };
        let (usage, context_usage) = self.event_mapper.usage();
        let session_id = self.chat.name().to_string();
        let end = ChatEnd { status: status.to_owned(), session_id, usage, context_usage, notice };
        self.outbound.send(&ServerMessage::ChatSend(end), request_id);
    }
}

async fn next_event(
    attachment: &mut Option<ChatAttachment>,
) -> Result<Arc<ChatEvent>, broadcast::error::RecvError> {
    match attachment {
        Some(attachment) => attachment.events.recv().await,
        None => std::future::pending().await,
    }
}

/// How a generation ended; `None` if its session is gone.
async fn ended(pending: &mut Option<Pending>) -> Option<GenerationOutcome> {
    match pending {
        Some(pending) => (&mut pending.sent).await.ok(),
        None => std::future::pending().await,
    }
}
