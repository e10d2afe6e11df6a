//! One PTY as clients use it: its input, its output, its size.
//!
//! A [`Pty`] lives as long as it has users, also after the end of its process. Its output is never queued: a [`Cursor`]
//! reads it from the ring.

mod answering;
mod cursor;
mod input;
mod marks;
mod numbered;
mod pace;
mod queue;
mod ring;
mod seat;
mod sizes;
mod typed;

pub use cursor::{Cursor, CursorStep};
pub use input::InputError;
pub(crate) use input::QueuedInput;
pub use marks::{EndCause, Mark};
pub use numbered::{InputStream, StreamBegin};
pub use ring::OutputRing;
pub(crate) use ring::keepers;
pub use seat::Seat;
pub use sizes::{Arrival, SizeClaim};

use crate::keeper::{KEY_SCREEN, Keeper};
use crate::limits;
use crate::optional_state::OptionalState;
use crate::screen::{ObserverStart, ScreenRequest, Screens};
use answering::QueryReplies;
use marks::Marks;
use numbered::NumberedInput;
use pace::{Pace, Reach};
use queue::InputQueue;
use seat::Seats;
use sizes::WindowSizes;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use swb_keeper::{DaemonThread, Reader, SlotId};
use swb_types::{ExitStatus, Offset, PtyId, Size};
use tokio::sync::{Notify, mpsc, watch};
use typed::Typed;

/// One terminal of a session.
#[derive(Debug)]
pub struct Pty {
    id: PtyId,
    slot: SlotId,
    keeper: Keeper,
    /// Set with the first start.
    ring: OnceLock<OutputRing>,
    /// Woken when the ring has grown or a mark was set.
    changed: Notify,
    /// Woken when the output has reached `alarm`, a mark was set, or a terminal attached or detached.
    observer: Notify,
    /// The offset that gives the observer reason to look.
    alarm: AtomicU64,
    looks: mpsc::Sender<Box<ScreenRequest>>,
    /// Its slot was freed; no client can find it any more.
    released: AtomicBool,
    answering: QueryReplies,
    seats: Seats,
    typed: Typed,
    marks: Marks,
    pace: Pace,
    size: AtomicU32,
    window_sizes: WindowSizes,
    /// The size when its first process started.
    first_size: OnceLock<Size>,
    /// Who may write, in order of arrival.
    input_queue: InputQueue,
    input_waiting: AtomicUsize,
    numbered: NumberedInput,
    line: watch::Sender<InputTarget>,
    generation: Mutex<u32>,
}

/// Where input goes.
#[derive(Debug, Clone)]
pub(crate) enum InputTarget {
    /// Nowhere yet: the process has not started, or is about to restart.
    Closed,
    /// To a process.
    Open(Arc<OwnedFd>),
    /// Nowhere: the process has ended for good.
    Ended,
}

impl Pty {
    /// Creates a PTY whose screen `screens` keeps.
    pub(crate) fn new(
        (id, slot, size): (PtyId, SlotId, Size),
        keeper: Keeper,
        screens: &Screens,
        known: ObserverStart,
    ) -> Arc<Self> {
        keeper.leave_note(slot, 0);
        let (pty, looks) = Self::unobserved((id, slot, size), keeper, NumberedInput::default());
        screens.observe(Arc::clone(&pty), looks, known);
        pty
    }

    /// Adopts a PTY whose process an earlier daemon started, with the screen that daemon saved.
    pub(crate) fn adopt(
        (id, slot, size): (PtyId, SlotId, Size),
        keeper: Keeper,
        screens: &Screens,
        running: Option<(Reader, Option<OwnedFd>)>,
        counts: Option<&OwnedFd>,
        known: ObserverStart,
    ) -> Arc<Self> {
        let (pty, looks) = Self::unobserved((id, slot, size), keeper, NumberedInput::adopted(counts));
        if let Some((ring, master)) = running {
            pty.adopted(ring, master);
        }
        pty.resume_answering();
        screens.observe(Arc::clone(&pty), looks, known);
        pty
    }

    fn unobserved(
        (id, slot, size): (PtyId, SlotId, Size),
        keeper: Keeper,
        numbered: NumberedInput,
    ) -> (Arc<Self>, mpsc::Receiver<Box<ScreenRequest>>) {
        let (looks, to_look) = mpsc::channel(limits::LOOKS);
        let pty = Arc::new(Self {
            id,
            slot,
            keeper,
            ring: OnceLock::new(),
            changed: Notify::new(),
            observer: Notify::new(),
            alarm: AtomicU64::new(u64::MAX),
            looks,
            released: AtomicBool::new(false),
            answering: QueryReplies::default(),
            seats: Seats::default(),
            typed: Typed::default(),
            marks: Marks::default(),
            pace: Pace::default(),
            size: AtomicU32::new(pack(size)),
            window_sizes: WindowSizes::default(),
            first_size: OnceLock::new(),
            input_queue: InputQueue::default(),
            input_waiting: AtomicUsize::new(0),
            numbered,
            line: watch::Sender::new(InputTarget::Closed),
            generation: Mutex::new(0),
        });
        (pty, to_look)
    }

    /// Its number within the session.
    pub fn id(&self) -> PtyId {
        self.id
    }

    pub(crate) fn slot(&self) -> SlotId {
        self.slot
    }

    /// Reads its saved screen with `read`, on the thread of screens.
    pub(crate) fn reading_screen<T>(&self, read: impl FnOnce() -> T) -> T {
        self.keeper.reading(DaemonThread::Screens, OptionalState::Screen(self.slot), read)
    }

    /// Notes that the saved screen was drawn, so daemons do not die of it.
    pub(crate) fn screen_was_drawn(&self) {
        self.keeper.acquit(OptionalState::Screen(self.slot));
    }

    /// Its size in character cells.
    pub fn size(&self) -> Size {
        unpack(self.size.load(Ordering::Relaxed)).unwrap_or(Size::DEFAULT)
    }

    /// Offset of the next byte of output.
    pub fn head(&self) -> Offset {
        self.ring.get().map_or(Offset::START, OutputRing::head)
    }

    /// Offset of the oldest byte that is still kept.
    pub fn oldest(&self) -> Offset {
        self.ring.get().map_or(Offset::START, |ring| ring.oldest(ring.head()))
    }

    /// The output, once a process has been started.
    pub fn ring(&self) -> Option<&OutputRing> {
        self.ring.get()
    }

    /// Copies the output from `from` (or the oldest kept byte) up to now; returns it with its end offset.
    pub fn history(&self, from: Offset) -> (Vec<u8>, Offset) {
        let Some(ring) = self.ring.get() else {
            return (Vec::new(), Offset::START);
        };
        let mut out = Vec::new();
        let mut head = Offset::START;
        // The writer can overtake one copy, hardly two, and never the guarantee of `keep` for long.
        for _ in 0..8 {
            head = ring.head();
            if ring.copy(from.clamp(ring.oldest(head), head), head, &mut out) {
                break;
            }
        }
        (out, head)
    }

    /// A reader of the output from `from` on; it can move back to older output that is kept.
    pub fn cursor(self: &Arc<Self>, from: Offset) -> Cursor {
        Cursor::new(Arc::clone(self), from, Reach::Half)
    }

    /// The observer's cursor.
    pub(crate) fn observing_cursor(self: &Arc<Self>, from: Offset) -> Cursor {
        Cursor::new(Arc::clone(self), from, Reach::Most)
    }

    /// Waits until the observer has work: the output has reached `alarm`, a mark was set, or a terminal attached or
    /// detached.
    pub(crate) async fn beckons(&self, cursor: &Cursor, alarm: Offset) {
        self.alarm.store(alarm.0, Ordering::SeqCst);
        // First ask to be woken, then check again: see `swb_keeper::Doorbell`.
        self.keeper.arm(self.slot, alarm);
        if self.head() < alarm && !cursor.has_mark() && !self.is_released() {
            self.observer.notified().await;
        }
    }

    pub(crate) fn looks(&self) -> &mpsc::Sender<Box<ScreenRequest>> {
        &self.looks
    }

    /// Its slot was freed: its screen need not be kept.
    pub(crate) fn release(&self) {
        self.released.store(true, Ordering::SeqCst);
        self.observer.notify_one();
    }

    pub(crate) fn is_released(&self) -> bool {
        self.released.load(Ordering::SeqCst)
    }

    /// The size with which its first process started, or the present one if that is unknown.
    pub(crate) fn first_size(&self) -> Size {
        self.first_size.get().copied().unwrap_or_else(|| self.size())
    }

    /// Stores its screen with the keeper.
    pub(crate) fn keep_checkpoint(self: &Arc<Self>, memory: OwnedFd) {
        self.keeper.hold_owned(self, KEY_SCREEN, memory);
    }

    /// Sends the keeper the offset up to which it may write.
    fn update_gate(&self) {
        // After the end the slot may be another PTY's.
        if let Some(ring) = self.ring.get().filter(|_| !self.is_over()) {
            self.keeper.set_gate(self.slot, self.pace.gate(ring.oldest(ring.head()), ring.keep()));
        }
    }

    /// There is new output or a mark: wakes all readers that wait.
    pub(crate) fn wake(&self) {
        self.changed.notify_waiters();
        let alarm = Offset(self.alarm.load(Ordering::SeqCst));
        if self.head() >= alarm {
            self.observer.notify_one();
        } else if alarm != Offset::MAX {
            // The alarm was another reader's, and every reader has to set it again.
            self.keeper.arm(self.slot, alarm);
        }
    }

    /// A process was started behind `master` and writes to `ring`.
    pub(crate) fn opened(&self, ring: Reader, master: Option<OwnedFd>) {
        let _first = self.first_size.set(self.size());
        self.connect(ring, master);
        // It may have been resized since the start was requested.
        self.apply_size(self.size());
        self.wake();
    }

    /// A process that an earlier daemon started was adopted.
    fn adopted(&self, ring: Reader, master: Option<OwnedFd>) {
        if let Some(master) = &master
            && let Ok(size) = rustix::termios::tcgetwinsize(master)
            && let Some(size) = Size::new(size.ws_col, size.ws_row)
        {
            self.size.store(pack(size), Ordering::Relaxed);
        }
        self.connect(ring, master);
    }

    fn connect(&self, ring: Reader, master: Option<OwnedFd>) {
        // A restarted process writes to the ring that is already mapped.
        let _first = self.ring.set(OutputRing::new(ring));
        if let Some(master) = master {
            self.line.send_replace(InputTarget::Open(Arc::new(master)));
        }
    }

    /// The leader of the terminal's foreground process group, if the terminal has one.
    pub fn foreground(&self) -> Option<u32> {
        let InputTarget::Open(master) = &*self.line.borrow() else { return None };
        let group = rustix::termios::tcgetpgrp(master).ok()?;
        u32::try_from(group.as_raw_nonzero().get()).ok()
    }

    /// Sends SIGWINCH to the terminal's foreground process group.
    pub(crate) fn winch(&self) {
        if let InputTarget::Open(master) = &*self.line.borrow()
            && let Ok(group) = rustix::termios::tcgetpgrp(master)
        {
            let _signalled = rustix::process::kill_process_group(group, rustix::process::Signal::WINCH);
        }
    }

    /// The process has ended and will be started again after `delay_ms`.
    pub(crate) fn restarting(&self, delay_ms: u64) {
        self.line.send_replace(InputTarget::Closed);
        self.mark(Mark::Restarting { delay_ms });
    }

    /// The process has ended for good.
    pub(crate) fn ended(&self, status: ExitStatus, cause: EndCause) {
        self.line.send_replace(InputTarget::Ended);
        self.mark(Mark::Exited(status, cause));
    }

    fn is_over(&self) -> bool {
        matches!(*self.line.borrow(), InputTarget::Ended)
    }

    /// Sets the size and, if `announce`, marks the place in the output where it changed.
    ///
    /// The mark is set before the PTY gets its size: all output at the new size comes after it. No mark is set after the
    /// end, which is the last one.
    pub(crate) fn resize(&self, size: Size, announce: bool) {
        if self.is_over() {
            return;
        }
        // Held to the end: of two changes at once, the last has the last word everywhere.
        let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        self.size.store(pack(size), Ordering::Relaxed);
        if announce {
            *generation = generation.wrapping_add(1);
            self.mark(Mark::Resized { generation: *generation, size });
        }
        self.apply_size(size);
    }

    /// Sets the size in the kernel only, for a temporary size.
    pub(crate) fn apply_size(&self, size: Size) {
        if let InputTarget::Open(master) = &*self.line.borrow() {
            // A hung-up PTY needs no size.
            let _resized = swb_keeper::resize(master, size.cols(), size.rows());
        }
    }

    /// Whether the size may have changed behind `offset` of the output.
    pub fn resized_since(&self, offset: Offset) -> bool {
        self.marks.resized_since(offset)
    }

    /// Number of announced resizes so far.
    pub fn generation(&self) -> u32 {
        *self.generation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark(&self, mark: Mark) {
        self.marks.push(self.head(), mark, limits::MARKS);
        self.wake();
        self.observer.notify_one();
    }
}

fn pack(size: Size) -> u32 {
    u32::from(size.cols()) << 16 | u32::from(size.rows())
}

fn unpack(packed: u32) -> Option<Size> {
    Size::new((packed >> 16) as u16, packed as u16)
}
