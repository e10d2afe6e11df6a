//! An open terminal over a WebSocket (CO-45, CO-71, CO-72): binary messages are terminal bytes, text messages JSON.

use crate::access::Visitor;
use crate::limits;
use crate::rest::{RestError, internal, invalid};
use crate::site::Site;
use crate::socket::{self, Pings, Receiver, Sender, SocketEnding, UpgradeRequest};
use axum::Extension;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt;
use std::sync::Arc;
use swb_operations::{OpenTerminal, Piece, TerminalInput, TerminalOutput, Then};
use swb_types::Offset;
use swb_wire::control::{Operation, StreamEvent};
use swb_wire::web::terminal::{ClientMessage, ServerMessage, attach};
use swb_wire::web::url::query_value;
use tokio::sync::mpsc;

/// `/ws?session=&pty=&token=`
pub(crate) async fn open(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
    request: UpgradeRequest,
) -> Result<Response, RestError> {
    let query = query.unwrap_or_default();
    let session = query_value(&query, "session").filter(|name| !name.is_empty());
    let session = session.ok_or_else(|| invalid("the parameter 'session' is missing"))?;
    open_terminal(site, visitor, session, &query, request).await
}

/// `/api/sessions/{name}/pty` (CO-72)
pub(crate) async fn open_sized(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(session): Path<String>,
    RawQuery(query): RawQuery,
    request: UpgradeRequest,
) -> Result<Response, RestError> {
    open_terminal(site, visitor, session, &query.unwrap_or_default(), request).await
}

async fn open_terminal(
    site: Arc<Site>,
    visitor: Visitor,
    session: String,
    query: &str,
    request: UpgradeRequest,
) -> Result<Response, RestError> {
    let attach = attach(session, query)?;
    let upgrade = socket::upgrade(request, limits::MESSAGE)?;
    // An unknown session or PTY is an error before the upgrade (CO-71).
    let outcome = site.execute(&visitor, Operation::Attach(attach)).await?;
    let Then::Terminal(terminal) = outcome.then else { return Err(internal("no terminal")) };
    Ok(upgrade.on_upgrade(move |stream| serve(visitor, stream, *terminal)))
}

async fn serve(visitor: Visitor, stream: WebSocket, terminal: OpenTerminal) {
    let (mut sender, mut receiver) = stream.split();
    let (notices, mut to_tell) = mpsc::channel(1);
    let size = terminal.size();
    let attached =
        ServerMessage::Attached { offset: terminal.offset(), cols: size.cols(), rows: size.rows() };
    let OpenTerminal { output, input } = terminal;
    let ending = tokio::select! {
        ending = send_output(&mut sender, output, &attached, &mut to_tell) => ending,
        () = receive_input(&mut receiver, &input, &notices) => None,
        ending = socket::dismissed(&visitor) => Some(ending),
    };
    if let Some(ending) = ending {
        socket::close(&mut sender, ending).await;
    }
    // What the client typed last is delivered although it has left.
    input.finish().await;
}

// ---- to the client ----

/// Sends the terminal's output until it ends; `None` if the client cannot be reached.
async fn send_output(
    sender: &mut Sender,
    mut output: TerminalOutput,
    attached: &ServerMessage,
    notices: &mut mpsc::Receiver<String>,
) -> Option<SocketEnding> {
    send_message(sender, attached).await?;
    let (mut pings, mut pieces) = (Pings::new(), 0);
    loop {
        let piece = next_piece(sender, &mut output, &mut pings, notices).await?;
        match piece {
            Piece::Output { to } => send_range(sender, &mut output, to).await?,
            Piece::Picture { offset, bytes, .. } => {
                let length = bytes.len() as u64;
                send_message(sender, &ServerMessage::Repaint { offset, bytes: length }).await?;
                let picture = Bytes::from(bytes);
                for start in (0..picture.len()).step_by(limits::PICTURE_PIECE) {
                    let end = picture.len().min(start + limits::PICTURE_PIECE);
                    deliver(sender, Message::Binary(picture.slice(start..end))).await?;
                }
            }
            // A client on another machine cannot read this machine's memory.
            Piece::Direct { .. } => return Some(SocketEnding::Restarting),
            Piece::Event(event) => {
                if let Some(message) = translated(event, output.cursor().offset()) {
                    send_message(sender, &message).await?;
                }
            }
            Piece::Refused(error) => {
                send_message(sender, &ServerMessage::Notice { text: error.message }).await?
            }
            Piece::Notice(text) => send_message(sender, &ServerMessage::Notice { text }).await?,
            Piece::End(event) => {
                if let Some(message) = translated(event, output.cursor().offset()) {
                    send_message(sender, &message).await?;
                }
                return Some(SocketEnding::Finished);
            }
            Piece::Broken => return Some(SocketEnding::Restarting),
        }
        pieces += 1;
        if pieces % limits::PIECES_PER_TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// Waits for the next piece, and meanwhile sends pings and notices.
async fn next_piece(
    sender: &mut Sender,
    output: &mut TerminalOutput,
    pings: &mut Pings,
    notices: &mut mpsc::Receiver<String>,
) -> Option<Piece> {
    let next = output.next();
    tokio::pin!(next);
    loop {
        let message = tokio::select! {
            biased;
            piece = &mut next => return Some(piece),
            ping = pings.next() => ping,
            Some(text) = notices.recv() => encoded(&ServerMessage::Notice { text })?,
        };
        deliver(sender, message).await?;
    }
}

/// Sends output from the ring.
async fn send_range(sender: &mut Sender, output: &mut TerminalOutput, to: Offset) -> Option<()> {
    let cursor = output.cursor();
    let from = cursor.offset();
    let mut bytes = Vec::with_capacity((to - from) as usize);
    let intact = cursor.ring().is_some_and(|ring| ring.copy(from, to, &mut bytes));
    if !intact {
        output.lost().await;
        return Some(());
    }
    deliver(sender, Message::Binary(bytes.into())).await?;
    output.cursor().advance(to - from);
    Some(())
}

/// An event of the terminal as a message; `None` for one that clients of the web do not get.
fn translated(event: StreamEvent, now: Offset) -> Option<ServerMessage> {
    Some(match event {
        StreamEvent::PtyExited { code, .. } => ServerMessage::Exited { code },
        StreamEvent::Lagged { dropped, offset } => {
            ServerMessage::Lagged { offset: offset.unwrap_or(now), dropped }
        }
        StreamEvent::Resized { cols, rows, .. } => ServerMessage::Resized { cols, rows },
        StreamEvent::PtyRestarting { delay_ms } => {
            let seconds = delay_ms.div_ceil(1000);
            ServerMessage::Notice { text: format!("The command has ended and restarts in {seconds} s.") }
        }
        StreamEvent::Detached
        | StreamEvent::Direct { .. }
        | StreamEvent::End { .. }
        | StreamEvent::Indirect
        | StreamEvent::Notification { .. }
        | StreamEvent::Repaint { .. } => return None,
    })
}

async fn send_message(sender: &mut Sender, message: &ServerMessage) -> Option<()> {
    deliver(sender, encoded(message)?).await
}

/// Sends a message, however long the client takes: a browser may be asleep, and is repainted afterwards. One that is gone
/// is noticed by its silence.
async fn deliver(sender: &mut Sender, message: Message) -> Option<()> {
    use futures_util::SinkExt;
    sender.send(message).await.ok()
}

fn encoded(message: &ServerMessage) -> Option<Message> {
    Some(Message::Text(Utf8Bytes::from(serde_json::to_string(message).ok()?)))
}

// ---- from the client ----

/// Delivers what the client sends until it leaves.
async fn receive_input(receiver: &mut Receiver, input: &TerminalInput, notices: &mpsc::Sender<String>) {
    loop {
        let message = tokio::select! {
            biased;
            message = socket::receive(receiver) => message,
            // A program that has ended reads nothing; the output half reports its end.
            _delivered = input.deliver_held() => continue,
        };
        match message {
            Some(Message::Binary(bytes)) => {
                if input.deliver(&bytes).await.is_err_and(|error| error != swb_engine::InputError::Ended) {
                    return;
                }
            }
            Some(Message::Text(text)) => match serde_json::from_str(&text) {
                Ok(ClientMessage::Resize { cols, rows }) => input.resize(cols, rows).await,
                Ok(ClientMessage::Unknown) => {}
                // If one waits to be sent already, it has the same text.
                Err(error) => drop(notices.try_send(format!("A message was ignored: {error}"))),
            },
            Some(Message::Ping(_) | Message::Pong(_) | Message::Close(_)) => {}
            None => return,
        }
    }
}
