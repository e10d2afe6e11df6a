//! Ends a guard, even one that its program interferes with.
//!
//! A program that is not confined, or confined by an old kernel, can send signals to its guard: it could stop it and
//! outlive it. Therefore the guard is watched until it has ended.

use crate::command::limits;
use crate::guard;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Ends a guard that was not waited for yet, and everything below it. Returns at once.
pub(super) fn end(guard: Pid) {
    send_term_and_cont(|signal| kill_process(guard, signal));
    // The process id may be reused once the guard has ended; the pidfd is not.
    let Ok(process) = pidfd_open(guard, PidfdFlags::empty()) else { return };
    let watch = move || watch(guard, &process);
    if let Err(error) = std::thread::Builder::new().name("guard-exit".into()).spawn(watch) {
        tracing::warn!(%error, "cannot wait for a guard to end");
    }
}

fn send_term_and_cont(send: impl Fn(Signal) -> Result<(), Errno>) {
    for signal in [Signal::TERM, Signal::CONT] {
        // It may have ended by itself.
        let _sent = send(signal);
    }
}

fn watch(guard: Pid, process: &OwnedFd) {
    let mut limit = limits::GUARD_EXIT;
    for _ in 0..limits::GUARD_ROUNDS {
        if ends(process, limit) {
            return;
        }
        guard::kill_below(guard);
        send_term_and_cont(|signal| pidfd_send_signal(process, signal));
        limit = limits::GUARD_PAUSE;
    }
    if !ends(process, limits::GUARD_PAUSE) {
        tracing::warn!(pid = guard.as_raw_nonzero().get(), "killed a guard that did not end");
        let _killed = pidfd_send_signal(process, Signal::KILL);
    }
}

/// Whether a process ends in time.
fn ends(process: &OwnedFd, most: Duration) -> bool {
    let most = Timespec { tv_sec: most.as_secs().cast_signed(), tv_nsec: most.subsec_nanos().into() };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&most)).is_ok_and(|ready| ready > 0)
}
