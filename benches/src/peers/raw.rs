//! A raw PTY: the program directly on the benchmark's terminal, nothing in between.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{PipeReader, PipeWriter};
use std::process::Command;
use std::thread::JoinHandle;

use anyhow::{Context, Result};

use super::{Peer, Place};
use crate::pty::{READ, Terminal, read_master};
use crate::wait;

/// The yardstick without any server: sessions are threads that read and throw away.
pub(crate) struct Raw {
    place: Place,
    sessions: HashMap<String, Drained>,
}

impl Raw {
    pub(crate) fn new(place: &Place) -> Self {
        Self { place: place.clone(), sessions: HashMap::new() }
    }

    /// Starts the program on a terminal.
    pub(crate) fn spawn(&self, argv: &[OsString]) -> Result<Terminal> {
        let (program, args) = argv.split_first().context("no command")?;
        let mut command: Command = self.place.command(program);
        command.args(args);
        Terminal::spawn(command)
    }
}

impl Peer for Raw {
    fn create(&mut self, session: &str, argv: &[OsString]) -> Result<()> {
        // Sessions whose program has ended would otherwise hold their descriptors until the end of the run.
        self.sessions.retain(|_, s| !s.thread.is_finished());
        let drained = Drained::start(self.spawn(argv)?)?;
        self.sessions.insert(session.into(), drained);
        Ok(())
    }

    fn attach(&mut self, session: &str) -> Result<Terminal> {
        Ok(self.sessions.remove(session).context("no such session")?.take())
    }

    fn servers(&self) -> Result<Vec<u32>> {
        Ok(Vec::new())
    }
}

/// A terminal that a thread reads until a client takes it.
struct Drained {
    terminal: Terminal,
    stop: PipeWriter,
    thread: JoinHandle<()>,
}

impl Drained {
    fn start(terminal: Terminal) -> Result<Self> {
        let (stopped, stop) = std::io::pipe()?;
        let master = terminal.master()?;
        let thread = std::thread::spawn(move || drain(master, &stopped));
        Ok(Self { terminal, stop, thread })
    }

    fn take(self) -> Terminal {
        drop(self.stop);
        self.thread.join().ok();
        self.terminal
    }
}

fn drain(mut master: File, stopped: &PipeReader) {
    let mut buf = vec![0; READ];
    loop {
        // Without an end in sight: the thread lives as long as its session.
        let ready = wait::readable([&master, stopped], wait::step());
        match ready {
            Ok([_, true]) | Err(_) => return,
            Ok([true, _]) if matches!(read_master(&mut master, &mut buf), Ok(0) | Err(_)) => return,
            Ok(_) => {}
        }
    }
}
