//! What happens before any key is grabbed; needs no display.

use super::{EXE, Hotkeys};
use crate::support::broker::{Broker, Said};
use rustix::process::Signal;
use std::process::{Command, Output};
use swb_testkit::{Swb, text};
use swb_wire::clippy::Message;

fn without_display(mut command: Command) -> Command {
    command.env_remove("DISPLAY").env_remove("TMUX").env_remove("DBUS_SESSION_BUS_ADDRESS");
    command
}

fn run(swb: &Swb, args: &[&str]) -> (Option<i32>, String) {
    let command = swb.command(&[&["hotkey"], args].concat());
    let Output { status, stderr, .. } = without_display(command).output().expect("it runs");
    (status.code(), text(&stderr))
}

// CH-2, CH-3
#[test]
fn arguments_are_checked_before_anything_is_contacted() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    for args in [
        &["--capture", "C"][..],
        &["--paste", "Super+Nothing"],
        &["--clipboard", "Hyper+X"],
        &["--capture", "Super+V", "--paste", "mod4+v"],
        &["--clipboard", "Shift+Super+C"],
        &["--backend", "wayland"],
        &["--backend", "tmux", "--capture", "Super+C"],
    ] {
        let (code, error) = run(&swb, args);
        assert_eq!(code, Some(2), "{args:?}: {error}");
        assert!(!error.is_empty());
    }
    let ctl = swb.named("clippyctl", &["hotkey", "--capture-key", "Super+V", "--paste-key", "Super+V"]);
    assert_eq!(without_display(ctl).status().expect("it runs").code(), Some(2));
    assert!(broker.try_accept().is_none());
}

// CH-1
#[test]
fn without_a_broker_the_client_exits_with_4_and_starts_none() {
    let swb = Swb::new(EXE);
    let (code, error) = run(&swb, &[]);
    assert_eq!(code, Some(4), "{error}");
    assert!(error.starts_with("swb: no broker at"), "{error}");
    assert!(swb.try_status().is_none(), "no daemon is started");
    let mut command = without_display(swb.command(&["hotkey"]));
    let output = command.env_remove("XDG_RUNTIME_DIR").output().expect("it runs");
    assert_eq!(output.status.code(), Some(4));
}

// CH-1
#[test]
fn the_broker_comes_before_the_window_system() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let client = Hotkeys::start(without_display(swb.command(&["hotkey"])));
    let mut peer = broker.accept();
    peer.greet("client");
    let (code, lines) = client.end();
    assert_eq!((code, &*lines[0]), (Some(1), "swb: no display: DISPLAY is not set"));
    assert_eq!(peer.hear(), Said::End);

    let client = Hotkeys::start(without_display(swb.named("clippyctl", &["hotkey"])));
    let mut peer = broker.accept();
    let Said::Hello { .. } = peer.hear() else { panic!("no hello") };
    peer.send(&Message::HelloAck { error: Some("version_mismatch") });
    let (code, lines) = client.end();
    assert_eq!(code, Some(4));
    assert_eq!(lines[0], "clippyctl: the broker rejected the connection: version_mismatch");
}

// CH-1
#[test]
fn files_for_the_desktop_run_the_command() {
    let contrib = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib");
    for (file, line) in [
        ("systemd/swb-hotkey.service", "ExecStart=/usr/bin/env swb hotkey"),
        ("desktop/swb-hotkey.desktop", "Exec=swb hotkey"),
    ] {
        let text = std::fs::read_to_string(format!("{contrib}/{file}")).expect(file);
        assert!(text.lines().any(|own| own == line), "{file}");
    }
}

// CH-11
#[test]
fn a_signal_ends_the_wait_for_the_broker() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    for number in [Signal::TERM, Signal::INT] {
        let client = Hotkeys::start(without_display(swb.command(&["hotkey"])));
        let mut peer = broker.accept();
        let Said::Hello { .. } = peer.hear() else { panic!("no hello") };
        client.signal(number);
        assert_eq!(client.end(), (Some(0), vec![]));
    }
}
