//! One prompt to an agent in a terminal: typed when the agent is ready, and answered by the turn that follows.

use super::dialog_approval::DialogWatcher;
use super::{limits, reader};
use std::sync::Arc;
use std::time::Duration;
use swb_chat::Progress;
use swb_engine::chat::{Exchange, Failure, SubmittedPrompt};
use swb_engine::{
    AgentChange, AgentWatch, Engine, Pty, RelayedText, Session, StoredTurn, TypedText, TypingError,
    TypingMode,
};
use swb_turns::{Growth, Profile, ProgramState, Time, box_holds, strip_text};
use swb_types::{Offset, PtyId};
use tokio::time::{Instant, sleep, timeout_at};

/// One prompt and its answer.
pub(super) struct PtyPrompt<'a> {
    session: &'a Session,
    exchange: &'a Exchange,
    profile: Arc<Profile>,
    watch: AgentWatch,
    attendant: DialogWatcher<'a>,
}

/// An answer that is watched while it grows.
struct Growing {
    pty: Arc<Pty>,
    growth: Growth,
    /// The output offset at which the prompt was typed: earlier turns do not answer it.
    from: Offset,
    began: Instant,
    /// The output offset at the last look, and when it last changed.
    seen: Offset,
    moved: Instant,
    /// When the next look is due.
    next: Instant,
}

impl<'a> PtyPrompt<'a> {
    /// `None` if turn detection is off.
    pub(super) fn new(engine: &Engine, session: &'a Session, exchange: &'a Exchange) -> Option<Self> {
        let profile = engine.profile_of(session)?;
        let (watch, attendant) = (engine.watch(session), DialogWatcher::new(session, exchange));
        Some(Self { session, exchange, profile, watch, attendant })
    }

    pub(super) async fn run(mut self) -> Result<(), Failure> {
        let stop = self.exchange.stop().clone();
        // Prompts to the same agent are sent one after the other.
        let session = self.session;
        let _alone = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            alone = session.alone() => alone,
        };
        let Some((growing, before)) = self.submitted().await? else { return Ok(()) };
        self.exchange.submitted(SubmittedPrompt { before, from: growing.from }).await;
        self.follow(growing, before).await
    }

    /// Continues the answer to a prompt that was submitted before; `sent` is the text that was sent of it.
    pub(super) async fn resume(mut self, submitted: SubmittedPrompt, sent: &str) -> Result<(), Failure> {
        let session = self.session;
        let _alone = session.alone().await;
        let agent = session.pty(PtyId::AGENT).map_err(|_| self.gone())?;
        let growth = Growth::new(&self.profile).after(sent);
        self.follow(Growing::new(agent.pty, growth, submitted.from), submitted.before).await
    }

    /// Sends the answer, the turn after `before`, or interrupts it if it is stopped.
    async fn follow(&mut self, mut growing: Growing, before: u64) -> Result<(), Failure> {
        let stop = self.exchange.stop().clone();
        let answered = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            answered = self.answer(&mut growing, before) => Some(answered),
        };
        match answered {
            Some(answered) => answered,
            None => {
                self.interrupt(before).await;
                self.take_back().await;
                self.stopped(before).await
            }
        }
    }

    /// Whether the program has stopped, as far as can be seen.
    async fn stopped(&mut self, before: u64) -> Result<(), Failure> {
        let state = self.session.view().status.state;
        let works = matches!(state, ProgramState::Working | ProgramState::Asking | ProgramState::Unknown);
        if !works || self.turn_after(before).is_some() {
            return Ok(());
        }
        let program = self.session.in_foreground().await.unwrap_or_else(|| "the program".to_owned());
        let (keys, name) = (self.profile.interrupt_keys().join(" "), self.session.name());
        if state == ProgramState::Unknown {
            return Err(Failure::GoesOn(format!(
                "{program} got {keys}; whether it has stopped cannot be recognised: swb attach {name}"
            )));
        }
        Err(Failure::GoesOn(format!(
            "{program} has not stopped after {keys}; to look at it: swb attach {name}"
        )))
    }

    /// Types the prompt when the agent is ready; returns the growing answer and the number of the turn before. `None`
    /// if it is stopped before the prompt is submitted.
    async fn submitted(&mut self) -> Result<Option<(Growing, u64)>, Failure> {
        let stop = self.exchange.stop().clone();
        let deadline = Instant::now() + limits::READY;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    self.attendant.dismiss().await;
                    return Ok(None);
                }
                ready = self.ready() => ready?,
            }
            // As late as possible: the program may have started another one.
            reader::check(self.session, self.exchange).await?;
            let before = self.watch.newest();
            match self.submit().await {
                Ok(growing) => return Ok(Some((growing, before))),
                Err(TypingError::Stopped) => return Ok(None),
                // A dialog appeared at the last moment; handle it first.
                Err(TypingError::Asks { typed: false, .. }) if Instant::now() < deadline => {
                    sleep(limits::LOOK).await;
                }
                Err(TypingError::Runs(why)) => {
                    return Err(Failure::NotAllowed(format!("{why}, so nothing was sent; type it yourself")));
                }
                Err(error) => return Err(Failure::Agent(format!("cannot type the prompt: {error}"))),
            }
        }
    }

    /// Waits until the agent accepts a prompt. A dialog may come first.
    async fn ready(&mut self) -> Result<(), Failure> {
        let mut deadline = Instant::now() + limits::READY;
        let mut reported = false;
        // The event that a turn is complete may come before the change of state.
        let doubt = Instant::now() + limits::DOUBT;
        loop {
            match self.session.view().status.state {
                ProgramState::Ready | ProgramState::Error | ProgramState::Unknown => return Ok(()),
                ProgramState::Exited => return Err(self.gone()),
                // Dialogs have their own timeout.
                ProgramState::Asking => deadline = Instant::now() + limits::READY,
                ProgramState::Working
                    if Instant::now() > doubt && !std::mem::replace(&mut reported, true) =>
                {
                    let message = "the agent is still busy with another prompt".to_owned();
                    self.exchange
                        .progress(Progress { message, ephemeral: true, ..Progress::default() })
                        .await;
                }
                ProgramState::Starting | ProgramState::Working => {}
            }
            self.attendant.look().await;
            match timeout_at(deadline, self.pause()).await {
                Ok(AgentChange::Gone) => return Err(self.gone()),
                Ok(_) => {}
                Err(_) if reported => {
                    return Err(Failure::Agent(
                        "the agent is busy with another prompt; try again later".into(),
                    ));
                }
                Err(_) => {
                    let (secs, name) = (limits::READY.as_secs(), self.session.name());
                    let what =
                        format!("the agent was not ready within {secs} s; to look at it: swb attach {name}");
                    return Err(Failure::Agent(what));
                }
            }
        }
    }

    /// Types the prompt.
    async fn submit(&mut self) -> Result<Growing, TypingError> {
        let agent = self.session.pty(PtyId::AGENT)?;
        let from = agent.pty.head();
        let growing = Growing::new(agent.pty, Growth::new(&self.profile), from);
        let text = self.exchange.prompt().to_owned();
        let text = match self.exchange.options().piped {
            // Interpreters were refused before.
            true => TypedText::Relayed(RelayedText::piped(text, Arc::clone(&self.profile))),
            false => TypedText::Text(text),
        };
        let (stop, clear) = (self.exchange.stop(), self.profile.clear_keys());
        self.session.type_until(stop, &clear, text, TypingMode::PROMPT).await?;
        Ok(growing)
    }

    /// Sends the answer while it grows, and the rest when its turn is complete.
    async fn answer(&mut self, growing: &mut Growing, before: u64) -> Result<(), Failure> {
        let mut idle: Option<Instant> = None;
        loop {
            if let Some(turn) = self.turn_after(before) {
                return self.finish(growing, &turn).await;
            }
            self.attendant.look().await;
            if let Some(part) = growing.look().await {
                self.exchange.text(part).await;
            }
            let ready = matches!(self.session.view().status.state, ProgramState::Ready | ProgramState::Error);
            idle = idle.filter(|_| ready).or_else(|| ready.then(Instant::now));
            if idle.is_some_and(|since| since.elapsed() >= limits::NOTHING) {
                // Commands of the agent itself may leave no trace.
                return Ok(());
            }
            if self.pause().await == AgentChange::Gone {
                let turn = self.watch.last_turn(before).await.ok().flatten();
                return match turn {
                    Some(turn) => self.finish(growing, &turn).await,
                    None => Err(self.gone()),
                };
            }
        }
    }

    async fn finish(&mut self, growing: &mut Growing, turn: &StoredTurn) -> Result<(), Failure> {
        let growth = std::mem::replace(&mut growing.growth, Growth::new(&self.profile));
        if let Some(rest) = growth.finish(&text_of(turn)) {
            self.exchange.text(rest).await;
        }
        Ok(())
    }

    fn turn_after(&self, before: u64) -> Option<StoredTurn> {
        self.watch.turn_after(before).ok().flatten()
    }

    /// Waits for a change, or for the next look.
    async fn pause(&mut self) -> AgentChange {
        let outcome = tokio::select! {
            change = self.watch.changed() => return change,
            outcome = self.attendant.outcome() => outcome,
            () = sleep(limits::LOOK) => return AgentChange::Look,
        };
        self.attendant.settle(outcome).await;
        AgentChange::Look
    }

    /// Interrupts the answer, the turn after `before`, as a user at the terminal would. The prompt was submitted, so the
    /// keys interrupt its answer even if that has not been seen to begin.
    async fn interrupt(&mut self, before: u64) {
        let until = Instant::now() + limits::STOPPED;
        let mut pressed: Option<Instant> = None;
        while Instant::now() < until {
            let due = pressed.is_none_or(|at| at.elapsed() >= limits::PRESS_AGAIN);
            match self.session.view().status.state {
                ProgramState::Asking if due && self.attendant.dismiss().await => {}
                ProgramState::Asking | ProgramState::Working | ProgramState::Unknown if due => {
                    pressed = Some(Instant::now());
                    // A terminal that has ended has stopped as well.
                    let _pressed = self.session.press(&self.profile.interrupt_keys()).await;
                }
                ProgramState::Asking | ProgramState::Working | ProgramState::Unknown => {}
                ProgramState::Exited => return,
                _ if self.turn_after(before).is_some() => return,
                // Its beginning may not have been noticed yet. Pressed twice, the keys would mean something else.
                _ if pressed.is_none() => {
                    pressed = Some(Instant::now());
                    let _pressed = self.session.press(&self.profile.interrupt_keys()).await;
                }
                _ => {}
            }
            if self.pause().await == AgentChange::Gone {
                return;
            }
        }
    }

    /// Empties the input of an agent that restores a prompt when it is interrupted before it has written anything:
    /// the next prompt would be appended to it.
    async fn take_back(&mut self) {
        let Ok(agent) = self.session.pty(PtyId::AGENT) else { return };
        let (profile, prompt) = (Arc::clone(&self.profile), self.exchange.prompt().to_owned());
        let left = agent.pty.look(true, move |sight| box_holds(&profile, sight.screen(), &prompt)).await;
        if left.unwrap_or(false) {
            // A terminal that has ended has no input.
            let _pressed = self.session.press(&self.profile.clear_keys()).await;
        }
    }

    fn gone(&self) -> Failure {
        Failure::Agent(format!("the agent in the terminal '{}' has ended", self.session.name()))
    }
}

impl Growing {
    fn new(pty: Arc<Pty>, growth: Growth, from: Offset) -> Self {
        let now = Instant::now();
        Self { pty, growth, from, began: now, seen: from, moved: now, next: now }
    }

    /// The next part of the answer, if a look is due.
    async fn look(&mut self) -> Option<String> {
        let now = Instant::now();
        let head = self.pty.head();
        if head != self.seen {
            (self.seen, self.moved) = (head, now);
        }
        if now < self.next || self.moved.elapsed() > limits::REST {
            return None;
        }
        let so_far = self.pty.answer_so_far().await.ok().flatten();
        self.next = now + limits::LOOK.max(now.elapsed() * limits::LOOK_SHARE);
        let so_far = so_far.filter(|so_far| so_far.submit >= self.from)?;
        self.growth.grow(&so_far.text, time(self.began.elapsed()))
    }
}

fn time(since: Duration) -> Time {
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// The text of a turn as the screen showed it: parts of that were sent already.
fn text_of(turn: &StoredTurn) -> String {
    let shown = turn.details.shown.clone();
    shown.or_else(|| turn.details.text.clone()).unwrap_or_else(|| strip_text(&turn.content))
}
