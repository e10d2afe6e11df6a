//! `swb guard`, a hidden mode of the program: runs another program and makes sure that none of its processes is left.
//!
//! Everything an agent starts is a descendant of its guard, even what leaves its process group, its session or its
//! parent, because the guard is a subreaper. When the program ends, when the guard gets a signal, or when the daemon
//! dies, the guard kills all of them and exits with the program's status. With `--confine` the program can write only
//! where it may (`confine.rs`, `read_only.rs`) and cannot reach programs that are not confined (`syscalls.rs`).

#![allow(clippy::disallowed_methods, reason = "a process of its own, in which nothing else waits")]

mod confine;
mod family;
mod limits;
mod read_only;
mod repository;
mod syscalls;

pub use confine::is_available as can_confine;
pub(crate) use family::kill_below;
pub(crate) use repository::own_repository;

use crate::sys;
use confine::{GuardRules, TemporaryDir};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Exit codes as in shells: the program cannot be started, it was not found, it was killed by signal N.
const CANNOT_START: u8 = 126;
const NOT_FOUND: u8 = 127;
const KILLED: u8 = 128;
/// Exit code for invalid arguments, and if the parent died before the guard was set up.
const USAGE: u8 = 125;
/// The only argument of a guard that finds out whether file systems can be made read-only for a program.
pub(crate) const PROBE: &str = "--probe";
/// The exit code of such a guard if that is impossible.
pub(crate) const UNAVAILABLE: i32 = 1;
/// The option for a kernel that does not allow user namespaces, as the daemon has found out with [`PROBE`].
pub(crate) const WITHOUT_NAMESPACES: &str = "--without-namespaces";
/// The option for a directory that a confined program cannot write wherever it is.
pub(crate) const PROTECT: &str = "--protect";
/// The option for a directory that agents of any workspace can write: links in it lead nowhere.
pub(crate) const AGENTS: &str = "--agents";
/// Why a confined program does not run.
const NO_LANDLOCK: &str = "this kernel does not support Landlock, so the command cannot be confined to its workspace; \
                           to run commands unconfined, set without_landlock = \"run\" under [chat.confinement]";
/// Prefix of environment variables for the program alone. Variables that an agent chooses must not reach the guard
/// itself, which is not confined: `PATH` or `LD_PRELOAD` would change what it does.
pub(crate) const VARIABLE: &str = "SWB_GUARDED_";

/// The arguments of a guard.
#[derive(Debug, Default, PartialEq, Eq)]
struct Orders {
    parent: Option<i32>,
    directory: Option<PathBuf>,
    umask: Option<u32>,
    confine: bool,
    /// Runs the program unconfined on a kernel without Landlock, instead of not at all.
    without_landlock: bool,
    /// Runs the program without file systems that are read-only for it, instead of not at all.
    without_namespaces: bool,
    /// Unix sockets can be reached.
    unix_sockets: bool,
    /// The `.git` of the workspace can be written.
    git_writable: bool,
    /// Directories that cannot be written even within one of `write`.
    protect: Vec<PathBuf>,
    /// Directories that agents of any workspace can write.
    agents: Vec<PathBuf>,
    /// Without links.
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    program: Vec<OsString>,
}

/// Runs as a guard; its arguments are private to our own processes.
///
/// The process must not have started threads.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    if args == [PROBE] {
        let code = if read_only::is_available() { 0 } else { UNAVAILABLE };
        return ExitCode::from(u8::try_from(code).unwrap_or(USAGE));
    }
    let orders = match parse(args.into_iter()) {
        Ok(orders) => orders,
        Err(error) => return complain(USAGE, error),
    };
    if orders.confine && !orders.without_landlock && !can_confine() {
        return complain(CANNOT_START, NO_LANDLOCK);
    }
    ExitCode::from(match guard(&orders) {
        Ok(code) => code,
        Err(error) => {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            complain_code(if missing { NOT_FOUND } else { CANNOT_START }, &error.to_string())
        }
    })
}

fn complain(code: u8, what: &str) -> ExitCode {
    ExitCode::from(complain_code(code, what))
}

fn complain_code(code: u8, what: &str) -> u8 {
    eprintln!("swb guard: {what}");
    code
}

fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Orders, &'static str> {
    let mut orders = Orders::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or("missing value of an option");
        match arg.to_str() {
            Some(AGENTS) => orders.agents.push(value()?.into()),
            Some("--confine") => orders.confine = true,
            Some("--directory") => orders.directory = Some(value()?.into()),
            Some("--git-writable") => orders.git_writable = true,
            Some("--parent") => orders.parent = Some(number(&value()?, 10)? as i32),
            Some(PROTECT) => orders.protect.push(value()?.into()),
            Some("--read") => orders.read.push(value()?.into()),
            Some("--umask") => orders.umask = Some(number(&value()?, 8)?),
            Some("--unix-sockets") => orders.unix_sockets = true,
            Some("--without-landlock") => orders.without_landlock = true,
            Some(WITHOUT_NAMESPACES) => orders.without_namespaces = true,
            Some("--write") => orders.write.push(value()?.into()),
            Some("--") => break,
            _ => return Err("unknown argument"),
        }
    }
    orders.program = args.collect();
    if orders.program.is_empty() { Err("missing program to run") } else { Ok(orders) }
}

fn number(text: &OsString, radix: u32) -> Result<u32, &'static str> {
    let number = text.to_str().and_then(|text| u32::from_str_radix(text, radix).ok());
    number.filter(|number| *number <= i32::MAX as u32).ok_or("invalid number")
}

fn guard(orders: &Orders) -> std::io::Result<u8> {
    sys::hold_signals();
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // If the parent died before that call, no signal comes.
    let parent = rustix::process::getppid().map(Pid::as_raw_nonzero).map(i32::from);
    if orders.parent.is_some() && orders.parent != parent {
        return Ok(complain_code(USAGE, "the parent process has exited"));
    }
    // Any nonzero value turns it on.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    if let Some(directory) = &orders.directory {
        std::env::set_current_dir(directory).map_err(|error| {
            std::io::Error::new(error.kind(), format!("cannot enter {}: {error}", directory.display()))
        })?;
    }
    if orders.confine {
        // Before the program exists: by this name the daemon and the keeper recognise what descends from this process.
        rustix::thread::set_name(swb_engine::GUARD_NAME)?;
    }
    let temporary = if orders.confine { Some(TemporaryDir::new()?) } else { None };
    let program = start(orders, temporary.as_ref())?;
    let status = attend(program);
    family::end();
    drop(temporary);
    Ok(status)
}

fn start(orders: &Orders, temporary: Option<&TemporaryDir>) -> std::io::Result<Pid> {
    let mut command = Command::new(&orders.program[0]);
    command.args(&orders.program[1..]);
    for (key, value) in std::env::vars_os() {
        if let Some(name) = key.as_bytes().strip_prefix(VARIABLE.as_bytes()) {
            command.env_remove(&key).env(OsStr::from_bytes(name), value);
        }
    }
    let mut rules = None;
    if let Some(temporary) = temporary {
        command.env("TMPDIR", temporary.path());
        rules = Some(GuardRules::new(orders, temporary.path())?);
    }
    let umask = orders.umask;
    sys::prepare_child(&mut command, move || {
        // No controlling terminal, not even the one the daemon was started from.
        rustix::process::setsid()?;
        if let Some(umask) = umask {
            rustix::process::umask(umask.into());
        }
        // In the child only: a confined process cannot signal its guard.
        rules.take().map_or(Ok(()), GuardRules::enter)?;
        // The last resort for the program itself, in case the guard is killed. A new namespace resets it.
        Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
    });
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| std::io::Error::other("the system returned an invalid process id"))
}

/// Waits until the program has ended or has to be ended; returns the exit code.
fn attend(program: Pid) -> u8 {
    loop {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == program {
                return code_of(status);
            }
        }
        match sys::wait_signal(limits::CHECK) {
            Some(libc::SIGCHLD) | None => {}
            Some(signal) => return KILLED.saturating_add(u8::try_from(signal).unwrap_or(0)),
        }
    }
}

fn code_of(status: WaitStatus) -> u8 {
    let signal = status.terminating_signal().and_then(|signal| u8::try_from(signal).ok());
    let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
    code.or(signal.map(|signal| KILLED.saturating_add(signal))).unwrap_or(CANNOT_START)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Orders, &'static str> {
        parse(args.iter().map(OsString::from))
    }

    #[test]
    fn orders_are_read() {
        let orders = parsed(&[
            "--confine",
            "--umask",
            "027",
            "--unix-sockets",
            "--without-namespaces",
            "--read",
            "/r",
            "--protect",
            "/p",
            "--write",
            "/w",
            "--",
            "sh",
            "--",
            "x",
        ]);
        let orders = orders.unwrap();
        assert_eq!((orders.umask, orders.confine), (Some(0o27), true));
        assert!(orders.unix_sockets && orders.without_namespaces);
        assert!(!orders.git_writable && !orders.without_landlock);
        assert_eq!((orders.read, orders.write), (vec!["/r".into()], vec!["/w".into()]));
        assert_eq!(orders.protect, [PathBuf::from("/p")]);
        assert_eq!(orders.program, ["sh", "--", "x"]);
        for bad in [
            &["--umask"][..],
            &["--umask", "9", "--", "x"],
            &["--parent", "4294967295", "--", "x"],
            &["x"],
            &[],
        ] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }
}
