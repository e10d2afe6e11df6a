//! One terminal over a channel: output with a window that the peer opens, input with a bound.

use crate::limits;
use crate::link::LinkMessage;
use std::sync::Arc;
use str0m::channel::ChannelId;
use swb_engine::InputError;
use swb_operations::requests::TerminalPermit;
use swb_operations::{OpenTerminal, Piece, TerminalInput, TerminalOutput};
use swb_types::Offset;
use swb_wire::control::{
    ClientControl, ErrorCode, ErrorReply, OkReply, StreamEvent, data_header, encode_control,
};
use swb_wire::tunnel::frame::{PeerFrame, parse_peer_frame};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

/// Bytes of a message before the output in it: length and tag.
const HEADER: usize = 5;

/// What is to be done with a terminal's channel.
pub(crate) enum ToChannel {
    Send(ChannelId, LinkMessage),
    /// Close it, once everything before has arrived.
    Close(ChannelId),
}

/// An open terminal, as the connection sees it. Dropping it detaches.
pub(crate) struct TunnelTerminal {
    input: mpsc::Sender<(Typed, OwnedSemaphorePermit)>,
    acknowledged: watch::Sender<u64>,
    detach: CancellationToken,
    /// What all terminals of a tunnel may leave unread.
    room: Arc<Semaphore>,
    _output: AbortOnDropHandle<()>,
}

/// What a peer did in a terminal.
enum Typed {
    Input(Vec<u8>),
    Resize { cols: u16, rows: u16 },
}

impl TunnelTerminal {
    /// Carries a terminal over an open channel, in messages of at most `longest` bytes.
    pub(crate) fn carry(
        terminal: OpenTerminal,
        place: TerminalPermit,
        (channel, longest): (ChannelId, usize),
        queue: mpsc::Sender<ToChannel>,
        room: Arc<Semaphore>,
        tasks: &TaskTracker,
    ) -> Self {
        let OpenTerminal { output, input } = terminal;
        let (acknowledged, window) = watch::channel(0);
        let detach = CancellationToken::new();
        let (typed, received) = mpsc::channel(limits::COMMANDS);
        let outlet = Outlet { channel, payload: longest - HEADER, queue, sent: 0, acknowledged: window };
        let sending = outlet.carry(output, detach.clone());
        let output = tasks.spawn(async move {
            let _place = place;
            sending.await;
        });
        // It ends when the sender is dropped and everything has been delivered: what was typed counts.
        tasks.spawn(deliver(input, received));
        Self { input: typed, acknowledged, detach, room, _output: AbortOnDropHandle::new(output) }
    }

    /// Takes a message of the peer; an error ends the terminal.
    pub(crate) fn receive(&self, binary: bool, message: &[u8]) -> Result<(), ErrorReply> {
        if message.len() > limits::MESSAGE {
            let text = format!("a message has at most {} bytes", limits::MESSAGE);
            return Err(ErrorReply::new(ErrorCode::MessageTooLarge, text));
        }
        let frame = if binary { parse_peer_frame(message).ok() } else { None };
        let invalid = || {
            let text = "a message has to be binary, and exactly one frame: its length, a tag, its content";
            ErrorReply::new(ErrorCode::InvalidCommand, text)
        };
        match frame.ok_or_else(invalid)? {
            PeerFrame::Input(bytes) => self.queue(Typed::Input(bytes)),
            PeerFrame::Control(ClientControl::Resize { cols, rows }) => {
                self.queue(Typed::Resize { cols, rows })
            }
            PeerFrame::Control(ClientControl::Detach) => {
                self.detach.cancel();
                Ok(())
            }
            PeerFrame::Ack(bytes) => {
                self.acknowledged.send_if_modified(|before| {
                    let more = bytes > *before;
                    *before = bytes.max(*before);
                    more
                });
                Ok(())
            }
            // A peer of a tunnel does not read this machine's memory.
            PeerFrame::Control(ClientControl::Position { .. } | ClientControl::Indirect { .. })
            | PeerFrame::Unknown => Ok(()),
        }
    }

    fn queue(&self, typed: Typed) -> Result<(), ErrorReply> {
        let size = match &typed {
            Typed::Input(bytes) => bytes.len() as u32 + 64,
            Typed::Resize { .. } => 64,
        };
        let full = |_| {
            let text = "the program does not read its input, and no more of it can wait";
            ErrorReply::new(ErrorCode::LimitReached, text)
        };
        let room = Arc::clone(&self.room).try_acquire_many_owned(size).map_err(full)?;
        // There is a place for everything that there is room for.
        let _queued = self.input.try_send((typed, room));
        Ok(())
    }
}

// ---- to the peer ----

/// Where a terminal's output goes, and how much of it the peer has handled.
struct Outlet {
    channel: ChannelId,
    /// Bytes of output in one message.
    payload: usize,
    queue: mpsc::Sender<ToChannel>,
    sent: u64,
    acknowledged: watch::Receiver<u64>,
}

/// The connection has ended.
struct Gone;

impl Outlet {
    /// Sends output until the terminal or the peer is done with it.
    async fn carry(mut self, output: TerminalOutput, detach: CancellationToken) {
        let finished = tokio::select! {
            biased;
            finished = self.send_output(output) => finished,
            () = detach.cancelled() => self.send_detached().await,
        };
        if finished.is_ok() {
            let _closing = self.queue.send(ToChannel::Close(self.channel)).await;
        }
    }

    /// CO-59
    async fn send_detached(&mut self) -> Result<(), Gone> {
        self.control(&OkReply::default()).await?;
        self.control(&StreamEvent::Detached).await
    }

    async fn send_output(&mut self, mut output: TerminalOutput) -> Result<(), Gone> {
        let mut pieces = 0;
        loop {
            match output.next().await {
                Piece::Output { to } => self.send_range(&mut output, to).await?,
                Piece::Picture { bytes, announced, .. } => {
                    if let Some(event) = announced {
                        self.control(&event).await?;
                    }
                    for piece in bytes.chunks(self.payload) {
                        self.wait_for_window(piece.len()).await?;
                        self.data(piece.len(), |message| message.extend_from_slice(piece)).await?;
                    }
                }
                // A peer on another machine cannot read this machine's memory.
                Piece::Direct { .. } => return Ok(()),
                Piece::Event(event) => self.control(&event).await?,
                Piece::Refused(error) => self.control(&error).await?,
                // People see it where they type (CO-46).
                Piece::Notice(text) => self.control(&NoticeEvent { event: "notice", text: &text }).await?,
                Piece::End(event) => return self.control(&event).await,
                Piece::Broken => return Ok(()),
            }
            pieces += 1;
            if pieces % limits::PIECES_PER_TURN == 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Sends output from the ring. The window may take long to open; by then the bytes may be gone.
    async fn send_range(&mut self, output: &mut TerminalOutput, to: Offset) -> Result<(), Gone> {
        while output.cursor().offset() < to {
            let from = output.cursor().offset();
            let end = to.min(from + self.payload as u64);
            let length = (end - from) as usize;
            self.wait_for_window(length).await?;
            // A slot in the queue first: the copy is made when it can leave.
            let slot = self.queue.clone().reserve_owned().await.map_err(|_| Gone)?;
            let mut message = Vec::with_capacity(length + HEADER);
            message.extend_from_slice(&data_header(length));
            let intact = output.cursor().ring().is_some_and(|ring| ring.copy(from, end, &mut message));
            if !intact {
                output.lost().await;
                return Ok(());
            }
            slot.send(ToChannel::Send(self.channel, LinkMessage::Binary(message)));
            self.sent += length as u64;
            output.cursor().advance(end - from);
        }
        Ok(())
    }

    async fn data(&mut self, length: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), Gone> {
        let mut message = Vec::with_capacity(length + HEADER);
        message.extend_from_slice(&data_header(length));
        fill(&mut message);
        self.sent += length as u64;
        self.put(message).await
    }

    async fn control(&self, value: &impl serde::Serialize) -> Result<(), Gone> {
        let mut message = Vec::new();
        // Control messages are short.
        encode_control(value, &mut message).map_err(|_| Gone)?;
        self.put(message).await
    }

    async fn put(&self, message: Vec<u8>) -> Result<(), Gone> {
        self.queue.send(ToChannel::Send(self.channel, LinkMessage::Binary(message))).await.map_err(|_| Gone)
    }

    /// Waits until the peer has handled enough for `length` more bytes. A peer that acknowledges what it never got gains nothing.
    async fn wait_for_window(&mut self, length: usize) -> Result<(), Gone> {
        let most = (self.sent + length as u64).saturating_sub(limits::UNACKNOWLEDGED);
        self.acknowledged.wait_for(|handled| *handled >= most).await.map(drop).map_err(|_| Gone)
    }
}

/// A notice for people, in a control frame.
#[derive(serde::Serialize)]
struct NoticeEvent<'a> {
    event: &'static str,
    text: &'a str,
}

// ---- from the peer ----

/// Delivers what the peer typed, to the last byte, although it may have left.
async fn deliver(input: TerminalInput, mut typed: mpsc::Receiver<(Typed, OwnedSemaphorePermit)>) {
    loop {
        let next = tokio::select! {
            biased;
            next = typed.recv() => next,
            // A program that has ended reads nothing; the output half reports its end.
            _delivered = input.deliver_held() => continue,
        };
        match next {
            Some((Typed::Input(bytes), _room)) => match input.deliver(&bytes).await {
                Ok(()) | Err(InputError::Ended) => {}
                Err(InputError::TooMuch | InputError::Superseded) => break,
            },
            Some((Typed::Resize { cols, rows }, _room)) => input.resize(cols, rows).await,
            None => break,
        }
    }
    input.finish().await;
}
