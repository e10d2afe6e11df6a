//! The log: standard error for a daemon in the foreground, a bounded file for one in the background.
//!
//! A thread of its own writes the lines, so that a disk or a terminal that does not accept them delays the daemon only briefly. A
//! line is usually written before the daemon goes on, so that who sees an effect finds it in the log. If the thread falls
//! behind, or the disk is full, or the directory is missing, lines are lost and nothing else happens.

#![allow(clippy::disallowed_methods, reason = "our own log, which no client names, on a thread of its own")]

use crate::limits;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use swb_engine::file_access;
use swb_vt::{ColourFilter, printable_lines};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Libraries that would log what strangers send, a line for each packet.
const PROTOCOLS: &str = "str0m=error,sctp_proto=error,dimpl=error,is=error";

/// Starts logging, to `file` if given, else to standard error.
///
/// `levels` are combined: one for the whole program, one for a part of it.
pub(crate) fn begin(levels: [&str; 2], file: Option<&Path>) -> LogEnd {
    let filter = EnvFilter::try_new(format!("{PROTOCOLS},{}", levels.join(",")))
        .or_else(|_| EnvFilter::try_new(levels[0]));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    let coloured = file.is_none() && io::IsTerminal::is_terminal(&io::stderr());
    let queue = match file {
        Some(path) => LogQueue::start(LogFile::new(path)),
        None => LogQueue::start(StderrLog { coloured }),
    };
    let end = LogEnd(queue.clone());
    // A line that cannot be written is lost; reporting that on standard error would panic.
    let base =
        tracing_subscriber::fmt().with_env_filter(filter).with_target(false).log_internal_errors(false);
    // A second call (in tests) is not an error.
    let _begun = base.with_ansi(coloured).with_writer(queue).try_init();
    end
}

/// Lines for the thread that writes them.
#[derive(Debug, Clone)]
struct LogQueue {
    items: SyncSender<LogItem>,
    progress: Arc<LogProgress>,
}

/// How far the thread has come.
#[derive(Debug, Default)]
struct LogProgress {
    /// Lines that were queued, and of these the ones that were written.
    lines: Mutex<(u64, u64)>,
    written: Condvar,
    /// The last line was not written in time, so the next ones are not waited for.
    stuck: AtomicBool,
    /// Lines that did not fit since the thread last wrote one.
    lost: AtomicU64,
}

#[derive(Debug)]
enum LogItem {
    Line(Vec<u8>),
    /// All lines before it were written.
    Written(SyncSender<()>),
}

impl LogQueue {
    fn start(mut log: impl Write + Send + 'static) -> Self {
        let (items, received) = sync_channel(limits::LOG_QUEUE);
        let queue = Self { items, progress: Arc::default() };
        let progress = Arc::clone(&queue.progress);
        let write = move || write_lines(&received, &progress, &mut log);
        // Without a thread all lines are lost.
        let _thread = std::thread::Builder::new().name("log".into()).spawn(write);
        queue
    }
}

impl LogProgress {
    fn lines(&self) -> MutexGuard<'_, (u64, u64)> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything that was queued is written, for a limited time.
    fn wait(&self) {
        if self.stuck.load(Ordering::Relaxed) {
            return;
        }
        let pending = |lines: &mut (u64, u64)| lines.1 < lines.0;
        let waited = self.written.wait_timeout_while(self.lines(), limits::LOG_WAIT, pending);
        let (_lines, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        self.stuck.store(timeout.timed_out(), Ordering::Relaxed);
    }
}

fn write_lines(items: &Receiver<LogItem>, progress: &LogProgress, log: &mut impl Write) {
    while let Ok(item) = items.recv() {
        match item {
            LogItem::Line(line) => {
                // A line that cannot be written is lost; there is no place to report that.
                let _written = log.write_all(&line);
                progress.lines().1 += 1;
                progress.stuck.store(false, Ordering::Relaxed);
                progress.written.notify_all();
            }
            LogItem::Written(done) => drop(done.try_send(())),
        }
        let count = progress.lost.swap(0, Ordering::Relaxed);
        if count > 0 {
            drop(log.write_all(format!("{count} lines of the log were lost\n").as_bytes()));
        }
    }
}

impl Write for LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let kept = match line.get(..limits::LOG_LINE) {
            Some(start) => [start, b"\n"].concat(),
            None => line.to_vec(),
        };
        match self.items.try_send(LogItem::Line(kept)) {
            Ok(()) => {
                self.progress.lines().0 += 1;
                self.progress.wait();
            }
            Err(_) => drop(self.progress.lost.fetch_add(1, Ordering::Relaxed)),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogQueue {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Waits for the last lines to be written when it is dropped, for a limited time.
#[derive(Debug)]
pub(crate) struct LogEnd(LogQueue);

impl Drop for LogEnd {
    fn drop(&mut self) {
        let (done, written) = sync_channel(1);
        if self.0.items.try_send(LogItem::Written(done)).is_ok() {
            let _written = written.recv_timeout(limits::LOG_END);
        }
    }
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

/// A line that cannot act on the terminal of a person who reads the log, even if a client's names are in it.
fn harmless(line: &[u8], coloured: bool) -> Vec<u8> {
    if !coloured {
        return printable_lines(&String::from_utf8_lossy(line)).into_owned().into_bytes();
    }
    let (mut filter, mut out) = (ColourFilter::new(), Vec::with_capacity(line.len()));
    filter.feed(line, &mut out);
    filter.finish(&mut out);
    out
}

/// A file of limited length; the one before it is kept beside it.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: Option<File>,
    len: u64,
    opened: bool,
}

impl LogFile {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None, len: 0, opened: false }
    }

    fn reopen(&mut self) {
        self.opened = true;
        // A FIFO in its place would wait for a reader.
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let open =
            OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(&self.path);
        self.file = open.ok().filter(|file| file_access::require_regular(file).is_ok());
        self.len = self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.len > limits::LOG_FILE {
            let _aside = std::fs::rename(&self.path, self.path.with_extension("log.1"));
            self.reopen();
        } else if !self.opened {
            self.reopen();
        }
        if let Some(file) = &mut self.file {
            let shown = harmless(line, false);
            let _written = file.write_all(&shown);
            self.len += shown.len() as u64;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
        let mut log = LogFile::new(&path);
        let line = vec![b'x'; 1 << 20];
        for _ in 0..12 {
            log.write_all(&line).unwrap();
        }
        assert!(path.metadata().unwrap().len() <= limits::LOG_FILE + (2 << 20));
        assert!(path.with_extension("log.1").exists());
        std::fs::remove_dir_all(&dir).unwrap();
        LogFile::new(&dir.join("no/such/dir")).write_all(b"lost").unwrap();
    }

    #[test]
    fn a_fifo_in_the_place_of_the_file_takes_no_lines_and_delays_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        LogFile::new(&path).write_all(b"lost").unwrap();
    }

    /// A disk that does not respond until the sender is dropped.
    struct Stuck(Receiver<()>, SyncSender<Vec<u8>>);

    impl Write for Stuck {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            let _stuck = self.0.recv();
            self.1.send(line.to_vec()).map_err(io::Error::other)?;
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_long_line_is_cut_and_stays_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let mut queue = LogQueue::start(LogFile::new(&path));
        queue.write_all(&vec![b'x'; limits::LOG_LINE * 2]).unwrap();
        queue.write_all(b"next\n").unwrap();
        drop(LogEnd(queue));
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().map(str::len).collect::<Vec<_>>(), [limits::LOG_LINE, 4]);
    }

    #[test]
    fn a_disk_that_does_not_respond_delays_no_client() {
        let (respond, stuck) = sync_channel(0);
        let (sender, written) = sync_channel(limits::LOG_QUEUE * 2);
        let mut queue = LogQueue::start(Stuck(stuck, sender));
        for _ in 0..limits::LOG_QUEUE * 2 {
            queue.write_all(b"x\n").unwrap();
        }
        drop(LogEnd(queue.clone()));
        drop(respond);
        let lines = std::iter::from_fn(|| written.recv().ok());
        let lost =
            lines.map(|line| String::from_utf8(line).unwrap()).find(|line| line.contains("lost")).unwrap();
        let count: usize = lost.split(' ').next().unwrap().parse().unwrap();
        assert!((limits::LOG_QUEUE - 1..=limits::LOG_QUEUE).contains(&count), "{lost}");
    }
}
