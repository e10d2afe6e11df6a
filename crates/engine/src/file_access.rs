//! Access to files by path: off the daemon's thread, for a limited time, and never through a FIFO or a device.
//!
//! A path that a client or a repository names can lead to a mount that does not respond, and a system call on it then
//! takes forever. The daemon has one thread for all clients, so [`run`] makes such calls on threads of their own. The
//! caller waits for a limited time, and a call that takes longer keeps its thread and nothing else. As long as it does,
//! further calls for the same path fail at once; so do all calls for a mount on which several calls have not returned.
//!
//! [`open`] and the functions on top of it open a file once, without waiting for a peer, check that it is a regular
//! file, and read from that descriptor: what the path leads to later does not matter.
//!
//! The lints of the crates in the daemon forbid the blocking calls of the standard library elsewhere.

use crate::limits;
use crate::mounts::{self, Mounts};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::time::{Instant, timeout_at};

/// Why file access gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileAccessError {
    /// The call has not returned in time.
    #[error("{} does not respond; check the disk or mount that it is on", .0.display())]
    NotResponding(PathBuf),
    /// Too many calls have not returned.
    #[error(
        "cannot access {}: too many other paths do not respond; check the disks and mounts that they are on",
        .0.display()
    )]
    TooManyWaiting(PathBuf),
    /// There is no thread to make the call on, or it has panicked.
    #[error("cannot access {}: {reason}", path.display())]
    NoThread {
        /// The path.
        path: PathBuf,
        /// What happened.
        reason: String,
    },
}

impl From<FileAccessError> for io::Error {
    fn from(error: FileAccessError) -> Self {
        Self::new(io::ErrorKind::TimedOut, error.to_string())
    }
}

/// Runs `work`, which accesses files at `path`, on a thread of its own, and waits for a limited time.
pub async fn run<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(&Path) -> T + Send + 'static,
) -> Result<T, FileAccessError> {
    run_within(limits::FILE_ACCESS, path, work).await
}

/// The same with a limit of its own.
pub async fn run_within<T: Send + 'static>(
    limit: Duration,
    path: &Path,
    work: impl FnOnce(&Path) -> T + Send + 'static,
) -> Result<T, FileAccessError> {
    // The threads are those of the process, for all callers.
    static THREADS: FileThreads = FileThreads::new(limits::FILE_THREADS, limits::FILE_ACCESS);
    THREADS.run(limit, path, work).await
}

/// The threads that access files.
#[derive(Debug)]
struct FileThreads {
    most: usize,
    /// A call that takes longer counts as one that does not return, however short its caller's own limit is.
    timeout: Duration,
    free: Semaphore,
    /// The calls that have not returned, and some that have.
    calls: Mutex<Vec<FileCall>>,
}

#[derive(Debug)]
struct FileCall {
    path: PathBuf,
    /// The place that the kernel accesses for it, without links, as far as it got.
    place: PathBuf,
    /// From here on its path counts as not responding.
    due: Instant,
    /// Held by its thread.
    running: Weak<SemaphorePermit<'static>>,
}

impl FileThreads {
    const fn new(most: usize, timeout: Duration) -> Self {
        Self { most, timeout, free: Semaphore::const_new(most), calls: Mutex::new(Vec::new()) }
    }

    async fn run<T: Send + 'static>(
        &'static self,
        limit: Duration,
        path: &Path,
        work: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Result<T, FileAccessError> {
        let start = Instant::now();
        let deadline = start + limit;
        self.check(path)?;
        let Ok(Ok(permit)) = timeout_at(deadline, self.free.acquire()).await else {
            return Err(FileAccessError::TooManyWaiting(path.to_owned()));
        };
        let running = Arc::new(permit);
        self.note(path, start + limit.max(self.timeout), Arc::downgrade(&running));
        let (done, outcome) = oneshot::channel();
        let owned = path.to_owned();
        let call = move || {
            let responds = mounts::follow(&owned, |place| self.enter(place, &running));
            let result = responds.then(|| work(&owned)).ok_or(FileAccessError::NotResponding(owned));
            // First, so that the call does not count as running when its caller continues.
            drop(running);
            // The caller may have left.
            let _sent = done.send(result);
        };
        let no_thread = |reason: &dyn std::fmt::Display| FileAccessError::NoThread {
            path: path.to_owned(),
            reason: reason.to_string(),
        };
        std::thread::Builder::new().name("file".into()).spawn(call).map_err(|error| no_thread(&error))?;
        match timeout_at(deadline, outcome).await {
            Ok(outcome) => outcome.unwrap_or_else(|_| Err(no_thread(&"the operation failed unexpectedly"))),
            Err(_) => {
                tracing::warn!(path = %path.display(), "file access has not returned in time");
                Err(FileAccessError::NotResponding(path.to_owned()))
            }
        }
    }

    /// Refuses a call that could only wait for others that do not return.
    fn check(&self, path: &Path) -> Result<(), FileAccessError> {
        let now = Instant::now();
        let mut calls = self.lock();
        calls.retain(|call| call.running.strong_count() > 0);
        let overdue = || calls.iter().filter(|call| call.due <= now);
        if overdue().any(|call| call.path == path) {
            return Err(FileAccessError::NotResponding(path.to_owned()));
        }
        if overdue().count() >= self.most {
            return Err(FileAccessError::TooManyWaiting(path.to_owned()));
        }
        Ok(())
    }

    fn note(&self, path: &Path, due: Instant, running: Weak<SemaphorePermit<'static>>) {
        self.lock().push(FileCall { path: path.to_owned(), place: PathBuf::new(), due, running });
    }

    /// Notes which place the call that holds `running` accesses next. Returns `false` if several others have not returned
    /// from the mount that it is on: one more could only take another thread.
    fn enter(&self, place: &Path, running: &Arc<SemaphorePermit<'static>>) -> bool {
        let now = Instant::now();
        let overdue: Vec<PathBuf> = {
            let mut calls = self.lock();
            let own = calls.iter_mut().find(|call| call.running.as_ptr() == Arc::as_ptr(running));
            if let Some(own) = own {
                place.clone_into(&mut own.place);
            }
            let stuck = |call: &&FileCall| call.due <= now && call.running.strong_count() > 0;
            calls.iter().filter(stuck).map(|call| call.place.clone()).collect()
        };
        // The list of mounts is read only if it matters.
        if overdue.len() < limits::FILE_THREADS_PER_MOUNT {
            return true;
        }
        let mounts = Mounts::read();
        let same = overdue.iter().filter(|other| mounts.of(other) == mounts.of(place));
        same.count() < limits::FILE_THREADS_PER_MOUNT
    }

    fn lock(&self) -> MutexGuard<'_, Vec<FileCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a regular file for reading. Anything else at the path is an error, and does not block. The path itself may
/// block: the daemon calls this in [`run`], or at its start.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty())?;
    require_regular(&fd)?;
    Ok(fd.into())
}

/// Rejects everything but a regular file; the error names what it is.
pub fn require_regular(file: impl AsFd) -> io::Result<()> {
    let kind = match FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("not a regular file, but {kind}")))
}

/// Reads a regular file of at most `max` bytes; a longer one is an error. Blocks as [`open`] does.
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let bytes = read_beginning(path, max.saturating_add(1))?;
    match bytes.len() as u64 > max {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {max} bytes"))),
        false => Ok(bytes),
    }
}

/// Reads the first `max` bytes of a regular file. Blocks as [`open`] does.
pub fn read_beginning(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file of at most `max` bytes of text. Blocks as [`open`] does.
pub fn read_text(path: &Path, max: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, max)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not valid UTF-8"))
}

/// Writes exactly `content` to a regular file, which is created with mode 0600 if it is missing. Blocks as [`open`] does.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    // Does not wait for a process at the other end of a FIFO.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    require_regular(&fd)?;
    rustix::fs::ftruncate(&fd, 0)?;
    File::from(fd).write_all(content)
}

/// The resolved path of a directory that exists. Blocks as [`open`] does.
pub fn real_directory(path: &Path) -> io::Result<PathBuf> {
    let real = real_path(path)?;
    match rustix::fs::stat(&real).map(|stat| FileType::from_raw_mode(stat.st_mode))? {
        FileType::Directory => Ok(real),
        _ => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// A path without links. Blocks as [`open`] does.
#[allow(clippy::disallowed_methods, reason = "the one place that resolves paths; see the module")]
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const SHORT: Duration = Duration::from_millis(30);
    const LONG: Duration = Duration::from_secs(30);

    fn threads(most: usize) -> &'static FileThreads {
        Box::leak(Box::new(FileThreads::new(most, SHORT)))
    }

    /// A call that returns only when the sender is dropped.
    fn stuck() -> (mpsc::SyncSender<()>, impl FnOnce(&Path) + Send + 'static) {
        let (release, released) = mpsc::sync_channel::<()>(0);
        (release, move |_: &Path| assert!(released.recv().is_err()))
    }

    #[tokio::test]
    async fn a_call_that_never_returns_fails_in_time_and_delays_no_other_path() {
        let threads = threads(2);
        let hung = Path::new("/hung");
        let (release, call) = stuck();
        assert_eq!(threads.run(SHORT, hung, call).await, Err(FileAccessError::NotResponding(hung.into())));
        // The limit is long: only a call that is refused at once returns before the test times out.
        let again = threads.run(LONG * 100, hung, |_| ()).await;
        assert_eq!(again, Err(FileAccessError::NotResponding(hung.into())));
        assert_eq!(threads.run(LONG, Path::new("/fine"), Path::to_owned).await, Ok("/fine".into()));
        drop(release);
        let back = async {
            while threads.run(LONG, hung, |_| ()).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, back).await.unwrap();
    }

    #[tokio::test]
    async fn calls_that_never_return_are_limited_in_number() {
        let threads = threads(2);
        let mut held = Vec::new();
        for path in ["/a", "/b"] {
            let (release, call) = stuck();
            held.push(release);
            assert!(threads.run(SHORT, Path::new(path), call).await.is_err());
        }
        let path = Path::new("/c");
        let refused = threads.run(LONG * 100, path, |_| ()).await;
        assert_eq!(refused, Err(FileAccessError::TooManyWaiting(path.into())));
        assert!(refused.unwrap_err().to_string().contains("/c"));
    }

    #[tokio::test]
    async fn a_mount_that_does_not_respond_leaves_threads_for_the_others() {
        let threads = threads(limits::FILE_THREADS);
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/proc", dir.path().join("link")).unwrap();
        let mut held = Vec::new();
        // Half of them by a link in a directory that is on another mount.
        for number in 0..limits::FILE_THREADS_PER_MOUNT {
            let (release, call) = stuck();
            held.push(release);
            let base = if number % 2 == 0 { dir.path().join("link") } else { "/proc".into() };
            assert!(threads.run(SHORT, &base.join(format!("none-{number}")), call).await.is_err());
        }
        for path in [dir.path().join("link/version"), "/proc/version".into()] {
            let refused = threads.run(LONG, &path, |_| ()).await;
            assert_eq!(refused, Err(FileAccessError::NotResponding(path)));
        }
        assert_eq!(threads.run(LONG, &dir.path().join("fine"), |_| 1).await, Ok(1));
        assert!(threads.free.available_permits() > limits::FILE_THREADS / 2);
    }

    #[tokio::test]
    async fn a_caller_in_a_hurry_does_not_condemn_the_path() {
        let threads = Box::leak(Box::new(FileThreads::new(2, LONG)));
        let slow = Path::new("/slow");
        let (release, call) = stuck();
        assert!(threads.run(SHORT, slow, call).await.is_err());
        assert_eq!(threads.run(LONG, slow, |_| 1).await, Ok(1), "another caller has more time");
        drop(release);
    }

    #[tokio::test]
    async fn calls_wait_for_a_thread_that_is_merely_busy() {
        let threads = threads(1);
        let (release, call) = stuck();
        let first = threads.run(LONG, Path::new("/a"), call);
        let second = threads.run(LONG, Path::new("/a"), |_| ());
        let both = async { tokio::join!(first, second) };
        tokio::pin!(both);
        assert!(tokio::time::timeout(SHORT, both.as_mut()).await.is_err());
        drop(release);
        assert_eq!(tokio::time::timeout(LONG, both).await.unwrap(), (Ok(()), Ok(())));
    }

    #[tokio::test]
    async fn a_panic_in_a_call_is_an_error() {
        let failed = threads(1).run(LONG, Path::new("/a"), |_| assert_eq!(1, 2)).await;
        assert!(matches!(failed, Err(FileAccessError::NoThread { .. })), "{failed:?}");
    }

    #[test]
    fn only_regular_files_of_limited_length_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        assert_eq!(read_text(&at("file"), 4).unwrap(), "text");
        assert_eq!(read(&at("file"), 3).unwrap_err().to_string(), "longer than 3 bytes");
        assert_eq!(read_beginning(&at("file"), 2).unwrap(), b"te");
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), FileType::Fifo, 0o600.into(), 0).unwrap();
        for (path, kind) in
            [(at("fifo"), "a FIFO"), (dir.path().to_owned(), "a directory"), ("/dev/null".into(), "a device")]
        {
            let error = read(&path, 9).unwrap_err().to_string();
            assert_eq!(error, format!("not a regular file, but {kind}"));
        }
        assert_eq!(read(&at("none"), 9).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(real_directory(&at("file")).is_err() && real_directory(dir.path()).is_ok());
    }
}
