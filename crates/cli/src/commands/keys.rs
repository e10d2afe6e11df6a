//! `swb keys`: press keys in a session without attaching.

use crate::args;
use crate::context::Context;
use crate::error::Outcome;
use serde::Serialize;
use swb_wire::control::{Keys, KeysReply, Operation};

/// The output of `keys --json`.
#[derive(Debug, Serialize)]
struct Pressed {
    session: String,
    bytes: u64,
}

/// Presses the keys and returns when their bytes are written to the terminal.
pub(super) fn run(context: &Context, args: args::KeysArgs) -> Outcome {
    let session = context.session_to_type(args.name)?;
    let request =
        Keys { session: session.clone(), pty: Some(args.pty), keys: args.keys, literal: args.literal };
    let reply: KeysReply = context.execute(&Operation::Keys(request))?;
    context.print_result(&Pressed { session, bytes: reply.bytes }, |_| String::new())?;
    Ok(0)
}
