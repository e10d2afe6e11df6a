//! `swb events`: print events as they occur.

use crate::args;
use crate::console::{print_json_text, print_text};
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::event_stream::{EventStream, StreamItem};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use swb_types::PtyId;
use swb_vt::printable;
use swb_wire::control::{EventBody, EventItem, Events};
use unicode_width::UnicodeWidthStr;

/// Columns of a session's name; a longer one moves the rest of its line.
const NAME: usize = 12;

/// Prints events until it is interrupted: one per line, as JSON or as text for people.
pub(super) fn run(context: &Context, args: args::EventsArgs) -> Outcome {
    // Events after a cursor may be those of a session that no longer exists.
    let sessions = match args.since {
        None => args.names.into_iter().map(|name| existing(context, name)).collect::<Result<_, _>>()?,
        Some(_) => args.names,
    };
    let request = Events { since: args.since, sessions };
    let mut events = EventStream::open(context, request, None)?;
    let zone = TimeZone::system();
    loop {
        if let StreamItem::Event(line, happening) = events.next(None)? {
            match context.json {
                true => print_json_text(&(String::from_utf8_lossy(&line) + "\n"))?,
                false => print_text(&text(&happening, &zone))?,
            }
        }
    }
}

/// The session that a name means. The events of one that does not exist would never come.
fn existing(context: &Context, name: String) -> Result<String, Failure> {
    context.existing_session(name).map_err(|failure| {
        let all = "without a name, `swb events` prints the events of all";
        let hint = failure.hint_text().map_or(all.to_owned(), |hint| format!("{hint}; {all}"));
        failure.hint(hint)
    })
}

/// An event as text for people: the local time, the session, and what happened.
fn text(happening: &EventItem, zone: &TimeZone) -> String {
    let at = i64::try_from(happening.at)
        .ok()
        .and_then(|at| Timestamp::from_millisecond(at).ok())
        .unwrap_or_default();
    let time = at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string();
    let session = printable(happening.session.as_deref().unwrap_or("-"));
    let padding = " ".repeat(NAME.saturating_sub(session.width()));
    format!("{time}  {session}{padding}  {}\n", what(&happening.what))
}

fn what(what: &EventBody) -> String {
    let terminal = |pty: PtyId| match pty {
        PtyId::AGENT => "its command".to_owned(),
        shell => format!("shell {}", shell.0),
    };
    match what {
        EventBody::Missed => "some events were lost".to_owned(),
        EventBody::Opened => "opened".to_owned(),
        EventBody::Found => "found again after a restart of the daemon".to_owned(),
        EventBody::Closed => "closed".to_owned(),
        EventBody::Started { pty } => format!("{} started", terminal(*pty)),
        EventBody::Exited { pty, code } => format!("{} exited with {code}", terminal(*pty)),
        EventBody::Status { state, signal: Some(signal) } => format!("{} ({signal})", state.as_str()),
        EventBody::Status { state, signal: None } => state.as_str().to_owned(),
        EventBody::Submitted { .. } => "input submitted".to_owned(),
        EventBody::Dialog { .. } => "asking during a turn".to_owned(),
        EventBody::Turn { turn_id } => format!("turn {} completed", printable(turn_id)),
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
            text(
                &EventItem { cursor: "1-2".into(), at: 86_400_000 + 3_723_000, session, what },
                &TimeZone::UTC,
            )
        };
        assert_eq!(
            line(Some("api"), EventBody::Turn { turn_id: "api:1".into() }),
            "01:02:03  api           turn api:1 completed\n"
        );
        let status = EventBody::Status { state: AgentState::Ready, signal: Some("title".into()) };
        assert_eq!(line(Some("a\x1b"), status), "01:02:03  a\\u{1b}       ready (title)\n");
        assert_eq!(line(None, EventBody::Missed), "01:02:03  -             some events were lost\n");
    }
}
