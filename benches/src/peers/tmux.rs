//! tmux: one server with a screen model for all sessions.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Peer, Place, installed, run};
use crate::pty::{SIZE, Terminal};

pub(super) struct Tmux {
    place: Place,
    config: PathBuf,
}

impl Tmux {
    pub(super) fn new(place: &Place) -> Result<Self> {
        installed("tmux")?;
        // Without the status line, whose clock would show up as noise.
        let config = place.file("tmux.conf", "set -g status off\nset -s escape-time 0\n")?;
        Ok(Self { place: place.clone(), config })
    }

    fn command(&self) -> Command {
        let mut command = self.place.command("tmux");
        command.arg("-S").arg(self.place.dir.join("tmux")).arg("-f").arg(&self.config);
        command
    }
}

impl Peer for Tmux {
    fn create(&mut self, session: &str, argv: &[OsString]) -> Result<()> {
        let (cols, rows) = SIZE;
        let mut command = self.command();
        command.args(["new-session", "-d", "-s", session]);
        command.args(["-x", &cols.to_string(), "-y", &rows.to_string(), "--"]).args(argv);
        run(command).map(drop)
    }

    fn attach(&mut self, session: &str) -> Result<Terminal> {
        let mut command = self.command();
        command.args(["attach-session", "-t", &format!("={session}")]);
        Terminal::spawn(command)
    }

    fn servers(&self) -> Result<Vec<u32>> {
        let mut command = self.command();
        command.args(["display-message", "-p", "#{pid}"]);
        let pid = run(command)?;
        Ok(vec![pid.trim().parse().with_context(|| format!("tmux reports an invalid pid: {pid:?}"))?])
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = self.command();
        command.arg("kill-server");
        // Fails if the last session's end has already ended the server.
        run(command).ok();
    }
}
