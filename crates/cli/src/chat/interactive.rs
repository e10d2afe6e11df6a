//! The loop around a conversation at a terminal: one thread, one `poll`.

use super::connection::{ChatConnection, RequestError};
use super::endpoint::ChatEndpoint;
use super::messages::ServerItem;
use super::open_session::{self, OpenedSession, SessionChoice};
use super::session_state::{ChatState, RequestPurpose};
use crate::attach::follow::timespec;
use crate::console::{eprint_line, shows_unicode, wants_colours};
use crate::context::Context;
use crate::error::{Failure, FailureKind, Outcome};
use crate::limits;
use crate::panics;
use crate::start_daemon;
use crate::terminal::raw::RawMode;
use crate::terminal::signals::Signals;
use crate::terminal::size;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};
use swb_tui::event::ViewEvent;
use swb_tui::input::keys::{Key, Keys};
use swb_tui::text::{StyledLine, StyledRow, TextStyle};
use swb_tui::view::canvas::{Canvas, Changing, TerminalAbilities};
use swb_types::Size;
use swb_wire::control::{self, AgentsReply, ChatAgentItem, History, HistoryReply};
use swb_wire::scriptschnell::{Close, ErrorCode, Request};

/// Exit code after the window was closed.
const HUNG_UP: u8 = 129;

/// Runs the conversation until the user leaves.
pub(super) fn run(
    context: &Context,
    endpoint: ChatEndpoint,
    link: ChatConnection,
    opened: OpenedSession,
    choice: SessionChoice,
    agents: Vec<ChatAgentItem>,
) -> Outcome {
    panics::keep_for_later();
    let signals = Signals::catch(&[SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH])?;
    let mut state = ChatState::new(opened, &context.paths.home, Instant::now());
    state.agents = agents.into_iter().map(|agent| agent.name).collect();
    state.save = endpoint.save;
    if choice.agent.is_none() {
        state.explain_shell();
    }
    let abilities = abilities();
    let raw = RawMode::enter()?;
    let mut chat_loop = ChatLoop {
        context,
        endpoint,
        choice,
        link: Some(link),
        pending: BTreeMap::new(),
        state,
        keys: Keys::default(),
        canvas: Canvas::new(abilities),
        abilities,
        size: size::current().unwrap_or(Size::DEFAULT),
        signals,
        lost: None,
        dismissed: false,
        last_contact: Instant::now(),
    };
    let pastes = abilities.moves.then(BracketedPasteMode::turn_on).transpose()?;
    let result = chat_loop.run(raw.as_ref());
    // A terminal that is gone needs no restoring.
    drop(chat_loop.finish());
    drop(pastes);
    drop(raw);
    let code = result?;
    if chat_loop.is_dismissed() {
        eprint_line(format_args!("[the daemon was shut down; `swb chat` starts it again]"));
    } else if code == 0 && !chat_loop.state.is_idle() {
        super::print_how_to_continue(&chat_loop.state.name, chat_loop.state.is_unsaved());
    }
    Ok(code)
}

/// The agents that can be chosen; a failure to list them does not prevent the conversation.
pub(super) fn agents(context: &Context) -> Vec<ChatAgentItem> {
    let reply = context.query::<AgentsReply>(&control::Operation::Agents(control::Agents {}));
    reply.map(|reply| reply.agents).unwrap_or_default()
}

/// The prompts of all conversations, the newest first; without them, the search has those of this one.
fn prompts(context: &Context) -> Vec<String> {
    let wanted = History { prompts: Some(true), limit: Some(limits::CHAT_PROMPTS), ..History::default() };
    let reply = context.query::<HistoryReply>(&control::Operation::History(wanted));
    reply.map(|reply| reply.prompts.into_iter().map(|prompt| prompt.text).collect()).unwrap_or_default()
}

/// What the user's terminal can do.
fn abilities() -> TerminalAbilities {
    let moves = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    TerminalAbilities { coloured: wants_colours(), moves, unicode: shows_unicode() }
}

struct ChatLoop<'c> {
    context: &'c Context,
    endpoint: ChatEndpoint,
    choice: SessionChoice,
    link: Option<ChatConnection>,
    pending: BTreeMap<String, RequestPurpose>,
    state: ChatState,
    keys: Keys,
    canvas: Canvas,
    abilities: TerminalAbilities,
    size: Size,
    signals: Signals,
    lost: Option<LostConnection>,
    /// The daemon announced a shutdown.
    dismissed: bool,
    /// When something was last sent.
    last_contact: Instant,
}

/// A connection that is to be restored.
struct LostConnection {
    since: Instant,
    next: Instant,
    /// The owner has had time to reconnect first.
    polite: bool,
}

impl ChatLoop<'_> {
    fn run(&mut self, raw: Option<&RawMode>) -> Outcome {
        while !self.state.is_leaving() {
            self.send();
            self.handle_messages();
            match self.draw() {
                // The window is gone.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => return Ok(HUNG_UP),
                drawn => drawn.map_err(|error| Failure::io("cannot write to the terminal", &error))?,
            }
            if self.is_dismissed() || self.state.is_leaving() {
                return Ok(0);
            }
            if let Some(code) = self.wait(raw)? {
                return Ok(code);
            }
            self.come_back()?;
        }
        Ok(0)
    }

    /// Whether the daemon was shut down on purpose and must not be restarted; one that is replaced announces nothing.
    fn is_dismissed(&self) -> bool {
        self.dismissed && self.link.is_none()
    }

    /// Waits until something may have changed; an exit code if a signal asked this process to end.
    fn wait(&mut self, raw: Option<&RawMode>) -> Result<Option<u8>, Failure> {
        let mut fds =
            vec![PollFd::from_borrowed_fd(stdin(), PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        if let Some(link) = &self.link {
            fds.push(PollFd::new(link, link.interest()));
        }
        match poll(&mut fds, Some(&timespec(self.timeout()))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = |n: usize| fds.get(n).is_some_and(|fd| !fd.revents().is_empty());
        let (keyboard, signalled, linked) = (ready(0), ready(1), ready(2));
        drop(fds);
        if signalled && let Some(code) = self.signalled(raw) {
            return Ok(Some(code));
        }
        if linked && let Some(link) = &mut self.link {
            link.flush();
            link.fill();
        }
        if keyboard {
            return self.type_in();
        }
        if let Some(key) = self.keys.flush(Instant::now()) {
            self.state.key(&key, Instant::now());
        }
        Ok(None)
    }

    fn timeout(&self) -> Duration {
        let now = Instant::now();
        let alive = self.last_contact + limits::CHAT_ALIVE;
        let tick = self.state.transcript.is_active().then_some(now + limits::CHAT_TICK);
        let retry = self.lost.as_ref().map(|lost| lost.next);
        let due = [tick, self.keys.due(), retry].into_iter().flatten().min();
        due.map_or(alive, |due| due.min(alive)).saturating_duration_since(now)
    }

    fn signalled(&mut self, raw: Option<&RawMode>) -> Option<u8> {
        let mut end = None;
        for signal in self.signals.take() {
            match signal {
                SIGWINCH => self.size = size::current().unwrap_or(self.size),
                SIGCONT => {
                    // A terminal that is gone is noticed by the next read.
                    let _renewed = raw.map(RawMode::renew);
                    let _written = print(if self.abilities.moves { BracketedPasteMode::ON } else { "" });
                }
                SIGINT => self.state.key(&Key::Ctrl('c'), Instant::now()),
                other => end = u8::try_from(128 + other).ok(),
            }
        }
        end
    }

    fn type_in(&mut self) -> Result<Option<u8>, Failure> {
        let mut bytes = [0; limits::CHAT_KEYBOARD];
        let count = match rustix::io::read(stdin(), &mut bytes) {
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(None),
            // The window is gone.
            Err(_) => 0,
        };
        if count == 0 {
            return Ok(Some(HUNG_UP));
        }
        let typed = bytes.get(..count).unwrap_or_default();
        #[cfg(debug_assertions)]
        panics::provoke(typed);
        let now = Instant::now();
        for key in self.keys.push(typed, now) {
            match key {
                Key::Ctrl('l') if self.abilities.moves => print("\x1b[H\x1b[2J")?,
                key => self.state.key(&key, now),
            }
        }
        if self.state.takes_prompts() && self.endpoint.ours {
            self.state.add_prompts(prompts(self.context));
        }
        Ok(None)
    }

    fn send(&mut self) {
        let outgoing = self.state.take_outgoing();
        let Some(link) = &mut self.link else { return };
        for message in outgoing {
            match message.purpose {
                Some(purpose) => drop(self.pending.insert(link.send(&message.request), purpose)),
                None => link.notify(&message.request),
            }
            self.last_contact = Instant::now();
        }
        if self.last_contact.elapsed() >= limits::CHAT_ALIVE {
            link.notify(&Request::Ping);
            self.last_contact = Instant::now();
        }
    }

    /// Handles the messages that have arrived.
    fn handle_messages(&mut self) {
        let now = Instant::now();
        while let Some(incoming) = self.link.as_mut().and_then(ChatConnection::next) {
            match incoming {
                ServerItem::Event(ViewEvent::Closed { reconnect, .. }) => self.dismissed |= !reconnect,
                ServerItem::Event(event) => self.state.event(event, now),
                ServerItem::Answer { id, result } => {
                    if let Some(purpose) = self.pending.remove(&id) {
                        self.state.answer(purpose, result, now);
                    }
                }
            }
        }
        self.send();
        if self.link.as_ref().is_some_and(ChatConnection::is_closed) {
            self.link = None;
            self.pending.clear();
            self.state.lost();
            if self.dismissed {
                return self.state.cut_off(now);
            }
            self.lost = Some(LostConnection { since: now, next: now, polite: self.state.is_owner() });
        }
    }

    /// Restores a lost connection.
    fn come_back(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        let Some(lost) = &mut self.lost else { return Ok(()) };
        if now < lost.next {
            return Ok(());
        }
        let waited = now.saturating_duration_since(lost.since);
        lost.next = now + limits::CHAT_PAUSE;
        if waited > limits::CHAT_RECONNECT {
            let text = "the connection to the daemon was lost and could not be restored";
            return Err(Failure::new(FailureKind::Disconnected, text)
                .hint(format!("`swb chat {}` tries again", self.state.name)));
        }
        if waited > limits::KEEPER_RESTART && self.endpoint.ours {
            // The next attempt to connect shows whether that worked.
            drop(start_daemon::ensure(&self.context.paths, self.context.config_file.as_deref()));
        }
        // Once, so that keys are read in between.
        let Ok(Some(mut link)) = ChatConnection::try_open(&self.endpoint) else { return Ok(()) };
        if let Some(lost) = self.lost.as_mut().filter(|lost| !lost.polite) {
            // The first client to reconnect owns the session, and another client did before.
            (lost.polite, lost.next) = (true, now + limits::WATCHER_DELAY);
            return Ok(());
        }
        match open_session::load(&mut link, &self.state.name) {
            Ok(opened) => self.state.reattached(opened, Instant::now()),
            Err(RequestError::Refused(error)) if error.code == ErrorCode::SessionNotFound => {
                let choice = SessionChoice { directory: self.state.directory.clone(), ..self.choice.clone() };
                let Ok(opened) = open_session::create(&mut link, &choice, None) else { return Ok(()) };
                self.state.replaced(opened, Instant::now());
            }
            Err(_) => return Ok(()),
        }
        self.link = Some(link);
        self.lost = None;
        Ok(())
    }

    fn draw(&mut self) -> io::Result<()> {
        let now = Instant::now();
        // The window may have changed since the last signal that was handled; drawn for another width, rows would stay
        // behind.
        self.size = size::current().unwrap_or(self.size);
        let (cols, rows) = (usize::from(self.size.cols()), usize::from(self.size.rows()));
        // The last column stays empty: terminals differ in where a full row leaves the cursor.
        let width = cols.saturating_sub(1).max(1);
        self.state.transcript.width = width;
        self.state.transcript.limit((rows / 3).max(1));
        let fold = |lines: Vec<StyledLine>| {
            lines.iter().flat_map(|line| line.fold(width)).collect::<Vec<StyledRow>>()
        };
        let staying = fold(self.state.transcript.take());
        let mut above = fold(self.state.transcript.changing(now, self.state.is_asked()));
        above.extend(fold(self.state.hints()));
        above.extend(fold(self.state.assistance(width, (rows / 3).max(1))));
        let (typed, cursor) = self.typed(width, (rows / 2).max(1));
        let room = rows.saturating_sub(typed.len() + 1);
        let surplus = above.len().saturating_sub(room);
        above.drain(..surplus);
        let cursor = (above.len() + cursor.0, cursor.1);
        above.extend(typed);
        print(&self.canvas.draw(&staying, &Changing { rows: above, cursor }, cols))
    }

    /// The rows of the typed text, as many as fit, and the cursor in them.
    fn typed(&self, width: usize, room: usize) -> (Vec<StyledRow>, (usize, usize)) {
        let Some(prompt) = self.state.prompt() else { return (vec![StyledRow::default()], (0, 0)) };
        let (rows, (row, column)) = self.state.input().rows(prompt, width);
        let from = (row + 1).saturating_sub(room);
        let shown = rows.iter().enumerate().skip(from).take(room);
        let line = |(n, row): (usize, &String)| {
            let mark = if n == 0 { prompt.len() } else { 0 };
            let (mark, text) = row.split_at_checked(mark).unwrap_or(("", row));
            StyledLine::new(self.state.prompt_style(), mark).with(TextStyle::PLAIN, text).verbatim()
        };
        (shown.flat_map(|row| line(row).fold(width + 1)).collect(), (row - from, column))
    }

    /// Removes the changing rows and prints how to return.
    fn finish(&mut self) -> io::Result<()> {
        let clear = self.canvas.clear(self.size.cols().into());
        if let Some(link) = &mut self.link {
            // An automatically named session without messages is of no use.
            let preserve = !self.state.is_idle() || self.choice.name.is_some();
            link.notify(&Request::Close(Close {
                reason: Some("client_shutdown".into()),
                preserve_session: Some(preserve),
            }));
        }
        print(&clear)
    }
}

/// Bracketed paste mode is on until this is dropped, also on a panic.
struct BracketedPasteMode;

impl BracketedPasteMode {
    const ON: &str = "\x1b[?2004h";
    const OFF: &str = "\x1b[?2004l";

    fn turn_on() -> io::Result<Self> {
        print(Self::ON).map(|()| Self)
    }
}

impl Drop for BracketedPasteMode {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        drop(print(Self::OFF));
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}
