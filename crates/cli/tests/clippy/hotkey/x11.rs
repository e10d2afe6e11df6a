//! Keys and focus on a real X server, with a broker of the test.

use super::{Rig, connected};
use crate::support::broker::{Broker, Said};
use crate::support::display::{Display, HELD};
use rustix::process::Signal;
use std::time::{Duration, Instant};
use swb_testkit::{Swb, signal};

// CH-2, CH-8
#[test]
#[ignore = "needs Xvfb, openbox, xterm and xdotool: run by cargo xtask ci"]
fn keys_send_requests_for_the_focused_session() {
    let mut rig = Rig::start(&["--clipboard", "ctrl+shift+F5"]);
    assert_eq!(
        rig.client.line(),
        "ready: capture Super+Shift+C, paste Super+Shift+V, clipboard Ctrl+Shift+F5"
    );
    rig.captures("super+shift+c");
    let id = rig.pressed("super+shift+v", "Paste");
    rig.peer.ok(id);
    assert_eq!(rig.client.line(), "paste: into mine");
    let id = rig.pressed("ctrl+shift+F5", "Capture");
    rig.captured(id);
    let (id, request) = rig.peer.request();
    assert_eq!(request, "Deliver(Clipboard)");
    rig.peer.ok(id);
    assert_eq!(rig.client.line(), "clipboard: mine:3, 12 bytes");

    // A window in front: the session is no longer in the focused one.
    let other = rig.display.open("other", &rig.swb.shell("exec cat"));
    rig.press("super+shift+c", &[("mine", rig.window.pid())]);
    assert_eq!(rig.client.line(), "capture failed: the focused window has no session");
    rig.press("super+shift+c", &[("mine", rig.window.pid()), ("second", other.pid())]);
    assert_eq!(rig.peer.request().1, "Capture { session: \"second\" }");
    rig.client.stop();
}

// CH-5
#[test]
#[ignore = "needs Xvfb, openbox, xterm and xdotool: run by cargo xtask ci"]
fn locks_do_not_matter_and_a_held_key_acts_once() {
    let mut rig = Rig::start(&[]);
    rig.client.line();
    for lock in ["Num_Lock", "Caps_Lock", "Num_Lock"] {
        rig.display.run("xdotool", &["key", lock]);
        // Not with `--clearmodifiers`, which would turn Caps Lock off.
        rig.display.run("xdotool", &["key", "super+shift+c"]);
        let window = rig.window.pid();
        rig.list(&[("mine", window)]);
        let (id, _capture) = rig.peer.request();
        rig.captured(id);
        assert_eq!(rig.client.line(), "capture: mine:3, 12 bytes", "{lock}");
    }
    rig.display.run("xdotool", &["key", "Caps_Lock"]);
    rig.display.run("xdotool", &["keydown", "super", "keydown", "shift", "keydown", "c"]);
    let window = rig.window.pid();
    rig.list(&[("mine", window)]);
    let (id, _capture) = rig.peer.request();
    rig.captured(id);
    assert_eq!(rig.peer.within(HELD), None, "it acts once");
    rig.display.run("xdotool", &["keyup", "c", "keyup", "shift", "keyup", "super"]);
    assert_eq!(rig.client.line(), "capture: mine:3, 12 bytes");
    rig.captures("super+shift+c");
}

// CH-5
#[test]
#[ignore = "needs Xvfb, openbox, xterm, xdotool and setxkbmap: run by cargo xtask ci"]
fn grabs_follow_the_keyboard_layout() {
    let mut rig = Rig::start(&["--capture", "Super+Z", "--paste", "Super+Y"]);
    rig.client.line();
    rig.captures("super+z");
    // German keyboards have Y and Z exchanged: the same symbols are on other keys.
    rig.display.run("setxkbmap", &["de"]);
    rig.captures("super+z");
    let id = rig.pressed("super+y", "Paste");
    rig.peer.ok(id);
    assert_eq!(rig.client.line(), "paste: into mine");
    // A layout without Latin letters.
    rig.display.run("setxkbmap", &["ru"]);
    for name in ["capture Super+Z", "paste Super+Y"] {
        assert_eq!(rig.client.line(), format!("cannot grab {name}: the keyboard layout has no such key"));
    }
    rig.display.run("setxkbmap", &["us"]);
    for name in ["capture Super+Z", "paste Super+Y"] {
        assert_eq!(rig.client.line(), format!("{name} is active again"));
    }
    rig.captures("super+z");
    // Num Lock as another modifier.
    rig.display.run("xmodmap", &["-e", "clear mod2", "-e", "clear mod3", "-e", "add mod3 = Num_Lock"]);
    rig.display.run("xdotool", &["key", "Num_Lock"]);
    rig.captures("super+z");
}

// CH-6, CH-11
#[test]
#[ignore = "needs Xvfb, openbox, xterm and xdotool: run by cargo xtask ci"]
fn keys_of_another_program_are_reported_and_the_others_stay_active() {
    let mut rig = Rig::start(&["--capture", "Super+A", "--paste", "Super+B"]);
    assert_eq!(rig.client.line(), "ready: capture Super+A, paste Super+B");
    let other = Swb::new(super::EXE);
    let broker = Broker::listen(&other);
    let (second, _peer) =
        connected(&other, &broker, &rig.display, &["--capture", "Super+A", "--paste", "Super+C"]);
    assert_eq!(second.line(), "cannot grab capture Super+A: another program has grabbed these keys");
    assert_eq!(second.line(), "ready: paste Super+C");
    let (third, _peer) =
        connected(&other, &broker, &rig.display, &["--capture", "Super+B", "--paste", "Super+C"]);
    let (code, lines) = third.end();
    assert_eq!((code, &*lines[2]), (Some(1), "swb: no key could be grabbed"), "{lines:?}");
    // Ended by a signal, the client has released its keys.
    rig.captures("super+a");
    rig.client.stop();
    second.signal(Signal::INT);
    assert_eq!(second.end().0, Some(0));
    let (next, _peer) =
        connected(&other, &broker, &rig.display, &["--capture", "Super+A", "--paste", "Super+C"]);
    assert_eq!(next.line(), "ready: capture Super+A, paste Super+C");
}

// CH-7, CH-9
#[test]
#[ignore = "needs Xvfb, openbox, xterm and xdotool: run by cargo xtask ci"]
fn errors_are_one_line_each_and_the_client_keeps_running() {
    let mut rig = Rig::start(&[]);
    rig.client.line();
    let id = rig.pressed("super+shift+c", "Capture");
    rig.refuse(id, "no_turn");
    assert_eq!(rig.client.line(), "capture failed: no_turn: session mine has no completed turn yet");
    let id = rig.pressed("super+shift+v", "Paste");
    rig.refuse(id, "buffer_empty");
    assert_eq!(rig.client.line(), "paste failed: buffer_empty: nothing has been captured yet");
    let window = rig.window.pid();
    rig.press("super+shift+c", &[("one", window), ("far", 1), ("two", window)]);
    assert_eq!(
        rig.client.line(),
        "capture failed: ambiguous: the focused window has several sessions: one, two"
    );
    rig.display.unfocus(&rig.window);
    rig.display.press("super+shift+c");
    assert_eq!(rig.client.line(), "capture failed: the focused window has no session: no window is active");
    rig.display.focus(&rig.window);
    rig.captures("super+shift+c");
    rig.client.quiet();
}

// CH-8, CH-11
#[test]
#[ignore = "needs Xvfb, openbox, xterm and xdotool: run by cargo xtask ci"]
fn requests_wait_for_each_other_and_a_signal_waits_for_none() {
    let mut rig = Rig::start(&[]);
    rig.client.line();
    let id = rig.pressed("super+shift+c", "Capture");
    rig.display.press("super+shift+v");
    assert_eq!(rig.peer.within(Duration::from_millis(500)), None, "the second key waits");
    rig.captured(id);
    let window = rig.window.pid();
    rig.list(&[("mine", window)]);
    assert_eq!(rig.peer.request().1, "Paste { session: \"mine\" }");
    let began = Instant::now();
    rig.client.signal(Signal::TERM);
    let (code, _) = rig.client.end();
    assert_eq!(code, Some(0));
    assert!(began.elapsed() < Duration::from_secs(5), "at once: {:?}", began.elapsed());
}

// CH-10
#[test]
#[ignore = "needs Xvfb, openbox, xterm and xdotool: run by cargo xtask ci"]
fn a_lost_broker_or_display_ends_the_client() {
    let rig = Rig::start(&[]);
    rig.client.line();
    drop(rig.peer);
    let (code, lines) = rig.client.end();
    assert_eq!((code, lines[0].as_str()), (Some(1), "swb: the broker closed the connection"));

    let (swb, display) = (Swb::new(super::EXE), Display::start());
    let broker = Broker::listen(&swb);
    let (client, _peer) = connected(&swb, &broker, &display, &[]);
    client.line();
    signal(display.server_pid(), Signal::KILL);
    let (code, lines) = client.end();
    assert_eq!(code, Some(1));
    assert!(lines[0].starts_with("swb: the connection to the display was lost"), "{lines:?}");
}

// CH-10
#[test]
#[ignore = "needs Xvfb, openbox, xterm and xdotool: run by cargo xtask ci"]
fn a_request_without_a_reply_ends_the_client_after_ten_seconds() {
    let mut rig = Rig::start(&[]);
    rig.client.line();
    let _id = rig.pressed("super+shift+c", "Capture");
    let began = Instant::now();
    let (code, lines) = rig.client.end();
    assert_eq!((code, lines), (Some(1), vec!["swb: timed out waiting for the broker to reply".to_owned()]));
    assert!(began.elapsed() > Duration::from_secs(5));
    assert_eq!(rig.peer.hear(), Said::End);
}
