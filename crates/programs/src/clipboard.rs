//! Setting the clipboard through the first program that can.

use crate::limits;
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;
use swb_engine::ClipboardSink;

/// Programs that set the clipboard to their standard input. Each knows best whether there is a clipboard for it.
const PROGRAMS: [&[&str]; 4] =
    [&["wl-copy"], &["xclip", "-selection", "clipboard"], &["xsel", "--clipboard", "--input"], &["pbcopy"]];

/// The clipboard of the user's desktop.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClipboard;

impl ClipboardSink for SystemClipboard {
    /// Gives `content` to the first program that takes it (CR-19).
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
    // In memory of its own rather than through a pipe, which a program that does not read would block.
    let input = swb_keeper::sealed_memfd("swb-clipboard", content)?;
    rustix::fs::seek(&input, rustix::fs::SeekFrom::Start(0))?;
    let mut command = Command::new(argv[0]);
    // Those that stay to hand the content out must hold nothing of ours.
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
