//! Harness for tests with a real daemon, real sockets and real terminals.
//!
//! - [`Swb`]: a temporary home with a daemon in it, and the means to run the program there;
//! - [`ClippyClient`], [`CoopClient`], [`KeeptyClient`]: raw clients that see and send exactly what the wire carries;
//! - [`ChatClient`]: the same for conversations, and [`scripted_agent`] to answer in them;
//! - [`ScreenClient`]: a client with a terminal, which shows output and replies to queries;
//! - [`Follower`]: a client that reconnects at its offset whenever it loses its connection;
//! - [`Terminal`]: a program on a PTY of the test, as on a user's terminal;
//! - [`Fifo`]: text for a child beside its terminal;
//! - [`wait_for`]: waits for a condition instead of for time; [`stays`]: checks that a condition keeps holding.

mod clippy;
mod coop;
mod fifo;
mod follower;
mod keepty;
mod process;
mod screen;
mod scriptschnell;
mod swb;
mod sys;
mod terminal;
mod web;

pub use clippy::{ClippyClient, ClippyItem, ClippyReply, ClippyTurn};
pub use coop::{CoopClient, StreamItem};
pub use fifo::Fifo;
pub use follower::Follower;
pub use keepty::{Frame, KeeptyClient};
pub use process::{children, in_time, is_alive, is_zombie, keepers_in, signal};
pub use screen::{ScreenClient, assert_same};
pub use scriptschnell::{ChatClient, Generation, assistant_text, of_kind, refusal, scripted_agent};
pub use swb::Swb;
pub use terminal::Terminal;
pub use web::{HttpResponse, Web, WebClient, read_response, resize, sorted_keys};

use std::time::{Duration, Instant};

/// Timeout for anything in a test: far more than a busy machine needs.
pub const LIMIT: Duration = Duration::from_secs(30);
/// How long to watch for something that must not happen.
pub const QUIET: Duration = Duration::from_millis(300);
/// A process id that no process has: larger than the kernel's limit.
pub const NO_PROCESS: u32 = 2_000_000_000;

/// Output as text, with invalid bytes replaced.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks a condition repeatedly until it holds; panics with `what` if it does not within [`LIMIT`].
#[track_caller]
pub fn wait_for<T>(what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(found) = fact() {
            return found;
        }
        assert!(Instant::now() < end, "timed out waiting for {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Requires that a condition holds, and still does after [`QUIET`]; panics with `what` if not.
#[track_caller]
pub fn stays(what: &str, mut fact: impl FnMut() -> bool) {
    let end = Instant::now() + QUIET;
    loop {
        assert!(fact(), "it did not last: {what}");
        if Instant::now() >= end {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
