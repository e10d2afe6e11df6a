//! Runs a program that may hang, for a limited time.

use crate::limits;
use rustix::process::{Pid, Signal, getpgid, kill_process_group};
use std::io::{self, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs a program to its end and returns its standard output; nothing, and the program is killed, if it takes longer than
/// `limit`, with everything in its process group if it leads one. Blocks: call it on a thread of its own. The output must fit a
/// pipe. What the program leaves running may keep the pipe open, so only what is in it at the program's end counts.
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
            kill_group(&child);
            let _killed = child.kill();
            let _reaped = child.wait();
            return Ok(None);
        }
        std::thread::park_timeout(limits::COMMAND_CHECK);
    }
}

/// Kills the process group of a child, if it leads one; ours must not end with it.
fn kill_group(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|pid| getpgid(Some(*pid)) == Ok(*pid)) {
        // It may have ended in this moment.
        let _killed = kill_process_group(pid, Signal::KILL);
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
    fn what_a_program_that_hangs_has_started_is_killed_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        // Both hold the FIFO open; reading it to its end shows that both are gone.
        let mut command = shell(&format!("exec 3> '{}'; sleep 600 & sleep 600", fifo.display()));
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let reader = std::thread::spawn(move || std::fs::read(fifo).unwrap());
        assert!(output_within(&mut command, Duration::from_millis(500)).unwrap().is_none());
        assert!(reader.join().unwrap().is_empty());
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
