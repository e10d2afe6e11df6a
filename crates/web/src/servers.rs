//! The addresses that are served, and what a later daemon needs to serve them again.

use crate::certificate::{self, TlsIdentity};
use crate::limits;
use crate::server::Server;
use crate::site::{self, Site, WebContext};
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use swb_operations::Operations;
use swb_operations::tokens::new_token;
use swb_wire::control::{ErrorCode, ErrorReply, Serve, ServeReply, WebStatus};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// Holds descriptors across a crash of the daemon.
pub trait WebKeeping: Send + Sync {
    /// Keeps the listening socket of server `number`.
    fn keep(&self, number: u16, listener: OwnedFd);
    /// No longer keeps it.
    fn release(&self, number: u16);
    /// The list of servers has changed, and is to be kept, too.
    fn changed(&self);
}

/// A server as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptServer {
    /// Its number with the keeper.
    pub number: u16,
    host: String,
    tls: bool,
    token: String,
}

/// All servers as they are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptServers {
    /// The servers.
    pub servers: Vec<KeptServer>,
}

/// Why an address is not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The host has no address.
    #[error("cannot find the address of host '{0}': {1}")]
    Host(String, String),
    /// The address cannot be bound.
    #[error("cannot listen on {0}: {1}")]
    Bind(SocketAddr, io::Error),
    /// The address is served already, but not in this way.
    #[error("{0} is served already, {1} TLS; stop the servers with `swb serve --stop` first")]
    Differs(SocketAddr, &'static str),
    /// No certificate.
    #[error("{0}")]
    Certificate(String),
    /// Too many servers.
    #[error("there are {0} web servers already; stop them with `swb serve --stop`")]
    TooMany(usize),
    /// The token is empty or too long.
    #[error("a token has 1 to {0} characters and no control characters")]
    Token(usize),
    /// The thread of the web transport could not be started.
    #[error("cannot start the web transport: {0}")]
    Thread(io::Error),
}

impl From<ServeError> for ErrorReply {
    fn from(error: ServeError) -> Self {
        let code = match &error {
            ServeError::Token(_) => ErrorCode::InvalidCommand,
            ServeError::TooMany(_) => ErrorCode::LimitReached,
            ServeError::Certificate(_) | ServeError::Thread(_) => ErrorCode::InternalError,
            // CO-44
            ServeError::Host(..) | ServeError::Bind(..) | ServeError::Differs(..) => ErrorCode::BindFailed,
        };
        let reply = Self::new(code, error.to_string());
        match error {
            ServeError::Bind(..) => reply.with_hint("`--port 0` takes any free port"),
            _ => reply,
        }
    }
}

/// The web servers of a daemon.
pub struct Servers {
    site: Arc<Site>,
    keeping: Box<dyn WebKeeping>,
    running: Mutex<Vec<Running>>,
    /// The runtime of the web transport, started with the first server.
    runtime: OnceLock<Handle>,
}

struct Running {
    kept: KeptServer,
    address: SocketAddr,
    fingerprint: Option<String>,
    stop: CancellationToken,
}

impl Running {
    fn reply(&self) -> ServeReply {
        ServeReply {
            ok: true,
            port: self.address.port(),
            host: self.kept.host.clone(),
            token: self.kept.token.clone(),
            fingerprint: self.fingerprint.clone(),
            addresses: reachable_addresses(self.address.ip()),
        }
    }
}

impl Servers {
    /// Creates the transport; nothing is served yet.
    pub fn new(context: WebContext, keeping: Box<dyn WebKeeping>) -> Self {
        let site = Arc::new(Site::new(context));
        Self { site, keeping, running: Mutex::default(), runtime: OnceLock::new() }
    }

    /// Serves an address; one that is served already gets the running server's data (CO-42).
    pub async fn serve(&self, serve: Serve) -> Result<ServeReply, ServeError> {
        let address = resolve(serve.host(), serve.port()).await?;
        if let Some(reply) = self.running_at(address, serve.tls)? {
            return Ok(reply);
        }
        let token = match serve.token {
            Some(token)
                if token.is_empty() || token.len() > limits::TOKEN || token.chars().any(char::is_control) =>
            {
                return Err(ServeError::Token(limits::TOKEN));
            }
            Some(token) => token,
            None => new_token(),
        };
        let number = self.free_number()?;
        let listener = TcpListener::bind(address).map_err(|error| ServeError::Bind(address, error))?;
        let host = serve.host.unwrap_or_else(|| address.ip().to_string());
        let kept = KeptServer { number, host, tls: serve.tls, token };
        let copy = listener.try_clone().map_err(|error| ServeError::Bind(address, error))?;
        let reply = self.start(kept, listener).await?;
        self.keeping.keep(number, copy.into());
        self.keeping.changed();
        Ok(reply)
    }

    /// Serves an address again on a listening socket of an earlier daemon.
    pub async fn resume(&self, kept: KeptServer, listener: OwnedFd) -> Result<(), ServeError> {
        self.start(kept, listener.into()).await.map(drop)
    }

    /// Stops all servers and closes their connections; returns their number.
    pub fn stop(&self) -> u32 {
        let stopped = std::mem::take(&mut *self.lock());
        for server in &stopped {
            server.stop.cancel();
            self.keeping.release(server.kept.number);
        }
        self.site.context.tokens.remove_owners();
        self.keeping.changed();
        stopped.len() as u32
    }

    /// The servers as a later daemon needs them.
    pub fn kept(&self) -> KeptServers {
        KeptServers { servers: self.lock().iter().map(|server| server.kept.clone()).collect() }
    }

    /// Where a peer reaches the site best: scheme, host and port of the server that most machines can reach.
    pub fn address(&self) -> Option<String> {
        let running = self.lock();
        let far = |server: &&Running| u8::from(!server.address.ip().is_loopback());
        let server = running.iter().max_by_key(far)?;
        let scheme = if server.kept.tls { "https" } else { "http" };
        let found = reachable_addresses(server.address.ip()).into_iter().next();
        let host = match found.and_then(|host| host.parse().ok()).unwrap_or(server.address.ip()) {
            IpAddr::V6(host) => format!("[{host}]"),
            host => host.to_string(),
        };
        Some(format!("{scheme}://{host}:{}", server.address.port()))
    }

    /// Executes the operations of all web clients.
    pub fn operations(&self) -> &Operations {
        &self.site.context.operations
    }

    /// The servers as `status` shows them.
    pub fn status(&self) -> Vec<WebStatus> {
        let connections = self.site.places.count() as u32;
        let status = |server: &Running| WebStatus {
            host: server.kept.host.clone(),
            port: server.address.port(),
            tls: server.kept.tls,
            connections,
        };
        self.lock().iter().map(status).collect()
    }

    async fn start(&self, kept: KeptServer, listener: TcpListener) -> Result<ServeReply, ServeError> {
        let unusable = |error| ServeError::Bind(SocketAddr::from(([0, 0, 0, 0], 0)), error);
        let address = listener.local_addr().map_err(unusable)?;
        listener.set_nonblocking(true).map_err(|error| ServeError::Bind(address, error))?;
        let identity = match kept.tls {
            true => Some(self.identity().await?),
            false => None,
        };
        let runtime = self.runtime()?;
        let stop = self.site.context.stop.child_token();
        let fingerprint = identity.as_ref().map(|identity| identity.fingerprint.clone());
        let running = Running { kept, address, fingerprint, stop: stop.clone() };
        let reply = running.reply();
        self.site.context.tokens.add_owner(&running.kept.token);
        self.lock().push(running);
        let tasks = self.site.context.tasks.clone();
        let router = site::router(&self.site);
        let server =
            Server { site: Arc::clone(&self.site), router, address, identity, stop, tasks: tasks.clone() };
        let serving = async move {
            if let Err(error) = server.run(listener).await {
                tracing::error!(%error, %address, "a web server has ended");
            }
        };
        tasks.spawn_on(serving, runtime);
        tracing::info!(%address, tls = reply.fingerprint.is_some(), "serving the web");
        Ok(reply)
    }

    async fn identity(&self) -> Result<TlsIdentity, ServeError> {
        let context = &self.site.context;
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        names.extend(context.hosts.iter().cloned());
        certificate::identity(&context.certificates, names).await.map_err(ServeError::Certificate)
    }

    fn running_at(&self, address: SocketAddr, tls: bool) -> Result<Option<ServeReply>, ServeError> {
        let running = self.lock();
        let Some(server) = running.iter().find(|server| server.address == address) else { return Ok(None) };
        match (server.kept.tls, tls) {
            (true, false) => Err(ServeError::Differs(address, "with")),
            (false, true) => Err(ServeError::Differs(address, "without")),
            _ => Ok(Some(server.reply())),
        }
    }

    fn free_number(&self) -> Result<u16, ServeError> {
        let running = self.lock();
        let taken = |number: &u16| running.iter().any(|server| server.kept.number == *number);
        let free = (0..limits::SERVERS as u16).find(|number| !taken(number));
        free.ok_or(ServeError::TooMany(limits::SERVERS))
    }

    /// The runtime of the web transport: one thread, so that no request delays a terminal.
    fn runtime(&self) -> Result<&Handle, ServeError> {
        if let Some(handle) = self.runtime.get() {
            return Ok(handle);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ServeError::Thread)?;
        let (handle, stop) = (runtime.handle().clone(), self.site.context.stop.clone());
        let tasks = self.site.context.tasks.clone();
        let run = move || {
            runtime.block_on(async {
                stop.cancelled().await;
                // The goodbyes of open connections; the daemon waits for them for a limited time.
                tasks.wait().await;
            });
        };
        std::thread::Builder::new().name("swb-web".to_owned()).spawn(run).map_err(ServeError::Thread)?;
        Ok(self.runtime.get_or_init(|| handle))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address of a host; of several the first, IPv4 before IPv6 for `localhost`.
async fn resolve(host: &str, port: u16) -> Result<SocketAddr, ServeError> {
    let name = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let failed = |why: String| ServeError::Host(host.to_owned(), why);
    let found = tokio::time::timeout(limits::RESOLVE, tokio::net::lookup_host((name, port))).await;
    let found = found.map_err(|_| failed("the search timed out".to_owned()))?;
    let mut addresses: Vec<SocketAddr> = found.map_err(|error| failed(error.to_string()))?.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.first().copied().ok_or_else(|| failed("it has none".to_owned()))
}

/// Addresses at which other machines may reach a server that is bound to all of them, the one that packets to elsewhere
/// leave from first: it is the most likely one.
fn reachable_addresses(bound: IpAddr) -> Vec<String> {
    if !bound.is_unspecified() {
        return Vec::new();
    }
    let mut found = swb_operations::reachable_addresses().unwrap_or_default();
    found.retain(|address| bound.is_ipv6() || address.is_ipv4());
    let main = main_address();
    found.sort_by_key(|address| Some(*address) != main);
    found.truncate(limits::ADDRESSES);
    found.iter().map(IpAddr::to_string).collect()
}

/// The address that packets to elsewhere leave from. No packet is sent to find it.
fn main_address() -> Option<IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // An address that is reserved for documentation.
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_names_those_of_its_kind() {
        assert_eq!(reachable_addresses([127, 0, 0, 1].into()), Vec::<String>::new());
        let four = reachable_addresses([0, 0, 0, 0].into());
        assert!(four.iter().all(|address| address.parse::<IpAddr>().unwrap().is_ipv4()), "{four:?}");
        let all = reachable_addresses("::".parse().unwrap());
        assert!(four.iter().all(|address| all.contains(address)), "{four:?} {all:?}");
    }
}
