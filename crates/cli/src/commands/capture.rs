//! `swb capture`: copy a turn to the relay buffer.

use super::turn::captured;
use crate::args;
use crate::context::Context;
use crate::error::Outcome;
use crate::table;
use serde::Serialize;
use swb_wire::control::{CaptureReply, Operation};

/// The output of `capture --json`.
#[derive(Debug, Serialize)]
struct Captured {
    turn_id: String,
    bytes: u64,
}

/// Copies a turn to the buffer.
pub(super) fn run(context: &Context, args: &args::CaptureArgs) -> Outcome {
    let reply: CaptureReply =
        context.query(&Operation::Capture(captured(&context.turn(args.id.clone())?)))?;
    let captured = Captured { turn_id: reply.turn_id, bytes: reply.size };
    context.print_result(&captured, |captured| {
        format!("Captured {} ({})", captured.turn_id, table::count(captured.bytes, "byte"))
    })?;
    Ok(0)
}
