//! The contenders, each behind the same few verbs.
//!
//! A peer lives in a [`Place`] of its own run of a measure and is gone when it is dropped, together with
//! its sessions: every process in a session is a puppet and ends with the gate.

mod dtach;
mod raw;
mod relay;
mod screen;
mod shpool;
mod swb;
mod tmux;

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::proc;
use crate::pty::Terminal;

pub(crate) use raw::Raw;
pub(crate) use swb::{Swb, WebServer};

/// Every contender, in the order of the table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Raw,
    Relay,
    Swb,
    Dtach,
    Tmux,
    Screen,
    Shpool,
    /// `swb` that follows no screens; it has no column of its own.
    Blind,
    /// The Unix socket of the `swb` that also serves the web; no column either.
    Socket,
    /// A session of `swb` without clients; no column either.
    Alone,
}

impl Kind {
    /// All that have a column.
    pub(crate) const ALL: [Self; 7] =
        [Self::Raw, Self::Relay, Self::Swb, Self::Dtach, Self::Tmux, Self::Screen, Self::Shpool];

    /// Those that keep sessions on behalf of a user, as opposed to the yardsticks.
    pub(crate) const KEEPERS: [Self; 5] = [Self::Swb, Self::Dtach, Self::Tmux, Self::Screen, Self::Shpool];

    /// Its heading in the table.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Raw => "raw PTY",
            Self::Relay => "ideal relay",
            Self::Swb => "swb",
            Self::Dtach => "dtach",
            Self::Tmux => "tmux",
            Self::Screen => "screen",
            Self::Shpool => "shpool",
            Self::Blind => "swb without screens",
            Self::Socket => "its Unix socket",
            Self::Alone => "swb without clients",
        }
    }

    /// The line in which an installed program prints its version.
    pub(crate) fn version(self, swb: &Path) -> Option<String> {
        let (program, flag) = match self {
            Self::Raw | Self::Relay | Self::Blind | Self::Socket | Self::Alone => return None,
            Self::Swb => (swb.as_os_str(), "--version"),
            Self::Dtach => (OsStr::new("dtach"), "--version"),
            Self::Tmux => (OsStr::new("tmux"), "-V"),
            Self::Screen => (OsStr::new("screen"), "-v"),
            Self::Shpool => (OsStr::new("shpool"), "version"),
        };
        // GNU screen prints its version and fails.
        let output = Command::new(program).arg(flag).stdin(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).lines().next()?.trim().into())
    }

    /// Starts the contender in this place.
    pub(crate) fn start(self, place: &Place) -> Result<Box<dyn Peer>> {
        Ok(match self {
            Self::Raw => Box::new(Raw::new(place)),
            Self::Relay => Box::new(relay::Relay::new(place)),
            Self::Swb | Self::Socket | Self::Alone => Box::new(Swb::start(place)?),
            Self::Dtach => Box::new(dtach::Dtach::new(place)?),
            Self::Tmux => Box::new(tmux::Tmux::new(place)?),
            Self::Screen => Box::new(screen::Screen::new(place)?),
            Self::Shpool => Box::new(shpool::Shpool::new(place)?),
            Self::Blind => Box::new(Swb::start(&place.beside("blind", "[screen]\nfollow = false\n")?)?),
        })
    }
}

/// What every contender can do.
pub(crate) trait Peer {
    /// Starts a session to which no client is attached. Returns as soon as the contender reports that it exists.
    fn create(&mut self, session: &str, argv: &[OsString]) -> Result<()>;

    /// Starts a client of the session on a terminal of the benchmark.
    fn attach(&mut self, session: &str) -> Result<Terminal>;

    /// The processes that keep the sessions, without the programs in them.
    fn servers(&self) -> Result<Vec<u32>>;

    /// A connection on which the session's output arrives, and whether in frames; for programs that have such a thing.
    fn listen(&self, _session: &str) -> Result<(UnixStream, bool)> {
        bail!("clients of it need a terminal")
    }

    /// Starts a session with the command line that a user would type, where [`Peer::create`] does not.
    fn create_by_command(&mut self, session: &str, argv: &[OsString]) -> Result<()> {
        self.create(session, argv)
    }
}

/// A private directory and environment for the contenders of one measure.
#[derive(Clone)]
pub(crate) struct Place {
    /// The directory, with a path short enough for sockets.
    pub(crate) dir: PathBuf,
    /// This benchmark's own executable.
    pub(crate) exe: PathBuf,
    /// The `swb` to be measured.
    pub(crate) swb: PathBuf,
}

impl Place {
    /// Makes the directories.
    pub(crate) fn new(dir: PathBuf, exe: PathBuf, swb: PathBuf) -> Result<Self> {
        let place = Self { dir, exe, swb };
        for dir in [place.dir.clone(), place.home(), place.runtime()] {
            let made = DirBuilder::new().mode(0o700).create(&dir);
            made.with_context(|| format!("cannot make {}", dir.display()))?;
        }
        Ok(place)
    }

    /// A place beside this one for another `swb` with this configuration.
    pub(crate) fn beside(&self, name: &str, config: &str) -> Result<Self> {
        let place = Self::new(self.dir.join(name), self.exe.clone(), self.swb.clone())?;
        let dir = place.home().join(".config/switchboard");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("config.toml"), config)?;
        Ok(place)
    }

    /// A command whose environment is that of the place, and nothing of the caller's but `PATH`.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(&self.dir).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("XDG_RUNTIME_DIR", self.runtime());
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        command.env(proc::TAG, &self.dir);
        command
    }

    /// `$HOME` of the contenders.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.join("h")
    }

    /// `$XDG_RUNTIME_DIR` of the contenders.
    pub(crate) fn runtime(&self) -> PathBuf {
        self.dir.join("r")
    }

    fn file(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.dir.join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Processes of this place with that short name.
    fn servers_named(&self, name: &str) -> Vec<u32> {
        proc::tagged(&self.dir).into_iter().filter(|pid| proc::name(*pid).as_deref() == Some(name)).collect()
    }
}

/// Fails with a hint if the program is not installed.
fn installed(program: &str) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|dir| dir.join(program).is_file()) {
        return Ok(());
    }
    bail!("not installed (scripts/bench-peers.sh installs it)")
}

/// Runs a command to its end and returns what it printed; what it complained about becomes the error.
fn run(mut command: Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        bail!("{:?} ended with {}: {}", command, output.status, String::from_utf8_lossy(&text).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into())
}
