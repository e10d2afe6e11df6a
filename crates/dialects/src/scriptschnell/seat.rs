//! A connection's place at a session, and the task that passes on what happens there.

use super::errors;
use super::teller::Teller;
use super::voice::Voice;
use crate::limits;
use crate::peer::{has_closed, has_stopped_sending};
use std::sync::{Arc, Weak};
use swb_chat::{ClientId, Event, SoFar};
use swb_engine::chat::{Attachment, Chat, ChatError, Outcome, Presence, PromptOptions, Sent};
use swb_wire::scriptschnell::{ChatEnd, ErrorInfo, ServerMessage};
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Generations of one session whose end has not been told yet: the one that runs, and those before it that ended just
/// now.
const SENDS: usize = 4;

/// A place at a session; given up when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) chat: Chat,
    pub(super) client: ClientId,
    voice: Arc<Voice>,
    sends: mpsc::Sender<Pending>,
    leave: DropGuard,
}

/// A generation that somebody waits for.
#[derive(Debug)]
struct Pending {
    request_id: Option<String>,
    sent: Sent,
    counted: Counted,
}

/// Counts a generation of the connection while it is there.
#[derive(Debug)]
struct Counted(Arc<Voice>);

impl Counted {
    fn new(voice: &Arc<Voice>) -> Self {
        voice.generations.send_modify(|running| *running += 1);
        Self(Arc::clone(voice))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.generations.send_modify(|running| *running -= 1);
    }
}

impl Seat {
    /// Passes on what happens from now on, beginning with what waits for an answer, until the place is given up, which
    /// cancels `leave`, or the connection has `ended`.
    pub(super) fn take(
        attachment: Attachment,
        voice: &Arc<Voice>,
        tasks: &TaskTracker,
        leave: CancellationToken,
        ended: &CancellationToken,
    ) -> Self {
        let (chat, client) = (attachment.chat.clone(), attachment.client);
        let owner = attachment.place == swb_chat::Place::Owner;
        let teller = Teller::new(chat.name().to_string(), voice.capabilities(), owner);
        let (sends, pending) = mpsc::channel(SENDS);
        let follower = Follower {
            chat: chat.clone(),
            client,
            teller,
            voice: Arc::clone(voice),
            sends: pending,
            leave: leave.clone(),
        };
        tasks.spawn(ended.clone().run_until_cancelled_owned(follower.run(attachment)));
        Self { chat, client, voice: Arc::clone(voice), sends, leave: leave.drop_guard() }
    }

    pub(super) fn name(&self) -> &str {
        self.chat.name().as_str()
    }

    /// Whether this connection may act.
    pub(super) fn owns(&self) -> bool {
        self.chat.owner() == Some(self.client)
    }

    /// Whether the session was deleted.
    pub(super) fn is_gone(&self) -> bool {
        self.sends.is_closed()
    }

    /// SS-49: begins a generation; its end is told by the task beside, after everything that happens until then.
    pub(super) async fn send(
        &self,
        request_id: Option<String>,
        prompt: String,
        options: PromptOptions,
    ) -> Result<(), ErrorInfo> {
        let place = self.sends.reserve().await;
        let place = place.map_err(|_| errors::info(&ChatError::NotFound(self.name().to_owned())))?;
        // From before it begins, so that the client is never taken for one that has nothing to wait for.
        let counted = Counted::new(&self.voice);
        let sent = self.chat.send(Some(self.client), prompt, options).await;
        let sent = sent.map_err(|error| errors::info(&error))?;
        place.send(Pending { request_id, sent, counted });
        Ok(())
    }

    /// Gives the place up, and waits until that is so: whoever is told of it may rely on it.
    pub(super) async fn leave(self) {
        let (mut view, client) = (self.chat.watch(), self.client);
        drop(self);
        // Its session may end meanwhile; then there is no place either.
        let _left =
            tokio::time::timeout(limits::GOODBYE, view.wait_for(|view| view.owner != Some(client))).await;
    }

    /// Gives the place up of a session that was deleted: everything up to that is still told.
    pub(super) fn deleted(self) {
        self.leave.disarm();
    }
}

/// The connection of a client, as others at the same session see it.
#[derive(Debug)]
pub(super) struct ConnectionPresence {
    stream: Weak<UnixStream>,
    voice: Arc<Voice>,
    leave: CancellationToken,
}

impl ConnectionPresence {
    pub(super) fn new(stream: &Weak<UnixStream>, voice: &Arc<Voice>, leave: &CancellationToken) -> Arc<Self> {
        Arc::new(Self { stream: Weak::clone(stream), voice: Arc::clone(voice), leave: leave.clone() })
    }
}

impl Presence for ConnectionPresence {
    /// A client that has only stopped sending stays while something it began runs.
    fn is_leaving(&self) -> bool {
        let Some(stream) = self.stream.upgrade().filter(|_| !self.leave.is_cancelled()) else { return true };
        has_closed(&stream) || (has_stopped_sending(&stream) && self.voice.running() == 0)
    }
}

/// What a wait brought.
enum News {
    Left,
    Event(Result<Arc<Event>, broadcast::error::RecvError>),
    Sent(Pending),
    Outcome(Option<Outcome>),
}

struct Follower {
    chat: Chat,
    client: ClientId,
    teller: Teller,
    voice: Arc<Voice>,
    sends: mpsc::Receiver<Pending>,
    leave: CancellationToken,
}

impl Follower {
    async fn run(mut self, attachment: Attachment) {
        self.tell_so_far(attachment.so_far.as_ref());
        self.tell_what_waits();
        let mut attachment = Some(attachment);
        let mut pending: Option<Pending> = None;
        loop {
            let (attached, waits) = (attachment.is_some(), pending.is_some());
            let news = tokio::select! {
                // What happened before the end of a generation is told before that end, hence the order.
                biased;
                () = self.leave.cancelled(), if attached => News::Left,
                event = happened(&mut attachment), if attached => News::Event(event),
                outcome = ended(&mut pending), if waits => News::Outcome(outcome),
                Some(sent) = self.sends.recv(), if !waits => News::Sent(sent),
                else => return,
            };
            match news {
                News::Left => attachment = None,
                News::Event(Ok(event)) => {
                    self.tell(&event);
                    if matches!(*event, Event::Deleted) {
                        attachment = None;
                        self.sends.close();
                    }
                }
                News::Event(Err(broadcast::error::RecvError::Closed)) => {
                    attachment = None;
                    self.sends.close();
                }
                News::Event(Err(broadcast::error::RecvError::Lagged(_))) => {
                    tracing::info!(connection = self.voice.id, "events were lost; closing");
                    return self.voice.outbox.give_up();
                }
                News::Sent(sent) => pending = Some(sent),
                News::Outcome(outcome) => {
                    if let Some(Pending { request_id, counted, .. }) = pending.take() {
                        self.answer(outcome, request_id.as_deref());
                        drop(counted);
                    }
                }
            }
        }
    }

    /// Whoever comes in the middle of an answer gets its beginning in one piece, so that there is nothing missing (SS-53).
    fn tell_so_far(&mut self, so_far: Option<&SoFar>) {
        if let Some(SoFar { stream, text }) = so_far.cloned() {
            self.tell(&Event::Text { stream, text, last: false });
        }
    }

    /// Whoever comes is asked what others have not answered yet.
    fn tell_what_waits(&mut self) {
        let view = self.chat.view();
        for approval in &view.approvals {
            let message = self.teller.approval(approval);
            self.say(message);
        }
        for question in &view.questions {
            let message = self.teller.question(question);
            self.say(message);
        }
    }

    fn tell(&mut self, event: &Event) {
        let owner = matches!(event, Event::Seated) && self.chat.owner() == Some(self.client);
        let messages = self.teller.tell(event, owner);
        self.say(messages);
    }

    fn say(&self, messages: impl IntoIterator<Item = ServerMessage>) {
        messages.into_iter().for_each(|message| self.voice.say(&message, None));
    }

    /// SS-49, SS-55, SS-80: the one answer to a `chat_send` that began something.
    fn answer(&self, outcome: Option<Outcome>, request_id: Option<&str>) {
        let status = match outcome {
            Some(Outcome::Completed) => "completed",
            Some(Outcome::Stopped) | None => "stopped",
            Some(Outcome::Failed(failure)) => {
                return self.voice.refuse(errors::failure(&failure), request_id);
            }
        };
        let (usage, context_usage) = self.teller.usage();
        let session_id = self.chat.name().to_string();
        let end = ChatEnd { status: status.to_owned(), session_id, usage, context_usage };
        self.voice.say(&ServerMessage::ChatSend(end), request_id);
    }
}

async fn happened(attachment: &mut Option<Attachment>) -> Result<Arc<Event>, broadcast::error::RecvError> {
    match attachment {
        Some(attachment) => attachment.events.recv().await,
        None => std::future::pending().await,
    }
}

/// How a generation ended; nothing if its session is gone.
async fn ended(pending: &mut Option<Pending>) -> Option<Outcome> {
    match pending {
        Some(pending) => (&mut pending.sent).await.ok(),
        None => std::future::pending().await,
    }
}
