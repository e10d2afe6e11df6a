//! `swb explain`: show an agent's state and the evidence for it.

use crate::args;
use crate::context::Context;
use crate::error::Outcome;
use crate::table;
use std::fmt::Write;
use swb_vt::printable;
use swb_wire::control::{Explain, ExplainReply, Operation, TextSource};

/// Shows the state of the agent of a session.
pub(super) fn run(context: &Context, args: args::ExplainArgs) -> Outcome {
    let session = context.session_or_reported(args.name)?;
    let reply: ExplainReply = context.query(&Operation::Explain(Explain { session }))?;
    context.print_result(&reply, |reply| text(reply, table::now()))?;
    Ok(0)
}

fn text(reply: &ExplainReply, now: u64) -> String {
    let agent = &reply.agent;
    let ago = |at: u64| table::age(now.saturating_sub(at / 1000));
    let mut text = agent.state.as_str().to_owned();
    // Writing to a string cannot fail.
    if agent.since > 0 {
        let _ = write!(text, " for {}", ago(agent.since));
    }
    let _ = match &agent.profile {
        Some(profile) => writeln!(text, ", profile {}", printable(profile)),
        None => writeln!(text, ", no detection profile"),
    };
    if let Some(program) = &reply.foreground {
        let _ = writeln!(text, "in the foreground of its terminal: {}", printable(program));
    }
    for evidence in &reply.evidence {
        let (signal, offset) = (&evidence.signal, evidence.offset.0);
        let detail = printable(evidence.detail.trim_end());
        let _ = writeln!(text, "because of {signal}, {} ago at byte {offset}: {detail}", ago(evidence.at));
    }
    if let Some(turn) = &reply.last_turn {
        let from = match turn.source {
            TextSource::Transcript => "the agent's session file".to_owned(),
            source => format!("the {}", source.as_str()),
        };
        let because = reply.source_reason.as_deref().map(|why| format!(", because {}", printable(why)));
        let (id, because) = (printable(&turn.turn_id), because.unwrap_or_default());
        let _ = writeln!(text, "latest turn: {id}, {} ago, text from {from}{because}", ago(turn.timestamp));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_types::Offset;
    use swb_wire::control::{AgentItem, AgentState, EvidenceItem, TurnItem};

    #[test]
    fn people_get_sentences() {
        let mut reply = ExplainReply {
            ok: true,
            session: "api".into(),
            agent: AgentItem {
                state: AgentState::Ready,
                since: 60_000,
                signal: Some("title".into()),
                profile: Some("claude".into()),
            },
            detail: None,
            foreground: None,
            evidence: vec![EvidenceItem {
                signal: "title".into(),
                detail: "✳ Claude\x1b".into(),
                at: 60_000,
                offset: Offset(17),
            }],
            last_turn: Some(TurnItem { turn_id: "api:2".into(), timestamp: 60_000, ..TurnItem::default() }),
            source_reason: Some("the session file does not agree with the screen".into()),
        };
        insta::assert_snapshot!(text(&reply, 180), @r"
        ready for 2m, profile claude
        because of title, 2m ago at byte 17: ✳ Claude\u{1b}
        latest turn: api:2, 2m ago, text from the screen, because the session file does not agree with the screen
        ");
        reply.foreground = Some("vim".into());
        assert!(text(&reply, 180).contains("in the foreground of its terminal: vim\n"));
        reply.source_reason = None;
        assert!(text(&reply, 180).ends_with("ago, text from the screen\n"));
        if let Some(turn) = &mut reply.last_turn {
            turn.source = TextSource::Transcript;
        }
        assert!(text(&reply, 180).ends_with("ago, text from the agent's session file\n"));
    }
}
