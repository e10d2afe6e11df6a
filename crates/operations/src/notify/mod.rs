//! Notifications when an agent asks, finishes after a while, or ends.
//!
//! `policy.rs` decides from the events of sessions what is reported and when; [`Notifications::run`] drives it and hands
//! each notification to the means: terminals take theirs between two pieces of output (`terminals.rs`), the others from a
//! queue of their own (`means.rs`), which the daemon empties. A notification contains names and states only.

mod means;
mod mutes;
mod policy;
mod quiet;
mod settings;
mod terminals;

pub use means::Delivery;
pub use mutes::StoredMute;
pub use quiet::QuietHours;
pub use settings::NotificationsConfig;
pub(crate) use terminals::BoardReader;

use crate::Caller;
use crate::errors::invalid;
use crate::events::happened;
use crate::execute::Call;
use crate::limits;
use crate::reply::{OperationResult, done};
use means::{Means, Queue};
use mutes::Mutes;
use policy::{AgentNotice, Policy};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use swb_engine::{Engine, EventFollower, Session, SessionUid};
use swb_types::Timestamp;
use swb_wire::control::{
    EventBody, EventItem, Mute, MuteItem, MuteReply, NotificationItem, NotificationKind, NotificationsReply,
    NotifyTestReply, TerminalMeans, TestItem,
};
use terminals::Board;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

/// The notifications of a daemon.
#[derive(Debug, Default)]
pub struct Notifications {
    config: NotificationsConfig,
    /// Name of the machine.
    machine: String,
    mutes: Mutes,
    board: Board,
    /// What the terminals did; none if they are not notified.
    terminals: Option<Arc<Means>>,
    queues: Mutex<Vec<Queue>>,
}

impl Notifications {
    /// Creates the notifications of a daemon on this machine.
    pub fn new(config: NotificationsConfig, machine: String) -> Self {
        let terminals = (config.terminal != TerminalMeans::None)
            .then(|| Means::new("terminal", config.terminal.as_str().to_owned()));
        Self { config, machine, terminals, ..Self::default() }
    }

    /// The settings.
    pub fn config(&self) -> &NotificationsConfig {
        &self.config
    }

    /// Adds a means, and returns the queue that it has to empty.
    pub fn add_means(&self, name: &'static str, detail: String) -> mpsc::Receiver<Delivery> {
        let (queue, receiver) = Queue::new(name, detail);
        self.queues().push(queue);
        receiver
    }

    /// The muted sessions, for a later daemon.
    pub fn muted(&self) -> Vec<StoredMute> {
        self.mutes.stored()
    }

    /// Restores what [`Notifications::muted`] returned in an earlier daemon.
    pub fn restore_muted(&self, muted: Vec<StoredMute>) {
        self.mutes.restore(muted);
    }

    /// Sends notifications as long as the daemon runs.
    pub async fn run(&self, engine: &Engine) {
        let mut policy = Policy::new(self.config.on.clone(), self.config.finished_after);
        let mut events = begin(engine, &mut policy);
        loop {
            let due = policy.deadline().map(|at| Duration::from_millis(at.saturating_sub(now())));
            tokio::select! {
                event = events.next.recv() => match event {
                    Ok(event) => policy.handle(&event),
                    // Too many events at once: continues with the state of the sessions.
                    Err(RecvError::Lagged(_)) => events = begin(engine, &mut policy),
                    Err(RecvError::Closed) => return,
                },
                () = sleep(due) => self.send_due(&mut policy, engine, &events).await,
            }
        }
    }

    async fn send_due(&self, policy: &mut Policy, engine: &Engine, events: &EventFollower) {
        let (now, quiet) = (now(), self.is_quiet().await);
        let is_muted = |session: &swb_types::SessionName| {
            let session = engine.find_remembered(session.as_str());
            session.is_ok_and(|session| self.mutes.until(session.uid(), now).is_some())
        };
        for notice in policy.take_due(now, quiet, is_muted) {
            tracing::debug!(session = %notice.session, kind = notice.kind.as_str(), "notification");
            if let Some(terminals) = &self.terminals {
                self.board.post(&notice);
                terminals.count(&Ok(()));
            }
            let Some(item) = self.item(&notice, events) else { continue };
            let item = Arc::new(item);
            self.queues().iter().for_each(|queue| queue.send(&item));
        }
    }

    /// The notification as the event that `events` sends.
    fn item(&self, notice: &AgentNotice, events: &EventFollower) -> Option<NotificationItem> {
        let event = EventItem {
            cursor: events.cursor_at(notice.seq).to_string(),
            at: notice.at,
            session: Some(notice.session.to_string()),
            what: happened(&notice.event)?,
        };
        Some(NotificationItem {
            event,
            notification: notice.kind,
            text: notice.text(),
            count: notice.count,
            seconds: notice.worked.map(|worked| worked.as_secs()),
            machine: self.machine.clone(),
        })
    }

    async fn is_quiet(&self) -> bool {
        if self.config.quiet_hours.is_empty() {
            return false;
        }
        let minute = quiet::local_minute().await;
        minute.is_some_and(|minute| self.config.quiet_hours.iter().any(|hours| hours.contains(minute)))
    }

    /// Sends a test by every means at the same time.
    async fn test(&self) -> Vec<TestItem> {
        let text = format!("notifications from {} work", self.machine);
        let event = EventItem { cursor: String::new(), at: now(), session: None, what: EventBody::Unknown };
        let item = Arc::new(NotificationItem {
            event,
            notification: NotificationKind::Test,
            text: text.clone(),
            count: 1,
            seconds: None,
            machine: self.machine.clone(),
        });
        let mut results: Vec<TestItem> = Vec::new();
        if self.terminals.is_some() {
            let is_shown = self.board.post_test(&text);
            let error = (!is_shown).then(|| "no terminal is attached".to_owned());
            let detail = self.config.terminal.as_str().to_owned();
            results.push(TestItem { means: "terminal".to_owned(), detail, error });
        }
        let queues: Vec<Queue> = self.queues().clone();
        let mut tests: Vec<_> = queues.iter().map(|queue| Box::pin(queue.test(&item))).collect();
        for (queue, test) in queues.iter().zip(join_all(&mut tests).await) {
            let means = queue.means.item();
            results.push(TestItem { means: means.means, detail: means.detail, error: test.err() });
        }
        results
    }

    /// The notifications for a client's terminal.
    pub(crate) fn for_terminal(&self, caller: Caller) -> Option<BoardReader> {
        self.terminals.as_ref().map(|_| self.board.read(caller))
    }

    fn queues(&self) -> MutexGuard<'_, Vec<Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for all of them at the same time.
async fn join_all<F: Future + Unpin>(futures: &mut [F]) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut waits = false;
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none() {
                match std::pin::Pin::new(future).poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => waits = true,
                }
            }
        }
        if waits { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time.min(limits::NOTIFY_PAUSE)).await,
        None => std::future::pending().await,
    }
}

fn begin(engine: &Engine, policy: &mut Policy) -> EventFollower {
    let events = engine.follow(None);
    for session in engine.sessions() {
        let status = session.view().status;
        policy.follow(session.name(), status.state, status.since.millis());
    }
    events
}

fn now() -> u64 {
    Timestamp::of(SystemTime::now()).0
}

impl Call<'_> {
    pub(crate) fn mute(&self, mute: &Mute) -> OperationResult {
        let session = self.session(&mute.session)?;
        let (mutes, now) = (&self.operations.notifications.mutes, now());
        let live: Vec<SessionUid> = self.engine().sessions().iter().map(Session::uid).collect();
        mutes.prune(&live, now);
        let until = mute.seconds.map(|seconds| seconds.checked_mul(1000)?.checked_add(now));
        let Some(until) = until.map_or(Some(None), |until| until.map(Some)) else {
            return Err(invalid("'seconds' is too far in the future"));
        };
        match mute.off {
            true => mutes.clear(session.uid()),
            false => mutes.set(session.uid(), until),
        }
        self.operations.host.remote_access_changed();
        let until = mutes.until(session.uid(), now);
        let (session, muted) = (session.name().to_string(), until.is_some());
        done(&MuteReply { ok: true, session, muted, until: until.flatten() })
    }

    pub(crate) async fn notifications(&self) -> OperationResult {
        let (notifications, now) = (&self.operations.notifications, now());
        let config = &notifications.config;
        let sessions = self.engine().sessions().into_iter().filter(|session| self.caller.sees(session));
        let muted = sessions.filter_map(|session| {
            let until = notifications.mutes.until(session.uid(), now)?;
            Some(MuteItem { session: session.name().to_string(), until })
        });
        let queues = notifications.queues().iter().map(|queue| queue.means.item()).collect::<Vec<_>>();
        let terminals = notifications.terminals.iter().map(|terminals| terminals.item());
        let mut reply = NotificationsReply {
            ok: true,
            on: config.on.clone(),
            finished_after: config.finished_after,
            means: terminals.chain(queues).collect(),
            quiet_hours: config.quiet_hours.iter().map(ToString::to_string).collect(),
            quiet: false,
            muted: muted.collect(),
        };
        reply.quiet = notifications.is_quiet().await;
        done(&reply)
    }

    pub(crate) async fn notify_test(&self) -> OperationResult {
        done(&NotifyTestReply { ok: true, results: self.operations.notifications.test().await })
    }
}
