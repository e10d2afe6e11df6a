//! `swb relay`: type a turn of one session into another.

use crate::args;
use crate::console::eprint_line;
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::stdin;
use serde::Serialize;
use std::path::Path;
use swb_wire::control::{MAX_FRAME, Operation, Relay, RelayReply};

/// The output of `relay --json`.
#[derive(Debug, Serialize)]
struct Relayed {
    turn_id: String,
    to: String,
    bytes: u64,
    submitted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// Types a turn into a session.
pub(super) fn run(context: &Context, args: args::RelayArgs) -> Outcome {
    let template = args.template.as_deref().map(read).transpose()?;
    let to = context.session_to_type(args.to)?;
    let request = Relay {
        from: context.turn(args.from)?,
        to: to.clone(),
        template,
        prefix: args.prefix,
        submit: args.submit,
        verbatim: args.verbatim,
        raw: args.raw,
        force: args.force,
    };
    let reply: RelayReply = context.execute(&Operation::Relay(request))?;
    if let Some(warning) = &reply.warning {
        eprint_line(format_args!("{}: {warning}", context.program));
    }
    let relayed = Relayed {
        turn_id: reply.turn_id,
        to,
        bytes: reply.bytes,
        submitted: args.submit,
        warning: reply.warning,
    };
    context.print_result(&relayed, |_| String::new())?;
    Ok(0)
}

fn read(file: &Path) -> Result<String, Failure> {
    if file == Path::new("-") {
        return stdin::text(MAX_FRAME);
    }
    std::fs::read_to_string(file)
        .map_err(|error| Failure::io(format!("cannot read {}", file.display()), &error))
}
