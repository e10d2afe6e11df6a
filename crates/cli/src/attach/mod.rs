//! The attach loop: a terminal on one side, a session on the other.
//!
//! One `poll`, and a second thread while output is read directly: see [`halves`] and [`direct`]. The loop owns the position in the session's output; when the daemon dies it
//! reconnects and sends that position, so that no byte is lost or doubled on the screen. Input typed
//! meanwhile is kept. Neither side can block the other: see [`outbox`] and [`user_terminal`].

mod direct;
mod ending;
pub(crate) mod follow;
mod halves;
pub(crate) mod inbox;
pub(crate) mod notification;
mod options;
mod outbox;
mod position;
pub(crate) mod stream_protocol;
mod title;
pub(crate) mod user_terminal;

use crate::limits;
pub(crate) use ending::{AttachEnd, HUNG_UP};
pub(crate) use options::{AroundSession, AttachOptions, KeyboardUse, Pictures, ReplayedOutput, ResumePoint};
pub(crate) use position::Position;

use crate::console::eprint_line;
use crate::error::{Failure, FailureKind, Outcome};
use crate::panics;
use crate::terminal::detach::{AttachCommand, Matcher};
use crate::terminal::signals::Signals;
use crate::terminal::size;
use direct::{DirectOutput, DirectRead};
use follow::timespec;
use halves::{Halves, Interests};
use inbox::{Inbox, InboxFrame};
use notification::TerminalNotifier;
use outbox::Outbox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::isatty;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;
use stream_protocol::{StreamNotice, StreamProtocol, put_control};
use swb_types::{Offset, Size};
use swb_wire::control::{ClientControl, NotificationKind};
use title::SessionTitle;
use user_terminal::UserTerminal;

/// Shown when the daemon died while it wrote input to the terminal.
const DOUBT: &str = "the last keys may not have arrived: the daemon was restarted";

/// Shown when a connection ended whose protocol does not number input.
const UNCOUNTED: &str = "the last keys may not have arrived: the connection to the session was lost";

/// Reports to the user how an attachment ended; returns the exit code.
pub(crate) fn report(session: &str, ending: AttachEnd) -> Outcome {
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
    run_until_list(plan).map(|(ending, _)| ending)
}

/// Attaches until the attachment ends; also returns the input that followed [`AttachEnd::ListRequested`].
pub(crate) fn run_until_list(plan: AttachOptions) -> Result<(AttachEnd, Vec<u8>), Failure> {
    panics::keep_for_later();
    let halves = Halves::new(Attachment::new(plan)?)?;
    let result = halves.run();
    let attachment = &mut *halves.finish();
    attachment.screen.finish(&attachment.inbox);
    if matches!(result, Ok(AttachEnd::Left | AttachEnd::ListRequested { .. })) {
        attachment.say_goodbye();
    }
    if attachment.in_doubt > 0 {
        eprint_line(format_args!("[{DOUBT}]"));
    } else if matches!(result, Ok(AttachEnd::Lost)) && attachment.typed_lately() {
        eprint_line(format_args!("[{UNCOUNTED}]"));
    }
    result.map(|ending| (ending, attachment.matcher.take_rest()))
}

struct Attachment {
    protocol: &'static dyn StreamProtocol,
    session: String,
    socket: Option<Arc<UnixStream>>,
    resume: Option<ResumePoint>,
    /// The memory that the output is read in, if it does not come over the socket.
    direct: Option<DirectOutput>,
    /// Set by the thread of the output for the main thread.
    ended: Option<Result<AttachEnd, Failure>>,
    /// Nothing more is to be shown.
    over: bool,
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
    /// When the prefix key detaches, unless another key follows.
    prefixed: Option<Instant>,
    /// The title of the terminal, if it shows the session.
    title: Option<SessionTitle>,
    typed: Vec<u8>,
    /// When input was last sent, or was to be.
    last_typed: Option<Instant>,
    read_buffer: Box<[u8]>,
    /// How the user is notified, and what is still to be written for that.
    notify: TerminalNotifier,
    notifications: Vec<u8>,
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
        let title = plan.resume.as_ref().filter(|_| plan.around.title && uses_terminal);
        let title = title.map(|resume| SessionTitle::follow(&resume.socket, &resume.session));
        Ok(Self {
            title,
            protocol: plan.protocol,
            session: plan.session,
            socket: Some(Arc::new(plan.socket)),
            resume: plan.resume,
            direct: None,
            ended: None,
            over: false,
            lost: None,
            deaf: false,
            position: plan.position,
            old: plan.old,
            inbox: Inbox::new(plan.protocol.layout()),
            outbox: Outbox::default(),
            screen: UserTerminal::open(uses_terminal, plan.filter)?.returning(plan.around.returning),
            signals,
            keyboard: plan.keyboard,
            sent_size: plan.size,
            matcher: if plan.around.prefix {
                Matcher::with_prefix(plan.keys)
            } else {
                Matcher::new(plan.keys)
            },
            release: None,
            prefixed: None,
            typed: Vec::new(),
            last_typed: None,
            read_buffer: vec![0; limits::KEYBOARD_READ].into(),
            notify: plan.notify,
            notifications: Vec::new(),
            in_doubt: 0,
            shown_doubt: 0,
        })
    }

    /// Takes what has arrived about the session's state.
    fn receive_title(&mut self) {
        if let Some(title) = &mut self.title {
            title.receive();
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
        if self.prefixed.is_some_and(|due| Instant::now() >= due) {
            return Ok(Some(AttachEnd::Left));
        }
        if woken.writable {
            self.send();
        }
        // The other thread may have filled the terminal since: what waits for it is still in the buffer to be read into.
        if woken.readable
            && !self.screen.is_blocked()
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

    /// Moves everything that has arrived to the screen; of output that is read directly, one portion.
    fn pump(&mut self) -> Result<Option<AttachEnd>, Failure> {
        let mut portion = true;
        loop {
            if let Err(error) = self.screen.flush(&self.inbox) {
                return output_failed(&error).map(Some);
            }
            if self.screen.is_blocked() {
                return Ok(None);
            }
            if self.show_doubt() || self.show_notifications() || self.show_title() {
                continue;
            }
            if self.gather()? {
                self.report_position();
                continue;
            }
            let Some(message) = self.next_message()? else {
                if std::mem::take(&mut portion) && self.read_directly() {
                    continue;
                }
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
        match self.protocol.understand(message) {
            StreamNotice::Exited(code, cause) => return Ok(Some(AttachEnd::of_process(code, cause))),
            StreamNotice::Detached => return Ok(Some(AttachEnd::Dismissed)),
            StreamNotice::End => return Ok(Some(AttachEnd::Complete)),
            StreamNotice::Lagged(offset) => self.lagged(offset),
            StreamNotice::Repaint { offset, bytes, whole } => {
                self.position.repaint(offset, bytes, whole);
                // A picture is current output, and so is everything after it.
                self.old = ReplayedOutput::Bytes(0);
                self.screen.picture();
                if let Some(title) = &mut self.title {
                    title.renew();
                }
            }
            StreamNotice::Ping => {
                let pong = self.protocol.pong();
                self.outbox.reply(self.protocol, &pong);
                self.send();
            }
            StreamNotice::Notification { session, kind, text } => self.notify(&session, kind, &text),
            StreamNotice::Direct(offset) => self.begin_direct(offset),
            StreamNotice::Indirect => self.stop_direct(),
            StreamNotice::Pong | StreamNotice::Resized(..) | StreamNotice::Nothing => {}
        }
        Ok(None)
    }

    /// Reads the output from `offset` on in the memory that came with the message.
    fn begin_direct(&mut self, offset: Offset) {
        let memory = self.inbox.take_descriptor();
        self.direct = memory.and_then(|memory| DirectOutput::open(memory, offset));
        if self.direct.is_none() {
            self.decline_direct();
        }
    }

    /// Stops reading directly, if that was not done already: the daemon continues at this position.
    fn stop_direct(&mut self) {
        if self.direct.take().is_some() {
            self.decline_direct();
        }
    }

    fn decline_direct(&mut self) {
        self.send_now(ClientControl::Indirect { offset: self.position.offset() });
    }

    fn send_now(&mut self, message: ClientControl) {
        let mut bytes = Vec::new();
        put_control(&message, &mut bytes);
        self.outbox.finish_with(self.protocol, &bytes);
        self.send();
    }

    /// Moves output from memory to the inbox; false if there is none.
    fn read_directly(&mut self) -> bool {
        let Some(direct) = &mut self.direct else { return false };
        match direct.read(self.position.offset(), &mut self.inbox) {
            DirectRead::Some => true,
            DirectRead::Nothing => false,
            DirectRead::Lost => {
                self.stop_direct();
                false
            }
        }
    }

    /// Reports the position to the daemon, which lets the program run on.
    fn report_position(&mut self) {
        let offset = self.position.offset();
        if self.direct.as_mut().is_some_and(|direct| direct.is_report_due(offset)) {
            self.send_now(ClientControl::Position { offset });
        }
    }

    /// Handles a reply on a connection that is being restored.
    fn handle_answer(&mut self, body: &[u8]) -> Result<(), Failure> {
        if let Some(attached) = self.position.take_answer(&self.inbox, body)? {
            self.lost = None;
            if let (Some(title), Some(resume)) = (&mut self.title, &self.resume) {
                title.reconnect(&resume.socket);
            }
            self.in_doubt += self.outbox.resume(attached.input);
            self.send_size();
        }
        Ok(())
    }

    /// Reports input that may not have arrived: on a terminal as soon as no sequence of the program is cut by it. True if
    /// there is something to write.
    fn show_doubt(&mut self) -> bool {
        let shown = self.in_doubt > self.shown_doubt && self.screen.note(DOUBT);
        if shown {
            self.shown_doubt = self.in_doubt;
        }
        shown
    }

    /// Takes a notification. A user who is typing into the session that it is about knows already, and its end is shown by
    /// the end of this attachment.
    fn notify(&mut self, session: &str, kind: NotificationKind, text: &str) {
        let own = session == self.session;
        let types = self.last_typed.is_some_and(|typed| typed.elapsed() < limits::NOTIFY_TYPING);
        let known = own && (types || kind == NotificationKind::Ended);
        if !known && self.notifications.len() < limits::NOTIFICATION_BYTES {
            self.notifications.extend(self.notify.bytes(text, own));
        }
    }

    /// Writes notifications as soon as no sequence of the program is cut by them; true if there is something to write.
    fn show_notifications(&mut self) -> bool {
        let shown = !self.notifications.is_empty() && self.screen.insert(&self.notifications);
        if shown {
            self.notifications.clear();
        }
        shown
    }

    /// Shows the state of the session in the title, when it has changed and after a picture, which may have a title of the
    /// program in it; true if there is something to write.
    fn show_title(&mut self) -> bool {
        let Some(title) = self.title.as_mut().filter(|_| !self.position.is_in_picture()) else {
            return false;
        };
        let Some(program) = self.screen.program_title() else { return false };
        let times = program.times;
        let shows = title.due(program).is_some_and(|text| self.screen.show_title(&text));
        if shows {
            title.shown(times);
        }
        shows
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

    /// What to wait for.
    fn interests(&self) -> Interests {
        let interest = self.socket_interest();
        let socket = self.socket.as_ref().filter(|_| !interest.is_empty());
        Interests {
            keys: self.keyboard != KeyboardUse::Unused && self.outbox.room() > 0,
            room: self.screen.is_blocked(),
            socket: socket.map(|socket| (Arc::clone(socket), interest)),
            title: self.title.as_ref().and_then(SessionTitle::descriptor),
            timeout: self.timeout(),
        }
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
        let title = self.title.as_ref().and_then(SessionTitle::wakes);
        let due = [lost, self.release, self.prefixed, title].into_iter().flatten().min()?;
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
        let command = if self.screen.has_keyboard() {
            self.matcher.feed(input, &mut typed)
        } else {
            typed.extend_from_slice(input);
            None
        };
        self.wait_for_keys();
        self.take_typed(&typed);
        self.typed = typed;
        Ok(command.map(|command| match command {
            AttachCommand::Detach => AttachEnd::Left,
            AttachCommand::Help => AttachEnd::ListRequested { help: true },
            AttachCommand::List => AttachEnd::ListRequested { help: false },
        }))
    }

    /// Sets how long the matcher waits for more input.
    fn wait_for_keys(&mut self) {
        let now = Instant::now();
        self.release = self.matcher.timeout().map(|timeout| now + timeout);
        self.prefixed = match self.matcher.is_armed() {
            true => self.prefixed.or(Some(now + limits::PREFIX)),
            false => None,
        };
    }

    /// Releases a lone escape character that turned out to be a key.
    fn release_held(&mut self) {
        if self.release.is_some_and(|due| Instant::now() >= due) {
            let mut typed = std::mem::take(&mut self.typed);
            typed.clear();
            self.matcher.give_up(&mut typed);
            self.wait_for_keys();
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
            KeyboardUse::Leaves if typed == b"r" && self.protocol.size_redraws() => {
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
            && self.outbox.flush(socket, self.protocol).is_err()
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
        match self.inbox.fill(&**socket) {
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
        self.direct = None;
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
                self.socket = Some(Arc::new(socket));
            }
            Err(error) => {
                if let Some(failure) = resume.tunnel_ended(&error) {
                    return Err(failure);
                }
                self.lost = Some(LostDaemon { next_try: now + limits::RECONNECT_PAUSE, ..lost });
            }
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
        let goodbye = self.protocol.goodbye();
        self.outbox.finish_with(self.protocol, &goodbye);
        let Some(socket) = self.socket.take() else {
            return;
        };
        let deadline = Instant::now() + limits::DETACH;
        let mut ignored = vec![0; limits::KEYBOARD_READ];
        loop {
            if self.outbox.flush(&socket, self.protocol).is_err() {
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
            match (&*socket).read(&mut ignored) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
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
