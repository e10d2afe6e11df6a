//! Runs a program that may hang, for a limited time.

use crate::limits;
use std::io::{self, Read};
use std::process::{ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs a program to its end and returns its standard output; nothing, and the program is killed, if it takes longer than
/// `limit`. Blocks: call it on a thread of its own. The output must fit a pipe. What the program leaves running may keep the
/// pipe open, so only what is in it at the program's end counts.
pub fn output_within(command: &mut Command, limit: Duration) -> io::Result<Option<Output>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            let stdout = child.stdout.take().map_or_else(|| Ok(Vec::new()), read_available)?;
            return Ok(Some(Output { status, stdout, stderr: Vec::new() }));
        }
        if Instant::now() > deadline {
            let _killed = child.kill();
            let _reaped = child.wait();
            return Ok(None);
        }
        std::thread::park_timeout(limits::COMMAND_CHECK);
    }
}

/// What is in a pipe, without waiting for its end.
fn read_available(pipe: ChildStdout) -> io::Result<Vec<u8>> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    let mut bytes = Vec::new();
    match pipe.take(limits::COMMAND_OUTPUT).read_to_end(&mut bytes) {
        // What was read before is in the buffer.
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let output =
            output_within(&mut shell("echo done; exit 3"), Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"done\n"[..], Some(3)));
        assert!(output_within(&mut shell("exec sleep 600"), Duration::from_millis(50)).unwrap().is_none());
        assert!(output_within(&mut Command::new("/nowhere"), Duration::ZERO).is_err());
    }

    #[test]
    fn what_a_program_leaves_running_is_not_waited_for() {
        let start = Instant::now();
        let mut command = shell("sleep 30 & echo done");
        let output = output_within(&mut command, Duration::from_secs(20)).unwrap().unwrap();
        assert_eq!(output.stdout, b"done\n");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}
