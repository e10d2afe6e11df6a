//! Stream mode: an open terminal over a socket. Terminal bytes and events one way, input and control messages the other.

use crate::conn::deliver;
use crate::incomplete_frames::{FrameReader, IncompleteFrames, ReadOutcome};
use crate::limits;
use crate::outlet::{Outlet, OutputError};
use crate::peer::has_stopped_sending;
use serde::Serialize;
use std::sync::Arc;
use swb_engine::InputError;
use swb_operations::{OpenTerminal, Piece, TerminalInput, TerminalOutput};
use swb_types::Offset;
use swb_wire::control::{
    ClientControl, OkReply, StreamEvent, StreamFrame, data_header, encode_control, encode_data, enter_stream,
    parse_client_control, parse_stream,
};
use swb_wire::frame::LengthPrefixed;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    /// Everything has been sent.
    Finished,
    /// The client cannot be reached.
    Broken,
}

/// What ended a client's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputEnd {
    Detach,
    Closed,
}

/// A connection in stream mode.
pub(super) struct Stream<'a> {
    socket: &'a UnixStream,
    detach: CancellationToken,
    stop: &'a CancellationToken,
    incomplete: &'a Arc<IncompleteFrames>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(
        socket: &'a UnixStream,
        stop: &'a CancellationToken,
        incomplete: &'a Arc<IncompleteFrames>,
    ) -> Self {
        Self { socket, detach: CancellationToken::new(), stop, incomplete }
    }

    pub(super) async fn run(self, terminal: OpenTerminal, frames: &mut LengthPrefixed) {
        // CO-54: bytes that arrived together with the request are read as frames of the stream.
        enter_stream(frames);
        let OpenTerminal { output, input } = terminal;
        let output = self.send_output(output);
        let input = self.receive(&input, frames);
        tokio::pin!(output, input);
        let end = tokio::select! {
            end = &mut output => {
                // CO-60: input of a client that left at once is delivered all the same.
                if end == StreamEnd::Broken && has_stopped_sending(self.socket) {
                    input.await;
                }
                end
            }
            end = &mut input => match end {
                InputEnd::Detach => output.await,
                InputEnd::Closed => StreamEnd::Broken,
            },
        };
        if end == StreamEnd::Broken {
            tracing::debug!("a client of the stream closed its connection");
        }
    }

    // ---- to the client ----

    async fn send_output(&self, mut output: TerminalOutput) -> StreamEnd {
        let mut pieces = 0;
        loop {
            if self.stop.is_cancelled() || self.detach.is_cancelled() {
                return self.goodbye().await;
            }
            let piece = tokio::select! {
                biased;
                piece = output.next() => piece,
                () = self.detach.cancelled() => continue,
                () = self.stop.cancelled() => continue,
            };
            let sent = match piece {
                Piece::Output { to } => self.send_range(&mut output, to).await,
                Piece::Picture { bytes, announced, .. } => self.send_picture(&bytes, announced).await,
                Piece::Direct { offset } => self.send_ring(&output, offset).await,
                Piece::Event(event) => self.send_control(&event).await,
                Piece::Refused(error) => self.send_control(&error).await,
                // The input of local clients is not filtered.
                Piece::Notice(_) => Ok(()),
                Piece::End(event) => {
                    return if self.send_control(&event).await.is_ok() {
                        StreamEnd::Finished
                    } else {
                        StreamEnd::Broken
                    };
                }
                Piece::Broken => return StreamEnd::Broken,
            };
            if sent.is_err() {
                return StreamEnd::Broken;
            }
            pieces += 1;
            if pieces % limits::PIECES_PER_TURN == 0 {
                // Bounded work, so that other clients are served as well.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Sends output straight from the ring.
    async fn send_range(&self, output: &mut TerminalOutput, to: Offset) -> Result<(), OutputError> {
        let outlet = Outlet::new(self.socket);
        let cursor = output.cursor();
        let header = data_header((to - cursor.offset()) as usize);
        match self.unless_leaving(outlet.send_output(&header, cursor, to)).await {
            Err(OutputError::Lost) => {
                output.lost().await;
                Ok(())
            }
            sent => sent,
        }
    }

    /// Sends bytes that are not output but show the screen, preceded by an event if the client asked for one.
    async fn send_picture(&self, picture: &[u8], announced: Option<StreamEvent>) -> Result<(), OutputError> {
        let mut frames = Vec::with_capacity(picture.len() + 64);
        if let Some(event) = announced {
            encode_control(&event, &mut frames).map_err(|_| OutputError::Broken)?;
        }
        for piece in picture.chunks(limits::OUTPUT_FRAME as usize) {
            encode_data(piece, &mut frames);
        }
        let sent = async { Outlet::new(self.socket).send(&frames).await.map_err(OutputError::from) };
        self.unless_leaving(sent).await
    }

    /// Sends the memory that the client reads the output in.
    async fn send_ring(&self, output: &TerminalOutput, offset: Offset) -> Result<(), OutputError> {
        let ring = output.ring().ok_or(OutputError::Broken)?;
        let mut event = Vec::new();
        encode_control(&StreamEvent::Direct { offset }, &mut event).map_err(|_| OutputError::Broken)?;
        Ok(Outlet::new(self.socket).send_with(&event, ring.descriptor()).await?)
    }

    async fn send_control(&self, message: &impl Serialize) -> Result<(), OutputError> {
        let mut bytes = Vec::new();
        encode_control(message, &mut bytes).map_err(|_| OutputError::Broken)?;
        Ok(Outlet::new(self.socket).send(&bytes).await?)
    }

    /// Sends for as long as the client takes to read; a client that does not read delays neither a stop nor its own
    /// detach for long.
    async fn unless_leaving(
        &self,
        sent: impl Future<Output = Result<(), OutputError>>,
    ) -> Result<(), OutputError> {
        let leaving = async {
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = self.detach.cancelled() => {}
            }
            tokio::time::sleep(limits::GOODBYE).await;
        };
        tokio::select! {
            biased;
            sent = sent => sent,
            () = leaving => Err(OutputError::Broken),
        }
    }

    /// CO-59 if the client asked for it, CO-48 if the daemon stops.
    async fn goodbye(&self) -> StreamEnd {
        let words = async {
            if !self.stop.is_cancelled() {
                self.send_control(&OkReply::default()).await?;
            }
            self.send_control(&StreamEvent::Detached).await
        };
        match tokio::time::timeout(limits::GOODBYE, words).await {
            Ok(Ok(())) => StreamEnd::Finished,
            _ => StreamEnd::Broken,
        }
    }

    // ---- from the client ----

    async fn receive(&self, input: &TerminalInput, frames: &mut LengthPrefixed) -> InputEnd {
        let mut reader = FrameReader::new(self.incomplete);
        loop {
            let frame = match frames.next() {
                Ok(Some(frame)) => parse_stream(frame),
                Ok(None) => {
                    let held = frames.capacity();
                    match reader.read(self.socket, held, |bytes| frames.push(bytes)).await {
                        ReadOutcome::More => continue,
                        ReadOutcome::End | ReadOutcome::Evicted => return InputEnd::Closed,
                    }
                }
                // CO-53
                Err(_) => return InputEnd::Closed,
            };
            reader.complete();
            match frame {
                StreamFrame::Data(bytes) => {
                    match deliver(self.socket, input.deliver(&bytes), || input.leave()).await {
                        // A program that has ended reads nothing; the output half reports its end.
                        Ok(()) | Err(InputError::Ended) => {}
                        Err(InputError::TooMuch | InputError::Superseded) => return InputEnd::Closed,
                    }
                }
                StreamFrame::Control(body) => match parse_client_control(&body) {
                    Some(ClientControl::Resize { cols, rows }) => input.resize(cols, rows).await,
                    Some(ClientControl::Position { offset }) => input.has_read(offset, false),
                    Some(ClientControl::Indirect { offset }) => input.has_read(offset, true),
                    Some(ClientControl::Detach) => {
                        self.detach.cancel();
                        return InputEnd::Detach;
                    }
                    None => {}
                },
                // CO-55
                StreamFrame::Unknown(_) => {}
            }
        }
    }
}
