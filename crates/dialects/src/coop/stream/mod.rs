//! Stream mode: terminal bytes and events one way, keys and control messages the other.

mod sender;

use super::LABEL;
use crate::conn::{deliver, read_some};
use crate::peer::has_stopped_sending;
use sender::Sender;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use swb_engine::{ClientGuard, InputError, Picture, Pty, Seat, Session};
use swb_types::Size;
use swb_wire::control::{
    ClientControl, StreamFrame, StreamOptions, Until, enter_stream, parse_client_control, parse_stream,
};
use swb_wire::frame::LengthPrefixed;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A connection that has been promised a stream.
pub(super) struct Stream {
    session: Session,
    pty: Arc<Pty>,
    opening: Opening,
    options: StreamOptions,
    /// Size of the client's terminal.
    window: Size,
    /// Where a stream that is not to follow the output ends.
    until: Option<u64>,
    /// Counts the client among the session's until it is gone (CO-39).
    counted: Mutex<Option<ClientGuard>>,
}

/// What a stream begins with.
pub(super) enum Opening {
    /// Output as it was, from a certain place.
    Output(swb_engine::Cursor),
    /// The screen as it is.
    Picture(Picture),
}

impl Opening {
    /// Offset of the first byte of output behind it.
    pub(super) fn offset(&self) -> u64 {
        match self {
            Self::Output(cursor) => cursor.offset(),
            Self::Picture(picture) => picture.cursor.offset(),
        }
    }
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// Everything that was to be said has been said.
    Finished,
    /// The client cannot be reached.
    Broken,
}

impl Stream {
    /// Makes the stream of a client whose terminal has the size `window`; `head` is where the output ended
    /// when it came.
    pub(super) fn new(
        session: Session,
        pty: &Arc<Pty>,
        mut opening: Opening,
        head: u64,
        window: Size,
        options: StreamOptions,
    ) -> Self {
        let until = options.until.map(|Until::Head| head);
        // The cursor behind a picture does so already.
        if let Opening::Output(cursor) = &mut opening
            && is_terminal(&options)
        {
            cursor.answers();
        }
        let counted = Mutex::new(Some(session.join(LABEL)));
        Self { session, pty: Arc::clone(pty), opening, options, window, until, counted }
    }

    pub(super) async fn run(
        self,
        stream: &UnixStream,
        frames: &mut LengthPrefixed,
        stop: &CancellationToken,
    ) -> StreamEnd {
        // CO-54: what came together with the request is read as frames of the stream.
        enter_stream(frames);
        let Self { session, pty, opening, options, window, until, counted } = self;
        let detach = CancellationToken::new();
        let (resized, window) = watch::channel(window);
        let output = Sender { stream, options, until, window, detach: &detach, stop };
        let input = Receiver {
            stream,
            session: &session,
            pty: &pty,
            watch: options.watch,
            // Other clients than our own are promised that each byte is delivered (CO-56).
            seat: is_terminal(&options).then(|| pty.seat(!options.repaint)),
            window: resized,
            detach: &detach,
        };
        let output = output.run(opening);
        let input = input.run(frames, || drop(counted.lock().unwrap_or_else(PoisonError::into_inner).take()));
        tokio::pin!(output, input);
        tokio::select! {
            end = &mut output => {
                // CO-60: a client that typed something and left at once has still typed it.
                if end == StreamEnd::Broken && has_stopped_sending(stream) {
                    input.await;
                }
                end
            }
            said = &mut input => match said {
                Said::Detach => output.await,
                Said::Nothing => StreamEnd::Broken,
            },
        }
    }
}

/// Whether a terminal is at the other end that answers the program's questions: of our own clients those that
/// ask for a picture, of others all that can type.
pub(super) fn is_terminal(options: &StreamOptions) -> bool {
    !options.watch && options.until.is_none() && (options.repaint || !options.wants_offsets())
}

/// What a client's last word was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Detach,
    Nothing,
}

struct Receiver<'a> {
    stream: &'a UnixStream,
    session: &'a Session,
    pty: &'a Pty,
    watch: bool,
    /// Held by clients that are terminals.
    seat: Option<Seat>,
    window: watch::Sender<Size>,
    detach: &'a CancellationToken,
}

impl Receiver<'_> {
    async fn run(self, frames: &mut LengthPrefixed, gone: impl Fn()) -> Said {
        loop {
            let frame = match frames.next() {
                Ok(Some(frame)) => parse_stream(frame),
                Ok(None) => {
                    if read_some(self.stream, |bytes| frames.push(bytes)).await {
                        continue;
                    }
                    return Said::Nothing;
                }
                // CO-53
                Err(_) => return Said::Nothing,
            };
            match frame {
                StreamFrame::Data(bytes) if !self.watch => {
                    let bytes = self.seat.as_ref().map_or(Cow::Borrowed(&*bytes), |seat| seat.typed(&bytes));
                    match deliver(self.stream, self.pty, &bytes, &gone).await {
                        // A program that has ended reads nothing; its end is told by the other half.
                        Ok(()) | Err(InputError::Ended) => {}
                        Err(InputError::TooMuch) => return Said::Nothing,
                    }
                }
                StreamFrame::Control(body) => match parse_client_control(&body) {
                    Some(ClientControl::Resize { cols, rows }) => self.resize(cols, rows).await,
                    Some(ClientControl::Detach) => {
                        self.detach.cancel();
                        return Said::Detach;
                    }
                    None => {}
                },
                // CO-55
                StreamFrame::Data(_) | StreamFrame::Unknown(_) => {}
            }
        }
    }

    async fn resize(&self, cols: u16, rows: u16) {
        let Some(size) = Size::new(cols, rows) else { return };
        // Whoever only looks on changes what it sees, never what the program does.
        self.window.send_replace(size);
        if !self.watch {
            // CO-58: there is no answer, also none when the PTY is gone.
            let _resized = self.session.resize(self.pty.id(), size).await;
        }
    }
}
