//! The log: standard error for a daemon in the foreground, a bounded file for one in the background.
//!
//! If the disk is full or the directory is missing, log lines are lost and nothing else happens.

#![allow(clippy::disallowed_methods, reason = "our own log, which no client names")]

use crate::limits;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use swb_vt::{ColourFilter, printable_lines};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Starts logging, to `file` if given, else to standard error.
///
/// `levels` are combined: one for the whole program, one for a part of it.
pub(crate) fn begin(levels: [&str; 2], file: Option<&Path>) {
    let filter = EnvFilter::try_new(levels.join(",")).or_else(|_| EnvFilter::try_new(levels[0]));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    // A line that cannot be written is lost; reporting that on standard error would panic.
    let base =
        tracing_subscriber::fmt().with_env_filter(filter).with_target(false).log_internal_errors(false);
    // A second call (in tests) is not an error.
    let _begun = match file {
        Some(path) => base.with_ansi(false).with_writer(LogFile::open(path)).try_init(),
        None => {
            let coloured = io::IsTerminal::is_terminal(&io::stderr());
            base.with_ansi(coloured).with_writer(move || StderrLog { coloured }).try_init()
        }
    };
}

/// Standard error.
#[derive(Debug)]
struct StderrLog {
    coloured: bool,
}

impl Write for StderrLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(&harmless(line, self.coloured)).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line that cannot act on the terminal of a person who reads the log, whatever a client has named.
fn harmless(line: &[u8], coloured: bool) -> Vec<u8> {
    if !coloured {
        return printable_lines(&String::from_utf8_lossy(line)).into_owned().into_bytes();
    }
    let (mut filter, mut out) = (ColourFilter::new(), Vec::with_capacity(line.len()));
    filter.feed(line, &mut out);
    filter.finish(&mut out);
    out
}

#[derive(Debug, Clone)]
struct LogFile(Arc<Mutex<LogFileState>>);

#[derive(Debug)]
struct LogFileState {
    path: PathBuf,
    file: Option<File>,
    len: u64,
}

impl LogFile {
    fn open(path: &Path) -> Self {
        let mut state = LogFileState { path: path.to_owned(), file: None, len: 0 };
        state.reopen();
        Self(Arc::new(Mutex::new(state)))
    }
}

impl LogFileState {
    fn reopen(&mut self) {
        let open = || OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path);
        self.file = open().ok();
        self.len = self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.len > limits::LOG_FILE {
            let _aside = std::fs::rename(&state.path, state.path.with_extension("log.1"));
            state.reopen();
        }
        if let Some(file) = &mut state.file {
            // The line is lost; there is no place to report that.
            let shown = harmless(line, false);
            let _written = file.write_all(&shown);
            state.len += shown.len() as u64;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cannot_act_on_a_terminal() {
        let line = "\u{1b}[2mWARN\u{1b}[0m path=/x\u{1b}]52;c;cm0=\u{7}\u{9b}5n\u{202e}\n";
        let shown = String::from_utf8(harmless(line.as_bytes(), true)).unwrap();
        assert!(shown.starts_with("\u{1b}[2mWARN\u{1b}[0m path=/x\\u{9b}5n\\u{202e}\n"), "{shown:?}");
        let plain = String::from_utf8(harmless(line.as_bytes(), false)).unwrap();
        assert!(plain.is_ascii() && !plain.contains('\u{1b}') && plain.contains("path=/x"), "{plain:?}");
    }

    #[test]
    fn the_file_is_bounded_and_a_missing_directory_is_no_error() {
        let dir = std::env::temp_dir().join(format!("swb-log-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("daemon.log");
        let mut log = LogFile::open(&path);
        let line = vec![b'x'; 1 << 20];
        for _ in 0..12 {
            log.write_all(&line).unwrap();
        }
        assert!(path.metadata().unwrap().len() <= limits::LOG_FILE + (2 << 20));
        assert!(path.with_extension("log.1").exists());
        std::fs::remove_dir_all(&dir).unwrap();
        LogFile::open(&dir.join("no/such/dir")).write_all(b"lost").unwrap();
    }
}
