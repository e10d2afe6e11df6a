//! Sets the clipboard with the first installed program that succeeds.

use crate::limits;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Instant;
use swb_engine::ClipboardSink;

/// Programs that set the clipboard to their standard input. Each detects itself whether its kind of clipboard is
/// available.
const PROGRAMS: [&[&str]; 4] =
    [&["wl-copy"], &["xclip", "-selection", "clipboard"], &["xsel", "--clipboard", "--input"], &["pbcopy"]];

/// Variables that name the desktop; the programs inherit those of the daemon.
const DISPLAYS: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

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
        if !DISPLAYS.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
            reasons.push("the daemon was started without DISPLAY and WAYLAND_DISPLAY".to_owned());
        }
        Err(reasons.join("; "))
    }
}

fn run(argv: &[&str], content: &[u8]) -> io::Result<()> {
    // A file in memory rather than a pipe: a program that does not read would block a pipe.
    let input = swb_keeper::sealed_memfd("swb-clipboard", content)?;
    rustix::fs::seek(&input, rustix::fs::SeekFrom::Start(0))?;
    let errors = error_file()?;
    let mut command = Command::new(argv[0]);
    // Programs that keep running to serve the content must hold none of our descriptors but files in memory.
    command.args(&argv[1..]).stdin(Stdio::from(input)).stdout(Stdio::null()).stderr(errors.try_clone()?);
    let mut child = command.spawn()?;
    let deadline = Instant::now() + limits::CLIPBOARD;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(failure(&status.to_string(), &errors))),
            None if Instant::now() >= deadline => {
                child.kill()?;
                child.wait()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
            None => std::thread::park_timeout(limits::CLIPBOARD_POLL),
        }
    }
}

/// A file in memory for what a program writes to standard error. It never grows: a program that keeps running cannot
/// fill the memory.
fn error_file() -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    let file = memfd_create("swb-clipboard-errors", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, limits::CLIPBOARD_ERRORS as u64)?;
    fcntl_add_seals(&file, SealFlags::GROW)?;
    Ok(file)
}

/// Why a program failed: its own words on one line, or else how it ended.
fn failure(status: &str, errors: &OwnedFd) -> String {
    let mut bytes = [0; limits::CLIPBOARD_ERRORS];
    let length = rustix::io::pread(errors, &mut bytes, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(bytes.get(..length).unwrap_or_default()).into_owned();
    let words: Vec<&str> =
        text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|w| !w.is_empty()).collect();
    if words.is_empty() { status.to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_quoted() {
        let error = run(&["sh", "-c", "echo Error: no display >&2; exit 1"], b"x").unwrap_err();
        assert_eq!(error.to_string(), "Error: no display");
        let silent = run(&["sh", "-c", "exit 3"], b"x").unwrap_err();
        assert_eq!(silent.to_string(), "exit status: 3");
        let loud = "head -c 100000 /dev/zero | tr '\\0' x >&2 2>/dev/null; exit 1";
        assert!(run(&["sh", "-c", loud], b"x").unwrap_err().to_string().len() <= limits::CLIPBOARD_ERRORS);
        run(&["cat"], b"x").unwrap();
    }
}
