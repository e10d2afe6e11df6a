//! `swb turns`: list the turns of an agent.

use crate::args;
use crate::context::Context;
use crate::error::Outcome;
use crate::table;
use swb_wire::control::{Operation, TurnItem, Turns, TurnsReply};

/// Lists the turns of a session, newest first.
pub(super) fn run(context: &Context, args: args::TurnsArgs) -> Outcome {
    let session = context.session_or_here(args.name)?;
    let reply: TurnsReply = context.query(&Operation::Turns(Turns { session, limit: args.limit }))?;
    context.print_result(&reply.turns, |turns| text(turns, table::now()))?;
    Ok(0)
}

fn text(turns: &[TurnItem], now: u64) -> String {
    if turns.is_empty() {
        return "No turns yet.\n".to_owned();
    }
    let rows: Vec<[String; 4]> = turns.iter().map(|turn| row(turn, now)).collect();
    table::layout(["TURN", "AGE", "BYTES", ""], &rows)
}

fn row(turn: &TurnItem, now: u64) -> [String; 4] {
    let marks = [(turn.interrupted, "interrupted"), (turn.truncated, "cut")];
    let marks: Vec<&str> = marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark).collect();
    [
        turn.turn_id.clone(),
        table::age(now.saturating_sub(turn.timestamp / 1000)),
        turn.byte_length.to_string(),
        marks.join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_a_table() {
        let turn = |n: u64, interrupted, truncated| TurnItem {
            turn_id: format!("api:{n}"),
            timestamp: 60_000 * n,
            byte_length: 1234 * n,
            interrupted,
            truncated,
            ..TurnItem::default()
        };
        let turns = [turn(2, true, true), turn(1, false, false)];
        insta::assert_snapshot!(text(&turns, 180), @r"
        TURN   AGE  BYTES
        api:2  1m   2468   interrupted, cut
        api:1  2m   1234
        ");
        assert_eq!(text(&[], 0), "No turns yet.\n");
    }
}
