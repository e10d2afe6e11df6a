//! One listening address: accepts connections and serves their requests.

use crate::access::Connection;
use crate::certificate::TlsIdentity;
use crate::limits;
use crate::places::WebConnection;
use crate::site::Site;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A server at one address.
pub(crate) struct Server {
    pub(crate) site: Arc<Site>,
    pub(crate) router: Router,
    pub(crate) address: SocketAddr,
    pub(crate) identity: Option<TlsIdentity>,
    /// Cancelled when the server stops.
    pub(crate) stop: CancellationToken,
    /// Owns the connections.
    pub(crate) tasks: TaskTracker,
}

impl Server {
    /// Accepts connections until the server stops.
    pub(crate) async fn run(self, listener: std::net::TcpListener) -> io::Result<()> {
        let listener = TcpListener::from_std(listener)?;
        let server = Arc::new(self);
        loop {
            let accepted = tokio::select! {
                () = server.stop.cancelled() => return Ok(()),
                accepted = listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection on the web");
                    tokio::time::sleep(limits::ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let place = server.site.places.take(peer.ip().to_canonical());
            let serving = Arc::clone(&server).serve(stream, peer, place);
            server.tasks.spawn(serving);
        }
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, peer: SocketAddr, place: WebConnection) {
        // A key must not wait for the acknowledgement of the one before.
        let _set = stream.set_nodelay(true);
        let bound = self.address.ip();
        let local = stream.local_addr().map_or(bound, |local| local.ip());
        let place = Arc::new(place);
        let connection = Connection {
            peer: peer.ip().to_canonical(),
            ours: own_addresses(bound, local),
            port: self.address.port(),
            tls: self.identity.is_some(),
            stop: self.stop.clone(),
            daemon_stop: self.site.context.stop.clone(),
            place: Arc::clone(&place),
        };
        let served = async {
            match &self.identity {
                None => self.requests(stream, connection).await,
                Some(identity) => {
                    let handshake = timeout(limits::REQUEST_HEAD, identity.acceptor.accept(stream));
                    if let Ok(Ok(stream)) = handshake.await {
                        self.requests(stream, connection).await;
                    }
                }
            }
        };
        tokio::select! {
            () = served => {}
            () = place.displaced.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
    }

    async fn requests(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        connection: Connection,
    ) {
        serve_requests(self.router.clone(), stream, move |request| {
            request.extensions_mut().insert(connection.clone());
        })
        .await;
    }
}

/// Serves the requests of a connection to its end, or until it becomes a WebSocket; `mark` adds who sends them.
pub(crate) async fn serve_requests(
    router: Router,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    mark: impl Fn(&mut Request<Body>),
) {
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        use tower_service::Service;
        let mut request = request.map(Body::new);
        mark(&mut request);
        // A router is always ready.
        router.clone().call(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::REQUEST_HEAD)
        .max_buf_size(limits::REQUEST_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = served.await {
        tracing::debug!(%error, "a web connection ended early");
    }
}

/// The addresses under which a peer may name the server: the one it is bound to, and the one the peer reached.
fn own_addresses(bound: IpAddr, local: IpAddr) -> Vec<IpAddr> {
    let mut addresses = vec![local.to_canonical(), local];
    if !bound.is_unspecified() {
        addresses.push(bound);
    }
    addresses.dedup();
    addresses
}
