//! The line rules (CT-1 to CT-19): turns of programs that write a prompt, read a line and answer.
//!
//! A state machine over output, input and time. A prompt is the last line with text, finished or not, when it
//! matches the pattern and nothing follows for [`limits::PROMPT_QUIET`]: a matching line that other output follows at
//! once is output. Silence without a prompt means nothing (CT-16).

use crate::capture::Capture;
use crate::keys::{TurnKey, TurnKeys};
use crate::limits;
use crate::pattern::Pattern;
use crate::strip::strip;
use crate::tail::{Line, Tail};
use crate::time::Time;
use std::time::Duration;
use swb_types::Offset;

/// How the rules are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineOptions {
    /// Silence after which the last line may be a prompt.
    pub quiet: Duration,
    /// Bytes of a turn that are kept (CP-28).
    pub turn_bytes: usize,
}

impl Default for LineOptions {
    fn default() -> Self {
        Self { quiet: limits::PROMPT_QUIET, turn_bytes: limits::TURN_BYTES }
    }
}

/// A completed turn, as sent on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineTurn {
    /// The bytes between the submitted input and the closing prompt, unchanged; only the beginning if they
    /// exceed the limit.
    pub content: Vec<u8>,
    /// Their number before any cut.
    pub byte_length: u64,
    /// Where they begin in the output.
    pub start: Offset,
    /// Where the closing prompt's line begins.
    pub end: Offset,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// When the closing prompt was detected (CT-19 requires [`Time::millis`] of it).
    pub at: Time,
}

impl LineTurn {
    /// Whether bytes are missing at the end.
    pub fn truncated(&self) -> bool {
        (self.content.len() as u64) < self.byte_length
    }
}

/// An event of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineEvent {
    /// The first prompt: the program is ready.
    Ready,
    /// Input was submitted; a turn may follow.
    Submitted,
    /// A turn is complete.
    Turn(LineTurn),
}

/// The state since the last prompt.
#[derive(Debug)]
enum Phase {
    /// No prompt yet.
    Starting,
    /// A prompt is shown, and nothing was submitted.
    Prompt,
    /// Something was submitted.
    Answering { capture: Capture, interrupted: bool },
}

/// The state machine.
#[derive(Debug)]
pub struct LineRules {
    pattern: Pattern,
    options: LineOptions,
    phase: Phase,
    tail: Tail,
    keys: TurnKeys,
    offset: Offset,
    /// When the last output arrived, until it was evaluated.
    unseen: Option<Time>,
    events: Vec<LineEvent>,
}

impl LineRules {
    /// Rules with this pattern, before any output.
    pub fn new(pattern: Pattern, options: LineOptions) -> Self {
        Self {
            pattern,
            options,
            phase: Phase::Starting,
            tail: Tail::default(),
            keys: TurnKeys::default(),
            offset: Offset::START,
            unseen: None,
            events: Vec::new(),
        }
    }

    /// The pattern in force.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Takes output of the program.
    pub fn output(&mut self, bytes: &[u8], now: Time) {
        self.tick(now);
        if let Phase::Answering { capture, .. } = &mut self.phase {
            capture.push(bytes);
        }
        self.tail.feed(bytes, self.offset);
        self.offset += bytes.len() as u64;
        self.unseen = Some(now);
    }

    /// Takes input to the program, typed or injected (CP-20).
    pub fn input(&mut self, bytes: &[u8], now: Time) {
        self.tick(now);
        let mut keys = std::mem::take(&mut self.keys);
        keys.feed(bytes, now, |keys, key| match key {
            TurnKey::Enter | TurnKey::LineFeed => self.submit(keys),
            TurnKey::Interrupt => self.interrupt(),
            TurnKey::Escape | TurnKey::Other => {}
        });
        self.keys = keys;
    }

    /// The user interrupted the program: SIGINT was delivered to it. Typed Ctrl+C is seen in the input (CT-17).
    pub fn interrupt(&mut self) {
        if let Phase::Answering { interrupted, .. } = &mut self.phase {
            *interrupted = true;
        }
    }

    /// When [`LineRules::tick`] has something to do.
    pub fn deadline(&self) -> Option<Time> {
        self.unseen.map(|at| at + self.options.quiet)
    }

    /// Takes the time.
    pub fn tick(&mut self, now: Time) {
        if let Some(due) = self.deadline().filter(|due| *due <= now) {
            self.unseen = None;
            if let Some(prompt) = self.shown_prompt("") {
                self.prompt(prompt, due);
            }
        }
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> Vec<LineEvent> {
        std::mem::take(&mut self.events)
    }

    fn submit(&mut self, keys: &mut TurnKeys) {
        let typed = keys.take_typed();
        // A prompt that was not quiet for long enough counts when input follows; scripts reply at once.
        if let Some((at, prompt)) = self.unseen.zip(self.shown_prompt(&typed)) {
            self.prompt(prompt, at);
        }
        if matches!(self.phase, Phase::Prompt) {
            let capture = Capture::new(self.offset, &typed, &self.tail.text(), self.options.turn_bytes);
            self.phase = Phase::Answering { capture, interrupted: false };
            self.push(LineEvent::Submitted);
        }
    }

    /// The prompt that the output ends with; the program may have echoed `typed` after it.
    fn shown_prompt(&self, typed: &str) -> Option<Line> {
        let line = self.tail.text();
        let shown = match typed.trim_end() {
            "" => line.as_str(),
            typed => line.trim_end().strip_suffix(typed).unwrap_or(&line),
        };
        if self.pattern.matches(&line) || self.pattern.matches(shown) {
            return Some(Line { start: self.tail.start(), bytes: self.tail.bytes().to_vec() });
        }
        // CT-8: a finished line counts as long as the line below it is empty.
        let finished = self.tail.finished().filter(|_| shown.trim().is_empty())?;
        let answers = match &self.phase {
            // The line of the prompt before, and the echo, are no new prompt.
            Phase::Answering { capture, .. } => finished.start >= capture.answer_start(),
            Phase::Starting | Phase::Prompt => true,
        };
        (answers && self.pattern.matches(&finished.text())).then(|| finished.clone())
    }

    fn prompt(&mut self, line: Line, at: Time) {
        match std::mem::replace(&mut self.phase, Phase::Prompt) {
            Phase::Starting => self.push(LineEvent::Ready),
            Phase::Prompt => {}
            Phase::Answering { capture, interrupted } => {
                let end = line.start;
                let content = capture.content(end);
                // CT-12: prompts, echo and blanks alone are not a turn.
                let prompt = strip(&line.bytes);
                let blank = |line: &[u8]| {
                    let text = strip(line);
                    text.trim_ascii().is_empty() || text.trim_ascii() == prompt.trim_ascii()
                };
                if !content.bytes.split(|byte| *byte == b'\n').all(blank) {
                    let turn = LineTurn {
                        byte_length: content.len,
                        start: content.start,
                        end,
                        interrupted,
                        at,
                        content: content.bytes,
                    };
                    self.push(LineEvent::Turn(turn));
                }
            }
        }
    }

    fn push(&mut self, event: LineEvent) {
        if self.events.len() >= limits::EVENTS {
            self.events.remove(0);
        }
        self.events.push(event);
    }
}
