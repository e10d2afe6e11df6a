//! `swb replay`: play a recording.

use crate::args;
use crate::attach::AttachEnd;
use crate::attach::follow::timespec;
use crate::attach::inbox::Inbox;
use crate::attach::stream_protocol::{ControlStream, StreamProtocol};
use crate::attach::user_terminal::UserTerminal;
use crate::cast::{Animation, Cast, CastError, Timeline};
use crate::console::print_bytes;
use crate::error::{Failure, Outcome};
use crate::limits;
use crate::panics;
use crate::terminal::detach::{DetachKey, Matcher};
use crate::terminal::signals::Signals;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::isatty;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};
use swb_types::Size;

/// Plays on a terminal; writes everything at once if standard output is anything else.
pub(super) fn run(args: &args::ReplayArgs) -> Outcome {
    let failed = |error: CastError| bad_recording(&args.file, &error);
    let mut cast = Cast::open(open(&args.file)?).map_err(failed)?;
    if let Some(file) = &args.svg {
        draw(cast, args, file)?;
        return Ok(0);
    }
    if !isatty(stdout()) {
        while let Some(event) = cast.next_event().map_err(failed)? {
            print_bytes(event.output.as_bytes())?;
        }
        return Ok(0);
    }
    panics::keep_for_later();
    let mut timeline = Timeline::new(args.speed, args.idle_limit.or(cast.idle_limit()));
    let mut player = Player::new()?;
    let ending = loop {
        let Some(event) = cast.next_event().map_err(failed)? else {
            break AttachEnd::Complete;
        };
        let due = timeline.playing(event.at);
        if let Some(ending) = player.wait(due)? {
            break ending;
        }
        player.show(&without_8_bit_controls(&event.output))?;
    };
    player.finish();
    Ok(ending.exit_code())
}

/// Writes the recording as an animated picture.
fn draw(mut cast: Cast<Box<dyn BufRead>>, args: &args::ReplayArgs, file: &Path) -> Result<(), Failure> {
    let pause = args.idle_limit.or(cast.idle_limit()).unwrap_or(limits::ANIMATION_PAUSE);
    let mut timeline = Timeline::new(args.speed, Some(pause));
    let mut animation = Animation::new(cast.size().unwrap_or(Size::DEFAULT));
    while let Some(event) = cast.next_event().map_err(|error| bad_recording(&args.file, &error))? {
        animation.advance(timeline.playing(event.at));
        match event.size {
            Some(size) => animation.resize(size),
            None => animation.feed(event.output.as_bytes()),
        }
    }
    let svg = animation.finish();
    if file == Path::new("-") {
        return print_bytes(svg.as_bytes());
    }
    std::fs::write(file, svg).map_err(|error| Failure::io(format!("cannot write {}", file.display()), &error))
}

fn open(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened =
        File::open(file).map_err(|error| Failure::io(format!("cannot read {}", file.display()), &error));
    Ok(Box::new(BufReader::new(opened?)))
}

fn bad_recording(file: &Path, error: &CastError) -> Failure {
    match error {
        CastError::Bad { .. } => Failure::general(format!("{}, {error}", file.display())),
        CastError::Io(error) => Failure::io(format!("cannot read {}", file.display()), error),
    }
}

/// The output without the controls that some terminals recognise beside escape sequences: they would pass the filter for
/// what must not happen again, and no program needs them.
fn without_8_bit_controls(output: &str) -> Cow<'_, str> {
    let is_control = |c: char| ('\u{80}'..='\u{9f}').contains(&c);
    match output.contains(is_control) {
        true => Cow::Owned(output.chars().filter(|c| !is_control(*c)).collect()),
        false => Cow::Borrowed(output),
    }
}

/// The user's terminal while a recording plays.
struct Player {
    screen: UserTerminal,
    /// Unused, but the screen writes from an inbox.
    inbox: Inbox,
    signals: Signals,
    begun: Instant,
    /// Since when playback is paused.
    paused: Option<Instant>,
    /// Whether a keyboard is available.
    keyboard: bool,
    leave: Matcher,
    pause: Matcher,
}

impl Player {
    fn new() -> Result<Self, Failure> {
        // Install the handlers before the terminal changes, so that no signal can leave it changed.
        let signals = Signals::catch(&[SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGCONT])?;
        let mut screen = UserTerminal::open(true, None)?;
        // A recording begins with a screen of its own.
        screen.clear();
        screen.show_old(b"\x1b[H");
        Ok(Self {
            keyboard: screen.has_keyboard(),
            screen,
            inbox: Inbox::new(ControlStream.layout()),
            signals,
            begun: Instant::now(),
            paused: None,
            leave: Matcher::new(vec![DetachKey::plain('q'), DetachKey::ctrl('c')]),
            pause: Matcher::new(vec![DetachKey::plain(' ')]),
        })
    }

    /// Waits until `due`; returns an ending if the user quits before.
    fn wait(&mut self, due: Duration) -> Result<Option<AttachEnd>, Failure> {
        loop {
            self.screen
                .flush(&self.inbox)
                .map_err(|error| Failure::io("cannot write to the terminal", &error))?;
            // Beyond the range of the clock: wait for the user.
            let left = match self.begun.checked_add(due) {
                Some(due) if self.paused.is_none() => Some(due.saturating_duration_since(Instant::now())),
                _ => None,
            };
            if left == Some(Duration::ZERO) && !self.screen.is_blocked() {
                return Ok(None);
            }
            let limit = left.filter(|_| !self.screen.is_blocked());
            if let Some(ending) = self.wait_once(limit)? {
                return Ok(Some(ending));
            }
        }
    }

    fn wait_once(&mut self, limit: Option<Duration>) -> Result<Option<AttachEnd>, Failure> {
        let standard_input = stdin();
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if self.screen.is_blocked() {
            fds.push(PollFd::new(&self.screen, PollFlags::OUT));
        }
        if self.keyboard {
            fds.push(PollFd::new(&standard_input, PollFlags::IN));
        }
        match poll(&mut fds, limit.map(timespec).as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let key = self.keyboard && fds.last().is_some_and(|fd| !fd.revents().is_empty());
        for signal in self.signals.take() {
            match signal {
                SIGCONT => self.screen.renew(),
                SIGHUP => return Ok(Some(AttachEnd::HungUp)),
                other => return Ok(Some(AttachEnd::Signalled(other))),
            }
        }
        if key { self.read_keys() } else { Ok(None) }
    }

    fn read_keys(&mut self) -> Result<Option<AttachEnd>, Failure> {
        let mut keys = [0; 1024];
        let count = match rustix::io::read(stdin(), &mut keys) {
            Ok(0) | Err(Errno::IO) => return Ok(Some(AttachEnd::HungUp)),
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(Failure::io("cannot read the keyboard", &error.into())),
        };
        let keys = keys.get(..count).unwrap_or_default();
        let mut ignored = Vec::new();
        if self.leave.feed(keys, &mut ignored).is_some() {
            return Ok(Some(AttachEnd::Left));
        }
        if self.pause.feed(keys, &mut ignored).is_some() {
            self.paused = match self.paused {
                Some(since) => {
                    self.begun += since.elapsed();
                    None
                }
                None => Some(Instant::now()),
            };
        }
        Ok(None)
    }

    fn show(&mut self, output: &str) -> Result<(), Failure> {
        self.screen.show_old(output.as_bytes());
        self.screen.flush(&self.inbox).map_err(|error| Failure::io("cannot write to the terminal", &error))
    }

    /// Restores the terminal.
    fn finish(&mut self) {
        self.screen.finish(&self.inbox);
    }
}
