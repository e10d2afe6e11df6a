//! The observer of one PTY: follows its output, draws it when the screen is needed, answers the program's queries when
//! no terminal is attached, and detects its turns.

use super::detection::Detection;
use super::{Checkpoint, Picture, ScreenRequest, ScreenView, Screens};
use crate::limits;
use crate::pty::{Cursor, CursorStep, Mark, Pty};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use swb_types::{Offset, Size};
use swb_vt::Screen;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(super) struct Observer {
    screens: Screens,
    pty: Arc<Pty>,
    /// All output before it has been drawn, or is no longer visible.
    cursor: Cursor,
    looks: mpsc::Receiver<Box<ScreenRequest>>,
    /// The screen, while it is in use.
    screen: Option<Box<Screen>>,
    checkpoint: Option<Checkpoint>,
    /// Detects turns, if that is enabled.
    detection: Option<Detection>,
    /// The size changed since the checkpoint.
    resized: bool,
    /// During a flood, output accumulates until this time.
    again: Option<Instant>,
    /// When the screen was last used, and when it was last stored.
    touched: Instant,
    stored: Instant,
    /// A copy of output that is being drawn.
    scratch: Vec<u8>,
    answers_waiting: Arc<AtomicUsize>,
}

impl Observer {
    pub(super) fn new(
        screens: Screens,
        pty: Arc<Pty>,
        looks: mpsc::Receiver<Box<ScreenRequest>>,
        checkpoint: Option<Checkpoint>,
        detection: Option<Detection>,
    ) -> Self {
        let offset = checkpoint.as_ref().map_or(Offset::START, Checkpoint::offset);
        let now = Instant::now();
        Self {
            screens,
            cursor: pty.observing_cursor(offset),
            pty,
            looks,
            screen: None,
            checkpoint,
            detection,
            resized: false,
            again: None,
            touched: now,
            stored: now,
            scratch: Vec::new(),
            answers_waiting: Arc::default(),
        }
    }

    /// Boxed, because a future that owns an observer has room for it twice.
    pub(super) async fn run(mut self: Box<Self>) {
        if !self.screens.follow {
            self.cursor.falls_behind();
        }
        self.resume_detection();
        // A quiet program gives no other occasion.
        self.send_findings().await;
        while !self.pty.is_released() {
            let (due, alarm) = (self.due(), self.alarm());
            let due = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                look = self.looks.recv() => match look {
                    Some(look) => self.show(*look).await,
                    None => return,
                },
                () = self.pty.beckons(&self.cursor, alarm) => self.follow().await,
                () = due => self.meet_deadline().await,
            }
        }
    }

    /// The offset of output at which the observer wakes.
    fn alarm(&self) -> Offset {
        let lazy = self.again.is_some() || self.is_idle();
        match (self.screens.follow, lazy) {
            (false, _) => Offset::MAX,
            (_, true) => self.cursor.offset() + limits::SCREEN_LAZY,
            (_, false) => self.cursor.offset() + 1,
        }
    }

    /// Whether the output need not be read: a terminal shows it, and turns are not detected.
    fn is_idle(&self) -> bool {
        self.detection.is_none() && self.pty.has_terminal()
    }

    fn due(&self) -> Option<Instant> {
        let verdict = self.detection.as_ref().and_then(Detection::deadline);
        let store = self.is_unsaved().then(|| match self.has_unstored_turn() {
            true => Instant::now() + limits::SCREEN_TICK,
            false => self.store_at(),
        });
        let rest = self.screen.is_some() && !self.has_unstored_turn();
        let rest = rest.then(|| self.touched + limits::SCREEN_QUIET);
        [self.again, verdict, store, rest].into_iter().flatten().min()
    }

    async fn meet_deadline(&mut self) {
        if self.again.is_some_and(|again| again <= Instant::now()) {
            self.again = None;
            self.follow().await;
        }
        if self.detection.as_ref().is_some_and(Detection::is_due) {
            self.catch_up().await;
            self.detect(|detection, screen| detection.tick(screen));
            self.send_findings().await;
        }
        if self.touched.elapsed() >= limits::SCREEN_QUIET && !self.has_unstored_turn() {
            return self.rest().await;
        }
        self.store_if_due();
    }

    /// Bytes of output that have not been read.
    fn behind(&self) -> u64 {
        self.pty.head() - self.cursor.offset()
    }

    /// Processes new output, no more thoroughly than necessary.
    async fn follow(&mut self) {
        if let Some(until) = self.pty.expects_terminal() {
            // That terminal answers the queries in between.
            self.again = Some(until);
            return;
        }
        let behind = self.behind();
        let flood = behind >= limits::SCREEN_FLOOD;
        let nothing = behind == 0 && self.pty.typed_at().is_none();
        // A terminal attached or detached; or the output was read a moment ago, and the rest can wait.
        let waits = (self.again.is_some() && behind < limits::SCREEN_LAZY) || (self.is_idle() && !flood);
        if (nothing || waits) && !self.cursor.has_mark() {
            self.free_scratch();
            return;
        }
        self.touched = Instant::now();
        if !(flood && self.skim()) {
            self.catch_up().await;
        }
        let pause = match (self.is_idle(), flood, self.pty.has_terminal()) {
            (true, ..) | (_, false, false) => None,
            (_, true, _) => Some(limits::SCREEN_TICK),
            // No query waits for an answer, and turns are detected soon enough.
            (_, _, true) => Some(limits::SCREEN_PAUSE),
        };
        self.again = pause.map(|pause| Instant::now() + pause);
        self.free_scratch();
        self.send_findings().await;
        self.store_if_due();
    }

    /// Frees what a flood has left of the copy, once the flood is over.
    fn free_scratch(&mut self) {
        if self.scratch.capacity() as u64 >= limits::SCREEN_FLOOD && self.behind() < limits::SCREEN_FLOOD {
            self.scratch = Vec::new();
            self.screens.trim_soon();
        }
    }

    /// Calls `see` with the detection, if there is one, and the screen.
    fn detect(&mut self, see: impl FnOnce(&mut Detection, &mut Screen)) {
        self.screen();
        if let (Some(detection), Some(screen)) = (&mut self.detection, &mut self.screen) {
            see(detection, screen);
        }
    }

    async fn send_findings(&mut self) {
        if let Some(detection) = &mut self.detection {
            detection.send_findings().await;
        }
    }

    /// Skips output that later output has made invisible; returns whether there was any.
    fn skim(&mut self) -> bool {
        let Some(to) = self.next_output(u64::MAX) else { return false };
        let from = self.cursor.offset();
        let to = self.pty.typed_at().map_or(to, |typed| to.min(typed));
        if to <= from || !self.copy(from, to) {
            return false;
        }
        self.detect(|detection, screen| detection.tick(screen));
        let scratch = std::mem::take(&mut self.scratch);
        let skipped = self.screen().skip(&scratch);
        if skipped > 0 {
            self.detect(|detection, _| detection.passed(&scratch[..skipped], from));
            self.answer(from + skipped as u64);
            self.cursor.advance(skipped as u64);
        }
        self.scratch = scratch;
        skipped > 0
    }

    /// Draws all output there is now.
    async fn catch_up(&mut self) {
        let goal = self.pty.head();
        while let Some(to) = self.next_output(limits::SCREEN_ROUND) {
            self.take_typed();
            let to = self.pty.typed_at().map_or(to, |typed| to.min(typed));
            self.draw(to);
            if self.cursor.offset() >= goal {
                break;
            }
            // Bounded work: one round of output, then the other screens get their turn.
            tokio::task::yield_now().await;
        }
        self.take_marks();
        self.take_typed();
        if self.behind() == 0 && self.screens.follow {
            self.cursor.caught_up();
        }
    }

    /// Passes on the input that was typed before the next output.
    fn take_typed(&mut self) {
        while let Some(entry) = self.pty.take_typed(self.cursor.offset()) {
            self.detect(|detection, screen| detection.input(screen, &entry.bytes, entry.at));
        }
    }

    /// Draws output up to `to`, unless it is overwritten meanwhile, which the next step detects. Queries in output that a
    /// terminal has shown are answered by that terminal.
    fn draw(&mut self, to: Offset) {
        let from = self.cursor.offset();
        let middle = self.pty.answered().clamp(from, to);
        for (from, to) in [(from, middle), (middle, to)] {
            if from == to {
                continue;
            }
            if !self.copy(from, to) {
                return;
            }
            let scratch = std::mem::take(&mut self.scratch);
            self.screen();
            match (&mut self.detection, &mut self.screen) {
                (Some(detection), Some(screen)) => detection.output(screen, &scratch, from),
                (None, Some(screen)) => screen.feed(&scratch),
                (_, None) => {}
            }
            self.scratch = scratch;
            self.answer(to);
            self.cursor.advance(to - from);
        }
    }

    /// Answers the program's queries before `offset`, unless a terminal answers them.
    fn answer(&mut self, offset: Offset) {
        let Some(screen) = &mut self.screen else { return };
        // Nothing uses these yet, and they must not accumulate.
        drop(screen.take_events());
        let answers = screen.take_replies();
        if !self.pty.take_questions(offset) || answers.is_empty() {
            return;
        }
        if self.answers_waiting.fetch_add(1, Ordering::Relaxed) >= limits::ANSWERS {
            self.answers_waiting.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        self.pty.note_answer(offset);
        let (pty, waiting) = (Arc::clone(&self.pty), Arc::clone(&self.answers_waiting));
        self.screens.spawn(async move {
            // The program may have ended.
            let _delivered = pty.input(&answers).await;
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Copies output out of the ring; `false` if it was overwritten already.
    fn copy(&mut self, from: Offset, to: Offset) -> bool {
        self.scratch.clear();
        self.pty.ring().is_some_and(|ring| ring.copy(from, to, &mut self.scratch))
    }

    /// Applies the marks before the next output; returns the end of that output, at most `most` bytes of it.
    fn next_output(&mut self, most: u64) -> Option<Offset> {
        loop {
            match self.cursor.step(most) {
                CursorStep::Output { to } => return Some(to),
                CursorStep::Mark(Mark::Resized { size, .. }) => self.resize(size),
                CursorStep::Mark(mark @ (Mark::Restarting { .. } | Mark::Exited(..))) => {
                    self.process_ended(mark)
                }
                CursorStep::Lost { oldest } => self.lose(oldest),
                CursorStep::Idle => return None,
            }
        }
    }

    /// Applies the marks at the cursor without drawing output: a view taken now comes after them, even if there is
    /// further output already.
    fn take_marks(&mut self) {
        if self.cursor.has_mark() {
            self.next_output(0);
        }
    }

    fn process_ended(&mut self, mark: Mark) {
        let size = self.pty.size();
        match (&mut self.detection, mark) {
            (Some(detection), Mark::Exited(..)) => detection.exited(),
            (Some(detection), _) => detection.restarted(size),
            (None, _) => {}
        }
    }

    fn resize(&mut self, size: Size) {
        self.screen();
        match (&mut self.detection, &mut self.screen) {
            (Some(detection), Some(screen)) => detection.resize(screen, size),
            (None, Some(screen)) => screen.resize(size),
            (_, None) => {}
        }
        self.resized = true;
        self.touched = Instant::now();
    }

    /// Continues after output that was overwritten. The modes that the program set before most likely still hold.
    fn lose(&mut self, oldest: Offset) {
        tracing::debug!(pty = %self.pty.id(), from = %self.cursor.offset(), to = %oldest, "skipping overwritten output");
        // Ends an incomplete sequence or character.
        self.screen().feed(b"\x18");
        self.cursor.skip(oldest);
        self.pty.take_questions(oldest);
    }

    /// The screen as of the cursor.
    fn screen(&mut self) -> &mut Screen {
        let options = self.screens.options;
        let (pty, checkpoint, resized) = (&self.pty, &self.checkpoint, &mut self.resized);
        self.screen.get_or_insert_with(|| {
            let missed = missed_resize(pty, checkpoint.as_ref());
            *resized |= missed.is_some();
            let restored = checkpoint.as_ref().and_then(|checkpoint| {
                let restored = pty.reading_screen(|| checkpoint.restore(options, missed));
                pty.screen_was_drawn();
                restored.inspect_err(|error| tracing::error!(%error, "cannot restore a screen")).ok()
            });
            Box::new(restored.unwrap_or_else(|| Screen::new(missed.unwrap_or(pty.first_size()), options)))
        })
    }

    /// Continues with the detector's state that a former daemon saved.
    fn resume_detection(&mut self) {
        let Some(detection) = &mut self.detection else { return };
        self.pty.record_typed();
        let saved =
            self.checkpoint.as_ref().and_then(|checkpoint| self.pty.reading_screen(|| checkpoint.saved()));
        if let Some(saved) = saved {
            detection.resume(saved, &self.pty);
        }
    }

    async fn show(&mut self, look: ScreenRequest) {
        match look {
            ScreenRequest::Hook(hook) => {
                self.catch_up().await;
                self.detect(|detection, screen| detection.hook(screen, hook));
            }
            ScreenRequest::Dialog(reply) => {
                self.catch_up().await;
                self.complete_update().await;
                let mut shown = None;
                self.detect(|detection, screen| {
                    shown = detection.dialog(screen).map(|dialog| (dialog, screen.modes()));
                });
                let _shown = reply.send(shown);
            }
            ScreenRequest::Input(reply) => {
                self.catch_up().await;
                self.complete_update().await;
                let mut state = None;
                self.detect(|detection, screen| state = Some(detection.input_state(screen)));
                let _shown = reply.send(state);
            }
            ScreenRequest::SoFar(reply) => {
                self.catch_up().await;
                let mut so_far = None;
                self.detect(|detection, screen| so_far = detection.so_far(screen));
                let _shown = reply.send(so_far);
            }
            ScreenRequest::View { whole, see } => {
                self.catch_up().await;
                if whole {
                    self.complete_update().await;
                }
                self.screen();
                if let Some(screen) = &self.screen {
                    see(&ScreenView { screen, cursor: &self.cursor });
                }
            }
            ScreenRequest::Picture { scrollback, terminal, reply } => {
                let resting = self.pty.size();
                let (bytes, size) = match self.stored_picture(scrollback) {
                    Some(bytes) => (bytes, resting),
                    None => {
                        self.catch_up().await;
                        let screen = self.screen();
                        (screen.snapshot_limited(scrollback), screen.size())
                    }
                };
                let mut cursor = self.cursor.fork();
                if terminal {
                    // Here and not later: queries before this offset are answered, later ones are not.
                    cursor.answers();
                }
                // The caller may be gone.
                let _shown = reply.send(Picture { bytes, cursor, size });
            }
        }
        self.touched = Instant::now();
        self.send_findings().await;
        self.store_if_due();
    }

    /// Whether the detector has findings that the next daemon could not make again.
    fn is_unsaved(&self) -> bool {
        self.resized || self.detection.as_ref().is_some_and(|detection| detection.unsaved)
    }

    /// Whether a turn was completed that the session's task has not stored yet, because it looks up its text. A checkpoint
    /// from after the turn would lose it if the daemon died meanwhile.
    fn has_unstored_turn(&self) -> bool {
        self.detection.as_ref().is_some_and(Detection::has_unstored_turn)
    }

    /// The checkpoint, if it is up to date.
    fn stored_picture(&self, scrollback: usize) -> Option<Vec<u8>> {
        let rests = self.screen.is_none() && self.behind() == 0 && !self.cursor.has_mark();
        let checkpoint =
            self.checkpoint.as_ref().filter(|_| rests && scrollback >= self.screens.options.scrollback)?;
        if missed_resize(&self.pty, Some(checkpoint)).is_some() {
            return None;
        }
        checkpoint.picture().ok()
    }

    /// Waits for the end of a synchronized update.
    async fn complete_update(&mut self) {
        let deadline = Instant::now() + limits::SYNCHRONIZED;
        while self.screen().modes().synchronized {
            let more = self.pty.beckons(&self.cursor, self.cursor.offset() + 1);
            if tokio::time::timeout_at(deadline, more).await.is_err() {
                return;
            }
            self.catch_up().await;
        }
    }

    /// Stores a checkpoint if the next daemon would need it, at most once per interval.
    fn store_if_due(&mut self) {
        let offset = self.checkpoint.as_ref().map_or(Offset::START, Checkpoint::offset);
        let stale = self.cursor.offset() - offset >= limits::SCREEN_STALE;
        if (stale || self.is_unsaved()) && self.store_at() <= Instant::now() && !self.has_unstored_turn() {
            self.store();
        }
    }

    /// When the next checkpoint may be stored. The first one does not wait: the modes that a program sets at its start
    /// must not be lost with the output that sets them.
    fn store_at(&self) -> Instant {
        let [quiet, busy] = limits::CHECKPOINT_PAUSE;
        match (&self.checkpoint, self.behind()) {
            (None, _) => self.stored,
            (_, 0) => self.stored + quiet,
            (_, _) => self.stored + busy,
        }
    }

    fn store(&mut self) {
        self.screen();
        let Some(screen) = &self.screen else { return };
        let saved = self.detection.as_ref().map(Detection::saved);
        let stored = Checkpoint::new(self.cursor.offset(), screen, saved);
        match stored.and_then(|checkpoint| Ok((checkpoint.share()?, checkpoint))) {
            Ok((memory, checkpoint)) => {
                self.pty.keep_checkpoint(memory);
                self.checkpoint = Some(checkpoint);
            }
            Err(error) => tracing::error!(%error, "cannot store a screen"),
        }
        self.resized = false;
        if let Some(detection) = &mut self.detection {
            detection.unsaved = false;
        }
        self.stored = Instant::now();
    }

    /// Replaces the screen by its checkpoint until it is needed.
    async fn rest(&mut self) {
        self.catch_up().await;
        let up_to_date = self.checkpoint.as_ref().is_some_and(|c| c.offset() == self.cursor.offset());
        if !up_to_date || self.is_unsaved() {
            self.store();
        }
        self.send_findings().await;
        self.again = None;
        self.touched = Instant::now();
        if self.checkpoint.as_ref().is_some_and(|c| c.offset() == self.cursor.offset()) {
            self.screen = None;
            self.scratch = Vec::new();
            self.screens.trim_soon();
        }
    }
}

/// The size of the terminal if a former daemon has resized it after it stored the checkpoint: the mark of that is gone. The
/// program has drawn for the new size since, and that output follows. A resize by this daemon has a mark, at which the
/// detector must still see the screen as it was.
fn missed_resize(pty: &Pty, checkpoint: Option<&Checkpoint>) -> Option<Size> {
    let size = pty.size();
    let shown = checkpoint.map_or(pty.first_size(), Checkpoint::size);
    (pty.generation() == 0 && shown != size).then_some(size)
}
