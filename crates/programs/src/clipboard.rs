//! Sets the clipboard with the first installed program that succeeds.

use crate::limits;
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;
use swb_engine::ClipboardSink;

/// Programs that set the clipboard to their standard input. Each detects itself whether its kind of clipboard is
/// available.
const PROGRAMS: [&[&str]; 4] =
    [&["wl-copy"], &["xclip", "-selection", "clipboard"], &["xsel", "--clipboard", "--input"], &["pbcopy"]];

/// The clipboard of the user's desktop.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClipboard;

impl ClipboardSink for SystemClipboard {
    /// Passes `content` to the programs in turn until one succeeds (CR-19).
    fn set(&self, content: &[u8]) -> Result<(), String> {
        let mut reasons = Vec::new();
        for argv in PROGRAMS {
            match run(argv, content) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => reasons.push(format!("{}: {error}", argv[0])),
            }
        }
        if reasons.is_empty() {
            reasons.push("neither wl-copy, xclip, xsel nor pbcopy is installed".to_owned());
        }
        Err(reasons.join("; "))
    }
}

fn run(argv: &[&str], content: &[u8]) -> io::Result<()> {
    // A file in memory rather than a pipe: a program that does not read would block a pipe.
    let input = swb_keeper::sealed_memfd("swb-clipboard", content)?;
    rustix::fs::seek(&input, rustix::fs::SeekFrom::Start(0))?;
    let mut command = Command::new(argv[0]);
    // Programs that keep running to serve the content must hold none of our descriptors.
    command.args(&argv[1..]).stdin(Stdio::from(input)).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let deadline = Instant::now() + limits::CLIPBOARD;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(status.to_string())),
            None if Instant::now() >= deadline => {
                child.kill()?;
                child.wait()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
            None => std::thread::park_timeout(limits::CLIPBOARD_POLL),
        }
    }
}
