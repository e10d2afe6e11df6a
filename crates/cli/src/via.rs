//! `--via`: commands that reach another machine through a tunnel.
//!
//! A thread holds this end of the tunnel and listens as a daemon would, in a private directory; the command itself works as
//! with the daemon of this machine.

use crate::console::eprint_text;
use crate::context::Context;
use crate::error::Failure;
use crate::limits;
use crate::start_daemon;
use std::fs::{self, DirBuilder};
use std::io;
use std::net::IpAddr;
use std::ops::Deref;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use swb_tunnel::guest::{self, Ended, Guest};
use swb_tunnel::http;
use swb_tunnel::rendezvous::{Rendezvous, RendezvousError};
use swb_types::Paths;
use swb_wire::control::{ErrorCode, ErrorReply, TunnelEnd};
use swb_wire::tunnel::{Envelope, Secret, TunnelId, unpack};
use tokio::net::UnixListener;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

/// The context of a command, on this machine or on another one.
pub(crate) struct Reached {
    context: Context,
    /// The tunnel; it ends with the command.
    _tunnel: Option<OpenTunnel>,
}

impl Deref for Reached {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

/// Opens the tunnel at `url`, if there is one.
pub(crate) fn reach(context: Context, url: Option<&str>) -> Result<Reached, Failure> {
    let Some(url) = url else { return Ok(Reached { context, _tunnel: None }) };
    let address = TunnelAddress::parse(url)?;
    start_daemon::prepare_run_dir(&context.paths.run_dir())?;
    let dir = PrivateDir::create(&context.paths.run_dir())?;
    let paths = Paths { runtime: Some(dir.path.clone()), ..context.paths.clone() };
    let ended = Ended::default();
    let tunnel = OpenTunnel::open(address, paths.control_socket(), dir, ended.clone())?;
    Ok(Reached { context: Context { paths, remote: Some(ended), ..context }, _tunnel: Some(tunnel) })
}

/// Where a tunnel's offer is.
enum TunnelAddress {
    /// In the address itself. A web server may be there, too.
    Whole { envelope: Box<Envelope>, secret: Secret, origin: Option<String> },
    /// At a web server.
    Short { origin: String, tunnel: TunnelId, secret: Secret },
    /// At a rendezvous server, sealed.
    Code { origin: String, code: String, secret: Secret },
}

impl TunnelAddress {
    fn parse(url: &str) -> Result<Self, Failure> {
        let bad = |why: &str| {
            Failure::usage(format!("this is not the address of a tunnel: {why}"))
                .hint("`swb tunnel` on the other machine prints one; copy all of it, in quotes")
        };
        let (page, fragment) = url.split_once('#').ok_or_else(|| bad("the part after # is missing"))?;
        let (path, query) = page.split_once('?').unwrap_or((page, ""));
        let web = path.starts_with("http://") || path.starts_with("https://");
        let origin = path.strip_suffix("/connect").filter(|_| web).map(str::to_owned);
        let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name));
        if value("t=").or(value("c=")).is_some() {
            let secret = Secret::parse(fragment).ok_or_else(|| bad("the secret is not complete"))?;
            let origin = origin.ok_or_else(|| bad("it does not name a web server"))?;
            if let Some(code) = value("c=") {
                let valid = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
                let code = valid.then(|| code.to_ascii_lowercase());
                let code = code.ok_or_else(|| bad("the short code is not valid"))?;
                return Ok(Self::Code { origin, code, secret });
            }
            let tunnel = value("t=").and_then(TunnelId::new);
            let tunnel = tunnel.ok_or_else(|| bad("the tunnel's name is not valid"))?;
            return Ok(Self::Short { origin, tunnel, secret });
        }
        let envelope: Envelope = unpack(fragment).map_err(|error| bad(&error.to_string()))?;
        let secret = envelope.secret.clone().ok_or_else(|| bad("the secret is missing"))?;
        Ok(Self::Whole { envelope: Box::new(envelope), secret, origin })
    }
}

/// Why a tunnel has ended, as far as the host has said so.
pub(crate) fn why(ended: &Ended) -> String {
    let reason = match ended.get() {
        None => return "the tunnel has ended".to_owned(),
        Some(TunnelEnd::Peer) => "`swb tunnel` on the other machine has ended",
        Some(TunnelEnd::Revoked) => "it was revoked on the other machine",
        Some(TunnelEnd::Session) => "its session has ended",
        Some(TunnelEnd::Daemon) => "the daemon of the other machine stops or restarts",
        Some(TunnelEnd::Refused) => "it carried more than the other machine could handle",
        Some(TunnelEnd::Expired) => "nobody connected in time",
    };
    format!("the tunnel has ended: {reason}")
}

/// The thread that holds this end of a tunnel.
struct OpenTunnel {
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
    _dir: PrivateDir,
}

impl OpenTunnel {
    fn open(address: TunnelAddress, socket: PathBuf, dir: PrivateDir, ended: Ended) -> Result<Self, Failure> {
        let stop = CancellationToken::new();
        let (told, ready) = mpsc::sync_channel::<Result<(), Failure>>(1);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let stopped = stop.clone();
        let run = move || {
            runtime.block_on(async {
                let opened: Result<_, Failure> = async {
                    let guest = connect(address).await?;
                    let listener = UnixListener::bind(&socket);
                    Ok((
                        guest,
                        listener.map_err(|error| Failure::io("cannot listen for the tunnel", &error))?,
                    ))
                }
                .await;
                match opened {
                    Ok((guest, listener)) => {
                        let _told = told.send(Ok(()));
                        guest.serve(listener, stopped, ended).await;
                    }
                    Err(failure) => drop(told.send(Err(failure))),
                }
            });
        };
        let thread = std::thread::Builder::new().name("swb-via".to_owned()).spawn(run)?;
        let ended = || Failure::general("the tunnel could not be opened");
        ready.recv().map_err(|_| ended())??;
        Ok(Self { stop, thread: Some(thread), _dir: dir })
    }
}

impl Drop for OpenTunnel {
    /// Closes the connection to the other machine in order, so that it notices at once.
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// How the answer gets to the host.
enum Way {
    /// By hand.
    Person,
    /// Through the host's web server, if it is there.
    Web(String),
    Rendezvous(Rendezvous),
}

async fn connect(address: TunnelAddress) -> Result<Guest, Failure> {
    let (envelope, secret, way) = match address {
        TunnelAddress::Whole { envelope, secret, origin } => {
            // A loopback address is that of the other machine: here, it would lead to a server that knows nothing of the tunnel.
            let reached = origin.filter(|origin| !is_loopback(origin) || envelope.hostname == nodename());
            (envelope, secret, reached.map_or(Way::Person, Way::Web))
        }
        TunnelAddress::Short { origin, tunnel, secret } => {
            let envelope = Box::new(fetch_offer(&origin, &tunnel, &secret).await?);
            (envelope, secret, Way::Web(origin))
        }
        TunnelAddress::Code { origin, code, secret } => {
            let place = Rendezvous::new(&origin, &code, secret.clone()).map_err(at_rendezvous)?;
            let envelope = Box::new(place.fetch_offer().await.map_err(at_rendezvous)?);
            (envelope, secret, Way::Rendezvous(place))
        }
    };
    let failed = |error: guest::GuestError| Failure::general(error.to_string());
    let answering = guest::answer(&envelope, secret.clone()).await.map_err(failed)?;
    let delivered = match &way {
        Way::Web(origin) => send_answer(origin, &envelope.tunnel, &secret, &answering.answer).await,
        Way::Rendezvous(place) => {
            place.send_answer(&answering.answer).await.map_err(at_rendezvous)?;
            Ok(())
        }
        Way::Person => Err(None),
    };
    let limit = match delivered {
        Ok(()) => limits::TUNNEL_CONNECT,
        Err(Some(refusal)) => {
            return Err(Failure::general(refusal).hint("`swb tunnel` on the other machine opens a new one"));
        }
        Err(None) => {
            let host = swb_vt::printable(&envelope.hostname).into_owned();
            eprint_text(&format!(
                "Paste this answer into the waiting `swb tunnel` on {host}, or give it to `swb tunnel --answer`:\n\n{}\n\n",
                answering.answer
            ));
            limits::TUNNEL_PASTE
        }
    };
    answering.connect(limit, Some(nodename())).await.map_err(failed)
}

/// The name of this machine.
fn nodename() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether a server is on the machine on which its address is used.
fn is_loopback(origin: &str) -> bool {
    let url = reqwest::Url::parse(origin).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn at_rendezvous(error: RendezvousError) -> Failure {
    let failure = Failure::general(error.to_string());
    match error {
        RendezvousError::Unknown | RendezvousError::Answered => {
            failure.hint("`swb tunnel` on the other machine opens a new one")
        }
        _ => failure.hint("the long address that `swb tunnel --json` prints needs no server"),
    }
}

async fn fetch_offer(origin: &str, tunnel: &TunnelId, secret: &Secret) -> Result<Envelope, Failure> {
    let url = format!("{origin}/api/tunnel/{tunnel}/offer");
    let reply =
        client()?.get(url).bearer_auth(secret.offer_code(tunnel)).timeout(limits::TUNNEL_HTTP).send().await;
    let unreachable = |error: reqwest::Error| {
        Failure::general(format!("cannot reach {origin}: {}", http::cause(&error)))
            .hint("the long address that `swb tunnel --json` prints needs no web server")
    };
    let reply = reply.map_err(unreachable)?;
    if !reply.status().is_success() {
        return Err(Failure::general("no tunnel waits at this address; it may have expired or been used")
            .hint("`swb tunnel` on the other machine opens a new one"));
    }
    let body = http::body(reply, limits::TUNNEL_ANSWER).await.map_err(unreachable)?;
    let body = body.ok_or_else(|| Failure::general("invalid offer: it is too long"))?;
    serde_json::from_slice(&body).map_err(|error| Failure::general(format!("invalid offer: {error}")))
}

/// Returns the answer through the web server; `Err(None)` if there is none that knows the tunnel.
async fn send_answer(
    origin: &str,
    tunnel: &TunnelId,
    secret: &Secret,
    answer: &str,
) -> Result<(), Option<String>> {
    let url = format!("{origin}/api/tunnel/{tunnel}/answer");
    let client = client().map_err(|_| None)?;
    let reply = client
        .post(url)
        .timeout(limits::TUNNEL_HTTP)
        .bearer_auth(secret.answer_code(tunnel))
        .body(answer.to_owned())
        .send()
        .await;
    let reply = reply.map_err(|_| None)?;
    match reply.status().as_u16() {
        200 => Ok(()),
        409 => Err(Some("the tunnel was used already".to_owned())),
        400 => Err(Some(
            "the other machine does not understand our answer; are both versions the same?".to_owned(),
        )),
        // Of a daemon; any other server may reply to any path with anything.
        403 if is_forbidden(reply).await => {
            Err(Some("no tunnel waits at this address; it may have expired or been used".to_owned()))
        }
        _ => Err(None),
    }
}

/// Whether a reply is the error of a daemon.
async fn is_forbidden(reply: reqwest::Response) -> bool {
    let body = http::body(reply, limits::TUNNEL_ANSWER).await.ok().flatten().unwrap_or_default();
    serde_json::from_slice::<ErrorReply>(&body).is_ok_and(|error| error.error == ErrorCode::Forbidden)
}

fn client() -> Result<reqwest::Client, Failure> {
    let failed = |error| Failure::general(format!("cannot open HTTP connections: {}", http::cause(&error)));
    // The server is on the other machine itself, not behind a proxy.
    http::client(limits::TUNNEL_HTTP).no_proxy().build().map_err(failed)
}

/// A directory that only we can enter; removed at the end.
struct PrivateDir {
    path: PathBuf,
}

impl PrivateDir {
    fn create(parent: &Path) -> Result<Self, Failure> {
        let path = parent.join(format!("via-{}", std::process::id()));
        let create = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        // One of an earlier process with our number.
        let _removed = fs::remove_dir_all(&path);
        let made: io::Result<()> = create(&path).and_then(|()| create(&path.join("switchboard")));
        made.map_err(|error| Failure::io(format!("cannot create {}", path.display()), &error))?;
        Ok(Self { path })
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // Nothing in it lasts.
        let _removed = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::tunnel::{VERSION, pack};

    #[test]
    fn addresses_of_the_loopback_are_recognised() {
        for here in ["http://127.0.0.1:8888", "http://[::1]:80", "https://localhost", "http://127.8.8.8"] {
            assert!(is_loopback(here), "{here}");
        }
        for elsewhere in
            ["http://10.0.0.2:8888", "https://[fd00::2]", "https://localhost.example", "nonsense"]
        {
            assert!(!is_loopback(elsewhere), "{elsewhere}");
        }
    }

    fn envelope(secret: Option<Secret>) -> Envelope {
        Envelope {
            version: VERSION,
            sdp: "v=0\r\n".to_owned(),
            machine_id: "m".to_owned(),
            hostname: "desk".to_owned(),
            tunnel: TunnelId::new("tunnel-1").unwrap(),
            secret,
            ice: Vec::new(),
        }
    }

    #[test]
    fn addresses_are_long_or_short() {
        let secret = Secret::new([3; 32]);
        let long = format!("http://10.0.0.2:8888/connect#{}", pack(&envelope(Some(secret.clone()))));
        match TunnelAddress::parse(&long).unwrap() {
            TunnelAddress::Whole { envelope, origin, .. } => {
                assert_eq!(
                    (envelope.hostname.as_str(), origin.as_deref()),
                    ("desk", Some("http://10.0.0.2:8888"))
                );
            }
            TunnelAddress::Short { .. } | TunnelAddress::Code { .. } => panic!("a long address"),
        }
        let short = format!("https://[fd00::2]:8888/connect?t=tunnel-1#{}", secret.reveal());
        assert!(matches!(TunnelAddress::parse(&short).unwrap(), TunnelAddress::Short { .. }));
        let code = format!("https://meet.example.net/connect?c=abc123#{}", secret.reveal());
        let parsed = TunnelAddress::parse(&code).unwrap();
        assert!(matches!(parsed, TunnelAddress::Code { code, .. } if code == "abc123"));
    }

    #[test]
    fn the_end_of_a_tunnel_has_a_reason_if_the_host_gave_one() {
        let ended = Ended::default();
        assert_eq!(why(&ended), "the tunnel has ended");
        ended.set(TunnelEnd::Revoked).unwrap();
        assert_eq!(why(&ended), "the tunnel has ended: it was revoked on the other machine");
    }

    #[test]
    fn anything_else_is_explained() {
        let without = format!("http://h/connect#{}", pack(&envelope(None)));
        for bad in
            ["", "http://h/connect", "http://h/connect#x y", "http://h/connect?t=tunnel-1#short", &without]
        {
            let failure = TunnelAddress::parse(bad).map(|_| ()).unwrap_err();
            assert!(failure.to_string().contains("not the address of a tunnel"), "{bad}: {failure}");
        }
    }
}
