//! The messages of the protocol. Numbers are append-only and fixed by the specification.

/// The role that a client requests in its first message (KP-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum KeeptyRole {
    /// Sends input and decides the size; the newest Writer replaces the one before.
    Writer = 1,
    /// Watches from now on.
    Watcher = 2,
    /// A program that watches, and gets the history first.
    Monitor = 3,
}

impl TryFrom<u8> for KeeptyRole {
    type Error = u8;

    /// Returns the number as an error if it is no role.
    fn try_from(number: u8) -> Result<Self, u8> {
        match number {
            1 => Ok(Self::Writer),
            2 => Ok(Self::Watcher),
            3 => Ok(Self::Monitor),
            other => Err(other),
        }
    }
}

/// One message, in either direction (KP-6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// First message of a client.
    Hello {
        /// The requested role.
        role: KeeptyRole,
        /// Columns of its terminal.
        cols: u16,
        /// Rows of its terminal.
        rows: u16,
    },
    /// Reply to `Hello`.
    HelloAck {
        /// Process on the terminal, 0 if it has not been started.
        pid: u32,
        /// Current columns.
        cols: u16,
        /// Current rows.
        rows: u16,
    },
    /// Input for the terminal.
    Input(Vec<u8>),
    /// Output of the terminal.
    Output(Vec<u8>),
    /// Requests a new size.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// Fence in the output: what follows was read after the terminal got this size.
    ResizeAck {
        /// Number of the resize in the session, from 1.
        generation: u32,
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// The process has ended; only the end of the stream follows.
    Exit {
        /// Its exit code, or 128 plus the signal.
        code: i32,
    },
    /// Requests the end of the session.
    Shutdown,
    /// Requests a `Pong`.
    Ping,
    /// Reply to `Ping`.
    Pong,
    /// An error message, sent before the connection is closed.
    Error(String),
    /// A message of this known kind whose payload is too short.
    ///
    /// Only a decoder creates it, and its receiver ignores it (KP-7).
    Malformed(u8),
}

/// Kind numbers (KP-4).
pub(super) mod kind {
    pub(crate) const HELLO: u8 = 1;
    pub(crate) const HELLO_ACK: u8 = 2;
    pub(crate) const INPUT: u8 = 3;
    pub(crate) const OUTPUT: u8 = 4;
    pub(crate) const RESIZE: u8 = 5;
    pub(crate) const RESIZE_ACK: u8 = 6;
    pub(crate) const EXIT: u8 = 10;
    pub(crate) const SHUTDOWN: u8 = 11;
    pub(crate) const PING: u8 = 12;
    pub(crate) const PONG: u8 = 13;
    pub(crate) const ERROR: u8 = 127;
}
