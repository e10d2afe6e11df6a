//! The other end of a tunnel, for a peer that is a command line.
//!
//! It listens as a daemon's control socket does ([`Guest::serve`]); what programs send there travels through the tunnel. So
//! commands that work with a daemon on this machine work with one far away.

use crate::limits;
use crate::link::{LinkEvent, LinkIdentity, LinkMessage, PeerLink};
use crate::network::Network;
use crate::servers::Servers;
use serde::Deserialize;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use str0m::channel::{ChannelData, ChannelId};
use swb_types::Role;
use swb_wire::LengthPrefixed;
use swb_wire::control::{
    ErrorCode, ErrorReply, HandshakeReply, StreamFrame, TunnelEnd, command_frames, control_frame,
    data_header, encode_body, encode_frame, enter_stream, operation_name, parse_stream,
};
use swb_wire::tunnel::{
    Answer, CONTROL_LABEL, Envelope, HostProof, PeerProof, Secret, VERSION, frame, pack, sdp,
};
use swb_wire::web::request::{id_of, with_id};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Why a tunnel could not be used.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The offer cannot be used.
    #[error("this tunnel's offer cannot be used: {0}")]
    Offer(String),
    /// No address of this machine can be used.
    #[error("no address of this machine can be used: {0}")]
    Network(io::Error),
    /// The two ends did not find each other.
    #[error("no way to the other machine was found; on its side, try `swb tunnel` with --stun or --turn")]
    NoWay,
    /// The other end refused our proof.
    #[error("the other machine refused the connection: {0}")]
    Refused(String),
    /// The other end did not prove that it knows the secret: it is not the machine that made the offer.
    #[error(
        "the other end could not prove that it made this offer; another machine may have put itself in between"
    )]
    Impostor,
}

/// An answer that waits for its way to the host.
pub struct PendingAnswer {
    link: PeerLink,
    identity: LinkIdentity,
    /// The host's offer.
    offer: String,
    secret: Secret,
    offered: String,
    answered: String,
    /// The answer, as text for the host.
    pub answer: String,
}

/// Why the host has ended the tunnel, once it has said so.
pub type Ended = Arc<OnceLock<TunnelEnd>>;

/// A connected tunnel.
pub struct Guest {
    link: PeerLink,
    control: ChannelId,
    /// What the host allows.
    pub role: Role,
    /// The one session that can be reached.
    pub session: Option<String>,
}

/// Answers an offer. `secret` is that of the envelope, or one that came by another way.
pub async fn answer(envelope: &Envelope, secret: Secret) -> Result<PendingAnswer, GuestError> {
    let mut network = Network::open().map_err(GuestError::Network)?;
    let stun: Vec<String> = envelope.ice.iter().map(|server| server.urls.clone()).collect();
    // Servers that we do not understand are ways less.
    let servers = Servers::parse(&stun, None).unwrap_or_default();
    let _gathered = network.gather(&servers).await;
    let identity =
        LinkIdentity::new().ok_or_else(|| GuestError::Offer("no certificate could be made".to_owned()))?;
    let mut link = PeerLink::new(network, &identity);
    let bad = |error: String| GuestError::Offer(error);
    let offer = sdp::with_sha256_only(&envelope.sdp);
    let offered = sdp::fingerprint(&envelope.sdp).ok_or_else(|| bad("it has no fingerprint".to_owned()))?;
    let ours = sdp::complete(&link.accept_offer(&identity, &offer).map_err(bad)?);
    let answered = sdp::fingerprint(&ours).ok_or_else(|| bad("our answer has no fingerprint".to_owned()))?;
    let answer = pack(&Answer { version: VERSION, tunnel: envelope.tunnel.clone(), sdp: ours });
    Ok(PendingAnswer { link, identity, offer, secret, offered, answered, answer })
}

impl PendingAnswer {
    /// Waits until the host has the answer, proves that we know the secret and demands the same of the host.
    pub async fn connect(mut self, limit: Duration, name: Option<String>) -> Result<Guest, GuestError> {
        let control = timeout(limit, self.found()).await.map_err(|_| GuestError::NoWay)??;
        let proof = PeerProof::new(&self.secret, &self.offered, &self.answered, name);
        self.link.send(control, &LinkMessage::Text(serde_json::to_string(&proof).unwrap_or_default()));
        let reply = timeout(limits::PROOF, self.first_reply(control)).await;
        let reply = reply.map_err(|_| GuestError::Refused("it does not reply".to_owned()))??;
        if let Ok(error) = serde_json::from_str::<ErrorReply>(&reply) {
            return Err(GuestError::Refused(error.message));
        }
        let host: HostProof = serde_json::from_str(&reply).map_err(|_| GuestError::Impostor)?;
        if !host.holds(&self.secret, &self.offered, &self.answered) {
            return Err(GuestError::Impostor);
        }
        Ok(Guest { link: self.link, control, role: host.role, session: host.session })
    }

    /// Waits until the host has opened the control channel. Begins again as long as nothing of the host arrives: it may get our
    /// answer late, as a person may have to carry it, and an attempt has a limited time.
    async fn found(&mut self) -> Result<ChannelId, GuestError> {
        loop {
            if let Ok(opened) = timeout(limits::ATTEMPT, self.opened()).await {
                return opened;
            }
            if !self.link.has_heard() {
                self.link.accept_offer(&self.identity, &self.offer).map_err(GuestError::Offer)?;
            }
        }
    }

    async fn opened(&mut self) -> Result<ChannelId, GuestError> {
        loop {
            match self.link.next().await {
                LinkEvent::Open { channel, label } if label == CONTROL_LABEL => return Ok(channel),
                LinkEvent::Ended => return Err(GuestError::NoWay),
                _ => {}
            }
        }
    }

    async fn first_reply(&mut self, control: ChannelId) -> Result<String, GuestError> {
        loop {
            match self.link.next().await {
                LinkEvent::Message(data) if data.id == control => {
                    return String::from_utf8(data.data).map_err(|_| GuestError::Impostor);
                }
                LinkEvent::Closed(_) | LinkEvent::Ended => {
                    return Err(GuestError::Refused("it closed the connection".to_owned()));
                }
                _ => {}
            }
        }
    }
}

impl Guest {
    /// Serves programs of this machine until the tunnel ends, or until `stop`. If the host says why it ends the tunnel, that is
    /// in `ended` before any program's connection is closed.
    pub async fn serve(self, listener: UnixListener, stop: CancellationToken, ended: Ended) {
        Carrier::new(self.link, self.control, ended).carry(listener, stop).await;
    }
}

/// Number of a connection of this machine.
type Number = u64;

/// What a connection of this machine sends.
enum FromHere {
    /// A request, to be answered on the same connection.
    Request(Number, Vec<u8>),
    /// A message for the connection's terminal.
    Message(Number, Vec<u8>),
    Ended(Number),
}

/// What the reading half of a connection may do next.
enum Next {
    /// Read another request.
    Request,
    /// Read frames for a terminal.
    Frames,
}

/// One connection of this machine.
struct Here {
    /// What the program gets, in its framing.
    out: mpsc::Sender<Vec<u8>>,
    next: mpsc::Sender<Next>,
    channel: Option<ChannelId>,
}

/// What the host says of its own accord.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum LastWords {
    /// It ends the tunnel.
    Closed { reason: TunnelEnd },
}

/// A terminal's channel whose program is not known yet. Only messages of one channel arrive in order: a channel may be open before
/// the reply is here after which it was opened.
struct Early {
    channel: ChannelId,
    messages: Vec<Vec<u8>>,
    closed: bool,
}

/// Carries connections of this machine through the tunnel.
struct Carrier {
    link: PeerLink,
    control: ChannelId,
    here: HashMap<Number, Here>,
    last: Number,
    /// Connections whose requests under way open a terminal.
    opening: HashSet<Number>,
    /// Connections that follow events, and whether the reply before the first one has arrived.
    following: HashMap<Number, bool>,
    /// Connections whose terminals' channels are about to be opened, in order.
    attaching: VecDeque<Number>,
    /// Channels that were opened before, in order.
    early: VecDeque<Early>,
    terminals: HashMap<ChannelId, Number>,
    /// Messages that wait for room.
    held: VecDeque<(ChannelId, LinkMessage)>,
    ended: Ended,
    /// Owns the halves of the connections, which end with these.
    tasks: TaskTracker,
}

impl Carrier {
    fn new(link: PeerLink, control: ChannelId, ended: Ended) -> Self {
        Self {
            link,
            control,
            here: HashMap::new(),
            last: 0,
            opening: HashSet::new(),
            following: HashMap::new(),
            attaching: VecDeque::new(),
            early: VecDeque::new(),
            terminals: HashMap::new(),
            held: VecDeque::new(),
            ended,
            tasks: TaskTracker::new(),
        }
    }

    async fn carry(mut self, listener: UnixListener, stop: CancellationToken) {
        let (sender, mut received) = mpsc::channel(limits::REPLIES);
        loop {
            while self.held.front().is_some_and(|(channel, message)| self.link.send(*channel, message)) {
                self.held.pop_front();
            }
            let room = self.held.len() < limits::REPLIES;
            tokio::select! {
                biased;
                event = self.link.next() => {
                    if self.handle(event) {
                        break;
                    }
                }
                Some(message) = received.recv(), if room => self.take(message),
                Ok((stream, _)) = listener.accept() => self.open(stream, sender.clone()),
                () = stop.cancelled() => break,
            }
        }
        drop(listener);
        self.here.clear();
        self.link.close(true).await;
    }

    fn open(&mut self, stream: UnixStream, sender: mpsc::Sender<FromHere>) {
        self.last += 1;
        let number = self.last;
        let (reader, writer) = stream.into_split();
        // As much as the host sends ahead of acknowledgements, in messages of any size.
        let (out, messages) = mpsc::channel(limits::GUEST_MESSAGES);
        let (next, told) = mpsc::channel(1);
        self.tasks.spawn(write(number, writer, messages, sender.clone()));
        self.tasks.spawn(read(number, reader, sender, told, out.clone()));
        self.here.insert(number, Here { out, next, channel: None });
    }

    /// Takes what a program of this machine sends.
    fn take(&mut self, message: FromHere) {
        match message {
            FromHere::Request(number, body) => {
                let text = with_id(Some(&number.to_string()), &body);
                if text.len() > limits::MESSAGE {
                    let text = format!("a request through a tunnel has at most {} bytes", limits::MESSAGE);
                    let error = ErrorReply::new(ErrorCode::MessageTooLarge, text);
                    self.reply(number, &encode_body(&error).unwrap_or_default());
                    return self.proceed(number, Next::Request);
                }
                if operation_name(&body).is_ok_and(|name| name == "attach" || name == "shell") {
                    self.opening.insert(number);
                }
                if operation_name(&body).is_ok_and(|name| name == "events") {
                    self.following.insert(number, false);
                }
                self.held.push_back((self.control, LinkMessage::Text(text)));
            }
            FromHere::Message(number, message) => {
                if let Some(channel) = self.here.get(&number).and_then(|here| here.channel) {
                    self.held.push_back((channel, LinkMessage::Binary(message)));
                }
            }
            FromHere::Ended(number) => {
                self.following.remove(&number);
                if let Some(channel) = self.here.remove(&number).and_then(|here| here.channel) {
                    self.terminals.remove(&channel);
                    self.link.close_channel(channel);
                }
            }
        }
    }

    /// Takes what the host sends; true when the tunnel has ended.
    fn handle(&mut self, event: LinkEvent) -> bool {
        match event {
            LinkEvent::Message(data) if data.id == self.control => self.control_message(data),
            LinkEvent::Message(data) => {
                if let Some(early) = self.early.iter_mut().find(|early| early.channel == data.id) {
                    if early.messages.len() < limits::GUEST_MESSAGES {
                        early.messages.push(data.data);
                    } else {
                        self.link.close_channel(data.id);
                    }
                    return false;
                }
                let number = self.terminals.get(&data.id).copied();
                let here = number.and_then(|number| self.here.get(&number));
                // A host that sends more than it may loses this terminal.
                if here.is_some_and(|here| here.out.try_send(data.data).is_err()) {
                    self.here.remove(&number.unwrap_or_default());
                    self.link.close_channel(data.id);
                }
            }
            LinkEvent::Open { channel, .. } if self.early.len() < limits::TERMINALS => {
                self.early.push_back(Early { channel, messages: Vec::new(), closed: false });
                self.begin_terminals();
            }
            LinkEvent::Open { channel, .. } => self.link.close_channel(channel),
            LinkEvent::Closed(channel) if channel == self.control => return true,
            LinkEvent::Closed(channel) => {
                if let Some(early) = self.early.iter_mut().find(|early| early.channel == channel) {
                    early.closed = true;
                }
                // The program sees the end of its connection.
                if let Some(number) = self.terminals.remove(&channel) {
                    self.here.remove(&number);
                }
            }
            LinkEvent::Ended => return true,
            LinkEvent::Reachable(_) | LinkEvent::Progress => {}
        }
        false
    }

    /// Gives channels to the programs that wait for them.
    fn begin_terminals(&mut self) {
        while !self.early.is_empty() && !self.attaching.is_empty() {
            let (Some(early), Some(number)) = (self.early.pop_front(), self.attaching.pop_front()) else {
                return;
            };
            let Some(here) = self.here.get_mut(&number) else {
                self.link.close_channel(early.channel);
                continue;
            };
            for message in early.messages {
                // The queue holds as many.
                let _queued = here.out.try_send(message);
            }
            here.channel = Some(early.channel);
            self.terminals.insert(early.channel, number);
            self.proceed(number, Next::Frames);
            if early.closed {
                self.terminals.remove(&early.channel);
                self.here.remove(&number);
            }
        }
    }

    /// Passes on a reply, or an event.
    fn control_message(&mut self, data: ChannelData) {
        let Ok(text) = String::from_utf8(data.data) else { return };
        let Some(number) = id_of(&text).and_then(|id| id.parse().ok()) else {
            if let Ok(LastWords::Closed { reason }) = serde_json::from_str(&text) {
                let _first = self.ended.set(reason);
            }
            return;
        };
        let prefix = format!("{{\"id\":{number}");
        let rest = text.strip_prefix(&prefix).unwrap_or("}");
        let body = format!("{{{}", rest.strip_prefix(',').unwrap_or(rest));
        if self.following.get(&number) == Some(&true) {
            return self.event(number, body.as_bytes());
        }
        self.reply(number, body.as_bytes());
        if let Some(replied) = self.following.get_mut(&number) {
            *replied = true;
        }
        let opens = self.opening.remove(&number);
        if opens && serde_json::from_str::<ErrorReply>(&body).map_or(true, |reply| reply.ok) {
            self.attaching.push_back(number);
            self.begin_terminals();
        } else {
            self.proceed(number, Next::Request);
        }
    }

    /// Passes on an event: the connection is in stream mode.
    fn event(&mut self, number: Number, body: &[u8]) {
        let full = self.here.get(&number).is_some_and(|here| here.out.try_send(control_frame(body)).is_err());
        // A program that does not read its events loses its connection.
        if full {
            self.here.remove(&number);
        }
    }

    fn reply(&mut self, number: Number, body: &[u8]) {
        if let Some(here) = self.here.get(&number) {
            // The queue is empty, or its reader is gone.
            let _queued = here.out.try_send(encode_frame(body));
        }
    }

    fn proceed(&self, number: Number, next: Next) {
        if let Some(here) = self.here.get(&number) {
            // The reading half waits for just this.
            let _told = here.next.try_send(next);
        }
    }
}

/// Reads what a program sends: a handshake, requests one by one, and frames once it has a terminal.
async fn read(
    number: Number,
    mut reader: OwnedReadHalf,
    sender: mpsc::Sender<FromHere>,
    mut told: mpsc::Receiver<Next>,
    out: mpsc::Sender<Vec<u8>>,
) {
    let reading = async {
        let mut frames = command_frames();
        next_frame(&mut reader, &mut frames).await?;
        let welcome = encode_body(&HandshakeReply::accepted()).ok()?;
        out.send(encode_frame(&welcome)).await.ok()?;
        drop(out);
        loop {
            let request = next_frame(&mut reader, &mut frames).await?;
            sender.send(FromHere::Request(number, request)).await.ok()?;
            if matches!(told.recv().await?, Next::Frames) {
                break;
            }
        }
        enter_stream(&mut frames);
        loop {
            for message in messages(next_frame(&mut reader, &mut frames).await?) {
                sender.send(FromHere::Message(number, message)).await.ok()?;
            }
        }
    };
    let _ended: Option<()> = reading.await;
    let _told = sender.send(FromHere::Ended(number)).await;
}

/// A frame as messages, none of which is too long.
fn messages(body: Vec<u8>) -> Vec<Vec<u8>> {
    match parse_stream(body.clone()) {
        StreamFrame::Data(bytes) => {
            let message = |piece: &[u8]| [data_header(piece.len()).as_slice(), piece].concat();
            bytes.chunks(limits::MESSAGE - 5).map(message).collect()
        }
        StreamFrame::Control(_) | StreamFrame::Unknown(_) => vec![encode_frame(&body)],
    }
}

async fn next_frame(reader: &mut OwnedReadHalf, frames: &mut LengthPrefixed) -> Option<Vec<u8>> {
    let mut bytes = [0; 16 * 1024];
    loop {
        if let Some(frame) = frames.next().ok()? {
            return Some(frame);
        }
        let count = reader.read(&mut bytes).await.ok().filter(|count| *count > 0)?;
        frames.push(bytes.get(..count)?);
    }
}

/// Writes what a program gets, and acknowledges its output.
async fn write(
    number: Number,
    mut writer: OwnedWriteHalf,
    mut messages: mpsc::Receiver<Vec<u8>>,
    sender: mpsc::Sender<FromHere>,
) {
    let (mut handled, mut acknowledged) = (0, 0);
    while let Some(message) = messages.recv().await {
        if writer.write_all(&message).await.is_err() {
            break;
        }
        if let Ok(StreamFrame::Data(bytes)) = frame::parse_host_frame(&message) {
            handled += bytes.len() as u64;
        }
        if handled - acknowledged >= limits::ACKNOWLEDGE || (messages.is_empty() && handled > acknowledged) {
            acknowledged = handled;
            if sender.send(FromHere::Message(number, frame::ack(handled))).await.is_err() {
                break;
            }
        }
    }
    // The program sees the end, and the other half ends with it.
    let _closed = writer.shutdown().await;
}
