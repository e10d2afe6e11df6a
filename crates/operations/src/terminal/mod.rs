//! An open terminal: what follows a successful `attach`, `shell` or `logs` with `follow`.
//!
//! [`TerminalOutput`] decides what the client gets next: output from the ring, a picture of the screen, an event. The
//! transport only sends it. [`TerminalInput`] takes keys and sizes. Both end when the transport drops them.

mod cut_out;
mod direct;
mod input;
mod lag_repaint;
mod output;

use input::InputClaims;
pub use input::TerminalInput;
pub use output::{Piece, TerminalOutput};

use crate::execute::Call;
use crate::filter::Withheld;
use direct::Reading;
use std::sync::Arc;
use swb_engine::{Cursor, InputStream, Picture, Pty, Session, SizeClaim};
use swb_types::{Offset, PtyId, SessionName, Size};
use swb_wire::control::{StreamOptions, Until};
use tokio::sync::watch;

/// Both directions of an open terminal.
pub struct OpenTerminal {
    /// From the program to the client.
    pub output: TerminalOutput,
    /// From the client to the program.
    pub input: TerminalInput,
}

/// What is known about a client before its terminal is opened.
#[derive(Default)]
pub(crate) struct NewClient {
    /// Size of its terminal; `None` if output for any size suits it.
    pub(crate) window: Option<Size>,
    /// Its say in the size of the PTY, if it may type.
    pub(crate) claim: Option<SizeClaim>,
    /// The stream of its input, if it numbers its bytes.
    pub(crate) numbered: Option<InputStream>,
}

/// What a stream begins with.
pub(crate) enum Opening {
    /// Raw output, from this offset.
    Output(Cursor),
    /// A picture of the screen.
    Picture(Picture),
}

impl Opening {
    /// Offset of the first byte of output after it.
    pub(crate) fn offset(&self) -> Offset {
        match self {
            Self::Output(cursor) => cursor.offset(),
            Self::Picture(picture) => picture.cursor.offset(),
        }
    }
}

/// What the input half reports to the output half about the client.
#[derive(Debug, Clone, Copy)]
struct ClientState {
    /// What the filter withheld last, and how often it withheld something (CO-46).
    withheld: Option<(u64, Withheld)>,
    /// Size of its terminal; `None` if output for any size suits it.
    window: Option<Size>,
    /// Number of times its input was rejected.
    refusals: u64,
    /// Number of times that its terminal got another size than the session's, of a client that draws the session's size.
    sizes_refused: u64,
    /// How far it has come, if it reads the output itself.
    reading: Reading,
}

impl OpenTerminal {
    /// Position in the output of the first byte that the client gets, pictures apart.
    pub fn offset(&self) -> Offset {
        self.output.cursor.offset()
    }

    /// Name of the terminal's session.
    pub fn session_name(&self) -> &SessionName {
        self.input.session_name()
    }

    /// Number of the terminal in its session.
    pub fn pty_id(&self) -> PtyId {
        self.output.cursor.pty().id()
    }

    /// The terminal's size.
    pub fn size(&self) -> Size {
        self.output.cursor.pty().size()
    }

    /// Opens a terminal for a client; `head` is the end of the output at the time it attached.
    pub(crate) fn new(
        call: &Call<'_>,
        session: Session,
        pty: &Arc<Pty>,
        mut opening: Opening,
        head: Offset,
        client: NewClient,
        options: StreamOptions,
    ) -> Self {
        let until = options.until.map(|Until::Head| head);
        // The cursor of a picture is marked already.
        if let Opening::Output(cursor) = &mut opening
            && is_terminal(&options)
        {
            cursor.answers();
        }
        let window = client.window;
        let state = ClientState {
            withheld: None,
            window,
            refusals: 0,
            sizes_refused: 0,
            reading: Reading::default(),
        };
        let (sender, receiver) = watch::channel(state);
        // The protocols of clients other than our own promise that each byte is delivered (CO-56).
        let seat = is_terminal(&options).then(|| Arc::new(pty.seat(!options.repaint)));
        let places = InputClaims { seat: seat.clone(), claim: client.claim, numbered: client.numbered };
        let input = TerminalInput::new(call, session, Arc::clone(pty), &options, sender, places);
        let mut output = TerminalOutput::new(opening, options, until, receiver, seat);
        output.may_read = direct::is_allowed(call.caller, &options);
        if call.caller.is_remote() {
            output.read_remotely();
        }
        if options.notify {
            output.notifications = call.operations.notifications.for_terminal(call.caller.clone());
        }
        Self { output, input }
    }
}

/// Whether the client is a terminal that replies to the program's queries: of our own clients those that request a
/// picture, of others all that can send input.
pub(crate) fn is_terminal(options: &StreamOptions) -> bool {
    !options.watch && options.until.is_none() && (options.repaint || !options.wants_offsets())
}
