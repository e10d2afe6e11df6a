//! The event stream, which continues across a restart of the daemon.
//!
//! The newest events are kept in a memfd that the keeper holds too: one JSON object per line, numbered. A follower sends
//! the cursor of the last event it received and gets every later one that is still kept.

use crate::journal::Journal;
use crate::limits;
use crate::relay::TurnId;
use crate::session::Session;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use swb_turns::Status;
use swb_types::{ExitStatus, Offset, PtyId, SessionName};
use tokio::sync::broadcast;

/// Something that happened to a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Its sequence number, one more than that of the event before.
    pub seq: u64,
    /// When it happened, in Unix milliseconds.
    pub at: u64,
    /// Session it concerns.
    pub session: SessionName,
    /// The session's workspace, as its name may later be another session's; none if it is not UTF-8, or an older daemon wrote the event.
    #[serde(default)]
    pub workspace: Option<PathBuf>,
    /// What happened.
    pub kind: EventKind,
}

/// The kinds of event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A session was created.
    Opened,
    /// A session was adopted after a restart of the daemon.
    Found,
    /// The last process of a session ended, or it was killed.
    Closed,
    /// A process was started on a PTY.
    Started(PtyId),
    /// The process on a PTY ended for good.
    Exited(PtyId, ExitStatus),
    /// The agent's status has changed.
    Status(Status),
    /// Input was submitted to the agent, at this offset of its output.
    TurnStarted(Offset),
    /// The agent waits for an answer in the middle of a turn, at this offset of its output.
    Asked(Offset),
    /// A turn on a PTY was completed.
    TurnCompleted {
        /// The PTY.
        pty: PtyId,
        /// The turn.
        turn: TurnId,
    },
    /// The agent of a conversation without a terminal does something else.
    Conversation(ChatActivity),
}

/// What the agent of a conversation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatActivity {
    /// It waits for a decision or an answer of a person.
    Asking,
    /// It waits for the next prompt.
    Ready,
    /// It answers.
    Working,
}

/// The position after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventCursor {
    /// Identifies the log; a new log starts again at 1.
    log: u64,
    seq: u64,
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.log, self.seq)
    }
}

impl FromStr for EventCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (log, seq) = text.split_once('-').ok_or(())?;
        let log = u64::from_str_radix(log, 16).map_err(drop)?;
        Ok(Self { log, seq: seq.parse().map_err(drop)? })
    }
}

/// The events a follower has not seen, and a subscription to later ones.
#[derive(Debug)]
pub struct EventFollower {
    /// Whether some of the events it has not seen are no longer kept.
    pub missed: bool,
    /// The events it has not seen and that are still kept.
    pub past: Vec<SessionEvent>,
    /// Events from now on.
    pub next: broadcast::Receiver<SessionEvent>,
    /// The position after `past`.
    pub cursor: EventCursor,
}

impl EventFollower {
    /// The position after an event of this log.
    pub fn behind(&self, event: &SessionEvent) -> EventCursor {
        self.cursor_at(event.seq)
    }

    /// The position after the event with this number.
    pub fn cursor_at(&self, seq: u64) -> EventCursor {
        EventCursor { log: self.cursor.log, seq }
    }
}

/// Numbers events, keeps the newest, and hands them to bounded subscribers.
#[derive(Debug)]
pub(crate) struct EventHub {
    sender: broadcast::Sender<SessionEvent>,
    log: Mutex<EventLog>,
}

#[derive(Debug)]
struct EventLog {
    id: u64,
    next: u64,
    kept: VecDeque<SessionEvent>,
    /// The same in shared memory, if the system has memory for it.
    memory: Option<Journal>,
}

impl EventHub {
    /// Continues the log that an earlier daemon left in `memory`, or begins a new one. Returns the memory that the keeper
    /// is to hold, if it is not that one.
    pub(crate) fn new(memory: Option<OwnedFd>) -> (Self, Option<OwnedFd>) {
        let sender = broadcast::channel(limits::EVENTS).0;
        let resumed = memory.and_then(|memory| EventLog::read(memory).ok());
        let fresh = resumed.is_none();
        let log = resumed.unwrap_or_else(EventLog::begin);
        let to_hold = log.memory.as_ref().filter(|_| fresh);
        let to_hold = to_hold.and_then(|memory| memory.share().ok());
        (Self { sender, log: Mutex::new(log) }, to_hold)
    }

    fn lock(&self) -> MutexGuard<'_, EventLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn emit(&self, session: &Session, kind: EventKind) {
        self.log(session.name(), session.workspace(), kind);
    }

    pub(crate) fn log(&self, session: &SessionName, workspace: &Path, kind: EventKind) {
        let mut log = self.lock();
        // JSON has no form for other paths.
        let (session, workspace) = (session.clone(), workspace.to_str().map(PathBuf::from));
        let event = SessionEvent { seq: log.next, at: unix_millis(), session, workspace, kind };
        log.push(event.clone());
        // Sending fails without subscribers, which is fine. Within the lock, so that all subscribers see one order.
        let _receivers = self.sender.send(event);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<SessionEvent> {
        self.sender.subscribe()
    }

    /// Follows the events after `cursor`, or from now on.
    pub(crate) fn follow(&self, cursor: Option<EventCursor>) -> EventFollower {
        let log = self.lock();
        let next = self.sender.subscribe();
        let newest = EventCursor { log: log.id, seq: log.next.saturating_sub(1) };
        let Some(cursor) = cursor else {
            return EventFollower { missed: false, past: Vec::new(), next, cursor: newest };
        };
        let known = cursor.log == log.id && cursor.seq < log.next;
        let oldest = log.kept.front().map_or(log.next, |event| event.seq);
        let missed = !known || cursor.seq.saturating_add(1) < oldest;
        let past = log.kept.iter().filter(|event| !known || event.seq > cursor.seq).cloned().collect();
        EventFollower { missed, past, next, cursor: newest }
    }
}

impl EventLog {
    fn begin() -> Self {
        let mut log = Self { id: unix_millis(), next: 1, kept: VecDeque::new(), memory: None };
        log.memory = Journal::begin("swb-events").ok();
        log.write(&format!("{:x}\n", log.id));
        log
    }

    fn read(memory: OwnedFd) -> io::Result<Self> {
        let (memory, text) = Journal::resume(memory, limits::EVENT_MEMORY * 2)?;
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let mut lines = text.lines();
        let id = u64::from_str_radix(lines.next().ok_or_else(bad)?, 16).map_err(|_| bad())?;
        let kept: VecDeque<SessionEvent> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
        let next = kept.back().map_or(1, |event: &SessionEvent| event.seq.saturating_add(1));
        Ok(Self { id, next, kept, memory: Some(memory) })
    }

    fn push(&mut self, event: SessionEvent) {
        self.next = event.seq.saturating_add(1);
        if let Ok(line) = serde_json::to_string(&event) {
            self.write(&(line + "\n"));
        }
        self.kept.push_back(event);
        while self.kept.len() > limits::EVENTS_KEPT {
            self.kept.pop_front();
        }
        if self.memory.as_ref().is_some_and(|memory| memory.len() > limits::EVENT_MEMORY as u64) {
            self.compact();
        }
    }

    /// Rewrites the newest half in the same memory, so that the keeper's duplicate shows it too.
    fn compact(&mut self) {
        self.kept.drain(..self.kept.len() / 2);
        let Some(memory) = &mut self.memory else { return };
        let lines = self.kept.iter().filter_map(|event| serde_json::to_string(event).ok());
        let text = lines.fold(format!("{:x}\n", self.id), |text, line| text + &line + "\n");
        if memory.rewrite(&text).is_err() {
            self.memory = None;
        }
    }

    fn write(&mut self, text: &str) {
        // Without shared memory the log ends with this daemon.
        if self.memory.as_mut().is_some_and(|memory| memory.append(text).is_err()) {
            self.memory = None;
        }
    }
}

fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> SessionName {
        SessionName::new("main").unwrap()
    }

    fn seqs(following: &EventFollower) -> Vec<u64> {
        following.past.iter().map(|event| event.seq).collect()
    }

    #[test]
    fn a_follower_goes_on_behind_its_cursor_also_after_a_crash() {
        let (events, held) = EventHub::new(None);
        events.log(&name(), Path::new("/w"), EventKind::Opened);
        let first = events.follow(None).cursor;
        events.log(&name(), Path::new("/w"), EventKind::Started(PtyId::AGENT));
        drop(events);
        let (events, again) = EventHub::new(held);
        assert!(again.is_none(), "the keeper holds it already");
        events.log(&name(), Path::new("/w"), EventKind::Exited(PtyId::AGENT, ExitStatus::Code(3)));
        let following = events.follow(Some(first));
        assert!(!following.missed);
        assert_eq!(seqs(&following), [2, 3]);
        assert_eq!(following.past[1].kind, EventKind::Exited(PtyId::AGENT, ExitStatus::Code(3)));
        assert_eq!(first.to_string().parse(), Ok(first));
    }

    #[test]
    fn what_is_not_kept_any_more_is_reported_as_missed() {
        let (events, held) = EventHub::new(None);
        events.log(&name(), Path::new("/w"), EventKind::Opened);
        let first = events.follow(None).cursor;
        for _ in 0..3 * limits::EVENTS_KEPT {
            events.log(&name(), Path::new("/w"), EventKind::Closed);
        }
        let following = events.follow(Some(first));
        assert!(following.missed && following.past.len() <= limits::EVENTS_KEPT);
        let newest = following.cursor;
        let size = rustix::fs::fstat(held.as_ref().unwrap()).unwrap().st_size as usize;
        assert!(size <= limits::EVENT_MEMORY * 2, "{size}");
        let (events, _) = EventHub::new(held);
        assert!(!events.follow(Some(newest)).missed);
        let stranger = EventCursor { log: 5, seq: 1 };
        assert!(events.follow(Some(stranger)).missed);
    }

    #[test]
    fn a_line_that_was_not_finished_is_not_there() {
        let (events, held) = EventHub::new(None);
        events.log(&name(), Path::new("/w"), EventKind::Opened);
        let memory = held.unwrap();
        let end = rustix::fs::fstat(&memory).unwrap().st_size as u64;
        rustix::io::pwrite(&memory, b"{\"seq\":9,", end).unwrap();
        let (events, again) = EventHub::new(Some(memory));
        assert!(again.is_none());
        events.log(&name(), Path::new("/w"), EventKind::Closed);
        assert_eq!(events.follow(None).cursor.seq, 2);
    }
}
