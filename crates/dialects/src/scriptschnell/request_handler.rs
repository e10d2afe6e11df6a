//! The requests of one connection: authentication, and the dispatch to `sessions.rs`, `chat.rs`, `config.rs` and
//! `workspaces.rs`.
//!
//! Requests are handled in order. None of them waits for an agent: the task of a [`SessionAttachment`] reports the end of
//! a generation.

use super::attachment::SessionAttachment;
use super::auth::{self, Admission, Gate};
use super::errors::{invalid, not_allowed};
use super::outbound::{Capabilities, Outbound};
use super::rate_limit::RateLimit;
use super::{ScriptSchnell, ScriptschnellSettings};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::SystemTime;
use swb_types::Timestamp;
use swb_wire::scriptschnell::{
    Auth, AuthChallenge, AuthResponse, BadRequest, Close, Closed, Envelope, ErrorCode, ErrorInfo,
    FlowControl, FlowState, Request, ServerMessage, VERSION,
};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The capabilities of the daemon (SS-15).
const CAPABILITIES: [&str; 10] = [
    "progress",
    "authorization",
    "questions",
    "sessions",
    "workspaces",
    "chat",
    "batch",
    "tool_compact",
    "seats",
    "settled",
];

/// A reply, none, or an error.
pub(super) type RequestResult = Result<Option<ServerMessage>, ErrorInfo>;

/// What follows after a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Close,
    Go,
}

/// Handles the requests of one connection, and holds its state.
pub(super) struct RequestHandler {
    pub(super) front: ScriptSchnell,
    pub(super) outbound: Arc<Outbound>,
    pub(super) stream: Weak<UnixStream>,
    /// Cancelled when the connection has ended.
    pub(super) ended: CancellationToken,
    /// The sessions that it is attached to, the current one last.
    pub(super) attachments: Vec<SessionAttachment>,
    /// The default directory.
    pub(super) workspace: Option<PathBuf>,
    /// The user that the client runs as.
    user: u32,
    gate: Gate,
    welcome: bool,
    rate_limit: RateLimit,
}

impl RequestHandler {
    pub(super) fn new(
        front: ScriptSchnell,
        outbound: Arc<Outbound>,
        stream: &Arc<UnixStream>,
        ended: CancellationToken,
    ) -> Self {
        let rate_limit = RateLimit::new(front.settings.messages_per_second, Instant::now());
        let (attachments, workspace, gate) = (Vec::new(), None, Gate::default());
        Self {
            front,
            outbound,
            stream: Arc::downgrade(stream),
            ended,
            attachments,
            workspace,
            // Without credentials, all such clients count as one.
            user: stream.peer_cred().map_or(u32::MAX, |peer| peer.uid()),
            gate,
            welcome: false,
            rate_limit,
        }
    }

    pub(super) fn settings(&self) -> &ScriptschnellSettings {
        &self.front.settings
    }

    /// Whether the client has authenticated.
    pub(super) fn is_authenticated(&self) -> bool {
        self.welcome
    }

    /// Handles a line, or the lines of a batch (SS-75).
    pub(super) async fn handle(&mut self, line: &str) -> Next {
        self.attachments.retain(|attached| !attached.is_deleted());
        match self.read(line).await {
            Some((_, Request::Batch(messages))) => {
                for message in messages {
                    let next = match self.read(message.get()).await {
                        Some((request_id, Request::Batch(_))) => {
                            //
                            self.outbound.send_error(
                                invalid("a batch cannot contain another batch"),
                                request_id.as_deref(),
                            );
                            Next::Go
                        }
                        Some((request_id, request)) => self.answer(request_id, request).await,
                        None => Next::Go,
                    };
                    if next == Next::Close {
                        return Next::Close;
                    }
                }
                Next::Go
            }
            Some((request_id, request)) => self.answer(request_id, request).await,
            None => Next::Go,
        }
    }

    /// The request in a line, if it is allowed; otherwise the error has been sent.
    async fn read(&mut self, line: &str) -> Option<(Option<String>, Request)> {
        let wait = self.rate_limit.wait(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let read = Envelope::parse(line).and_then(|envelope| {
            if self.welcome || is_free(&envelope.kind) {
                return envelope.request().map(|request| (envelope.request_id, Some(request)));
            }
            Ok((envelope.request_id, None))
        });
        match read {
            Ok((request_id, Some(request))) => Some((request_id, request)),
            Ok((request_id, None)) => {
                // SS-17
                let error = ErrorInfo::new(ErrorCode::AuthRequired, "not authenticated: send auth_request");
                self.outbound.send_error(error, request_id.as_deref());
                None
            }
            Err(BadRequest { request_id, message }) => {
                self.outbound.send_error(invalid(message), request_id.as_deref());
                None
            }
        }
    }

    async fn answer(&mut self, request_id: Option<String>, request: Request) -> Next {
        let id = request_id.as_deref();
        let answer = match request {
            Request::Close(close) => {
                self.close(&close).await;
                let closed = Closed { reason: "client_request".to_owned(), reconnect: false };
                self.outbound.send(&ServerMessage::Closed(closed), id);
                return Next::Close;
            }
            // The replies to these are sent when they have ended.
            Request::ChatSend(send) => self.chat_send(send, request_id.clone()).await.map(|()| None),
            Request::WorkspaceCreate(create) => {
                self.workspace_create(create, request_id.clone()).map(|()| None)
            }
            Request::FlowControl(flow) => Ok(self.flow(&flow, id)),
            request => self.dispatch(request).await,
        };
        match answer {
            Ok(Some(message)) => self.outbound.send(&message, id),
            Ok(None) => {}
            Err(error) => self.outbound.send_error(error, id),
        }
        Next::Go
    }

    async fn dispatch(&mut self, request: Request) -> RequestResult {
        match request {
            Request::AuthRequest(auth) => self.authenticate(&auth).await.map(Some),
            Request::AuthorizationAck(ack) => self.acknowledge(ack.auth_id).await,
            Request::AuthorizationResponse(response) => self.decide(response).await,
            Request::ChatClear(which) => self.chat_clear(which).await.map(Some),
            Request::ChatStop(which) => self.chat_stop(which).await.map(Some),
            Request::ConfigGet(get) => self.config_get(get).map(Some),
            Request::ConfigSet(set) => self.config_set(set).await.map(Some),
            Request::Ping => Ok(Some(ServerMessage::Pong)),
            // SS-26
            Request::Pong => Ok(None),
            Request::QuestionResponse(response) => self.answer_question(response).await,
            Request::SessionAttach(attach) => self.session_attach(attach).await.map(Some),
            Request::SessionCreate(create) => self.session_create(create).await.map(Some),
            Request::SessionDelete(which) => self.session_delete(which).await.map(Some),
            Request::SessionDetach(which) => self.session_detach(which).await.map(Some),
            Request::SessionList(filter) => self.session_list(filter).await.map(Some),
            Request::SessionLoad(which) => self.session_load(which).await.map(Some),
            Request::SessionSave(save) => self.session_save(save).await.map(Some),
            Request::WorkspaceList => self.workspace_list().await.map(Some),
            Request::WorkspaceSet(which) => self.workspace_set(which).await.map(Some),
            // Split up before they get here.
            Request::Batch(_)
            | Request::ChatSend(_)
            | Request::Close(_)
            | Request::FlowControl(_)
            | Request::WorkspaceCreate(_) => Ok(None),
        }
    }

    async fn authenticate(&mut self, auth: &Auth) -> Result<ServerMessage, ErrorInfo> {
        let (settings, attempts) = (Arc::clone(&self.front.settings), Arc::clone(&self.front.attempts));
        let (connection, user) = (self.outbound.id.as_str(), self.user);
        let is_attempt = auth::is_attempt(&settings, auth);
        if is_attempt {
            let Some(turn) = attempts.turn(user, Instant::now()) else {
                tracing::warn!(connection, user, "authentication refused: too many failed attempts");
                return Err(ErrorInfo::new(
                    ErrorCode::AuthFailed,
                    "too many failed attempts; try again later",
                ));
            };
            tokio::time::sleep_until(turn).await;
        }
        match self.gate.judge(&settings, auth, Instant::now(), auth::nonce) {
            Admission::Challenge(nonce) => {
                let timestamp = Timestamp::of(SystemTime::now()).0 / 1000;
                Ok(ServerMessage::AuthChallenge(AuthChallenge { nonce, timestamp }))
            }
            Admission::Refused(why) => {
                let failures = if is_attempt { attempts.failed(user, Instant::now()) } else { 0 };
                tracing::warn!(connection, user, failures, "authentication failed");
                Err(ErrorInfo::new(ErrorCode::AuthFailed, why))
            }
            Admission::Welcome => {
                attempts.succeeded(user);
                tracing::info!(connection, user, "authenticated");
                let capabilities = Capabilities::new(auth.capabilities.as_deref().unwrap_or_default());
                let batch = if settings.batching && capabilities.batch { settings.batch_size } else { 0 };
                self.outbound.queue.lock().batch(batch);
                self.outbound.set_capabilities(capabilities);
                self.welcome = true;
                Ok(ServerMessage::AuthResponse(AuthResponse {
                    success: true,
                    connection_id: self.outbound.id.clone(),
                    server_version: VERSION.to_owned(),
                    server_capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
                    version: VERSION.to_owned(),
                    min_compatible_version: VERSION.to_owned(),
                }))
            }
        }
    }

    /// SS-74
    fn flow(&self, flow: &FlowControl, request_id: Option<&str>) -> Option<ServerMessage> {
        let paused = flow.pause.unwrap_or(false);
        self.outbound.queue.fill(|queue| queue.pause(paused));
        request_id.map(|_| ServerMessage::FlowControl(FlowState { paused }))
    }

    /// SS-27
    async fn close(&mut self, close: &Close) {
        if close.preserve_session == Some(false) {
            for attached in std::mem::take(&mut self.attachments).into_iter().filter(SessionAttachment::owns)
            {
                let name = attached.name().to_owned();
                let dropped = self.front.chats.drop_live(&attached.chat).await;
                self.log_session("removed from memory", &name);
                // It may have ended at the same moment.
                drop(dropped);
            }
        }
        self.attachments.clear();
    }

    /// The session of a request: the one that it names, else the current one.
    pub(super) fn attached(&self, session_id: Option<&str>) -> Result<&SessionAttachment, ErrorInfo> {
        let attached = match session_id.filter(|id| !id.is_empty()) {
            Some(id) => self.attachments.iter().find(|attached| attached.name() == id),
            None => self.attachments.last(),
        };
        attached.ok_or_else(|| not_allowed("no session is attached; create, attach or load one first"))
    }

    /// A directory as named by a client; `None` if it names none.
    pub(super) fn directory(&self, named: Option<&str>) -> Option<PathBuf> {
        named.filter(|name| !name.is_empty()).map(|name| directory(name, &self.settings().home))
    }

    /// SS-79
    pub(super) fn log_session(&self, what: &str, session: &str) {
        tracing::info!(connection = self.outbound.id, session, "session {what}");
    }
}

/// SS-17: the requests that are allowed before authentication.
fn is_free(kind: &str) -> bool {
    matches!(kind, "auth_request" | "ping" | "pong" | "close")
}

/// Normalizes a path, so that a directory has one name.
fn directory(name: &str, home: &Path) -> PathBuf {
    let path = match name.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(name),
    };
    // As text, like the clients do: links are not resolved.
    path.components().fold(PathBuf::new(), |mut clean, part| {
        match part {
            Component::ParentDir if clean.parent().is_some() => drop(clean.pop()),
            Component::ParentDir if clean.has_root() => {}
            part => clean.push(part),
        }
        clean
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_name() {
        let home = Path::new("/home/a");
        for (name, path) in
            [("/w/p/", "/w/p"), ("/w/./p", "/w/p"), ("~", "/home/a"), ("~/x", "/home/a/x"), ("/", "/")]
                .into_iter()
                .chain([
                    ("/w/q/../p", "/w/p"),
                    ("/../w/..", "/"),
                    ("/w/../../p", "/p"),
                    ("~/../b", "/home/b"),
                ])
        {
            assert_eq!(directory(name, home), Path::new(path), "{name}");
        }
        assert_eq!(directory("~other", home), Path::new("~other"));
    }
}
