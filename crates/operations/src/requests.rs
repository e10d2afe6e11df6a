//! Requests over a connection that carries messages: each is one operation, many may be under way.
//!
//! A request with an `id` is answered whenever its operation is done, and its reply and its events carry the same `id`. A
//! request without one, where the transport allows that, is answered in order.

use crate::{
    Caller, EventStream, HostAction, OpenTerminal, Operations, Outcome, Then, TunnelEvents, limits, waits,
};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_wire::control::{ErrorCode, ErrorReply, OkReply, Operation, encode_body};
use swb_wire::web::request::{Id, WebRequest, read_request, with_id};
use tokio::runtime::Handle;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

/// Executes operations where those of all transports are executed, for transports on threads of their own.
#[derive(Clone)]
pub struct Executor {
    /// Executes them.
    pub operations: Operations,
    /// Where they run.
    pub daemon: Handle,
    /// Owns tasks on that runtime.
    pub tasks: TaskTracker,
}

impl Executor {
    /// Executes an operation. Dropping the future cancels a wait; any other operation is completed without a receiver for the reply.
    pub async fn execute(&self, caller: &Caller, operation: Operation) -> Result<Outcome, ErrorReply> {
        let (operations, caller) = (self.operations.clone(), caller.clone());
        let cancels = waits(&operation);
        let executing = async move { operations.execute(&caller, operation).await };
        let task = self.tasks.spawn_on(executing, &self.daemon);
        let outcome = if cancels { AbortOnDropHandle::new(task).await } else { task.await };
        let failed = |_| ErrorReply::new(ErrorCode::InternalError, "the daemon is stopping; try again");
        outcome.map_err(failed)?
    }
}

/// What the transport has to do next.
pub enum Outgoing {
    /// Send a message.
    Message(String),
    /// Confirm that everything before it has been sent.
    Sent(oneshot::Sender<()>),
    /// Carry an open terminal, which keeps its place as long as it is open.
    Terminal(Box<OpenTerminal>, TerminalPermit),
    /// Stop or upgrade the daemon.
    Act(HostAction),
    /// End the connection.
    End,
}

/// A place for what follows an operation, where the transport has a limited number.
pub type TerminalPermit = Option<OwnedSemaphorePermit>;

/// Whether a transport carries an operation; the error names the other way to it, or the limit that is reached.
pub type Carried = Arc<dyn Fn(&Operation) -> Result<TerminalPermit, ErrorReply> + Send + Sync>;

/// The requests of one connection.
pub struct Requests {
    connection: Connection,
    /// Dropped with the connection, which ends every wait for it.
    running: JoinSet<()>,
    typing: TypingOrder,
    waiting: Arc<Semaphore>,
    short: Arc<Semaphore>,
}

/// What the requests of one connection share.
#[derive(Clone)]
struct Connection {
    executor: Executor,
    caller: Caller,
    carried: Carried,
    out: mpsc::Sender<Outgoing>,
    /// The requests under way, and how to cancel them.
    under_way: Arc<Mutex<HashMap<Id, CancellationToken>>>,
}

/// A request under way; dropping it frees its id.
struct Request {
    connection: Connection,
    /// `None` for a request that is answered in order.
    id: Option<Id>,
    cancelled: CancellationToken,
}

impl Requests {
    /// The requests of a caller; replies go to `out`.
    pub fn new(executor: Executor, caller: Caller, carried: Carried, out: mpsc::Sender<Outgoing>) -> Self {
        let connection = Connection { executor, caller, carried, out, under_way: Arc::default() };
        let [waiting, short] = [(); 2].map(|()| Arc::new(Semaphore::new(limits::REQUESTS)));
        Self { connection, running: JoinSet::new(), typing: TypingOrder::default(), waiting, short }
    }

    /// Starts what a message requests.
    pub async fn receive(&mut self, text: &str) {
        while self.running.try_join_next().is_some() {}
        let (id, incoming) = match read_request(text) {
            Ok(message) => message,
            Err((id, error)) => return self.connection.send_error(id.as_deref(), error).await,
        };
        let request = match self.connection.begin(&id) {
            Ok(request) => request,
            Err(error) => return self.connection.send_error(Some(&id), error).await,
        };
        let operation = match incoming {
            WebRequest::Cancel(other) => return request.cancel(&other).await,
            WebRequest::Operation(operation) => operation,
        };
        let long = waits(&operation) || matches!(operation, Operation::Events(_) | Operation::Tunnel(_));
        let place = if long {
            Arc::clone(&self.waiting).try_acquire_owned().ok()
        } else {
            // Many short ones at once are not read faster than they are done.
            let free = timeout(limits::REQUEST_QUEUE, Arc::clone(&self.short).acquire_owned()).await;
            free.ok().and_then(Result::ok)
        };
        let Some(place) = place else {
            let text = format!("{} requests of this connection are under way", limits::REQUESTS);
            return request.error(ErrorReply::new(ErrorCode::LimitReached, text)).await;
        };
        let turn = self.typing.next(&operation);
        self.running.spawn(async move {
            let _place = place;
            let _done = turn.before().await;
            request.run(operation).await;
        });
    }

    /// Executes an operation that has no id, to its end: the next one is read after its reply.
    pub async fn execute_in_order(&self, operation: Operation) {
        let cancelled = CancellationToken::new();
        Request { connection: self.connection.clone(), id: None, cancelled }.execute(operation).await;
    }

    /// Sends an error without an id.
    pub async fn send_error(&self, error: ErrorReply) {
        self.connection.send_error(None, error).await;
    }
}

impl Connection {
    fn begin(&self, id: &Id) -> Result<Request, ErrorReply> {
        let mut under_way = self.lock();
        if under_way.contains_key(id) {
            return Err(invalid("a request with this id is under way"));
        }
        let cancelled = CancellationToken::new();
        under_way.insert(id.clone(), cancelled.clone());
        Ok(Request { connection: self.clone(), id: Some(id.clone()), cancelled })
    }

    async fn send_error(&self, id: Option<&str>, error: ErrorReply) {
        if let Ok(body) = encode_body(&error) {
            self.send(id, &body).await;
        }
    }

    /// Sends a JSON object with an id in front of its fields.
    async fn send(&self, id: Option<&str>, body: &[u8]) {
        self.put(Outgoing::Message(with_id(id, body))).await;
    }

    async fn put(&self, outgoing: Outgoing) {
        // The connection may have ended.
        let _sent = self.out.send(outgoing).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
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
        let connection = &self.connection;
        let place = match (connection.carried)(&operation) {
            Ok(place) => place,
            Err(error) => return self.error(error).await,
        };
        let outcome = connection.executor.execute(&connection.caller, operation).await;
        let Outcome { reply, then } = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return self.error(error).await,
        };
        if matches!(then, Then::Chat) {
            return self
                .error(invalid("'chat' needs a connection of its own: the WebSocket /api/chat"))
                .await;
        }
        connection.send(self.id.as_deref(), &reply).await;
        match then {
            Then::Events(events) => self.send_events(*events).await,
            Then::Tunnel(events) => self.send_tunnel_events(*events).await,
            Then::Host(action) => self.act(action).await,
            Then::Terminal(terminal) => connection.put(Outgoing::Terminal(terminal, place)).await,
            Then::Close if self.id.is_none() => connection.put(Outgoing::End).await,
            Then::Nothing | Then::Close | Then::Chat => {}
        }
    }

    async fn send_events(&self, mut events: EventStream) {
        while let Some(event) = events.next().await {
            self.send(&event).await;
        }
    }

    async fn send_tunnel_events(&self, mut events: TunnelEvents) {
        while let Some(event) = events.next().await {
            self.send(&event).await;
        }
    }

    /// Lets the reply leave before the daemon does.
    async fn act(&self, action: HostAction) {
        let (confirm, sent) = oneshot::channel();
        self.connection.put(Outgoing::Sent(confirm)).await;
        // A client that does not read loses its connection instead.
        let _sent = sent.await;
        self.connection.put(Outgoing::Act(action)).await;
    }

    async fn cancel(self, other: &Id) {
        let cancelled = self.connection.lock().get(other).map(CancellationToken::cancel).is_some();
        if !cancelled {
            return self.error(invalid("no request with this id is under way")).await;
        }
        self.send(&OkReply::default()).await;
    }

    async fn send(&self, value: &impl Serialize) {
        if let Ok(body) = encode_body(value) {
            self.connection.send(self.id.as_deref(), &body).await;
        }
    }

    async fn error(&self, error: ErrorReply) {
        self.connection.send_error(self.id.as_deref(), error).await;
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.connection.lock().remove(id);
        }
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

fn invalid(text: &str) -> ErrorReply {
    ErrorReply::new(ErrorCode::InvalidCommand, text)
}
