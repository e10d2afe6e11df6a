//! `swb paste`: type the relay buffer into a session.

use crate::args;
use crate::context::Context;
use crate::error::Outcome;
use serde::Serialize;
use swb_wire::control::{OkReply, Operation, Paste};

/// The output of `paste --json`.
#[derive(Debug, Serialize)]
struct Pasted {
    session: String,
}

/// Types the buffer into a session.
pub(super) fn run(context: &Context, mut args: args::PasteArgs) -> Outcome {
    args.name = context.session_to_type(args.name)?;
    let request =
        Paste { session: args.name.clone(), verbatim: args.verbatim, raw: args.raw, force: args.force };
    let _: OkReply = context.execute(&Operation::Paste(request))?;
    context.print_result(&Pasted { session: args.name }, |_| String::new())?;
    Ok(0)
}
