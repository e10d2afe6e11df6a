//! `ask`: submit a text to an agent and wait for its turn.

use crate::errors::{invalid, refused};
use crate::execute::Call;
use crate::limits;
use crate::reply::{Answer, done};
use crate::turns::turn_object;
use crate::wait::{after, no_turn};
use swb_engine::limits::ASK_READY;
use swb_engine::{AgentBusy, AskOutcome as Reply, Error, Session, Submit, TypedText};
use swb_turns::ProgramState;
use swb_wire::control::{Ask, AskReply, AskResult, ErrorCode, ErrorReply, Turn, TurnObject};

impl Call<'_> {
    pub(crate) async fn ask(&self, ask: Ask) -> Answer {
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
        // Before a waiting session is started for a caller that may not use it.
        self.check_reader(session).await?;
        session.start(None).await.ok();
        // If several callers ask at once, each gets the answer to its own text.
        let _alone = if ask.force { None } else { Some(session.alone().await) };
        if !ask.force {
            match self.engine().watch(session).free(ASK_READY).await {
                Ok(()) => {}
                Err(AgentBusy::Gone) => return Err(refused(Error::Ended(session.name().clone()))),
                Err(_) if session.view().status.state == ProgramState::Asking => return Ok(asking(session)),
                Err(why) => return Err(busy(session, why)),
            }
        }
        let mut watch = self.engine().watch(session);
        let before = watch.newest();
        let submit = if ask.force { Submit::Forced } else { Submit::Prompt };
        self.type_into(session, TypedText::Text(ask.text), submit).await?;
        match watch.answered(before).await.map_err(|error| no_turn(&error, session))? {
            Reply::Turn(turn) => Ok(answer(turn_object(&turn, &Turn::default(), limits::ASK_TEXT))),
            Reply::Asks => Ok(asking(session)),
            Reply::Gone => Err(refused(Error::Ended(session.name().clone()))),
        }
    }
}

fn answer(turn: TurnObject) -> AskReply {
    AskReply { ok: true, met: AskResult::Turn, asking: false, detail: None, turn: Some(turn) }
}

/// The reply if the agent is waiting for an answer or a permission.
fn asking(session: &Session) -> AskReply {
    let detail = session.view().status.evidence.map(|evidence| evidence.detail);
    AskReply { ok: true, met: AskResult::Asking, asking: true, detail, turn: None }
}

fn busy(session: &Session, why: AgentBusy) -> ErrorReply {
    ErrorReply::new(ErrorCode::AgentBusy, format!("the agent of session '{}' {why}", session.name()))
}
