//! Sinks of the relay buffer besides a terminal: a file, the clipboard.
//!
//! A disk or another program can take any time, so sinks run on threads of their own, a limited number at a time. The
//! daemon does not wait for them when it stops. Programs that set the clipboard are ended after a few seconds; files
//! have the limits of [`file_access`].

use super::RelayError;
use crate::{file_access, limits};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{Semaphore, oneshot};

/// The clipboard of the user.
pub trait ClipboardSink: fmt::Debug + Send + Sync {
    /// Sets the clipboard to `content`, or returns why it cannot. May block for a few seconds.
    fn set(&self, content: &[u8]) -> Result<(), String>;
}

/// The threads that set the clipboard.
#[derive(Debug, Clone)]
pub(super) struct ClipboardThreads(Arc<Semaphore>);

impl Default for ClipboardThreads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(limits::CLIPBOARDS)))
    }
}

impl ClipboardThreads {
    /// Runs `work` on a thread of its own and waits for it.
    pub(super) async fn run(
        &self,
        work: impl FnOnce() -> Result<(), RelayError> + Send + 'static,
    ) -> Result<(), RelayError> {
        let broken = |error: &dyn std::fmt::Display| RelayError::Memory(error.to_string());
        let permit = Arc::clone(&self.0).acquire_owned().await.map_err(|error| broken(&error))?;
        let (done, outcome) = oneshot::channel();
        let thread = move || {
            let outcome = work();
            drop(permit);
            // The caller may be gone.
            let _told = done.send(outcome);
        };
        std::thread::Builder::new().name("sink".into()).spawn(thread).map_err(|error| broken(&error))?;
        outcome.await.map_err(|error| broken(&error))?
    }
}

/// Writes exactly `content` to the file at `path`, which is made if it is missing (CR-18, CR-24).
pub(super) async fn write_file(path: &Path, content: Arc<Vec<u8>>) -> Result<(), RelayError> {
    let written = file_access::run_within(limits::FILE_WRITE, path, move |path| write_now(path, &content));
    written.await.map_err(|error| RelayError::File(error.to_string()))?
}

fn write_now(path: &Path, content: &[u8]) -> Result<(), RelayError> {
    file_access::write(path, content).map_err(|error| RelayError::File(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags};
    use std::os::unix::fs::PermissionsExt;

    // CR-18, CR-24
    #[test]
    fn a_file_has_exactly_the_bytes_and_a_new_one_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("turn");
        write_now(&path, b"a longer text").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_now(&link, b"short\0\xff").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"short\0\xff");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }

    // CR-18
    #[test]
    fn what_is_no_file_is_not_written_to_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        for path in [fifo.as_path(), dir.path(), Path::new("/dev/full"), &dir.path().join("no/file")] {
            assert!(matches!(write_now(path, b"x"), Err(RelayError::File(_))), "{}", path.display());
        }
        // Nor while another process reads it.
        let _reader =
            rustix::fs::open(&fifo, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
                .unwrap();
        assert!(matches!(write_now(&fifo, b"x"), Err(RelayError::File(_))));
    }
}
