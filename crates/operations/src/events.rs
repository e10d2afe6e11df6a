//! Events as they happen, for as long as a caller follows them.

use crate::errors::invalid;
use crate::execute::Call;
use crate::find::NamedWorkspaces;
use crate::reply::{OperationResult, Then, follow};
use crate::turns::agent_state;
use crate::{Caller, Operations};
use std::collections::VecDeque;
use swb_engine::{ChatActivity, EventCursor, EventFollower, EventKind, SessionEvent};
use swb_wire::control::{AgentState, EventBody, EventItem, Events, EventsReply};
use tokio::sync::broadcast::error::RecvError;

/// A caller's position in the event stream.
pub struct EventStream {
    operations: Operations,
    caller: Caller,
    following: EventFollower,
    /// Stored events for a caller that named a position.
    past: VecDeque<SessionEvent>,
    /// Position after the last event sent, as named by the caller or by us.
    since: String,
    /// Only events of these sessions; all if empty.
    sessions: Vec<String>,
}

impl Call<'_> {
    pub(crate) fn events(&self, events: Events) -> OperationResult {
        let since = events.since.as_deref().map(str::parse::<EventCursor>).transpose();
        let since = since.map_err(|()| invalid("invalid event cursor in 'since'"))?;
        let following = self.engine().follow(since);
        let reply = EventsReply { ok: true, cursor: following.cursor.to_string() };
        let since = events.since.unwrap_or_else(|| reply.cursor.clone());
        let (operations, caller) = (self.operations.clone(), self.caller.clone());
        let past = VecDeque::new();
        let stream = EventStream { operations, caller, following, past, since, sessions: events.sessions };
        follow(&reply, Then::Events(Box::new(stream.with_past())))
    }
}

impl EventStream {
    /// The next event that the caller may see; `None` when the daemon stops. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<EventItem> {
        loop {
            if std::mem::take(&mut self.following.missed) {
                return Some(self.missed());
            }
            let event = match self.past.pop_front() {
                Some(event) => event,
                None => match self.following.next.recv().await {
                    Ok(event) => event,
                    Err(RecvError::Lagged(_)) => {
                        // The caller was too slow for the queue; the events that it missed
                        // may still be stored.
                        self.following = self.operations.engine.follow(self.since.parse().ok());
                        self.past = std::mem::take(&mut self.following.past).into();
                        continue;
                    }
                    Err(RecvError::Closed) => return None,
                },
            };
            self.since = self.following.behind(&event).to_string();
            if let Some(what) = self.shown(&event) {
                let session = Some(event.session.to_string());
                return Some(EventItem { cursor: self.since.clone(), at: event.at, session, what });
            }
        }
    }

    fn with_past(mut self) -> Self {
        self.past = std::mem::take(&mut self.following.past).into();
        self
    }

    /// Notifies a caller that it missed events. The position stays, so that a caller that reconnects now is
    /// notified again.
    fn missed(&self) -> EventItem {
        let at = std::time::UNIX_EPOCH.elapsed().map_or(0, |now| now.as_millis() as u64);
        EventItem { cursor: self.since.clone(), at, session: None, what: EventBody::Missed }
    }

    fn shown(&self, event: &SessionEvent) -> Option<EventBody> {
        let name = event.session.as_str();
        let asked_for = self.sessions.is_empty() || self.sessions.iter().any(|session| session == name);
        happened(&event.kind).filter(|_| asked_for && self.may_see(event))
    }

    fn may_see(&self, event: &SessionEvent) -> bool {
        let session = event.session.as_str();
        // The session may have ended, and its name may belong to one of another workspace.
        if self.caller.front().is_none() && event.workspace.is_some() {
            return self.caller.covers(session, event.workspace.as_deref());
        }
        let call = Call {
            operations: &self.operations,
            caller: &self.caller,
            workspaces: NamedWorkspaces::default(),
        };
        let names_it = self.caller.front().is_none() && self.caller.covers(session, None);
        names_it || call.remembered_session(session).is_ok()
    }
}

fn chat_state(activity: ChatActivity) -> AgentState {
    match activity {
        ChatActivity::Asking => AgentState::Asking,
        ChatActivity::Ready => AgentState::Ready,
        ChatActivity::Working => AgentState::Working,
    }
}

/// An event as the protocol defines it; `None` for one that it does not define.
pub(crate) fn happened(kind: &EventKind) -> Option<EventBody> {
    Some(match kind {
        EventKind::Opened => EventBody::Opened,
        EventKind::Found => EventBody::Found,
        EventKind::Closed => EventBody::Closed,
        EventKind::Started(pty) => EventBody::Started { pty: *pty },
        EventKind::Exited(pty, status) => EventBody::Exited { pty: *pty, code: status.code() },
        EventKind::Status(status) => EventBody::Status {
            state: agent_state(status.state),
            signal: status.evidence.as_ref().map(|evidence| evidence.signal.name().to_owned()),
        },
        EventKind::TurnStarted(offset) => EventBody::Submitted { offset: *offset },
        EventKind::Asked(offset) => EventBody::Dialog { offset: *offset },
        EventKind::TurnCompleted { turn, .. } => EventBody::Turn { turn_id: turn.to_string() },
        EventKind::Conversation(activity) => EventBody::Status { state: chat_state(*activity), signal: None },
        _ => return None,
    })
}
