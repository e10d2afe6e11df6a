//! A screen saved in shared memory: the bytes that restore it, and the offset of the output it shows.

use crate::limits;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use swb_turns::SavedDetector;
use swb_types::{Offset, Size};
use swb_vt::{Options, Screen};

/// Version of the format; a checkpoint of another version is ignored.
const VERSION: u32 = 1;

/// A screen in a memfd, which the keeper holds too. It costs this process a descriptor.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    memory: OwnedFd,
    head: CheckpointHead,
}

/// First line of the memfd, as JSON; the detector's state follows, and then the picture.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CheckpointHead {
    version: u32,
    /// The picture shows all output before this offset.
    offset: Offset,
    cols: u16,
    rows: u16,
    /// Lines that had left the screen; the detector's state counts them.
    #[serde(default)]
    scrolled: u64,
    /// Bytes of the detector's state.
    #[serde(default)]
    saved: usize,
}

impl Checkpoint {
    /// Saves a screen that shows all output before `offset`, and the detector's state if there is one. The size is
    /// bounded: the oldest lines of a scrollback full of colours are left out.
    pub(crate) fn new(offset: Offset, screen: &Screen, saved: Option<&SavedDetector>) -> io::Result<Self> {
        let (cols, rows) = (screen.size().cols(), screen.size().rows());
        let saved = saved.map(serde_json::to_vec).transpose()?.unwrap_or_default();
        let scrolled = screen.scrolled();
        let head = CheckpointHead { version: VERSION, offset, cols, rows, scrolled, saved: saved.len() };
        let mut picture = screen.snapshot();
        let mut scrollback = screen.scrollback_len();
        while picture.len() > limits::CHECKPOINT && scrollback > 0 {
            scrollback /= 2;
            picture = screen.snapshot_limited(scrollback);
        }
        let mut bytes = serde_json::to_vec(&head)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&saved);
        bytes.append(&mut picture);
        Ok(Self { memory: swb_keeper::sealed_memfd("swb-screen", &bytes)?, head })
    }

    /// Opens a checkpoint that an earlier daemon left with the keeper.
    pub(crate) fn open(memory: OwnedFd) -> io::Result<Self> {
        let mut start = [0; limits::CHECKPOINT_HEAD];
        let read = rustix::io::pread(&memory, &mut start, 0)?;
        let line = start[..read].split(|byte| *byte == b'\n').next().unwrap_or_default();
        let head: CheckpointHead = serde_json::from_slice(line)?;
        if head.version != VERSION {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "unknown checkpoint version"));
        }
        Ok(Self { memory, head })
    }

    /// Another descriptor of the same memory.
    pub(crate) fn share(&self) -> io::Result<OwnedFd> {
        self.memory.as_fd().try_clone_to_owned()
    }

    pub(crate) fn offset(&self) -> Offset {
        self.head.offset
    }

    pub(crate) fn size(&self) -> Size {
        Size::new(self.head.cols, self.head.rows).unwrap_or(Size::DEFAULT)
    }

    /// Everything after the first line.
    fn body(&self) -> io::Result<Vec<u8>> {
        let mut bytes = swb_keeper::read_memfd(&self.memory, limits::STORED)?;
        let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        bytes.drain(..end);
        Ok(bytes)
    }

    /// The bytes that paint it.
    pub(crate) fn picture(&self) -> io::Result<Vec<u8>> {
        let mut bytes = self.body()?;
        bytes.drain(..self.head.saved.min(bytes.len()));
        Ok(bytes)
    }

    /// The detector's state at that offset. One of another version is ignored.
    pub(crate) fn saved(&self) -> Option<SavedDetector> {
        serde_json::from_slice(self.body().ok()?.get(..self.head.saved)?).ok()
    }

    /// Restores the screen, in another size if one is given. A failure of the terminal model costs the saved screen, and
    /// not its observer.
    pub(crate) fn restore(&self, options: Options, size: Option<Size>) -> io::Result<Screen> {
        let picture = self.picture()?;
        let draw = || {
            let mut screen = Screen::new(self.size(), options);
            screen.feed(&picture);
            screen.count_scrolled_from(self.head.scrolled);
            if let Some(size) = size {
                screen.resize(size);
            }
            screen
        };
        std::panic::catch_unwind(draw).map_err(|_| io::Error::other("the terminal model failed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_comes_back_from_the_memory_another_process_holds() {
        let mut screen = Screen::new(Size::new(33, 7).unwrap(), Options::default());
        screen.feed(b"line\r\n".repeat(20).as_slice());
        screen.feed(b"\x1b[2J\x1b[1;31mred\x1b[?2004h");
        assert!(screen.scrolled() > 0);
        let stored = Checkpoint::new(Offset(19), &screen, None).unwrap();
        let opened = Checkpoint::open(stored.share().unwrap()).unwrap();
        assert_eq!((opened.offset(), opened.size()), (Offset(19), screen.size()));
        let restored = opened.restore(Options::default(), None).unwrap();
        assert_eq!(restored.state(), screen.state());
        assert_eq!(restored.scrolled(), screen.scrolled());
        let size = Size::new(50, 9).unwrap();
        screen.resize(size);
        assert_eq!(opened.restore(Options::default(), Some(size)).unwrap().state(), screen.state());
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in [&b""[..], b"{}\n", b"{\"version\":99,\"offset\":0,\"cols\":1,\"rows\":1}\nx", b"\xff\n"]
        {
            let memory = swb_keeper::sealed_memfd("test", bytes).unwrap();
            assert!(Checkpoint::open(memory).is_err(), "{bytes:?}");
        }
    }
}
