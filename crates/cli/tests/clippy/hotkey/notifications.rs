//! Errors as desktop notifications.

use super::{EXE, Hotkeys, PrintedLines, Rig};
use crate::support::broker::Broker;
use crate::support::display::Display;
use std::process::{Child, Command, Stdio};
use swb_testkit::Swb;

/// A session bus, and a monitor of the notifications on it.
struct Bus {
    address: String,
    daemon: Child,
    monitor: Child,
    lines: PrintedLines,
}

impl Bus {
    fn start() -> Self {
        let spawn = |command: &mut Command| {
            let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().expect("this test needs dbus-daemon and dbus-monitor");
            let lines = PrintedLines::of(child.stdout.take().expect("its output"));
            (child, lines)
        };
        let (daemon, lines) =
            spawn(Command::new("dbus-daemon").args(["--session", "--nofork", "--print-address"]));
        let address = lines.next();
        let (monitor, lines) = spawn(
            Command::new("dbus-monitor")
                .args(["--session", "interface='org.freedesktop.Notifications'"])
                .env("DBUS_SESSION_BUS_ADDRESS", &address),
        );
        let bus = Self { address, daemon, monitor, lines };
        // The bus names the monitor, and takes the name away when it becomes one.
        bus.until("NameLost");
        bus.until("string");
        bus
    }

    /// Reads what the monitor reports up to a line with `text`.
    #[track_caller]
    fn until(&self, text: &str) {
        while !self.lines.next().contains(text) {}
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        for process in [&mut self.monitor, &mut self.daemon] {
            let _killed = process.kill();
            let _ended = process.wait();
        }
    }
}

// CH-9
#[test]
#[ignore = "needs Xvfb, openbox, xterm, xdotool and D-Bus: run by cargo xtask ci"]
fn errors_are_notifications() {
    let bus = Bus::start();
    let (swb, display) = (Swb::new(EXE), Display::start());
    let broker = Broker::listen(&swb);
    let mut command = display.command(swb.command(&["hotkey"]));
    command.env("DBUS_SESSION_BUS_ADDRESS", &bus.address);
    let client = Hotkeys::start(command);
    let mut peer = broker.accept();
    peer.greet("client");
    client.line();
    display.press("super+shift+c");
    let line = client.line();
    assert_eq!(line, "capture failed: the focused window has no session: no window is active");
    bus.until("member=Notify");
    bus.until("string \"Switchboard\"");
    bus.until(&format!("string \"{line}\""));
    drop(peer);
    assert_eq!(client.end().0, Some(1));
    bus.until("the hotkeys have ended: the broker closed the connection");
}

// CH-9
#[test]
#[ignore = "needs Xvfb, openbox, xterm and xdotool: run by cargo xtask ci"]
fn a_dead_bus_does_no_harm() {
    let mut rig = Rig::start(&[]);
    rig.client.line();
    drop(rig.client);
    drop(rig.peer);
    // Nothing listens at the first address; the second one never answers.
    let silent = rig.swb.dir().join("bus");
    let _listener = std::os::unix::net::UnixListener::bind(&silent).unwrap();
    let mut command = rig.display.command(rig.swb.command(&["hotkey"]));
    command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path=/nowhere;unix:path={}", silent.display()));
    rig.client = Hotkeys::start(command);
    rig.peer = rig._broker.accept();
    rig.peer.greet("client");
    rig.client.line();
    for _ in 0..3 {
        let id = rig.pressed("super+shift+c", "Capture");
        rig.refuse(id, "no_turn");
        assert!(rig.client.line().contains("no_turn"));
    }
    rig.captures("super+shift+c");
    rig.client.stop();
}
