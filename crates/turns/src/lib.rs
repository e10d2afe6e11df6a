//! Turns and status of terminal programs: when an agent's answer is complete, and what its text is.
//!
//! Pure: no I/O, no clock. Output, input and times come from the caller; a [`Detector`] turns them into a [`Status`]
//! with its evidence and into [`CompletedTurn`]s. Knowledge about programs is data: see [`Profiles`]. [`LineRules`] are the rules
//! for programs with prompts alone, exactly as other tools of the same protocol implement them.
//!
//! [`recording`] parses recordings of real sessions and [`score`] measures the detector on them.

mod capture;
mod collector;
mod detector;
mod dialog;
mod erased;
mod growth;
mod input_box;
mod judge;
mod keys;
pub mod limits;
mod lines;
mod live;
mod look;
mod pattern;
mod profile;
pub mod recording;
mod report;
mod scan;
pub mod score;
mod status;
mod strip;
mod tail;
mod text;
mod time;
pub mod transcript;
mod turn;
mod verdict;
mod written;

pub use detector::{Detector, DetectorEvent, Hook};
pub use dialog::{Dialog, DialogOption, Meaning, dialog};
pub use growth::Growth;
pub use input_box::{InputBox, continuation, input_box};
pub use keys::{TurnKey, TurnKeys};
pub use lines::{LineEvent, LineOptions, LineRules, LineTurn};
pub use live::SavedDetector;
pub use look::box_holds;
pub use pattern::{Pattern, PatternError};
pub use profile::{Profile, ProfileError, Profiles, ProgramKind, is_command};
pub use status::{Evidence, ProgramState, Status};
pub use strip::{strip, strip_text};
pub use time::Time;
pub use turn::{CompletedTurn, Signal, SoFar};
