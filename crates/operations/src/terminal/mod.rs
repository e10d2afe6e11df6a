//! An open terminal: what follows a successful `attach`, `shell` or following `logs`.
//!
//! [`TerminalOutput`] decides what the client gets next: output from the ring, a picture of the screen, an event. The
//! transport only sends it. [`TerminalInput`] takes keys and sizes. Both end when the transport drops them.

mod cut_out;
mod input;
mod lag_repaint;
mod output;

pub use input::TerminalInput;
pub use output::{Piece, TerminalOutput};

use crate::Caller;
use std::sync::Arc;
use swb_engine::{Cursor, Picture, Pty, Session};
use swb_types::{Offset, Size};
use swb_wire::control::{StreamOptions, Until};
use tokio::sync::watch;

/// Both directions of an open terminal.
pub struct OpenTerminal {
    /// From the program to the client.
    pub output: TerminalOutput,
    /// From the client to the program.
    pub input: TerminalInput,
}

/// What a stream begins with.
pub(crate) enum Opening {
    /// Output as it was, from a certain offset.
    Output(Cursor),
    /// The screen as it is.
    Picture(Picture),
}

impl Opening {
    /// Offset of the first byte of output behind it.
    pub(crate) fn offset(&self) -> Offset {
        match self {
            Self::Output(cursor) => cursor.offset(),
            Self::Picture(picture) => picture.cursor.offset(),
        }
    }
}

/// What the input half tells the output half about the client.
#[derive(Debug, Clone, Copy)]
struct ClientState {
    /// Size of its terminal.
    window: Size,
    /// How often its input was refused.
    refusals: u64,
}

impl OpenTerminal {
    /// Opens a terminal for a client whose window has the size `window`; `head` is where the output ended when it
    /// attached.
    pub(crate) fn new(
        caller: &Caller,
        session: Session,
        pty: &Arc<Pty>,
        mut opening: Opening,
        head: Offset,
        window: Size,
        options: StreamOptions,
    ) -> Self {
        let until = options.until.map(|Until::Head| head);
        // The cursor behind a picture answers already.
        if let Opening::Output(cursor) = &mut opening
            && is_terminal(&options)
        {
            cursor.answers();
        }
        let (sender, receiver) = watch::channel(ClientState { window, refusals: 0 });
        let input = TerminalInput::new(caller, session, Arc::clone(pty), &options, sender);
        Self { output: TerminalOutput::new(opening, options, until, receiver), input }
    }
}

/// Whether the client is a terminal that answers the program's queries: of our own clients those that ask for a
/// picture, of others all that can type.
pub(crate) fn is_terminal(options: &StreamOptions) -> bool {
    !options.watch && options.until.is_none() && (options.repaint || !options.wants_offsets())
}
