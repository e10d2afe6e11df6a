//! `--via`: this command line at the other end.

use crate::{SWB, Tunnel};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;
use swb_testkit::{Swb, Terminal, wait_for};

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
    let mut printed = Vec::new();
    let answer = lines.map_while(Result::ok).find(|line| {
        printed.push(line.clone());
        line.len() > 200
    });
    (child, answer.unwrap_or_else(|| panic!("no answer was printed, but {printed:?}")))
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
    let (url, long) = (tunnel.short_url().to_owned(), tunnel.url().to_owned());
    far.ok(&["ls", "--via", &url]);
    tunnel.event("connected");
    assert_eq!(tunnel.ended(), ("peer".to_owned(), 0));
    let again = far.run(&["ls", "--via", &url]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("expired or been used"), "{again:?}");
    // The long address as well, with nobody to paste an answer.
    let again = far.run(&["ls", "--via", &long]);
    assert_eq!(again.status.code(), Some(1));
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(said.contains("expired or been used") && !said.contains("Paste"), "{said}");
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

#[test]
fn an_attachment_ends_with_its_tunnel_and_reports_it() {
    let (swb, far) = (Swb::start(SWB), Swb::new(SWB));
    swb.make("a", &["bash", "--norc"]);
    swb.json(&["serve", "--port", "0"]);
    let mut tunnel = Tunnel::open(&swb, &["a"]);
    let mut terminal = Terminal::start(far.command(&["attach", "--via", tunnel.short_url()]), 80, 24);
    terminal.type_in(b"echo $((6*7))=answer\r");
    terminal.until("42=answer");
    terminal.forget();
    let began = std::time::Instant::now();
    tunnel.child.kill().unwrap();
    assert_eq!(terminal.wait(), 1);
    let shown = String::from_utf8_lossy(terminal.seen()).into_owned();
    assert!(
        shown.contains("swb: the tunnel has ended: `swb tunnel` on the other machine has ended\r\n"),
        "{shown:?}"
    );
    assert!(shown.contains("hint: session 'a' lives on"), "{shown:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "without waiting for a daemon that may come back");
    terminal.assert_modes_restored();
}

// CO-61
#[test]
fn an_attachment_ends_with_the_one_session_of_its_tunnel() {
    let (swb, far) = (Swb::start(SWB), Swb::new(SWB));
    swb.make("a", &["bash", "--norc"]);
    swb.json(&["serve", "--port", "0"]);
    let tunnel = Tunnel::open(&swb, &["a"]);
    let mut terminal = Terminal::start(far.command(&["attach", "--via", tunnel.short_url()]), 80, 24);
    terminal.type_in(b"echo $((6*7))=answer\r");
    terminal.until("42=answer");
    swb.ok(&["send", "--enter", "a", "echo last-$((6*7)); exit 3"]);
    terminal.until("last-42");
    assert_eq!(terminal.wait(), 3, "as without a tunnel");
    tunnel.event("connected");
    assert_eq!(tunnel.ended(), ("session".to_owned(), 1));
}

#[test]
fn the_reason_of_the_end_reaches_the_other_machine() {
    let (swb, far) = (Swb::start(SWB), Swb::new(SWB));
    swb.make("a", &["bash", "--norc"]);
    swb.json(&["serve", "--port", "0"]);
    let tunnel = Tunnel::open(&swb, &[]);
    let mut terminal = Terminal::start(far.command(&["attach", "--via", tunnel.short_url(), "a"]), 80, 24);
    terminal.type_in(b"echo $((6*7))=answer\r");
    terminal.until("42=answer");
    swb.ok(&["tunnel", "revoke", tunnel.id()]);
    terminal.until("the tunnel has ended: it was revoked on the other machine");
    assert_eq!(terminal.wait(), 1);
}

#[test]
fn a_smaller_window_at_the_other_end_gives_the_size_back() {
    let (swb, far) = (Swb::start(SWB), Swb::new(SWB));
    swb.make("a", &["bash", "--norc"]);
    swb.json(&["serve", "--port", "0"]);
    let size = || {
        let item = swb.session("a").unwrap();
        (item["cols"].as_u64().unwrap(), item["rows"].as_u64().unwrap())
    };
    let mut near = Terminal::start(swb.command(&["attach", "a"]), 100, 30);
    near.until("bash-");
    let tunnel = Tunnel::open(&swb, &["a"]);
    let mut guest = Terminal::start(far.command(&["attach", "--via", tunnel.short_url()]), 60, 12);
    guest.until("bash-");
    wait_for("the guest's size", || (size() == (60, 12)).then_some(()));
    near.type_in(b"echo near\r");
    wait_for("the size of who types", || (size() == (100, 30)).then_some(()));
    guest.until("near");
    guest.type_in(b"echo guest\r");
    wait_for("the guest's size", || (size() == (60, 12)).then_some(()));
    near.until("guest");
    guest.type_in(b"\x1d");
    assert_eq!(guest.wait(), 0);
    wait_for("the near size", || (size() == (100, 30)).then_some(()));
}
