//! Sends text to a child without its terminal.

use crate::wait_for;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A named pipe. A child that reads it (`cat NAME`) waits until the test writes to it.
#[derive(Debug)]
pub struct Fifo {
    path: PathBuf,
}

impl Fifo {
    /// Creates the pipe.
    pub fn make(path: &Path) -> Self {
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        Self { path: path.to_owned() }
    }

    /// Waits for a reader, writes `text` and closes the pipe. To be used once: a process that still reads could get
    /// the next text, too.
    #[track_caller]
    pub fn write(self, text: &str) {
        let mut pipe = wait_for("a reader of the pipe", || {
            File::options().write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&self.path).ok()
        });
        pipe.write_all(text.as_bytes()).expect("a reader");
    }
}
