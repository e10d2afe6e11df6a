//! Starts the daemon if none is running.
//!
//! A lock in the socket directory makes sure that only one of several concurrent commands starts it; the others
//! wait and find it running. The daemon inherits nothing: no terminal, no pipe, no working directory.

use crate::control_client::ControlClient;
use crate::error::{Failure, FailureKind};
use crate::limits;
use crate::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use swb_types::Paths;

/// A running daemon.
#[derive(Debug)]
pub(crate) struct RunningDaemon {
    /// A connection to it.
    pub(crate) control: ControlClient,
    /// Its process, if this call started it.
    pub(crate) started: Option<u32>,
}

/// Connects to the daemon, and starts it if none is running. If one is, the handshake is yet to be performed.
pub(crate) fn ensure(paths: &Paths, config: Option<&Path>) -> Result<RunningDaemon, Failure> {
    if swb_keeper::is_confined() {
        return Err(confined());
    }
    let socket = paths.control_socket();
    prepare_run_dir(&paths.run_dir())?;
    if let Some(control) = ControlClient::connect(&socket)? {
        return Ok(RunningDaemon { control, started: None });
    }
    let _lock = lock(&start_lock(paths))?;
    if let Some(control) = open(&socket)? {
        return Ok(RunningDaemon { control, started: None });
    }
    start(paths, config, &socket)
}

/// Connects to the daemon if one is running, or if another command is starting one right now.
pub(crate) fn find(paths: &Paths) -> Result<Option<ControlClient>, Failure> {
    check_run_dir(&paths.run_dir())?;
    let (socket, starting) = (paths.control_socket(), start_lock(paths));
    match open(&socket)? {
        None if starting.exists() => {
            // If that takes too long, no daemon is running.
            let _in_time = lock(&starting);
            open(&socket)
        }
        found => Ok(found),
    }
}

fn start_lock(paths: &Paths) -> PathBuf {
    paths.run_dir().join("start.lock")
}

/// Connects, and retries if the daemon dies during the handshake: its keeper restarts it.
pub(crate) fn open(socket: &Path) -> Result<Option<ControlClient>, Failure> {
    let deadline = Instant::now() + limits::START;
    loop {
        match ControlClient::open(socket) {
            Err(_) if swb_keeper::is_confined() => return Err(confined()),
            Err(failure) if failure.kind() == FailureKind::Disconnected && Instant::now() < deadline => {
                pause(limits::START_PAUSE, None);
            }
            result => return result,
        }
    }
}

/// Waits a moment after a daemon has closed the connection: one that is about to be replaced does so at once.
pub(crate) fn pause_before_retry() {
    pause(limits::START_PAUSE, None);
}

/// The daemon serves no confined command, and such a command cannot open a socket in the first place.
fn confined() -> Failure {
    Failure::new(FailureKind::NoDaemon, "a command that is confined to its workspace cannot use swb")
        .hint("set swb = true for its agent in the configuration, under [[agents]]; see docs/agents.md")
}

/// The path of this very program, even if its file was replaced meanwhile.
pub(crate) fn own_program() -> PathBuf {
    let running = Path::new("/proc/self/exe");
    match std::env::current_exe() {
        Ok(path) if path.exists() => path,
        // A newer version may have replaced this one.
        Ok(path) => match path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map(PathBuf::from) {
            Some(path) if path.exists() => path,
            _ => running.to_owned(),
        },
        Err(_) => running.to_owned(),
    }
}

/// Creates the socket directory if it is missing, and rejects one that another user could have prepared.
pub(crate) fn prepare_run_dir(dir: &Path) -> Result<(), Failure> {
    if check_run_dir(dir)? {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| refused(dir, &format!("cannot be created: {error}")))?;
    // Another process may have created it first.
    check_run_dir(dir).map(drop)
}

/// Checks the socket directory; false if there is none.
pub(crate) fn check_run_dir(dir: &Path) -> Result<bool, Failure> {
    let metadata = match fs::symlink_metadata(dir) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(refused(dir, &format!("cannot be used: {error}"))),
    };
    if metadata.is_symlink() {
        return Err(refused(dir, "is a symbolic link"));
    }
    if !metadata.is_dir() {
        return Err(refused(dir, "is not a directory"));
    }
    if metadata.uid() != geteuid().as_raw() {
        let why = format!("belongs to another user (uid {})", metadata.uid());
        return Err(refused(dir, &why));
    }
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
            .map_err(|error| refused(dir, &format!("is accessible to others: {error}")))?;
    }
    Ok(true)
}

fn refused(dir: &Path, why: &str) -> Failure {
    Failure::general(format!("the socket directory {} {why}", dir.display()))
        .hint("remove it, or set XDG_RUNTIME_DIR to a directory of your own")
}

fn lock(path: &Path) -> Result<File, Failure> {
    let failed = |error: io::Error| Failure::io(format!("cannot lock {}", path.display()), &error);
    // A FIFO in its place would wait for a reader.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600).custom_flags(flags);
    let file = options.open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    let deadline = Instant::now() + limits::START_LOCK;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if Instant::now() < deadline => {
                pause(limits::START_PAUSE, None);
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Failure::new(
                    FailureKind::NoDaemon,
                    "timed out waiting for another command to start the daemon",
                )
                .hint(format!("`fuser {}` shows its process", path.display())));
            }
            Err(error) => return Err(failed(error.into())),
        }
    }
}

fn start(paths: &Paths, config: Option<&Path>, socket: &Path) -> Result<RunningDaemon, Failure> {
    let mut log = DaemonLog::open(&paths.daemon_log());
    let mut child = spawn(paths, config, log.stdio())?;
    let pid = child.id();
    let died = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let deadline = Instant::now() + limits::START;
    loop {
        // Checked first: a daemon that finds another one running ends, and the other one replies.
        let ended = child.try_wait().ok().flatten();
        if let Some(control) = open(socket)? {
            reap_later(child);
            return Ok(RunningDaemon { control, started: ended.is_none().then_some(pid) });
        }
        // The keeper kills a daemon that hangs while it starts, and starts the next one.
        if let Some(status) = ended.filter(|status| status.signal() != Some(Signal::KILL.as_raw())) {
            return Err(log.failure(&format!("the daemon exited on start ({status})")));
        }
        if Instant::now() >= deadline {
            reap_later(child);
            return Err(log.failure("the daemon does not reply"));
        }
        pause(limits::START_PAUSE, died.as_ref());
    }
}

fn spawn(paths: &Paths, config: Option<&Path>, stderr: Stdio) -> Result<Child, Failure> {
    sys::keep_descriptors_private();
    // The name decides what the program does, and this one may have been started as `keepty`.
    let mut command = Command::new(own_program());
    command.arg0("swb").arg("daemon").arg("--auto");
    // The place where its keeper waits may not be that of the environment.
    match &paths.runtime {
        Some(dir) => command.env("XDG_RUNTIME_DIR", dir),
        None => command.env_remove("XDG_RUNTIME_DIR"),
    };
    if let Some(config) = config {
        // The daemon has another working directory.
        command.arg("--config").arg(std::path::absolute(config)?);
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    sys::in_new_session(&mut command)
        .spawn()
        .map_err(|error| Failure::new(FailureKind::NoDaemon, format!("cannot start the daemon: {error}")))
}

/// Leaves no zombie if the daemon ends before this process.
fn reap_later(mut child: Child) {
    std::thread::spawn(move || drop(child.wait()));
}

/// Waits a little, or until the process behind `died` has ended.
fn pause(time: Duration, died: Option<&OwnedFd>) {
    let mut fds: Vec<PollFd<'_>> = died.iter().map(|fd| PollFd::new(*fd, PollFlags::IN)).collect();
    let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
    // An early return only causes one more check.
    let _ = poll(&mut fds, Some(&time));
}

/// The log of a daemon that has no terminal.
struct DaemonLog {
    path: PathBuf,
    file: Option<File>,
    /// Where the new daemon's output begins.
    begin: u64,
}

impl DaemonLog {
    fn open(path: &Path) -> Self {
        let open = || {
            if let Some(dir) = path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            }
            OpenOptions::new().create(true).append(true).read(true).mode(0o600).open(path)
        };
        // A daemon without a log is better than none.
        let mut file = open().ok();
        let begin = file.as_mut().and_then(|file| file.seek(SeekFrom::End(0)).ok()).unwrap_or(0);
        Self { path: path.to_owned(), file, begin }
    }

    fn stdio(&self) -> Stdio {
        self.file.as_ref().and_then(|file| file.try_clone().ok()).map_or_else(Stdio::null, Stdio::from)
    }

    fn failure(&mut self, what: &str) -> Failure {
        let message = match self.last_words() {
            Some(line) => format!("{what}: {line}"),
            None => what.to_owned(),
        };
        Failure::new(FailureKind::NoDaemon, message)
            .hint(format!("`swb daemon` shows more; the log is {}", self.path.display()))
    }

    fn last_words(&mut self) -> Option<String> {
        let file = self.file.as_mut()?;
        let end = file.seek(SeekFrom::End(0)).ok()?;
        file.seek(SeekFrom::Start(self.begin.max(end.saturating_sub(limits::LOG_TAIL)))).ok()?;
        let mut text = Vec::new();
        file.take(limits::LOG_TAIL).read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        last_words(&text)
    }
}

/// The error of a daemon that exited on start, which may have several lines; else the last line of the log.
fn last_words(text: &str) -> Option<String> {
    let complaint = text.rfind("\nswb: ").map(|at| at + 1).or_else(|| text.starts_with("swb: ").then_some(0));
    match complaint.and_then(|at| text.get(at..)?.strip_prefix("swb: ")) {
        Some(words) => Some(words.trim_end().to_owned()),
        None => text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn an_error_of_several_lines_is_shown_whole() {
        let log = "INFO ready\nswb: the file is not right: at line 3\n  |\n3 | kindd = 1\n  | ^^^^^\nunknown field `kindd`\n\n";
        let words = last_words(log).unwrap();
        assert!(
            words.starts_with("the file is not right: at line 3\n") && words.ends_with("`kindd`"),
            "{words}"
        );
        assert_eq!(last_words("one\ntwo\n\n").as_deref(), Some("two"));
        assert_eq!(last_words("swb: alone").as_deref(), Some("alone"));
        assert_eq!(last_words(""), None);
    }

    #[test]
    fn a_missing_directory_is_created_private() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("a/run");
        prepare_run_dir(&run).unwrap();
        assert_eq!(fs::metadata(&run).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
        prepare_run_dir(&run).unwrap();
        assert_eq!(fs::metadata(&run).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn links_and_files_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        assert!(prepare_run_dir(&link).unwrap_err().to_string().ends_with("is a symbolic link"));
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(prepare_run_dir(&file).unwrap_err().to_string().ends_with("is not a directory"));
        assert!(prepare_run_dir(&file.join("below")).unwrap_err().to_string().contains("cannot be"));
    }

    #[test]
    fn a_failed_start_shows_the_end_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/daemon.log");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "old line\n").unwrap();
        let mut log = DaemonLog::open(&path);
        assert_eq!(log.failure("the daemon does not reply").to_string(), "the daemon does not reply");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"one\nport taken\n\n").unwrap();
        let failure = log.failure("the daemon ended");
        assert_eq!(
            (failure.to_string().as_str(), failure.kind().exit_code()),
            ("the daemon ended: port taken", 4)
        );
    }

    #[test]
    fn the_daemon_starts_without_a_writable_log() {
        let mut log = DaemonLog::open(Path::new("/proc/nowhere/daemon.log"));
        assert!(log.file.is_none());
        assert_eq!(log.failure("no").to_string(), "no");
    }

    #[test]
    fn a_second_starter_waits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = lock(&path).unwrap();
        let other = path.clone();
        let waiting = std::thread::spawn(move || lock(&other).is_ok());
        pause(Duration::from_millis(20), None);
        drop(first);
        assert!(waiting.join().unwrap());
    }
}
