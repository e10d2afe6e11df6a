//! `swb hotkey`, and `clippyctl hotkey`.

mod end_to_end;
mod notifications;
mod start;
mod tmux;
mod x11;

use crate::support::broker::{Broker, Peer};
use crate::support::display::{Display, Window};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use swb_testkit::{LIMIT, QUIET, Swb, signal, wait_for};
use swb_wire::clippy::{Message, Response, SessionItem};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// The lines that a program prints, read in the background.
struct PrintedLines(Receiver<String>);

impl PrintedLines {
    fn of(output: impl Read + Send + 'static) -> Self {
        let (sender, lines) = sync_channel(100);
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self(lines)
    }

    #[track_caller]
    fn next(&self) -> String {
        self.0.recv_timeout(LIMIT).expect("a line")
    }
}

/// A client that runs, and the lines it prints.
struct Hotkeys {
    process: Child,
    lines: PrintedLines,
}

impl Hotkeys {
    fn start(mut command: Command) -> Self {
        let mut process = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it runs");
        let lines = PrintedLines::of(process.stderr.take().expect("its messages"));
        Self { process, lines }
    }

    /// The next line.
    #[track_caller]
    fn line(&self) -> String {
        self.lines.next()
    }

    /// Checks that it prints nothing.
    #[track_caller]
    fn quiet(&self) {
        assert_eq!(self.lines.0.recv_timeout(QUIET).ok(), None);
    }

    fn signal(&self, number: Signal) {
        signal(self.process.id().into(), number);
    }

    /// Waits for its end; returns the exit code and the lines before.
    #[track_caller]
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        let code = wait_for("its end", || self.process.try_wait().expect("a child")).code();
        (code, self.lines.0.iter().collect())
    }

    /// Ends it with SIGTERM.
    #[track_caller]
    fn stop(self) {
        self.signal(Signal::TERM);
        assert_eq!(self.end().0, Some(0));
    }
}

impl Drop for Hotkeys {
    fn drop(&mut self) {
        let _killed = self.process.kill();
        let _ended = self.process.wait();
    }
}

/// A display, a broker of the test, a window, and the client with these arguments.
struct Rig {
    client: Hotkeys,
    peer: Peer,
    window: Window,
    display: Display,
    _broker: Broker,
    swb: Swb,
}

impl Rig {
    #[track_caller]
    fn start(args: &[&str]) -> Self {
        let (swb, display) = (Swb::new(EXE), Display::start());
        let window = display.open("agent", &swb.shell("exec cat"));
        let broker = Broker::listen(&swb);
        let (client, peer) = connected(&swb, &broker, &display, args);
        Self { client, peer, window, display, _broker: broker, swb }
    }

    /// Presses keys and expects the list of sessions to be requested; `sessions` are what is listed.
    #[track_caller]
    fn press(&mut self, keys: &str, sessions: &[(&str, u32)]) {
        self.display.press(keys);
        self.list(sessions);
    }

    #[track_caller]
    fn list(&mut self, sessions: &[(&str, u32)]) {
        let (id, request) = self.peer.request();
        assert_eq!(request, "ListSessions");
        let item = |(session, pid): &(&'static str, u32)| SessionItem {
            session,
            pid: *pid,
            has_turn: true,
            client_pids: Vec::new(),
        };
        let sessions: Vec<(&'static str, u32)> =
            sessions.iter().map(|(name, pid)| (&*name.to_string().leak(), *pid)).collect();
        let sessions = sessions.iter().map(item).collect();
        self.peer.send(&Message::Response(Response { sessions: Some(sessions), ..Response::ok(id) }));
    }

    /// Presses keys and expects a request for the session of the window; returns its id.
    #[track_caller]
    fn pressed(&mut self, keys: &str, request: &str) -> u32 {
        self.press(keys, &[("other", 1), ("mine", self.window.pid())]);
        let (id, said) = self.peer.request();
        assert_eq!(said, format!("{request} {{ session: \"mine\" }}"));
        id
    }

    /// Replies that a turn was captured.
    fn captured(&mut self, id: u32) {
        self.peer.send(&Message::Response(Response {
            turn_id: Some("mine:3"),
            size: Some(12),
            ..Response::ok(id)
        }));
    }

    /// Replies with an error.
    fn refuse(&mut self, id: u32, reason: &str) {
        self.peer.send(&Message::Response(Response { error: Some(reason), ..Response::ok(id) }));
    }

    /// Presses keys that capture.
    #[track_caller]
    fn captures(&mut self, keys: &str) {
        let id = self.pressed(keys, "Capture");
        self.captured(id);
        assert_eq!(self.client.line(), "capture: mine:3, 12 bytes");
    }
}

/// Starts a client and takes its hello.
#[track_caller]
fn connected(swb: &Swb, broker: &Broker, display: &Display, args: &[&str]) -> (Hotkeys, Peer) {
    let client = Hotkeys::start(display.command(swb.command(&[&["hotkey"], args].concat())));
    let mut peer = broker.accept();
    peer.greet("client");
    (client, peer)
}
