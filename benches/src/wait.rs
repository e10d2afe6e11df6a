//! Waiting, always with an end.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long any single step of a measurement may take before the contender counts as broken.
///
/// Many times the slowest step there is: 64 MiB through a contender with a screen model takes seconds.
pub(crate) const STEP: Duration = Duration::from_secs(60);

/// The end of a step that starts now.
pub(crate) fn step() -> Instant {
    Instant::now() + STEP
}

/// Waits until one of the descriptors has something to read, or `until` has passed.
///
/// Returns for each descriptor whether it is ready; a closed other end counts as ready.
pub(crate) fn readable<const N: usize>(fds: [&dyn AsFd; N], until: Instant) -> io::Result<[bool; N]> {
    loop {
        let mut polls = fds.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut polls, Some(&left)) {
            Ok(_) => return Ok(polls.map(|p| !p.revents().is_empty())),
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        }
    }
}

/// Lets time pass.
#[expect(clippy::disallowed_methods, reason = "idle time is itself what some benchmarks measure")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Asks again and again until there is an answer, or `limit` has passed.
pub(crate) fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() > end {
            return None;
        }
        pause(Duration::from_millis(2));
    }
}
