//! Waiting for an agent: until it is free, has completed a turn, waits for an answer, or has ended.

use super::Session;
use crate::api::Engine;
use crate::event::{EventFollower, EventKind};
use crate::limits;
use crate::relay::{RelayError, StoredTurn};
use std::time::Duration;
use swb_turns::ProgramState;
use swb_types::PtyId;
use tokio::sync::MutexGuard;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

/// Follows the agent of one session.
#[derive(Debug)]
pub struct AgentWatch {
    engine: Engine,
    session: Session,
    following: EventFollower,
}

/// What an event means to a caller that waits for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentChange {
    /// The agent waits for an answer.
    Asks,
    /// The agent has ended.
    Gone,
    /// The agent's state is another one.
    State(ProgramState),
    /// Something else, or events may have been missed: check all conditions again.
    Look,
}

/// Why an agent does not take a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AgentBusy {
    /// It waits for an answer.
    #[error("is waiting for an answer")]
    Asking,
    /// It has ended.
    #[error("has ended")]
    Gone,
    /// It was not ready in time.
    #[error("has shown no prompt that is recognised")]
    Starting,
    /// It works on something else.
    #[error("is working")]
    Working,
}

/// A program that waits for more lines of what it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoreLines {
    /// The prompt with which it does.
    pub prompt: String,
    /// The last rows of the screen.
    pub shown: String,
}

/// The outcome of a prompt.
#[derive(Debug)]
pub enum AskOutcome {
    /// The agent waits for an answer.
    Asks,
    /// It waits for more lines.
    More(MoreLines),
    /// The agent has ended.
    Gone,
    /// It is ready again without a turn.
    Nothing,
    /// It has completed a turn.
    Turn(Box<StoredTurn>),
}

impl Engine {
    /// Follows a session's agent from now on.
    pub fn watch(&self, session: &Session) -> AgentWatch {
        AgentWatch { engine: self.clone(), session: session.clone(), following: self.follow(None) }
    }
}

impl Session {
    /// Locks the agent for one prompt, so that each of several callers gets the turn of its own prompt.
    pub async fn alone(&self) -> MutexGuard<'_, ()> {
        self.shared.asking.lock().await
    }
}

impl AgentWatch {
    /// Number of the newest turn, 0 if there is none.
    pub fn newest(&self) -> u64 {
        let turns = self.engine.relay().turns(self.session.name().as_str(), Some(1));
        turns.ok().and_then(|turns| turns.first().map(|turn| turn.id.seq())).unwrap_or(0)
    }

    /// The first turn after the one of this number.
    pub fn turn_after(&self, before: u64) -> Result<Option<StoredTurn>, RelayError> {
        let turns = self.engine.relay().turns(self.session.name().as_str(), None).unwrap_or_default();
        let first = turns.iter().rev().find(|turn| turn.id.seq() > before);
        first.map(|first| self.engine.relay().turn(&first.id)).transpose()
    }

    /// Waits for the next event of the session. Dropping the wait loses nothing.
    pub async fn changed(&mut self) -> AgentChange {
        loop {
            let event = match self.following.next.recv().await {
                Ok(event) => event,
                Err(RecvError::Lagged(_)) => {
                    let view = self.session.view();
                    return match view.status.state {
                        _ if view.ended => AgentChange::Gone,
                        ProgramState::Asking => AgentChange::Asks,
                        _ => AgentChange::Look,
                    };
                }
                Err(RecvError::Closed) => return AgentChange::Gone,
            };
            if event.session != *self.session.name() {
                continue;
            }
            return match event.kind {
                EventKind::Asked(_) => AgentChange::Asks,
                EventKind::Status(status) if status.state == ProgramState::Asking => AgentChange::Asks,
                EventKind::Status(status) => AgentChange::State(status.state),
                EventKind::Exited(PtyId::AGENT, _) | EventKind::Closed => AgentChange::Gone,
                _ => AgentChange::Look,
            };
        }
    }

    /// Waits while the agent starts; fails if it is busy.
    pub async fn free(&mut self, limit: Duration) -> Result<(), AgentBusy> {
        tokio::time::timeout(limit, self.not_busy()).await.unwrap_or(Err(AgentBusy::Starting))
    }

    async fn not_busy(&mut self) -> Result<(), AgentBusy> {
        // The event of a completed turn comes before the status that follows from it.
        let doubt = Instant::now() + limits::BUSY_DOUBT;
        loop {
            let busy = match self.session.view().status.state {
                ProgramState::Working => Some(AgentBusy::Working),
                ProgramState::Asking => Some(AgentBusy::Asking),
                ProgramState::Starting => None,
                _ => return Ok(()),
            };
            let change = match busy {
                None => self.changed().await,
                Some(busy) => tokio::time::timeout_at(doubt, self.changed()).await.map_err(|_| busy)?,
            };
            if change == AgentChange::Gone {
                return Err(AgentBusy::Gone);
            }
        }
    }

    /// Waits for the first turn after the one numbered `before`, or until the agent waits for an answer. After one of the
    /// agent's own commands it may also be ready again without a turn.
    pub async fn answered(&mut self, before: u64, command: bool) -> Result<AskOutcome, RelayError> {
        let mut worked = false;
        loop {
            if let Some(turn) = self.turn_after(before)? {
                return Ok(AskOutcome::Turn(Box::new(turn)));
            }
            let session = self.session.clone();
            let change = tokio::select! {
                biased;
                change = self.changed() => change,
                more = more_lines(&session) => return Ok(AskOutcome::More(more)),
            };
            match change {
                AgentChange::State(ProgramState::Working) => worked = true,
                // The turn of a command with an answer is stored before the state changes.
                AgentChange::State(ProgramState::Ready | ProgramState::Error) if command && worked => {
                    let turn = self.turn_after(before)?;
                    return Ok(turn.map_or(AskOutcome::Nothing, |turn| AskOutcome::Turn(Box::new(turn))));
                }
                AgentChange::Look | AgentChange::State(_) => {}
                AgentChange::Asks => return Ok(AskOutcome::Asks),
                AgentChange::Gone => {
                    let turn = self.last_turn(before).await?;
                    return Ok(turn.map_or(AskOutcome::Gone, |turn| AskOutcome::Turn(Box::new(turn))));
                }
            }
        }
    }

    /// The turns after the one numbered `first`, of a program that completes one for each line it was given: until it is
    /// ready and stays so.
    pub async fn rest(&mut self, first: u64) -> Result<Vec<StoredTurn>, RelayError> {
        loop {
            match tokio::time::timeout(limits::LINES_REST, self.changed()).await {
                Ok(AgentChange::Gone) => break,
                Ok(_) => {}
                Err(_) if self.session.view().status.state == ProgramState::Working => {
                    let session = self.session.clone();
                    let more = tokio::time::timeout(limits::LINES_REST, more_lines(&session)).await;
                    if more.is_ok() {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        let mut turns = Vec::new();
        let mut last = first;
        while let Some(turn) = self.turn_after(last)? {
            last = turn.info.id.seq();
            turns.push(turn);
        }
        Ok(turns)
    }

    /// The last turn of an agent that has ended, which may be detected a moment later.
    pub async fn last_turn(&self, before: u64) -> Result<Option<StoredTurn>, RelayError> {
        tokio::time::sleep(limits::LAST_TURN).await;
        self.turn_after(before)
    }
}

/// Waits until the program of a session waits for more lines. Output in between starts it anew: a block that is being
/// typed shows such a prompt after each line.
async fn more_lines(session: &Session) -> MoreLines {
    let (mut looks, mut before) = (0, None);
    loop {
        tokio::time::sleep(limits::CONTINUATION_LOOK).await;
        let seen = match session.pty(PtyId::AGENT) {
            Ok(agent) => agent.pty.input_state().await.ok().flatten().map(|state| (agent.pty.head(), state)),
            Err(_) => None,
        };
        let found = seen.and_then(|(head, state)| Some((head, state.continuation?, state.shown)));
        let Some((head, prompt, shown)) = found else {
            (looks, before) = (0, None);
            continue;
        };
        looks = if before.replace(head) == Some(head) { looks + 1 } else { 1 };
        if looks >= limits::CONTINUATION_LOOKS {
            return MoreLines { prompt, shown };
        }
    }
}
