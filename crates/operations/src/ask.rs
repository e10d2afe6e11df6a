//! `ask`: submit a text to an agent and wait for its turn.

use crate::errors::{invalid, refused};
use crate::execute::Call;
use crate::limits;
use crate::refusals::{busy, typing_error};
use crate::reply::{OperationResult, done};
use crate::roles;
use crate::turns::turn_object;
use crate::wait::{after, no_turn};
use std::sync::atomic::{AtomicBool, Ordering};
use swb_engine::limits::ASK_READY;
use swb_engine::{
    AskOutcome as Reply, Error, RelayedText, Session, StoredTurn, TypedText, TypingError, TypingMode,
};
use swb_turns::{ProgramState, is_command};
use swb_types::Role;
use swb_wire::control::{Ask, AskReply, AskResult, ErrorCode, ErrorReply, Turn, TurnObject};

impl Call<'_> {
    pub(crate) async fn ask(&self, ask: Ask) -> OperationResult {
        let session = self.live_session(&ask.session)?;
        let timeout = ask.timeout_ms;
        let begun = AtomicBool::new(false);
        let reply = tokio::select! {
            biased;
            reply = self.asked(&session, ask, &begun) => reply?,
            () = after(timeout) => timed_out(&session, begun.load(Ordering::Relaxed)),
        };
        // The text and the bytes of a long turn are cut: `turn` returns the rest.
        done(&reply)
    }

    /// Asks; `begun` is set when typing begins.
    async fn asked(&self, session: &Session, ask: Ask, begun: &AtomicBool) -> Result<AskReply, ErrorReply> {
        if self.engine().profile_of(session).is_none() {
            return Err(ErrorReply::new(
                ErrorCode::NotImplemented,
                "turn detection is off for this session; set turns.detect = true in the configuration file",
            ));
        }
        if ask.text.trim().is_empty() {
            return Err(invalid("there is nothing to ask: the text is empty"));
        }
        // An agent's text must not be a command of another one, which may not be confined.
        let profile = self.engine().profile_of(session);
        if self.caller.role() == Role::Agent && is_command(profile.as_deref(), &ask.text) {
            return Err(roles::forbidden("the text begins like a command of the agent"));
        }
        // Before a waiting session is started for a caller that may not use it.
        self.check_reader(session).await?;
        session.start(None).await.ok();
        // If several callers ask at once, each gets the answer to its own text.
        let _alone = if ask.force { None } else { Some(session.alone().await) };
        if !ask.force {
            match self.engine().watch(session).free(ASK_READY).await {
                Ok(()) => {}
                Err(_) if session.view().status.state == ProgramState::Asking => {
                    return Ok(asking(session).await);
                }
                Err(why) => return Err(busy(session, why).await),
            }
        }
        let mut watch = self.engine().watch(session);
        let before = watch.newest();
        let mode = TypingMode { submit: true, force: ask.force };
        // A command of the agent itself may end without a turn.
        let command = is_command(profile.as_deref(), &ask.text);
        let agent = self.caller.role() == Role::Agent;
        let text = match agent {
            // No person has typed it, so it must not be executed.
            true => TypedText::Relayed(RelayedText {
                origin: None,
                text: ask.text,
                profile,
                interpreter: session.interpreter().await,
                line_by_line: false,
            }),
            false => TypedText::Text(ask.text),
        };
        begun.store(true, Ordering::Relaxed);
        let by_line = match self.type_into(session, text, mode).await? {
            Ok(report) => report.warning.is_some(),
            Err(TypingError::Runs(why)) if agent => return Err(roles::forbidden(why.to_string())),
            Err(TypingError::Asks { shown, .. }) => return Ok(asks(shown)),
            Err(error) => return Err(typing_error(error, session)),
        };
        match watch.answered(before, command).await.map_err(|error| no_turn(&error, session))? {
            Reply::Turn(first) => {
                let mut turns = vec![*first];
                if by_line {
                    let seq = turns.iter().map(|turn| turn.info.id.seq()).max().unwrap_or(before);
                    turns.extend(watch.rest(seq).await.map_err(|error| no_turn(&error, session))?);
                }
                Ok(answer(&turns))
            }
            Reply::Asks => Ok(asking(session).await),
            Reply::More(more) => Ok(AskReply { more: Some(more.prompt), ..asks(more.shown) }),
            Reply::Nothing => Ok(AskReply::of(AskResult::Ready)),
            Reply::Gone => Err(refused(Error::Ended(session.name().clone()))),
        }
    }
}

/// The reply with these turns, of which all but the last are those of single lines before it.
fn answer(turns: &[StoredTurn]) -> AskReply {
    let turns = turns.get(turns.len().saturating_sub(limits::ASK_TURNS)..).unwrap_or_default();
    // Each has its part of the reply.
    let most = limits::ASK_TEXT / turns.len().max(1);
    let mut objects =
        turns.iter().map(|turn| turn_object(turn, &Turn::default(), most)).collect::<Vec<TurnObject>>();
    let turn = objects.pop();
    AskReply { turn, earlier: objects, ..AskReply::of(AskResult::Turn) }
}

/// The reply if the agent is waiting for an answer or a permission.
async fn asking(session: &Session) -> AskReply {
    asks(session.shown().await.unwrap_or_default())
}

/// The same, with the last rows of its screen.
fn asks(shown: String) -> AskReply {
    let detail = Some(shown).filter(|shown| !shown.is_empty());
    AskReply { asking: true, detail, ..AskReply::of(AskResult::Asking) }
}

/// The reply after a timeout; the detail is the reason why nothing was typed before it.
fn timed_out(session: &Session, begun: bool) -> AskReply {
    let why = match session.view().status.state {
        ProgramState::Starting | ProgramState::Unknown => "no prompt of its program was recognised",
        _ => "its agent was not free",
    };
    let detail = (!begun).then(|| why.to_owned());
    AskReply { detail, ..AskReply::of(AskResult::Timeout) }
}
