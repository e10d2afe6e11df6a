//! Control messages of stream mode.

use serde::{Deserialize, Serialize};
use swb_types::Offset;

/// What a client says in a control frame (CO-58, CO-59).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "cmd", rename_all = "lowercase")]
pub enum ClientControl {
    /// Its terminal has a new size; either side may be zero, which no terminal takes.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// It goes, and the session stays.
    Detach,
}

/// What the daemon says in a control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The process has ended for good (CO-61).
    PtyExited {
        /// Its exit code, or 128 plus the signal.
        code: i32,
    },
    /// The process has ended and another will follow on the same connection (CO-62).
    PtyRestarting {
        /// Milliseconds until then.
        delay_ms: u64,
    },
    /// Goodbye; the session goes on (CO-48, CO-59).
    Detached,
    /// The client was too slow and misses something (CO-66).
    Lagged {
        /// Number of frames dropped.
        dropped: u64,
        /// *Addition*: where the stream goes on, for clients that asked for positions.
        #[serde(skip_serializing_if = "Option::is_none")]
        offset: Option<Offset>,
    },
    /// *Addition*: everything that was asked for has been sent.
    End {
        /// Position behind the last byte sent.
        offset: Offset,
    },
    /// *Addition*: the next bytes are no output but a picture of the screen.
    Repaint {
        /// Position in the output of what is shown, and of the byte behind the picture.
        offset: Offset,
        /// Length of the picture, which may take several data frames.
        bytes: u64,
    },
    /// *Addition*: from here on the output is for a terminal of another size.
    Resized {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
        /// Number of the size: how often it was changed.
        generation: u32,
    },
}
