//! Lines of text in shared memory that outlive the daemon: the keeper holds the same memory.
//!
//! Lines are only appended, so a daemon that dies leaves at most one incomplete line, which readers ignore.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// A list of lines in a memfd.
#[derive(Debug)]
pub(crate) struct Journal {
    memory: OwnedFd,
    length: u64,
}

impl Journal {
    /// A journal without lines.
    pub(crate) fn begin(name: &str) -> io::Result<Self> {
        let memory = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?;
        Ok(Self { memory, length: 0 })
    }

    /// Continues the journal that an earlier daemon left, and returns its lines.
    pub(crate) fn resume(memory: OwnedFd, most: usize) -> io::Result<(Self, String)> {
        let mut bytes = swb_keeper::read_memfd(&memory, most)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(end);
        let text = String::from_utf8(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok((Self { memory, length: end as u64 }, text))
    }

    /// The memory, for the keeper to hold.
    pub(crate) fn share(&self) -> io::Result<OwnedFd> {
        self.memory.as_fd().try_clone_to_owned()
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    /// Appends whole lines.
    pub(crate) fn append(&mut self, lines: &str) -> io::Result<()> {
        let mut rest = lines.as_bytes();
        while !rest.is_empty() {
            let n = rustix::io::pwrite(&self.memory, rest, self.length)?;
            rest = &rest[n..];
            self.length += n as u64;
        }
        Ok(())
    }

    /// A second handle for another thread; it does not include lines that are appended later.
    pub(crate) fn as_it_is(&self) -> io::Result<Self> {
        Ok(Self { memory: self.share()?, length: self.length })
    }

    /// Its lines from `offset` on, where a line begins.
    pub(crate) fn read(&self, offset: u64) -> io::Result<String> {
        let length = usize::try_from(self.length.saturating_sub(offset)).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        let mut read = 0;
        while read < length {
            match rustix::io::pread(&self.memory, &mut bytes[read..], offset + read as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => read += n,
            }
        }
        String::from_utf8(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// Replaces its text in the same memory, so that the keeper's duplicate shows it too.
    pub(crate) fn rewrite(&mut self, lines: &str) -> io::Result<()> {
        rustix::fs::ftruncate(&self.memory, 0)?;
        self.length = 0;
        self.append(lines)
    }
}
