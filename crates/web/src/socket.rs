//! What all WebSockets have in common: their limits, signs of life, and how they end.

use crate::access::Visitor;
use crate::limits;
use crate::rest::{RestError, invalid};
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::time::{Instant, timeout};

/// The sending half of a WebSocket.
pub(crate) type Sender = SplitSink<WebSocket, Message>;
/// The receiving half of a WebSocket.
pub(crate) type Receiver = SplitStream<WebSocket>;

/// What an `Upgrade` request is read as.
pub(crate) type UpgradeRequest = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

/// An upgrade with limits, or the refusal of a request that is none.
pub(crate) fn upgrade(request: UpgradeRequest, message: usize) -> Result<WebSocketUpgrade, RestError> {
    let upgrade =
        request.map_err(|why| invalid(&format!("this path is a WebSocket: {}", why.body_text())))?;
    Ok(upgrade.max_message_size(message).max_frame_size(message).read_buffer_size(16 * 1024))
}

/// The next message of the client; `None` when the connection has ended, was silent for too long, or broke a rule.
///
/// Pings and pongs count as signs of life only.
pub(crate) async fn receive(receiver: &mut Receiver) -> Option<Message> {
    loop {
        match timeout(limits::SILENCE, receiver.next()).await {
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) | Err(_) => return None,
            Ok(Some(Ok(message))) => return Some(message),
        }
    }
}

/// Sends a message to a client that reads, now and then.
pub(crate) async fn send(sender: &mut Sender, message: Message) -> bool {
    matches!(timeout(limits::STALL, sender.send(message)).await, Ok(Ok(())))
}

/// Why a WebSocket is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketEnding {
    /// Everything has been sent.
    Finished,
    /// The server was stopped and does not return by itself.
    Stopped,
    /// The daemon ends; the next one continues.
    Restarting,
    /// An owner needs the place.
    Displaced,
    /// The token was revoked or has expired.
    SignedOut,
    /// The client broke a rule of the protocol.
    BadMessage,
}

/// Closes a WebSocket, if the client still reads.
pub(crate) async fn close(sender: &mut Sender, ending: SocketEnding) {
    let (code, reason) = match ending {
        SocketEnding::Finished => (close_code::NORMAL, ""),
        SocketEnding::Stopped => (close_code::AWAY, "the server was stopped"),
        SocketEnding::Restarting => (close_code::RESTART, "the daemon stops"),
        SocketEnding::Displaced => (close_code::AGAIN, "there are too many connections"),
        SocketEnding::SignedOut => (close_code::POLICY, "the token is no longer valid"),
        SocketEnding::BadMessage => (close_code::INVALID, "a message was not valid"),
    };
    let frame = CloseFrame { code, reason: reason.into() };
    // The client may have left.
    let _closed = timeout(limits::GOODBYE, sender.send(Message::Close(Some(frame)))).await;
}

/// Waits until the visitor may stay no longer.
pub(crate) async fn dismissed(visitor: &Visitor) -> SocketEnding {
    tokio::select! {
        // A server that is stopped takes its token with it.
        biased;
        () = visitor.connection.stop.cancelled() => visitor.connection.stopped(),
        () = visitor.ended.cancelled() => SocketEnding::SignedOut,
        () = visitor.connection.place.displaced.cancelled() => SocketEnding::Displaced,
    }
}

/// When the next ping is due.
pub(crate) struct Pings {
    due: Instant,
}

impl Pings {
    pub(crate) fn new() -> Self {
        Self { due: Instant::now() + limits::PING }
    }

    /// Waits until a ping is due, and returns it.
    pub(crate) async fn next(&mut self) -> Message {
        tokio::time::sleep_until(self.due).await;
        self.due = Instant::now() + limits::PING;
        Message::Ping(bytes::Bytes::new())
    }
}
