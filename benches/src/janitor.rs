//! The process that cleans up after a run, however the run ended.
//!
//! Contenders start servers that leave our process tree on purpose, so ending our children is not enough.
//! The janitor holds the reading end of a pipe whose writing end only the run has: when the run ends,
//! regularly, by Ctrl+C, a panic or SIGKILL, the janitor kills every process that carries the run's mark
//! and removes the run's directory.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::{proc, wait};

/// First argument of the hidden mode.
pub(crate) const MODE: &str = "__janitor";

/// A directory that disappears, with all processes that were started in it, when this is dropped.
pub(crate) struct Scratch {
    dir: PathBuf,
    janitor: Child,
    alive: Option<ChildStdin>,
}

impl Scratch {
    /// Makes the directory and starts its janitor.
    pub(crate) fn new(exe: &Path) -> Result<Self> {
        // Not in $TMPDIR: socket paths below it may have at most 107 bytes.
        let dir = tempfile::Builder::new().prefix("swbb").tempdir_in("/tmp")?.keep();
        let mut command = Command::new(exe);
        // Its own process group, so that a Ctrl+C meant for the run does not end it.
        command.arg(MODE).arg(&dir).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut janitor = command.spawn().context("cannot start the janitor")?;
        let alive = janitor.stdin.take();
        Ok(Self { dir, janitor, alive })
    }

    /// The directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.alive.take());
        self.janitor.wait().ok();
    }
}

/// The hidden mode: waits for the end of the run, then cleans up.
pub(crate) fn run(dir: &Path) -> Result<()> {
    io::stdin().read_to_end(&mut Vec::new())?;
    // Twice in a row, because a process may have forked while the list was read.
    let mut quiet = 0;
    let gone = wait::until(Duration::from_secs(10), || {
        quiet = if kill_tagged(dir) { 0 } else { quiet + 1 };
        (quiet == 2).then_some(())
    });
    if gone.is_none() {
        eprintln!("some processes of {} do not end", dir.display());
    }
    fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))
}

fn kill_tagged(dir: &Path) -> bool {
    let pids = proc::tagged(dir);
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid as i32)) {
        kill_process(pid, Signal::KILL).ok();
    }
    !pids.is_empty()
}
