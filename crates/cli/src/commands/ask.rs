//! `swb ask`: ask an agent a question and print its answer.

use super::turn;
use super::wait::{self, TIMED_OUT};
use crate::args;
use crate::console::say;
use crate::context::Context;
use crate::error::{Failure, FailureKind, Outcome};
use crate::limits;
use crate::stdin;
use serde_json::json;
use std::time::{Duration, Instant};
use swb_wire::control::{
    Ask, AskReply, AskResult, MAX_FRAME, Operation, Turn, TurnObject, Wait, WaitOutcome, WaitUntil,
};

/// Submits a text, waits for the turn and prints its text.
pub(super) fn run(context: &Context, args: args::AskArgs) -> Outcome {
    turn::check_form(context, args.raw)?;
    let started = Instant::now();
    let text = if args.text == "-" { stdin::text(MAX_FRAME)? } else { args.text };
    let known = wait::newest(context, &args.name)?;
    let timeout_ms = args.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    let request = Ask { session: args.name.clone(), text, timeout_ms, force: args.force };
    let limit = args.timeout.and_then(|timeout| timeout.checked_add(limits::ASK_GRACE));
    let answer = context.connect()?.request_within::<AskReply>(&Operation::Ask(request), limit);
    let reply = match answer {
        // The text was most likely typed; repeating the request would type it twice.
        Err(failure) if failure.kind() == FailureKind::Disconnected => {
            let left = args.timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
            return resume(context, args.name, known, left, args.raw);
        }
        answer => answer?,
    };
    match (reply.met, reply.turn) {
        (AskResult::Turn, Some(turn)) => show(context, turn, args.raw),
        (AskResult::Turn, None) => Err(Failure::general("the daemon's reply contains no turn")),
        (AskResult::Timeout, _) => {
            if !context.json {
                say(format_args!(
                    "swb: timed out waiting for the answer of session '{name}'\nhint: `swb explain {name}` shows the state of its agent",
                    name = args.name
                ));
            }
            Ok(TIMED_OUT)
        }
        (AskResult::Asking, _) => asks(context, &args.name, reply.detail.as_deref()),
    }
}

/// Continues to wait for the turn after the daemon has died.
fn resume(
    context: &Context,
    session: String,
    known: Option<u64>,
    left: Option<Duration>,
    raw: bool,
) -> Outcome {
    let request =
        Wait { session: session.clone(), until: Some(WaitUntil::Turn), after: known, ..Wait::default() };
    let reply = wait::until(context, request, left)?;
    match reply {
        Some(reply) if reply.met == WaitOutcome::Turn => {
            let wanted = Turn { turn_id: reply.turn_id, ..Turn::default() };
            let turn = turn::fetch(context, wanted, raw || context.json)?;
            turn::show(context, &turn, raw)?;
            Ok(0)
        }
        _ => Ok(TIMED_OUT),
    }
}

fn show(context: &Context, found: TurnObject, raw: bool) -> Outcome {
    let whole = turn::complete(context, found, raw || context.json)?;
    turn::show(context, &whole, raw)?;
    Ok(0)
}

fn asks(context: &Context, session: &str, detail: Option<&str>) -> Outcome {
    if context.json {
        context.answer(&json!({"asking": true, "session": session, "detail": detail}), |_| String::new())?;
        return Ok(FailureKind::Asks.exit_code());
    }
    Err(Failure::new(FailureKind::Asks, format!("the agent of session '{session}' is waiting for an answer"))
        .hint(format!("`swb screen {session}` shows its question; `swb keys {session} KEY…` answers it")))
}
