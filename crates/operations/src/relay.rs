//! Relays turns: `relay` and `paste`, typed into our sessions or into those of wrappers.

use crate::errors::{invalid, relay_error};
use crate::execute::Call;
use crate::refusals::{busy, runs_text, typing_error};
use crate::reply::{OperationResult, done};
use crate::roles;
use crate::turns::turn_text;
use swb_engine::limits::TAKE_SILENT;
use swb_engine::{
    AgentBusy, PasteSupport, RelayError, RelayedText, Session, StoredTurn, TypedText, TypingError,
    TypingMode, TypingReport, interpreter_of,
};
use swb_turns::ProgramState;
use swb_types::Role;
use swb_wire::control::{ErrorCode, ErrorReply, OkReply, Paste, Relay, RelayReply};
use tokio::time::sleep;

impl Call<'_> {
    pub(crate) async fn relay_turn(&self, relay: Relay) -> OperationResult {
        if relay.raw && (relay.template.is_some() || relay.prefix.is_some() || relay.verbatim) {
            return Err(invalid("'raw' cannot be combined with 'template', 'prefix' or 'verbatim'"));
        }
        let turn = match self.latest_turn(&relay.from) {
            Err(unknown) => self.turn_by_id(&relay.from).map_err(|no_turn| {
                // For a name without a number, the error that no such session exists is more useful.
                if relay.from.contains(':') { no_turn } else { unknown }
            })?,
            Ok(turn) => turn,
        };
        let id = turn.info.id.to_string();
        let content = if relay.raw {
            Content::Raw(turn.content.to_vec())
        } else {
            let text = turn_text(&turn);
            // A template states the origin itself, or leaves it out on purpose.
            let origin = (!relay.verbatim && relay.template.is_none()).then(|| origin_of(&turn));
            let filled = match &relay.template {
                Some(template) => fill(template, &text, &id, turn.info.id.session()),
                None => text,
            };
            Content::Text { origin, text: relay.prefix.unwrap_or_default() + &filled }
        };
        let mode = TypingMode { submit: relay.submit, force: relay.force };
        let typed = match self.live_session(&relay.to) {
            Ok(session) => self.type_relayed(&session, content, mode).await?,
            Err(unknown) => self.type_elsewhere(&relay.to, content, relay.submit, unknown).await?,
        };
        let reply = RelayReply {
            ok: true,
            turn_id: id,
            bytes: typed.bytes,
            warning: typed.warning.map(str::to_owned),
        };
        done(&reply)
    }

    /// Types the relay buffer into a session: as the text of the turn, or unchanged for callers that may type anything.
    pub(crate) async fn paste(&self, paste: &Paste) -> OperationResult {
        let session = self.turn_owner(&paste.session)?;
        let ours = self.session(&session).ok();
        let turn = self.buffered_turn(&session)?;
        let content = if paste.raw {
            Content::Raw(turn.content.to_vec())
        } else {
            let origin = (!paste.verbatim).then(|| origin_of(&turn));
            Content::Text { origin, text: turn_text(&turn) }
        };
        match ours {
            Some(ours) => {
                let mode = TypingMode { submit: false, force: paste.force };
                self.type_relayed(&ours, content, mode).await?
            }
            None => self.type_elsewhere(&session, content, false, no_session(&session)).await?,
        };
        done(&OkReply::default())
    }

    /// The turn in the relay buffer; one outside the caller's scope does not exist for it.
    fn buffered_turn(&self, session: &str) -> Result<StoredTurn, ErrorReply> {
        let turn = self.relay().relayed().map_err(|error| relay_error(&error, session))?;
        let seen = self.turn_owner(turn.info.id.session()).is_ok();
        if seen { Ok(turn) } else { Err(relay_error(&RelayError::Empty, session)) }
    }

    /// Types a turn of another session into one of ours.
    async fn type_relayed(
        &self,
        session: &Session,
        content: Content,
        mode: TypingMode,
    ) -> Result<TypingReport, ErrorReply> {
        self.check_reader(session).await?;
        // Text that is not submitted can wait in the input.
        if !mode.force
            && let Some(why) = session.busy().await
            && (mode.submit || why == AgentBusy::Asking)
        {
            return Err(busy(session, why).await);
        }
        let text = match content {
            Content::Raw(bytes) => TypedText::Raw(bytes),
            Content::Text { origin, text } => TypedText::Relayed(RelayedText {
                origin,
                text,
                profile: self.engine().profile_of(session),
                interpreter: session.interpreter().await,
                line_by_line: false,
            }),
        };
        let typed = self.type_into(session, text, mode).await?;
        typed.map_err(|error| typing_error(error, session))
    }

    /// Types into one of our sessions; presses Enter when the program has read the text.
    pub(crate) async fn type_into(
        &self,
        session: &Session,
        text: TypedText,
        mode: TypingMode,
    ) -> Result<Result<TypingReport, TypingError>, ErrorReply> {
        // One character can answer a dialog, and a caller that only prompts may not do that.
        if !self.caller.may_type() && session.view().status.state == ProgramState::Asking {
            return Err(busy(session, AgentBusy::Asking).await);
        }
        self.check_text(session, &text)?;
        self.check_reader(session).await?;
        // Nor may a confined agent answer a question that is not recognised as one.
        if self.caller.role() == Role::Agent && session.view().status.state != ProgramState::Ready {
            let what = format!("the agent of session '{}' is not ready for a prompt", session.name());
            return Err(ErrorReply::new(ErrorCode::AgentBusy, what));
        }
        let profile = self.engine().profile_of(session);
        let clear = profile.as_ref().map(|profile| profile.clear_keys()).unwrap_or_default();
        Ok(session.type_into(&clear, text, mode).await)
    }

    /// Refuses text from a confined agent for a program that runs what it reads: it would run unconfined there.
    pub(crate) async fn check_reader(&self, session: &Session) -> Result<(), ErrorReply> {
        if self.caller.role() != Role::Agent {
            return Ok(());
        }
        let Some(program) = session.interpreter().await else { return Ok(()) };
        let what = format!(
            "session '{}' runs {program}, which may run what it reads; the role 'agent' sends text to agents only",
            session.name()
        );
        Err(roles::forbidden(what))
    }

    /// Types into a wrapper's session, whose screen is unknown.
    async fn type_elsewhere(
        &self,
        to: &str,
        content: Content,
        submit: bool,
        unknown: ErrorReply,
    ) -> Result<TypingReport, ErrorReply> {
        let relay = self.relay();
        let enrolled = relay.sessions().into_iter().find(|listed| listed.id == to);
        let Some(wrapped) = enrolled.filter(|_| self.caller.covers(to, None)) else { return Err(unknown) };
        // It may show a dialog, which Enter would answer.
        if submit && !self.caller.may_type() {
            let what = format!("the screen of session '{to}' is unknown; submitting needs the role 'drive'");
            return Err(roles::forbidden(what));
        }
        let text = match content {
            Content::Raw(bytes) => TypedText::Raw(bytes),
            Content::Text { origin, text } => {
                let interpreter = interpreter_of(wrapped.pid).await;
                let line_by_line = false;
                TypedText::Relayed(RelayedText { origin, text, profile: None, interpreter, line_by_line })
            }
        };
        let encoded = text.encode(PasteSupport::Unknown, submit);
        let (bytes, warning) = encoded.map_err(|why| runs_text(&why, to))?;
        let length = bytes.len() as u64;
        relay.inject(to, bytes).map_err(|error| relay_error(&error, to))?;
        if submit {
            sleep(TAKE_SILENT).await;
            relay.inject(to, b"\r".to_vec()).map_err(|error| relay_error(&error, to))?;
        }
        Ok(TypingReport { bytes: length, warning })
    }
}

/// What is typed of a turn.
enum Content {
    /// Its text, after a line that names its origin.
    Text { origin: Option<String>, text: String },
    /// Its bytes, unchanged.
    Raw(Vec<u8>),
}

/// The line in front of relayed text.
fn origin_of(turn: &StoredTurn) -> String {
    let id = &turn.info.id;
    format!("[from {}, turn {}]", id.session(), id.seq())
}

fn no_session(name: &str) -> ErrorReply {
    relay_error(&RelayError::NoSession, name)
}

/// Fills in a template in one pass: inserted text is not expanded again.
fn fill(template: &str, text: &str, turn_id: &str, session: &str) -> String {
    let fields = [("{text}", text), ("{turn_id}", turn_id), ("{session}", session)];
    let mut filled = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match fields.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_once() {
        let filled = fill("{session}/{turn_id}: {text} {other} {", "see {text} and {session}", "a:1", "a");
        assert_eq!(filled, "a/a:1: see {text} and {session} {other} {");
    }
}
