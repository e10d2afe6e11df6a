//! The ideal relay of [`crate::relay`], one server process per session.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Child;

use anyhow::Result;

use super::{Peer, Place};
use crate::pty::Terminal;
use crate::relay::{CLIENT, SERVER};

pub(super) struct Relay {
    place: Place,
    servers: HashMap<String, Child>,
}

impl Relay {
    pub(super) fn new(place: &Place) -> Self {
        Self { place: place.clone(), servers: HashMap::new() }
    }

    fn socket(&self, session: &str) -> PathBuf {
        self.place.dir.join(format!("relay-{session}"))
    }
}

impl Peer for Relay {
    fn create(&mut self, session: &str, argv: &[OsString]) -> Result<()> {
        let mut command = self.place.command(&self.place.exe);
        command.arg(SERVER).arg(self.socket(session)).args(argv);
        self.servers.insert(session.into(), command.spawn()?);
        Ok(())
    }

    fn attach(&mut self, session: &str) -> Result<Terminal> {
        let mut command = self.place.command(&self.place.exe);
        command.arg(CLIENT).arg(self.socket(session));
        Terminal::spawn(command)
    }

    fn listen(&self, session: &str) -> Result<(UnixStream, bool)> {
        Ok((UnixStream::connect(self.socket(session))?, false))
    }

    fn servers(&self) -> Result<Vec<u32>> {
        Ok(self.servers.values().map(Child::id).collect())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        for server in self.servers.values_mut() {
            server.kill().ok();
            server.wait().ok();
        }
    }
}
