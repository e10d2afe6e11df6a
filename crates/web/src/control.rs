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
use swb_operations::{EventStream, HostAction, Outcome, Then};
use swb_wire::control::{ErrorCode, ErrorReply, OkReply, Operation, encode_body};
use swb_wire::web::request::{Id, WebRequest, read_request, with_id};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
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
    let (typing, typed) = mpsc::channel(limits::OPERATIONS);
    let exchange = Exchange { site, visitor: visitor.clone(), out, requests: Arc::default() };
    let ending = tokio::select! {
        ending = exchange.receive(&mut receiver, typing) => ending,
        () = exchange.execute_in_order(typed) => None,
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
    async fn receive(
        &self,
        receiver: &mut Receiver,
        typing: mpsc::Sender<(Request, Operation)>,
    ) -> Option<Ending> {
        // Dropped with the connection: whoever waits, waits no longer.
        let mut running = JoinSet::new();
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
            match incoming {
                WebRequest::Cancel(other) => request.cancel(&other).await,
                // What is typed arrives in the order in which it was sent.
                WebRequest::Operation(operation) if types(&operation) => {
                    typing.send((request, operation)).await.ok()?;
                }
                WebRequest::Operation(operation) => {
                    running.spawn(request.run(operation));
                }
            }
        }
    }

    /// Executes operations one after the other.
    async fn execute_in_order(&self, mut operations: mpsc::Receiver<(Request, Operation)>) {
        while let Some((request, operation)) = operations.recv().await {
            request.run(operation).await;
        }
        std::future::pending().await
    }

    fn begin(&self, id: &Id) -> Result<Request, ErrorReply> {
        let mut requests = self.lock();
        if requests.contains_key(id) {
            return Err(invalid("a request with this id is under way"));
        }
        if requests.len() >= limits::OPERATIONS {
            let text = format!("{} requests of this connection are under way already", limits::OPERATIONS);
            return Err(ErrorReply::new(ErrorCode::LimitReached, text));
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
        let outcome = match prepared(operation) {
            Ok(operation) => exchange.site.execute(&exchange.visitor, operation).await,
            Err(error) => Err(error),
        };
        let Outcome { reply, then } = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return self.error(error).await,
        };
        exchange.send(Some(&self.id), &reply).await;
        match then {
            Then::Events(events) => self.send_events(*events).await,
            Then::Host(action) => self.act(action).await,
            // The terminal of a new shell is opened with `/ws`.
            Then::Nothing | Then::Close | Then::Chat | Then::Terminal(_) => {}
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

/// Whether an operation types: the order of such operations matters to the program.
fn types(operation: &Operation) -> bool {
    matches!(operation, Operation::Keys(_) | Operation::Paste(_) | Operation::Relay(_) | Operation::Send(_))
}

/// The operation as this connection can carry it.
fn prepared(operation: Operation) -> Result<Operation, ErrorReply> {
    match operation {
        Operation::Attach(_) => Err(invalid("'attach' is the WebSocket /ws")),
        Operation::Chat => Err(invalid("'chat' is the WebSocket /api/chat")),
        Operation::Logs(logs) if logs.follow => Err(invalid("'follow' is the WebSocket /ws with watch=1")),
        other => Ok(other),
    }
}

fn invalid(text: &str) -> ErrorReply {
    ErrorReply::new(ErrorCode::InvalidCommand, text)
}
