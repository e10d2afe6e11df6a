//! All tunnels: makes offers, takes answers, lists and ends them.

use crate::host::{Host, HostEnding, ReceivedAnswer};
use crate::limits;
use crate::link::{LinkIdentity, PeerLink};
use crate::network::Network;
use crate::random;
use crate::rendezvous::{Rendezvous, RendezvousError};
use crate::servers::Servers;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use swb_engine::{Session, file_access};
use swb_operations::requests::Executor;
use swb_operations::{AnswerError, Caller, Later, OpenedTunnel, TunnelEvents, TunnelHost, TunnelRequest};
use swb_types::{Role, Scope, Timestamp};
use swb_wire::control::{
    Base64, ErrorCode, ErrorReply, TunnelEnd, TunnelEvent, TunnelItem, TunnelReply, TunnelState,
};
use swb_wire::tunnel::{
    Answer, CONTROL_LABEL, Envelope, IceServer, Secret, TunnelId, VERSION, pack, sdp, unpack,
};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
/// Characters of a short code.
const SHORT_CODE: usize = 6;

/// What the daemon gives the tunnel transport.
pub struct TunnelContext {
    /// Executes what peers request.
    pub executor: Executor,
    /// Cancelled when the daemon stops.
    pub stop: CancellationToken,
    /// Name of this machine.
    pub hostname: String,
    /// File with the id of this machine.
    pub machine_id: PathBuf,
    /// Address of a web server of ours, if one runs: scheme, host and port.
    pub web: Box<dyn Fn() -> Option<String> + Send + Sync>,
    /// STUN servers, unless a tunnel names others.
    pub stun: Vec<String>,
    /// A TURN server, unless a tunnel names another one.
    pub turn: Option<String>,
    /// Where the page for tunnels is, if no web server of ours has it.
    pub page: String,
    /// A server that passes offers and answers on: scheme, host and port.
    pub rendezvous: Option<String>,
}

/// The tunnels of a daemon. Each has a thread of its own, which ends with it.
pub struct Tunnels {
    context: TunnelContext,
    registry: Registry,
    places: Arc<Semaphore>,
}

/// The tunnels that can be found.
#[derive(Clone, Default)]
pub(crate) struct Registry(Arc<Mutex<Vec<Arc<Record>>>>);

impl Registry {
    pub(crate) fn remove(&self, tunnel: &TunnelId) {
        self.lock().retain(|record| record.id != *tunnel);
    }

    fn find(&self, tunnel: &str) -> Option<Arc<Record>> {
        self.lock().iter().find(|record| record.id.as_str() == tunnel).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Record>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of one tunnel.
pub(crate) struct Record {
    pub(crate) id: TunnelId,
    pub(crate) secret: Secret,
    pub(crate) revoked: CancellationToken,
    /// The offer, without the secret.
    envelope: Envelope,
    /// Fingerprint of our certificate, which the offer names.
    pub(crate) fingerprint: String,
    /// The one session that it reaches.
    pub(crate) session: Option<String>,
    role: Role,
    progress: Mutex<Progress>,
    /// Cancelled when the offer is used up, or the tunnel ends.
    settled: CancellationToken,
    answers: mpsc::Sender<ReceivedAnswer>,
    events: mpsc::Sender<TunnelEvent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Progress {
    Waiting,
    Answered,
    Connected(String),
}

impl Record {
    /// The offer.
    pub(crate) fn offer(&self) -> &str {
        &self.envelope.sdp
    }

    pub(crate) fn set_answered(&self) {
        *self.lock() = Progress::Answered;
        self.settled.cancel();
    }

    pub(crate) fn set_connected(&self, peer: String) {
        tracing::info!(tunnel = %self.id, "a peer has connected through a tunnel");
        *self.lock() = Progress::Connected(peer.clone());
        // There are fewer events than the queue holds; the command that followed them may have left.
        let _told = self.events.try_send(TunnelEvent::Connected { tunnel: self.id.to_string(), peer });
    }

    fn set_closed(&self, HostEnding { reason, message }: HostEnding) {
        tracing::info!(tunnel = %self.id, %reason, "a tunnel has ended");
        let tunnel = self.id.to_string();
        let _told = self.events.try_send(TunnelEvent::Closed { tunnel, reason, message });
    }

    fn item(&self) -> TunnelItem {
        let (state, peer) = match &*self.lock() {
            Progress::Waiting | Progress::Answered => (TunnelState::Waiting, None),
            Progress::Connected(peer) => (TunnelState::Connected, Some(peer.clone())),
        };
        TunnelItem {
            tunnel: self.id.to_string(),
            session: self.session.clone(),
            role: self.role,
            state,
            peer,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tunnels {
    /// Creates the transport; there are no tunnels yet.
    pub fn new(context: TunnelContext) -> Self {
        Self { context, registry: Registry::default(), places: Arc::new(Semaphore::new(limits::TUNNELS)) }
    }

    /// Number of tunnels.
    pub fn count(&self) -> usize {
        self.registry.lock().len()
    }

    /// The offer of a tunnel without its secret, for a peer that proves with `code` that it knows it already.
    pub fn offer(&self, tunnel: &str, code: &str) -> Option<Envelope> {
        let record = self.registry.find(tunnel)?;
        let known = record.secret.is_offer_code(&record.id, code);
        let waits = *record.lock() == Progress::Waiting;
        (known && waits).then(|| record.envelope.clone())
    }

    /// Takes the answer of a peer that proves with `code` that it knows the secret; `None` if it does not.
    pub async fn answer_with_code(
        &self,
        tunnel: &str,
        code: &str,
        answer: &str,
    ) -> Option<Result<(), AnswerError>> {
        let record = self.registry.find(tunnel)?;
        if !record.secret.is_answer_code(&record.id, code) {
            return None;
        }
        let answer = match read_answer(answer) {
            Ok(answer) if answer.tunnel == record.id => answer,
            Ok(_) => return Some(Err(AnswerError::Malformed("it is for another tunnel".to_owned()))),
            Err(error) => return Some(Err(error)),
        };
        Some(give(&record, answer).await)
    }

    async fn open_tunnel(&self, request: TunnelRequest) -> Result<OpenedTunnel, ErrorReply> {
        let full = |_| {
            let text = format!("there are {} tunnels already", limits::TUNNELS);
            let error = ErrorReply::new(ErrorCode::TunnelFailed, text);
            error.with_hint("`swb tunnel ls` lists them, `swb tunnel revoke` ends one")
        };
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(full)?;
        let stun = request.stun.as_ref().unwrap_or(&self.context.stun);
        let turn = request.turn.as_ref().or(self.context.turn.as_ref());
        let servers = Servers::parse(stun, turn.map(String::as_str));
        let servers = servers.map_err(|error| ErrorReply::new(ErrorCode::InvalidCommand, error))?;
        let ice = servers.for_peer().into_iter().map(IceServer::stun).collect();
        let machine_id = machine_id(&self.context.machine_id).await;
        let thread = TunnelThread::start(servers, request.turn.is_some());
        let thread =
            thread.map_err(|error| failed(format!("cannot start a thread for the tunnel: {error}")))?;
        let stopping = |_| failed("the tunnel's thread has ended".to_owned());
        let Offer { sdp, fingerprint } = thread.offer.await.map_err(stopping)?.map_err(failed)?;
        let secret = Secret::new(random::bytes());
        let id = new_id();
        let envelope = Envelope {
            version: VERSION,
            sdp: sdp.clone(),
            machine_id,
            hostname: self.context.hostname.clone(),
            tunnel: id.clone(),
            secret: None,
            ice,
        };
        let (answers, received) = mpsc::channel(1);
        // A peer that connects, and the end: two events, and room to spare.
        let (events, followed) = mpsc::channel(4);
        let left = CancellationToken::new();
        let session = match request.caller.scope() {
            Scope::Session(name) => Some(name.to_string()),
            Scope::All | Scope::Workspace(_) => None,
        };
        let record = Arc::new(Record {
            id: id.clone(),
            secret: secret.clone(),
            revoked: CancellationToken::new(),
            envelope: envelope.clone(),
            fingerprint,
            session,
            role: request.caller.role(),
            progress: Mutex::new(Progress::Waiting),
            settled: CancellationToken::new(),
            answers,
            events,
        });
        let meeting = self.publish(&envelope, &secret).await;
        let short_code = match &meeting {
            Some(meeting) => meeting.code().to_owned(),
            None => random::word(LETTERS, SHORT_CODE),
        };
        let meeting_url = meeting.as_ref().map(Rendezvous::url);
        self.registry.lock().push(Arc::clone(&record));
        let begin = Begin {
            record: Arc::clone(&record),
            registry: self.registry.clone(),
            answers: received,
            executor: self.context.executor.clone(),
            stop: self.context.stop.clone(),
            left: left.clone(),
            expires: request.expires,
            caller: request.caller,
            session: request.session,
        };
        // A thread that has ended reports nothing, and its tunnel is gone.
        let _begun = thread.begin.send(begin);
        let (ended, registry) = (thread.ended, self.registry.clone());
        let executor = &self.context.executor;
        if let Some(meeting) = meeting {
            executor.tasks.spawn_on(meet(meeting, Arc::clone(&record)), &executor.daemon);
        }
        let waiting = async move {
            let ending = ended.await.unwrap_or(TunnelEnd::Daemon.into());
            registry.remove(&record.id);
            record.settled.cancel();
            record.set_closed(ending);
            drop(place);
        };
        executor.tasks.spawn_on(waiting, &executor.daemon);
        let expires = Timestamp::of(SystemTime::now() + request.expires);
        let whole = Envelope { secret: Some(secret.clone()), ..envelope };
        let web = (self.context.web)();
        let page = web.as_ref().map_or_else(|| self.context.page.clone(), |web| format!("{web}/connect"));
        let reply = TunnelReply {
            ok: true,
            tunnel: id.to_string(),
            offer_sdp: Base64(sdp.into_bytes()),
            short_code,
            qr_data: format!("{page}#{}", pack(&whole)),
            short_url: web.map(|web| format!("{web}/connect?t={id}#{}", secret.reveal())).or(meeting_url),
            expires: Some(expires.0),
        };
        Ok(OpenedTunnel { reply, events: TunnelEvents::new(followed, left.drop_guard()) })
    }

    /// Leaves an offer at the rendezvous server, if there is one. A tunnel does without where that fails.
    async fn publish(&self, envelope: &Envelope, secret: &Secret) -> Option<Rendezvous> {
        let origin = self.context.rendezvous.clone()?;
        let publishing = async {
            let mut attempts = 0;
            loop {
                let place = Rendezvous::new(&origin, &random::word(LETTERS, SHORT_CODE), secret.clone())?;
                attempts += 1;
                match place.publish(envelope).await {
                    Ok(()) => return Ok(place),
                    Err(RendezvousError::Taken) if attempts < limits::RENDEZVOUS_CODES => {}
                    Err(error) => return Err(error),
                }
            }
        };
        match publishing.await {
            Ok(place) => Some(place),
            Err(error) => {
                tracing::warn!(%error, "a tunnel goes without the rendezvous server");
                None
            }
        }
    }
}

impl TunnelHost for Tunnels {
    fn open(&self, request: TunnelRequest) -> Later<'_, Result<OpenedTunnel, ErrorReply>> {
        Box::pin(self.open_tunnel(request))
    }

    fn answer(&self, answer: String) -> Later<'_, Result<(), AnswerError>> {
        Box::pin(async move {
            let answer = read_answer(&answer)?;
            let record = self.registry.find(answer.tunnel.as_str());
            let record = record.ok_or_else(|| AnswerError::Unknown(answer.tunnel.to_string()))?;
            give(&record, answer).await
        })
    }

    fn list(&self) -> Vec<TunnelItem> {
        self.registry.lock().iter().map(|record| record.item()).collect()
    }

    fn revoke(&self, tunnel: &str) -> bool {
        self.registry.find(tunnel).map(|record| record.revoked.cancel()).is_some()
    }
}

fn read_answer(text: &str) -> Result<Answer, AnswerError> {
    unpack(text).map_err(|error| AnswerError::Malformed(error.to_string()))
}

/// Gives a tunnel an answer, and waits until it has looked at it.
async fn give(record: &Record, answer: Answer) -> Result<(), AnswerError> {
    if *record.lock() != Progress::Waiting {
        return Err(AnswerError::Answered);
    }
    let (reply, result) = oneshot::channel();
    // One that was accepted meanwhile used the offer up.
    let gone = || match *record.lock() {
        Progress::Waiting => AnswerError::Unknown(record.id.to_string()),
        Progress::Answered | Progress::Connected(_) => AnswerError::Answered,
    };
    record.answers.send((answer, reply)).await.map_err(|_| gone())?;
    result.await.map_err(|_| gone())?
}

/// Waits for a tunnel's answer at the rendezvous server, for as long as one is needed.
async fn meet(place: Rendezvous, record: Arc<Record>) {
    let waiting = async {
        match place.answer().await {
            Ok(answer) if answer.tunnel == record.id => match give(&record, answer).await {
                Ok(()) => {}
                Err(error) => tracing::warn!(tunnel = %record.id, %error, "an answer was refused"),
            },
            Ok(_) => tracing::warn!(tunnel = %record.id, "an answer for another tunnel was refused"),
            Err(error) => {
                tracing::warn!(tunnel = %record.id, %error, "waiting for the answer at the rendezvous server failed")
            }
        }
    };
    tokio::select! {
        () = waiting => {}
        () = record.settled.cancelled() => {}
    }
    // It expires anyway, so this request is short.
    let _removed = timeout(limits::GOODBYE, place.remove()).await;
}

/// An offer that is ready to be sent.
struct Offer {
    sdp: String,
    /// Fingerprint of our certificate.
    fingerprint: String,
}

/// What a tunnel's thread needs to serve it.
struct Begin {
    record: Arc<Record>,
    registry: Registry,
    answers: mpsc::Receiver<ReceivedAnswer>,
    executor: Executor,
    stop: CancellationToken,
    left: CancellationToken,
    expires: Duration,
    caller: Caller,
    session: Option<Session>,
}

/// The thread of one tunnel: so no tunnel delays a terminal or another tunnel, and nothing is left of it.
struct TunnelThread {
    offer: oneshot::Receiver<Result<Offer, String>>,
    begin: oneshot::Sender<Begin>,
    ended: oneshot::Receiver<HostEnding>,
}

impl TunnelThread {
    fn start(servers: Servers, needs_relay: bool) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (offered, offer) = oneshot::channel();
        let (begin, begun) = oneshot::channel::<Begin>();
        let (told, ended) = oneshot::channel();
        let run = move || {
            runtime.block_on(async {
                let Prepared { link, identity, offer } = match prepare(servers, needs_relay).await {
                    Ok(prepared) => prepared,
                    Err(error) => return drop(offered.send(Err(error))),
                };
                let _sent = offered.send(Ok(offer));
                let Ok(begin) = begun.await else { return };
                let tasks = TaskTracker::new();
                let host = Host {
                    link,
                    identity,
                    is_answered: false,
                    record: begin.record,
                    registry: begin.registry,
                    answers: begin.answers,
                    expires: begin.expires,
                    executor: begin.executor,
                    caller: begin.caller,
                    session: begin.session,
                    told: None,
                    stop: begin.stop,
                    left: begin.left,
                    tasks: tasks.clone(),
                };
                let _told = told.send(host.run().await);
                tasks.close();
                // What the peer typed last; a program that does not read it gets no more.
                let _delivered = timeout(limits::DELIVER, tasks.wait()).await;
            });
        };
        std::thread::Builder::new().name("swb-tunnel".to_owned()).spawn(run)?;
        Ok(Self { offer, begin, ended })
    }
}

/// A connection that waits for its answer.
struct Prepared {
    link: PeerLink,
    identity: LinkIdentity,
    offer: Offer,
}

/// Makes an offer with all addresses at which this machine may be found. Without the relayed one that was asked for there is none.
async fn prepare(servers: Servers, needs_relay: bool) -> Result<Prepared, String> {
    let mut network =
        Network::open().map_err(|error| format!("no address of this machine can be used: {error}"))?;
    if let Err(error) = network.gather(&servers).await {
        if needs_relay {
            return Err(error);
        }
        tracing::warn!(error, "a tunnel goes without a TURN server");
    }
    let identity = LinkIdentity::new().ok_or("no certificate could be made")?;
    let mut link = PeerLink::new(network, &identity);
    let (sdp, _, _) = link.offer(CONTROL_LABEL).ok_or("no offer could be made")?;
    let fingerprint = sdp::fingerprint(&sdp).ok_or("the offer has no fingerprint")?;
    Ok(Prepared { link, identity, offer: Offer { sdp, fingerprint } })
}

fn failed(text: String) -> ErrorReply {
    ErrorReply::new(ErrorCode::TunnelFailed, text)
}

/// A new name; never one that looks like an option on a command line.
fn new_id() -> TunnelId {
    loop {
        if let Some(id) = TunnelId::new(&random::word(LETTERS, 16)) {
            return id;
        }
    }
}

/// The id of this machine, which is made when it is first needed.
async fn machine_id(path: &Path) -> String {
    let read = file_access::run(path, read_or_create).await;
    match read {
        Ok(Ok(id)) => id,
        Ok(Err(error)) => {
            tracing::warn!(%error, path = %path.display(), "cannot keep the id of this machine");
            random::word(LETTERS, 32)
        }
        Err(error) => {
            tracing::warn!(%error, "cannot keep the id of this machine");
            random::word(LETTERS, 32)
        }
    }
}

fn read_or_create(path: &Path) -> io::Result<String> {
    for _ in 0..2 {
        match file_access::read_text(path, limits::MACHINE_ID) {
            Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
            // Of a write that was cut short.
            Ok(_) => std::fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let id = random::word(LETTERS, 32);
        match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(mut file) => {
                file.write_all(format!("{id}\n").as_bytes())?;
                return Ok(id);
            }
            // Another daemon was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("it changes while it is read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_machine_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("coop/machine_id");
        let id = read_or_create(&path).unwrap();
        assert_eq!((id.len(), read_or_create(&path).unwrap()), (32, id));
        std::fs::write(&path, "\n").unwrap();
        assert_eq!(read_or_create(&path).unwrap().len(), 32, "an empty file is replaced");
        std::fs::write(&path, " of another program\n").unwrap();
        assert_eq!(read_or_create(&path).unwrap(), "of another program", "what is there is kept");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), " of another program\n");
    }
}
