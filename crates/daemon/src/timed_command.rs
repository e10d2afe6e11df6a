//! Runs a program that may hang, for a limited time.

use crate::limits;
use std::io;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs a program to its end and returns its standard output; nothing, and the program is killed, if it takes longer than
/// `limit`. Blocks: call it on a thread of its own. The output must fit a pipe.
pub(crate) fn output_within(command: &mut Command, limit: Duration) -> io::Result<Option<Output>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let deadline = Instant::now() + limit;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            let _killed = child.kill();
            let _reaped = child.wait();
            return Ok(None);
        }
        std::thread::park_timeout(limits::COMMAND_CHECK);
    }
    child.wait_with_output().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_killed() {
        let shell = |script| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            command
        };
        let output =
            output_within(&mut shell("echo done; exit 3"), Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"done\n"[..], Some(3)));
        assert!(output_within(&mut shell("exec sleep 600"), Duration::from_millis(50)).unwrap().is_none());
        assert!(output_within(&mut Command::new("/nowhere"), Duration::ZERO).is_err());
    }
}
