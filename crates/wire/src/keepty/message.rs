//! The vocabulary of the protocol. Numbers are append-only and fixed by the specification.

/// What a client wants to be, said in its first message (KP-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// Types and decides the size; the newest one counts.
    Writer = 1,
    /// Looks on from now.
    Watcher = 2,
    /// A program that looks on, the history included.
    Monitor = 3,
}

impl TryFrom<u8> for Role {
    type Error = u8;

    /// Gives the number back when it is no role.
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
        /// What the client wants to be.
        role: Role,
        /// Columns of its terminal.
        cols: u16,
        /// Rows of its terminal.
        rows: u16,
    },
    /// Answer to `Hello`.
    HelloAck {
        /// Process on the terminal, 0 when it has not been started.
        pid: u32,
        /// Current columns.
        cols: u16,
        /// Current rows.
        rows: u16,
    },
    /// Keys for the terminal.
    Input(Vec<u8>),
    /// Bytes from the terminal.
    Output(Vec<u8>),
    /// Wish for a new size.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// Fence in the output: what follows was read after the terminal took this size.
    ResizeAck {
        /// Counts the resizes of the session, from 1.
        generation: u32,
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// The process has ended; nothing but the end of the stream follows.
    Exit {
        /// Its exit code, or 128 plus the signal.
        code: i32,
    },
    /// Request to end the session.
    Shutdown,
    /// Asks for a `Pong`.
    Ping,
    /// Answer to `Ping`.
    Pong,
    /// What is wrong, said before a close.
    Error(String),
    /// A message of this known kind whose payload is too short to mean anything.
    ///
    /// Only a decoder makes it, and its receiver ignores it (KP-7).
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
