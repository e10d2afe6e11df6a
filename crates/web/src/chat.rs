//! Conversations over a WebSocket: each text message is one line of the protocol of conversations.

use crate::access::Visitor;
use crate::limits;
use crate::rest::{RestError, internal, invalid};
use crate::site::Site;
use crate::socket::{self, Pings, SocketEnding, UpgradeRequest};
use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::response::Response;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use swb_operations::withheld_prompt;
use swb_wire::control::{ErrorCode, ErrorReply, Operation};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

/// `/api/chat`
pub(crate) async fn open(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    request: UpgradeRequest,
) -> Result<Response, RestError> {
    let upgrade = socket::upgrade(request, limits::CHAT_MESSAGE)?;
    site.execute(&visitor, Operation::Chat).await?;
    let Some(converse) = &site.context.converse else {
        return Err(invalid("conversations are disabled: [scriptschnell] enabled is false"));
    };
    let place = Arc::clone(&site.conversations).try_acquire_owned();
    let place = place.map_err(|_| {
        ErrorReply::new(ErrorCode::LimitReached, "too many conversations over the web; close some")
    })?;
    let (ours, theirs) = pair().map_err(|error| internal(&error.to_string()))?;
    let theirs = {
        // It belongs to the runtime on which conversations are served.
        let _entered = site.context.daemon.enter();
        UnixStream::from_std(theirs).map_err(|error| internal(&error.to_string()))?
    };
    let ours = UnixStream::from_std(ours).map_err(|error| internal(&error.to_string()))?;
    converse(theirs, place);
    Ok(upgrade.on_upgrade(move |stream| serve(visitor, stream, ours)))
}

fn pair() -> std::io::Result<(StdUnixStream, StdUnixStream)> {
    let (ours, theirs) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    theirs.set_nonblocking(true)?;
    Ok((ours, theirs))
}

async fn serve(visitor: Visitor, stream: WebSocket, daemon: UnixStream) {
    let (mut sender, mut receiver) = stream.split();
    let (from_daemon, mut to_daemon) = daemon.into_split();
    // Refusals of our own; each is the reply to one message, so a few wait at most.
    let (refuse, mut refusals) = mpsc::channel::<String>(1);
    let to_client = async {
        let mut lines = BufReader::new(from_daemon).lines();
        let mut pings = Pings::new();
        loop {
            let message = tokio::select! {
                line = lines.next_line() => match line {
                    Ok(Some(line)) => Message::Text(Utf8Bytes::from(line)),
                    Ok(None) | Err(_) => return Some(SocketEnding::Finished),
                },
                Some(refusal) = refusals.recv() => Message::Text(Utf8Bytes::from(refusal)),
                ping = pings.next() => ping,
            };
            if !socket::send(&mut sender, message).await {
                return None;
            }
        }
    };
    let from_client = async {
        while let Some(message) = socket::receive(&mut receiver).await {
            let Message::Text(text) = message else { return Some(SocketEnding::BadMessage) };
            // A line of the protocol is one message.
            if text.contains(['\n', '\r']) {
                return Some(SocketEnding::BadMessage);
            }
            if let Some(refusal) = withheld(&text) {
                refuse.send(refusal).await.ok()?;
                continue;
            }
            to_daemon.write_all(format!("{text}\n").as_bytes()).await.ok()?;
        }
        None
    };
    let ending = tokio::select! {
        ending = to_client => ending,
        ending = from_client => ending,
        ending = socket::dismissed(&visitor) => Some(ending),
    };
    if let Some(ending) = ending {
        socket::close(&mut sender, ending).await;
    }
}

/// The reply to a prompt that could end an agent in a terminal (CO-46); `None` for any other message.
fn withheld(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
        request_id: Option<String>,
        data: Option<Prompt>,
    }
    #[derive(Deserialize)]
    struct Prompt {
        content: Option<String>,
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
    if envelope.r#type != "chat_send" {
        return None;
    }
    let notice = withheld_prompt(&envelope.data?.content?)?;
    let error = json!({"code": "OPERATION_NOT_ALLOWED", "message": notice});
    let mut reply = json!({"type": "error", "error": error});
    if let Some(id) = envelope.request_id {
        reply["request_id"] = id.into();
    }
    Some(reply.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    // CO-46
    #[test]
    fn prompts_that_end_agents_are_withheld() {
        let refused = withheld(r#"{"type":"chat_send","request_id":"7","data":{"content":"exit"}}"#).unwrap();
        let refused: serde_json::Value = serde_json::from_str(&refused).unwrap();
        assert_eq!((&refused["request_id"], &refused["type"]), (&json!("7"), &json!("error")));
        for other in [
            r#"{"type":"chat_send","data":{"content":"please exit"}}"#,
            r#"{"type":"chat_stop","data":{"content":"exit"}}"#,
            "not JSON",
        ] {
            assert_eq!(withheld(other), None, "{other}");
        }
    }
}
