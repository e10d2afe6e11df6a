//! The title of the user's terminal: the session, its state, and the title that the program has set.
//!
//! The state comes over a connection of its own, so that the output stays as it is. What the program sets replaces our title
//! until the state changes the next time. If that connection fails, the title stays as it is: nothing depends on it.

use crate::limits;
use crate::own_socket;
use crate::terminal::modes::ProgramTitle;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use swb_vt::printable;
use swb_wire::LengthPrefixed;
use swb_wire::control::{
    self, AgentState, EventBody, Events, EventsReply, Explain, ExplainReply, Handshake, HandshakeReply,
    Operation, StreamFrame,
};

/// The replies that come before the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Handshake,
    Events,
    State,
    Nothing,
}

/// Follows the state of one session.
#[derive(Debug)]
pub(super) struct SessionTitle {
    session: String,
    state: Option<AgentState>,
    /// The state that is shown.
    shown: Option<AgentState>,
    /// Whether there was a picture since it was shown.
    again: bool,
    /// How often the program had set a title when it was shown.
    times: u64,
    link: Option<(Arc<OwnedFd>, LengthPrefixed)>,
    awaited: Awaited,
    /// When a program whose state is not known gets a title, too.
    plain: Instant,
}

impl SessionTitle {
    /// Connects without waiting.
    pub(super) fn follow(socket: &Path, session: &str) -> Self {
        Self {
            session: session.to_owned(),
            state: None,
            shown: None,
            again: false,
            times: 0,
            link: connect(socket, session).map(|socket| (Arc::new(socket), control::command_frames())),
            awaited: Awaited::Handshake,
            plain: Instant::now() + limits::PLAIN_TITLE,
        }
    }

    /// When there may be a title to show although nothing has arrived.
    pub(super) fn wakes(&self) -> Option<Instant> {
        let waits = self.shown.is_none() && self.state.is_some_and(is_plain);
        (waits && Instant::now() < self.plain).then_some(self.plain)
    }

    /// Connects again if the connection is lost, to a daemon that has just been restarted.
    pub(super) fn reconnect(&mut self, socket: &Path) {
        if self.link.is_none() {
            let old = std::mem::replace(self, Self::follow(socket, &self.session));
            (self.state, self.shown, self.again, self.times) = (old.state, old.shown, old.again, old.times);
        }
    }

    /// The descriptor that is readable when something has arrived.
    pub(super) fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        self.link.as_ref().map(|(socket, _)| Arc::clone(socket))
    }

    /// Takes what has arrived.
    pub(super) fn receive(&mut self) {
        let Some((socket, frames)) = &mut self.link else { return };
        let mut bytes = [0; limits::TITLE_READ];
        match rustix::io::read(socket, &mut bytes) {
            Err(Errno::AGAIN | Errno::INTR) => return,
            Ok(0) | Err(_) => {
                self.link = None;
                return;
            }
            Ok(count) => frames.push(bytes.get(..count).unwrap_or_default()),
        }
        while let Some((_, frames)) = &mut self.link {
            match frames.next() {
                Ok(Some(frame)) => self.take(frame),
                Ok(None) => return,
                Err(_) => self.link = None,
            }
        }
    }

    fn take(&mut self, frame: Vec<u8>) {
        let understood = match self.awaited {
            Awaited::Handshake => control::parse_reply::<HandshakeReply>(&frame).is_ok(),
            Awaited::State => match control::parse_reply::<ExplainReply>(&frame) {
                Ok(reply) => {
                    self.state = Some(reply.agent.state);
                    true
                }
                Err(_) => false,
            },
            Awaited::Events => control::parse_reply::<EventsReply>(&frame).is_ok(),
            Awaited::Nothing => {
                if let StreamFrame::Control(body) = control::parse_stream(frame)
                    && let Some(event) = control::parse_event_item(&body)
                    && let EventBody::Status { state, .. } = event.what
                {
                    self.state = Some(state);
                }
                true
            }
        };
        self.awaited = match self.awaited {
            Awaited::Handshake => Awaited::State,
            Awaited::State => Awaited::Events,
            Awaited::Events | Awaited::Nothing => Awaited::Nothing,
        };
        match &mut self.link {
            Some((_, frames)) if understood && self.awaited == Awaited::Nothing => {
                control::enter_stream(frames);
            }
            _ if understood => {}
            _ => self.link = None,
        }
    }

    /// There is a picture, which may have set the title of the program.
    pub(super) fn renew(&mut self) {
        self.again = true;
    }

    /// The title, if the state has changed since it was shown, or a picture has replaced it.
    pub(super) fn due(&self, program: &ProgramTitle) -> Option<String> {
        let state = self.state?;
        if self.shown.is_none() && is_plain(state) && Instant::now() < self.plain {
            return None;
        }
        let changed = self.shown != Some(state) || self.again && program.times != self.times;
        changed.then(|| title(&self.session, state, &String::from_utf8_lossy(&program.text)))
    }

    /// The title is shown now, and the program had set this many before.
    pub(super) fn shown(&mut self, times: u64) {
        (self.shown, self.again, self.times) = (self.state, false, times);
    }
}

/// Requests the state and the events of a session.
fn connect(socket: &Path, session: &str) -> Option<OwnedFd> {
    let socket = own_socket::connect_at_once(socket).ok()?;
    let mut requests = Vec::new();
    let events = Events { sessions: vec![session.to_owned()], ..Events::default() };
    control::encode_json(&Handshake::full(), &mut requests).ok()?;
    control::encode_json(&Operation::Explain(Explain { session: session.to_owned() }), &mut requests).ok()?;
    control::encode_json(&Operation::Events(events), &mut requests).ok()?;
    // A fresh socket takes a few hundred bytes at once.
    let sent = rustix::io::write(&socket, &requests).ok()?;
    (sent == requests.len()).then_some(socket)
}

/// Whether a state is not worth showing: a program that is no agent, or a command that may be over in a moment.
fn is_plain(state: AgentState) -> bool {
    matches!(state, AgentState::Starting | AgentState::Unknown | AgentState::Exited)
}

/// `api: ready — title of the program`.
fn title(session: &str, state: AgentState, program: &str) -> String {
    let state = match state {
        AgentState::Unknown | AgentState::Starting => "running",
        AgentState::Exited => "ended",
        state => state.as_str(),
    };
    let program: String = printable(program).chars().take(limits::PROGRAM_TITLE).collect();
    let session = printable(session);
    if program.trim().is_empty() {
        format!("{session}: {state}")
    } else {
        format!("{session}: {state} — {program}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(state: AgentState) -> SessionTitle {
        let mut title = SessionTitle::follow(Path::new("/nowhere/socket"), "api");
        title.state = Some(state);
        title
    }

    #[test]
    fn the_title_names_session_state_and_program() {
        assert_eq!(title("api", AgentState::Ready, "claude"), "api: ready — claude");
        assert_eq!(title("api", AgentState::Unknown, ""), "api: running");
        assert_eq!(title("a\x1bb", AgentState::Asking, "\x07"), "a\\u{1b}b: asking — \\u{7}");
    }

    #[test]
    fn the_title_is_shown_when_the_state_changes_and_after_a_picture() {
        let vim = |times| ProgramTitle { text: b"vim".to_vec(), times };
        let mut title = known(AgentState::Ready);
        assert!(title.due(&vim(1)).is_some(), "it is new");
        title.shown(1);
        assert_eq!(title.due(&vim(1)), None);
        assert_eq!(title.due(&vim(2)), None, "the program's own title stays");
        title.shown(2);
        title.renew();
        assert_eq!(title.due(&vim(2)), None, "the picture had no title");
        assert_eq!(title.due(&vim(3)).as_deref(), Some("api: ready — vim"));
        title.shown(3);
        title.state = Some(AgentState::Asking);
        assert_eq!(title.due(&vim(3)).as_deref(), Some("api: asking — vim"));
    }

    #[test]
    fn without_a_daemon_there_is_no_title() {
        let mut title = SessionTitle::follow(Path::new("/nowhere/socket"), "api");
        title.receive();
        assert!(title.descriptor().is_none() && title.due(&ProgramTitle::default()).is_none());
    }
}
