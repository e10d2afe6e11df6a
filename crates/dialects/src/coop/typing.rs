//! Turns passed on: typed into other sessions, ours or those of somebody else.

use super::connection::{Answer, Connection, Next, invalid, ok, refused};
use super::errors;
use super::turns::turn_text;
use swb_engine::limits::TAKE_SILENT;
use swb_engine::{Session, Submit, TypedText, TypingError, TypingReport};
use swb_wire::control::{ErrorCode, ErrorReply, Relay, RelayReply};
use tokio::time::sleep;

impl Connection {
    pub(super) async fn relay_turn(&self, relay: Relay) -> Answer {
        if relay.raw && (relay.template.is_some() || relay.prefix.is_some()) {
            return Err(invalid("raw goes with neither template nor prefix"));
        }
        let turn = match self.latest_turn(&relay.from) {
            Err(unknown) => self.turn_named(&relay.from).map_err(|no_turn| {
                // Of a name without a number, that there is no such session says more.
                if relay.from.contains(':') { no_turn } else { unknown }
            })?,
            Ok(turn) => turn,
        };
        let id = turn.info.id.to_string();
        let text = if relay.raw {
            TypedText::Raw(turn.content.to_vec())
        } else {
            let text = turn_text(&turn);
            let filled = match &relay.template {
                Some(template) => fill(template, &text, &id, turn.info.id.session()),
                None => text,
            };
            TypedText::Text(relay.prefix.unwrap_or_default() + &filled)
        };
        let typed = match self.resolve_live(&relay.to) {
            Ok(session) => {
                let submit = if relay.submit { Submit::Prompt } else { Submit::No };
                self.type_into(&session, text, submit).await?
            }
            Err(unknown) => self.type_elsewhere(&relay.to, text, relay.submit, unknown).await?,
        };
        let reply = RelayReply {
            ok: true,
            turn_id: id,
            bytes: typed.bytes,
            warning: typed.warning.map(str::to_owned),
        };
        Ok((ok(&reply)?, Next::Request))
    }

    /// Types into a session of ours; Enter is pressed when its program has taken the text.
    pub(super) async fn type_into(
        &self,
        session: &Session,
        text: TypedText,
        submit: Submit,
    ) -> Result<TypingReport, ErrorReply> {
        session.type_into(text, submit).await.map_err(|error| match error {
            TypingError::Session(error) => refused(error),
            TypingError::Input(error) => errors::input(error),
            TypingError::Asks { .. } | TypingError::Stopped => {
                let what = format!("nothing was submitted to session '{}': {error}", session.name());
                ErrorReply::new(ErrorCode::AgentBusy, what)
            }
        })
    }

    /// Types into a session that somebody else runs, of whose screen nothing is known.
    async fn type_elsewhere(
        &self,
        to: &str,
        text: TypedText,
        submit: bool,
        unknown: ErrorReply,
    ) -> Result<TypingReport, ErrorReply> {
        let relay = self.relay();
        if !relay.sessions().iter().any(|listed| listed.id == to) {
            return Err(unknown);
        }
        let (bytes, warning) = text.encode(false);
        let length = bytes.len() as u64;
        relay.inject(to, bytes).map_err(|error| errors::relay(&error, to))?;
        if submit {
            sleep(TAKE_SILENT).await;
            relay.inject(to, b"\r".to_vec()).map_err(|error| errors::relay(&error, to))?;
        }
        Ok(TypingReport { bytes: length, warning })
    }
}

/// Fills in a template, in one pass: what is filled in is not looked at again.
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
