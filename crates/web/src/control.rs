//! Operations over a WebSocket: each text message is one, with an `id` that its reply and its events carry.

use crate::access::Visitor;
use crate::limits;
use crate::rest::RestError;
use crate::site::Site;
use crate::socket::{self, Pings, Receiver, Sender, SocketEnding, UpgradeRequest};
use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::response::Response;
use futures_util::StreamExt;
use std::sync::Arc;
use swb_operations::requests::{Outgoing, Requests, TerminalPermit};
use swb_wire::control::{ErrorCode, ErrorReply, Operation};
use tokio::sync::mpsc;

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
    let (out, mut outgoing) = mpsc::channel(limits::OUTBOUND);
    let requests = Requests::new(site.executor.clone(), visitor.caller.clone(), Arc::new(carried), out);
    let ending = tokio::select! {
        ending = receive(requests, &mut receiver) => ending,
        ending = send(&site, &mut sender, &mut outgoing) => ending,
        ending = socket::dismissed(&visitor) => Some(ending),
    };
    if let Some(ending) = ending {
        socket::close(&mut sender, ending).await;
    }
}

/// Starts what the client requests until it leaves or breaks a rule.
async fn receive(mut requests: Requests, receiver: &mut Receiver) -> Option<SocketEnding> {
    loop {
        match socket::receive(receiver).await? {
            Message::Text(text) => requests.receive(&text).await,
            _ => requests.send_error(invalid("messages have to be text")).await,
        }
    }
}

/// Sends replies and pings; ends when the client does not read.
async fn send(
    site: &Site,
    sender: &mut Sender,
    outgoing: &mut mpsc::Receiver<Outgoing>,
) -> Option<SocketEnding> {
    let mut pings = Pings::new();
    loop {
        let message = tokio::select! {
            biased;
            Some(next) = outgoing.recv() => match next {
                Outgoing::Message(text) => Message::Text(Utf8Bytes::from(text)),
                Outgoing::Sent(confirm) => {
                    // Its receiver may have left.
                    let _told = confirm.send(());
                    continue;
                }
                Outgoing::Act(action) => {
                    (site.context.act)(action);
                    continue;
                }
                // The terminal of a new shell is opened with `/ws`.
                Outgoing::Terminal(..) => continue,
                Outgoing::End => return Some(SocketEnding::Finished),
            },
            ping = pings.next() => ping,
        };
        if !socket::send(sender, message).await {
            return None;
        }
    }
}

/// Refuses an operation that needs a connection of its own.
fn carried(operation: &Operation) -> Result<TerminalPermit, ErrorReply> {
    match operation {
        Operation::Attach(_) => Err(invalid("'attach' is the WebSocket /ws")),
        Operation::Logs(logs) if logs.follow => Err(invalid("'follow' is the WebSocket /ws with watch=1")),
        _ => Ok(None),
    }
}

fn invalid(text: &str) -> ErrorReply {
    ErrorReply::new(ErrorCode::InvalidCommand, text)
}
