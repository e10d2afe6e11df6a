//! The daemon's end of one tunnel: it waits for an answer, demands a proof, and serves the peer.

use crate::commands::{self, QueuedCommand, Replies};
use crate::limits;
use crate::link::{LinkEvent, LinkIdentity, LinkMessage, PeerLink};
use crate::terminal::{ToChannel, TunnelTerminal};
use crate::tunnels::{Record, Registry};
use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use str0m::channel::{ChannelData, ChannelId};
use swb_engine::Session;
use swb_operations::requests::{Executor, Outgoing, Requests, TerminalPermit};
use swb_operations::{AnswerError, Caller, OpenTerminal};
use swb_wire::control::{ErrorCode, ErrorReply, TunnelEnd, encode_control};
use swb_wire::tunnel::{Answer, CONTROL_LABEL, HostProof, PeerProof, failed_proof, sdp, terminal_label};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

/// An answer, and where to report whether it was accepted.
pub(crate) type ReceivedAnswer = (Answer, oneshot::Sender<Result<(), AnswerError>>);

/// Why a tunnel ends, and what else people should know.
#[derive(Debug)]
pub(crate) struct HostEnding {
    pub(crate) reason: TunnelEnd,
    pub(crate) message: Option<String>,
}

impl From<TunnelEnd> for HostEnding {
    fn from(reason: TunnelEnd) -> Self {
        Self { reason, message: None }
    }
}

/// One tunnel, from its offer to its end.
pub(crate) struct Host {
    pub(crate) link: PeerLink,
    pub(crate) identity: LinkIdentity,
    pub(crate) is_answered: bool,
    pub(crate) record: Arc<Record>,
    pub(crate) registry: Registry,
    pub(crate) answers: mpsc::Receiver<ReceivedAnswer>,
    pub(crate) expires: Duration,
    pub(crate) executor: Executor,
    pub(crate) caller: Caller,
    /// The one session that the tunnel reaches.
    pub(crate) session: Option<Session>,
    /// The control channel of a peer that wants to be told why the tunnel ends.
    pub(crate) told: Option<ChannelId>,
    /// Cancelled when the daemon stops.
    pub(crate) stop: CancellationToken,
    /// Cancelled when the command that follows the tunnel leaves.
    pub(crate) left: CancellationToken,
    /// Owns the tasks of the tunnel.
    pub(crate) tasks: TaskTracker,
}

/// The peer's certificate, and the control channel.
struct Connected {
    answered: String,
    control: ChannelId,
}

impl Host {
    /// Serves the tunnel; returns why it ended. Everything is closed by then.
    pub(crate) async fn run(mut self) -> HostEnding {
        let (stop, left, revoked) = (self.stop.clone(), self.left.clone(), self.record.revoked.clone());
        let ending = tokio::select! {
            ending = self.live() => ending,
            () = revoked.cancelled() => TunnelEnd::Revoked.into(),
            () = stop.cancelled() => TunnelEnd::Daemon.into(),
            // No command follows the tunnel any more.
            () = left.cancelled() => TunnelEnd::Peer.into(),
        };
        // From here on no request finds it any more.
        self.registry.remove(&self.record.id);
        self.tell(ending.reason).await;
        self.link.close(self.is_answered).await;
        ending
    }

    async fn live(&mut self) -> HostEnding {
        let session = self.session.clone();
        let mut session_ended = pin!(ended(session.clone()));
        let begun = tokio::select! {
            begun = self.begin() => begun,
            () = &mut session_ended => Err(TunnelEnd::Session.into()),
        };
        let control = match begun {
            Ok(control) => control,
            Err(ending) => return ending,
        };
        let end = Service::new(self, control).serve(session_ended).await;
        // A peer that sees its session end may leave before the end is known here.
        let is_peer = matches!(end, TunnelEnd::Peer) && session.is_some();
        if is_peer && timeout(limits::LINGER, ended(session)).await.is_ok() {
            return TunnelEnd::Session.into();
        }
        end.into()
    }

    /// Waits for a peer that proves that it knows the secret; returns the control channel.
    async fn begin(&mut self) -> Result<ChannelId, HostEnding> {
        let connected = match timeout(self.expires, self.wait_for_answer()).await {
            Ok(Some(connected)) => connected,
            Ok(None) => return Err(TunnelEnd::Daemon.into()),
            Err(_) => return Err(TunnelEnd::Expired.into()),
        };
        let control = connected.control;
        match timeout(limits::CONNECT, self.connect(control)).await {
            Ok(Ok(false)) => {}
            Ok(Ok(true)) => return Err(self.refuse(control, "channels are opened by the host").await),
            Ok(Err(ending)) => return Err(ending),
            Err(_) => return Err(no_way()),
        }
        match timeout(limits::PROOF, self.proof(&connected)).await {
            Ok(Ok(())) => Ok(control),
            Ok(Err(Some(refusal))) => Err(self.refuse(control, refusal).await),
            Ok(Err(None)) => Err(TunnelEnd::Peer.into()),
            Err(_) => Err(self.refuse(control, "no proof arrived in time").await),
        }
    }

    /// Waits for an answer that fits the offer; returns the control channel and the fingerprint that the answer names.
    async fn wait_for_answer(&mut self) -> Option<Connected> {
        loop {
            let answering = tokio::select! {
                answering = self.answers.recv() => answering,
                () = self.link.stand_by() => None,
            };
            let (answer, reply) = answering?;
            let accepted = self.accept(&answer);
            if accepted.is_ok() {
                self.is_answered = true;
                self.record.set_answered();
                // Those that came at the same time find the offer used up.
                self.answers.close();
                while let Ok((_, late)) = self.answers.try_recv() {
                    let _told = late.send(Err(AnswerError::Answered));
                }
            }
            // The sender of the answer may have left.
            let _told = reply.send(accepted.as_ref().map(drop).map_err(Clone::clone));
            if let Ok(connected) = accepted {
                return Some(connected);
            }
        }
    }

    fn accept(&mut self, answer: &Answer) -> Result<Connected, AnswerError> {
        let malformed = |text: &str| AnswerError::Malformed(text.to_owned());
        if let Some(missing) = sdp::missing(self.record.offer(), &answer.sdp) {
            return Err(malformed(missing));
        }
        if sdp::max_message_size(&answer.sdp).is_some_and(|longest| longest < limits::MESSAGE_LEAST) {
            return Err(malformed("it takes no message of a useful length (a=max-message-size)"));
        }
        let answered = sdp::fingerprint(&answer.sdp).ok_or_else(|| malformed("it has no fingerprint"))?;
        let plain = sdp::with_sha256_only(&answer.sdp);
        let control = self.link.accept_answer(&self.identity, CONTROL_LABEL, &plain);
        Ok(Connected { answered, control: control.map_err(AnswerError::Malformed)? })
    }

    /// Waits until the control channel is open; returns whether the peer has opened channels of its own before.
    async fn connect(&mut self, control: ChannelId) -> Result<bool, HostEnding> {
        let mut opened = false;
        loop {
            match self.link.next().await {
                LinkEvent::Open { channel, .. } if channel == control => return Ok(opened),
                LinkEvent::Open { .. } => opened = true,
                LinkEvent::Ended => return Err(self.not_connected()),
                _ => {}
            }
        }
    }

    /// Why the connection ended before it was complete.
    fn not_connected(&self) -> HostEnding {
        // Without a way, the handshake fails as well, for want of time.
        let Some(failure) = self.link.failure().filter(|_| self.link.has_reached()) else { return no_way() };
        tracing::warn!(tunnel = %self.record.id, failure, "refused the peer of a tunnel");
        let message =
            "the peer was refused: its certificate is not the one of its answer, or the handshake failed";
        HostEnding { reason: TunnelEnd::Refused, message: Some(message.to_owned()) }
    }

    /// Waits for the peer's proof and sends our own. `Err(None)` if the peer leaves.
    async fn proof(&mut self, connected: &Connected) -> Result<(), Option<&'static str>> {
        let first = loop {
            match self.link.next().await {
                LinkEvent::Message(ChannelData { id, binary: false, data, .. })
                    if id == connected.control =>
                {
                    break data;
                }
                LinkEvent::Message(_) => return Err(Some("the first message has to be the proof")),
                LinkEvent::Open { .. } => return Err(Some("channels are opened by the host")),
                LinkEvent::Closed(_) | LinkEvent::Ended => return Err(None),
                LinkEvent::Reachable(_) | LinkEvent::Progress => {}
            }
        };
        let proof = std::str::from_utf8(&first).ok().and_then(PeerProof::parse);
        let proof = proof.ok_or(Some("the first message has to be the proof"))?;
        let (offered, answered) = (&self.record.fingerprint, &connected.answered);
        if !proof.holds(&self.record.secret, offered, answered) {
            return Err(Some("the proof is wrong"));
        }
        let session = self.record.session.clone();
        let ours = HostProof::new(&self.record.secret, offered, answered, self.caller.role(), session);
        // The first message of a new connection always has room.
        self.link.send(connected.control, &json(&ours));
        self.told = proof.wants_events().then_some(connected.control);
        let address = self.link.peer().map(|address| address.to_string());
        self.record.set_connected(proof.name().or(address).unwrap_or_else(|| "unknown".to_owned()));
        Ok(())
    }

    /// Reports that the proof failed; nothing else is done for this peer.
    async fn refuse(&mut self, control: ChannelId, why: &'static str) -> HostEnding {
        tracing::warn!(tunnel = %self.record.id, why, "refused the peer of a tunnel");
        self.last_words(control, &json(&failed_proof(why))).await;
        HostEnding { reason: TunnelEnd::Refused, message: Some(format!("the peer was refused: {why}")) }
    }

    /// Tells a peer why the tunnel ends, if it wants to know.
    async fn tell(&mut self, reason: TunnelEnd) {
        if let Some(control) = self.told {
            self.last_words(control, &json(&Closed { event: "closed", reason })).await;
        }
    }

    /// Sends a last message, and waits a moment until the peer has it.
    async fn last_words(&mut self, control: ChannelId, message: &LinkMessage) {
        self.link.send(control, message);
        let arrived = async {
            while !self.link.has_sent(control) && !matches!(self.link.next().await, LinkEvent::Ended) {}
        };
        let _arrived = timeout(limits::GOODBYE, arrived).await;
    }
}

/// *Addition*: the last message to a peer that asked for it.
#[derive(serde::Serialize)]
struct Closed {
    event: &'static str,
    reason: TunnelEnd,
}

/// The end of a tunnel whose ends did not find each other.
fn no_way() -> HostEnding {
    let message = "no way to the peer was found; both may be behind routers that do not let it through. Try `--stun URL` with a \
                   STUN server that both reach, or `--turn URL` with a TURN server";
    HostEnding { reason: TunnelEnd::Expired, message: Some(message.to_owned()) }
}

/// A channel that is about to be closed. Once it is, what the peer still sends there is not read any more, and would fill the
/// receive window of all channels; so what is on its way is awaited and dropped.
struct Closing {
    channel: ChannelId,
    quiet: Instant,
    until: Instant,
}

impl Closing {
    fn new(channel: ChannelId) -> Self {
        Self::within(channel, limits::LINGER_MOST)
    }

    fn within(channel: ChannelId, most: Duration) -> Self {
        let now = Instant::now();
        Self { channel, quiet: now + limits::LINGER, until: now + most }
    }

    /// When to look at it again if nothing more arrives. One that is late waits for the peer's acknowledgements, which arrive
    /// as datagrams.
    fn due(&self) -> Instant {
        if self.quiet > Instant::now() { self.quiet.min(self.until) } else { self.until }
    }
}

/// A tunnel whose peer has proved itself.
struct Service<'a> {
    link: &'a mut PeerLink,
    control: ChannelId,
    terminals: HashMap<ChannelId, TunnelTerminal>,
    /// Terminals whose channels are not open yet.
    opening: HashMap<ChannelId, (Box<OpenTerminal>, TerminalPermit)>,
    /// Channels that are closed as soon as everything has arrived and the peer sends nothing more.
    closing: Vec<Closing>,
    commands: mpsc::Sender<QueuedCommand>,
    replies: Replies,
    queue: mpsc::Sender<ToChannel>,
    output: mpsc::Receiver<ToChannel>,
    /// What waits for room in the connection: a reply, and a message of a terminal.
    held_reply: Option<LinkMessage>,
    held_output: Option<(ChannelId, LinkMessage)>,
    /// What the peer may send ahead of its being handled.
    room: Arc<Semaphore>,
    /// Until when a peer is waited for that cannot be reached.
    unreachable: Option<Instant>,
    /// The tunnel's session has ended: the peer gets what it is still owed, as its channels end.
    parting: Option<Closing>,
    /// Owns the tasks of the tunnel. Those that deliver input go on for a while after the peer has left.
    tasks: TaskTracker,
    _executing: AbortOnDropHandle<()>,
}

impl<'a> Service<'a> {
    fn new(host: &'a mut Host, control: ChannelId) -> Self {
        let (out, replies) = mpsc::channel(limits::REPLIES);
        let (queue, output) = mpsc::channel(limits::OUTPUT_QUEUE);
        let (commands, received) = mpsc::channel(limits::COMMANDS);
        let places = Arc::new(Semaphore::new(limits::TERMINALS));
        let carried = Arc::new(commands::carried(places));
        let requests = Requests::new(host.executor.clone(), host.caller.clone(), carried, out);
        let tasks = host.tasks.clone();
        let executing = tasks.spawn(commands::execute(requests, received));
        Self {
            link: &mut host.link,
            control,
            terminals: HashMap::new(),
            opening: HashMap::new(),
            closing: Vec::new(),
            commands,
            replies,
            queue,
            output,
            held_reply: None,
            held_output: None,
            room: Arc::new(Semaphore::new(limits::INPUT)),
            unreachable: None,
            parting: None,
            tasks,
            _executing: AbortOnDropHandle::new(executing),
        }
    }

    /// Serves the peer until it leaves, or until the one session that it reaches has ended.
    async fn serve(mut self, mut session_ended: Pin<&mut impl Future<Output = ()>>) -> TunnelEnd {
        loop {
            self.send_held();
            self.close_finished();
            if self.has_parted() {
                return TunnelEnd::Session;
            }
            let given_up = at(self.unreachable);
            let due = self.closing.iter().chain(&self.parting).map(Closing::due).min();
            tokio::select! {
                biased;
                () = &mut session_ended, if self.parting.is_none() => {
                    self.parting = Some(Closing::within(self.control, limits::GOODBYE));
                }
                event = self.link.next() => {
                    if let Some(end) = self.handle(event) {
                        return end;
                    }
                }
                Some(outgoing) = self.replies.recv(), if self.held_reply.is_none() => {
                    if let Some(end) = self.reply(outgoing) {
                        return end;
                    }
                }
                Some(output) = self.output.recv(), if self.held_output.is_none() => match output {
                    ToChannel::Send(channel, message) => self.held_output = Some((channel, message)),
                    ToChannel::Close(channel) => {
                        self.terminals.remove(&channel);
                        self.closing.push(Closing::new(channel));
                    }
                },
                () = at(due) => {}
                () = given_up => return TunnelEnd::Peer,
            }
        }
    }

    fn handle(&mut self, event: LinkEvent) -> Option<TunnelEnd> {
        match event {
            LinkEvent::Open { channel, .. } => match self.opening.remove(&channel) {
                Some((terminal, place)) => {
                    let (queue, room) = (self.queue.clone(), Arc::clone(&self.room));
                    let way = (channel, self.link.longest_message());
                    let terminal = TunnelTerminal::carry(*terminal, place, way, queue, room, &self.tasks);
                    self.terminals.insert(channel, terminal);
                }
                // Channels of the peer's own have no meaning.
                None => self.closing.push(Closing::new(channel)),
            },
            LinkEvent::Message(data) if data.id == self.control => return self.command(data),
            LinkEvent::Message(data) => self.terminal_message(&data),
            LinkEvent::Closed(channel) if channel == self.control => return Some(TunnelEnd::Peer),
            LinkEvent::Closed(channel) => {
                self.terminals.remove(&channel);
                self.opening.remove(&channel);
                self.closing.retain(|closing| closing.channel != channel);
            }
            LinkEvent::Reachable(true) => self.unreachable = None,
            LinkEvent::Reachable(false) => self.unreachable = Some(Instant::now() + limits::UNREACHABLE),
            LinkEvent::Progress => {}
            LinkEvent::Ended => return Some(TunnelEnd::Peer),
        }
        None
    }

    /// Queues a command; a peer that sends more than can wait has to leave.
    fn command(&mut self, data: ChannelData) -> Option<TunnelEnd> {
        let text = if data.data.len() > limits::MESSAGE {
            let text = format!("a message has at most {} bytes", limits::MESSAGE);
            Err(ErrorReply::new(ErrorCode::MessageTooLarge, text))
        } else if data.binary {
            Err(ErrorReply::new(ErrorCode::InvalidCommand, "messages have to be text"))
        } else {
            let text = String::from_utf8(data.data);
            text.map_err(|_| ErrorReply::new(ErrorCode::InvalidCommand, "message is not valid UTF-8"))
        };
        let size = text.as_ref().map_or(0, String::len) as u32 + 64;
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(size) else {
            tracing::warn!("the peer of a tunnel sends commands faster than they can be executed");
            return Some(TunnelEnd::Refused);
        };
        // There is a place for everything that there is room for.
        let _queued = self.commands.try_send(QueuedCommand { text, _room: room });
        None
    }

    fn terminal_message(&mut self, data: &ChannelData) {
        let Some(terminal) = self.terminals.get(&data.id) else {
            if let Some(closing) = self.closing.iter_mut().find(|closing| closing.channel == data.id) {
                closing.quiet = Instant::now() + limits::LINGER;
            }
            return;
        };
        if let Err(error) = terminal.receive(data.binary, &data.data) {
            self.terminals.remove(&data.id);
            let mut frame = Vec::new();
            if encode_control(&error, &mut frame).is_ok() {
                // If there is no room, the end has to speak for itself.
                self.link.send(data.id, &LinkMessage::Binary(frame));
            }
            self.closing.push(Closing::new(data.id));
        }
    }

    fn reply(&mut self, outgoing: Outgoing) -> Option<TunnelEnd> {
        if let Some(parting) = &mut self.parting {
            parting.quiet = Instant::now() + limits::LINGER;
        }
        match outgoing {
            Outgoing::Message(text) => {
                let text = commands::fitting(text, self.link.longest_message());
                self.held_reply = Some(LinkMessage::Text(text));
            }
            Outgoing::Sent(confirm) => {
                // Its receiver may have left.
                let _told = confirm.send(());
            }
            Outgoing::Terminal(terminal, place) => {
                let label = terminal_label(terminal.session_name().as_str(), terminal.pty_id());
                let channel = self.link.open(label);
                self.opening.insert(channel, (terminal, place));
            }
            // No role of a tunnel may stop the daemon.
            Outgoing::Act(_) => {}
            Outgoing::End => return Some(TunnelEnd::Peer),
        }
        None
    }

    /// Sends what waits, as far as there is room: replies first.
    fn send_held(&mut self) {
        if self.held_reply.as_ref().is_some_and(|reply| self.link.send(self.control, reply)) {
            self.held_reply = None;
        }
        if self.held_output.as_ref().is_some_and(|(channel, message)| self.link.send(*channel, message)) {
            self.held_output = None;
        }
    }

    /// Whether the session has ended, and the peer has everything that there was.
    fn has_parted(&mut self) -> bool {
        let Some(parting) = &self.parting else { return false };
        let now = Instant::now();
        let open = self.terminals.len() + self.opening.len() + self.closing.len();
        let idle = open == 0 && self.held_reply.is_none() && self.held_output.is_none();
        parting.until <= now || (idle && parting.quiet <= now && self.link.has_sent(self.control))
    }

    fn close_finished(&mut self) {
        // What is held may be for one of these.
        if self.held_output.is_some() {
            return;
        }
        let now = Instant::now();
        let link = &mut *self.link;
        self.closing.retain(|closing| {
            let done = closing.until <= now || (closing.quiet <= now && link.has_sent(closing.channel));
            if done {
                link.close_channel(closing.channel);
            }
            !done
        });
    }
}

/// Waits until a session has ended, or forever if there is none.
async fn ended(session: Option<Session>) {
    match session {
        Some(session) => session.ended().await,
        None => std::future::pending().await,
    }
}

/// Waits until a moment, or forever if there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn json(value: &impl serde::Serialize) -> LinkMessage {
    LinkMessage::Text(serde_json::to_string(value).unwrap_or_default())
}
