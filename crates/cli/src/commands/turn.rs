//! `swb turn`: show one turn of an agent.

use crate::args;
use crate::console::print_bytes;
use crate::context::Context;
use crate::error::{Failure, Outcome};
use swb_wire::control::{Capture, Operation, Turn, TurnObject, TurnReply};

/// Prints a turn.
pub(super) fn run(context: &Context, args: &args::TurnArgs) -> Outcome {
    check_form(context, args.raw)?;
    let turn = fetch(context, named(&context.turn(args.id.clone())?), args.raw || context.json)?;
    show(context, &turn, args.raw)?;
    Ok(0)
}

/// Bytes have no JSON form of their own.
pub(super) fn check_form(context: &Context, raw: bool) -> Result<(), Failure> {
    match context.json && raw {
        true => Err(Failure::usage("--json cannot be combined with --raw")),
        false => Ok(()),
    }
}

/// Prints the text of a turn, its bytes, or all fields as JSON.
pub(super) fn show(context: &Context, turn: &TurnObject, raw: bool) -> Result<(), Failure> {
    if raw {
        return print_bytes(&turn.content.0);
    }
    context.print_result(turn, |turn| turn.text.clone())
}

/// The request for a turn that the user has named.
fn named(id: &str) -> Turn {
    let (turn_id, session) = which(id);
    Turn { turn_id, session, ..Turn::default() }
}

/// The request to capture a turn that the user has named.
pub(super) fn captured(id: &str) -> Capture {
    let (turn_id, session) = which(id);
    Capture { turn_id, session }
}

/// Distinguishes the id of a turn from the name of a session: only the former ends in a colon and a number.
fn which(id: &str) -> (Option<String>, Option<String>) {
    let number =
        |(_, number): (&str, &str)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    match id.rsplit_once(':').is_some_and(number) {
        true => (Some(id.to_owned()), None),
        false => (None, Some(id.to_owned())),
    }
}

/// Gets a complete turn, in as many pieces as needed; its bytes only if requested.
pub(crate) fn fetch(context: &Context, mut request: Turn, bytes: bool) -> Result<TurnObject, Failure> {
    request.length = (!bytes).then_some(0);
    let first: TurnReply = context.query(&Operation::Turn(request))?;
    complete(context, first.turn, bytes)
}

/// Gets the missing pieces of a turn.
pub(super) fn complete(context: &Context, mut turn: TurnObject, bytes: bool) -> Result<TurnObject, Failure> {
    loop {
        let (from, text_from) = (turn.content.0.len() as u64, turn.text.len() as u64);
        let lacks_bytes = bytes && from < turn.content_length;
        if !lacks_bytes && text_from >= turn.text_length {
            turn.cut = from < turn.content_length;
            return Ok(turn);
        }
        let request = Turn {
            turn_id: Some(turn.turn_id.clone()),
            session: None,
            from: Some(from),
            length: (!bytes).then_some(0),
            text_from: Some(text_from),
        };
        let next: TurnReply = context.query(&Operation::Turn(request))?;
        if next.turn.content.0.is_empty() && next.turn.text.is_empty() {
            return Err(Failure::general("the daemon did not send the rest of the turn"));
        }
        turn.content.0.extend_from_slice(&next.turn.content.0);
        turn.text.push_str(&next.turn.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_have_a_number() {
        assert_eq!(which("api:3").0.as_deref(), Some("api:3"));
        assert_eq!(which("a:b:12").0.as_deref(), Some("a:b:12"));
        for session in ["api", "a:b", "a:", "a:1x", "/w/a"] {
            assert_eq!(which(session).1.as_deref(), Some(session));
        }
    }
}
