//! Lines in shared memory that outlive the daemon: the keeper holds the same memory.
//!
//! Lines are only added, so that a daemon that dies leaves at most one that is not finished; that one is not there.

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

    /// Goes on with what an earlier daemon left, and gives its lines.
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

    /// Bytes in it.
    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    /// Adds whole lines.
    pub(crate) fn append(&mut self, lines: &str) -> io::Result<()> {
        let mut rest = lines.as_bytes();
        while !rest.is_empty() {
            let n = rustix::io::pwrite(&self.memory, rest, self.length)?;
            rest = &rest[n..];
            self.length += n as u64;
        }
        Ok(())
    }

    /// The same lines for another thread; those that are added later are not among them.
    pub(crate) fn as_it_is(&self) -> io::Result<Self> {
        Ok(Self { memory: self.share()?, length: self.length })
    }

    /// Its lines from one that begins at `offset`.
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

    /// Writes it anew, in the same memory: whoever holds it holds that.
    pub(crate) fn rewrite(&mut self, lines: &str) -> io::Result<()> {
        rustix::fs::ftruncate(&self.memory, 0)?;
        self.length = 0;
        self.append(lines)
    }
}
