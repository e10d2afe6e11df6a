//! Keys in tmux, with a broker of the test.

use super::{EXE, Hotkeys};
use crate::support::broker::{Broker, Peer};
use rustix::process::Signal;
use std::process::Command;
use swb_testkit::{Swb, Terminal, text, wait_for};
use swb_wire::clippy::{Message, Response, SessionItem};

/// A tmux server with one session, and a client on a terminal.
struct Tmux {
    socket: String,
    terminal: Terminal,
}

impl Tmux {
    fn start(swb: &Swb) -> Self {
        let socket = swb.dir().join("tmux").to_str().expect("a path").to_owned();
        let mut command = Command::new("tmux");
        command.args(["-S", &socket, "-f", "/dev/null", "new-session", "exec cat"]);
        command.env("TERM", "xterm-256color").env_remove("TMUX");
        let tmux = Self { terminal: Terminal::start(command, 80, 24), socket };
        wait_for("tmux", || tmux.run(&["list-clients"]).filter(|clients| !clients.is_empty()));
        tmux
    }

    fn run(&self, args: &[&str]) -> Option<String> {
        let output = Command::new("tmux").args(["-S", &self.socket]).args(args).env_remove("TMUX").output();
        let output = output.expect("this test needs tmux");
        output.status.success().then(|| text(&output.stdout))
    }

    /// The value of `$TMUX`.
    fn variable(&self) -> String {
        format!("{},{},0", self.socket, self.run(&["display-message", "-p", "#{pid}"]).expect("tmux").trim())
    }

    fn root_table(&self) -> String {
        self.run(&["list-keys", "-T", "root"]).expect("tmux")
    }

    fn pane_pid(&self) -> u32 {
        let pid = self.run(&["display-message", "-p", "#{pane_pid}"]).expect("tmux");
        pid.trim().parse().expect("a number")
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ended = self.run(&["kill-server"]);
    }
}

fn start(swb: &Swb, broker: &Broker, tmux: &Tmux, args: &[&str]) -> (Hotkeys, Peer) {
    let mut command = swb.command(&[&["hotkey"], args].concat());
    command.env("TMUX", tmux.variable()).env_remove("DISPLAY").env_remove("DBUS_SESSION_BUS_ADDRESS");
    let client = Hotkeys::start(command);
    let mut peer = broker.accept();
    peer.greet("client");
    (client, peer)
}

fn list(peer: &mut Peer, pid: u32) {
    let (id, request) = peer.request();
    assert_eq!(request, "ListSessions");
    let other = SessionItem { session: "other", pid: 1, has_turn: true, client_pids: Vec::new() };
    let mine = SessionItem { session: "mine", pid, has_turn: true, client_pids: Vec::new() };
    peer.send(&Message::Response(Response { sessions: Some(vec![other, mine]), ..Response::ok(id) }));
}

// CH-12, CH-13
#[test]
#[ignore = "needs tmux: run by cargo xtask ci"]
fn keys_in_tmux_act_on_the_active_pane() {
    let swb = Swb::new(EXE);
    let (broker, tmux) = (Broker::listen(&swb), Tmux::start(&swb));
    tmux.run(&["bind-key", "-T", "root", "M-C", "display-message", "it's \"mine\" #{pane_id} ; x"]).unwrap();
    let before = tmux.root_table();
    let (client, mut peer) = start(&swb, &broker, &tmux, &["--clipboard", "Ctrl+Alt+K"]);
    assert_eq!(client.line(), "ready: capture Alt+Shift+C, paste Alt+Shift+V, clipboard Ctrl+Alt+K");
    let first = tmux.pane_pid();
    tmux.terminal.type_in(b"\x1bC");
    list(&mut peer, first);
    let (id, request) = peer.request();
    assert_eq!(request, "Capture { session: \"mine\" }");
    peer.send(&Message::Response(Response { turn_id: Some("mine:1"), size: Some(5), ..Response::ok(id) }));
    assert_eq!(client.line(), "capture: mine:1, 5 bytes");

    tmux.run(&["split-window", "exec cat"]).unwrap();
    tmux.terminal.type_in(b"\x1bV");
    list(&mut peer, first);
    assert_eq!(client.line(), "paste failed: the focused window has no session", "another pane is active");

    // Without a clipboard of the broker, the paste buffer is filled.
    tmux.terminal.type_in(b"\x1b\x0b");
    list(&mut peer, tmux.pane_pid());
    let (id, _capture) = peer.request();
    peer.send(&Message::Response(Response { turn_id: Some("mine:1"), size: Some(5), ..Response::ok(id) }));
    let (id, request) = peer.request();
    assert_eq!(request, "Deliver(Clipboard)");
    peer.send(&Message::Response(Response { error: Some("clipboard_failed: none"), ..Response::ok(id) }));
    let (id, request) = peer.request();
    assert_eq!(request, "GetTurn { turn_id: \"mine:1\" }");
    peer.send(&Message::Response(Response { content: Some(b"the \0text"), ..Response::ok(id) }));
    assert_eq!(client.line(), "clipboard: mine:1, 5 bytes");
    assert_eq!(tmux.run(&["show-buffer"]).unwrap(), "the \0text");

    client.stop();
    assert_eq!(tmux.root_table(), before, "the earlier bindings are restored");
    let left: Vec<_> = std::fs::read_dir(swb.dir().join("r/clippy")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the broker's socket is left: {left:?}");
}

// CH-10, CH-13
#[test]
#[ignore = "needs tmux: run by cargo xtask ci"]
fn bindings_in_tmux_are_restored_whatever_ends_the_client() {
    let swb = Swb::new(EXE);
    let (broker, tmux) = (Broker::listen(&swb), Tmux::start(&swb));
    let before = tmux.root_table();
    let (client, peer) = start(&swb, &broker, &tmux, &[]);
    client.line();
    assert_ne!(tmux.root_table(), before);
    drop(peer);
    assert_eq!(client.end().0, Some(1));
    assert_eq!(tmux.root_table(), before);

    let (client, _peer) = start(&swb, &broker, &tmux, &[]);
    client.line();
    client.signal(Signal::HUP);
    assert_eq!(client.end().0, Some(0));
    assert_eq!(tmux.root_table(), before);

    let (client, _peer) = start(&swb, &broker, &tmux, &[]);
    client.line();
    tmux.run(&["kill-server"]).unwrap();
    assert_eq!(client.end(), (Some(1), vec!["swb: the tmux server has ended".to_owned()]));
}
