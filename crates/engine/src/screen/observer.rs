//! The observer of one PTY: follows its output, draws it when somebody needs the picture, answers the program's
//! questions when no terminal is there to do so, and finds its turns.

use super::detection::Detection;
use super::{Checkpoint, Picture, ScreenRequest, ScreenView, Screens};
use crate::limits;
use crate::pty::{Cursor, Mark, Pty, Step};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use swb_types::{Offset, Size};
use swb_vt::Screen;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(super) struct Observer {
    screens: Screens,
    pty: Arc<Pty>,
    /// All output before it has been drawn, or cannot be seen any more.
    cursor: Cursor,
    looks: mpsc::Receiver<ScreenRequest>,
    /// The screen, while it is in use.
    screen: Option<Screen>,
    checkpoint: Option<Checkpoint>,
    /// Finds turns, if that is wanted.
    detection: Option<Detection>,
    /// The size changed since the checkpoint.
    resized: bool,
    /// Until then output piles up, because it comes faster than it is worth being looked at.
    again: Option<Instant>,
    /// When the screen was last needed, and when it was last stored.
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
        looks: mpsc::Receiver<ScreenRequest>,
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

    pub(super) async fn run(mut self) {
        if !self.screens.follow {
            self.cursor.falls_behind();
        }
        self.resume_detection();
        // A program that rests gives no other occasion.
        self.tell().await;
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
                    Some(look) => self.show(look).await,
                    None => return,
                },
                () = self.pty.beckons(&self.cursor, alarm) => self.follow().await,
                () = due => self.meet_deadline().await,
            }
        }
    }

    /// The offset whose being reached is reason to look.
    fn alarm(&self) -> Offset {
        let lazy = self.again.is_some() || self.is_idle();
        match (self.screens.follow, lazy) {
            (false, _) => Offset::MAX,
            (_, true) => self.cursor.offset() + limits::SCREEN_LAZY,
            (_, false) => self.cursor.offset() + 1,
        }
    }

    /// Whether nobody needs to know what the output says: a terminal shows it, and turns are not looked for.
    fn is_idle(&self) -> bool {
        self.detection.is_none() && self.pty.has_terminal()
    }

    fn due(&self) -> Option<Instant> {
        let verdict = self.detection.as_ref().and_then(Detection::deadline);
        let store = self.is_unsaved().then(|| self.store_at());
        let rest = self.screen.is_some().then(|| self.touched + limits::SCREEN_QUIET);
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
            self.tell().await;
        }
        if self.touched.elapsed() >= limits::SCREEN_QUIET {
            return self.rest().await;
        }
        self.store_if_due();
    }

    /// Bytes of output that have not been looked at.
    fn behind(&self) -> u64 {
        self.pty.head() - self.cursor.offset()
    }

    /// Takes note of new output, no more thoroughly than necessary.
    async fn follow(&mut self) {
        if let Some(until) = self.pty.expects_terminal() {
            // What is asked meanwhile is for that terminal to answer.
            self.again = Some(until);
            return;
        }
        let behind = self.behind();
        let flood = behind >= limits::SCREEN_FLOOD;
        let nothing = behind == 0 && self.pty.typed_at().is_none();
        // Somebody came or left; or it was looked at a moment ago, and the output can wait.
        let waits = (self.again.is_some() && behind < limits::SCREEN_LAZY) || (self.is_idle() && !flood);
        if (nothing || waits) && !self.cursor.has_mark() {
            return;
        }
        self.touched = Instant::now();
        if !(flood && self.skim()) {
            self.catch_up().await;
        }
        let pause = match (self.is_idle(), flood, self.pty.has_terminal()) {
            (true, ..) | (_, false, false) => None,
            (_, true, _) => Some(limits::SCREEN_TICK),
            // Nobody waits for an answer, and a turn is found soon enough.
            (_, _, true) => Some(limits::SCREEN_PAUSE),
        };
        self.again = pause.map(|pause| Instant::now() + pause);
        self.tell().await;
        self.store_if_due();
    }

    /// Lets the detection, if there is one, do something with the screen.
    fn detect(&mut self, see: impl FnOnce(&mut Detection, &mut Screen)) {
        self.screen();
        if let (Some(detection), Some(screen)) = (&mut self.detection, &mut self.screen) {
            see(detection, screen);
        }
    }

    async fn tell(&mut self) {
        if let Some(detection) = &mut self.detection {
            detection.tell().await;
        }
    }

    /// Passes over output that cannot be seen any more because of what follows it; says whether there was any.
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

    /// Takes note of what was typed before the output that comes next.
    fn take_typed(&mut self) {
        while let Some(entry) = self.pty.take_typed(self.cursor.offset()) {
            self.detect(|detection, screen| detection.input(screen, &entry.bytes, entry.at));
        }
    }

    /// Draws output up to `to`, unless it is overrun meanwhile, which the next step finds out; questions in what a
    /// terminal has seen are its to answer.
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

    /// Answers what the program has asked before `offset`, unless it is for others to do so.
    fn answer(&mut self, offset: Offset) {
        let Some(screen) = &mut self.screen else { return };
        // Nobody follows these yet, and they must not pile up.
        drop(screen.take_events());
        let answers = screen.take_replies();
        if !self.pty.take_questions(offset) || answers.is_empty() {
            return;
        }
        if self.answers_waiting.fetch_add(1, Ordering::Relaxed) >= limits::ANSWERS {
            self.answers_waiting.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        self.pty.speaks(offset);
        let (pty, waiting) = (Arc::clone(&self.pty), Arc::clone(&self.answers_waiting));
        self.screens.spawn(async move {
            // A program that is gone does not miss them.
            let _delivered = pty.input(&answers).await;
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Copies output to where nobody overwrites it; `false` if that has happened already.
    fn copy(&mut self, from: Offset, to: Offset) -> bool {
        self.scratch.clear();
        self.pty.ring().is_some_and(|ring| ring.copy(from, to, &mut self.scratch))
    }

    /// Does what happened before the next output; gives the end of that output, at most `most` bytes of it.
    fn next_output(&mut self, most: u64) -> Option<Offset> {
        loop {
            match self.cursor.step(most) {
                Step::Output { to } => return Some(to),
                Step::Mark(Mark::Resized { size, .. }) => self.resize(size),
                Step::Mark(mark @ (Mark::Restarting { .. } | Mark::Exited(_))) => self.process_ended(mark),
                Step::Lost { oldest } => self.lose(oldest),
                Step::Idle => return None,
            }
        }
    }

    /// Does what happened right here, without drawing anything: whoever looks now comes after that, even if there is
    /// further output already.
    fn take_marks(&mut self) {
        if self.cursor.has_mark() {
            self.next_output(0);
        }
    }

    fn process_ended(&mut self, mark: Mark) {
        let size = self.pty.size();
        match (&mut self.detection, mark) {
            (Some(detection), Mark::Exited(_)) => detection.exited(),
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

    /// Goes on behind output that is gone. What the program had set before that most likely still holds.
    fn lose(&mut self, oldest: Offset) {
        tracing::debug!(pty = %self.pty.id(), from = %self.cursor.offset(), to = %oldest, "output was not followed");
        // Ends a sequence or character whose rest is missing.
        self.screen().feed(b"\x18");
        self.cursor.skip(oldest);
        self.pty.take_questions(oldest);
    }

    /// The screen as of the cursor.
    fn screen(&mut self) -> &mut Screen {
        let options = self.screens.options;
        let (pty, checkpoint) = (&self.pty, &self.checkpoint);
        self.screen.get_or_insert_with(|| {
            let restored = checkpoint.as_ref().and_then(|checkpoint| {
                let restored = checkpoint.restore(options);
                restored.inspect_err(|error| tracing::error!(%error, "a screen cannot be brought back")).ok()
            });
            restored.unwrap_or_else(|| Screen::new(pty.first_size(), options))
        })
    }

    /// Goes on with what a former daemon knew of the program.
    fn resume_detection(&mut self) {
        let Some(detection) = &mut self.detection else { return };
        self.pty.want_typed();
        if let Some(saved) = self.checkpoint.as_ref().and_then(Checkpoint::saved) {
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
                let bytes = match self.stored_picture(scrollback) {
                    Some(bytes) => bytes,
                    None => {
                        self.catch_up().await;
                        self.screen().snapshot_limited(scrollback)
                    }
                };
                let mut cursor = self.cursor.fork();
                if terminal {
                    // Here and not later: what was asked before has been answered, what follows will not be.
                    cursor.answers();
                }
                // Whoever asked may be gone.
                let _shown = reply.send(Picture { bytes, cursor });
            }
        }
        self.touched = Instant::now();
        self.tell().await;
        self.store_if_due();
    }

    /// Whether something is known that the next daemon could not find out.
    fn is_unsaved(&self) -> bool {
        self.resized || self.detection.as_ref().is_some_and(|detection| detection.unsaved)
    }

    /// The checkpoint, if it is what is to be shown.
    fn stored_picture(&self, scrollback: usize) -> Option<Vec<u8>> {
        let rests = self.screen.is_none() && self.behind() == 0 && !self.cursor.has_mark();
        let checkpoint =
            self.checkpoint.as_ref().filter(|_| rests && scrollback >= self.screens.options.scrollback)?;
        checkpoint.picture().ok()
    }

    /// Waits for the end of an update that is to be seen as one.
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

    /// Stores a checkpoint if a daemon that follows this one could not do without it, but not all the time.
    fn store_if_due(&mut self) {
        let offset = self.checkpoint.as_ref().map_or(Offset::START, Checkpoint::offset);
        let stale = self.cursor.offset() - offset >= limits::SCREEN_STALE;
        if (stale || self.is_unsaved()) && self.store_at() <= Instant::now() {
            self.store();
        }
    }

    /// When the next checkpoint may be stored. The first one does not wait: what a program sets up at its start must
    /// not leave the ring unseen.
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
            Err(error) => tracing::error!(%error, "storing a screen"),
        }
        self.resized = false;
        if let Some(detection) = &mut self.detection {
            detection.unsaved = false;
        }
        self.stored = Instant::now();
    }

    /// Puts the screen away until somebody needs it.
    async fn rest(&mut self) {
        self.catch_up().await;
        let up_to_date = self.checkpoint.as_ref().is_some_and(|c| c.offset() == self.cursor.offset());
        if !up_to_date || self.is_unsaved() {
            self.store();
        }
        self.tell().await;
        self.again = None;
        self.touched = Instant::now();
        if self.checkpoint.as_ref().is_some_and(|c| c.offset() == self.cursor.offset()) {
            self.screen = None;
            self.scratch = Vec::new();
            self.screens.trim_soon();
        }
    }
}
