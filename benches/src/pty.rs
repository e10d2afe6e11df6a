//! A PTY whose master this process holds, with a program on its other end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use memchr::memmem::Finder;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::wait;

/// Columns and rows of every terminal in the benchmark.
pub(crate) const SIZE: (u16, u16) = (80, 24);

/// Bytes asked for in one read. The kernel gives about 4 KiB at most; more costs nothing.
pub(crate) const READ: usize = 64 * 1024;

/// A terminal as a person has it before them: what is typed goes to the program, what it shows comes back.
pub(crate) struct Terminal {
    master: File,
    child: Child,
}

impl Terminal {
    /// Starts the command on a new PTY, as leader of its own session.
    pub(crate) fn spawn(mut command: Command) -> Result<Self> {
        let (master, slave) = open().context("cannot open a PTY")?;
        command.stdin(Stdio::from(slave.try_clone()?));
        command.stdout(Stdio::from(slave.try_clone()?));
        command.stderr(Stdio::from(slave));
        crate::sys::control_terminal(&mut command);
        let child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        Ok(Self { master: master.into(), child })
    }

    /// The process on it.
    pub(crate) fn client(&self) -> u32 {
        self.child.id()
    }

    /// Another handle on the master.
    pub(crate) fn master(&self) -> io::Result<File> {
        self.master.try_clone()
    }

    /// Types the bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.master.write_all(bytes)
    }

    /// Reads until the needle has been shown; returns how many bytes were read.
    pub(crate) fn wait_for(&mut self, needle: &[u8], until: Instant) -> Result<u64> {
        let finder = Finder::new(needle);
        let mut buf = vec![0; READ];
        let mut kept = 0;
        let mut total = 0;
        loop {
            if !wait::readable([&self.master], until)?[0] {
                bail!("did not show {:?} in time", String::from_utf8_lossy(needle));
            }
            let n = read_master(&mut self.master, &mut buf[kept..])?;
            if n == 0 {
                bail!("ended before it showed {:?}", String::from_utf8_lossy(needle));
            }
            total += n as u64;
            let filled = kept + n;
            if finder.find(&buf[..filled]).is_some() {
                return Ok(total);
            }
            // The needle may be split between two reads.
            kept = filled.min(needle.len() - 1);
            buf.copy_within(filled - kept..filled, 0);
        }
    }

    /// Throws away what is shown during this time.
    pub(crate) fn discard(&mut self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        let mut buf = [0; 4096];
        while wait::readable([&self.master], until)?[0] {
            if read_master(&mut self.master, &mut buf)? == 0 {
                bail!("the client ended");
            }
        }
        Ok(())
    }

    /// Waits until the program has switched off line editing and echo, so that every key reaches it.
    pub(crate) fn wait_raw(&self) -> Result<()> {
        let cooked = LocalModes::ICANON | LocalModes::ECHO;
        let raw = || tcgetattr(&self.master).is_ok_and(|t| !t.local_modes.intersects(cooked)).then_some(());
        wait::until(Duration::from_secs(5), raw).context("the client never switched its terminal to raw mode")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // An already ended program is fine; no caller could handle another error here.
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
        self.child.wait().ok();
    }
}

/// Reads from a PTY master; 0 means that the last program on it is gone.
pub(crate) fn read_master(master: &mut File, buf: &mut [u8]) -> io::Result<usize> {
    match master.read(buf) {
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => Ok(0),
        result => result,
    }
}

fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    let (ws_col, ws_row) = SIZE;
    tcsetwinsize(&slave, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((master, slave))
}
