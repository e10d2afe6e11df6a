//! dtach: a process per session, no screen model, no history.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Peer, Place, installed, run};
use crate::pty::Terminal;

pub(super) struct Dtach {
    place: Place,
}

impl Dtach {
    pub(super) fn new(place: &Place) -> Result<Self> {
        installed("dtach")?;
        Ok(Self { place: place.clone() })
    }

    /// No detach or suspend key, no redraw: dtach at its leanest.
    fn command(&self, verb: &str, session: &str) -> Command {
        let socket: PathBuf = self.place.dir.join(format!("dtach-{session}"));
        let mut command = self.place.command("dtach");
        command.arg(verb).arg(socket).args(["-E", "-z", "-r", "none"]);
        command
    }
}

impl Peer for Dtach {
    fn create(&mut self, session: &str, argv: &[OsString]) -> Result<()> {
        let mut command = self.command("-n", session);
        command.args(argv);
        run(command).map(drop)
    }

    fn attach(&mut self, session: &str) -> Result<Terminal> {
        Terminal::spawn(self.command("-a", session))
    }

    fn servers(&self) -> Result<Vec<u32>> {
        Ok(self.place.servers_named("dtach"))
    }
}
