//! The daemon's vital signs: one page of shared memory that shows whether it works, and what it was doing when it died.
//!
//! The daemon raises `beats` whenever it answers the doorbell, so a keeper that rang can tell a daemon that is busy
//! from one that hangs ([`crate::watchdog`]). `clients` is the number of open connections, which the keeper cannot see; a
//! daemon that gets its first one wakes the keeper. Before a daemon reads state that it could do without, it writes down
//! which (`doing`); if it dies there, the next one finds that out. The keeper reads `beats`, `clients` and `ready`, and resets them when a daemon connects; it writes
//! `failed_starts`, `hangs` and `file_limit`. The other words are the daemon's alone.

use crate::sys::{Mapping, shared_memory};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the memory: a page, most of it for later versions.
const LEN: usize = 4096;

/// The shared memory.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Page {
    beats: AtomicU64,
    clients: AtomicU64,
    ready: AtomicU64,
    failed_starts: AtomicU64,
    hangs: AtomicU64,
    file_limit: AtomicU64,
    doing: [AtomicU64; THREADS],
    suspect: [AtomicU64; THREADS],
    deaths: [AtomicU64; THREADS],
    rest: [AtomicU64; 500],
}

// Two versions of this program share the page: its layout is fixed.
const _: () = assert!(
    offset_of!(Page, clients) == 8
        && offset_of!(Page, ready) == 16
        && offset_of!(Page, failed_starts) == 24
        && offset_of!(Page, hangs) == 32
        && offset_of!(Page, file_limit) == 40
        && offset_of!(Page, doing) == 48
        && offset_of!(Page, suspect) == 64
        && offset_of!(Page, deaths) == 80
        && size_of::<Page>() == LEN
);

/// Threads of the daemon that note what they are doing.
const THREADS: usize = 2;

/// A thread of the daemon that reads state an earlier daemon left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonThread {
    /// The one that serves clients.
    Main = 0,
    /// The one that draws screens.
    Screens = 1,
}

/// What former daemons of this keeper died on, for one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Suspect {
    /// What it was doing, as the daemon encodes it; 0 is nothing.
    pub state: u64,
    /// How often in a row a daemon died doing it.
    pub deaths: u64,
}

impl Suspect {
    /// What is suspected after a daemon that was doing `doing` at its end.
    fn after(self, doing: u64) -> Self {
        match doing {
            0 => self,
            again if again == self.state => Self { deaths: self.deaths.saturating_add(1), ..self },
            state => Self { state, deaths: 1 },
        }
    }
}

/// One side's view of the daemon's vital signs.
#[derive(Debug)]
pub struct Vitals {
    map: Mapping<Page>,
    memory: OwnedFd,
}

impl Vitals {
    pub(crate) fn create() -> io::Result<Self> {
        Self::open(shared_memory("swb-vitals", LEN as u64)?)
    }

    /// Maps the vital signs from the descriptor that the keeper sent.
    pub fn open(memory: OwnedFd) -> io::Result<Self> {
        if rustix::fs::fstat(&memory)?.st_size != LEN as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not the vital signs of a daemon"));
        }
        Ok(Self { map: Mapping::new(&memory, LEN, true)?, memory })
    }

    fn page(&self) -> &Page {
        self.map.words()
    }

    pub(crate) fn memory(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    // ---- the daemon's ----

    /// Begins the life of a daemon: notes what the one before it died on.
    pub fn begin(&self) {
        let page = self.page();
        for thread in [DaemonThread::Main, DaemonThread::Screens] {
            let doing = self.word(&page.doing, thread).swap(0, Ordering::Relaxed);
            let suspect = self.suspect(thread).after(doing);
            self.set_suspect(thread, suspect);
        }
        self.beat();
    }

    /// Shows that the daemon's main thread makes progress.
    pub fn beat(&self) {
        self.page().beats.fetch_add(1, Ordering::SeqCst);
    }

    /// Sets the number of open connections; returns whether these are the first, of which the keeper has to be notified.
    #[must_use]
    pub fn set_clients(&self, clients: usize) -> bool {
        self.page().clients.swap(clients as u64, Ordering::SeqCst) == 0 && clients > 0
    }

    /// Notes that the daemon has adopted everything and serves clients: nothing that its main thread read was deadly.
    pub fn set_ready(&self) {
        self.page().ready.store(1, Ordering::Relaxed);
        self.set_suspect(DaemonThread::Main, Suspect::default());
    }

    /// Notes what a thread is about to do, in case it dies there.
    pub fn set_doing(&self, thread: DaemonThread, state: u64) {
        self.word(&self.page().doing, thread).store(state, Ordering::SeqCst);
        self.beat_of(thread);
    }

    /// Notes that the thread has survived it.
    pub fn set_done(&self, thread: DaemonThread) {
        self.word(&self.page().doing, thread).store(0, Ordering::SeqCst);
        self.beat_of(thread);
    }

    /// The main thread makes progress if it is this one; clients wait for no other.
    fn beat_of(&self, thread: DaemonThread) {
        if thread == DaemonThread::Main {
            self.beat();
        }
    }

    /// What earlier daemons died on.
    pub fn suspect(&self, thread: DaemonThread) -> Suspect {
        let page = self.page();
        Suspect {
            state: self.word(&page.suspect, thread).load(Ordering::Relaxed),
            deaths: self.word(&page.deaths, thread).load(Ordering::Relaxed),
        }
    }

    /// No longer suspects `state`.
    pub fn acquit(&self, state: u64) {
        for thread in [DaemonThread::Main, DaemonThread::Screens] {
            if self.suspect(thread).state == state {
                self.set_suspect(thread, Suspect::default());
            }
        }
    }

    fn set_suspect(&self, thread: DaemonThread, suspect: Suspect) {
        self.word(&self.page().suspect, thread).store(suspect.state, Ordering::Relaxed);
        self.word(&self.page().deaths, thread).store(suspect.deaths, Ordering::Relaxed);
    }

    fn word<'a>(&self, words: &'a [AtomicU64; THREADS], thread: DaemonThread) -> &'a AtomicU64 {
        let [main, screens] = words;
        match thread {
            DaemonThread::Main => main,
            DaemonThread::Screens => screens,
        }
    }

    /// How many daemons in a row ended before they served clients.
    pub fn failed_starts(&self) -> u64 {
        self.page().failed_starts.load(Ordering::Relaxed)
    }

    /// How many daemons the keeper has ended because they hung.
    pub fn hangs(&self) -> u64 {
        self.page().hangs.load(Ordering::Relaxed)
    }

    /// The keeper's limit of open files.
    pub fn file_limit(&self) -> u64 {
        self.page().file_limit.load(Ordering::Relaxed)
    }

    // ---- the keeper's ----

    /// A daemon has connected; `file_limit` is the keeper's limit of open files.
    pub(crate) fn daemon_came(&self, file_limit: u64) {
        let page = self.page();
        page.beats.store(0, Ordering::Relaxed);
        page.clients.store(0, Ordering::Relaxed);
        page.ready.store(0, Ordering::Relaxed);
        page.file_limit.store(file_limit, Ordering::Relaxed);
    }

    /// A daemon's connection has ended without a goodbye; returns whether it had served clients.
    pub(crate) fn daemon_left(&self) -> bool {
        let served = self.note_service();
        if !served {
            self.page().failed_starts.fetch_add(1, Ordering::Relaxed);
        }
        served
    }

    /// A daemon ends: one that had served clients ends the series of failed starts. Returns whether it had.
    pub(crate) fn note_service(&self) -> bool {
        let page = self.page();
        let served = page.ready.load(Ordering::Relaxed) != 0;
        if served {
            page.failed_starts.store(0, Ordering::Relaxed);
        }
        served
    }

    pub(crate) fn count_hang(&self) {
        self.page().hangs.fetch_add(1, Ordering::Relaxed);
    }

    /// The sign of life.
    pub(crate) fn beats(&self) -> u64 {
        self.page().beats.load(Ordering::SeqCst)
    }

    /// Whether the daemon has adopted everything and serves clients.
    pub(crate) fn is_ready(&self) -> bool {
        self.page().ready.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn clients(&self) -> u64 {
        self.page().clients.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A daemon that dies while it does `doing`; returns what is suspected then.
    fn dies_on(vitals: &Vitals, doing: u64) -> Suspect {
        vitals.set_doing(DaemonThread::Main, doing);
        vitals.begin();
        vitals.suspect(DaemonThread::Main)
    }

    #[test]
    fn deaths_on_the_same_state_are_counted() {
        let vitals = Vitals::create().unwrap();
        for deaths in 1..4 {
            assert_eq!(dies_on(&vitals, 7), Suspect { state: 7, deaths });
        }
        vitals.begin();
        assert_eq!(vitals.suspect(DaemonThread::Main).deaths, 3, "it died of something else");
        assert_eq!(dies_on(&vitals, 8), Suspect { state: 8, deaths: 1 });
        assert_eq!(vitals.suspect(DaemonThread::Screens), Suspect::default());
    }

    #[test]
    fn what_was_read_is_no_longer_suspected() {
        let vitals = Vitals::create().unwrap();
        for acquit in [Vitals::set_ready as fn(&Vitals), |vitals| vitals.acquit(7)] {
            dies_on(&vitals, 7);
            vitals.acquit(6);
            vitals.set_doing(DaemonThread::Main, 7);
            vitals.set_done(DaemonThread::Main);
            assert_eq!(vitals.suspect(DaemonThread::Main).state, 7, "it may be read in several steps");
            acquit(&vitals);
            assert_eq!(vitals.suspect(DaemonThread::Main), Suspect::default());
        }
    }

    #[test]
    fn starts_that_fail_are_counted_until_one_succeeds() {
        let vitals = Vitals::create().unwrap();
        for failed in 1..4 {
            vitals.daemon_came(100);
            vitals.begin();
            assert!(!vitals.daemon_left());
            assert_eq!((vitals.failed_starts(), vitals.file_limit()), (failed, 100));
        }
        vitals.daemon_came(100);
        vitals.begin();
        vitals.set_ready();
        assert!(vitals.daemon_left());
        assert_eq!(vitals.failed_starts(), 0);
    }

    #[test]
    fn both_sides_see_the_same_page() {
        let keeper = Vitals::create().unwrap();
        let daemon = Vitals::open(keeper.memory().try_clone_to_owned().unwrap()).unwrap();
        keeper.daemon_came(1);
        assert_eq!(keeper.beats(), 0);
        daemon.begin();
        assert_eq!(
            [3, 2, 0, 0, 3].map(|clients| daemon.set_clients(clients)),
            [true, false, false, false, true]
        );
        assert_eq!((keeper.beats(), keeper.clients()), (1, 3));
        keeper.count_hang();
        assert_eq!(daemon.hangs(), 1);
    }

    #[test]
    fn only_the_main_thread_shows_that_the_daemon_lives() {
        let vitals = Vitals::create().unwrap();
        for (thread, beats) in [(DaemonThread::Screens, 0), (DaemonThread::Main, 2)] {
            vitals.set_doing(thread, 7);
            vitals.set_done(thread);
            assert_eq!(vitals.beats(), beats, "{thread:?}");
        }
    }

    #[test]
    fn memory_of_another_size_is_rejected() {
        let memory = crate::spec::sealed_memfd("x", &[0; 8]).unwrap();
        assert!(Vitals::open(memory).is_err());
    }
}
