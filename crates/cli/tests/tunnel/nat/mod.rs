//! Tunnels between networks of all kinds: with routers between the two ends, and over a bad wire. The networks share no web
//! server, so the test carries the answer, as people would. [`chromium`] has the page as the other end.

mod chromium;
mod spaces;

use crate::support::needs;
use crate::support::view::{until_text, view};
use crate::{SWB, Tunnel};
use spaces::{Internet, Nat, SERVER, Space, bad_wire, lan};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;
use swb_testkit::{Swb, Terminal, wait_for};

/// A daemon in a network, with a session `a`.
fn host_in(space: &Space) -> Swb {
    let swb = space.enter(|| Swb::start(SWB));
    swb.make("a", &["bash", "--norc"]);
    swb
}

/// `swb ls` through a tunnel, with its answer given to the host after a while.
fn list_through(tunnel: &mut Tunnel, far: &Swb, space: &Space, after: Duration) -> Child {
    let mut command = far.command(&["ls", "--json", "--via", tunnel.url()]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = space.enter(|| command.spawn()).unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let answer = lines.map_while(Result::ok).find(|line| line.len() > 200).unwrap();
    // Nothing happens meanwhile.
    assert!(tunnel.lines.recv_timeout(after).is_err());
    tunnel.type_in(&answer);
    child
}

/// Requires that a peer in one network reaches a host in another.
#[track_caller]
fn connects(host: &Space, peer: &Space, servers: &[&str]) {
    connects_after(host, peer, servers, Duration::ZERO);
}

/// The same with a person who takes this long to carry the answer.
#[track_caller]
fn connects_after(host: &Space, peer: &Space, servers: &[&str], after: Duration) {
    let (swb, far) = (host_in(host), Swb::new(SWB));
    let mut tunnel = Tunnel::open_with(&swb, servers);
    let child = list_through(&mut tunnel, &far, peer, after);
    tunnel.event("connected");
    let listed = child.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("\"a\""), "{listed:?}");
    assert_eq!(tunnel.ended(), ("peer".to_owned(), 0));
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn two_machines_of_one_network() {
    needs::root();
    let (host, peer) = lan("192.168.1.2/24", "192.168.1.3/24");
    connects(&host, &peer, &["--no-stun"]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn two_machines_with_ipv6_only() {
    needs::root();
    let (host, peer) = lan("fd00:17::2/64", "fd00:17::3/64");
    connects(&host, &peer, &["--no-stun"]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn a_peer_behind_a_router() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) = (internet.open_machine(10), internet.machine_behind(Nat::Symmetric, 11));
    connects(&host, &peer, &["--no-stun"]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn an_answer_may_take_its_time() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) = (internet.open_machine(10), internet.machine_behind(Nat::Symmetric, 11));
    // Longer than one attempt of ICE, which only the peer can make here.
    connects_after(&host, &peer, &["--no-stun"], Duration::from_secs(40));
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn a_host_behind_a_router() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) = (internet.machine_behind(Nat::Symmetric, 10), internet.open_machine(11));
    connects(&host, &peer, &["--no-stun"]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn both_behind_routers_that_keep_ports() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) = (internet.machine_behind(Nat::Cone, 10), internet.machine_behind(Nat::Cone, 11));
    internet.start_server();
    connects(&host, &peer, &["--stun", &format!("stun:{SERVER}")]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn both_behind_routers_that_change_ports() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) =
        (internet.machine_behind(Nat::Symmetric, 10), internet.machine_behind(Nat::Symmetric, 11));
    internet.start_server();
    connects(&host, &peer, &["--no-stun", "--turn", &format!("turn:u:p@{SERVER}")]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn where_there_is_no_way_both_ends_show_what_to_try() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) =
        (internet.machine_behind(Nat::Symmetric, 10), internet.machine_behind(Nat::Symmetric, 11));
    internet.start_server();
    let (swb, far) = (host_in(&host), Swb::new(SWB));
    let mut tunnel = Tunnel::open_with(&swb, &["--stun", &format!("stun:{SERVER}")]);
    let mut child = list_through(&mut tunnel, &far, &peer, Duration::ZERO);
    let closed = tunnel.event_within("closed", crate::LIMIT * 2);
    assert_eq!(closed["reason"], "expired", "{closed}");
    assert!(closed["message"].as_str().unwrap().contains("--turn"), "{closed}");
    assert_eq!(tunnel.child.wait().unwrap().code(), Some(124));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn a_terminal_over_a_bad_wire_shows_what_it_should() {
    needs::root();
    let (host, peer, _wire) = bad_wire();
    let (swb, far) = (host_in(&host), Swb::new(SWB));
    let mut tunnel = Tunnel::open_with(&swb, &["--no-stun", "a"]);
    let command = far.command(&["attach", "--via", tunnel.url()]);
    let mut terminal = peer.enter(|| Terminal::start(command, 80, 24));
    terminal.until("swb tunnel --answer");
    let answer = wait_for("the answer", || {
        terminal.shows("\u{0}", Duration::from_millis(20));
        let seen = String::from_utf8_lossy(terminal.seen()).into_owned();
        let lines: Vec<&str> = seen.split_inclusive('\n').collect();
        lines.iter().find(|line| line.len() > 200 && line.ends_with('\n')).map(|line| line.trim().to_owned())
    });
    tunnel.type_in(&answer);
    tunnel.event("connected");
    let agrees = |terminal: &mut Terminal| {
        wait_for("the same screen at both ends", || {
            terminal.shows("\u{0}", Duration::from_millis(20));
            let (there, here) = (swb.ok(&["screen", "a"]), view(terminal).text());
            (there.trim_end() == here.trim_end()).then_some(())
        });
    };
    terminal.forget();
    terminal.type_in(b"seq 1 20000; echo the-$((1))-end\r");
    until_text(&mut terminal, "the-1-end");
    agrees(&mut terminal);
    terminal.type_in(b"seq 1 3000 > numbers; vim -u NONE -c 'set number' numbers\r");
    until_text(&mut terminal, "numbers\"");
    for _ in 0..20 {
        terminal.type_in(b"\x06");
    }
    terminal.type_in(b"1500Gothe-middle\x1b");
    until_text(&mut terminal, "1501 the-middle");
    agrees(&mut terminal);
    terminal.type_in(b":q!\r");
    // What is typed before that is vim's.
    until_text(&mut terminal, "the-1-end");
    terminal.type_in(b"echo the-$((2))-end\r");
    until_text(&mut terminal, "the-2-end");
    agrees(&mut terminal);
    terminal.type_in(b"\x1d");
    terminal.until("detached");
    assert_eq!(tunnel.ended().0, "peer");
}
