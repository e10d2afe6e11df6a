//! `swb events`: print events as they occur.

use crate::args;
use crate::console::{print_json_text, print_text};
use crate::context::Context;
use crate::error::{Failure, FailureKind, Outcome};
use crate::event_stream::{EventStream, StreamItem};
use swb_vt::printable;
use swb_wire::control::{EventBody, EventItem, Events};

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Prints events until it is interrupted: one per line, as JSON or as text for people.
pub(super) fn run(context: &Context, args: args::EventsArgs) -> Outcome {
    // Events after a cursor may be those of a session that no longer exists.
    if args.since.is_none() {
        check_names(context, &args.names)?;
    }
    let request = Events { since: args.since, sessions: args.names };
    let mut events = EventStream::open(context, request, None)?;
    loop {
        if let StreamItem::Event(line, happening) = events.next(None)? {
            match context.json {
                true => print_json_text(&(String::from_utf8_lossy(&line) + "\n"))?,
                false => print_text(&text(&happening))?,
            }
        }
    }
}

/// Refuses a name that no session has: its events would never come.
fn check_names(context: &Context, names: &[String]) -> Result<(), Failure> {
    let sessions = if names.is_empty() { Vec::new() } else { context.sessions()? };
    match names.iter().find(|name| !sessions.iter().any(|session| session.name == **name)) {
        Some(name) => Err(Failure::new(FailureKind::NoSession, format!("no session '{name}'"))
            .hint("`swb ls` lists the sessions; without a name, `swb events` prints the events of all")),
        None => Ok(()),
    }
}

/// An event as text for people, with the time of day in UTC.
fn text(happening: &EventItem) -> String {
    let second = happening.at / 1000 % DAY;
    let (hours, minutes, seconds) = (second / 3600, second / 60 % 60, second % 60);
    let session = printable(happening.session.as_deref().unwrap_or("-"));
    format!("{hours:02}:{minutes:02}:{seconds:02}Z  {session}  {}\n", what(&happening.what))
}

fn what(what: &EventBody) -> String {
    match what {
        EventBody::Missed => "some events were lost".to_owned(),
        EventBody::Opened => "opened".to_owned(),
        EventBody::Found => "found again".to_owned(),
        EventBody::Closed => "closed".to_owned(),
        EventBody::Started { pty } => format!("started on terminal {}", pty.0),
        EventBody::Exited { pty, code } => format!("exited on terminal {} with {code}", pty.0),
        EventBody::Status { state, signal: Some(signal) } => format!("{} ({signal})", state.as_str()),
        EventBody::Status { state, signal: None } => state.as_str().to_owned(),
        EventBody::Submitted { .. } => "submitted".to_owned(),
        EventBody::Dialog { .. } => "asking during a turn".to_owned(),
        EventBody::Turn { turn_id } => format!("turn {}", printable(turn_id)),
        _ => "unknown event".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::control::AgentState;

    #[test]
    fn people_get_a_line() {
        let line = |session: Option<&str>, what| {
            let session = session.map(str::to_owned);
            text(&EventItem { cursor: "1-2".into(), at: 86_400_000 + 3_723_000, session, what })
        };
        assert_eq!(
            line(Some("api"), EventBody::Turn { turn_id: "api:1".into() }),
            "01:02:03Z  api  turn api:1\n"
        );
        let status = EventBody::Status { state: AgentState::Ready, signal: Some("title".into()) };
        assert_eq!(line(Some("a\x1b"), status), "01:02:03Z  a\\u{1b}  ready (title)\n");
        assert_eq!(line(None, EventBody::Missed), "01:02:03Z  -  some events were lost\n");
    }
}
