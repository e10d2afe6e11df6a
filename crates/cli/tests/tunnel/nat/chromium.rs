//! The page for tunnels in Chromium, in networks of all kinds. It is opened from a file, so the test carries the answer.

use super::host_in;
use super::spaces::{Internet, Nat, SERVER, Space, bad_wire, lan};
use crate::Tunnel;
use crate::support::needs;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use tempfile::TempDir;

/// The repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The longest wait for the browser, which waits half a minute for a connection by itself.
const LIMIT: Duration = Duration::from_secs(120);

/// A browser in a network of its own, with the page for one tunnel.
struct Browser {
    script: Child,
    lines: Receiver<Value>,
    _page: TempDir,
}

impl Browser {
    fn open(space: &Space, address: &str) -> Self {
        let page = tempfile::tempdir().unwrap();
        let built = Command::new("npm")
            .args(["run", "--silent", "connect-page"])
            .current_dir(format!("{ROOT}/web"))
            .env("SWB_CONNECT_DIR", page.path())
            .output()
            .expect("npm");
        assert!(built.status.success(), "{built:?}");
        let mut command = Command::new("node");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tunnel/nat/browser.mjs"));
        command.arg(page.path().join("connect.html")).arg(address);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = space.enter(|| command.spawn()).expect("node");
        let stdout = script.stdout.take().unwrap();
        let (sender, lines) = sync_channel(4);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _sent = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { script, lines, _page: page }
    }

    /// What the script reports next, which has to be this.
    #[track_caller]
    fn reports(&self, key: &str) -> String {
        let line =
            self.lines.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("the browser reports no '{key}'"));
        line[key].as_str().unwrap_or_else(|| panic!("{line}")).to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its end of input ends the script, and the script its browser.
        drop(self.script.stdin.take());
        let _ended = self.script.wait();
    }
}

/// Requires that a terminal in a browser of one network reaches a host in another.
#[track_caller]
fn connects(host: &Space, peer: &Space, servers: &[&str]) {
    connects_after(host, peer, servers, Duration::ZERO);
}

/// The same with a person who takes this long to carry the answer.
#[track_caller]
fn connects_after(host: &Space, peer: &Space, servers: &[&str], after: Duration) {
    let swb = host_in(host);
    let mut tunnel = Tunnel::open_with(&swb, servers);
    let browser = Browser::open(peer, tunnel.url());
    let answer = browser.reports("answer");
    // Nothing happens meanwhile.
    assert!(tunnel.lines.recv_timeout(after).is_err());
    tunnel.type_in(&answer);
    tunnel.event("connected");
    assert_eq!(browser.reports("shown"), "over-42");
    drop(browser);
    assert_eq!(tunnel.ended(), ("peer".to_owned(), 0));
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn a_browser_in_the_same_network() {
    needs::root();
    let (host, peer) = lan("192.168.1.2/24", "192.168.1.3/24");
    connects(&host, &peer, &["--no-stun"]);
}

// A browser gives up on addresses that do not reply within half a minute, a person takes longer.
#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn an_answer_of_a_browser_may_take_its_time() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) = (internet.open_machine(10), internet.machine_behind(Nat::Symmetric, 11));
    connects_after(&host, &peer, &["--no-stun"], Duration::from_secs(60));
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn a_browser_over_a_bad_wire() {
    needs::root();
    let (host, peer, _wire) = bad_wire();
    connects(&host, &peer, &["--no-stun"]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn a_browser_behind_a_router() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) = (internet.open_machine(10), internet.machine_behind(Nat::Symmetric, 11));
    connects(&host, &peer, &["--no-stun"]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn a_browser_and_a_host_behind_routers_that_keep_ports() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) = (internet.machine_behind(Nat::Cone, 10), internet.machine_behind(Nat::Cone, 11));
    internet.start_server();
    connects(&host, &peer, &["--stun", &format!("stun:{SERVER}")]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn a_browser_and_a_host_behind_routers_that_change_ports() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) =
        (internet.machine_behind(Nat::Symmetric, 10), internet.machine_behind(Nat::Symmetric, 11));
    internet.start_server();
    connects(&host, &peer, &["--no-stun", "--turn", &format!("turn:u:p@{SERVER}")]);
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn where_there_is_no_way_the_host_shows_what_to_try() {
    needs::root();
    let mut internet = Internet::new();
    let (host, peer) =
        (internet.machine_behind(Nat::Symmetric, 10), internet.machine_behind(Nat::Symmetric, 11));
    internet.start_server();
    let swb = host_in(&host);
    let mut tunnel = Tunnel::open_with(&swb, &["--stun", &format!("stun:{SERVER}")]);
    let browser = Browser::open(&peer, tunnel.url());
    tunnel.type_in(&browser.reports("answer"));
    let closed = tunnel.event_within("closed", LIMIT);
    assert!(closed["message"].as_str().unwrap().contains("--turn"), "{closed}");
}
