//! `swb wait`: wait for a text on a session's screen, for a state of its agent, or for its end.

use crate::args;
use crate::context::Context;
use crate::error::{Failure, FailureKind, Outcome};
use crate::limits;
use clap::ValueEnum;
use serde::Serialize;
use std::time::{Duration, Instant};
use swb_types::{Offset, PtyId};
use swb_wire::control::{Operation, Turns, TurnsReply, Wait, WaitOutcome, WaitReply, WaitUntil};

/// Exit code after a timeout, as that of `timeout`.
pub(super) const TIMED_OUT: u8 = 124;

/// The output of `wait --json`.
#[derive(Debug, Serialize)]
struct Waited {
    session: String,
    pty: PtyId,
    /// Which condition held: `text`, `stable`, `exit`, `ready`, `asking`, `turn` or `timeout`.
    met: WaitOutcome,
    /// The text that the expression matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The exit code of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    /// The turn that was completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    /// Position in the session's output; `None` after a timeout without a daemon.
    offset: Option<Offset>,
}

/// Waits, across restarts of the daemon.
pub(super) fn run(context: &Context, args: args::WaitArgs) -> Outcome {
    let clock = WaitClock::start(Instant::now(), args.timeout);
    check_condition(&args)?;
    let session = context.session_or_here(args.name)?;
    let mut request = Wait {
        session,
        pty: Some(args.pty),
        text: args.text,
        stable_ms: args.stable,
        exit: args.exit,
        timeout_ms: None,
        until: args.until.map(until_what),
        after: None,
    };
    if request.until == Some(WaitUntil::Turn) {
        request.after = newest(context, &request.session)?;
    }
    let reply = ask(context, &mut request, clock)?;
    let met = reply.as_ref().map_or(WaitOutcome::Timeout, |reply| reply.met);
    let waited = Waited {
        session: request.session,
        pty: args.pty,
        met,
        offset: reply.as_ref().map(|reply| reply.offset),
        code: reply.as_ref().and_then(|reply| reply.code),
        turn_id: reply.as_ref().and_then(|reply| reply.turn_id.clone()),
        text: reply.and_then(|reply| reply.text),
    };
    context.print_result(&waited, |_| String::new())?;
    Ok(if met == WaitOutcome::Timeout { TIMED_OUT } else { 0 })
}

/// Refuses to wait for nothing, and lists what can be waited for.
fn check_condition(args: &args::WaitArgs) -> Result<(), Failure> {
    if args.text.is_some() || args.stable.is_some() || args.exit || args.until.is_some() {
        return Ok(());
    }
    let name = args.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    let states = args::UntilState::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let states: Vec<String> = states.map(|state| state.get_name().to_owned()).collect();
    Err(Failure::usage(format!(
        "what to wait for is missing: --until {}, --text REGEX, --stable MS or --exit",
        states.join("|")
    ))
    .hint(format!(
        "`swb wait{name} --until ready` waits until the agent is ready; `swb wait --help` describes them all"
    )))
}

/// Number of the newest turn, so that one that is completed while the daemon is down counts; `None` if it is
/// unknown.
pub(crate) fn newest(context: &Context, session: &str) -> Result<Option<u64>, Failure> {
    let request = Operation::Turns(Turns { session: session.to_owned(), limit: Some(1) });
    match context.query::<TurnsReply>(&request) {
        Ok(reply) => {
            let number = reply.turns.first().and_then(|turn| turn.turn_id.rsplit_once(':')?.1.parse().ok());
            Ok(Some(number.unwrap_or(0)))
        }
        // A session that has ended has no turns; the wait itself reports the error.
        Err(failure) if failure.kind() == FailureKind::NoSession => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn until_what(until: args::UntilState) -> WaitUntil {
    match until {
        args::UntilState::Ready => WaitUntil::Ready,
        args::UntilState::Asking => WaitUntil::Asking,
        args::UntilState::Turn => WaitUntil::Turn,
        args::UntilState::Exit => WaitUntil::Exit,
    }
}

/// Waits for an agent, for `timeout` at most; `None` if the time is up before a daemon has replied.
pub(crate) fn until(
    context: &Context,
    mut request: Wait,
    timeout: Option<Duration>,
) -> Result<Option<WaitReply>, Failure> {
    ask(context, &mut request, WaitClock::start(Instant::now(), timeout))
}

/// Repeats the request until a daemon replies; `None` if the time is up before.
fn ask(context: &Context, request: &mut Wait, mut clock: WaitClock) -> Result<Option<WaitReply>, Failure> {
    loop {
        request.timeout_ms = clock.left(Instant::now());
        let limit = request.timeout_ms.map(|left| Duration::from_millis(left) + limits::WAIT_GRACE);
        let asked = Instant::now();
        let answer = context
            .connect()
            .and_then(|mut control| control.request_within(&Operation::Wait(request.clone()), limit));
        match answer {
            Err(failure) if failure.kind() == FailureKind::Disconnected => {
                let now = Instant::now();
                if clock.left(now) == Some(0) {
                    return Ok(None);
                }
                if clock.is_hopeless(asked, now) {
                    return Err(failure);
                }
            }
            // Only the expression can make the request invalid.
            Err(failure) if failure.kind() == FailureKind::Invalid => {
                return Err(Failure::usage(failure.to_string()));
            }
            answer => return answer.map(Some),
        }
    }
}

/// The time that is left, and since when the daemon keeps dying.
#[derive(Debug, Clone, Copy)]
struct WaitClock {
    deadline: Option<Instant>,
    /// Since when no daemon has run for long.
    unlucky: Option<Instant>,
}

impl WaitClock {
    fn start(now: Instant, timeout: Option<Duration>) -> Self {
        // A time beyond the range of the clock counts as none.
        Self { deadline: timeout.and_then(|timeout| now.checked_add(timeout)), unlucky: None }
    }

    /// Milliseconds until the time is up, rounded up.
    fn left(&self, now: Instant) -> Option<u64> {
        let left = self.deadline?.saturating_duration_since(now);
        Some(u64::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// Records that the request sent at `asked` was lost; true if it is time to give up.
    fn is_hopeless(&mut self, asked: Instant, now: Instant) -> bool {
        // A daemon that ran for a while did not die of the request itself.
        if now.duration_since(asked) > limits::WAIT_RETRY {
            self.unlucky = None;
        }
        let since = *self.unlucky.get_or_insert(now);
        now.duration_since(since) >= limits::WAIT_RETRY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn a_wait_for_nothing_lists_what_there_is_to_wait_for() {
        let args = |words: &[&str]| {
            let command =
                args::SwbCli::try_parse_from([&["swb", "wait", "api"], words].concat()).unwrap().command;
            let Some(args::SwbCommand::Wait(args)) = command else { panic!("not wait") };
            args
        };
        insta::assert_snapshot!(check_condition(&args(&["--timeout", "5"])).unwrap_err().render("swb"), @r"
        swb: what to wait for is missing: --until ready|asking|turn|exit, --text REGEX, --stable MS or --exit
        hint: `swb wait api --until ready` waits until the agent is ready; `swb wait --help` describes them all
        ");
        for some in [&["--exit"][..], &["--text", "x"], &["--stable", "50"], &["--until", "turn"]] {
            assert!(check_condition(&args(some)).is_ok(), "{some:?}");
        }
    }

    #[test]
    fn a_repeated_request_has_the_rest_of_the_time() {
        let now = Instant::now();
        let clock = WaitClock::start(now, Some(Duration::from_millis(1500)));
        assert_eq!(clock.left(now), Some(1500));
        assert_eq!(clock.left(now + Duration::from_micros(1_499_100)), Some(1), "rounded up");
        assert_eq!(clock.left(now + Duration::from_secs(9)), Some(0));
        assert_eq!(WaitClock::start(now, None).left(now), None);
        assert_eq!(WaitClock::start(now, Some(Duration::MAX)).left(now), None);
    }

    #[test]
    fn the_wait_gives_up_only_on_a_daemon_that_keeps_dying() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut clock = WaitClock::start(start, None);
        assert!(!clock.is_hopeless(at(0), at(100)), "lost after a long time");
        assert!(!clock.is_hopeless(at(100), at(101)));
        assert!(!clock.is_hopeless(at(102), at(300)), "long again");
        assert!(!clock.is_hopeless(at(300), at(301)));
        assert!(clock.is_hopeless(at(309), at(310)));
    }
}
