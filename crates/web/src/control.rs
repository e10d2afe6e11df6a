//! Operations over a WebSocket: each text message is one, with an `id` that its reply and its events carry.

use crate::access::Visitor;
use crate::limits;
use crate::rest::RestError;
use crate::site::Site;
use crate::socket::{self, Ending, Pings, Receiver, Sender, UpgradeRequest};
use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::response::Response;
use futures_util::StreamExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_operations::{EventStream, HostAction, Outcome, Then, waits};
use swb_wire::control::{ErrorCode, ErrorReply, OkReply, Operation, encode_body};
use swb_wire::web::request::{Id, WebRequest, read_request, with_id};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// `/api/control`
pub(crate) async fn open(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    request: UpgradeRequest,
) -> Result<Response, RestError> {
    let upgrade = socket::upgrade(request, limits::MESSAGE)?;
    Ok(upgrade.on_upgrade(move |stream| serve(site, visitor, stream)))
}

async fn serve(site: Arc<Site>, visitor: Visitor, stream: WebSocket) {
    let (mut sender, mut receiver) = stream.split();
    let (out, mut replies) = mpsc::channel(limits::OUTBOUND);
    let exchange = Exchange { site, visitor: visitor.clone(), out, requests: Arc::default() };
    let ending = tokio::select! {
        ending = exchange.receive(&mut receiver) => ending,
        ending = send_replies(&mut sender, &mut replies) => ending,
        ending = socket::dismissed(&visitor) => Some(ending),
    };
    if let Some(ending) = ending {
        socket::close(&mut sender, ending).await;
    }
}

/// Sends replies and pings; ends when the client does not read.
async fn send_replies(sender: &mut Sender, replies: &mut mpsc::Receiver<Outgoing>) -> Option<Ending> {
    let mut pings = Pings::new();
    loop {
        let message = tokio::select! {
            biased;
            Some(outgoing) = replies.recv() => match outgoing {
                Outgoing::Message(message) => message,
                Outgoing::Sent(confirm) => {
                    // Nobody may wait for it any more.
                    let _told = confirm.send(());
                    continue;
                }
            },
            ping = pings.next() => ping,
        };
        if !socket::send(sender, message).await {
            return None;
        }
    }
}

/// What is to be sent.
enum Outgoing {
    Message(Message),
    /// Confirms that everything before it has been sent.
    Sent(oneshot::Sender<()>),
}

/// What the requests of one connection share.
#[derive(Clone)]
struct Exchange {
    site: Arc<Site>,
    visitor: Visitor,
    out: mpsc::Sender<Outgoing>,
    /// The requests under way, and how to cancel them.
    requests: Arc<Mutex<HashMap<Id, CancellationToken>>>,
}

/// A request under way; dropping it frees its id.
struct Request {
    exchange: Exchange,
    id: Id,
    cancelled: CancellationToken,
}

impl Exchange {
    /// Starts what the client requests until it leaves or breaks a rule.
    async fn receive(&self, receiver: &mut Receiver) -> Option<Ending> {
        // Dropped with the connection: whoever waits, waits no longer.
        let mut running = JoinSet::new();
        let mut typing = TypingOrder::default();
        let [waiting, short] = [(); 2].map(|()| Arc::new(Semaphore::new(limits::OPERATIONS)));
        loop {
            while running.try_join_next().is_some() {}
            let text = match socket::receive(receiver).await? {
                Message::Text(text) => text,
                _ => {
                    self.send_error(None, invalid("messages have to be text")).await;
                    continue;
                }
            };
            let (id, incoming) = match read_request(&text) {
                Ok(message) => message,
                Err((id, error)) => {
                    self.send_error(id.as_deref(), error).await;
                    continue;
                }
            };
            let request = match self.begin(&id) {
                Ok(request) => request,
                Err(error) => {
                    self.send_error(Some(&id), error).await;
                    continue;
                }
            };
            let operation = match incoming {
                WebRequest::Cancel(other) => {
                    request.cancel(&other).await;
                    continue;
                }
                WebRequest::Operation(operation) => operation,
            };
            let long = waits(&operation) || matches!(operation, Operation::Events(_));
            let place = if long {
                Arc::clone(&waiting).try_acquire_owned().ok()
            } else {
                // Many short ones at once are not read faster than they are done.
                let free = timeout(limits::OPERATION_QUEUE, Arc::clone(&short).acquire_owned()).await;
                free.ok().and_then(Result::ok)
            };
            let Some(place) = place else {
                let text = format!("{} requests of this connection are under way", limits::OPERATIONS);
                request.error(ErrorReply::new(ErrorCode::LimitReached, text)).await;
                continue;
            };
            let turn = typing.next(&operation);
            running.spawn(async move {
                let _place = place;
                let _done = turn.before().await;
                request.run(operation).await;
            });
        }
    }

    fn begin(&self, id: &Id) -> Result<Request, ErrorReply> {
        let mut requests = self.lock();
        if requests.contains_key(id) {
            return Err(invalid("a request with this id is under way"));
        }
        let cancelled = CancellationToken::new();
        requests.insert(id.clone(), cancelled.clone());
        Ok(Request { exchange: self.clone(), id: id.clone(), cancelled })
    }

    async fn send_error(&self, id: Option<&str>, error: ErrorReply) {
        if let Ok(body) = encode_body(&error) {
            self.send(id, &body).await;
        }
    }

    /// Sends a JSON object with an id in front of its fields.
    async fn send(&self, id: Option<&str>, body: &[u8]) {
        let message = Message::Text(Utf8Bytes::from(with_id(id, body)));
        // The connection may have ended.
        let _sent = self.out.send(Outgoing::Message(message)).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Request {
    async fn run(self, operation: Operation) {
        tokio::select! {
            () = self.cancelled.cancelled() => {
                self.error(ErrorReply::new(ErrorCode::Cancelled, "cancelled by the client")).await;
            }
            () = self.execute(operation) => {}
        }
    }

    async fn execute(&self, operation: Operation) {
        let exchange = &self.exchange;
        let outcome = match carried(&operation) {
            Ok(()) => exchange.site.execute(&exchange.visitor, operation).await,
            Err(error) => Err(error),
        };
        let Outcome { reply, then } = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return self.error(error).await,
        };
        if matches!(then, Then::Chat) {
            return self.error(invalid("'chat' is the WebSocket /api/chat")).await;
        }
        exchange.send(Some(&self.id), &reply).await;
        match then {
            Then::Events(events) => self.send_events(*events).await,
            Then::Host(action) => self.act(action).await,
            // The terminal of a new shell is opened with `/ws`.
            Then::Nothing | Then::Close | Then::Terminal(_) | Then::Chat => {}
        }
    }

    async fn send_events(&self, mut events: EventStream) {
        while let Some(event) = events.next().await {
            if let Ok(body) = encode_body(&event) {
                self.exchange.send(Some(&self.id), &body).await;
            }
        }
    }

    /// Lets the reply leave before the daemon does.
    async fn act(&self, action: HostAction) {
        let (confirm, sent) = oneshot::channel();
        if self.exchange.out.send(Outgoing::Sent(confirm)).await.is_ok() {
            // A client that does not read loses its connection instead.
            let _sent = sent.await;
        }
        (self.exchange.site.context.act)(action);
    }

    async fn cancel(self, other: &Id) {
        let cancelled = self.exchange.lock().get(other).map(CancellationToken::cancel).is_some();
        if !cancelled {
            return self.error(invalid("no request with this id is under way")).await;
        }
        if let Ok(body) = encode_body(&OkReply::default()) {
            self.exchange.send(Some(&self.id), &body).await;
        }
    }

    async fn error(&self, error: ErrorReply) {
        self.exchange.send_error(Some(&self.id), error).await;
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.exchange.lock().remove(&self.id);
    }
}

/// What is typed into a session arrives in the order in which it was sent. One that does not read delays no other.
#[derive(Default)]
struct TypingOrder {
    /// For each session the end of the last operation that types.
    last: HashMap<String, oneshot::Receiver<()>>,
}

/// The place of an operation among those that type into the same session.
struct TypingTurn {
    before: Option<oneshot::Receiver<()>>,
    done: Option<oneshot::Sender<()>>,
}

impl TypingOrder {
    fn next(&mut self, operation: &Operation) -> TypingTurn {
        let session = match operation {
            Operation::Keys(keys) => &keys.session,
            Operation::Paste(paste) => &paste.session,
            Operation::Relay(relay) => &relay.to,
            Operation::Send(send) => &send.session,
            _ => return TypingTurn { before: None, done: None },
        };
        self.last.retain(|_, last| matches!(last.try_recv(), Err(TryRecvError::Empty)));
        let (done, end) = oneshot::channel();
        TypingTurn { before: self.last.insert(session.clone(), end), done: Some(done) }
    }
}

impl TypingTurn {
    /// Waits for the operations before it; the next ones wait until the result is dropped.
    async fn before(self) -> Option<oneshot::Sender<()>> {
        if let Some(before) = self.before {
            // It ends by being dropped.
            let _ended = before.await;
        }
        self.done
    }
}

/// Refuses an operation that needs a connection of its own.
fn carried(operation: &Operation) -> Result<(), ErrorReply> {
    match operation {
        Operation::Attach(_) => Err(invalid("'attach' is the WebSocket /ws")),
        Operation::Logs(logs) if logs.follow => Err(invalid("'follow' is the WebSocket /ws with watch=1")),
        _ => Ok(()),
    }
}

fn invalid(text: &str) -> ErrorReply {
    ErrorReply::new(ErrorCode::InvalidCommand, text)
}
