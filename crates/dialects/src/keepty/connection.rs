//! One keepty connection: Hello, then frames both ways until either side closes it.

use super::roles::{ConnectionId, Roles};
use crate::conn::{Fronts, deliver, peer_pid};
use crate::incomplete_frames::{FrameReader, IncompleteFrames, ReadOutcome};
use crate::limits;
use crate::outlet::{Outlet, OutputError};
use crate::peer::has_stopped_sending;
use crate::places::ConnectionPermit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_engine::{
    Arrival, ClientGuard, Cursor, CursorStep, Mark, ProcessPhase, Pty, Seat, Session, SizeClaim,
};
use swb_types::{Offset, PtyId, Size};
use swb_wire::keepty::{Decoder, KeeptyRole, MAX_PAYLOAD, Message, encode, output_header};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) struct KeeptyConnection {
    stream: UnixStream,
    /// Dropped when the client is gone, even if its input is still being delivered (KP-46).
    presence: Mutex<Presence>,
    session: Session,
    roles: Arc<Mutex<Roles>>,
    incomplete: Arc<IncompleteFrames>,
    stop: CancellationToken,
    later: TaskTracker,
}

/// What a client occupies in a session.
#[derive(Debug, Default)]
struct Presence {
    room: Option<ConnectionPermit>,
    _client: Option<ClientGuard>,
}

/// A client after its Hello.
struct Client<'a> {
    connection: &'a KeeptyConnection,
    id: ConnectionId,
    role: KeeptyRole,
    pty: Arc<Pty>,
    /// Held by a Writer: its terminal replies to the program's queries, and each of its bytes is delivered.
    _seat: Option<Seat>,
    /// Held by a Writer: when it leaves, another window decides the size.
    window: Option<SizeClaim>,
}

impl KeeptyConnection {
    pub(super) fn new(
        stream: UnixStream,
        room: ConnectionPermit,
        session: Session,
        roles: Arc<Mutex<Roles>>,
        incomplete: Arc<IncompleteFrames>,
        fronts: &Fronts,
    ) -> Self {
        let presence = Mutex::new(Presence { room: Some(room), _client: None });
        let (stop, later) = (fronts.stop.clone(), fronts.tasks.clone());
        Self { stream, presence, session, roles, incomplete, stop, later }
    }

    pub(super) async fn run(self) {
        let mut decoder = Decoder::new();
        // KP-17
        let hello = tokio::time::timeout(limits::KEEPTY_HELLO, self.hello(&mut decoder));
        let Some(idle) = self.presence().room.as_ref().map(ConnectionPermit::idle) else { return };
        let hello = tokio::select! {
            hello = hello => hello,
            () = idle.displaced() => return,
            () = self.stop.cancelled() => return,
        };
        drop(idle);
        let Ok(Some((role, cols, rows))) = hello else {
            return;
        };
        self.presence()._client = Some(self.session.join(super::LABEL, peer_pid(&self.stream)));
        self.serve(role, cols, rows, decoder).await;
    }

    /// The first message; `None` if it is not a Hello (KP-18).
    async fn hello(&self, decoder: &mut Decoder) -> Option<(KeeptyRole, u16, u16)> {
        let mut reader = FrameReader::new(&self.incomplete);
        loop {
            match decoder.next() {
                Ok(Some(Message::Hello { role, cols, rows })) => return Some((role, cols, rows)),
                Ok(Some(_)) | Err(_) => return None,
                Ok(None) => {}
            }
            let held = decoder.capacity();
            if reader.read(&self.stream, held, |bytes| decoder.push(bytes)).await != ReadOutcome::More {
                return None;
            }
        }
    }

    fn roles(&self) -> MutexGuard<'_, Roles> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn presence(&self) -> MutexGuard<'_, Presence> {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client has left; input that it sent before may still be in delivery.
    fn gone(&self, id: ConnectionId) {
        self.roles().leave(id);
        *self.presence() = Presence::default();
    }

    async fn serve(&self, role: KeeptyRole, cols: u16, rows: u16, mut decoder: Decoder) {
        let Ok(agent) = self.session.pty(PtyId::AGENT) else {
            return;
        };
        let id = self.roles().enter(role);
        let seat = (role == KeeptyRole::Writer).then(|| agent.pty.seat(true));
        let window = (role == KeeptyRole::Writer).then(|| agent.pty.note_window(None, Arrival::New));
        let client = Client { connection: self, id, role, pty: agent.pty, _seat: seat, window };
        let (say, said) = mpsc::channel(limits::SAID);
        match client.greet(cols, rows).await {
            Some(cursor) => client.converse(cursor, said, &mut decoder, say).await,
            // Messages of a client that left at once are handled all the same.
            None if has_stopped_sending(&self.stream) => {
                client.take_input(&mut decoder, say).await;
            }
            None => {}
        }
        self.gone(id);
    }
}

/// How the input of a client ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputEnd {
    /// The client has left, or sent an invalid message.
    Gone,
    /// The client requested the end of the session.
    ShutDown,
}

impl Client<'_> {
    fn session(&self) -> &Session {
        &self.connection.session
    }

    fn is_writer(&self) -> bool {
        self.connection.roles().is_writer(self.id)
    }

    /// Runs both halves of the connection, until one of them ends it.
    async fn converse(
        &self,
        cursor: Cursor,
        said: mpsc::Receiver<Message>,
        decoder: &mut Decoder,
        say: mpsc::Sender<Message>,
    ) {
        let output = self.send_output(cursor, said);
        let input = self.take_input(decoder, say);
        tokio::pin!(output, input);
        tokio::select! {
            () = &mut output => {
                if has_stopped_sending(&self.connection.stream) {
                    input.await;
                }
            }
            // A client that requested the shutdown gets the Exit like all others.
            end = &mut input => if end == InputEnd::ShutDown { output.await },
        }
    }

    /// Replies to the Hello and brings the client up to date; returns its position in the live output.
    async fn greet(&self, cols: u16, rows: u16) -> Option<Cursor> {
        let agent = self.session().settled().await.ok()?;
        let size = Size::or_current(cols, rows, self.pty.size());
        if agent.phase == ProcessPhase::Waiting {
            return self.greet_before_start(size).await;
        }
        if self.role == KeeptyRole::Writer {
            // KP-33. The new client gets the size in its HelloAck, the others get a ResizeAck.
            self.fit(size).await?;
        }
        // First, so that every size after the one in HelloAck has its ResizeAck.
        let mut cursor = self.pty.cursor(self.pty.head());
        if self.role == KeeptyRole::Writer {
            cursor.answers();
        }
        self.acknowledge(agent.pid, self.pty.size()).await?;
        // KP-30, KP-31
        if self.role != KeeptyRole::Watcher {
            self.replay(&mut cursor).await?;
        }
        // KP-32
        if self.role != KeeptyRole::Monitor {
            self.session().nudge(PtyId::AGENT).await;
        }
        Some(cursor)
    }

    async fn greet_before_start(&self, size: Size) -> Option<Cursor> {
        let mut cursor = self.pty.cursor(Offset::START);
        if self.role == KeeptyRole::Writer {
            cursor.answers();
            // KP-20, KP-21: the reply first, then the command, so that none of its output is missed.
            self.acknowledge(0, size).await?;
            self.session().start(Some(size)).await.ok()?;
            // If two clients connected at once, the Writer decides the size (KP-33).
            if self.is_writer() {
                self.fit(size).await?;
            }
        } else {
            self.acknowledge(0, self.pty.size()).await?;
        }
        Some(cursor)
    }

    /// Gives the terminal the size of a new Writer's window.
    async fn fit(&self, size: Size) -> Option<()> {
        self.note_window(size);
        self.session().fit(PtyId::AGENT, size).await.ok()
    }

    fn note_window(&self, size: Size) {
        self.window.iter().for_each(|window| window.note_resized(size));
    }

    async fn acknowledge(&self, pid: i32, size: Size) -> Option<()> {
        let (cols, rows) = (size.cols(), size.rows());
        self.send(&Message::HelloAck { pid: pid.max(0) as u32, cols, rows }).await
    }

    /// Sends the stored output as one frame (KP-30).
    async fn replay(&self, cursor: &mut Cursor) -> Option<()> {
        loop {
            let end = cursor.rewind(MAX_PAYLOAD as u64);
            if cursor.offset() == end {
                return Some(());
            }
            let outlet = Outlet::new(&self.connection.stream);
            let header = output_header((end - cursor.offset()) as usize);
            let sent = outlet.send_output(&header, cursor, end);
            match tokio::time::timeout(limits::KEEPTY_WRITE, sent).await {
                Ok(Ok(())) => return Some(()),
                // The program outran us before anything was sent: take the newest output now. The yield keeps a
                // program that does so repeatedly from delaying the other connections.
                Ok(Err(OutputError::Lost)) => tokio::task::yield_now().await,
                Ok(Err(OutputError::Broken)) | Err(_) => return None,
            }
        }
    }

    async fn send(&self, message: &Message) -> Option<()> {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        let outlet = Outlet::new(&self.connection.stream);
        let sent = outlet.send(&bytes);
        tokio::time::timeout(limits::KEEPTY_WRITE, sent).await.ok()?.ok()
    }

    /// Sends output and the events in it, until the session ends or the client does not read in time.
    async fn send_output(&self, mut cursor: Cursor, mut said: mpsc::Receiver<Message>) {
        let outlet = Outlet::new(&self.connection.stream);
        let mut pieces = 0;
        loop {
            match cursor.step(limits::OUTPUT_FRAME) {
                CursorStep::Output { to } => {
                    let header = output_header((to - cursor.offset()) as usize);
                    let sent = outlet.send_output(&header, &mut cursor, to);
                    // KP-45: a client that does not read is disconnected, and delays no other client.
                    match tokio::time::timeout(limits::KEEPTY_WRITE, sent).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) | Err(_) => return,
                    }
                }
                CursorStep::Mark(Mark::Resized { generation, size }) => {
                    let ack = Message::ResizeAck { generation, cols: size.cols(), rows: size.rows() };
                    if self.send(&ack).await.is_none() {
                        return;
                    }
                }
                CursorStep::Mark(Mark::Restarting { .. }) => {}
                CursorStep::Mark(Mark::Exited(status, _)) => {
                    // KP-42, KP-43; the end of this function closes the connection.
                    self.send(&Message::Exit { code: status.code() }).await;
                    return;
                }
                CursorStep::Lost { .. } => return,
                CursorStep::Idle => tokio::select! {
                    () = cursor.wait() => pieces = 0,
                    () = self.connection.stop.cancelled() => return,
                    Some(message) = said.recv() => if self.send(&message).await.is_none() { return },
                },
            }
            pieces += 1;
            if pieces % limits::PIECES_PER_TURN == 0 {
                // Bounded work: a few frames, then the other connections are served.
                tokio::task::yield_now().await;
                if self.connection.stop.is_cancelled() {
                    return;
                }
                if let Ok(message) = said.try_recv()
                    && self.send(&message).await.is_none()
                {
                    return;
                }
            }
        }
    }

    /// Handles the client's messages until it leaves or sends an invalid one.
    async fn take_input(&self, decoder: &mut Decoder, say: mpsc::Sender<Message>) -> InputEnd {
        let stream = &self.connection.stream;
        let mut reader = FrameReader::new(&self.connection.incomplete);
        loop {
            match decoder.next() {
                Ok(Some(message)) => {
                    reader.complete();
                    if let Some(end) = self.obey(message, &say).await {
                        return end;
                    }
                }
                Ok(None) => {
                    let held = decoder.capacity();
                    if reader.read(stream, held, |bytes| decoder.push(bytes)).await != ReadOutcome::More {
                        return InputEnd::Gone;
                    }
                }
                // KP-2, KP-3, KP-4
                Err(error) => {
                    tracing::debug!(session = %self.session().name(), %error, "closing a keepty connection");
                    return InputEnd::Gone;
                }
            }
        }
    }

    async fn obey(&self, message: Message, say: &mpsc::Sender<Message>) -> Option<InputEnd> {
        match message {
            Message::Input(bytes) if self.is_writer() => {
                let gone = || self.connection.gone(self.id);
                // Input that cannot be delivered has no receiver any more.
                let _delivered = deliver(&self.connection.stream, self.pty.input(&bytes), gone).await;
            }
            Message::Resize { cols, rows } => self.resize(cols, rows).await,
            Message::Shutdown => {
                if self.connection.roles().may_shut_down(self.id, self.role) {
                    // KP-40
                    self.session().kill(limits::KEEPTY_GRACE).await;
                    return Some(InputEnd::ShutDown);
                }
            }
            Message::Ping => {
                // If this fails, the writing half has ended, which ends the connection.
                let _said = say.send(Message::Pong).await;
            }
            // KP-5, KP-7, KP-26: ignored.
            Message::Input(_)
            | Message::Hello { .. }
            | Message::HelloAck { .. }
            | Message::Output(_)
            | Message::ResizeAck { .. }
            | Message::Exit { .. }
            | Message::Pong
            | Message::Error(_)
            | Message::Malformed(_) => {}
        }
        None
    }

    async fn resize(&self, cols: u16, rows: u16) {
        // KP-37
        let Some(size) = Size::new(cols, rows) else { return };
        match self.role {
            KeeptyRole::Writer if self.is_writer() => {
                let before = self.pty.size();
                self.note_window(size);
                if self.session().resize(PtyId::AGENT, size).await.is_ok() && size.cols() > before.cols() {
                    self.winch_later();
                }
            }
            // KP-36
            KeeptyRole::Watcher if cols >= self.pty.size().cols() => self.session().nudge(PtyId::AGENT).await,
            KeeptyRole::Writer | KeeptyRole::Watcher | KeeptyRole::Monitor => {}
        }
    }

    /// KP-35: some programs redraw too early after a widening and need a second signal.
    fn winch_later(&self) {
        let (session, generation) = (self.session().clone(), self.pty.generation());
        self.connection.later.spawn(async move {
            tokio::time::sleep(limits::KEEPTY_WINCH).await;
            session.winch(PtyId::AGENT, generation).await;
        });
    }
}
