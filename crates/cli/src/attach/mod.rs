//! The attach loop: a terminal on one side, a session on the other.
//!
//! One thread and one `poll`. The loop owns the position in the session's output; when the daemon dies it
//! reconnects and sends that position, so that no byte is lost or doubled on the screen. Input typed
//! meanwhile is kept. Neither side can block the other: see [`outbox`] and [`user_terminal`].

mod ending;
pub(crate) mod follow;
pub(crate) mod inbox;
mod options;
mod outbox;
mod position;
pub(crate) mod stream_protocol;
pub(crate) mod user_terminal;

use crate::limits;
pub(crate) use ending::AttachEnd;
pub(crate) use options::{AttachOptions, KeyboardUse, Pictures, ReplayedOutput, ResumePoint};
pub(crate) use position::Position;

use crate::console::eprint_line;
use crate::error::{Failure, FailureKind, Outcome};
use crate::panics;
use crate::terminal::detach::Matcher;
use crate::terminal::signals::Signals;
use crate::terminal::size;
use follow::timespec;
use inbox::{Inbox, InboxFrame};
use outbox::Outbox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::isatty;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::Instant;
use stream_protocol::{Notice, StreamProtocol};
use swb_types::{Offset, Size};
use user_terminal::UserTerminal;

/// Shown when the daemon died while it wrote input to the terminal.
const DOUBT: &str = "the last keys may not have arrived: the daemon was restarted";

/// Shown when a connection ended whose protocol does not number input.
const UNCOUNTED: &str = "the last keys may not have arrived: the connection to the session was lost";

/// Attaches, reports to the user how it ended, and returns the child's exit code.
pub(crate) fn run_and_report(plan: AttachOptions) -> Outcome {
    let session = plan.session.clone();
    let ending = run(plan)?;
    if ending == AttachEnd::Lost {
        return Err(Failure::general(format!("the connection to session '{session}' was lost")));
    }
    if let Some(notice) = ending.notice() {
        eprint_line(format_args!("{notice}"));
    }
    Ok(ending.exit_code())
}

/// Attaches until the attachment ends.
pub(crate) fn run(plan: AttachOptions) -> Result<AttachEnd, Failure> {
    panics::keep_for_later();
    let mut attachment = Attachment::new(plan)?;
    let result = attachment.run();
    attachment.screen.finish(&attachment.inbox);
    if matches!(result, Ok(AttachEnd::Left)) {
        attachment.say_goodbye();
    }
    if attachment.in_doubt > 0 {
        eprint_line(format_args!("[{DOUBT}]"));
    } else if matches!(result, Ok(AttachEnd::Lost)) && attachment.typed_lately() {
        eprint_line(format_args!("[{UNCOUNTED}]"));
    }
    result
}

struct Attachment {
    speech: &'static dyn StreamProtocol,
    session: String,
    socket: Option<UnixStream>,
    resume: Option<ResumePoint>,
    /// Since when the stream is lost, and when to try again.
    lost: Option<LostDaemon>,
    /// The peer accepts no more input; what it has sent is still read.
    deaf: bool,
    position: Position,
    old: ReplayedOutput,
    inbox: Inbox,
    outbox: Outbox,
    screen: UserTerminal,
    signals: Option<Signals>,
    keyboard: KeyboardUse,
    /// The size last sent to the session.
    sent_size: Size,
    matcher: Matcher,
    /// When the matcher releases the bytes it holds back.
    release: Option<Instant>,
    typed: Vec<u8>,
    /// When input was last sent, or was to be.
    last_typed: Option<Instant>,
    read_buffer: Box<[u8]>,
    /// Bytes of input that may not have arrived, and how many of them were reported.
    in_doubt: u64,
    shown_doubt: u64,
}

#[derive(Debug, Clone, Copy)]
struct LostDaemon {
    since: Instant,
    next_try: Instant,
}

/// What ended a wait.
#[derive(Debug, Default)]
struct AttachWakeup {
    signal: bool,
    keyboard: bool,
    readable: bool,
    writable: bool,
}

impl Attachment {
    fn new(plan: AttachOptions) -> Result<Self, Failure> {
        plan.socket.set_nonblocking(true)?;
        let uses_terminal = plan.keyboard != KeyboardUse::Unused;
        // Install the handlers before the terminal changes, so that no signal can leave it changed.
        let caught = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH, SIGCONT];
        let signals = if uses_terminal { Some(Signals::catch(&caught)?) } else { None };
        Ok(Self {
            speech: plan.speech,
            session: plan.session,
            socket: Some(plan.socket),
            resume: plan.resume,
            lost: None,
            deaf: false,
            position: plan.position,
            old: plan.old,
            inbox: Inbox::new(plan.speech.layout()),
            outbox: Outbox::default(),
            screen: UserTerminal::open(uses_terminal, plan.filter)?,
            signals,
            keyboard: plan.keyboard,
            sent_size: plan.size,
            matcher: Matcher::new(plan.keys),
            release: None,
            typed: Vec::new(),
            last_typed: None,
            read_buffer: vec![0; limits::KEYBOARD_READ].into(),
            in_doubt: 0,
            shown_doubt: 0,
        })
    }

    fn run(&mut self) -> Result<AttachEnd, Failure> {
        // The size may have changed between the request and the first check for signals.
        self.send_size();
        loop {
            if let Some(ending) = self.pump()? {
                return Ok(ending);
            }
            let woken = self.wait()?;
            if let Some(ending) = self.turn(&woken)? {
                return Ok(ending);
            }
        }
    }

    /// Handles what ended a wait; keys first, because the user waits for their echo.
    fn turn(&mut self, woken: &AttachWakeup) -> Result<Option<AttachEnd>, Failure> {
        if woken.keyboard
            && let Some(ending) = self.read_keyboard()?
        {
            return Ok(Some(ending));
        }
        self.release_held();
        if woken.writable {
            self.send();
        }
        if woken.readable
            && let Some(ending) = self.read_socket()
        {
            return Ok(Some(ending));
        }
        if woken.signal
            && let Some(ending) = self.handle_signals()
        {
            return Ok(Some(ending));
        }
        self.reconnect_if_due()?;
        Ok(None)
    }

    /// Moves everything that has arrived to the screen.
    fn pump(&mut self) -> Result<Option<AttachEnd>, Failure> {
        loop {
            if let Err(error) = self.screen.flush(&self.inbox) {
                return output_failed(&error).map(Some);
            }
            if self.screen.is_blocked() {
                return Ok(None);
            }
            self.show_doubt();
            if self.gather()? {
                continue;
            }
            let Some(message) = self.next_message()? else {
                return Ok(None);
            };
            if let Some(ending) = self.handle_message(&message)? {
                return Ok(Some(ending));
            }
        }
    }

    /// Passes the data at the front of the inbox to the screen; true if there was any.
    fn gather(&mut self) -> Result<bool, Failure> {
        let mut any = false;
        while !self.screen.is_full() {
            let Some(range) = self.inbox.next_data().map_err(broken_stream)? else {
                break;
            };
            any = true;
            let length = range.len() as u64;
            self.position.advance(length);
            if self.old == ReplayedOutput::FirstFrame {
                self.old = ReplayedOutput::Bytes(length + self.inbox.rest_of_frame() as u64);
            }
            let ReplayedOutput::Bytes(left) = self.old else { continue };
            let old = left.min(length);
            let count = usize::try_from(old).unwrap_or(usize::MAX);
            self.screen.add(&self.inbox, range, count, old == left);
            self.old = ReplayedOutput::Bytes(left - old);
        }
        Ok(any)
    }

    fn next_message(&mut self) -> Result<Option<InboxFrame>, Failure> {
        self.inbox.next_message().map_err(broken_stream)
    }

    fn handle_message(&mut self, message: &InboxFrame) -> Result<Option<AttachEnd>, Failure> {
        if message.tag.is_empty() {
            return self.handle_answer(&message.payload).map(|()| None);
        }
        match self.speech.understand(message) {
            Notice::Exited(code, cause) => return Ok(Some(AttachEnd::of_process(code, cause))),
            Notice::Detached => return Ok(Some(AttachEnd::Dismissed)),
            Notice::End => return Ok(Some(AttachEnd::Complete)),
            Notice::Lagged(offset) => self.lagged(offset),
            Notice::Repaint { offset, bytes, whole } => {
                self.position.repaint(offset, bytes, whole);
                // A picture is current output, and so is everything after it.
                self.old = ReplayedOutput::Bytes(0);
                self.screen.picture();
            }
            Notice::Ping => {
                let pong = self.speech.pong();
                self.outbox.answer(self.speech, &pong);
                self.send();
            }
            Notice::Pong | Notice::Resized(..) | Notice::Nothing => {}
        }
        Ok(None)
    }

    /// Handles a reply on a connection that is being restored.
    fn handle_answer(&mut self, body: &[u8]) -> Result<(), Failure> {
        if let Some(attached) = self.position.take_answer(&self.inbox, body)? {
            self.lost = None;
            self.in_doubt += self.outbox.resume(attached.input);
            self.show_doubt();
            self.send_size();
        }
        Ok(())
    }

    /// Reports input that may not have arrived: on a terminal as soon as no sequence of the program is cut by it.
    fn show_doubt(&mut self) {
        if self.in_doubt > self.shown_doubt && self.screen.note(DOUBT) {
            self.shown_doubt = self.in_doubt;
        }
    }

    fn lagged(&mut self, offset: Option<Offset>) {
        self.screen.gap();
        if let Some(offset) = offset {
            if let ReplayedOutput::Bytes(left) = &mut self.old {
                *left = left.saturating_sub(offset.0.saturating_sub(self.position.offset().0));
            }
            let pictures = self.resume.as_ref().is_some_and(|resume| resume.pictures.is_some());
            self.position.lagged(offset, pictures);
        }
        // On a terminal, a message would damage the screen more than the gap does.
        if !(isatty(stdout()) && isatty(stderr())) {
            eprint_line(format_args!(
                "swb: output of '{}' was lost because it was read too slowly",
                self.session
            ));
        }
    }

    fn wait(&self) -> Result<AttachWakeup, Failure> {
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(4);
        let standard_input = stdin();
        let wants_keys = self.keyboard != KeyboardUse::Unused && self.outbox.room() > 0;
        if wants_keys {
            fds.push(PollFd::new(&standard_input, PollFlags::IN));
        }
        if let Some(signals) = &self.signals {
            fds.push(PollFd::new(signals, PollFlags::IN));
        }
        if self.screen.is_blocked() {
            fds.push(PollFd::new(&self.screen, PollFlags::OUT));
        }
        let interest = self.socket_interest();
        if let Some(socket) = self.socket.as_ref().filter(|_| !interest.is_empty()) {
            fds.push(PollFd::new(socket, interest));
        }
        match poll(&mut fds, self.timeout().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut results = fds.iter().map(PollFd::revents);
        let mut next = |present: bool| {
            if present { results.next().unwrap_or(PollFlags::empty()) } else { PollFlags::empty() }
        };
        let keyboard = next(wants_keys);
        let signal = next(self.signals.is_some());
        next(self.screen.is_blocked());
        let socket = next(!interest.is_empty());
        let bad = PollFlags::HUP | PollFlags::ERR;
        Ok(AttachWakeup {
            signal: !signal.is_empty(),
            keyboard: !keyboard.is_empty(),
            readable: interest.contains(PollFlags::IN) && socket.intersects(PollFlags::IN | bad),
            writable: interest.contains(PollFlags::OUT) && socket.intersects(PollFlags::OUT | bad),
        })
    }

    fn socket_interest(&self) -> PollFlags {
        let mut interest = PollFlags::empty();
        if self.socket.is_none() {
            return interest;
        }
        if !self.screen.is_blocked() {
            interest |= PollFlags::IN;
        }
        if self.can_send() && self.outbox.is_pending() {
            interest |= PollFlags::OUT;
        }
        interest
    }

    fn timeout(&self) -> Option<Timespec> {
        let lost = self.lost.map(|lost| match self.socket {
            Some(_) => lost.since + limits::RECONNECT,
            None => lost.next_try,
        });
        let due = [lost, self.release].into_iter().flatten().min()?;
        Some(timespec(due.saturating_duration_since(Instant::now())))
    }

    fn read_keyboard(&mut self) -> Result<Option<AttachEnd>, Failure> {
        let room = self.read_buffer.len().min(self.outbox.room());
        let buffer = self.read_buffer.get_mut(..room).unwrap_or_default();
        let count = match rustix::io::read(stdin(), buffer) {
            Ok(0) | Err(Errno::IO) if self.screen.has_keyboard() => return Ok(Some(AttachEnd::HungUp)),
            Ok(0) => {
                // No more input, but the session continues.
                self.keyboard = KeyboardUse::Unused;
                return Ok(None);
            }
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(Failure::io("cannot read standard input", &error.into())),
        };
        let mut typed = std::mem::take(&mut self.typed);
        typed.clear();
        let input = self.read_buffer.get(..count).unwrap_or_default();
        #[cfg(debug_assertions)]
        panics::provoke(input);
        // Only a keyboard can send the detach key; piped input is passed on unchanged.
        let leaves = if self.screen.has_keyboard() {
            self.matcher.feed(input, &mut typed)
        } else {
            typed.extend_from_slice(input);
            false
        };
        self.release = self.matcher.timeout().map(|timeout| Instant::now() + timeout);
        self.take_typed(&typed);
        self.typed = typed;
        Ok(leaves.then_some(AttachEnd::Left))
    }

    /// Releases a lone escape character that turned out to be a key.
    fn release_held(&mut self) {
        if self.release.is_some_and(|due| Instant::now() >= due) {
            let mut typed = std::mem::take(&mut self.typed);
            typed.clear();
            self.matcher.give_up(&mut typed);
            self.release = None;
            self.take_typed(&typed);
            self.typed = typed;
        }
    }

    fn take_typed(&mut self, typed: &[u8]) {
        match self.keyboard {
            KeyboardUse::Types => {
                if !typed.is_empty() {
                    self.last_typed = Some(Instant::now());
                }
                self.outbox.push(typed);
                self.send();
            }
            // Asks for a redraw, as keepty's watchers do.
            KeyboardUse::Leaves if typed == b"r" && self.speech.size_redraws() => {
                self.outbox.resize(self.sent_size);
                self.send();
            }
            KeyboardUse::Leaves | KeyboardUse::Unused => {}
        }
    }

    /// Whether there may be input that the peer has not handled.
    fn typed_lately(&self) -> bool {
        self.outbox.is_pending()
            || self.last_typed.is_some_and(|typed| typed.elapsed() < limits::INPUT_IN_DOUBT)
    }

    fn can_send(&self) -> bool {
        self.socket.is_some() && !self.deaf && !self.inbox.awaits_answers()
    }

    fn send(&mut self) {
        if self.can_send()
            && let Some(socket) = &self.socket
            && self.outbox.flush(socket, self.speech).is_err()
        {
            // Messages the peer sent before it closed are still to be read; the read finds the end.
            self.deaf = true;
        }
    }

    fn send_size(&mut self) {
        // A watcher only reports which part of the screen fits its window.
        if self.keyboard != KeyboardUse::Unused
            && self.screen.has_keyboard()
            && let Some(size) = size::current().filter(|size| *size != self.sent_size)
        {
            self.sent_size = size;
            self.outbox.resize(size);
        }
    }

    fn read_socket(&mut self) -> Option<AttachEnd> {
        let socket = self.socket.as_ref()?;
        match self.inbox.fill(socket) {
            Ok(0) => self.disconnected(),
            Ok(_) => None,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                None
            }
            Err(_) => self.disconnected(),
        }
    }

    fn disconnected(&mut self) -> Option<AttachEnd> {
        self.socket = None;
        self.deaf = false;
        self.position.disconnected();
        self.inbox.restart(0);
        self.outbox.disconnected();
        if self.resume.is_none() {
            return Some(AttachEnd::Lost);
        }
        let now = Instant::now();
        self.lost = Some(match self.lost {
            // Lost again before the stream was restored: wait before the next attempt.
            Some(lost) => LostDaemon { next_try: now + limits::RECONNECT_PAUSE, ..lost },
            None => LostDaemon { since: now, next_try: now },
        });
        None
    }

    fn reconnect_if_due(&mut self) -> Result<(), Failure> {
        let Some(lost) = self.lost else { return Ok(()) };
        let now = Instant::now();
        if now >= lost.since + limits::RECONNECT {
            return Err(self.not_restored());
        }
        if self.socket.is_some() || now < lost.next_try {
            return Ok(());
        }
        let Some(resume) = &self.resume else { return Ok(()) };
        // A size that has changed meanwhile follows as one: reconnecting itself does not change the terminal's.
        match resume.connect(self.position.resume(), Some(self.sent_size).filter(|_| resume.sized)) {
            Ok(socket) => {
                self.inbox.restart(2);
                self.socket = Some(socket);
            }
            Err(error) if resume.has_ended(&error) => return Err(tunnel_ended(&self.session)),
            Err(_) => self.lost = Some(LostDaemon { next_try: now + limits::RECONNECT_PAUSE, ..lost }),
        }
        Ok(())
    }

    /// The error of a client that could not reconnect. The keeper keeps the daemon's sockets open: if nothing accepts
    /// connections there, the keeper is gone as well, and with it the session.
    fn not_restored(&self) -> Failure {
        let text = "the connection to the daemon was lost and could not be restored";
        let refused = self.resume.as_ref().is_some_and(|resume| {
            let tried = resume.connect(self.position.resume(), None);
            tried.is_err_and(|error| ResumePoint::is_gone(&error))
        });
        Failure::new(FailureKind::Disconnected, text).hint(match refused {
            true => format!("[keeper lost]: session '{}' has ended with its keeper", self.session),
            false => format!("the session keeps running; `swb attach {}` attaches again", self.session),
        })
    }

    fn handle_signals(&mut self) -> Option<AttachEnd> {
        let raised = self.signals.as_mut().map(Signals::take).unwrap_or_default();
        for signal in raised {
            match signal {
                SIGWINCH => self.send_size(),
                SIGCONT => {
                    self.screen.renew();
                    self.send_size();
                }
                SIGHUP => return Some(AttachEnd::HungUp),
                other => return Some(AttachEnd::Signalled(other)),
            }
        }
        self.send();
        None
    }

    /// Sends the input typed before the detach key, and waits until the daemon has closed the connection.
    fn say_goodbye(&mut self) {
        if !self.can_send() {
            return;
        }
        let goodbye = self.speech.goodbye();
        self.outbox.finish_with(self.speech, &goodbye);
        let Some(mut socket) = self.socket.take() else {
            return;
        };
        let deadline = Instant::now() + limits::DETACH;
        let mut ignored = vec![0; limits::KEYBOARD_READ];
        loop {
            if self.outbox.flush(&socket, self.speech).is_err() {
                return;
            }
            if goodbye.is_empty() && !self.outbox.is_pending() {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let out = if self.outbox.is_pending() { PollFlags::OUT } else { PollFlags::empty() };
            let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut fds = [PollFd::new(&socket, PollFlags::IN | out)];
            if poll(&mut fds, Some(&wait)).is_err() {
                return;
            }
            match socket.read(&mut ignored) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
}

/// The error of a client whose tunnel has ended.
fn tunnel_ended(session: &str) -> Failure {
    Failure::new(FailureKind::Disconnected, "the tunnel has ended").hint(format!(
        "session '{session}' lives on; `swb tunnel` on the other machine opens a new way to it"
    ))
}

fn broken_stream(error: inbox::BadFrame) -> Failure {
    Failure::general(format!("the daemon sent invalid data: {error}"))
}

/// Decides how a failed write to standard output ends the attachment.
fn output_failed(error: &io::Error) -> Result<AttachEnd, Failure> {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        // The window was closed, or the reader of our output has ended: both detach.
        Some(Errno::IO) => Ok(AttachEnd::HungUp),
        Some(Errno::PIPE) => Ok(AttachEnd::Unread),
        _ => Err(Failure::io("cannot write to standard output", error)),
    }
}
