//! What a program sends to its terminal besides text to show.

use crate::limits;
use serde::{Deserialize, Serialize};

/// A mark of the shell (OSC 133).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// The prompt begins.
    Prompt,
    /// The prompt is over: the user types.
    Input,
    /// The command runs; its output follows.
    Output,
    /// The command is over, with this exit code if the shell reported it.
    Done(Option<i32>),
}

/// Progress of a long task (OSC 9;4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// Nothing is going on.
    None,
    /// So many percent are done.
    Percent(u8),
    /// It failed, so far along.
    Error(u8),
    /// Something is going on.
    Busy,
    /// It is held up, so far along.
    Paused(u8),
}

impl Progress {
    pub(crate) fn from_params(state: u16, percent: u16) -> Option<Self> {
        let percent = percent.min(100) as u8;
        Some(match state {
            0 => Self::None,
            1 => Self::Percent(percent),
            2 => Self::Error(percent),
            3 => Self::Busy,
            4 => Self::Paused(percent),
            _ => return None,
        })
    }

    /// The numbers of its sequence.
    pub(crate) fn params(self) -> (u8, u8) {
        match self {
            Self::None => (0, 0),
            Self::Percent(n) => (1, n),
            Self::Error(n) => (2, n),
            Self::Busy => (3, 0),
            Self::Paused(n) => (4, n),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScreenEvent {
    /// The bell rang, once or several times in a row.
    Bell,
    /// The working directory, as the program wrote it: a URL in most cases (OSC 7).
    Cwd(String),
    /// The shell got somewhere (OSC 133).
    Mark(Mark),
    /// A notification for the user (OSC 9, OSC 777).
    Notify(String),
    /// A long task got somewhere (OSC 9;4).
    Progress(Progress),
    /// The program's status, `key=value` pairs joined by colons (OSC 7501).
    Status(String),
    /// The window title (OSC 0 and 2, and the title stack).
    Title(String),
}

/// Events that wait to be taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingEvents {
    waiting: Vec<ScreenEvent>,
    lost: usize,
}

impl PendingEvents {
    pub(crate) fn push(&mut self, event: ScreenEvent) {
        if event == ScreenEvent::Bell && self.waiting.last() == Some(&ScreenEvent::Bell) {
            return;
        }
        if self.waiting.len() < limits::EVENTS {
            self.waiting.push(event);
        } else {
            self.lost += 1;
        }
    }

    pub(crate) fn take(&mut self) -> Vec<ScreenEvent> {
        self.lost = 0;
        std::mem::take(&mut self.waiting)
    }

    pub(crate) fn lost(&self) -> usize {
        self.lost
    }
}
