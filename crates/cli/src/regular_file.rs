//! Reads files that a user or a repository has placed, without waiting for a peer.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a regular file of at most `max` bytes, once. A FIFO or a device in its place is an error, and does not block.
pub(crate) fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {max} bytes")));
    }
    Ok(bytes)
}

/// The same for text.
pub(crate) fn read_text(path: &Path, max: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, max)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};

    #[test]
    fn only_regular_files_of_a_bounded_length_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let (file, fifo) = (dir.path().join("file"), dir.path().join("fifo"));
        std::fs::write(&file, "text").unwrap();
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(read_text(&file, 4).unwrap(), "text");
        assert_eq!(read_text(&file, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for other in [&fifo, dir.path()] {
            assert_eq!(read_text(other, 4).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
