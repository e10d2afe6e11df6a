//! shpool: one server with a thread per session and, by default, a screen model for each.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};

use anyhow::{Context, Result, bail};

use super::{Peer, Place, installed, run};
use crate::pty::Terminal;
use crate::wait;

pub(super) struct Shpool {
    place: Place,
    socket: PathBuf,
    config: PathBuf,
    daemon: Child,
}

impl Shpool {
    pub(super) fn new(place: &Place) -> Result<Self> {
        installed("shpool")?;
        // Its defaults, but for the message of the day, which would be read from files outside the place.
        let config = place.file("shpool.toml", "motd = \"never\"\n")?;
        let socket = place.dir.join("shpool");
        let log = File::create(place.dir.join("shpool.log"))?;
        let mut command = Self::command_in(place, &socket, &config);
        command.arg("daemon").stdout(log.try_clone()?).stderr(log);
        let daemon = command.spawn().context("cannot start shpool daemon")?;
        let mut shpool = Self { place: place.clone(), socket, config, daemon };
        if wait::until(wait::STEP, || UnixStream::connect(&shpool.socket).ok()).is_none() {
            let ended = shpool.daemon.try_wait()?;
            bail!("its daemon is not ready ({ended:?})");
        }
        Ok(shpool)
    }

    fn command_in(place: &Place, socket: &PathBuf, config: &PathBuf) -> Command {
        let mut command = place.command("shpool");
        command.arg("--socket").arg(socket).arg("--config-file").arg(config).arg("--no-daemonize");
        command
    }

    fn command(&self) -> Command {
        Self::command_in(&self.place, &self.socket, &self.config)
    }
}

impl Peer for Shpool {
    fn create(&mut self, session: &str, argv: &[OsString]) -> Result<()> {
        // It takes a command as one line of words.
        let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
        let mut command = self.command();
        command.args(["attach", "--background", "--cmd", &words.join(" "), session]);
        run(command).map(drop)
    }

    fn attach(&mut self, session: &str) -> Result<Terminal> {
        let mut command = self.command();
        // It takes the client that created the session for an attached one for a while.
        command.args(["attach", "--force", session]);
        Terminal::spawn(command)
    }

    fn servers(&self) -> Result<Vec<u32>> {
        Ok(vec![self.daemon.id()])
    }
}

impl Drop for Shpool {
    fn drop(&mut self) {
        self.daemon.kill().ok();
        self.daemon.wait().ok();
    }
}
