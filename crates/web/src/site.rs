//! What is served where, and how a request reaches the operations.

use crate::access::{self, Visitor};
use crate::failures::Failures;
use crate::origin::HostNames;
use crate::places::WebConnections;
use crate::{chat, control, limits, pages, rest, signalling, terminal};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};
use std::path::PathBuf;
use std::sync::Arc;
use swb_operations::requests::Executor;
use swb_operations::tokens::TokenRegistry;
use swb_operations::{AnswerError, HostAction, Later, Operations, Outcome};
use swb_wire::control::{ErrorReply, Operation};
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Serves a conversation on a stream, in the protocol of conversations.
pub type Converse = dyn Fn(UnixStream, OwnedSemaphorePermit) + Send + Sync;

/// The part of a tunnel's signalling that needs a web server: a peer that knows the tunnel's secret gets its offer and returns an answer.
pub trait Signalling: Send + Sync {
    /// The offer of a tunnel without its secret, as JSON; `None` if `code` does not prove that the peer knows the secret, or
    /// if the offer is used up.
    fn offer(&self, tunnel: &str, code: &str) -> Option<Vec<u8>>;

    /// Takes an answer; `None` if `code` does not prove that the peer knows the secret.
    fn answer<'a>(
        &'a self,
        tunnel: &'a str,
        code: &'a str,
        answer: &'a str,
    ) -> Later<'a, Option<Result<(), AnswerError>>>;
}

/// What the daemon gives the web transport.
pub struct WebContext {
    /// Executes operations.
    pub operations: Operations,
    /// Who may do what.
    pub tokens: Arc<TokenRegistry>,
    /// Where operations run.
    pub daemon: Handle,
    /// Owns tasks on that runtime.
    pub tasks: TaskTracker,
    /// Cancelled when the daemon stops.
    pub stop: CancellationToken,
    /// Stops or upgrades the daemon.
    pub act: Box<dyn Fn(HostAction) + Send + Sync>,
    /// Serves conversations, if the daemon offers any.
    pub converse: Option<Box<Converse>>,
    /// Takes part in the signalling of tunnels.
    pub signalling: Box<dyn Signalling>,
    /// Names under which the servers may be addressed, besides their addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Directory for the certificate.
    pub certificates: PathBuf,
}

/// What all requests share.
pub(crate) struct Site {
    pub(crate) context: WebContext,
    pub(crate) executor: Executor,
    pub(crate) hosts: HostNames,
    pub(crate) places: Arc<WebConnections>,
    pub(crate) failures: Failures,
    pub(crate) conversations: Arc<Semaphore>,
}

impl Site {
    pub(crate) fn new(context: WebContext) -> Self {
        let executor = Executor {
            operations: context.operations.clone(),
            daemon: context.daemon.clone(),
            tasks: context.tasks.clone(),
        };
        let names = context.hosts.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self {
            context,
            executor,
            hosts: HostNames { names },
            places: Arc::default(),
            failures: Failures::default(),
            conversations: Arc::new(Semaphore::new(limits::CONVERSATIONS)),
        }
    }

    /// Executes an operation for a visitor.
    pub(crate) async fn execute(
        &self,
        visitor: &Visitor,
        operation: Operation,
    ) -> Result<Outcome, ErrorReply> {
        self.executor.execute(&visitor.caller, operation).await
    }
}

/// The paths of the site.
pub(crate) fn router(site: &Arc<Site>) -> Router {
    Router::new()
        .route("/", get(pages::index))
        .route("/healthz", get(pages::health))
        .route("/sign-in.js", get(pages::sign_in_script))
        .route("/api/sign-out", post(pages::sign_out))
        .route("/api/sessions", get(rest::list).post(rest::create))
        .route("/api/sessions/{name}", delete(rest::kill))
        .route("/api/sessions/{name}/shell", post(rest::shell))
        .route("/api/sessions/{name}/pty", get(terminal::open_sized))
        .route("/api/sessions/{name}/pty/{pty}/resize", post(rest::resize))
        .route("/api/openapi.json", get(pages::openapi))
        .route("/api/schema.json", get(pages::schema))
        .route("/api/control", get(control::open))
        .route("/api/chat", get(chat::open))
        .route("/api/tunnel/{id}/offer", get(signalling::offer).options(signalling::preflight))
        .route("/api/tunnel/{id}/answer", post(signalling::answer).options(signalling::preflight))
        .route("/connect", get(pages::connect))
        .route("/ws", get(terminal::open))
        .fallback(pages::asset)
        .method_not_allowed_fallback(pages::wrong_method)
        .layer(from_fn_with_state(Arc::clone(site), access::check))
        .with_state(Arc::clone(site))
}
