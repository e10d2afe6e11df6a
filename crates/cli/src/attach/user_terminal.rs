//! The user's side of an attachment: standard output, and the terminal, which is restored in the end.
//!
//! Output is written without blocking, on an open file of our own: switching the shared one to non-blocking would
//! affect the user's shell, too. While the terminal accepts no more, [`UserTerminal::is_blocked`] is true and nothing
//! further is read from the daemon.

use super::follow::timespec;
use super::inbox::Inbox;
use crate::limits;
use crate::terminal::modes::{ModeTracker, ProgramTitle};
use crate::terminal::raw::RawMode;
use crate::terminal::size;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::{Errno, writev};
use rustix::stdio::stdout;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;
use swb_vt::{ColourFilter, QueryFilter};

/// The user's terminal, or another kind of standard output.
#[derive(Debug)]
pub(crate) struct UserTerminal {
    /// Our own open file, if standard output can be opened again.
    own: Option<OwnedFd>,
    /// The modes the program has changed; tracked only on a terminal.
    modes: Option<ModeTracker>,
    raw: Option<RawMode>,
    history: QueryFilter,
    /// All output passes it, if only text and colours are to be shown.
    filter: Option<ColourFilter>,
    /// Output that has passed a filter; written before `ranges`.
    filtered: Vec<u8>,
    filtered_done: usize,
    /// Output in the inbox.
    ranges: Vec<Range<usize>>,
    blocked: bool,
    /// Whether the user's own text has been moved to the scrollback.
    cleared: bool,
    /// Whether the user's title was saved.
    saved_title: bool,
    /// While a title of ours is being written: that of the program.
    own_title: Option<ProgramTitle>,
}

impl UserTerminal {
    /// Takes over standard output, and the keyboard if `keyboard` is set and there is one. All output passes
    /// `filter`, if there is one.
    pub(crate) fn open(keyboard: bool, filter: Option<ColourFilter>) -> io::Result<Self> {
        let terminal = rustix::termios::isatty(stdout());
        let raw = if keyboard { RawMode::enter()? } else { None };
        Ok(Self {
            own: reopen_output(terminal),
            modes: (terminal && keyboard).then(ModeTracker::default),
            raw,
            history: QueryFilter::for_replay(),
            filter,
            filtered: Vec::new(),
            filtered_done: 0,
            ranges: Vec::with_capacity(limits::WRITE_PIECES),
            blocked: false,
            cleared: false,
            saved_title: false,
            own_title: None,
        })
    }

    /// With `returning`, a session was shown here before, and nothing of the user's has to be moved out of the way.
    pub(crate) fn returning(mut self, returning: bool) -> Self {
        self.cleared = returning;
        self
    }

    /// Whether keys are read one by one from a terminal.
    pub(crate) fn has_keyboard(&self) -> bool {
        self.raw.is_some()
    }

    /// Whether output waits for the terminal.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Whether there is no room for another range.
    pub(crate) fn is_full(&self) -> bool {
        self.ranges.len() == limits::WRITE_PIECES
    }

    /// Adds output in `inbox`. Its first `old` bytes have been shown before; with `last_old`, these are the last
    /// old ones.
    pub(crate) fn add(&mut self, inbox: &Inbox, range: Range<usize>, old: usize, last_old: bool) {
        if let Some(filter) = &mut self.filter {
            return filter.feed(inbox.bytes(range), &mut self.filtered);
        }
        let middle = range.start + old.min(range.len());
        if old > 0 {
            self.history.feed(inbox.bytes(range.start..middle), &mut self.filtered);
            if last_old {
                self.history.finish(&mut self.filtered);
            }
        }
        if middle < range.end {
            self.ranges.push(middle..range.end);
        }
    }

    /// Prepares for output that does not continue the previous output.
    ///
    /// A terminal that waits for the end of an escape sequence would swallow it.
    pub(crate) fn gap(&mut self) {
        self.history = QueryFilter::for_replay();
        self.end_filter();
        if let Some(modes) = &self.modes {
            self.filtered.extend_from_slice(modes.abort());
        }
    }

    fn end_filter(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter.finish(&mut self.filtered);
        }
    }

    /// Prepares for a picture of the whole screen.
    pub(crate) fn picture(&mut self) {
        self.gap();
        self.clear();
    }

    /// Clears the screen the first time it is called: the user's own text moves to the terminal's scrollback, where
    /// it can be found again.
    pub(crate) fn clear(&mut self) {
        if self.modes.is_some() && !self.cleared {
            self.cleared = true;
            let rows = size::current().map_or(0, |size| size.rows().into());
            self.filtered.push(b'\r');
            self.filtered.extend(std::iter::repeat_n(b'\n', rows));
        }
    }

    /// Shows a message on the last row, until the program draws there; false if that has to wait for the end of a
    /// sequence of the program. Nothing is shown if this is not a terminal.
    pub(crate) fn note(&mut self, text: &str) -> bool {
        let rows = size::current().map_or(u16::MAX, |size| size.rows());
        self.insert(format!("\x1b7\x1b[{rows};1H\x1b[7m {text} \x1b[m\x07\x1b8").as_bytes())
    }

    /// Writes bytes of our own between two sequences of the program; false if that has to wait for the end of one.
    /// Nothing is written if this is not a terminal.
    pub(crate) fn insert(&mut self, bytes: &[u8]) -> bool {
        let Some(modes) = &self.modes else { return true };
        if self.has_pending() || !modes.is_between() {
            return false;
        }
        self.filtered.extend_from_slice(bytes);
        true
    }

    /// The title that the program has set, on a terminal.
    pub(crate) fn program_title(&self) -> Option<&ProgramTitle> {
        self.modes.as_ref().map(ModeTracker::title)
    }

    /// Shows a title until the program sets another one; false if that has to wait for the end of a sequence of the program.
    pub(crate) fn show_title(&mut self, title: &str) -> bool {
        let Some(modes) = &mut self.modes else { return true };
        if self.filtered_done < self.filtered.len() || !self.ranges.is_empty() || !modes.is_between() {
            return false;
        }
        // Not tracked as the program's: it is written beside the output.
        let program = modes.title().clone();
        if !self.saved_title {
            // The user's own title is restored in the end, as is every title that was saved.
            self.saved_title = true;
            self.filtered.extend_from_slice(b"\x1b[22;0t");
        }
        self.filtered.extend_from_slice(format!("\x1b]2;{title}\x1b\\").as_bytes());
        self.own_title = Some(program);
        true
    }

    /// Adds old output from elsewhere, without sequences that must not take effect a second time.
    pub(crate) fn show_old(&mut self, output: &[u8]) {
        if self.modes.is_some() {
            self.history.feed(output, &mut self.filtered);
        } else {
            self.filtered.extend_from_slice(output);
        }
    }

    /// Writes what the terminal accepts.
    pub(crate) fn flush(&mut self, inbox: &Inbox) -> io::Result<()> {
        while self.has_pending() {
            match self.write_once(inbox) {
                Ok(count) => self.written(inbox, count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.blocked = true;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.blocked = false;
        Ok(())
    }

    fn has_pending(&self) -> bool {
        self.filtered_done < self.filtered.len() || !self.ranges.is_empty()
    }

    fn write_once(&self, inbox: &Inbox) -> Result<usize, Errno> {
        let mut slices = [IoSlice::new(&[]); limits::WRITE_PIECES + 1];
        let filtered = self.filtered.get(self.filtered_done..).unwrap_or_default();
        let pieces =
            std::iter::once(filtered).chain(self.ranges.iter().map(|range| inbox.bytes(range.clone())));
        let pieces = pieces.filter(|piece| !piece.is_empty());
        let mut count = 0;
        for (slot, piece) in slices.iter_mut().zip(pieces) {
            *slot = IoSlice::new(piece);
            count += 1;
        }
        writev(self.as_fd(), slices.get(..count).unwrap_or_default())
    }

    /// Tracks the modes in the output that was written; only that can have changed the terminal.
    fn written(&mut self, inbox: &Inbox, mut count: usize) {
        let follow = |modes: &mut Option<ModeTracker>, bytes: &[u8]| {
            if let Some(modes) = modes {
                modes.feed(bytes);
            }
        };
        let filtered = count.min(self.filtered.len() - self.filtered_done);
        let end = self.filtered_done + filtered;
        follow(&mut self.modes, self.filtered.get(self.filtered_done..end).unwrap_or_default());
        self.filtered_done = end;
        count -= filtered;
        if self.filtered_done == self.filtered.len() {
            if let (Some(program), Some(modes)) = (self.own_title.take(), &mut self.modes) {
                modes.keep_title(program);
            }
            self.filtered.clear();
            self.filtered_done = 0;
        }
        let mut whole = 0;
        for range in &mut self.ranges {
            let part = count.min(range.len());
            follow(&mut self.modes, inbox.bytes(range.start..range.start + part));
            range.start += part;
            count -= part;
            if range.start < range.end {
                break;
            }
            whole += 1;
        }
        self.ranges.drain(..whole);
    }

    /// Makes the keyboard raw again after another program has used it.
    pub(crate) fn renew(&self) {
        if let Some(raw) = &self.raw {
            // If this fails, the terminal is gone, and the next read reports that.
            drop(raw.renew());
        }
    }

    /// Writes the rest and restores the terminal.
    pub(crate) fn finish(&mut self, inbox: &Inbox) {
        let deadline = Instant::now() + limits::REST;
        self.end_filter();
        while self.flush(inbox).is_ok() && self.blocked && self.wait_for_room(deadline) {}
        self.give_back();
    }

    fn give_back(&mut self) {
        if let Some(modes) = self.modes.take() {
            let undo = modes.undo();
            let mut rest = undo.as_slice();
            let deadline = Instant::now() + limits::UNDO;
            while !rest.is_empty() {
                match rustix::io::write(self.as_fd(), rest) {
                    Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) if self.wait_for_room(deadline) => {}
                    // The terminal is gone, or as good as gone.
                    Err(_) => break,
                }
            }
        }
        self.raw = None;
    }

    /// Waits until the terminal accepts more; false at the deadline.
    fn wait_for_room(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(self, PollFlags::OUT)];
        match poll(&mut fds, Some(&timespec(left))) {
            Ok(ready) => ready > 0,
            Err(error) => error == Errno::INTR,
        }
    }
}

impl Drop for UserTerminal {
    /// Also runs on a panic, which is when it matters.
    fn drop(&mut self) {
        self.give_back();
    }
}

impl AsFd for UserTerminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.own {
            Some(own) => own.as_fd(),
            None => stdout(),
        }
    }
}

/// Opens standard output a second time, so that non-blocking mode affects only this process.
///
/// Only where a second open file writes to the same place: a regular file would be overwritten from its
/// start.
pub(crate) fn reopen_output(terminal: bool) -> Option<OwnedFd> {
    let fifo = || {
        rustix::fs::fstat(stdout()).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
    };
    if !terminal && !fifo() {
        return None;
    }
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open("/proc/self/fd/1", flags, Mode::empty()).ok()
}
