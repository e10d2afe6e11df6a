//! Recordings of real sessions: every byte of output and input with its time, and the turns expected in them.
//!
//! A recording is a directory with `stream.jsonl`, one event per line, and `expected.json`. The caller reads the files;
//! this module parses their text.

use crate::detector::{Detector, DetectorEvent};
use crate::limits;
use crate::profile::{Profile, Profiles};
use crate::time::Time;
use crate::turn::CompletedTurn;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use swb_types::{Offset, Size};
use swb_vt::{Options, Screen};

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A line of the stream is not an event.
    #[error("stream line {line}: {reason}")]
    Stream {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The expectation is invalid.
    #[error("expectation: {0}")]
    Expected(#[from] serde_json::Error),
}

/// What happened, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The program wrote output.
    Output(Vec<u8>),
    /// Input to the program: from the user, or a reply of the terminal.
    Input(Vec<u8>),
    /// The terminal was resized.
    Resize(Size),
}

/// A session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// Its events, in order.
    pub steps: Vec<(Time, Step)>,
}

#[derive(Deserialize)]
struct StreamLine {
    t: f64,
    d: String,
    #[serde(default)]
    b64: String,
    #[serde(default)]
    cols: u16,
    #[serde(default)]
    rows: u16,
}

impl Recording {
    /// Parses a `stream.jsonl`.
    ///
    /// # Errors
    /// When a line is not an event.
    pub fn parse(stream: &str) -> Result<Self, RecordingError> {
        let lines = stream.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let steps = lines.map(|(n, line)| {
            parse_line(line).map_err(|reason| RecordingError::Stream { line: n + 1, reason })
        });
        Ok(Self { steps: steps.collect::<Result<_, _>>()? })
    }

    /// The same session with its output split differently: adjacent outputs are joined, at the time of their last byte,
    /// up to `len` bytes, and split at `len`.
    #[must_use]
    pub fn recut(&self, len: impl FnMut() -> usize) -> Self {
        let mut next = len;
        let mut steps: Vec<(Time, Step)> = Vec::new();
        let mut open: Option<(Time, Vec<u8>, usize)> = None;
        for (at, step) in &self.steps {
            if let Step::Output(bytes) = step {
                for byte in bytes {
                    let (time, part, room) = open.get_or_insert_with(|| (*at, Vec::new(), next().max(1)));
                    *time = *at;
                    part.push(*byte);
                    if part.len() >= *room {
                        steps.extend(open.take().map(|(time, part, _)| (time, Step::Output(part))));
                    }
                }
            } else {
                steps.extend(open.take().map(|(time, part, _)| (time, Step::Output(part))));
                steps.push((*at, step.clone()));
            }
        }
        steps.extend(open.take().map(|(time, part, _)| (time, Step::Output(part))));
        Self { steps }
    }

    /// The output alone.
    pub fn output(&self) -> Vec<u8> {
        let parts = self.steps.iter().filter_map(|(_, step)| match step {
            Step::Output(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        parts.collect::<Vec<_>>().concat()
    }
}

fn parse_line(line: &str) -> Result<(Time, Step), String> {
    let read: StreamLine = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if !read.t.is_finite() || read.t < 0.0 {
        return Err("t: not a time".to_owned());
    }
    let bytes = || STANDARD.decode(&read.b64).map_err(|error| format!("b64: {error}"));
    let step = match read.d.as_str() {
        "o" => Step::Output(bytes()?),
        "i" => Step::Input(bytes()?),
        "r" => Step::Resize(Size::new(read.cols, read.rows).ok_or("cols, rows: not a size")?),
        other => return Err(format!("d: unknown direction {other:?}")),
    };
    Ok((Time((read.t * 1e6).round() as u64), step))
}

/// The expectation of a recording, as far as it is used here.
#[derive(Debug, Clone, Deserialize)]
pub struct Expected {
    /// The program's name.
    pub agent: String,
    /// How it was called.
    pub argv: Vec<String>,
    /// Columns at the start.
    pub cols: u16,
    /// Rows at the start.
    pub rows: u16,
    /// The turns, in order.
    pub turns: Vec<ExpectedTurn>,
}

/// One expected turn.
#[derive(Debug, Clone, Deserialize)]
pub struct ExpectedTurn {
    /// What the user typed.
    pub input: String,
    /// When the first key was typed.
    pub typed_offset: u64,
    /// When Enter was pressed.
    pub submit_offset: u64,
    /// When the answer was sent in full; agents only.
    #[serde(default)]
    pub reply_end_offset: Option<u64>,
    /// When the program was ready again.
    pub ready_offset: u64,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// The answer, or for shells the exact output.
    #[serde(default)]
    pub answer: Option<String>,
    /// The questions in mid-turn.
    #[serde(default)]
    pub dialogs: Vec<ExpectedDialog>,
    /// The unique words of the answer that were on the screen, in order.
    #[serde(default)]
    pub markers_on_screen: Vec<String>,
}

/// A question in mid-turn.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ExpectedDialog {
    /// When the program waited for an answer.
    pub offset: u64,
}

impl Expected {
    /// Parses an `expected.json`.
    ///
    /// # Errors
    /// When it is invalid.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        Ok(serde_json::from_str(text)?)
    }

    /// The size at the start.
    pub fn size(&self) -> Size {
        Size::new(self.cols, self.rows).unwrap_or(Size::DEFAULT)
    }
}

/// The detector's result for a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectionResult {
    /// The profile that was used.
    pub profile: String,
    /// Where the program was first ready.
    pub ready0: Option<Offset>,
    /// The turns.
    pub turns: Vec<CompletedTurn>,
    /// Where the program asked within a turn.
    pub dialogs: Vec<Offset>,
}

/// The profile for a recording without expectation, by what the program shows before the first Enter;
/// `generic` if that is not conclusive.
pub fn guess(recording: &Recording, profiles: &Profiles, size: Size) -> Option<Arc<Profile>> {
    let mut screen = Screen::new(size, Options::default());
    let mut found = None;
    for (_, step) in &recording.steps {
        match step {
            Step::Output(bytes) => screen.feed(bytes),
            Step::Resize(size) => screen.resize(*size),
            Step::Input(bytes) if bytes.contains(&b'\r') => break,
            Step::Input(_) => continue,
        }
        let rows = screen.row_texts();
        found = profiles.for_screen(rows.iter().map(String::as_str).chain([screen.title()]));
        if found.is_some() {
            break;
        }
    }
    found.or_else(|| profiles.named("generic"))
}

/// Runs the detector over a recording.
pub fn detect(recording: &Recording, profile: Arc<Profile>, size: Size) -> DetectionResult {
    let mut screen = Screen::new(size, Options::default());
    let mut detector = Detector::new(profile, size);
    for (now, step) in &recording.steps {
        match step {
            Step::Output(bytes) => detector.output(&mut screen, bytes, detector.offset(), *now),
            Step::Input(bytes) => detector.input(&screen, bytes, *now),
            Step::Resize(size) => detector.resize(&mut screen, *size, *now),
        }
    }
    let end = recording.steps.last().map(|(at, _)| *at).unwrap_or_default();
    detector.finish(&screen, end + limits::RECORDING_END);
    let mut found = DetectionResult {
        profile: detector.profile().name().to_owned(),
        ready0: detector.first_ready(),
        turns: Vec::new(),
        dialogs: Vec::new(),
    };
    for event in detector.take_events() {
        match event {
            DetectorEvent::TurnEnded(turn) => {
                found.dialogs.extend(&turn.dialogs);
                found.turns.push(*turn);
            }
            DetectorEvent::Dialog { .. } | DetectorEvent::Status(_) | DetectorEvent::TurnStarted { .. } => {}
        }
    }
    found
}

#[derive(Serialize)]
struct TurnLine<'a> {
    turn: u64,
    submit_offset: Offset,
    end_offset: Offset,
    interrupted: bool,
    text: &'a str,
    profile: &'a str,
    signal: &'a str,
}

#[derive(Serialize)]
struct LastLine<'a> {
    ready0_offset: Option<Offset>,
    dialogs: &'a [Offset],
    turns: usize,
}

impl DetectionResult {
    /// The result as JSON, one object per line: the turns, then a summary.
    pub fn json_lines(&self) -> Vec<String> {
        let turns = self.turns.iter().map(|turn| {
            serde_json::to_string(&TurnLine {
                turn: turn.seq,
                submit_offset: turn.submit,
                end_offset: turn.end,
                interrupted: turn.interrupted,
                text: &turn.text,
                profile: &self.profile,
                signal: turn.signal.name(),
            })
        });
        let last = LastLine { ready0_offset: self.ready0, dialogs: &self.dialogs, turns: self.turns.len() };
        turns.chain([serde_json::to_string(&last)]).filter_map(Result::ok).collect()
    }
}
