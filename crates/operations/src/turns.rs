//! Completed turns, and the states of agents.

use crate::errors::relay_error;
use crate::execute::Call;
use crate::limits;
use crate::reply::{OperationResult, done};
use swb_engine::{ProcessPhase, Session, TurnInfo};
use swb_turns::{ProgramState, Status, strip_text};
use swb_wire::control::{
    AgentItem, AgentState, Base64, Capture, CaptureReply, EvidenceItem, Explain, ExplainReply, TextSource,
    Turn, TurnItem, TurnObject, TurnReply, Turns, TurnsReply,
};

impl Call<'_> {
    pub(crate) fn turns(&self, turns: &Turns) -> OperationResult {
        let session = self.turn_owner(&turns.session)?;
        let limit = turns.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let list = self.relay().turns(&session, limit).map_err(|error| self.no_turns(&error, &session))?;
        let turns = list.iter().map(turn_item).collect();
        done(&TurnsReply { ok: true, session, turns })
    }

    pub(crate) fn turn(&self, turn: &Turn) -> OperationResult {
        let found = match (&turn.turn_id, &turn.session) {
            (Some(id), _) => self.turn_by_id(id)?,
            (None, session) => self.latest_turn(session.as_deref().unwrap_or_default())?,
        };
        let mut most = limits::TURN_PIECE;
        loop {
            let object = turn_object(&found, turn, most);
            match done(&TurnReply { ok: true, turn: object }) {
                Err(_) if most > 1 => most /= 2,
                answer => return answer,
            }
        }
    }

    pub(crate) fn capture(&self, capture: &Capture) -> OperationResult {
        let captured = match (&capture.turn_id, &capture.session) {
            (Some(text), _) => {
                let id = self.turn_id(text)?;
                self.relay().capture_by_id(&id).map_err(|error| relay_error(&error, text))
            }
            (None, session) => {
                let session = self.turn_owner(session.as_deref().unwrap_or_default())?;
                self.relay().capture(&session).map_err(|error| relay_error(&error, &session))
            }
        }?;
        done(&CaptureReply { ok: true, turn_id: captured.id.to_string(), size: captured.size })
    }

    pub(crate) async fn explain(&self, explain: &Explain) -> OperationResult {
        let session = self.remembered_session(&explain.session)?;
        let name = session.name().to_string();
        let status = session.view().status;
        let evidence = status.evidence.iter().map(|evidence| EvidenceItem {
            signal: evidence.signal.name().to_owned(),
            detail: evidence.detail.clone(),
            at: evidence.at.millis(),
            offset: evidence.offset,
        });
        let last = self.relay().latest(&name).ok();
        let reply = ExplainReply {
            ok: true,
            foreground: session.in_foreground().await,
            agent: self.agent(&session),
            detail: status.evidence.as_ref().map(|evidence| evidence.detail.clone()),
            evidence: evidence.collect(),
            session: name,
            last_turn: last.as_ref().map(|turn| turn_item(&turn.info)),
            source_reason: last.and_then(|turn| turn.details.source_reason),
        };
        done(&reply)
    }

    /// Number of a session's newest turn; 0 without one.
    pub(crate) fn turns_of(&self, session: &Session) -> u64 {
        let newest = self.relay().turns(session.name().as_str(), Some(1));
        newest.ok().and_then(|turns| turns.first().map(|turn| turn.id.seq())).unwrap_or(0)
    }

    /// The state of a session's agent.
    pub(crate) fn agent(&self, session: &Session) -> AgentItem {
        let profile = self.engine().profile_of(session).map(|profile| profile.name().to_owned());
        let view = session.view();
        match view.ptys.first().map(|agent| agent.phase) {
            // The exit of the process is known before the observer of its screen notices it.
            Some(ProcessPhase::Exited(_)) => {
                AgentItem { state: AgentState::Exited, since: 0, signal: None, profile }
            }
            _ => agent_item(&view.status, profile),
        }
    }
}

/// An agent's state, for a list.
fn agent_item(status: &Status, profile: Option<String>) -> AgentItem {
    AgentItem {
        state: agent_state(status.state),
        since: status.since.millis(),
        signal: status.evidence.as_ref().map(|evidence| evidence.signal.name().to_owned()),
        profile,
    }
}

pub(crate) fn agent_state(state: ProgramState) -> AgentState {
    match state {
        ProgramState::Starting => AgentState::Starting,
        ProgramState::Working => AgentState::Working,
        ProgramState::Ready => AgentState::Ready,
        ProgramState::Asking => AgentState::Asking,
        ProgramState::Error => AgentState::Error,
        ProgramState::Exited => AgentState::Exited,
        ProgramState::Unknown => AgentState::Unknown,
    }
}

fn turn_item(info: &TurnInfo) -> TurnItem {
    TurnItem {
        turn_id: info.id.to_string(),
        timestamp: info.timestamp,
        byte_length: info.byte_length,
        interrupted: info.interrupted,
        truncated: info.truncated || info.incomplete,
        source: text_source(info.source),
    }
}

fn text_source(source: swb_engine::TextSource) -> TextSource {
    match source {
        swb_engine::TextSource::Screen => TextSource::Screen,
        swb_engine::TextSource::Transcript => TextSource::Transcript,
    }
}

/// The text of a turn; for a turn that a wrapper reported, extracted from its bytes.
pub(crate) fn turn_text(turn: &swb_engine::StoredTurn) -> String {
    turn.details.text.clone().unwrap_or_else(|| {
        let lines: Vec<String> = turn.content.split(|byte| *byte == b'\n').map(strip_text).collect();
        lines.join("\n").trim_end().to_owned()
    })
}

/// A turn with at most `most` bytes of content and of text, each from the requested offset on.
pub(crate) fn turn_object(found: &swb_engine::StoredTurn, wanted: &Turn, most: usize) -> TurnObject {
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
        truncated: info.truncated || info.incomplete,
        signal: details.signal.clone(),
        profile: details.profile.clone(),
        submit_offset: details.submit,
        start_offset: details.start,
        end_offset: details.end,
        dialogs: details.dialogs.clone(),
        evidence: details.evidence.clone(),
        content: Base64(piece.to_vec()),
        from: from as u64,
        content_length: content.len() as u64,
        cut: from + piece.len() < content.len() || text_end < text.len(),
        source: text_source(info.source),
        text: text[text_from..text_end].to_owned(),
        text_from: text_from as u64,
        text_length: text.len() as u64,
    }
}

fn place(wanted: Option<u64>, length: usize) -> usize {
    usize::try_from(wanted.unwrap_or(0)).unwrap_or(length).min(length)
}

/// The last character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use swb_engine::{TurnDetails, TurnId};

    fn turn(content: &[u8], text: Option<&str>) -> swb_engine::StoredTurn {
        let info = TurnInfo {
            id: TurnId::new("s", 1),
            timestamp: 1,
            byte_length: 9,
            interrupted: false,
            truncated: false,
            incomplete: false,
            source: swb_engine::TextSource::Screen,
        };
        let details = TurnDetails { text: text.map(str::to_owned), ..TurnDetails::default() };
        swb_engine::StoredTurn { info, content: Arc::new(content.to_vec()), details }
    }

    #[test]
    fn a_turn_with_missing_lines_is_truncated() {
        let mut found = turn(b"answer", Some("[lines not shown]\nanswer"));
        assert!(!turn_object(&found, &Turn::default(), 100).truncated);
        found.info.incomplete = true;
        assert!(turn_object(&found, &Turn::default(), 100).truncated);
        assert!(turn_item(&found.info).truncated);
    }

    #[test]
    fn a_turn_states_where_its_text_comes_from() {
        let mut found = turn(b"answer", Some("**answer**"));
        assert_eq!(turn_object(&found, &Turn::default(), 100).source.as_str(), "screen");
        found.info.source = swb_engine::TextSource::Transcript;
        assert_eq!(turn_object(&found, &Turn::default(), 100).source.as_str(), "transcript");
        assert_eq!(turn_item(&found.info).source, TextSource::Transcript);
    }

    #[test]
    fn long_turns_are_sent_in_pieces() {
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
    fn turns_of_wrappers_have_text() {
        assert_eq!(turn_text(&turn(b"\x1b[31mred\x1b[m\r\nnext\r\n\r\n", None)), "red\nnext");
        assert_eq!(turn_text(&turn(b"raw", Some("its own"))), "its own");
    }
}
