//! The state of a detector: reports, the last look at the screen, and the open turn.

use crate::capture::Capture;
use crate::collector::Collector;
use crate::keys::TurnKeys;
use crate::limits;
use crate::look::Sight;
use crate::scan::Scanner;
use crate::status::{ProgramState, Status};
use crate::tail::Tail;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use swb_types::{Offset, Size};

/// A report that was received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub(crate) state: ProgramState,
    pub(crate) detail: String,
    pub(crate) at: Time,
    pub(crate) offset: Offset,
}

/// The latest report of each kind.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Reports {
    pub(crate) hook: Option<Heard>,
    pub(crate) status: Option<Heard>,
    pub(crate) notify: Option<Heard>,
    pub(crate) progress: Option<Heard>,
    pub(crate) title: Option<Heard>,
    /// OSC 133, with the offsets that bound a command's output.
    pub(crate) mark: Option<Heard>,
    pub(crate) output_from: Option<Offset>,
    pub(crate) output_to: Option<Offset>,
    /// `?2004`, once it was used, and where it was last turned on.
    pub(crate) pasting: Option<bool>,
    pub(crate) pasting_from: Offset,
}

/// A turn that is not complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Open {
    pub(crate) submit: Offset,
    /// The output offset at the last Enter, an answer to a question included.
    pub(crate) entered: Offset,
    pub(crate) at: Time,
    /// What was typed, and what the input line or box showed.
    pub(crate) typed: String,
    pub(crate) shown: String,
    /// The lines that were submitted after it, while the program worked; a daemon of another version may not have
    /// saved them.
    #[serde(default)]
    pub(crate) later: Vec<String>,
    pub(crate) capture: Capture,
    /// Where a line editor with bracketed paste (`?2004`) submitted the input.
    pub(crate) edited_to: Option<Offset>,
    pub(crate) interrupted: bool,
    pub(crate) escapes: u8,
    /// There was evidence since the submission that the program works.
    pub(crate) worked: bool,
    pub(crate) dialogs: Vec<Offset>,
    pub(crate) count: Option<String>,
    pub(crate) size: Size,
    pub(crate) resizes: Vec<(Offset, Size)>,
    pub(crate) collector: Collector,
    /// The answer before the last resize, on the primary screen; a daemon of another version may not have saved it.
    #[serde(default)]
    pub(crate) before_resize: Vec<String>,
    /// The line after the conversation, counted since the screen began; of the collector where that is used.
    pub(crate) first_line: u64,
}

/// A moment at which the program looked ready, not yet long enough to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) at: Time,
    pub(crate) offset: Offset,
    /// The user has typed since: output after `offset` is not part of the answer.
    pub(crate) touched: bool,
    pub(crate) strong: bool,
}

/// Everything that changes; can be stored and restored by a restarted daemon. The raw bytes of an open turn
/// are not included.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedDetector {
    pub(crate) offset: Offset,
    pub(crate) size: Size,
    pub(crate) scanner: Scanner,
    pub(crate) tail: Tail,
    pub(crate) keys: TurnKeys,
    /// The output offset at the last key; a daemon of another version may not have saved it.
    #[serde(default)]
    pub(crate) keys_at: Option<Offset>,
    pub(crate) reports: Reports,
    pub(crate) sight: Option<Sight>,
    /// Whether the screen has changed since it was last read.
    pub(crate) dirty: bool,
    /// Since when a frame is being drawn (`?2026`).
    pub(crate) drawing: Option<Time>,
    pub(crate) last_output: Time,
    /// When the terminal was resized, until the program has drawn its screen anew.
    #[serde(default)]
    pub(crate) resized_at: Option<Time>,
    /// Number of moments of silence that have passed since the last output.
    pub(crate) stage: usize,
    pub(crate) looks: u32,
    pub(crate) looked_at: Time,
    pub(crate) asked_at_input: bool,
    /// The user reacted to the dialog that is shown.
    pub(crate) answered: bool,
    /// The dialog that is shown, to distinguish the next one.
    pub(crate) dialog: String,
    pub(crate) pending: Option<Pending>,
    pub(crate) status: Status,
    pub(crate) turn: Option<Open>,
    pub(crate) seq: u64,
    /// The input line or box when nothing is typed.
    pub(crate) prompt: Option<String>,
    pub(crate) ready0: Option<Offset>,
}

impl SavedDetector {
    pub(crate) fn new(size: Size) -> Self {
        Self {
            offset: Offset::START,
            size,
            scanner: Scanner::default(),
            tail: Tail::default(),
            keys: TurnKeys::default(),
            keys_at: None,
            reports: Reports::default(),
            sight: None,
            dirty: false,
            drawing: None,
            last_output: Time::default(),
            resized_at: None,
            stage: usize::MAX,
            looks: limits::LOOKS,
            looked_at: Time::default(),
            asked_at_input: false,
            answered: false,
            dialog: String::new(),
            pending: None,
            status: Status::default(),
            turn: None,
            seq: 0,
            prompt: None,
            ready0: None,
        }
    }
}
