//! Tunnels: connections from anywhere, without a server between the two ends.
//!
//! The transport itself is elsewhere ([`TunnelHost`]); who may create, list and end tunnels is decided here.

use crate::errors::invalid;
use crate::execute::Call;
use crate::reply::{OperationResult, Then, done, follow};
use crate::{Caller, limits};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use swb_engine::Session;
use swb_types::{Role, Scope};
use swb_wire::control::{
    ErrorCode, ErrorReply, OkReply, Tunnel, TunnelAnswer, TunnelEvent, TunnelItem, TunnelReply, TunnelRevoke,
    TunnelsReply,
};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

/// What is needed to open a tunnel.
pub struct TunnelRequest {
    /// On whose behalf the peer's operations are executed.
    pub caller: Caller,
    /// The one session that it reaches; the tunnel ends with it.
    pub session: Option<Session>,
    /// STUN servers, if not those of the configuration.
    pub stun: Option<Vec<String>>,
    /// A TURN server, if not that of the configuration.
    pub turn: Option<String>,
    /// How long it waits for a peer.
    pub expires: Duration,
}

/// A tunnel that waits for its peer.
pub struct OpenedTunnel {
    /// What the caller gets.
    pub reply: TunnelReply,
    /// What happens to it.
    pub events: TunnelEvents,
}

/// The events of a tunnel, at most two.
pub struct TunnelEvents {
    next: mpsc::Receiver<TunnelEvent>,
    ends: Option<DropGuard>,
}

impl TunnelEvents {
    /// Events from a channel; dropping them ends the tunnel through `ends`.
    pub fn new(next: mpsc::Receiver<TunnelEvent>, ends: DropGuard) -> Self {
        Self { next, ends: Some(ends) }
    }

    /// The next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<TunnelEvent> {
        self.next.recv().await
    }

    /// Keeps the tunnel open without a client that follows its events.
    fn release(mut self) {
        if let Some(ends) = self.ends.take() {
            ends.disarm();
        }
    }
}

/// Why an answer was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It cannot be read, or it does not fit the offer; another one may.
    #[error("invalid answer to the tunnel's offer: {0}")]
    Malformed(String),
    /// The offer is used up.
    #[error("the tunnel has an answer already; create a new one")]
    Answered,
    /// There is no such tunnel.
    #[error("no tunnel '{0}' waits for an answer; it may have expired")]
    Unknown(String),
}

impl From<AnswerError> for ErrorReply {
    fn from(error: AnswerError) -> Self {
        let code = match &error {
            AnswerError::Malformed(_) => ErrorCode::InvalidCommand,
            AnswerError::Answered => ErrorCode::TunnelFailed,
            AnswerError::Unknown(_) => ErrorCode::TunnelNotFound,
        };
        Self::new(code, error.to_string())
    }
}

/// A result that arrives later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The transport of tunnels.
pub trait TunnelHost: Send + Sync {
    /// Opens a tunnel, which waits for its peer from then on.
    fn open(&self, request: TunnelRequest) -> Later<'_, Result<OpenedTunnel, ErrorReply>>;

    /// Gives a tunnel the answer of its peer.
    fn answer(&self, answer: String) -> Later<'_, Result<(), AnswerError>>;

    /// All tunnels, oldest first.
    fn list(&self) -> Vec<TunnelItem>;

    /// Ends a tunnel; `false` if there is none of that name.
    fn revoke(&self, tunnel: &str) -> bool;
}

impl Call<'_> {
    /// CO-47
    pub(crate) async fn tunnel(&self, tunnel: Tunnel) -> OperationResult {
        let session = tunnel.session.as_deref().map(|session| self.session(session)).transpose()?;
        let role = tunnel.role.unwrap_or(Role::Drive);
        if !matches!(role, Role::Watch | Role::Prompt | Role::Approve | Role::Drive) {
            return Err(invalid(format!("a tunnel cannot have the role '{role}'; 'drive' is the most")));
        }
        let scope = session.as_ref().map_or(Scope::All, |session| Scope::Session(session.name().clone()));
        let expires = tunnel.expires.map_or(limits::TUNNEL_WAIT, Duration::from_secs);
        if expires.is_zero() || expires > limits::TUNNEL_WAIT_MOST {
            let most = limits::TUNNEL_WAIT_MOST.as_secs() / 3600;
            return Err(invalid(format!(
                "a tunnel waits at least a second and at most {most} hours for its peer"
            )));
        }
        let caller = Caller::new(role, scope).from_elsewhere();
        let request = TunnelRequest { caller, session, stun: tunnel.stun, turn: tunnel.turn, expires };
        let OpenedTunnel { reply, events } = self.tunnel_host()?.open(request).await?;
        if tunnel.follow {
            return follow(&reply, Then::Tunnel(Box::new(events)));
        }
        events.release();
        done(&reply)
    }

    pub(crate) async fn tunnel_answer(&self, answer: TunnelAnswer) -> OperationResult {
        self.tunnel_host()?.answer(answer.answer).await?;
        done(&OkReply::default())
    }

    pub(crate) fn tunnels(&self) -> OperationResult {
        done(&TunnelsReply { ok: true, tunnels: self.tunnel_host()?.list() })
    }

    pub(crate) fn tunnel_revoke(&self, revoke: &TunnelRevoke) -> OperationResult {
        if !self.tunnel_host()?.revoke(&revoke.tunnel) {
            let text = format!("no tunnel '{}'", revoke.tunnel);
            return Err(
                ErrorReply::new(ErrorCode::TunnelNotFound, text).with_hint("`swb tunnel ls` lists them")
            );
        }
        done(&OkReply::default())
    }

    fn tunnel_host(&self) -> Result<&dyn TunnelHost, ErrorReply> {
        let starting = || ErrorReply::new(ErrorCode::TunnelFailed, "the daemon is starting; try again");
        self.operations.host.tunnels().ok_or_else(starting)
    }
}
