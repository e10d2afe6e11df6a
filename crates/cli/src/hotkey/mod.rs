//! `swb hotkey`: keys of the whole desktop that capture and paste turns (CH-1 to CH-13).
//!
//! `binding.rs` and `action.rs` define which keys do what, `focus.rs` which session a window shows, and
//! `request_sequence.rs` which requests a key causes; none of them does I/O. [`desktop`] has the interfaces of window
//! systems; [`x11`] and [`tmux`] implement them. This module connects them, in this order: arguments, broker, window
//! system, keys. However the client ends, its keys are released.

mod action;
mod binding;
mod broker;
mod desktop;
mod focus;
mod process_tree;
mod request_sequence;
mod tmux;
mod x11;

pub(crate) use binding::KeyBinding;
pub(crate) use desktop::BackendChoice;

use crate::args::HotkeyArgs;
use crate::attach::follow::timespec;
use crate::console::eprint_line;
use crate::error::{Failure, FailureKind, Outcome};
use crate::limits;
use crate::terminal::signals::Signals;
use action::{Hotkey, HotkeyAction, equal_pair, ready_line};
use broker::{BrokerSocket, garbled, unreachable};
use desktop::{Backend, Desktop, GrabFailure, KeyEvent};
use request_sequence::{Effect, Press, RequestSequence};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;
use swb_daemon::desktop::Notifier;
use swb_wire::clippy::{Message, PeerRole, Request, VERSION, encode_request, parse_message};

/// Signals that end the client with 0 (CH-11): also when its terminal is closed, unless `nohup` started it.
fn ending_signals() -> Vec<i32> {
    let mut signals = vec![SIGTERM, SIGINT];
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !process_tree::ignores(&status, SIGHUP) {
        signals.push(SIGHUP);
    }
    signals
}

/// Binds keys and acts on them until a signal.
pub(crate) fn run(args: &HotkeyArgs) -> Outcome {
    let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let (backend, hotkeys) = chosen(args, is_set)?;
    let ending = ending_signals();
    let mut signals = Signals::catch(&ending)?;
    exit_if_stuck(&ending)?;
    let mut broker = BrokerSocket::connect()?;
    if !greet(&mut broker, &mut signals)? {
        return Ok(0);
    }
    let notifier = Notifier::from_env();
    let outcome = serve(backend, hotkeys, broker, signals, notifier.as_ref());
    if let (Err(failure), Some(notifier)) = (&outcome, notifier) {
        notifier.show(&format!("the hotkeys have ended: {failure}"));
        notifier.finish();
    }
    outcome
}

/// The hotkeys that the arguments name, or the defaults of the window system (CH-2).
fn chosen(args: &HotkeyArgs, is_set: impl Fn(&str) -> bool) -> Result<(Backend, Vec<Hotkey>), Failure> {
    let backend = args.backend.resolve(is_set);
    let [capture, paste] = match backend {
        Backend::X11 => ["Super+Shift+C", "Super+Shift+V"],
        // Terminals do not report Super.
        Backend::Tmux => ["Alt+Shift+C", "Alt+Shift+V"],
    };
    let parse = |text: &str| text.parse::<KeyBinding>().map_err(|error| Failure::usage(error.to_string()));
    let mut hotkeys = Vec::new();
    for (action, given, default) in [
        (HotkeyAction::Capture, &args.capture, Some(capture)),
        (HotkeyAction::Paste, &args.paste, Some(paste)),
        (HotkeyAction::Clipboard, &args.clipboard, None),
    ] {
        let binding = given.clone().map(Ok).or_else(|| default.map(parse)).transpose()?;
        hotkeys.extend(binding.map(|binding| Hotkey { action, binding }));
    }
    if let Some((first, second)) = equal_pair(&hotkeys) {
        return Err(Failure::usage(format!("{first} and {second} are the same keys")));
    }
    let refused = hotkeys.iter().find(|hotkey| backend == Backend::Tmux && !tmux::can_bind(hotkey));
    match refused {
        Some(hotkey) => Err(Failure::usage(format!("{hotkey}: tmux cannot bind Super"))
            .hint("use Alt, Ctrl and Shift, as in Alt+Shift+C")),
        None => Ok((backend, hotkeys)),
    }
}

/// Ends the process some time after a signal, in case the window system hangs.
fn exit_if_stuck(signals: &[i32]) -> io::Result<()> {
    let (mut wake, sender) = UnixStream::pair()?;
    for signal in signals {
        pipe::register(*signal, sender.try_clone()?)?;
    }
    let guard = move || {
        if wake.read_exact(&mut [0]).is_ok() {
            std::thread::park_timeout(limits::HOTKEY_STUCK);
            std::process::exit(0);
        }
    };
    std::thread::Builder::new().name("swb-exit".to_owned()).spawn(guard)?;
    Ok(())
}

/// Sends hello to the broker (CH-1); `false` if a signal came first.
fn greet(broker: &mut BrokerSocket, signals: &mut Signals) -> Result<bool, Failure> {
    let mut hello = Vec::new();
    encode_request(0, &Request::Hello { version: VERSION, role: Some(PeerRole::Client) }, &mut hello)
        .map_err(|error| Failure::general(error.to_string()))?;
    let not_reached = |failure: Failure| unreachable(failure.to_string());
    broker.send(&hello).map_err(not_reached)?;
    let deadline = Instant::now() + limits::HOTKEY_REPLY;
    loop {
        wait(signals, broker, &[], Some(deadline))?;
        if !signals.take().is_empty() {
            return Ok(false);
        }
        broker.write().map_err(not_reached)?;
        for frame in broker.read().map_err(not_reached)? {
            match parse_message(&frame).map_err(|error| garbled(&error))? {
                Message::HelloAck { error: None } => return Ok(true),
                Message::HelloAck { error: Some(reason) } => {
                    return Err(unreachable(format!("the broker rejected the connection: {reason}")));
                }
                _ => {}
            }
        }
    }
}

/// Waits for a signal, a message or a key.
fn wait(
    signals: &Signals,
    broker: &BrokerSocket,
    others: &[BorrowedFd<'_>],
    deadline: Option<Instant>,
) -> Result<(), Failure> {
    let mut fds = vec![
        PollFd::new(signals, PollFlags::IN),
        PollFd::from_borrowed_fd(broker.as_fd(), broker.interest()),
    ];
    fds.extend(others.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    match poll(&mut fds, left.map(timespec).as_ref()) {
        Ok(0) if left.is_some() => {
            Err(Failure::new(FailureKind::Disconnected, "timed out waiting for the broker to reply"))
        }
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Grabs the keys and acts on them until a signal.
fn serve(
    backend: Backend,
    hotkeys: Vec<Hotkey>,
    broker: BrokerSocket,
    signals: Signals,
    notifier: Option<&Notifier>,
) -> Outcome {
    let desktop = desktop::open(backend, &hotkeys)?;
    let sequence = RequestSequence::new(desktop.clipboard.is_some());
    let mut client = HotkeyClient { hotkeys, broker, signals, desktop, sequence, deadline: None, notifier };
    let outcome = client.grab().and_then(|()| client.run());
    client.desktop.keys.release();
    outcome.map(|()| 0)
}

/// Everything that the loop needs.
struct HotkeyClient<'a> {
    hotkeys: Vec<Hotkey>,
    broker: BrokerSocket,
    signals: Signals,
    desktop: Desktop,
    sequence: RequestSequence,
    /// When the broker must have replied.
    deadline: Option<Instant>,
    notifier: Option<&'a Notifier>,
}

impl HotkeyClient<'_> {
    /// Grabs the keys and reports which are active (CH-6).
    fn grab(&mut self) -> Result<(), Failure> {
        let failures = self.desktop.keys.grab()?;
        for failure in &failures {
            self.report_unbound(failure);
        }
        let is_active = |hotkey: &&Hotkey| !failures.iter().any(|failure| failure.action == hotkey.action);
        let active: Vec<&Hotkey> = self.hotkeys.iter().filter(is_active).collect();
        if active.is_empty() {
            return Err(Failure::general("no key could be grabbed")
                .hint("choose others with --capture and --paste, or end the program that has them"));
        }
        eprint_line(format_args!("{}", ready_line(&active)));
        Ok(())
    }

    /// Handles keys and replies until a signal.
    fn run(&mut self) -> Result<(), Failure> {
        loop {
            // First of all, because events may have been read together with something else.
            for event in self.desktop.keys.events()? {
                self.handle_event(event)?;
            }
            wait(&self.signals, &self.broker, &self.desktop.keys.descriptors(), self.deadline)?;
            if !self.signals.take().is_empty() {
                return Ok(());
            }
            self.broker.write()?;
            for frame in self.broker.read()? {
                let effects = self.sequence.handle(&frame, process_tree::parent);
                self.apply(effects.map_err(|error| garbled(&error))?)?;
            }
        }
    }

    fn handle_event(&mut self, event: KeyEvent) -> Result<(), Failure> {
        match event {
            KeyEvent::Pressed { action, at } => {
                let window = self.desktop.focus.focused(at)?;
                let effects = self.sequence.press(Press { action, window });
                self.apply(effects)?;
            }
            KeyEvent::Lost(failure) => self.report_unbound(&failure),
            KeyEvent::Restored(action) => {
                if let Some(hotkey) = self.hotkey(action) {
                    eprint_line(format_args!("{hotkey} is active again"));
                }
            }
        }
        Ok(())
    }

    fn apply(&mut self, effects: Vec<Effect>) -> Result<(), Failure> {
        for effect in effects {
            match effect {
                Effect::Send(frame) => {
                    self.deadline = Some(Instant::now() + limits::HOTKEY_REPLY);
                    self.broker.send(&frame)?;
                }
                Effect::Store(content) => {
                    let no_clipboard = || Err("clipboard_failed: no clipboard".to_owned());
                    let clipboard = self.desktop.clipboard.as_mut();
                    let stored = clipboard.map_or_else(no_clipboard, |clipboard| clipboard.store(&content));
                    let effects = self.sequence.stored(stored);
                    self.apply(effects)?;
                }
                Effect::Report(report) => self.report(&report.line, report.is_error),
            }
        }
        if !self.sequence.awaits_reply() {
            self.deadline = None;
        }
        Ok(())
    }

    fn hotkey(&self, action: HotkeyAction) -> Option<&Hotkey> {
        self.hotkeys.iter().find(|hotkey| hotkey.action == action)
    }

    fn report_unbound(&self, failure: &GrabFailure) {
        if let Some(hotkey) = self.hotkey(failure.action) {
            self.report(&format!("cannot grab {hotkey}: {}", failure.why), true);
        }
    }

    /// Shows a line where the user can see it (CH-9).
    fn report(&self, line: &str, is_error: bool) {
        eprint_line(format_args!("{line}"));
        if let Some(notifier) = self.notifier.filter(|_| is_error) {
            notifier.show(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(backend: BackendChoice, keys: [Option<&str>; 3]) -> HotkeyArgs {
        let [capture, paste, clipboard] = keys.map(|keys| keys.map(|keys| keys.parse().unwrap()));
        HotkeyArgs { capture, paste, clipboard, backend }
    }

    fn ready(args: &HotkeyArgs) -> Result<String, u8> {
        let (_, hotkeys) = chosen(args, |_| false).map_err(|failure| failure.kind().exit_code())?;
        Ok(ready_line(&hotkeys.iter().collect::<Vec<_>>()))
    }

    // CH-2
    #[test]
    fn there_are_two_bindings_and_an_optional_third() {
        let none = [None; 3];
        assert_eq!(
            ready(&args(BackendChoice::X11, none)).unwrap(),
            "ready: capture Super+Shift+C, paste Super+Shift+V"
        );
        assert_eq!(
            ready(&args(BackendChoice::Tmux, none)).unwrap(),
            "ready: capture Alt+Shift+C, paste Alt+Shift+V"
        );
        let keys = [Some("Ctrl+F1"), None, Some("Super+X")];
        assert_eq!(
            ready(&args(BackendChoice::Detect, keys)).unwrap(),
            "ready: capture Ctrl+F1, paste Super+Shift+V, clipboard Super+X"
        );
    }

    // CH-3
    #[test]
    fn equal_bindings_and_super_in_tmux_are_refused() {
        assert_eq!(ready(&args(BackendChoice::X11, [Some("mod4+shift+v"), None, None])), Err(2));
        assert_eq!(ready(&args(BackendChoice::Tmux, [Some("Super+C"), None, None])), Err(2));
        assert!(ready(&args(BackendChoice::Tmux, [Some("Ctrl+Alt+C"), None, None])).is_ok());
    }
}
