//! The ideal relay: the least that any program between child and terminal must do.
//!
//! The server reads the PTY and writes a socket, the client reads the socket and writes its terminal, and
//! the same the other way round. One blocking thread per direction, no framing; each client gets everything, one after the
//! other. What comes newest is kept in a ring, and a client that connects gets it first.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result};

use crate::pty::{READ, Terminal, read_master};
use crate::puppet::make_raw;

/// First argument of the hidden mode that owns the PTY.
pub(crate) const SERVER: &str = "__relay-server";

/// First argument of the hidden mode that a person would sit in front of.
pub(crate) const CLIENT: &str = "__relay-client";

/// Bytes of output that are kept, as much as `swb` keeps.
const KEEP: usize = 1 << 20;

/// The newest output, and who gets it.
struct Output {
    ring: Vec<u8>,
    end: usize,
    clients: Vec<UnixStream>,
}

impl Output {
    fn keep(&mut self, bytes: &[u8]) {
        let at = self.end % KEEP;
        let first = bytes.len().min(KEEP - at);
        self.ring[at..at + first].copy_from_slice(&bytes[..first]);
        self.ring[..bytes.len() - first].copy_from_slice(&bytes[first..]);
        self.end += bytes.len();
    }

    fn replay(&self, mut to: &UnixStream) -> io::Result<()> {
        let at = self.end % KEEP;
        if self.end > KEEP {
            to.write_all(&self.ring[at..])?;
        }
        to.write_all(&self.ring[..at])
    }
}

/// Runs the command on a PTY and relays it to all who connect.
pub(crate) fn serve(socket: &Path, argv: &[OsString]) -> Result<()> {
    let listener = UnixListener::bind(socket)?;
    let (program, args) = argv.split_first().context("no command")?;
    let mut command = Command::new(program);
    command.args(args);
    let terminal = Terminal::spawn(command)?;
    let output = Mutex::new(Output { ring: vec![0; KEEP], end: 0, clients: Vec::new() });
    std::thread::scope(|scope| {
        let master = terminal.master()?;
        let shared = &output;
        scope.spawn(move || {
            send_output(master, shared).ok();
            // The child is gone; nothing else may hold the process.
            std::process::exit(0);
        });
        for stream in listener.incoming() {
            let stream = stream?;
            let (input, master) = (stream.try_clone()?, terminal.master()?);
            let mut output = output.lock().expect("no holder panics");
            if output.replay(&stream).is_ok() {
                output.clients.push(stream);
            }
            drop(output);
            scope.spawn(move || copy(input, master));
        }
        Ok(())
    })
}

/// Connects this terminal to a server.
pub(crate) fn attach(socket: &Path) -> Result<()> {
    let stdin = File::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let stdout = File::from(rustix::stdio::stdout().try_clone_to_owned()?);
    make_raw(&stdin)?;
    let stream = UnixStream::connect(socket)?;
    let keys = stream.try_clone()?;
    std::thread::spawn(move || copy(stdin, keys));
    Ok(copy(stream, stdout)?)
}

fn send_output(mut master: File, output: &Mutex<Output>) -> io::Result<()> {
    let mut buf = vec![0; READ];
    loop {
        let n = read_master(&mut master, &mut buf)?;
        if n == 0 {
            return Ok(());
        }
        let mut output = output.lock().expect("no holder panics");
        output.keep(&buf[..n]);
        output.clients.retain_mut(|client| client.write_all(&buf[..n]).is_ok());
    }
}

fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buf = vec![0; READ];
    loop {
        match from.read(&mut buf)? {
            0 => return Ok(()),
            n => to.write_all(&buf[..n])?,
        }
    }
}
