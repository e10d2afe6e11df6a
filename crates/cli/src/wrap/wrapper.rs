//! The loop between the user, the command and the broker.
//!
//! One thread and one `poll`. Nothing blocks here: not the user's side, not the command, and least of all the broker.
//! Output is searched for turns after it was passed on and before the next key is read, so that the prompt which the
//! user replies to is known by then. That needs no thread of its own: patterns are matched in linear time, with limits
//! on their size and on the line, and only while the command is silent.

use super::broker_connection::BrokerConnection;
use super::child::WrappedChild;
use super::keyboard::WrapKeyboard;
use super::output::CommandOutput;
use crate::attach::follow::timespec;
use crate::limits;
use crate::panics;
use crate::terminal::raw::RawMode;
use crate::terminal::signals::Signals;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::isatty;
use signal_hook::consts::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGURG, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGWINCH,
};
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use swb_turns::{LineEvent, LineRules, Time};

/// Signals that are handled or passed to the command, in the order of handling: stop before continue. Signals for
/// faults of this process, and those that stop background jobs, keep their default.
const CAUGHT: [i32; 14] = [
    SIGTSTP, SIGCONT, SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGURG, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGWINCH,
];

/// How the wrapper ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrapEnd {
    Code(u8),
    Signal(i32),
}

/// Everything that runs while the command does.
#[derive(Debug)]
pub(super) struct Wrapper {
    child: WrappedChild,
    link: BrokerConnection,
    rules: LineRules,
    clock: WrapClock,
    keyboard: WrapKeyboard,
    output: CommandOutput,
    signals: Signals,
    raw: Option<RawMode>,
    /// Whether there is a user to read from.
    listens: bool,
    /// How the command ended, and how many bytes were passed on since.
    ended: Option<(ExitStatus, usize)>,
    /// Whether all its output was read.
    drained: bool,
    /// When to read again from a terminal that no process has open.
    closed_until: Option<Instant>,
    /// When to stop waiting for a command that was asked to end.
    terminate_by: Option<Instant>,
    hung_up: bool,
    buffer: Box<[u8]>,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy)]
struct WrapWakeup {
    signal: bool,
    child: bool,
    master: PollFlags,
    keys: bool,
    output: bool,
    broker: PollFlags,
}

impl Wrapper {
    /// Takes over the user's terminal.
    pub(super) fn new(child: WrappedChild, link: BrokerConnection, rules: LineRules) -> io::Result<Self> {
        // Install the handlers before the terminal changes, so that no signal can leave it changed.
        let signals = Signals::catch(&CAUGHT)?;
        panics::keep_for_later();
        let raw = RawMode::enter()?;
        // The size may have changed before the handler was installed.
        child.follow_size();
        Ok(Self {
            child,
            link,
            rules,
            clock: WrapClock::start(),
            keyboard: WrapKeyboard::default(),
            output: CommandOutput::open(),
            signals,
            raw,
            listens: true,
            ended: None,
            drained: false,
            closed_until: None,
            terminate_by: None,
            hung_up: false,
            buffer: vec![0; limits::WRAP_READ].into(),
        })
    }

    /// Runs until the command has ended and all its output is written (CP-21).
    pub(super) fn run(&mut self) -> io::Result<WrapEnd> {
        let ending = loop {
            self.link.tick(Instant::now());
            self.rules.tick(self.clock.now());
            self.report();
            if let Some(ending) = self.ending() {
                break ending;
            }
            let woken = self.wait()?;
            self.turn(woken)?;
        };
        self.link.deregister();
        self.raw = None;
        Ok(ending)
    }

    fn turn(&mut self, woken: WrapWakeup) -> io::Result<()> {
        let bad = PollFlags::HUP | PollFlags::ERR;
        if woken.output {
            self.output.flush();
        }
        if woken.master.intersects(PollFlags::IN | bad) {
            for _ in 0..limits::WRAP_BURST {
                if !self.read_output() {
                    break;
                }
            }
        }
        if woken.keys {
            self.read_keys();
        }
        if woken.broker.intersects(PollFlags::IN | bad) {
            self.link.read(|content| self.keyboard.push(content));
        }
        if woken.broker.contains(PollFlags::OUT) {
            self.link.write();
        }
        if woken.signal {
            self.handle_signals()?;
        }
        self.type_in();
        if self.output.is_gone() {
            self.hang_up();
        }
        if woken.child && self.ended.is_none() {
            self.ended = self.child.ended()?.map(|status| (status, 0));
        }
        Ok(())
    }

    /// How to end, if it is time to.
    fn ending(&mut self) -> Option<WrapEnd> {
        if let Some((status, _)) = self.ended {
            while !self.drained && !self.output.is_blocked() {
                self.read_output();
            }
            if self.drained && !self.output.is_blocked() {
                let code = |code| u8::try_from(code).unwrap_or(u8::MAX);
                return Some(match status.signal() {
                    Some(signal) => WrapEnd::Signal(signal),
                    None => WrapEnd::Code(status.code().map_or(u8::MAX, code)),
                });
            }
        }
        self.terminate_by.filter(|due| *due <= Instant::now()).map(|_| WrapEnd::Signal(SIGTERM))
    }

    fn wait(&self) -> io::Result<WrapWakeup> {
        let room = self.keyboard.has_room();
        let when = |wanted: bool, flags: PollFlags| if wanted { flags } else { PollFlags::empty() };
        let (broker, broker_flags) = match self.link.interest(room) {
            Some((socket, flags)) => (socket.as_fd(), flags),
            None => (stdin(), PollFlags::empty()),
        };
        let wanted = [
            (self.signals.as_fd(), PollFlags::IN),
            (self.child.pidfd().as_fd(), when(self.ended.is_none(), PollFlags::IN)),
            (self.child.master().as_fd(), self.master_interest()),
            (stdin(), when(self.listens && room, PollFlags::IN)),
            (self.output.as_fd(), when(self.output.is_blocked(), PollFlags::OUT)),
            (broker, broker_flags),
        ];
        // Left out rather than polled for nothing: the end of a stream would still be reported, for ever.
        let asked = wanted.iter().filter(|(_, flags)| !flags.is_empty());
        let mut fds: Vec<PollFd<'_>> =
            asked.map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
        match poll(&mut fds, self.timeout().map(timespec).as_ref()) {
            // After EINTR the events are undefined, and the next wait finds the descriptor of the signal.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut results = fds.iter().map(PollFd::revents);
        let [signal, child, master, keys, output, broker] = wanted.map(|(_, flags)| {
            let result = if flags.is_empty() { None } else { results.next() };
            result.unwrap_or(PollFlags::empty())
        });
        Ok(WrapWakeup {
            signal: !signal.is_empty(),
            child: !child.is_empty(),
            master,
            keys: !keys.is_empty(),
            output: !output.is_empty(),
            broker,
        })
    }

    fn master_interest(&self) -> PollFlags {
        let mut flags = PollFlags::empty();
        if self.closed_until.is_none_or(|until| until <= Instant::now()) {
            flags.set(PollFlags::IN, !self.output.is_blocked() && !self.drained);
            flags.set(PollFlags::OUT, self.keyboard.is_pending());
        }
        flags
    }

    fn timeout(&self) -> Option<Duration> {
        let prompt = self.rules.deadline().map(|time| self.clock.instant(time));
        let now = Instant::now();
        let closed = self.closed_until.filter(|until| *until > now);
        let due = [prompt, self.link.deadline(), closed, self.terminate_by].into_iter().flatten().min()?;
        Some(due.saturating_duration_since(now))
    }

    /// Passes on output of the command, and then searches it for turns; true if there may be more.
    fn read_output(&mut self) -> bool {
        if self.output.is_blocked() {
            return false;
        }
        let count = match rustix::io::read(self.child.master(), &mut *self.buffer) {
            Ok(count) if count > 0 => count,
            Err(Errno::INTR) => return true,
            Err(Errno::AGAIN) => {
                self.drained = self.ended.is_some();
                return false;
            }
            // No process has the other side open (EIO); a running command may open it again.
            Ok(_) | Err(_) => {
                self.drained = self.ended.is_some();
                self.closed_until = Some(Instant::now() + limits::WRAP_CLOSED_PAUSE);
                return false;
            }
        };
        let bytes = self.buffer.get(..count).unwrap_or_default();
        self.output.write(bytes);
        self.rules.output(bytes, self.clock.now());
        self.closed_until = None;
        if let Some((_, passed)) = &mut self.ended {
            *passed += count;
            self.drained = *passed > limits::WRAP_DRAIN;
        }
        true
    }

    fn read_keys(&mut self) {
        match rustix::io::read(stdin(), &mut *self.buffer) {
            Ok(count) if count > 0 => {
                let keys = self.buffer.get(..count).unwrap_or_default();
                #[cfg(debug_assertions)]
                panics::provoke(keys);
                self.keyboard.push(keys);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            // No more input, but the command continues; unless it was a terminal, which is gone now.
            Ok(_) | Err(_) => {
                self.listens = false;
                if self.raw.is_some() {
                    self.hang_up();
                }
            }
        }
    }

    /// Writes queued input to the command. Injected bytes count like typed ones (CP-20).
    fn type_in(&mut self) {
        let now = self.clock.now();
        self.keyboard.flush(self.child.master(), |typed| self.rules.input(typed, now));
    }

    /// The user's side is gone: the command gets SIGHUP as it would without the wrapper.
    fn hang_up(&mut self) {
        if !self.hung_up {
            self.hung_up = true;
            self.child.signal(SIGHUP);
        }
    }

    fn handle_signals(&mut self) -> io::Result<()> {
        let signals = self.signals.take();
        // If SIGCONT has already arrived, no later one would wake this process.
        let stops = !signals.contains(&SIGCONT);
        for signal in signals {
            match signal {
                SIGTSTP if !stops => self.child.signal(SIGTSTP),
                SIGWINCH => self.child.follow_size(),
                SIGTSTP => self.suspend()?,
                SIGCONT => self.resume()?,
                other => {
                    self.child.signal(other);
                    if other == SIGINT {
                        self.rules.interrupt();
                    }
                    if other == SIGTERM {
                        self.terminate_by.get_or_insert(Instant::now() + limits::WRAP_TERMINATE);
                    }
                }
            }
        }
        Ok(())
    }

    /// Restores the user's terminal and stops; continues after SIGCONT (CP-25).
    fn suspend(&mut self) -> io::Result<()> {
        self.child.signal(SIGTSTP);
        self.raw = None;
        emulate_default_handler(SIGTSTP)
    }

    fn resume(&mut self) -> io::Result<()> {
        match &self.raw {
            Some(raw) => raw.renew()?,
            None if isatty(stdin()) => self.raw = RawMode::enter()?,
            None => {}
        }
        self.child.follow_size();
        self.child.signal(SIGCONT);
        Ok(())
    }

    /// Sends the turns that were found to the broker.
    fn report(&mut self) {
        for event in self.rules.take_events() {
            if let LineEvent::Turn(turn) = event {
                self.link.turn(turn);
            }
        }
    }
}

/// Time for the line rules: Unix time at the start, then monotonic, so that a change of the system's clock does not matter.
#[derive(Debug)]
struct WrapClock {
    unix: Time,
    start: Instant,
}

impl WrapClock {
    fn start() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { unix: Time(0) + unix, start: Instant::now() }
    }

    fn now(&self) -> Time {
        self.unix + self.start.elapsed()
    }

    fn instant(&self, time: Time) -> Instant {
        self.start + time.since(self.unix)
    }
}
