//! Completed turns, the buffer that passes them on, and what agents are doing.

use super::connection::{Answer, Connection, Next, invalid, ok, refused};
use super::{Door, LABEL, errors};
use swb_engine::{ProcessPhase, Relay, Session, TurnId, TurnInfo};
use swb_turns::{State, Status, strip_text};
use swb_types::{Offset, PtyId};
use swb_wire::control::{
    AgentItem, AgentState, Base64, Capture, CaptureReply, ErrorReply, EvidenceItem, Explain, ExplainReply,
    Hook, HookState, OkReply, Paste, Turn, TurnItem, TurnObject, TurnReply, Turns, TurnsReply,
};

/// Bytes of content and of text in one answer at most. Base64 makes four bytes of three, and JSON two of a line
/// break; what needs more is cut further.
const PIECE: usize = 300 * 1024;

impl Connection {
    /// Turns as whoever asks may see them.
    pub(super) fn relay(&self) -> Relay {
        match self.door {
            Door::Control => self.coop.engine.relay().clone(),
            Door::Coop => self.coop.engine.relay().seen_by(LABEL),
        }
    }

    /// The name by which turns of a session are known; it may be one that somebody else runs.
    pub(super) fn turn_owner(&self, text: &str) -> String {
        self.resolve(text).map_or_else(|_| text.to_owned(), |session| session.name().to_string())
    }

    pub(super) fn turns(&self, turns: &Turns) -> Answer {
        let session = self.turn_owner(&turns.session);
        let limit = turns.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let list = self.relay().turns(&session, limit).map_err(|error| self.no_turns(&error, &session))?;
        let turns = list.iter().map(turn_item).collect();
        Ok((ok(&TurnsReply { ok: true, session, turns })?, Next::Request))
    }

    pub(super) fn turn(&self, turn: &Turn) -> Answer {
        let found = match (&turn.turn_id, &turn.session) {
            (Some(id), _) => self.turn_named(id)?,
            (None, session) => self.latest_turn(session.as_deref().unwrap_or_default())?,
        };
        let mut most = PIECE;
        loop {
            let object = turn_object(&found, turn, most);
            match ok(&TurnReply { ok: true, turn: object }) {
                Err(_) if most > 1 => most /= 2,
                answer => return Ok((answer?, Next::Request)),
            }
        }
    }

    pub(super) fn turn_named(&self, id: &str) -> Result<swb_engine::StoredTurn, ErrorReply> {
        let error = |error| errors::relay(&error, id);
        let id: TurnId = id.parse().map_err(|_| error(swb_engine::RelayError::NoSuchTurn))?;
        self.relay().turn(&id).map_err(error)
    }

    pub(super) fn latest_turn(&self, session: &str) -> Result<swb_engine::StoredTurn, ErrorReply> {
        let session = self.turn_owner(session);
        self.relay().latest(&session).map_err(|error| self.no_turns(&error, &session))
    }

    /// Why there are no turns; those of a session that has ended are gone with it (CB-35).
    fn no_turns(&self, error: &swb_engine::RelayError, session: &str) -> ErrorReply {
        match self.resolve_remembered(session) {
            Ok(ended) if *error == swb_engine::RelayError::NoSession => {
                refused(swb_engine::Error::Ended(ended.name().clone()))
            }
            _ => errors::relay(error, session),
        }
    }

    pub(super) fn capture(&self, capture: &Capture) -> Answer {
        let captured = match (&capture.turn_id, &capture.session) {
            (Some(id), _) => {
                let named = id.parse().map_err(|_| swb_engine::RelayError::NoSuchTurn);
                named
                    .and_then(|named| self.relay().capture_by_id(&named))
                    .map_err(|error| errors::relay(&error, id))
            }
            (None, session) => {
                let session = self.turn_owner(session.as_deref().unwrap_or_default());
                self.relay().capture(&session).map_err(|error| errors::relay(&error, &session))
            }
        }?;
        let reply = CaptureReply { ok: true, turn_id: captured.id.to_string(), size: captured.size };
        Ok((ok(&reply)?, Next::Request))
    }

    pub(super) async fn paste(&self, paste: &Paste) -> Answer {
        let session = self.turn_owner(&paste.session);
        if let Ok(session) = self.resolve(&session) {
            session.start(None).await.ok();
        }
        self.relay().paste(&session).map_err(|error| errors::relay(&error, &session))?;
        Ok((ok(&OkReply::default())?, Next::Request))
    }

    pub(super) fn explain(&self, explain: &Explain) -> Answer {
        let session = self.resolve_remembered(&explain.session)?;
        let name = session.name().to_string();
        let status = session.view().status;
        let evidence = status.evidence.iter().map(|evidence| EvidenceItem {
            signal: evidence.signal.name().to_owned(),
            detail: evidence.detail.clone(),
            at: evidence.at.millis(),
            offset: evidence.offset,
        });
        let last = self.relay().turns(&name, Some(1)).ok().and_then(|turns| turns.first().map(turn_item));
        let reply = ExplainReply {
            ok: true,
            agent: self.agent(&session),
            detail: status.evidence.as_ref().map(|evidence| evidence.detail.clone()),
            evidence: evidence.collect(),
            session: name,
            last_turn: last,
        };
        Ok((ok(&reply)?, Next::Request))
    }

    /// What the agent of a session is doing.
    pub(super) fn agent(&self, session: &Session) -> AgentItem {
        let profile = self.coop.engine.profile_of(session).map(|profile| profile.name().to_owned());
        let view = session.view();
        match view.ptys.first().map(|agent| agent.phase) {
            // That its process is gone is known before whoever watches its screen has noticed.
            Some(ProcessPhase::Exited(_)) => {
                AgentItem { state: AgentState::Exited, since: 0, signal: None, profile }
            }
            _ => agent_item(&view.status, profile),
        }
    }

    pub(super) async fn hook(&self, hook: &Hook) -> Answer {
        let session = self.resolve_live(&hook.session)?;
        let agent = session.pty(PtyId::AGENT).map_err(refused)?;
        let state = match hook.state {
            HookState::Working => swb_turns::Hook::Working,
            HookState::Ready | HookState::Done => swb_turns::Hook::Ready,
            HookState::Asking => swb_turns::Hook::Asking,
            HookState::Error => swb_turns::Hook::Error,
        };
        agent.pty.hook(state).await.map_err(refused)?;
        Ok((ok(&OkReply::default())?, Next::Request))
    }

    /// Checks the profile that a new session is to be read by.
    pub(super) fn checked_profile(&self, name: Option<String>) -> Result<Option<String>, ErrorReply> {
        let Some(name) = name else { return Ok(None) };
        let Some(profiles) = self.coop.engine.profiles() else {
            return Err(invalid("turns are not looked for, so there are no profiles"));
        };
        if profiles.named(&name).is_some() {
            return Ok(Some(name));
        }
        let mut known: Vec<&str> = profiles.iter().map(swb_turns::Profile::name).collect();
        known.sort_unstable();
        known.dedup();
        Err(invalid(format!("there is no profile '{name}'; there are: {}", known.join(", "))))
    }
}

/// A status, for a list.
fn agent_item(status: &Status, profile: Option<String>) -> AgentItem {
    AgentItem {
        state: agent_state(status.state),
        since: status.since.millis(),
        signal: status.evidence.as_ref().map(|evidence| evidence.signal.name().to_owned()),
        profile,
    }
}

pub(super) fn agent_state(state: State) -> AgentState {
    match state {
        State::Starting => AgentState::Starting,
        State::Working => AgentState::Working,
        State::Ready => AgentState::Ready,
        State::Asking => AgentState::Asking,
        State::Error => AgentState::Error,
        State::Exited => AgentState::Exited,
        State::Unknown => AgentState::Unknown,
    }
}

fn turn_item(info: &TurnInfo) -> TurnItem {
    TurnItem {
        turn_id: info.id.to_string(),
        timestamp: info.timestamp,
        byte_length: info.byte_length,
        interrupted: info.interrupted,
        truncated: info.truncated,
    }
}

/// The text of a turn; of one that somebody else has seen, what is left of its bytes.
pub(super) fn turn_text(turn: &swb_engine::StoredTurn) -> String {
    turn.details.text.clone().unwrap_or_else(|| {
        let lines: Vec<String> = turn.content.split(|byte| *byte == b'\n').map(strip_text).collect();
        lines.join("\n").trim_end().to_owned()
    })
}

/// A turn with at most `most` bytes of content and of text from where they are wanted.
pub(super) fn turn_object(found: &swb_engine::StoredTurn, wanted: &Turn, most: usize) -> TurnObject {
    let (info, details) = (&found.info, &found.details);
    let content = &found.content;
    let from = place(wanted.from, content.len());
    let length = wanted.length.map_or(most, |length| usize::try_from(length).unwrap_or(most).min(most));
    let piece = &content[from..(from + length).min(content.len())];
    let text = turn_text(found);
    let text_from = boundary(&text, place(wanted.text_from, text.len()));
    let text_end = boundary(&text, (text_from + most).min(text.len()));
    TurnObject {
        turn_id: info.id.to_string(),
        session: info.id.session().to_owned(),
        timestamp: info.timestamp,
        submitted: details.submitted_at,
        byte_length: info.byte_length,
        interrupted: info.interrupted,
        truncated: info.truncated,
        signal: details.signal.clone(),
        profile: details.profile.clone(),
        submit_offset: details.submit.map(Offset),
        start_offset: details.start.map(Offset),
        end_offset: details.end.map(Offset),
        dialogs: details.dialogs.iter().copied().map(Offset).collect(),
        evidence: details.evidence.clone(),
        content: Base64(piece.to_vec()),
        from: from as u64,
        content_length: content.len() as u64,
        cut: from + piece.len() < content.len() || text_end < text.len(),
        text: text[text_from..text_end].to_owned(),
        text_from: text_from as u64,
        text_length: text.len() as u64,
    }
}

fn place(wanted: Option<u64>, length: usize) -> usize {
    usize::try_from(wanted.unwrap_or(0)).unwrap_or(length).min(length)
}

/// The last boundary of characters that is not behind `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use swb_engine::TurnDetails;

    fn turn(content: &[u8], text: Option<&str>) -> swb_engine::StoredTurn {
        let info = TurnInfo {
            id: TurnId::new("s", 1),
            timestamp: 1,
            byte_length: 9,
            interrupted: false,
            truncated: false,
        };
        let details = TurnDetails { text: text.map(str::to_owned), ..TurnDetails::default() };
        swb_engine::StoredTurn { info, content: Arc::new(content.to_vec()), details }
    }

    #[test]
    fn long_turns_come_in_pieces() {
        let found = turn(b"0123456789", Some("aäöü"));
        let piece =
            |from, text_from| Turn { from: Some(from), text_from: Some(text_from), ..Turn::default() };
        let first = turn_object(&found, &piece(0, 0), 4);
        assert_eq!((first.content.0.as_slice(), first.text.as_str(), first.cut), (&b"0123"[..], "aä", true));
        let last = turn_object(&found, &piece(8, 3), 4);
        assert_eq!((last.content.0.as_slice(), last.text.as_str(), last.cut), (&b"89"[..], "öü", false));
        assert_eq!((last.content_length, last.text_length), (10, 7));
        let beyond = turn_object(&found, &piece(u64::MAX, u64::MAX), 4);
        assert!(beyond.content.0.is_empty() && beyond.text.is_empty() && !beyond.cut);
        let none = turn_object(&found, &Turn { length: Some(0), ..Turn::default() }, 100);
        assert!(none.content.0.is_empty() && none.cut && none.text == "aäöü");
    }

    #[test]
    fn turns_of_others_have_text_too() {
        assert_eq!(turn_text(&turn(b"\x1b[31mred\x1b[m\r\nnext\r\n\r\n", None)), "red\nnext");
        assert_eq!(turn_text(&turn(b"raw", Some("its own"))), "its own");
    }
}
