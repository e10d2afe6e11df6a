//! The conditions of `wait`: text on the screen, quiet, an exit, a state of the agent, a turn.

use crate::errors::{invalid, refused, relay_error};
use crate::execute::Call;
use crate::limits;
use crate::reply::{OperationResult, done};
use crate::screen::text_since;
use regex::{Regex, RegexBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use swb_engine::{AgentChange, AgentWatch, Cursor, CursorStep, Error, Mark, Pty, RelayError, Session};
use swb_turns::ProgramState;
use swb_types::{ExitStatus, Offset};
use swb_wire::control::{ErrorReply, Wait, WaitOutcome, WaitReply, WaitUntil};
use tokio::time::Instant;

impl Call<'_> {
    pub(crate) async fn wait(&self, wait: Wait) -> OperationResult {
        let (session, pty) = self.remembered_pty(&wait.session, wait.pty())?;
        let condition = Condition::new(&wait)?;
        let reply = tokio::select! {
            biased;
            reply = condition.holds(&pty), if condition.looks() => reply?,
            reply = self.until(&session, &wait), if waits_for_agent(&wait) => Some(reply?),
            () = after(wait.timeout_ms) => {
                let offset = pty.head();
                Some(WaitReply { ok: true, met: WaitOutcome::Timeout, text: None, code: None, turn_id: None, offset })
            }
        };
        let ended = || refused(swb_engine::Error::Ended(session.name().clone()));
        done(&reply.ok_or_else(ended)?)
    }

    /// Waits until an agent reaches a state; forever if it ends before and `exit` is a condition as well.
    async fn until(&self, session: &Session, wait: &Wait) -> Result<WaitReply, ErrorReply> {
        let mut watch = self.engine().watch(session);
        let before = wait.after.unwrap_or_else(|| watch.newest());
        loop {
            let view = session.view();
            let offset = view.ptys.first().map_or(Offset::START, |agent| agent.pty.head());
            let met = |met| WaitReply { ok: true, met, text: None, code: None, turn_id: None, offset };
            match (wait.until, view.status.state) {
                (Some(WaitUntil::Ready), ProgramState::Ready | ProgramState::Error) => {
                    return Ok(met(WaitOutcome::Ready));
                }
                (Some(WaitUntil::Asking), ProgramState::Asking) => return Ok(met(WaitOutcome::Asking)),
                (Some(WaitUntil::Turn), _) => {
                    if let Some(turn_id) = turn_after(&watch, session, before)? {
                        return Ok(WaitReply { turn_id: Some(turn_id), ..met(WaitOutcome::Turn) });
                    }
                }
                _ => {}
            }
            if view.ended || watch.changed().await == AgentChange::Gone {
                if wait.exit {
                    return std::future::pending().await;
                }
                return Err(refused(Error::Ended(session.name().clone())));
            }
        }
    }
}

/// A condition to wait for.
struct Condition {
    text: Option<Arc<Regex>>,
    stable: Option<Duration>,
    exit: bool,
}

/// Whether a condition concerns the agent rather than the terminal.
fn waits_for_agent(wait: &Wait) -> bool {
    wait.until.is_some_and(|until| until != WaitUntil::Exit)
}

/// The result of one check of the screen.
struct Glance {
    found: Option<String>,
    /// A hash that differs between screens that look different.
    fingerprint: u64,
    scrolled: u64,
    offset: Offset,
}

impl Condition {
    fn new(wait: &Wait) -> Result<Self, ErrorReply> {
        let compile = |text: &String| {
            let regex = RegexBuilder::new(text).multi_line(true).size_limit(limits::REGEX).build();
            regex
                .map(Arc::new)
                .map_err(|error| invalid(format!("invalid regular expression in 'text': {error}")))
        };
        Ok(Self {
            text: wait.text.as_ref().map(compile).transpose()?,
            stable: wait.stable_ms.map(Duration::from_millis),
            exit: wait.exit || wait.until == Some(WaitUntil::Exit),
        })
    }

    /// Whether the condition needs the screen.
    fn looks(&self) -> bool {
        self.text.is_some() || self.stable.is_some() || self.exit
    }

    /// Waits until the condition holds; `None` if the process ends before.
    async fn holds(&self, pty: &Arc<Pty>) -> Result<Option<WaitReply>, ErrorReply> {
        let mut cursor = pty.cursor(pty.head());
        let mut since = None;
        let mut last = (0, Instant::now());
        loop {
            // The end is checked first: the screen then contains all output before it.
            let end = pass_over(&mut cursor);
            let glance = self.look(pty, since).await?;
            since.get_or_insert(glance.scrolled);
            let met = |met| WaitReply {
                ok: true,
                met,
                text: None,
                code: None,
                turn_id: None,
                offset: glance.offset,
            };
            if glance.found.is_some() {
                return Ok(Some(WaitReply { text: glance.found, ..met(WaitOutcome::Text) }));
            }
            if last.0 != glance.fingerprint {
                last = (glance.fingerprint, Instant::now());
            }
            if let Some(status) = end {
                let exit = WaitReply { code: Some(status.code()), ..met(WaitOutcome::Exit) };
                let stable = self.stable.map(|_| met(WaitOutcome::Stable));
                return Ok(if self.exit { Some(exit) } else { stable });
            }
            let stable_at = self.stable.map(|stable| last.1 + stable);
            if stable_at.is_some_and(|at| at <= Instant::now()) {
                return Ok(Some(met(WaitOutcome::Stable)));
            }
            next_change(&cursor, stable_at).await;
        }
    }

    async fn look(&self, pty: &Pty, since: Option<u64>) -> Result<Glance, ErrorReply> {
        let text = self.text.clone();
        let glance = pty.look(true, move |sight| {
            let screen = sight.screen();
            let new = screen.scrolled().saturating_sub(since.unwrap_or(screen.scrolled()));
            let visible = text_since(screen, usize::try_from(new).unwrap_or(usize::MAX));
            let found = text.and_then(|text| text.find(&visible).map(|found| found.as_str().to_owned()));
            let mut hasher = DefaultHasher::new();
            (screen.text(), screen.cursor().row, screen.cursor().col).hash(&mut hasher);
            Glance {
                found,
                fingerprint: hasher.finish(),
                scrolled: screen.scrolled(),
                offset: sight.offset(),
            }
        });
        glance.await.map_err(refused)
    }
}

/// Skips everything available; returns the end if it is part of it.
fn pass_over(cursor: &mut Cursor) -> Option<ExitStatus> {
    loop {
        match cursor.step(u64::MAX) {
            CursorStep::Output { to } => cursor.advance(to - cursor.offset()),
            CursorStep::Lost { oldest } => cursor.skip(oldest),
            CursorStep::Mark(Mark::Exited(status, _)) => return Some(status),
            CursorStep::Mark(_) => {}
            CursorStep::Idle => return None,
        }
    }
}

/// Waits for output, and a little longer for what belongs to it; or until `at`.
async fn next_change(cursor: &Cursor, at: Option<Instant>) {
    let change = next_look(cursor, limits::WAIT_PAUSE);
    match at {
        Some(at) => drop(tokio::time::timeout_at(at, change).await),
        None => change.await,
    }
}

/// Id of the first turn after the one with this number.
fn turn_after(watch: &AgentWatch, session: &Session, before: u64) -> Result<Option<String>, ErrorReply> {
    let turn = watch.turn_after(before).map_err(|error| no_turn(&error, session))?;
    Ok(turn.map(|turn| turn.info.id.to_string()))
}

pub(crate) fn no_turn(error: &RelayError, session: &Session) -> ErrorReply {
    relay_error(error, session.name().as_str())
}

/// Waits that long, or forever.
pub(crate) async fn after(milliseconds: Option<u64>) {
    match milliseconds {
        Some(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        None => std::future::pending().await,
    }
}

/// Waits for new output, and a little longer for what belongs to it.
pub(crate) async fn next_look(cursor: &Cursor, pause: Duration) {
    cursor.wait().await;
    // The output does not wait for a reader that reads only now and then.
    cursor.falls_behind();
    tokio::time::sleep(pause).await;
}
