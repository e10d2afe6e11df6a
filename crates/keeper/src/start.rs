//! The keeper's start: lock, socket, own session, then the loop.

use crate::address;
use crate::key;
use crate::server::Keeper;
use crate::sys::{self, Fork};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Exit code when another keeper has the directory; the caller connects to that one.
const ALREADY_RUNNING: i32 = 3;

/// Runs the keeper: `--socket PATH` for a new one, `--resume FD` for the next image of a running one.
///
/// The process that was called returns as soon as the socket listens; a child of it, in a session of
/// its own, is the keeper. Gives the process's exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> i32 {
    let args: Vec<OsString> = args.into_iter().collect();
    let texts: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    let outcome = match texts.as_slice() {
        ["--socket", path] => fresh(Path::new(path)),
        // The arguments of the first image stay in front when an image is replaced.
        ["--socket", _, .., "--resume", fd] | ["--resume", fd] => resumed(fd),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "the keeper is started by `swb daemon`")),
    };
    outcome.unwrap_or_else(|error| {
        // Unlike `eprintln!` it must not panic when stderr is closed.
        let _written = writeln!(io::stderr(), "swb keeper: {error}");
        1
    })
}

fn fresh(socket: &Path) -> io::Result<i32> {
    let Some(lock) = address::lock(socket).map_err(named(&address::lock_file(socket)))? else {
        return Ok(ALREADY_RUNNING);
    };
    let listener = address::listen(socket).map_err(named(socket))?;
    let key = key::random()?;
    key::store(key, socket).map_err(named(socket))?;
    let mut keeper = Keeper::new(listener, lock, key, raise_file_limit())?;
    if let Fork::Parent(_) = sys::fork()? {
        return Ok(0);
    }
    detach()?;
    keeper.watch_termination(sys::termination()?)?;
    let result = keeper.run();
    // The lock is still ours, so the path is too.
    key::remove(socket);
    let _removed = std::fs::remove_file(socket);
    result.map(|()| 0)
}

fn resumed(fd: &str) -> io::Result<i32> {
    let fd = fd.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    sys::ignore_signals();
    let mut keeper = crate::handover::resume(fd)?;
    keeper.watch_termination(sys::termination()?)?;
    keeper.run()?;
    if let Ok(socket) = key::path_of(&keeper.listener) {
        key::remove(&socket);
        let _removed = std::fs::remove_file(socket);
    }
    Ok(0)
}

/// Adds the path to an error.
fn named<E: Into<io::Error>>(path: &Path) -> impl Fn(E) -> io::Error {
    move |error| {
        let error = error.into();
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    }
}

/// Leaves the terminal, session and directory of the parent process.
fn detach() -> io::Result<()> {
    rustix::process::setsid()?;
    sys::ignore_signals();
    std::env::set_current_dir("/")?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())?;
    (0..3).try_for_each(|target| sys::dup_to(&null, target))
}

/// Raises the limit of open files to the maximum; returns the former limit, for children.
fn raise_file_limit() -> Rlimit {
    let before = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    // Without it there is room for fewer sessions, which is reported when it happens.
    let _raised = rustix::process::setrlimit(Resource::Nofile, raised);
    before
}
