//! `swb ask`: ask an agent a question and print its answer.

use super::turn;
use super::wait::{self, TIMED_OUT};
use crate::args::{self, TimeLimit};
use crate::console::eprint_line;
use crate::context::Context;
use crate::error::{Failure, FailureKind, Outcome};
use crate::limits;
use crate::stdin;
use crate::terminal::signals::Signals;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;
use signal_hook::consts::SIGINT;
use std::time::{Duration, Instant};
use swb_vt::printable;
use swb_wire::control::{
    Ask, AskReply, AskResult, MAX_FRAME, Operation, Turn, TurnObject, Wait, WaitOutcome, WaitUntil,
};

/// Submits a text, waits for the turn and prints its text.
pub(super) fn run(context: &Context, mut args: args::AskArgs) -> Outcome {
    turn::check_form(context, args.raw)?;
    args.name = context.session_to_type(args.name)?;
    exit_on_interrupt(&args.name)?;
    let started = Instant::now();
    let text = if args.text == "-" { stdin::text(MAX_FRAME)? } else { args.text };
    let known = wait::newest(context, &args.name)?;
    let timeout = match args.timeout {
        TimeLimit::After(limit) => Some(limit),
        TimeLimit::None => None,
    };
    let timeout_ms = timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    let request = Ask { session: args.name.clone(), text, timeout_ms, force: args.force };
    let limit = timeout.and_then(|timeout| timeout.checked_add(limits::ASK_GRACE));
    let answer = context.connect()?.request_within::<AskReply>(&Operation::Ask(request), limit);
    let reply = match answer {
        // The text was most likely typed; repeating the request would type it twice.
        Err(failure) if failure.kind() == FailureKind::Disconnected => {
            let left = timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
            return resume(context, args.name, known, left, args.raw);
        }
        answer => answer?,
    };
    match (reply.met, reply.turn) {
        (AskResult::Turn, Some(turn)) => show(context, reply.earlier, turn, args.raw),
        (AskResult::Turn, None) => Err(Failure::general("the daemon's reply contains no turn")),
        (AskResult::Timeout, _) => {
            if !context.json {
                timed_out(&args.name, timeout.unwrap_or_default(), reply.detail.as_deref());
            }
            Ok(TIMED_OUT)
        }
        (AskResult::Ready, _) => {
            context.print_result(&json!({"session": args.name, "turn_id": null, "text": ""}), |_| {
                String::new()
            })?;
            Ok(0)
        }
        (AskResult::Asking, _) => asks(context, &args.name, reply.detail.as_deref(), reply.more.as_deref()),
    }
}

/// Reports a timeout; `untyped` is why nothing was typed before it.
fn timed_out(name: &str, after: Duration, untyped: Option<&str>) {
    match untyped {
        Some(why) => eprint_line(format_args!(
            "swb: timed out: {why}; nothing was typed into session '{name}'\n\
             hint: `swb explain {name}` shows its state; `swb send {name} TEXT --enter` types without waiting for a \
             prompt, as --force does; `swb run --profile` names the prompts of a program"
        )),
        None => eprint_line(format_args!(
            "swb: timed out waiting for the answer of session '{name}' after {} s; its agent continues\n\
             hint: `swb wait {name} --until turn` waits for its answer; `swb explain {name}` shows its state; --timeout sets \
             the limit",
            after.as_secs_f64()
        )),
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
            print(context, &turn, raw)
        }
        _ => Ok(TIMED_OUT),
    }
}

/// Prints the answer, after those to the lines before the last one; as JSON, the former has the latter.
fn show(context: &Context, earlier: Vec<TurnObject>, found: TurnObject, raw: bool) -> Outcome {
    let whole = |found| turn::complete(context, found, raw || context.json);
    let earlier = earlier.into_iter().map(whole).collect::<Result<Vec<_>, _>>()?;
    let answer = whole(found)?;
    if context.json && !earlier.is_empty() {
        let mut json = serde_json::to_value(&answer)?;
        if let Some(fields) = json.as_object_mut() {
            fields.insert("earlier".to_owned(), serde_json::to_value(&earlier)?);
        }
        context.print_result(&json, |_| String::new())?;
        return Ok(exit_code(context, &answer));
    }
    for turn in &earlier {
        turn::show(context, turn, raw)?;
    }
    print(context, &answer, raw)
}

/// Prints an answer; one that was interrupted is an error.
fn print(context: &Context, turn: &TurnObject, raw: bool) -> Outcome {
    turn::show(context, turn, raw)?;
    Ok(exit_code(context, turn))
}

fn exit_code(context: &Context, turn: &TurnObject) -> u8 {
    if !turn.interrupted {
        return 0;
    }
    eprint_line(format_args!("{}: the answer was interrupted", context.program));
    INTERRUPTED
}

/// Ends this process with a message on Ctrl+C; the agent continues.
fn exit_on_interrupt(session: &str) -> Result<(), Failure> {
    let signals = Signals::catch(&[SIGINT])?;
    let session = session.to_owned();
    let wait = move || {
        let mut readable = [PollFd::new(&signals, PollFlags::IN)];
        // A signal may interrupt the wait for itself.
        while poll(&mut readable, None).is_err() {}
        eprint_line(format_args!(
            "swb: interrupted; the agent of session '{session}' continues\nhint: `swb wait {session} --until turn` waits for its answer"
        ));
        std::process::exit(INTERRUPTED.into());
    };
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(wait)?;
    Ok(())
}

/// Exit code after Ctrl+C, here or at the agent's terminal.
const INTERRUPTED: u8 = 130;

fn asks(context: &Context, session: &str, detail: Option<&str>, more: Option<&str>) -> Outcome {
    if context.json {
        let mut asks = json!({"asking": true, "session": session, "detail": detail});
        if let Some(prompt) = more {
            asks["more"] = prompt.into();
        }
        context.print_result(&asks, |_| String::new())?;
        return Ok(FailureKind::Asks.exit_code());
    }
    // What the program drew must not control the user's terminal.
    for row in detail.iter().flat_map(|detail| detail.lines()) {
        eprint_line(format_args!("  {}", printable(row)));
    }
    if let Some(prompt) = more {
        let what = format!(
            "the program of session '{session}' waits for more lines (its prompt is '{}'); what was typed is kept",
            printable(prompt)
        );
        return Err(Failure::new(FailureKind::Asks, what).hint(format!(
            "`swb send {session} TEXT --enter` types the next line ('' ends a block); `swb keys {session} C-c` discards it"
        )));
    }
    Err(Failure::new(FailureKind::Asks, format!("the agent of session '{session}' is waiting for an answer"))
        .hint(format!("`swb screen {session}` shows its question; `swb keys {session} KEY…` answers it")))
}
