//! GNU screen: a process with a screen model per session.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Peer, Place, installed, run};
use crate::pty::Terminal;

pub(super) struct Screen {
    place: Place,
    config: PathBuf,
}

impl Screen {
    pub(super) fn new(place: &Place) -> Result<Self> {
        installed("screen")?;
        let config = place.file("screenrc", "startup_message off\ndefutf8 on\ndefflow off\nvbell off\n")?;
        Ok(Self { place: place.clone(), config })
    }

    fn command(&self) -> Command {
        let mut command = self.place.command("screen");
        // It insists on a directory of its own with mode 0700, and the runtime directory has that.
        command.env("SCREENDIR", self.place.runtime()).arg("-c").arg(&self.config);
        command
    }
}

impl Peer for Screen {
    fn create(&mut self, session: &str, argv: &[OsString]) -> Result<()> {
        let mut command = self.command();
        command.args(["-d", "-m", "-S", session]).args(argv);
        run(command).map(drop)
    }

    fn attach(&mut self, session: &str) -> Result<Terminal> {
        let mut command = self.command();
        command.args(["-r", session]);
        Terminal::spawn(command)
    }

    fn servers(&self) -> Result<Vec<u32>> {
        Ok(self.place.servers_named("screen"))
    }
}
