//! Opening PTYs and turning a fork into the program of a [`Spec`].

use crate::limits::{OOM_CHILD, OOM_DAEMON, OOM_MOST};
use crate::proto::Stage;
use crate::spec::Spec;
use crate::sys::{self, Fork};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit};
use rustix::pty::OpenptFlags;
use rustix::termios::{InputModes, OptionalActions, OutputModes, Winsize};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// A child process of this keeper.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pid: Pid,
    /// Readable when the process has ended.
    pub(crate) pidfd: OwnedFd,
    /// Until that is known: closes when the process has become its program, and carries the reason when it could not.
    pub(crate) started: Option<OwnedFd>,
}

impl Child {
    /// Its process id, as packets have it.
    pub(crate) fn number(&self) -> u64 {
        self.pid.as_raw_nonzero().get().unsigned_abs().into()
    }
}

/// Makes a PTY of the given size, with the modes an interactive program expects.
pub(crate) fn open(cols: u16, rows: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags)?;
    rustix::pty::unlockpt(&master)?;
    let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
    let mut modes = rustix::termios::tcgetattr(&slave)?;
    // KP-25
    modes.input_modes |= InputModes::IUTF8;
    modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
    rustix::termios::tcsetattr(&slave, OptionalActions::Now, &modes)?;
    resize(&master, cols, rows)?;
    rustix::fs::fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK)?;
    Ok((master, slave))
}

/// Sets the size of a PTY.
pub fn resize(master: impl AsFd, cols: u16, rows: u16) -> rustix::io::Result<()> {
    rustix::termios::tcsetwinsize(master, Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 })
}

/// Starts the program described by `spec` on `terminal`, or without one.
///
/// Returns as soon as the process exists: entering a directory or loading a program can take any time,
/// and the keeper never blocks. [`Child::started`] reports the outcome.
pub(crate) fn spawn(spec: &OwnedFd, terminal: Option<&OwnedFd>, limits: Rlimit) -> io::Result<Child> {
    let (started, report) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    match sys::fork()? {
        Fork::Child => {
            let (stage, error) = become_program(spec, terminal, limits);
            let [a, b, c, d] = error.raw_os_error().unwrap_or(0).to_le_bytes();
            // There is no way to report a failure of this.
            let _written = rustix::io::write(&report, &[stage as u8, a, b, c, d]);
            sys::exit_now(127)
        }
        Fork::Parent(pid) => {
            let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
            let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK)?;
            Ok(Child { pid, pidfd, started: Some(started) })
        }
    }
}

/// Reads the error that the child reported before it became its program; nothing on success.
pub(crate) fn start_result(started: &OwnedFd) -> Result<(), (Stage, i32)> {
    let mut bytes = [0; 5];
    match rustix::io::read(started, &mut bytes) {
        Ok(5) => {
            let [stage, errno @ ..] = bytes;
            Err((Stage::from_u64(stage.into()), i32::from_le_bytes(errno)))
        }
        _ => Ok(()),
    }
}

fn become_program(spec: &OwnedFd, terminal: Option<&OwnedFd>, limits: Rlimit) -> (Stage, io::Error) {
    let attach = || -> io::Result<Spec> {
        sys::reset_signals();
        rustix::process::setsid()?;
        match terminal {
            Some(slave) => {
                rustix::process::ioctl_tiocsctty(slave)?;
                stdio(slave.as_fd())?;
            }
            None => {
                let null = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())?;
                stdio(null.as_fd())?;
            }
        }
        rustix::process::setrlimit(Resource::Nofile, limits)?;
        expose_to_oom_killer(if terminal.is_some() { OOM_CHILD } else { OOM_DAEMON });
        sys::close_others_on_exec();
        Spec::from_memfd(spec)
    };
    let spec = match attach() {
        Ok(spec) => spec,
        Err(error) => return (Stage::Setup, error),
    };
    rustix::process::umask(Mode::from_raw_mode(spec.umask));
    if let Err(error) = std::env::set_current_dir(&spec.dir) {
        return (Stage::Directory, error);
    }
    (Stage::Program, exec(&spec))
}

/// Makes the kernel end this process `more` sooner than its parent when memory runs out.
fn expose_to_oom_killer(more: i32) {
    let file = "/proc/self/oom_score_adj";
    let inherited = std::fs::read_to_string(file).ok().and_then(|score| score.trim().parse::<i32>().ok());
    if let Some(score) = inherited.map(|score| score.saturating_add(more).min(OOM_MOST)) {
        // Where it cannot be set, the kernel chooses by size, as it does without this.
        let _written = std::fs::write(file, score.to_string());
    }
}

fn stdio(fd: BorrowedFd<'_>) -> io::Result<()> {
    (0..3).try_for_each(|target| sys::dup_to(fd, target))
}

/// Runs the program of `spec` in place of this one, as `execvpe` would.
pub(crate) fn exec(spec: &Spec) -> io::Error {
    let strings = || Ok::<_, io::Error>((spec.argv_strings()?, spec.env_strings()?));
    let (argv, env) = match strings() {
        Ok(strings) => strings,
        Err(error) => return error,
    };
    let mut reason = io::Error::from(Errno::NOENT);
    for path in spec.candidates() {
        let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
            continue;
        };
        let error = sys::exec(&path, &argv, &env);
        // A directory without the program is no error; one where the program cannot be run is.
        if !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) {
            reason = error;
        }
    }
    reason
}
