//! The command and the terminal it runs on.

use super::sys;
use crate::sys::keep_descriptors_private;
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group};
use rustix::pty::OpenptFlags;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{
    OptionalActions, Termios, Winsize, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{self, Command, ExitStatus};

/// Size of the command's terminal if the user has no terminal (CP-7).
const DEFAULT_SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// A command that runs on a terminal of ours.
#[derive(Debug)]
pub(super) struct WrappedChild {
    process: process::Child,
    pid: Pid,
    /// Readable when the process has ended.
    pidfd: OwnedFd,
    /// Our side of its terminal; does not block.
    master: OwnedFd,
}

impl WrappedChild {
    /// Starts a command on a new terminal with the settings of the user's, without other descriptors of ours.
    pub(super) fn start(
        program: &OsString,
        args: &[OsString],
        env: Option<(&str, &str)>,
    ) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags)?;
        rustix::pty::unlockpt(&master)?;
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
        if let Some(modes) = user_modes() {
            tcsetattr(&slave, OptionalActions::Now, &modes)?;
        }
        tcsetwinsize(&master, user_size())?;
        rustix::fs::fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK)?;
        // CP-29
        keep_descriptors_private();
        let mut command = Command::new(program);
        command.args(args).envs(env);
        command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave);
        // The command object holds the other side of the terminal, and would keep it open for ever.
        let process = sys::with_controlling_terminal(&mut command).spawn();
        drop(command);
        let process = process?;
        let pid = Pid::from_child(&process);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { process, pid, pidfd, master })
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Our side of its terminal.
    pub(super) fn master(&self) -> &OwnedFd {
        &self.master
    }

    /// Readable when it has ended.
    pub(super) fn pidfd(&self) -> &OwnedFd {
        &self.pidfd
    }

    /// Its exit status, if it has ended.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.try_wait()
    }

    /// Sends a signal to its process group, which it leads.
    pub(super) fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            // It may have ended meanwhile.
            let _sent = kill_process_group(self.pid, signal);
        }
    }

    /// Resizes its terminal to the size of the user's (CP-26).
    pub(super) fn follow_size(&self) {
        // Fails only if the terminal is gone.
        let _followed = tcsetwinsize(&self.master, user_size());
    }
}

/// The size of the user's terminal, its pixels included.
fn user_size() -> Winsize {
    let mut terminals = [stdin(), stdout(), stderr()].into_iter();
    terminals.find_map(|fd| tcgetwinsize(fd).ok()).unwrap_or(DEFAULT_SIZE)
}

/// The settings of the user's terminal before raw mode; the command's terminal gets the same.
fn user_modes() -> Option<Termios> {
    isatty(stdin()).then(|| tcgetattr(stdin()).ok()).flatten()
}
