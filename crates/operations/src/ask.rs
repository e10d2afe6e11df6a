//! `ask`: submit a text to an agent and wait for its turn.

use crate::errors::{invalid, refused};
use crate::execute::Call;
use crate::limits;
use crate::relay::typing_error;
use crate::reply::{OperationResult, done};
use crate::roles;
use crate::turns::turn_object;
use crate::wait::{after, no_turn};
use swb_engine::limits::ASK_READY;
use swb_engine::{AgentBusy, AskOutcome as Reply, Error, Session, Submit, TypedText, TypingError};
use swb_turns::{ProgramState, is_command};
use swb_types::Role;
use swb_wire::control::{Ask, AskReply, AskResult, ErrorCode, ErrorReply, Turn, TurnObject};

impl Call<'_> {
    pub(crate) async fn ask(&self, ask: Ask) -> OperationResult {
        let session = self.live_session(&ask.session)?;
        let timeout = ask.timeout_ms;
        let reply = tokio::select! {
            biased;
            reply = self.asked(&session, ask) => reply?,
            () = after(timeout) => {
                AskReply { ok: true, met: AskResult::Timeout, asking: false, detail: None, turn: None }
            }
        };
        // The text and the bytes of a long turn are cut: `turn` returns the rest.
        done(&reply)
    }

    async fn asked(&self, session: &Session, ask: Ask) -> Result<AskReply, ErrorReply> {
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
                Err(AgentBusy::Gone) => return Err(refused(Error::Ended(session.name().clone()))),
                Err(_) if session.view().status.state == ProgramState::Asking => {
                    return Ok(asking(session).await);
                }
                Err(why) => return Err(busy(session, why)),
            }
        }
        let mut watch = self.engine().watch(session);
        let before = watch.newest();
        let submit = if ask.force { Submit::Forced } else { Submit::Prompt };
        // A command of the agent itself may end without a turn.
        let command = is_command(profile.as_deref(), &ask.text);
        match self.type_into(session, TypedText::Text(ask.text), submit).await? {
            Ok(_) => {}
            Err(TypingError::Asks { shown, .. }) => return Ok(asks(shown)),
            Err(error @ TypingError::HalfTyped(_)) => return Err(half_typed(&error, session)),
            Err(error) => return Err(typing_error(error, session)),
        }
        match watch.answered(before, command).await.map_err(|error| no_turn(&error, session))? {
            Reply::Turn(turn) => Ok(answer(turn_object(&turn, &Turn::default(), limits::ASK_TEXT))),
            Reply::Asks => Ok(asking(session).await),
            Reply::Nothing => {
                Ok(AskReply { ok: true, met: AskResult::Ready, asking: false, detail: None, turn: None })
            }
            Reply::Gone => Err(refused(Error::Ended(session.name().clone()))),
        }
    }
}

fn answer(turn: TurnObject) -> AskReply {
    AskReply { ok: true, met: AskResult::Turn, asking: false, detail: None, turn: Some(turn) }
}

/// The reply if the agent is waiting for an answer or a permission.
async fn asking(session: &Session) -> AskReply {
    asks(session.shown().await.unwrap_or_default())
}

/// The same, with the last rows of its screen.
fn asks(shown: String) -> AskReply {
    let detail = Some(shown).filter(|shown| !shown.is_empty());
    AskReply { ok: true, met: AskResult::Asking, asking: true, detail, turn: None }
}

fn half_typed(error: &TypingError, session: &Session) -> ErrorReply {
    let what =
        format!("nothing was typed into session '{}': {error}; submit or remove that first", session.name());
    ErrorReply::new(ErrorCode::AgentBusy, what)
}

fn busy(session: &Session, why: AgentBusy) -> ErrorReply {
    ErrorReply::new(ErrorCode::AgentBusy, format!("the agent of session '{}' {why}", session.name()))
}
