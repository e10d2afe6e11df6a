//! The size of a terminal that windows of several sizes show.
//!
//! [`Windows`] is the rule, without effects: which windows there are, which was used last, and which size follows from
//! that. [`SizeClaim`] is one client's window; what it does changes the size of the PTY at once, also when it is dropped.

use super::{Pty, pack, unpack};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_types::{Size, SizePolicy};

/// How a client comes to a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// For the first time: that is a use of its window.
    New,
    /// After a lost connection: nothing about the size changes, so that the order in which clients reconnect does not
    /// matter.
    Again,
}

/// The windows that show one terminal, and which of them decides its size.
#[derive(Debug, Default)]
struct Windows {
    policy: SizePolicy,
    /// The daemon stops: windows that close are those of clients that it sends away, and decide nothing.
    kept: bool,
    /// Number of the last use of a window.
    uses: u64,
    open: Vec<Window>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    client: u64,
    /// `None` for a client that has not reported a size.
    size: Option<Size>,
    /// Number of its last use; 0 if it has not been used since its client reconnected.
    used: u64,
}

impl Windows {
    /// Adds a window.
    fn open(&mut self, client: u64, size: Option<Size>, used: bool) {
        let used = if used { self.next_use() } else { 0 };
        self.open.push(Window { client, size, used });
    }

    /// Notes that a window was used; with `size`, it has this size now.
    fn touch(&mut self, client: u64, size: Option<Size>) {
        let used = self.next_use();
        if let Some(window) = self.open.iter_mut().find(|window| window.client == client) {
            window.used = used;
            window.size = size.or(window.size);
        }
    }

    /// Removes a window; true if that may change the size.
    fn close(&mut self, client: u64) -> bool {
        let decided =
            self.policy != SizePolicy::Latest || self.latest().is_some_and(|it| it.client == client);
        self.open.retain(|window| window.client != client);
        decided
    }

    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// The window of a known size that was used last.
    fn latest(&self) -> Option<&Window> {
        self.open.iter().filter(|window| window.size.is_some()).max_by_key(|window| window.used)
    }

    /// The size the terminal is to have; `None` if that is not up to the windows.
    fn wanted(&self) -> Option<Size> {
        if self.kept {
            return None;
        }
        let sizes = || self.open.iter().filter_map(|window| window.size);
        let of_each = |pick: fn(u16, u16) -> u16| {
            sizes().reduce(|a, b| Size::new(pick(a.cols(), b.cols()), pick(a.rows(), b.rows())).unwrap_or(a))
        };
        match self.policy {
            SizePolicy::Latest => self.latest().and_then(|window| window.size),
            SizePolicy::Smallest => of_each(u16::min),
            SizePolicy::Largest => of_each(u16::max),
            SizePolicy::Manual => None,
        }
    }
}

/// The windows of one PTY.
#[derive(Debug, Default)]
pub(super) struct WindowSizes {
    windows: Mutex<Windows>,
    /// Number of the client that came last.
    clients: AtomicU64,
    /// The client whose window was used last; a copy, so that its next key takes no lock.
    latest: AtomicU64,
}

impl WindowSizes {
    fn lock(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One client's window, as long as this lives.
#[derive(Debug)]
pub struct SizeClaim {
    pty: Arc<Pty>,
    client: u64,
    /// Its packed size, 0 if unknown.
    window: AtomicU32,
    left: AtomicBool,
}

impl Pty {
    /// Sets the rule for sizes.
    pub fn set_size_policy(&self, policy: SizePolicy) {
        let mut windows = self.window_sizes.lock();
        windows.policy = policy;
        self.fit_windows(&windows);
    }

    /// Keeps the size from here on, even if windows open or close.
    pub(crate) fn keep_size(&self) {
        self.window_sizes.lock().kept = true;
    }

    /// The rule for sizes.
    pub fn size_policy(&self) -> SizePolicy {
        self.window_sizes.lock().policy
    }

    /// Adds a client whose window has the size `window`, and gives the terminal the size that follows.
    pub fn claim_size(self: &Arc<Self>, window: Option<Size>, arrival: Arrival) -> SizeClaim {
        let claim = self.note_window(window, arrival);
        if arrival == Arrival::New && window.is_some() {
            self.fit_windows(&self.window_sizes.lock());
        }
        claim
    }

    /// Adds a client whose protocol sets the terminal's size by itself.
    pub fn note_window(self: &Arc<Self>, window: Option<Size>, arrival: Arrival) -> SizeClaim {
        let client = self.window_sizes.clients.fetch_add(1, Ordering::Relaxed) + 1;
        let mut windows = self.window_sizes.lock();
        // Of those that reconnect, the one whose size the terminal has was used last.
        let used = arrival == Arrival::New || window == Some(self.size());
        windows.open(client, window, used);
        self.publish_latest(&windows);
        drop(windows);
        let window = AtomicU32::new(window.map_or(0, pack));
        SizeClaim { pty: Arc::clone(self), client, window, left: AtomicBool::new(false) }
    }

    /// Gives the terminal the size that follows from its windows. Called with the lock, so that the last change wins.
    /// Returns whether that is another size.
    fn fit_windows(&self, windows: &Windows) -> bool {
        self.publish_latest(windows);
        let changed = windows.wanted().filter(|size| *size != self.size());
        if let Some(size) = changed {
            self.resize(size, true);
        }
        changed.is_some()
    }

    fn publish_latest(&self, windows: &Windows) {
        let latest = windows.latest().map_or(0, |window| window.client);
        self.window_sizes.latest.store(latest, Ordering::Relaxed);
    }
}

impl SizeClaim {
    /// Notes input of the client: a window in which a person types is in use. Replies of its terminal and reports of the
    /// mouse are no such input. Returns whether that has changed the terminal's size.
    pub fn typed(&self, input: &[u8]) -> bool {
        let window = self.window.load(Ordering::Relaxed);
        let in_use = self.pty.window_sizes.latest.load(Ordering::Relaxed) == self.client
            && self.pty.size.load(Ordering::Relaxed) == window;
        if window == 0 || in_use || !swb_vt::has_keys(input) {
            return false;
        }
        let mut windows = self.pty.window_sizes.lock();
        windows.touch(self.client, None);
        match windows.policy {
            SizePolicy::Latest => self.pty.fit_windows(&windows),
            SizePolicy::Smallest | SizePolicy::Largest | SizePolicy::Manual => {
                self.pty.publish_latest(&windows);
                false
            }
        }
    }

    /// Notes a new size of the client's window, and gives the terminal the size that follows.
    pub fn resized(&self, window: Size) {
        self.pty.fit_windows(&self.touched(window));
    }

    /// Notes the size of a client's window whose protocol sets the terminal's size by itself.
    pub fn note_resized(&self, window: Size) {
        self.pty.publish_latest(&self.touched(window));
    }

    fn touched(&self, window: Size) -> MutexGuard<'_, Windows> {
        self.window.store(pack(window), Ordering::Relaxed);
        let mut windows = self.pty.window_sizes.lock();
        windows.touch(self.client, Some(window));
        windows
    }

    /// The size of the client's window, if it is known.
    pub fn window(&self) -> Option<Size> {
        unpack(self.window.load(Ordering::Relaxed))
    }

    /// The client has left: the remaining windows decide.
    pub fn leave(&self) {
        if self.left.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut windows = self.pty.window_sizes.lock();
        if windows.close(self.client) {
            self.pty.fit_windows(&windows);
        } else {
            self.pty.publish_latest(&windows);
        }
    }
}

impl Drop for SizeClaim {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(cols: u16, rows: u16) -> Option<Size> {
        Size::new(cols, rows)
    }

    fn windows(policy: SizePolicy) -> Windows {
        let mut windows = Windows { policy, ..Windows::default() };
        windows.open(1, size(120, 30), true);
        windows.open(2, size(80, 50), true);
        windows.open(3, None, true);
        windows
    }

    #[test]
    fn the_window_used_last_decides() {
        let mut windows = windows(SizePolicy::Latest);
        assert_eq!(windows.wanted(), size(80, 50), "a window without a size decides nothing");
        windows.touch(1, None);
        assert_eq!(windows.wanted(), size(120, 30));
        windows.touch(2, size(81, 51));
        assert_eq!(windows.wanted(), size(81, 51));
        assert!(!windows.close(1), "it was not used last");
        windows.open(4, size(10, 10), true);
        assert!(windows.close(4));
        assert_eq!(windows.wanted(), size(81, 51), "the size goes back to the one before");
        assert!(windows.close(2));
        assert_eq!(windows.wanted(), None, "without windows the size stays");
    }

    #[test]
    fn windows_that_close_because_the_daemon_stops_decide_nothing() {
        let mut windows = windows(SizePolicy::Latest);
        windows.kept = true;
        assert!(windows.close(2));
        assert_eq!(windows.wanted(), None);
    }

    #[test]
    fn the_smallest_and_the_largest_count_columns_and_rows_apart() {
        let mut small = windows(SizePolicy::Smallest);
        assert_eq!(small.wanted(), size(80, 30));
        small.touch(1, None);
        assert_eq!(small.wanted(), size(80, 30), "typing changes nothing");
        assert!(small.close(2));
        assert_eq!(small.wanted(), size(120, 30));
        assert_eq!(windows(SizePolicy::Largest).wanted(), size(120, 50));
    }

    #[test]
    fn a_manual_size_is_no_windows_business() {
        let mut windows = windows(SizePolicy::Manual);
        windows.touch(1, size(7, 7));
        assert_eq!(windows.wanted(), None);
    }

    #[test]
    fn a_window_that_returned_unused_comes_last() {
        let mut windows = Windows::default();
        windows.open(1, size(120, 30), true);
        windows.open(2, size(80, 24), false);
        assert_eq!(windows.wanted(), size(120, 30));
        windows.touch(2, None);
        assert_eq!(windows.wanted(), size(80, 24));
    }
}
