//! The ideal relay: the least that any program between child and terminal must do.
//!
//! The server reads the PTY and writes a socket, the client reads the socket and writes its terminal, and
//! the same the other way round. One blocking thread per direction, no framing, no history, one client.

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

/// Runs the command on a PTY and relays it to whoever connected last; output without a client is dropped.
pub(crate) fn serve(socket: &Path, argv: &[OsString]) -> Result<()> {
    let listener = UnixListener::bind(socket)?;
    let (program, args) = argv.split_first().context("no command")?;
    let mut command = Command::new(program);
    command.args(args);
    let terminal = Terminal::spawn(command)?;
    let client: Mutex<Option<UnixStream>> = Mutex::new(None);
    std::thread::scope(|scope| {
        let master = terminal.master()?;
        let slot = &client;
        scope.spawn(move || {
            send_output(master, slot).ok();
            // The child is gone; nothing else may hold the process.
            std::process::exit(0);
        });
        for stream in listener.incoming() {
            let stream = stream?;
            let (input, master) = (stream.try_clone()?, terminal.master()?);
            *client.lock().expect("no holder panics") = Some(stream);
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

fn send_output(mut master: File, client: &Mutex<Option<UnixStream>>) -> io::Result<()> {
    let mut buf = vec![0; READ];
    loop {
        let n = read_master(&mut master, &mut buf)?;
        if n == 0 {
            return Ok(());
        }
        let mut slot = client.lock().expect("no holder panics");
        if slot.as_mut().is_some_and(|c| c.write_all(&buf[..n]).is_err()) {
            *slot = None;
        }
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
