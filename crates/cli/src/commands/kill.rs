//! `swb kill`: kill sessions.

use crate::args;
use crate::console::eprint_text;
use crate::context::{self, Context};
use crate::error::{FailureKind, Outcome};
use serde::Serialize;
use swb_wire::control::{Kill, OkReply, Operation, SessionItem, SessionStatus};

/// The output of `kill --json`.
#[derive(Debug, Serialize)]
struct Killed {
    killed: Vec<String>,
    /// Those of them that had ended before, and were only removed from the list.
    ended: Vec<String>,
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
    let ended = ended(context.sessions()?);
    let mut result = Killed { killed: Vec::new(), ended: Vec::new(), failed: Vec::new() };
    let mut code = 0;
    for session in &args.names {
        let request = Kill { session: Some(session.clone()), all: false, force: args.force };
        match context.execute::<OkReply>(&Operation::Kill(request)) {
            Ok(_) => {
                result.ended.extend(ended.contains(session).then(|| session.clone()));
                result.killed.push(session.clone());
            }
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
    context.print_result(&result, text)?;
    Ok(code)
}

fn all(context: &Context, force: bool) -> Outcome {
    let sessions = context.sessions()?;
    let killed: Vec<String> = sessions.iter().map(|session| session.name.clone()).collect();
    let ended = ended(sessions);
    let _: OkReply = context.execute(&Operation::Kill(Kill { session: None, all: true, force }))?;
    let result = Killed { killed, ended, failed: Vec::new() };
    context.print_result(&result, |result| {
        if result.killed.is_empty() { "No sessions.\n".to_owned() } else { text(result) }
    })?;
    Ok(0)
}

/// Names of sessions that have ended, and are no names of live ones.
fn ended(sessions: Vec<SessionItem>) -> Vec<String> {
    let has_ended = |session: &SessionItem| context::status(session) == SessionStatus::Exited;
    let live: Vec<String> =
        sessions.iter().filter(|session| !has_ended(session)).map(|session| session.name.clone()).collect();
    let ended = sessions.into_iter().filter(|session| has_ended(session) && !live.contains(&session.name));
    ended.map(|session| session.name).collect()
}

fn text(result: &Killed) -> String {
    let line = |session: &String| match result.ended.contains(session) {
        true => format!("Removed session {session}, which had ended\n"),
        false => format!("Killed session {session}\n"),
    };
    result.killed.iter().map(line).collect()
}
