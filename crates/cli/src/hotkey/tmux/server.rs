//! Commands to a tmux server, with bounded waits.

use crate::limits;
use std::io::{self, Write};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;

/// Runs a tmux command with this input; returns its output.
///
/// The server is the one of `$TMUX`. A command that is not done in time fails: the server may hang.
pub(super) fn tmux(args: &[&str], input: &[u8]) -> io::Result<Vec<u8>> {
    let mut command = Command::new("tmux");
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let pid = rustix::process::Pid::from_child(&child);
    let (input, stdin) = (input.to_vec(), child.stdin.take());
    let (done, output) = mpsc::sync_channel(1);
    // The process is waited for in a thread, since its pipes can block.
    std::thread::Builder::new().spawn(move || {
        // A command that does not read its input reports why in its output.
        if let Some(mut stdin) = stdin {
            drop(stdin.write_all(&input));
        }
        let _received = done.send(child.wait_with_output());
    })?;
    match output.recv_timeout(limits::TMUX_COMMAND) {
        Ok(output) => succeeded(output?),
        Err(_) => {
            let _killed = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            Err(io::Error::new(io::ErrorKind::TimedOut, "timed out waiting for tmux"))
        }
    }
}

fn succeeded(output: Output) -> io::Result<Vec<u8>> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
