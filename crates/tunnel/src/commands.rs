//! What a peer requests on the control channel.

use crate::limits;
use std::sync::Arc;
use swb_operations::requests::{Outgoing, Requests, TerminalPermit};
use swb_wire::control::{ErrorCode, ErrorReply, Operation, parse_operation};
use swb_wire::web::request::has_id;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// A message that waits for its turn.
pub(crate) struct QueuedCommand {
    pub(crate) text: Result<String, ErrorReply>,
    /// Its part of what may wait.
    pub(crate) _room: OwnedSemaphorePermit,
}

/// Executes commands: in order, or with an id as they come.
pub(crate) async fn execute(mut requests: Requests, mut commands: mpsc::Receiver<QueuedCommand>) {
    while let Some(command) = commands.recv().await {
        let text = match command.text {
            Ok(text) => text,
            Err(error) => {
                requests.send_error(error).await;
                continue;
            }
        };
        if has_id(&text) {
            requests.receive(&text).await;
            continue;
        }
        match parse_operation(text.as_bytes()) {
            Ok(operation) => requests.execute_in_order(operation).await,
            Err(error) => requests.send_error(error.into()).await,
        }
    }
}

/// A reply as a message of at most `longest` bytes; one that is too long becomes an error.
pub(crate) fn fitting(reply: String, longest: usize) -> String {
    if reply.len() <= longest {
        return reply;
    }
    let text = format!("the reply has {} bytes, and a message at most {longest}; ask for less", reply.len());
    let error = ErrorReply::new(ErrorCode::MessageTooLarge, text);
    let id = swb_wire::web::request::id_of(&reply);
    swb_wire::web::request::with_id(id.as_deref(), &serde_json::to_vec(&error).unwrap_or_default())
}

/// Which operations are carried, and a place for each terminal.
pub(crate) fn carried(places: Arc<Semaphore>) -> impl Fn(&Operation) -> Result<TerminalPermit, ErrorReply> {
    move |operation| match operation {
        Operation::Attach(_) | Operation::Shell(_) => {
            let full = |_| {
                let text = format!("{} terminals of this tunnel are open; close some", limits::TERMINALS);
                ErrorReply::new(ErrorCode::LimitReached, text)
            };
            Arc::clone(&places).try_acquire_owned().map(Some).map_err(full)
        }
        Operation::Logs(logs) if logs.follow => {
            Err(ErrorReply::new(ErrorCode::InvalidCommand, "'follow' is not possible here; use 'attach'"))
        }
        _ => Ok(None),
    }
}

/// The queue of a control channel's replies.
pub(crate) type Replies = mpsc::Receiver<Outgoing>;
