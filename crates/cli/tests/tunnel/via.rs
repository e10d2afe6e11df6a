//! `--via`: this command line at the other end.

use crate::{SWB, Tunnel};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;
use swb_testkit::{Swb, Terminal};

#[test]
fn sessions_are_listed_shown_and_asked_through_a_tunnel() {
    let (swb, far) = (Swb::start(SWB), Swb::new(SWB));
    swb.make("a", &["bash", "--norc"]);
    swb.json(&["serve", "--port", "0"]);
    let through = |args: &[&str]| {
        let tunnel = Tunnel::open(&swb, &[]);
        let output = far.ok(&[args, &["--via", tunnel.short_url()]].concat());
        tunnel.event("connected");
        assert_eq!(tunnel.ended(), ("peer".to_owned(), 0));
        output
    };
    assert!(through(&["ls"]).contains("running"));
    assert!(through(&["ask", "a", "echo from-afar"]).contains("from-afar"));
    assert!(through(&["screen", "a"]).contains("from-afar"));
    assert!(through(&["screen"]).contains("from-afar"), "the only session needs no name");
    assert!(far.try_status().is_none(), "no daemon was started here");
}

#[test]
fn a_terminal_is_attached_through_a_tunnel() {
    let (swb, far) = (Swb::start(SWB), Swb::new(SWB));
    swb.make("a", &["bash", "--norc"]);
    swb.json(&["serve", "--port", "0"]);
    let tunnel = Tunnel::open(&swb, &["a"]);
    let mut terminal = Terminal::start(far.command(&["attach", "--via", tunnel.short_url()]), 80, 24);
    terminal.type_in(b"echo $((6*7))=answer\r");
    terminal.until("42=answer");
    assert_eq!(swb.session("a").unwrap()["web_clients"], 1);
    terminal.type_in(b"seq 1 200000 | tail -2\r");
    terminal.until("199999\r\n200000");
    terminal.type_in(b"\x1d");
    terminal.until("detached");
    assert_eq!(tunnel.event("connected")["tunnel"], tunnel.offer["tunnel"]);
    assert_eq!(tunnel.ended().0, "peer");
}

/// `swb ls` through a tunnel, and the answer that it prints.
pub(crate) fn answer_to(far: &Swb, tunnel: &Tunnel) -> (Child, String) {
    let mut command = far.command(&["ls", "--json", "--via", tunnel.url()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let answer = lines.map_while(Result::ok).find(|line| line.len() > 200).unwrap();
    (child, answer)
}

#[test]
fn an_answer_can_be_pasted() {
    paste_after(Duration::ZERO);
}

// A handshake of DTLS has 40 s, a person has longer.
#[test]
fn an_answer_may_come_late() {
    paste_after(Duration::from_secs(45));
}

/// Carries an answer by hand, which takes some time.
fn paste_after(pause: Duration) {
    let (swb, far) = (Swb::start(SWB), Swb::new(SWB));
    swb.make("a", &["cat"]);
    let mut tunnel = Tunnel::open(&swb, &["--role", "watch"]);
    let (child, answer) = answer_to(&far, &tunnel);
    // Nothing happens meanwhile.
    assert!(tunnel.lines.recv_timeout(pause).is_err());
    tunnel.type_in(&answer);
    tunnel.event("connected");
    let listed = child.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("\"a\""), "{listed:?}");
    assert_eq!(tunnel.ended(), ("peer".to_owned(), 0));
}

#[test]
fn a_used_tunnel_and_a_wrong_address_are_explained() {
    let (swb, far) = (Swb::start(SWB), Swb::new(SWB));
    swb.make("a", &["cat"]);
    swb.json(&["serve", "--port", "0"]);
    let tunnel = Tunnel::open(&swb, &[]);
    let url = tunnel.short_url().to_owned();
    far.ok(&["ls", "--via", &url]);
    let again = far.run(&["ls", "--via", &url]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("expired or been used"), "{again:?}");
    let (address, _) = url.split_once('#').unwrap();
    for wrong in [address, "http://127.0.0.1:1/connect", "nonsense"] {
        let refused = far.run(&["ls", "--via", wrong]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
}

#[test]
fn events_pass_through_a_tunnel() {
    let (swb, far) = (Swb::start(SWB), Swb::new(SWB));
    swb.make("first", &["cat"]);
    swb.json(&["serve", "--port", "0"]);
    let tunnel = Tunnel::open(&swb, &[]);
    let mut command = far.command(&["ls", "--watch", "--json", "--via", tunnel.short_url()]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|line| line.contains("first")));
    swb.make("second", &["cat"]);
    assert!(
        lines.by_ref().any(|line| line.contains("second")),
        "the list follows events of the other machine"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}
