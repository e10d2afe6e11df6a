//! `swb kill`: kill sessions.

use crate::args;
use crate::console::eprint_text;
use crate::context::Context;
use crate::error::{FailureKind, Outcome};
use serde::Serialize;
use swb_wire::control::{Kill, OkReply, Operation};

/// The output of `kill --json`.
#[derive(Debug, Serialize)]
struct Killed {
    killed: Vec<String>,
    failed: Vec<Failed>,
}

#[derive(Debug, Serialize)]
struct Failed {
    session: String,
    message: String,
}

/// Kills the named sessions, or all; continues with the others if one cannot be killed.
pub(crate) fn run(context: &Context, args: &args::KillArgs) -> Outcome {
    if args.all {
        return all(context, args.force);
    }
    let mut result = Killed { killed: Vec::new(), failed: Vec::new() };
    let mut code = 0;
    for session in &args.names {
        let request = Kill { session: Some(session.clone()), all: false, force: args.force };
        match context.execute::<OkReply>(&Operation::Kill(request)) {
            Ok(_) => result.killed.push(session.clone()),
            Err(failure)
                if matches!(
                    failure.kind(),
                    FailureKind::NoSession | FailureKind::General | FailureKind::Invalid
                ) =>
            {
                eprint_text(&failure.render(context.program));
                code = failure.kind().exit_code().max(code);
                result.failed.push(Failed { session: session.clone(), message: failure.to_string() });
            }
            Err(failure) => return Err(failure),
        }
    }
    context.answer(&result, text)?;
    Ok(code)
}

fn all(context: &Context, force: bool) -> Outcome {
    let killed: Vec<String> = context.sessions()?.into_iter().map(|session| session.name).collect();
    let _: OkReply = context.execute(&Operation::Kill(Kill { session: None, all: true, force }))?;
    let result = Killed { killed, failed: Vec::new() };
    context.answer(&result, |result| {
        if result.killed.is_empty() { "No sessions.\n".to_owned() } else { text(result) }
    })?;
    Ok(0)
}

fn text(result: &Killed) -> String {
    result.killed.iter().map(|session| format!("Killed session {session}\n")).collect()
}
