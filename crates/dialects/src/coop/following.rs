//! Waiting for agents: until one has answered, asks or is ready; and events as they happen.

use super::connection::{Answer, Connection, Next, invalid, ok, refused};
use super::turns::{agent_state, turn_object};
use super::{Door, errors};
use crate::limits;
use crate::outlet::Outlet;
use std::time::Duration;
use swb_engine::limits::ASK_READY;
use swb_engine::{
    AgentBusy, AgentChange, AgentWatch, AskOutcome as Reply, Error, EventCursor, EventFollower, EventKind,
    RelayError, Session, SessionEvent, Submit, TypedText,
};
use swb_turns::State;
use swb_types::Offset;
use swb_wire::control::{
    Answered, Ask, AskReply, ErrorCode, ErrorReply, Events, EventsReply, Happened, Happening, Met, Turn,
    Wait, WaitReply, WaitUntil, encode_control,
};
use tokio::sync::broadcast::error::RecvError;

/// A connection that follows what happens.
pub(super) struct EventStream {
    following: EventFollower,
    /// The place the client named, as it named it.
    since: String,
    sessions: Vec<String>,
}

impl Connection {
    // ---- asking ----

    pub(super) async fn ask(&self, ask: Ask) -> Answer {
        let session = self.resolve_live(&ask.session)?;
        let timeout = ask.timeout_ms;
        let reply = tokio::select! {
            biased;
            reply = self.asked(&session, ask) => reply?,
            () = after(timeout) => {
                AskReply { ok: true, met: Answered::Timeout, asking: false, detail: None, turn: None }
            }
            () = self.client_leaves() => return Ok((Vec::new(), Next::Close)),
        };
        // The text and the bytes of a long turn are cut: what is missing is there by its name.
        Ok((ok(&reply)?, Next::Request))
    }

    async fn asked(&self, session: &Session, ask: Ask) -> Result<AskReply, ErrorReply> {
        if self.coop.engine.profile_of(session).is_none() {
            return Err(ErrorReply::new(ErrorCode::NotImplemented, "turns are not looked for"));
        }
        if ask.text.trim().is_empty() {
            return Err(invalid("there is nothing to ask: the text is empty"));
        }
        session.start(None).await.ok();
        // Of several who ask at once each gets the answer to its own question.
        let _alone = if ask.force { None } else { Some(session.alone().await) };
        if !ask.force {
            match self.coop.engine.watch(session).free(ASK_READY).await {
                Ok(()) => {}
                Err(AgentBusy::Gone) => return Err(refused(Error::Ended(session.name().clone()))),
                Err(_) if session.view().status.state == State::Asking => return Ok(asking(session)),
                Err(why) => return Err(busy(session, why)),
            }
        }
        let mut watch = self.coop.engine.watch(session);
        let before = watch.newest();
        let submit = if ask.force { Submit::Forced } else { Submit::Prompt };
        self.type_into(session, TypedText::Text(ask.text), submit).await?;
        match watch.answered(before).await.map_err(|error| no_turn(&error, session))? {
            Reply::Turn(turn) => Ok(answer(turn_object(&turn, &Turn::default(), limits::ANSWER))),
            Reply::Asks => Ok(asking(session)),
            Reply::Gone => Err(refused(Error::Ended(session.name().clone()))),
        }
    }

    // ---- waiting ----

    /// Waits until an agent has come to something; for ever if it ends before and `exit` is asked for as well.
    pub(super) async fn until(&self, session: &Session, wait: &Wait) -> Result<WaitReply, ErrorReply> {
        let mut watch = self.coop.engine.watch(session);
        let before = wait.after.unwrap_or_else(|| watch.newest());
        loop {
            let view = session.view();
            let offset = Offset(view.ptys.first().map_or(0, |agent| agent.pty.head()));
            let met = |met| WaitReply { ok: true, met, text: None, code: None, turn_id: None, offset };
            match (wait.until, view.status.state) {
                (Some(WaitUntil::Ready), State::Ready | State::Error) => return Ok(met(Met::Ready)),
                (Some(WaitUntil::Asking), State::Asking) => return Ok(met(Met::Asking)),
                (Some(WaitUntil::Turn), _) => {
                    if let Some(turn_id) = turn_after(&watch, session, before)? {
                        return Ok(WaitReply { turn_id: Some(turn_id), ..met(Met::Turn) });
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

    // ---- events ----

    pub(super) fn events(&self, events: Events) -> Answer {
        let since = events.since.as_deref().map(str::parse::<EventCursor>).transpose();
        let since = since.map_err(|()| invalid("since is no place among events"))?;
        let following = self.coop.engine.follow(since);
        let reply = EventsReply { ok: true, cursor: following.cursor.to_string() };
        let since = events.since.unwrap_or_else(|| reply.cursor.clone());
        let stream = EventStream { following, since, sessions: events.sessions };
        Ok((ok(&reply)?, Next::Events(Box::new(stream))))
    }

    /// Tells what happens until the client goes.
    pub(super) async fn tell_events(&self, mut stream: EventStream) {
        tokio::select! {
            () = self.tell_all(&mut stream) => {}
            () = self.client_leaves() => {}
        }
    }

    async fn tell_all(&self, stream: &mut EventStream) {
        loop {
            if stream.following.missed {
                let at = std::time::UNIX_EPOCH.elapsed().map_or(0, |now| now.as_millis() as u64);
                let what = Happened::Missed;
                // Whoever loses the connection now is to be told again.
                let missed = Happening { cursor: stream.since.clone(), at, session: None, what };
                if !self.tell(&missed).await {
                    return;
                }
            }
            for event in std::mem::take(&mut stream.following.past) {
                if !self.tell_event(stream, &event).await {
                    return;
                }
            }
            loop {
                match stream.following.next.recv().await {
                    Ok(event) => {
                        if !self.tell_event(stream, &event).await {
                            return;
                        }
                    }
                    Err(RecvError::Lagged(_)) => break,
                    Err(RecvError::Closed) => return,
                }
            }
            // Too slow for the queue; what it has lost may still be kept.
            stream.following = self.coop.engine.follow(stream.since.parse().ok());
        }
    }

    async fn tell_event(&self, stream: &mut EventStream, event: &SessionEvent) -> bool {
        stream.since = stream.following.behind(event).to_string();
        let name = event.session.as_str();
        let wanted = stream.sessions.is_empty() || stream.sessions.iter().any(|session| session == name);
        let Some(what) = happened(&event.kind).filter(|_| wanted && self.may_hear(name)) else { return true };
        let cursor = stream.since.clone();
        self.tell(&Happening { cursor, at: event.at, session: Some(name.to_owned()), what }).await
    }

    async fn tell(&self, happening: &Happening) -> bool {
        let mut frame = Vec::new();
        encode_control(happening, &mut frame).is_ok() && Outlet::new(&self.stream).send(&frame).await.is_ok()
    }

    /// Whether events of a session are for whoever listens.
    fn may_hear(&self, session: &str) -> bool {
        self.door == Door::Control || self.resolve_remembered(session).is_ok()
    }
}

fn answer(turn: swb_wire::control::TurnObject) -> AskReply {
    AskReply { ok: true, met: Answered::Turn, asking: false, detail: None, turn: Some(turn) }
}

/// The answer of an agent that asks something itself.
fn asking(session: &Session) -> AskReply {
    let detail = session.view().status.evidence.map(|evidence| evidence.detail);
    AskReply { ok: true, met: Answered::Asking, asking: true, detail, turn: None }
}

fn busy(session: &Session, why: AgentBusy) -> ErrorReply {
    ErrorReply::new(ErrorCode::AgentBusy, format!("the agent of session '{}' {why}", session.name()))
}

/// Name of the first turn behind the one of this number.
fn turn_after(watch: &AgentWatch, session: &Session, before: u64) -> Result<Option<String>, ErrorReply> {
    let turn = watch.turn_after(before).map_err(|error| no_turn(&error, session))?;
    Ok(turn.map(|turn| turn.info.id.to_string()))
}

fn no_turn(error: &RelayError, session: &Session) -> ErrorReply {
    errors::relay(error, session.name().as_str())
}

async fn after(milliseconds: Option<u64>) {
    match milliseconds {
        Some(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        None => std::future::pending().await,
    }
}

/// An event in the words of the protocol; nothing for one it has no word for.
fn happened(kind: &EventKind) -> Option<Happened> {
    Some(match kind {
        EventKind::Opened => Happened::Opened,
        EventKind::Found => Happened::Found,
        EventKind::Closed => Happened::Closed,
        EventKind::Started(pty) => Happened::Started { pty: *pty },
        EventKind::Exited(pty, status) => Happened::Exited { pty: *pty, code: status.code() },
        EventKind::Status(status) => Happened::Status {
            state: agent_state(status.state),
            signal: status.evidence.as_ref().map(|evidence| evidence.signal.name().to_owned()),
        },
        EventKind::TurnStarted(offset) => Happened::Submitted { offset: Offset(*offset) },
        EventKind::Asked(offset) => Happened::Dialog { offset: Offset(*offset) },
        EventKind::TurnCompleted { turn, .. } => Happened::Turn { turn_id: turn.to_string() },
        _ => return None,
    })
}
