//! What the list learns: events, and the replies to its requests.

use super::browser::Browser;
use super::link::TopLink;
use super::preview::SessionPreview;
use super::requests::Purpose;
use super::rows;
use crate::limits;
use serde::de::DeserializeOwned;
use std::time::{Duration, Instant};
use swb_tui::top::{SessionState, last_line};
use swb_types::PtyId;
use swb_wire::control::{
    self, AgentState, Approvals, ApprovalsReply, EventBody, EventItem, Events, EventsReply, Ls, LsReply,
    Operation, Screen, ScreenFormat, ScreenReply, StreamFrame,
};

/// The stream of events.
#[derive(Debug)]
pub(super) struct EventLink {
    pub(super) link: Option<TopLink>,
    /// Whether the daemon has accepted the request.
    following: bool,
    /// When to connect again.
    pub(super) retry: Option<Instant>,
    pause: Duration,
}

impl Default for EventLink {
    fn default() -> Self {
        Self { link: None, following: false, retry: None, pause: limits::EVENTS_PAUSE }
    }
}

impl Browser<'_> {
    /// Follows the events, also again after the connection was lost.
    pub(super) fn follow_events(&mut self) {
        let Some(mut link) = TopLink::reopen(self.context) else {
            self.events.retry = Some(Instant::now() + self.events.pause);
            self.events.pause = (self.events.pause * 2).min(limits::TOP_RETRY);
            return;
        };
        link.send(&Operation::Events(Events::default()));
        self.events = EventLink { link: Some(link), ..EventLink::default() };
        self.list_soon();
    }

    pub(super) fn take_events(&mut self) {
        loop {
            let Some(link) = &mut self.events.link else { return };
            link.move_bytes();
            let Some(frame) = link.frame() else { break };
            if self.events.following {
                if let StreamFrame::Control(body) = control::parse_stream(frame)
                    && let Some(event) = control::parse_event_item(&body)
                {
                    self.take_event(&event);
                }
            } else if control::parse_reply::<EventsReply>(&frame).is_ok() {
                link.enter_stream();
                self.events.following = true;
                self.top.set_lost(false);
                self.dirty = true;
            }
        }
        if self.events.link.as_ref().is_some_and(TopLink::is_closed) {
            self.events = EventLink { retry: Some(Instant::now()), ..EventLink::default() };
            self.top.set_lost(true);
            self.preview = None;
            self.dirty = true;
        }
    }

    fn take_event(&mut self, event: &EventItem) {
        let name = event.session.as_deref().unwrap_or_default();
        // Its last line may be another one.
        self.lines.remove(name);
        let row = self.rows.iter_mut().find(|row| row.name == name && row.state != SessionState::Exited);
        match (&event.what, row) {
            (EventBody::Status { state, .. }, Some(row)) if *state != AgentState::Exited => {
                let asked = row.state.needs_attention();
                (row.state, row.since) = (rows::state(*state), event.at);
                if asked || row.state.needs_attention() {
                    self.request_approvals();
                }
                self.arrange();
            }
            (EventBody::Turn { turn_id }, Some(row)) => {
                let number = turn_id.rsplit(':').next().and_then(|number| number.parse().ok());
                row.turns = number.unwrap_or(row.turns).max(row.turns);
                self.arrange();
            }
            (EventBody::Exited { pty: PtyId::AGENT, code }, Some(row)) => {
                (row.state, row.since, row.exit_code) = (SessionState::Exited, event.at, Some(*code));
                self.arrange();
                // It may be restarted.
                self.list_soon();
            }
            (EventBody::Dialog { .. }, _) => self.request_approvals(),
            (EventBody::Submitted { .. }, _) => {}
            _ => self.list_soon(),
        }
        self.dirty = true;
    }

    /// Lists the sessions after a moment, in which events that belong together arrive.
    pub(super) fn list_soon(&mut self) {
        let next = self.listed.map(|listed| listed + limits::TOP_LIST_PAUSE);
        let due = Instant::now() + limits::TOP_GATHER;
        self.list_due.get_or_insert(next.map_or(due, |next| next.max(due)));
    }

    pub(super) fn list_now(&mut self) {
        if self.requests.expects(&Purpose::List) {
            return self.list_soon();
        }
        self.listed = Some(Instant::now());
        self.requests.ask(self.context, &Operation::Ls(Ls { details: true, all: true }), Purpose::List);
        self.request_approvals();
    }

    fn request_approvals(&mut self) {
        self.requests.ask(self.context, &Operation::Approvals(Approvals {}), Purpose::Approvals);
    }

    /// Requests the last lines of the sessions on the screen whose output has moved.
    pub(super) fn request_lines(&mut self) {
        let moved: Vec<_> = self
            .top
            .visible()
            .filter(|row| !row.conversation && self.lines.get(&row.name) != Some(&(row.offset, row.state)))
            .map(|row| (row.name.clone(), row.offset, row.state))
            .collect();
        for (session, offset, state) in moved {
            if self.requests.outstanding() >= limits::TOP_QUICK {
                return;
            }
            let format = Some(ScreenFormat::Text);
            let screen = Screen { session: session.clone(), format, join: true, ..Screen::default() };
            self.lines.insert(session.clone(), (offset, state));
            let asking = state == SessionState::Asking;
            self.requests.ask(
                self.context,
                &Operation::Screen(screen),
                Purpose::LastLine { session, asking },
            );
        }
    }

    pub(super) fn take_replies(&mut self) {
        for (purpose, reply) in self.requests.replies() {
            self.dirty = true;
            match purpose {
                Purpose::List => self.take_list(reply.as_deref()),
                Purpose::Approvals => self.take_approvals(reply.as_deref()),
                Purpose::LastLine { session, asking } => self.take_line(&session, asking, reply.as_deref()),
                action => self.take_outcome(action, reply.as_deref()),
            }
        }
    }

    fn take_list(&mut self, reply: Option<&[u8]>) {
        let Some(list) = parsed::<LsReply>(reply) else { return };
        let watched = self.preview.as_ref().filter(|preview| preview.counts());
        let watched = watched.map(|preview| preview.session.clone());
        let old = std::mem::take(&mut self.rows);
        let lines: std::collections::HashMap<_, _> =
            old.into_iter().map(|row| ((row.name, row.created), row.last_line)).collect();
        self.rows = rows::sessions(list.sessions, watched.as_deref(), &self.context.paths.home);
        for row in &mut self.rows {
            if let Some(line) = lines.get(&(row.name.clone(), row.created)) {
                row.last_line.clone_from(line);
            }
        }
        self.lines.retain(|name, _| self.rows.iter().any(|row| row.name == *name));
        self.arrange();
        if self.preview.as_ref().is_some_and(|preview| !preview.is_open()) {
            self.preview_due = Some(Instant::now());
        }
    }

    fn take_approvals(&mut self, reply: Option<&[u8]>) {
        let Some(list) = parsed::<ApprovalsReply>(reply) else { return };
        let home = &self.context.paths.home;
        self.approvals = list.approvals.iter().map(|item| rows::approval(item, home)).collect();
        self.top.set_approvals(self.approvals.clone());
        self.arrange();
    }

    fn take_line(&mut self, session: &str, asking: bool, reply: Option<&[u8]>) {
        let data = parsed::<ScreenReply>(reply).and_then(|reply| reply.data);
        let text = data.map(|data| String::from_utf8_lossy(&data.0).into_owned()).unwrap_or_default();
        if let Some(row) = self.rows.iter_mut().find(|row| row.name == session) {
            row.last_line = last_line(&text, asking);
            self.arrange();
        }
    }

    /// Puts the rows into the list.
    fn arrange(&mut self) {
        let was = self.top.selected().map(|row| row.name.clone());
        self.top.set_sessions(rows::with_approvals(&self.rows, &self.approvals));
        let now = self.top.selected().map(|row| row.name.clone());
        if was != now
            || self.preview.as_ref().map(|preview: &SessionPreview| &preview.session) != now.as_ref()
        {
            self.preview_due.get_or_insert(Instant::now() + limits::TOP_SETTLE);
        }
    }
}

/// A reply, if it is one that was hoped for.
pub(super) fn parsed<T: DeserializeOwned>(reply: Option<&[u8]>) -> Option<T> {
    control::parse_reply(reply?).ok()
}
