//! Replies, and lists that have to fit into one.

use serde::Serialize;
use swb_wire::control::{ErrorCode, ErrorReply, encode_body};

use crate::daemon::HostAction;
use crate::events::EventStream;
use crate::terminal::OpenTerminal;
use crate::tunnels::TunnelEvents;

/// The result of an operation.
pub struct Outcome {
    /// The reply as JSON, at most as long as a frame.
    pub reply: Vec<u8>,
    /// What follows the reply.
    pub then: Then,
}

/// What follows a reply.
pub enum Then {
    /// Nothing: the caller may send the next operation.
    Nothing,
    /// The end of the connection.
    Close,
    /// A terminal, until either side detaches.
    Terminal(Box<OpenTerminal>),
    /// Events, until the caller leaves.
    Events(Box<EventStream>),
    /// The events of a tunnel, which ends when the caller leaves.
    Tunnel(Box<TunnelEvents>),
    /// The protocol of conversations, until the end of the connection.
    Chat,
    /// An action of the daemon once the reply has been sent.
    Host(HostAction),
}

/// An outcome, or an error that leaves the connection as it is (CO-15).
pub(crate) type OperationResult = Result<Outcome, ErrorReply>;

/// Encodes a reply.
pub(crate) fn encode(value: &impl Serialize) -> Result<Vec<u8>, ErrorReply> {
    encode_body(value)
        .map_err(|error| ErrorReply::new(ErrorCode::InternalError, format!("the reply is too long: {error}")))
}

/// The outcome of an operation that ends with its reply.
pub(crate) fn done(value: &impl Serialize) -> OperationResult {
    follow(value, Then::Nothing)
}

/// A reply and what follows it.
pub(crate) fn follow(value: &impl Serialize, then: Then) -> OperationResult {
    Ok(Outcome { reply: encode(value)?, then })
}

/// Replies with the first items, as many as `limit` allows and a reply holds; `make` gets whether items were left out.
pub(crate) fn first_items<T, R: Serialize>(
    items: &[T],
    limit: usize,
    make: impl Fn(&[T], bool) -> R,
) -> OperationResult {
    let mut count = items.len().min(limit);
    loop {
        let shown = items.get(..count).unwrap_or(items);
        match done(&make(shown, count < items.len())) {
            Err(_) if count > 0 => count /= 2,
            answer => return answer,
        }
    }
}
