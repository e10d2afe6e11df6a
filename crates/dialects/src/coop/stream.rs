//! Stream mode: terminal bytes and events one way, keys and control messages the other.

use super::LABEL;
use crate::conn::{deliver, peer_gone, read_some};
use crate::limits;
use crate::outlet::{Outlet, OutputError};
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use swb_engine::{ClientGuard, Cursor, InputError, Mark, Pty, Session, Step};
use swb_types::{Offset, Size};
use swb_wire::coop::{
    ClientControl, Event, OkReply, StreamFrame, StreamOptions, Until, data_header, encode_control,
    enter_stream, parse_client_control, parse_stream,
};
use swb_wire::frame::LengthPrefixed;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

/// A connection that has been promised a stream.
pub(super) struct Stream {
    session: Session,
    cursor: Cursor,
    pty: Arc<Pty>,
    options: StreamOptions,
    /// Where a stream that is not to follow the output ends.
    until: Option<u64>,
    /// Counts the client among the session's until it is gone (CO-39).
    counted: Mutex<Option<ClientGuard>>,
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
    pub(super) fn new(
        session: Session,
        pty: &Arc<Pty>,
        from: u64,
        head: u64,
        options: StreamOptions,
    ) -> Self {
        let until = options.until.map(|Until::Head| head);
        let counted = Mutex::new(Some(session.join(LABEL)));
        Self { cursor: pty.cursor(from), pty: Arc::clone(pty), session, options, until, counted }
    }

    pub(super) async fn run(
        self,
        stream: &UnixStream,
        frames: &mut LengthPrefixed,
        stop: &CancellationToken,
    ) -> StreamEnd {
        // CO-54: what came together with the request is read as frames of the stream.
        enter_stream(frames);
        let Self { session, cursor, pty, options, until, counted } = self;
        let detach = CancellationToken::new();
        let output = Sender { stream, cursor, options, until, detach: &detach, stop };
        let input = Receiver { stream, session: &session, pty: &pty, watch: options.watch, detach: &detach };
        let output = output.run();
        let input = input.run(frames, || drop(counted.lock().unwrap_or_else(PoisonError::into_inner).take()));
        tokio::pin!(output, input);
        tokio::select! {
            end = &mut output => {
                // CO-60: a client that typed something and left at once has still typed it.
                if end == StreamEnd::Broken && peer_gone(stream) {
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
        if let Some(size) = Size::new(cols, rows).filter(|_| !self.watch) {
            // CO-58: there is no answer, also none when the PTY is gone.
            let _resized = self.session.resize(self.pty.id(), size).await;
        }
    }
}

struct Sender<'a> {
    stream: &'a UnixStream,
    cursor: Cursor,
    options: StreamOptions,
    until: Option<u64>,
    detach: &'a CancellationToken,
    stop: &'a CancellationToken,
}

impl Sender<'_> {
    async fn run(mut self) -> StreamEnd {
        let outlet = Outlet::new(self.stream);
        let mut pieces = 0;
        loop {
            if self.until.is_some_and(|until| self.cursor.offset() >= until) {
                return self.end_of_history().await;
            }
            let step = self.cursor.step(limits::OUTPUT_FRAME);
            match step {
                Step::Output { to } => {
                    let to = to.min(self.until.unwrap_or(u64::MAX));
                    let header = data_header((to - self.cursor.offset()) as usize);
                    match self.send_output(&outlet, &header, to).await {
                        Ok(()) => {}
                        Err(OutputError::Lost) => self.lagged().await,
                        Err(OutputError::Broken) => return StreamEnd::Broken,
                    }
                }
                Step::Mark(Mark::Resized { .. }) => {}
                Step::Mark(Mark::Restarting { delay_ms }) => {
                    // CO-62
                    if self.tell(&Event::PtyRestarting { delay_ms }).await == StreamEnd::Broken {
                        return StreamEnd::Broken;
                    }
                }
                // CO-61
                Step::Mark(Mark::Exited(status)) => {
                    return self.tell(&Event::PtyExited { code: status.code() }).await;
                }
                Step::Lost { .. } => self.lagged().await,
                Step::Idle => tokio::select! {
                    () = self.cursor.wait() => pieces = 0,
                    () = self.detach.cancelled() => return self.goodbye(true).await,
                    () = self.stop.cancelled() => return self.goodbye(false).await,
                },
            }
            pieces += 1;
            if pieces % limits::PIECES_PER_TURN == 0 {
                tokio::task::yield_now().await;
                if self.stop.is_cancelled() {
                    return self.goodbye(false).await;
                }
                // A detach does not wait for the end of a flood.
                if self.detach.is_cancelled() {
                    return self.goodbye(true).await;
                }
            }
        }
    }

    /// Sends output; a client that does not read holds up neither a stop nor its own detach for long.
    async fn send_output(&mut self, outlet: &Outlet<'_>, header: &[u8], to: u64) -> Result<(), OutputError> {
        let (stop, detach) = (self.stop, self.detach);
        let sent = outlet.send_output(header, &mut self.cursor, to);
        tokio::pin!(sent);
        let leaving = async {
            tokio::select! {
                () = stop.cancelled() => {}
                () = detach.cancelled() => {}
            }
            tokio::time::sleep(limits::GOODBYE).await;
        };
        tokio::select! {
            biased;
            sent = &mut sent => sent,
            () = leaving => Err(OutputError::Broken),
        }
    }

    /// Tells a client that was too slow what it missed, and goes on with what is new (CO-65, CO-66).
    async fn lagged(&mut self) {
        let pty = self.cursor.pty();
        let before = self.cursor.offset();
        let to = pty.oldest().max(pty.head().saturating_sub(StreamOptions::DEFAULT_HISTORY)).max(before);
        let dropped = (to - before).div_ceil(limits::OUTPUT_FRAME).max(1);
        self.cursor.skip(to);
        let offset = self.options.wants_offsets().then_some(Offset(to));
        // If this does not reach the client, the next frame will not either, and that ends the stream.
        self.tell(&Event::Lagged { dropped, offset }).await;
    }

    async fn end_of_history(&self) -> StreamEnd {
        self.tell(&Event::End { offset: Offset(self.cursor.offset()) }).await
    }

    /// CO-59 when the client asked for it, CO-48 when the daemon stops.
    async fn goodbye(&self, asked: bool) -> StreamEnd {
        let words = async {
            if asked && self.tell(&OkReply::default()).await == StreamEnd::Broken {
                return StreamEnd::Broken;
            }
            self.tell(&Event::Detached).await
        };
        tokio::time::timeout(limits::GOODBYE, words).await.unwrap_or(StreamEnd::Broken)
    }

    async fn tell(&self, message: &impl Serialize) -> StreamEnd {
        let mut bytes = Vec::new();
        if encode_control(message, &mut bytes).is_err() {
            return StreamEnd::Broken;
        }
        match Outlet::new(self.stream).send(&bytes).await {
            Ok(()) => StreamEnd::Finished,
            Err(_) => StreamEnd::Broken,
        }
    }
}
