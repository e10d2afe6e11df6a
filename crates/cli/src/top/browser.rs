//! The loop of the list: keys, events, replies and output come in; requests and pictures go out.

use super::TopChoice;
use super::clock;
use super::link::TopLink;
use super::preview::SessionPreview;
use super::requests::Requests;
use super::terminal::ListTerminal;
use super::updates::EventLink;
use crate::attach::follow::timespec;
use crate::context::Context;
use crate::error::Failure;
use crate::limits;
use crate::panics;
use crate::terminal::signals::Signals;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use swb_tui::input::keys::{Key, Keys};
use swb_tui::top::{ApprovalRow, Preview, SessionRow, SessionState, Top, TopAction, draw, preview_area};
use swb_types::Size;

/// The list while it is open.
pub(super) struct Browser<'a> {
    pub(super) context: &'a Context,
    signals: Signals,
    terminal: ListTerminal,
    keys: Keys,
    pub(super) top: Top,
    pub(super) rows: Vec<SessionRow>,
    pub(super) approvals: Vec<ApprovalRow>,
    pub(super) requests: Requests,
    pub(super) events: EventLink,
    pub(super) preview: Option<SessionPreview>,
    /// When the selected session is to be watched: not while the selection runs through the list.
    pub(super) preview_due: Option<Instant>,
    /// When the sessions are to be listed.
    pub(super) list_due: Option<Instant>,
    pub(super) listed: Option<Instant>,
    /// For which output and state the last line of a session was requested.
    pub(super) lines: HashMap<String, (u64, SessionState)>,
    /// Keys that were typed before the sessions were known.
    ahead: Vec<Key>,
    pub(super) dirty: bool,
}

impl<'a> Browser<'a> {
    /// Connects, and takes over the terminal.
    pub(super) fn open(context: &'a Context, top: Top) -> Result<Self, Failure> {
        // Connected first: if that fails, the message belongs on the user's own screen.
        let mut requests = Requests::default();
        requests.connected(TopLink::open(context)?);
        panics::keep_for_later();
        // Install the handlers before the terminal changes, so that no signal can leave it changed.
        let signals = Signals::catch(&[SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH, SIGCONT])?;
        let mut browser = Self {
            context,
            signals,
            terminal: ListTerminal::enter()?,
            keys: Keys::default(),
            top,
            rows: Vec::new(),
            approvals: Vec::new(),
            requests,
            events: EventLink::default(),
            preview: None,
            preview_due: None,
            list_due: None,
            listed: None,
            lines: HashMap::new(),
            ahead: Vec::new(),
            dirty: true,
        };
        browser.follow_events();
        browser.list_now();
        Ok(browser)
    }

    /// Runs until the user has chosen.
    pub(super) fn run(mut self, typed: &[u8]) -> Result<TopChoice, Failure> {
        if let Some(choice) = self.typed(typed) {
            return Ok(choice);
        }
        loop {
            if let Some(choice) = self.act_on_time() {
                return Ok(choice);
            }
            self.request_lines();
            if std::mem::take(&mut self.dirty) {
                self.show()?;
            }
            let keyboard = self.wait()?;
            if keyboard && let Some(choice) = self.read_keyboard()? {
                return Ok(choice);
            }
            if let Some(choice) = self.handle_signals()? {
                return Ok(choice);
            }
            self.take_events();
            self.take_replies();
            if self.preview.as_mut().is_some_and(SessionPreview::receive) {
                self.dirty = true;
            }
        }
    }

    // ---- waiting ----

    /// Sleeps until something happens; true if the keyboard has something.
    fn wait(&mut self) -> Result<bool, Failure> {
        let standard_input = stdin();
        let mut fds: Vec<PollFd<'_>> =
            vec![PollFd::new(&standard_input, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        fds.extend(self.events.link.as_ref().map(TopLink::poll_fd));
        fds.extend(self.preview.as_ref().and_then(SessionPreview::link).map(TopLink::poll_fd));
        self.requests.poll_fds(&mut fds);
        let woken = match poll(&mut fds, self.sleep().map(timespec).as_ref()) {
            Ok(woken) => woken,
            Err(Errno::INTR) => 1,
            Err(error) => return Err(error.into()),
        };
        let keyboard = fds.first().is_some_and(|fd| !fd.revents().is_empty());
        if woken == 0 {
            // An age has changed; the last lines of sessions may have, too.
            self.dirty = true;
            if self.shows_output() && self.listed.is_none_or(|listed| listed.elapsed() >= limits::TOP_OUTPUT)
            {
                self.list_soon();
            }
        }
        Ok(keyboard)
    }

    /// How long nothing happens by itself; `None` for ever.
    fn sleep(&self) -> Option<Duration> {
        let due = [self.preview_due, self.list_due, self.events.retry, self.keys.due()];
        let due = due.into_iter().flatten().min().map(|due| due.saturating_duration_since(Instant::now()));
        let shown = self.top.visible().chain(self.top.selected());
        let clock = clock::until_change(shown.map(|row| row.since), unix_millis());
        let output = self.shows_output().then_some(limits::TOP_OUTPUT);
        [due, clock, output].into_iter().flatten().min()
    }

    /// Whether something that changes without events is shown: the last line of a session whose program may print.
    fn shows_output(&self) -> bool {
        self.top.visible().any(SessionRow::may_print)
    }

    /// Does what is due.
    fn act_on_time(&mut self) -> Option<TopChoice> {
        let now = Instant::now();
        let is_due = |due: &mut Option<Instant>| due.take_if(|due| *due <= now).is_some();
        if is_due(&mut self.events.retry) {
            self.follow_events();
        }
        if is_due(&mut self.list_due) {
            self.list_now();
        }
        if is_due(&mut self.preview_due) {
            self.watch_selected();
        }
        let ahead = self.typed_ahead();
        if ahead.is_some() {
            return ahead;
        }
        let key = self.keys.flush(now)?;
        self.key(&key)
    }

    // ---- the user ----

    fn read_keyboard(&mut self) -> Result<Option<TopChoice>, Failure> {
        let mut bytes = [0; limits::CHAT_KEYBOARD];
        let count = match rustix::io::read(stdin(), &mut bytes) {
            Ok(0) | Err(Errno::IO) => return Ok(Some(TopChoice::Ended(crate::attach::HUNG_UP))),
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(Failure::io("cannot read the keyboard", &error.into())),
        };
        let typed = bytes.get(..count).unwrap_or_default();
        #[cfg(debug_assertions)]
        panics::provoke(typed);
        Ok(self.typed(typed))
    }

    fn typed(&mut self, bytes: &[u8]) -> Option<TopChoice> {
        let keys = self.keys.push(bytes, Instant::now());
        let mut choice = None;
        for key in keys {
            let at_once = self.top.takes_keys() || key == Key::Ctrl('c');
            if !at_once {
                // What is typed before the sessions are known is meant for them.
                self.ahead.push(key);
                self.ahead.truncate(limits::TOP_AHEAD);
            } else if choice.is_none() {
                choice = self.key(&key);
            }
        }
        choice
    }

    /// Handles the keys that were typed before the sessions were known.
    fn typed_ahead(&mut self) -> Option<TopChoice> {
        if self.ahead.is_empty() || !self.top.takes_keys() {
            return None;
        }
        std::mem::take(&mut self.ahead).iter().find_map(|key| self.key(key))
    }

    fn key(&mut self, key: &Key) -> Option<TopChoice> {
        self.dirty = true;
        let before = self.top.selected().map(|row| row.name.clone());
        let action = self.top.handle_key(key);
        if self.top.selected().map(|row| &row.name) != before.as_ref() {
            self.preview_due = Some(Instant::now() + limits::TOP_SETTLE);
        }
        // What no event reports, such as clients, is renewed while a person works with the list.
        if self.listed.is_some_and(|listed| listed.elapsed() >= limits::TOP_RENEW) {
            self.list_soon();
        }
        match action? {
            TopAction::Attach(session) => Some(TopChoice::Attach(session)),
            TopAction::Shell(session) => Some(TopChoice::Shell(session)),
            TopAction::Quit => Some(TopChoice::Quit),
            other => {
                self.act(other);
                None
            }
        }
    }

    fn handle_signals(&mut self) -> Result<Option<TopChoice>, Failure> {
        for signal in self.signals.take() {
            match signal {
                SIGWINCH => self.dirty = true,
                SIGCONT => {
                    self.terminal.renew()?;
                    self.dirty = true;
                }
                other => {
                    let code = u8::try_from(128 + other).unwrap_or(u8::MAX);
                    return Ok(Some(TopChoice::Ended(code)));
                }
            }
        }
        Ok(None)
    }

    // ---- the picture ----

    fn show(&mut self) -> Result<(), Failure> {
        let mut picture = ListTerminal::blank();
        let area = preview_area(picture.area);
        match (&mut self.preview, area.and_then(|area| Size::new(area.width, area.height))) {
            (Some(preview), Some(size)) => preview.resize(size),
            (None, Some(_)) if self.preview_due.is_none() && self.top.selected().is_some() => {
                self.preview_due = Some(Instant::now());
            }
            (preview, None) => *preview = None,
            (None, Some(_)) => {}
        }
        let selected = self.top.selected().map(|row| row.name.as_str());
        let shown = self.preview.as_ref().filter(|preview| Some(preview.session.as_str()) == selected);
        let (screen, note) = shown.map_or((None, ""), SessionPreview::shown);
        draw(&mut self.top, Preview { screen, note }, unix_millis(), &mut picture);
        self.terminal.show(picture)?;
        let waiting = self.rows.iter().filter(|row| row.state.needs_attention()).count();
        let title = if waiting > 0 { format!("swb: {waiting} waiting for you") } else { "swb".to_owned() };
        self.terminal.show_title(title)
    }

    /// Shows the screen of the selected session from now on.
    fn watch_selected(&mut self) {
        self.dirty = true;
        let area = preview_area(ListTerminal::blank().area);
        let size = area.and_then(|area| Size::new(area.width, area.height));
        let Some((row, size)) = self.top.selected().zip(size) else {
            self.preview = None;
            return;
        };
        if self.preview.as_ref().is_some_and(|preview| preview.session == row.name && preview.is_open()) {
            return;
        }
        self.preview = Some(match row.conversation {
            true => SessionPreview::without_terminal(&row.name, size),
            false => SessionPreview::open(self.context, &row.name, size),
        });
    }

    pub(super) fn fail(&mut self, why: impl Into<String>) {
        self.top.notify(why, true);
        self.dirty = true;
    }
}

pub(super) fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
