//! The requests that a key press causes, one at a time (CH-8), without a socket.
//!
//! A press lists the sessions, finds the one in the focused window, and sends what its action needs. Presses that come
//! meanwhile wait. Each press ends with one report.

use super::action::HotkeyAction;
use super::desktop::FocusedWindow;
use super::focus::sessions_below;
use crate::limits;
use std::collections::VecDeque;
use swb_vt::printable;
use swb_wire::clippy::{Malformed, Message, Reason, Request, Response, Sink, encode_request, parse_message};

/// A binding was pressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Press {
    pub(super) action: HotkeyAction,
    /// The window that had the focus at that moment.
    pub(super) window: FocusedWindow,
}

/// What has to be done next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Send this frame to the broker.
    Send(Vec<u8>),
    /// Store this content in the clipboard of the desktop, and call [`RequestSequence::stored`].
    Store(Vec<u8>),
    /// Show this to the user.
    Report(KeyReport),
}

/// The outcome of one press, as a line of text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeyReport {
    pub(super) line: String,
    pub(super) is_error: bool,
}

/// The press that is being handled, and those that wait.
#[derive(Debug)]
pub(super) struct RequestSequence {
    waiting: VecDeque<Press>,
    running: Option<RunningAction>,
    last_id: u32,
    /// Whether the desktop has a clipboard that is used if the broker has none.
    has_clipboard: bool,
}

#[derive(Debug)]
struct RunningAction {
    action: HotkeyAction,
    /// The request that was sent last.
    id: u32,
    stage: ActionStage,
}

#[derive(Debug, Clone)]
enum ActionStage {
    Listing {
        window: u32,
    },
    Capturing {
        session: String,
    },
    Pasting {
        session: String,
    },
    Delivering(Captured),
    /// Requests the content, because the broker has no clipboard.
    Reading(Captured),
    Storing(Captured),
}

/// What was captured.
#[derive(Debug, Clone)]
struct Captured {
    turn_id: Option<String>,
    size: u32,
}

impl RequestSequence {
    pub(super) fn new(has_clipboard: bool) -> Self {
        Self { waiting: VecDeque::new(), running: None, last_id: 0, has_clipboard }
    }

    /// Whether a reply of the broker is missing.
    pub(super) fn awaits_reply(&self) -> bool {
        self.running.as_ref().is_some_and(|running| !matches!(running.stage, ActionStage::Storing(_)))
    }

    /// A binding was pressed.
    pub(super) fn press(&mut self, press: Press) -> Vec<Effect> {
        if self.waiting.len() >= limits::HOTKEY_QUEUE {
            return vec![failed(press.action, "too many keys are waiting for the broker")];
        }
        self.waiting.push_back(press);
        self.proceed(Vec::new())
    }

    /// Handles a message of the broker; `parent` returns the parent of a process.
    pub(super) fn handle(
        &mut self,
        frame: &[u8],
        parent: impl Fn(u32) -> Option<u32>,
    ) -> Result<Vec<Effect>, Malformed> {
        let Message::Response(response) = parse_message(frame)? else { return Ok(Vec::new()) };
        match self.running.take() {
            Some(running) if running.id == response.id => {
                let effect = self.advance(running, &response, parent)?;
                Ok(self.proceed(vec![effect]))
            }
            other => {
                self.running = other;
                Ok(Vec::new())
            }
        }
    }

    /// The content was stored in the clipboard of the desktop, at the place that is named, or could not be.
    pub(super) fn stored(&mut self, result: Result<&'static str, String>) -> Vec<Effect> {
        let Some(RunningAction { action, stage: ActionStage::Storing(captured), .. }) = self.running.take()
        else {
            return Vec::new();
        };
        let report = match result {
            Ok(place) => succeeded(action, &format!("{}, to {place}", captured.describe())),
            Err(why) => failed(action, &why),
        };
        self.proceed(vec![report])
    }

    /// Starts the next press if none is being handled.
    fn proceed(&mut self, mut effects: Vec<Effect>) -> Vec<Effect> {
        while self.running.is_none()
            && let Some(press) = self.waiting.pop_front()
        {
            effects.push(match press.window {
                FocusedWindow::Process(window) => {
                    self.request(press.action, ActionStage::Listing { window }, &Request::ListSessions)
                }
                FocusedWindow::Unknown(why) => no_session(press.action, why),
            });
        }
        effects
    }

    fn advance(
        &mut self,
        running: RunningAction,
        response: &Response<'_>,
        parent: impl Fn(u32) -> Option<u32>,
    ) -> Result<Effect, Malformed> {
        let action = running.action;
        if let Some(reason) = response.error {
            return Ok(self.refused(running, reason));
        }
        Ok(match running.stage {
            ActionStage::Listing { window } => {
                let sessions = response.sessions.as_deref().ok_or(Malformed)?;
                self.act_on(action, &sessions_below(window, sessions, parent))
            }
            ActionStage::Pasting { session } => succeeded(action, &format!("into {session}")),
            ActionStage::Capturing { .. } => {
                let turn_id = response.turn_id.map(str::to_owned);
                let captured = Captured { turn_id, size: response.size.unwrap_or(0) };
                if action == HotkeyAction::Clipboard {
                    let stage = ActionStage::Delivering(captured);
                    self.request(action, stage, &Request::Deliver(Sink::Clipboard))
                } else {
                    succeeded(action, &captured.describe())
                }
            }
            ActionStage::Delivering(captured) => succeeded(action, &captured.describe()),
            ActionStage::Reading(captured) => {
                let content = response.content.ok_or(Malformed)?.to_vec();
                // No reply has the id 0: only `stored` continues it.
                self.running = Some(RunningAction { action, id: 0, stage: ActionStage::Storing(captured) });
                Effect::Store(content)
            }
            // There is no request to reply to.
            ActionStage::Storing(_) => return Err(Malformed),
        })
    }

    /// Sends the action's first request for the session in the window, if there is exactly one.
    fn act_on(&mut self, action: HotkeyAction, sessions: &[String]) -> Effect {
        match sessions {
            [] => no_session(action, ""),
            [session] => {
                let session = session.clone();
                if action == HotkeyAction::Paste {
                    let stage = ActionStage::Pasting { session: session.clone() };
                    self.request(action, stage, &Request::Paste { session: &session })
                } else {
                    let stage = ActionStage::Capturing { session: session.clone() };
                    self.request(action, stage, &Request::Capture { session: &session })
                }
            }
            several => {
                let list = several.join(", ");
                failed(action, &format!("ambiguous: the focused window has several sessions: {list}"))
            }
        }
    }

    /// The broker rejected a request.
    fn refused(&mut self, running: RunningAction, reason: &str) -> Effect {
        let action = running.action;
        let no_clipboard = reason.starts_with(Reason::ClipboardFailed.as_str());
        match running.stage {
            ActionStage::Delivering(captured) if no_clipboard && self.has_clipboard => {
                match captured.turn_id.clone() {
                    Some(turn_id) => {
                        let stage = ActionStage::Reading(captured);
                        self.request(action, stage, &Request::GetTurn { turn_id: &turn_id })
                    }
                    None => failed(action, reason),
                }
            }
            ActionStage::Capturing { session } | ActionStage::Pasting { session } => {
                failed(action, &explained(reason, &session))
            }
            _ => failed(action, reason),
        }
    }

    fn request(&mut self, action: HotkeyAction, stage: ActionStage, request: &Request<'_>) -> Effect {
        // 0 is for messages that are not replies.
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        let mut frame = Vec::new();
        if let Err(error) = encode_request(self.last_id, request, &mut frame) {
            return failed(action, &error.to_string());
        }
        self.running = Some(RunningAction { action, id: self.last_id, stage });
        Effect::Send(frame)
    }
}

impl Captured {
    fn describe(&self) -> String {
        // Brokers of the first level do not name turns.
        let name = self.turn_id.as_deref().map(|id| format!("{id}, ")).unwrap_or_default();
        format!("{name}{} bytes", self.size)
    }
}

/// The broker's code, which scripts look for, and what it means.
fn explained(reason: &str, session: &str) -> String {
    match reason {
        "no_turn" => format!("no_turn: session {session} has no completed turn yet"),
        "buffer_empty" => "buffer_empty: nothing has been captured yet".to_owned(),
        "session_not_found" => format!("session_not_found: session {session} has ended"),
        "session_disconnected" => format!("session_disconnected: session {session} has ended"),
        _ => format!("{reason} (session {session})"),
    }
}

fn no_session(action: HotkeyAction, why: &str) -> Effect {
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    failed(action, &format!("the focused window has no session{why}"))
}

fn succeeded(action: HotkeyAction, what: &str) -> Effect {
    let line = format!("{}: {}", action.name(), printable(what));
    Effect::Report(KeyReport { line, is_error: false })
}

fn failed(action: HotkeyAction, why: &str) -> Effect {
    let line = format!("{} failed: {}", action.name(), printable(why));
    Effect::Report(KeyReport { line, is_error: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::clippy::{SessionItem, encode_message, parse_request};

    const WINDOW: u32 = 100;

    fn press(action: HotkeyAction) -> Press {
        Press { action, window: FocusedWindow::Process(WINDOW) }
    }

    /// Effects in short.
    fn short(effects: Vec<Effect>) -> Vec<String> {
        let short = |effect| match effect {
            Effect::Send(frame) => {
                let (id, request) = parse_request(&frame[4..]).unwrap();
                format!("{id} {request:?}")
            }
            Effect::Store(content) => format!("store {}", content.escape_ascii()),
            Effect::Report(report) => format!("{}{}", if report.is_error { "! " } else { "" }, report.line),
        };
        effects.into_iter().map(short).collect()
    }

    fn reply(sequence: &mut RequestSequence, response: Response<'_>) -> Vec<String> {
        let mut bytes = Vec::new();
        encode_message(&Message::Response(response), &mut bytes).unwrap();
        short(sequence.handle(&bytes[4..], |_| None).unwrap())
    }

    fn listed<'a>(id: u32, sessions: &[(&'a str, u32)]) -> Response<'a> {
        let item = |(session, pid): &(&'a str, u32)| SessionItem {
            session,
            pid: *pid,
            has_turn: true,
            client_pids: Vec::new(),
        };
        Response { sessions: Some(sessions.iter().map(item).collect()), ..Response::ok(id) }
    }

    fn refused(id: u32, reason: &'static str) -> Response<'static> {
        Response { error: Some(reason), ..Response::ok(id) }
    }

    fn captured(id: u32) -> Response<'static> {
        Response { turn_id: Some("a:3"), size: Some(12), ..Response::ok(id) }
    }

    // CH-8
    #[test]
    fn capture_and_paste_name_the_focused_session() {
        let mut sequence = RequestSequence::new(false);
        assert_eq!(short(sequence.press(press(HotkeyAction::Capture))), ["1 ListSessions"]);
        assert!(sequence.awaits_reply());
        assert_eq!(
            reply(&mut sequence, listed(1, &[("b", 7), ("a", WINDOW)])),
            ["2 Capture { session: \"a\" }"]
        );
        assert_eq!(reply(&mut sequence, captured(2)), ["capture: a:3, 12 bytes"]);
        assert!(!sequence.awaits_reply());
        assert_eq!(short(sequence.press(press(HotkeyAction::Paste))), ["3 ListSessions"]);
        assert_eq!(reply(&mut sequence, listed(3, &[("a", WINDOW)])), ["4 Paste { session: \"a\" }"]);
        assert_eq!(reply(&mut sequence, Response::ok(4)), ["paste: into a"]);
    }

    // CH-2
    #[test]
    fn clipboard_delivers_after_the_capture() {
        let mut sequence = RequestSequence::new(false);
        sequence.press(press(HotkeyAction::Clipboard));
        assert_eq!(reply(&mut sequence, listed(1, &[("a", WINDOW)])), ["2 Capture { session: \"a\" }"]);
        assert_eq!(reply(&mut sequence, captured(2)), ["3 Deliver(Clipboard)"]);
        assert_eq!(reply(&mut sequence, Response::ok(3)), ["clipboard: a:3, 12 bytes"]);
    }

    // CH-13
    #[test]
    fn a_clipboard_of_the_desktop_is_used_if_the_broker_has_none() {
        let mut sequence = RequestSequence::new(true);
        sequence.press(press(HotkeyAction::Clipboard));
        reply(&mut sequence, listed(1, &[("a", WINDOW)]));
        reply(&mut sequence, captured(2));
        let failed = reply(&mut sequence, refused(3, "clipboard_failed: no display"));
        assert_eq!(failed, ["4 GetTurn { turn_id: \"a:3\" }"]);
        let content = Response { content: Some(b"text"), ..Response::ok(4) };
        assert_eq!(reply(&mut sequence, content), ["store text"]);
        assert!(!sequence.awaits_reply());
        assert_eq!(short(sequence.stored(Ok("a buffer"))), ["clipboard: a:3, 12 bytes, to a buffer"]);

        let mut sequence = RequestSequence::new(false);
        sequence.press(press(HotkeyAction::Clipboard));
        reply(&mut sequence, listed(1, &[("a", WINDOW)]));
        reply(&mut sequence, captured(2));
        assert_eq!(
            reply(&mut sequence, refused(3, "clipboard_failed: no display")),
            ["! clipboard failed: clipboard_failed: no display"]
        );
    }

    // CH-8
    #[test]
    fn never_two_requests_at_once() {
        let mut sequence = RequestSequence::new(false);
        assert_eq!(sequence.press(press(HotkeyAction::Capture)).len(), 1);
        assert!(sequence.press(press(HotkeyAction::Paste)).is_empty());
        assert!(reply(&mut sequence, Response::ok(9)).is_empty(), "no reply to our request");
        reply(&mut sequence, listed(1, &[("a", WINDOW)]));
        assert_eq!(
            reply(&mut sequence, refused(2, "no_turn")),
            ["! capture failed: no_turn: session a has no completed turn yet", "3 ListSessions"]
        );
        let many = (0..limits::HOTKEY_QUEUE).map(|_| sequence.press(press(HotkeyAction::Paste)).len());
        assert_eq!(many.sum::<usize>(), 0);
        assert_eq!(
            short(sequence.press(press(HotkeyAction::Paste))),
            ["! paste failed: too many keys are waiting for the broker"]
        );
    }

    // CH-7
    #[test]
    fn none_is_a_notice_and_several_are_ambiguous() {
        let mut sequence = RequestSequence::new(false);
        sequence.press(press(HotkeyAction::Capture));
        assert_eq!(
            reply(&mut sequence, listed(1, &[("b", 7)])),
            ["! capture failed: the focused window has no session"]
        );
        sequence.press(press(HotkeyAction::Paste));
        assert_eq!(
            reply(&mut sequence, listed(2, &[("b", WINDOW), ("c\n\u{1b}", WINDOW)])),
            ["! paste failed: ambiguous: the focused window has several sessions: b, c\\n\\u{1b}"]
        );
        let window = FocusedWindow::Unknown("no window has the focus");
        assert_eq!(
            short(sequence.press(Press { action: HotkeyAction::Capture, window })),
            ["! capture failed: the focused window has no session: no window has the focus"]
        );
    }

    #[test]
    fn a_list_without_sessions_is_malformed() {
        let mut sequence = RequestSequence::new(false);
        sequence.press(press(HotkeyAction::Capture));
        let mut bytes = Vec::new();
        encode_message(&Message::Response(Response::ok(1)), &mut bytes).unwrap();
        assert_eq!(sequence.handle(&bytes[4..], |_| None), Err(Malformed));
    }
}
