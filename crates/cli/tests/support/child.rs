//! Programs that run while the test continues.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::process::{Child, Output};
use std::time::Duration;
use swb_testkit::LIMIT;

/// Whether a child has ended, or does within `limit`.
#[track_caller]
pub(crate) fn ends_within(child: &mut Child, limit: Duration) -> bool {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).expect("a child");
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)).expect("a poll") > 0
}

/// Waits for a child's end; what it wrote meanwhile has to fit a pipe.
#[track_caller]
pub(crate) fn finish(mut child: Child) -> Output {
    assert!(ends_within(&mut child, LIMIT), "it does not end");
    child.wait_with_output().expect("its output")
}
