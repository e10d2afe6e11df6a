//! What is reported, and when: a state machine without a clock.
//!
//! It follows the events of all sessions. A notification is due at once, unless the session had one a moment ago: then
//! it waits, and later ones of the session take its place. So it does if all sessions together had many, as programs that
//! end and begin again would. Muted sessions and quiet hours are checked when it is due.

use crate::limits;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;
use swb_engine::{EventKind, SessionEvent};
use swb_turns::ProgramState;
use swb_types::{ExitStatus, PtyId, SessionName};
use swb_wire::control::NotificationKind;

/// A notification that is due.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AgentNotice {
    pub(crate) kind: NotificationKind,
    pub(crate) session: SessionName,
    pub(crate) workspace: Option<PathBuf>,
    /// When it happened, in Unix milliseconds.
    pub(crate) at: u64,
    /// Number of its event.
    pub(crate) seq: u64,
    pub(crate) event: EventKind,
    /// How long the agent worked, if that is known.
    pub(crate) worked: Option<Duration>,
    /// Number of notifications that it stands for.
    pub(crate) count: u32,
}

impl AgentNotice {
    /// The notification for people. It contains nothing that a program has written.
    pub(crate) fn text(&self) -> String {
        let session = &self.session;
        let text = match (self.kind, &self.event) {
            (NotificationKind::Asking, _) => format!("{session} is waiting for an answer"),
            (NotificationKind::Finished, EventKind::Status(status))
                if status.state == ProgramState::Error =>
            {
                format!("{session} stopped with an error{}", after(self.worked))
            }
            (NotificationKind::Finished, _) => format!("{session} finished{}", after(self.worked)),
            (_, EventKind::Exited(_, ExitStatus::Code(0))) => format!("{session} ended"),
            (_, EventKind::Exited(_, status)) => {
                format!("{session} ended with exit code {}", status.code())
            }
            _ => format!("{session} ended"),
        };
        match self.count {
            0 | 1 => text,
            more => format!("{text} ({more} notifications)"),
        }
    }
}

fn after(worked: Option<Duration>) -> String {
    let Some(seconds) = worked.map(|worked| worked.as_secs()) else { return String::new() };
    match seconds {
        0..120 => format!(" after {seconds} s"),
        120..7200 => format!(" after {} min", seconds / 60),
        _ => format!(" after {} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Decides what is reported, and when.
#[derive(Debug)]
pub(crate) struct Policy {
    on: Vec<NotificationKind>,
    finished_after: u64,
    sessions: BTreeMap<SessionName, Followed>,
    /// When the newest notifications of all sessions were sent.
    sent: VecDeque<u64>,
}

#[derive(Debug, Default)]
struct Followed {
    /// Since when the agent works, in Unix milliseconds.
    busy_since: Option<u64>,
    asking: bool,
    /// Its end has been reported.
    ended: bool,
    /// No event will follow.
    closed: bool,
    /// When its last notification was sent.
    sent: Option<u64>,
    waiting: Option<AgentNotice>,
}

impl Followed {
    /// When the waiting notification is due.
    fn due(&self) -> Option<u64> {
        self.waiting.as_ref()?;
        Some(self.pause_ends())
    }

    /// From when on the session may have another notification.
    fn pause_ends(&self) -> u64 {
        self.sent.map_or(0, |sent| sent.saturating_add(limits::NOTIFY_PAUSE.as_millis() as u64))
    }

    /// The next session of the same name: it has no rate of its own.
    fn reopened(self) -> Self {
        let waiting = self.waiting.filter(|waiting| waiting.kind == NotificationKind::Ended);
        Self { sent: self.sent, waiting, ..Self::default() }
    }
}

impl Policy {
    pub(crate) fn new(on: Vec<NotificationKind>, finished_after: u64) -> Self {
        let finished_after = finished_after.saturating_mul(1000);
        Self { on, finished_after, sessions: BTreeMap::new(), sent: VecDeque::new() }
    }

    /// Follows a session that exists already, whose agent has been in this state since then.
    pub(crate) fn follow(&mut self, session: &SessionName, state: ProgramState, since: u64) {
        let followed = self.sessions.entry(session.clone()).or_default();
        followed.asking = state == ProgramState::Asking;
        let is_busy = matches!(state, ProgramState::Working | ProgramState::Asking);
        followed.busy_since = is_busy.then_some(since).filter(|since| *since > 0);
    }

    /// Takes the next event.
    pub(crate) fn handle(&mut self, event: &SessionEvent) {
        if matches!(event.kind, EventKind::Conversation(_)) {
            // Conversations without a terminal are not followed.
            return;
        }
        if matches!(event.kind, EventKind::Opened)
            && let Some(former) = self.sessions.remove(&event.session)
        {
            self.sessions.insert(event.session.clone(), former.reopened());
        }
        let followed = self.sessions.entry(event.session.clone()).or_default();
        let kind = match &event.kind {
            EventKind::Status(status) => followed.status(status.state, event.at),
            EventKind::TurnStarted(_) => followed.status(ProgramState::Working, event.at),
            EventKind::Asked(_) => followed.status(ProgramState::Asking, event.at),
            EventKind::TurnCompleted { pty: PtyId::AGENT, .. } => {
                followed.status(ProgramState::Ready, event.at)
            }
            EventKind::Exited(PtyId::AGENT, _) => followed.end(),
            EventKind::Closed => {
                followed.closed = true;
                followed.end()
            }
            _ => None,
        };
        if let Some((kind, worked)) = kind
            && self.on.contains(&kind)
            && (kind != NotificationKind::Finished
                || worked.is_some_and(|worked| worked.as_millis() >= u128::from(self.finished_after)))
        {
            let count = followed.waiting.as_ref().map_or(0, |before| before.count).saturating_add(1);
            followed.waiting = Some(AgentNotice {
                kind,
                session: event.session.clone(),
                workspace: event.workspace.clone(),
                at: event.at,
                seq: event.seq,
                event: event.kind.clone(),
                worked,
                count,
            });
        }
        if followed.closed {
            self.forget(event.at);
        }
    }

    /// Forgets closed sessions of which nothing is left to be known.
    fn forget(&mut self, now: u64) {
        self.sessions.retain(|_, one| !one.closed || one.waiting.is_some() || one.pause_ends() > now);
        let closed = self.sessions.iter().filter(|(_, one)| one.closed);
        if closed.clone().count() > limits::NOTIFY_CLOSED {
            let at = |one: &Followed| one.waiting.as_ref().map_or(0, |waiting| waiting.at);
            let oldest = closed.min_by_key(|(_, one)| at(one)).map(|(session, _)| session.clone());
            if let Some(session) = oldest {
                self.sessions.remove(&session);
            }
        }
    }

    /// When the next notification is due, in Unix milliseconds; 0 for one that is due at once.
    pub(crate) fn deadline(&self) -> Option<u64> {
        let due = |one: &Followed| Some(one.due()?.max(self.room_from(one.waiting.as_ref()?.kind)));
        self.sessions.values().filter_map(due).min()
    }

    /// From when on another notification of this kind may be sent, whatever session it is about. An agent that asks has more
    /// room, so that nothing else keeps its question back.
    fn room_from(&self, kind: NotificationKind) -> u64 {
        let most = match kind {
            NotificationKind::Asking => 2 * limits::NOTIFY_BURST,
            _ => limits::NOTIFY_BURST,
        };
        let oldest = self.sent.len().checked_sub(most).and_then(|at| self.sent.get(at));
        oldest.map_or(0, |oldest| oldest.saturating_add(limits::NOTIFY_BURST_TIME.as_millis() as u64))
    }

    fn note_sent(&mut self, now: u64) {
        self.sent.push_back(now);
        if self.sent.len() > 2 * limits::NOTIFY_BURST {
            self.sent.pop_front();
        }
    }

    /// The notifications that are due. Those of muted sessions and in quiet hours are dropped.
    pub(crate) fn take_due(
        &mut self,
        now: u64,
        quiet: bool,
        muted: impl Fn(&SessionName) -> bool,
    ) -> Vec<AgentNotice> {
        // A clock that was set back must not silence anything.
        if self.sent.back().is_some_and(|sent| *sent > now) {
            self.sent.clear();
        }
        let is_due = |one: &Followed| {
            let set_back = one.sent.is_some_and(|sent| sent > now);
            one.due().is_some_and(|at| at <= now || set_back)
        };
        let waiting = self.sessions.iter().filter(|(_, followed)| is_due(followed));
        let mut waiting: Vec<_> = waiting
            .filter_map(|(session, one)| Some((session.clone(), one.waiting.as_ref()?)))
            .map(|(session, notice)| (notice.kind != NotificationKind::Asking, notice.at, session))
            .collect();
        waiting.sort();
        let mut due = Vec::new();
        for (_, _, session) in waiting {
            let dropped = quiet || muted(&session);
            let Some(followed) = self.sessions.get(&session) else { continue };
            let Some(kind) = followed.waiting.as_ref().map(|waiting| waiting.kind) else { continue };
            if !dropped && self.room_from(kind) > now {
                continue;
            }
            let Some(followed) = self.sessions.get_mut(&session) else { continue };
            let notice = followed.waiting.take().filter(|_| !dropped);
            if let Some(notice) = notice {
                followed.sent = Some(now);
                self.note_sent(now);
                due.push(notice);
            }
        }
        self.forget(now);
        due
    }
}

/// What is to be reported, and how long the agent has worked.
type Reported = Option<(NotificationKind, Option<Duration>)>;

impl Followed {
    fn status(&mut self, state: ProgramState, at: u64) -> Reported {
        if state != ProgramState::Asking {
            self.asking = false;
            // It has been answered.
            self.waiting.take_if(|waiting| waiting.kind == NotificationKind::Asking);
        }
        match state {
            ProgramState::Working => {
                self.busy_since.get_or_insert(at);
                None
            }
            ProgramState::Asking => {
                let asked = std::mem::replace(&mut self.asking, true);
                (!asked).then_some((NotificationKind::Asking, None))
            }
            ProgramState::Ready | ProgramState::Error => {
                let since = self.busy_since.take()?;
                Some((NotificationKind::Finished, Some(Duration::from_millis(at.saturating_sub(since)))))
            }
            _ => None,
        }
    }

    fn end(&mut self) -> Reported {
        self.busy_since = None;
        let reported = std::mem::replace(&mut self.ended, true);
        (!reported).then_some((NotificationKind::Ended, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use NotificationKind::{Asking, Ended, Finished};
    use swb_turns::Status;
    use swb_types::Offset;

    fn policy() -> Policy {
        Policy::new(vec![Asking, Finished, Ended], 30)
    }

    fn event(session: &str, at: u64, kind: EventKind) -> SessionEvent {
        let session = SessionName::new(session).unwrap();
        SessionEvent { seq: 1, at, session, workspace: None, kind }
    }

    fn status(state: ProgramState) -> EventKind {
        EventKind::Status(Status { state, ..Status::default() })
    }

    /// The texts that are due at a second, after the agent of `api` got into a state at that second.
    fn at(policy: &mut Policy, second: u64, kind: EventKind) -> Vec<String> {
        policy.handle(&event("api", second * 1000, kind));
        due(policy, second)
    }

    fn due(policy: &mut Policy, second: u64) -> Vec<String> {
        policy.take_due(second * 1000, false, |_| false).iter().map(AgentNotice::text).collect()
    }

    #[test]
    fn an_agent_that_asks_is_reported_once() {
        let mut policy = policy();
        assert!(at(&mut policy, 100, status(ProgramState::Working)).is_empty());
        assert_eq!(at(&mut policy, 101, EventKind::Asked(Offset(5))), ["api is waiting for an answer"]);
        assert!(at(&mut policy, 102, status(ProgramState::Asking)).is_empty());
        assert!(at(&mut policy, 103, status(ProgramState::Working)).is_empty());
        assert_eq!(at(&mut policy, 203, status(ProgramState::Asking)), ["api is waiting for an answer"]);
    }

    #[test]
    fn the_end_of_long_work_is_reported() {
        let mut policy = policy();
        at(&mut policy, 100, status(ProgramState::Working));
        assert!(at(&mut policy, 129, status(ProgramState::Ready)).is_empty(), "too short");
        at(&mut policy, 200, EventKind::TurnStarted(Offset(5)));
        at(&mut policy, 210, status(ProgramState::Working));
        assert_eq!(at(&mut policy, 230, status(ProgramState::Ready)), ["api finished after 30 s"]);
        let turn = EventKind::TurnCompleted { pty: PtyId::AGENT, turn: "api:1".parse().unwrap() };
        assert!(at(&mut policy, 300, turn).is_empty(), "the same end");
        at(&mut policy, 1000, status(ProgramState::Working));
        let texts = at(&mut policy, 5000, status(ProgramState::Error));
        assert_eq!(texts, ["api stopped with an error after 66 min"]);
    }

    #[test]
    fn an_answered_question_does_not_restart_the_time() {
        let mut policy = policy();
        at(&mut policy, 100, status(ProgramState::Working));
        at(&mut policy, 120, status(ProgramState::Asking));
        at(&mut policy, 121, status(ProgramState::Working));
        assert_eq!(at(&mut policy, 140, status(ProgramState::Ready)), ["api finished after 40 s"]);
    }

    #[test]
    fn the_end_of_a_session_is_reported_once_and_then_forgotten() {
        let mut policy = policy();
        let exited = EventKind::Exited(PtyId::AGENT, ExitStatus::Code(3));
        assert_eq!(at(&mut policy, 100, exited), ["api ended with exit code 3"]);
        assert!(at(&mut policy, 200, EventKind::Closed).is_empty());
        assert!(policy.sessions.is_empty());
        assert_eq!(at(&mut policy, 300, EventKind::Closed), ["api ended"]);
        let shell = EventKind::Exited(PtyId(1), ExitStatus::Code(0));
        assert!(at(&mut policy, 400, shell).is_empty(), "only the agent counts");
    }

    #[test]
    fn a_burst_becomes_one_notification() {
        let mut policy = policy();
        assert_eq!(at(&mut policy, 100, status(ProgramState::Asking)).len(), 1);
        for second in 101..105 {
            assert!(at(&mut policy, second, status(ProgramState::Working)).is_empty());
            assert!(at(&mut policy, second, status(ProgramState::Asking)).is_empty());
        }
        let pause = limits::NOTIFY_PAUSE.as_secs();
        assert_eq!(policy.deadline(), Some((100 + pause) * 1000));
        assert!(due(&mut policy, 100 + pause - 1).is_empty());
        assert_eq!(due(&mut policy, 100 + pause), ["api is waiting for an answer"]);
        assert_eq!(policy.deadline(), None);
        at(&mut policy, 111, EventKind::Exited(PtyId::AGENT, ExitStatus::Code(0)));
        policy.handle(&event("other", 111_000, status(ProgramState::Asking)));
        assert_eq!(
            due(&mut policy, 111),
            ["other is waiting for an answer"],
            "each session has its own rate"
        );
    }

    #[test]
    fn merged_notifications_are_counted() {
        let mut policy = policy();
        at(&mut policy, 100, status(ProgramState::Asking));
        at(&mut policy, 101, status(ProgramState::Working));
        policy.sessions.values_mut().for_each(|followed| followed.busy_since = Some(1000));
        at(&mut policy, 102, status(ProgramState::Ready));
        at(&mut policy, 103, EventKind::Closed);
        assert_eq!(due(&mut policy, 200), ["api ended (2 notifications)"]);
        policy.forget(300_000);
        assert!(policy.sessions.is_empty());
    }

    #[test]
    fn a_program_that_ends_and_begins_again_is_one_burst() {
        let mut policy = policy();
        let mut texts = Vec::new();
        for second in 100..120 {
            policy.handle(&event("api", second * 1000, EventKind::Opened));
            texts.extend(due(&mut policy, second));
            texts.extend(at(&mut policy, second, EventKind::Closed));
        }
        assert_eq!(texts, ["api ended", "api ended (9 notifications)"]);
    }

    #[test]
    fn many_sessions_together_have_a_rate_and_questions_more_of_it() {
        let mut policy = policy();
        let name = |n| format!("s{n:03}");
        for n in 0..100 {
            policy.handle(&event(&name(n), 100_000 + n, EventKind::Closed));
        }
        let first = due(&mut policy, 101);
        assert_eq!((first.len(), first[0].as_str()), (limits::NOTIFY_BURST, "s000 ended"));
        policy.handle(&event("api", 101_000, status(ProgramState::Asking)));
        assert_eq!(due(&mut policy, 101), ["api is waiting for an answer"]);
        let more = policy.deadline().unwrap() / 1000;
        assert_eq!(more, 101 + limits::NOTIFY_BURST_TIME.as_secs());
        assert!(due(&mut policy, more - 1).is_empty());
        assert_eq!(due(&mut policy, more).len(), limits::NOTIFY_BURST);
        for n in 100..2000 {
            policy.handle(&event(&name(n), 200_000, EventKind::Closed));
        }
        assert!(policy.sessions.len() <= limits::NOTIFY_CLOSED + 1, "{}", policy.sessions.len());
    }

    #[test]
    fn a_question_that_was_answered_meanwhile_is_not_reported() {
        let mut policy = policy();
        at(&mut policy, 100, status(ProgramState::Asking));
        at(&mut policy, 101, status(ProgramState::Working));
        at(&mut policy, 102, status(ProgramState::Asking));
        at(&mut policy, 103, status(ProgramState::Working));
        assert!(due(&mut policy, 200).is_empty() && policy.deadline().is_none());
    }

    #[test]
    fn muted_sessions_and_quiet_hours_drop_notifications() {
        let mut policy = policy();
        policy.handle(&event("api", 100_000, status(ProgramState::Asking)));
        assert!(policy.take_due(100_000, true, |_| false).is_empty());
        policy.handle(&event("web", 100_000, status(ProgramState::Asking)));
        assert!(policy.take_due(100_000, false, |session| session.as_str() == "web").is_empty());
        assert!(policy.deadline().is_none(), "they do not come later");
        assert!(at(&mut policy, 101, status(ProgramState::Working)).is_empty());
        assert_eq!(at(&mut policy, 102, status(ProgramState::Asking)).len(), 1, "no rate was used up");
    }

    #[test]
    fn a_clock_that_is_set_back_silences_nothing() {
        let mut policy = policy();
        assert_eq!(at(&mut policy, 1_000_000, status(ProgramState::Asking)).len(), 1);
        at(&mut policy, 50, status(ProgramState::Working));
        assert_eq!(at(&mut policy, 51, status(ProgramState::Asking)).len(), 1);
    }

    #[test]
    fn what_is_not_configured_is_not_reported() {
        let mut policy = Policy::new(vec![Ended], 0);
        assert!(at(&mut policy, 1, status(ProgramState::Asking)).is_empty());
        assert!(at(&mut policy, 2, status(ProgramState::Ready)).is_empty());
        assert_eq!(at(&mut policy, 3, EventKind::Closed).len(), 1);
    }

    #[test]
    fn a_session_that_was_busy_before_is_followed() {
        let mut policy = policy();
        policy.follow(&SessionName::new("api").unwrap(), ProgramState::Working, 1000);
        assert_eq!(at(&mut policy, 61, status(ProgramState::Ready)), ["api finished after 60 s"]);
        policy.follow(&SessionName::new("api").unwrap(), ProgramState::Asking, 70_000);
        assert!(at(&mut policy, 80, status(ProgramState::Asking)).is_empty(), "it was reported");
    }
}
