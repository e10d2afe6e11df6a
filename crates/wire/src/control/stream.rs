//! Control messages of stream mode.

use super::notify::NotificationKind;
use super::operation::is_false;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swb_types::Offset;

/// A control message of a client (CO-58, CO-59).
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(tag = "cmd", rename_all = "lowercase")]
pub enum ClientControl {
    /// Its terminal has a new size; either dimension may be zero, which is ignored.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// The client detaches; the session continues.
    Detach,
    /// *Addition*: a direct reader has read the output up to here.
    Position {
        /// Position after the last byte it has read.
        offset: Offset,
    },
    /// *Addition*: a direct reader has stopped reading: the daemon sends it the output from here on.
    Indirect {
        /// Position after the last byte it has read.
        offset: Offset,
    },
}

/// What ended a process that did not exit by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitCause {
    /// It was killed on request.
    Killed,
    /// Its keeper ended.
    KeeperLost,
}

/// A control message of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The process has ended for good (CO-61).
    PtyExited {
        /// Its exit code, or 128 plus the signal.
        code: i32,
        /// *Addition*: why it has ended, for clients with `offsets` or `repaint`, unless it exited by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<ExitCause>,
    },
    /// The process has ended and will be restarted on the same connection (CO-62).
    PtyRestarting {
        /// Milliseconds until then.
        delay_ms: u64,
    },
    /// The stream ends; the session continues (CO-48, CO-59).
    Detached,
    /// The client was too slow and missed output (CO-66).
    Lagged {
        /// Number of frames dropped.
        dropped: u64,
        /// *Addition*: where the stream continues, for clients that requested positions.
        #[serde(skip_serializing_if = "Option::is_none")]
        offset: Option<Offset>,
    },
    /// *Addition*: everything that was requested has been sent.
    End {
        /// Position after the last byte sent.
        offset: Offset,
    },
    /// *Addition*: the next bytes are not output but a picture of the screen.
    Repaint {
        /// Position in the output that the picture shows, and of the byte after the picture.
        offset: Offset,
        /// Length of the picture, which may take several data frames.
        bytes: u64,
        /// It shows the part that fits the client's window; no output continues it.
        #[serde(default, skip_serializing_if = "is_false")]
        part: bool,
    },
    /// *Addition*: the client reads the output itself from here on, in the memory whose descriptor comes with the event.
    Direct {
        /// Position of the first byte to read there.
        offset: Offset,
    },
    /// *Addition*: the client is to stop reading the output itself, and to report how far it came.
    Indirect,
    /// *Addition*: from here on the output is for a terminal of another size.
    Resized {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
        /// Number of the size: how often it was changed.
        generation: u32,
    },
    /// *Addition*: a notification for the client's terminal.
    Notification {
        /// The session that it is about; another one than that of the stream, or the same.
        session: String,
        /// What it is about.
        notification: NotificationKind,
        /// The same for people.
        text: String,
    },
}
