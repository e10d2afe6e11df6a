//! Tunnels, with the command line at both ends. `tests/tunnel` has the checks with a WebRTC peer that is not ours.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod aiortc;
mod ends;
mod nat;
mod rendezvous;
mod via;

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use swb_testkit::Swb;

const SWB: &str = env!("CARGO_BIN_EXE_swb");

/// Longest wait for anything.
const LIMIT: Duration = Duration::from_secs(60);

/// A running `swb tunnel --json`.
struct Tunnel {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    offer: Value,
}

impl Tunnel {
    fn open(swb: &Swb, args: &[&str]) -> Self {
        Self::open_with(swb, &[&["--no-stun"], args].concat())
    }

    /// The same with STUN servers, as far as `args` has any.
    fn open_with(swb: &Swb, args: &[&str]) -> Self {
        let args = [&["tunnel", "--json"], args].concat();
        let mut command = swb.command(&args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = sync_channel(16);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _sent = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        let mut tunnel = Self { child, stdin, lines, offer: Value::Null };
        tunnel.offer = tunnel.event("offer");
        tunnel
    }

    /// The next line, which has to be this event.
    fn event(&self, name: &str) -> Value {
        self.event_within(name, LIMIT)
    }

    fn event_within(&self, name: &str, limit: Duration) -> Value {
        let line = self.lines.recv_timeout(limit).unwrap_or_else(|_| panic!("no event '{name}'"));
        assert_eq!(line["event"], name, "{line}");
        line
    }

    fn url(&self) -> &str {
        self.offer["url"].as_str().unwrap()
    }

    fn short_url(&self) -> &str {
        self.offer["short_url"].as_str().unwrap()
    }

    fn id(&self) -> &str {
        self.offer["tunnel"].as_str().unwrap()
    }

    fn type_in(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// The reason for which it ended, and its exit code.
    fn ended(mut self) -> (String, i32) {
        let closed = self.event("closed");
        assert_eq!(closed["tunnel"], self.offer["tunnel"]);
        let code = self.child.wait().unwrap().code().unwrap();
        (closed["reason"].as_str().unwrap().to_owned(), code)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        // It may have ended.
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}
