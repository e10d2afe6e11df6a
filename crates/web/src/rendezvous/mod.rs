//! A rendezvous server: passes offers and answers of tunnels on between machines that have no other way for them.
//!
//! It keeps them sealed, in memory only, for five minutes and one reader each, and cannot open them: the key is in the
//! fragment of an address that it never gets. Every user may run one, and every client may use it; `board.rs` has what waits, and this
//! file its paths. Specified in `docs/protocols/tunnel.md`.

mod board;
mod limits;

use crate::access::{self, bearer};
use crate::failures::Failures;
use crate::pages;
use crate::server::serve_requests;
use crate::signalling::preflight;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Extension, Json};
use board::{Board, Publication, Refusal, Waiting};
use serde::Deserialize;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use swb_wire::control::{ErrorCode, ErrorReply, OkReply};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// What all requests share.
#[derive(Default)]
struct Rendezvous {
    board: Mutex<Board>,
    /// Requests for what is not there.
    failures: Failures,
    connections: Mutex<HashMap<IpAddr, usize>>,
}

impl Rendezvous {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reply to a request for what is not there, the same for every reason: it comes later with each attempt of an address.
    async fn unknown(&self, from: IpAddr) -> Response {
        tokio::time::sleep(self.failures.count(from, Instant::now())).await;
        error(StatusCode::NOT_FOUND, ErrorCode::Forbidden, "nothing waits here under this code")
    }
}

/// Whose request it is, for limits.
#[derive(Debug, Clone, Copy)]
struct From(IpAddr);

/// Serves until the process ends.
pub async fn serve(listener: std::net::TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let state = Arc::new(Rendezvous::default());
    let router = router(&state);
    let (tasks, forgetting) = (TaskTracker::new(), Arc::clone(&state));
    tasks.spawn(async move {
        loop {
            tokio::time::sleep(limits::SWEEP).await;
            forgetting.board().forget_expired(Instant::now());
        }
    });
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(crate::limits::ACCEPT_PAUSE).await;
                continue;
            }
        };
        // One that finds no place is closed.
        if let Some(place) = AddressPermit::take(&state, peer.ip().to_canonical()) {
            tasks.spawn(requests(router.clone(), stream, place));
        }
    }
}

async fn requests(router: Router, stream: TcpStream, place: AddressPermit) {
    let peer = place.address;
    serve_requests(router, stream, move |request| {
        let from = From(sender(peer, request.headers()));
        request.extensions_mut().insert(from);
    })
    .await;
    drop(place);
}

/// The place of a connection, until it is dropped.
struct AddressPermit {
    state: Arc<Rendezvous>,
    address: IpAddr,
}

impl AddressPermit {
    fn take(state: &Arc<Rendezvous>, address: IpAddr) -> Option<Self> {
        let mut connections = state.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let own = connections.get(&address).copied().unwrap_or(0);
        let all: usize = connections.values().sum();
        // A proxy of this machine has the connections of everybody.
        let most = if address.is_loopback() { limits::CONNECTIONS } else { limits::CONNECTIONS_OF_ADDRESS };
        if own >= most || all >= limits::CONNECTIONS {
            return None;
        }
        connections.insert(address, own + 1);
        Some(Self { state: Arc::clone(state), address })
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut connections = self.state.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = connections.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                connections.remove(&self.address);
            }
        }
    }
}

/// Whom limits are for: the peer, or whom a proxy on this machine names. One who has a network of IPv6 has all its addresses.
fn sender(peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let forwarded = headers.get("x-forwarded-for").filter(|_| peer.is_loopback());
    // The last one is what the proxy saw itself; those before are as it received them.
    let named = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    match named.unwrap_or(peer).to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

fn router(state: &Arc<Rendezvous>) -> Router {
    Router::new()
        .route("/healthz", get(pages::health))
        .route("/connect", get(pages::connect_page))
        .route("/api/rendezvous/{code}", put(publish).delete(remove).options(preflight))
        .route("/api/rendezvous/{code}/offer", get(offer).options(preflight))
        .route("/api/rendezvous/{code}/answer", get(wait).post(answer).options(preflight))
        .fallback(pages::asset)
        .method_not_allowed_fallback(pages::wrong_method)
        .layer(map_response(with_headers))
        .with_state(Arc::clone(state))
}

/// Pages of all sites may read everything here: what is worth reading is sealed.
async fn with_headers(response: Response) -> Response {
    let mut response = access::with_security_headers(response);
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    let name = axum::http::HeaderName::from_static("cross-origin-resource-policy");
    response.headers_mut().insert(name, HeaderValue::from_static("cross-origin"));
    response
}

/// What a host sends.
#[derive(Deserialize)]
struct Published {
    offer: String,
    host: String,
    peer: String,
}

/// `PUT /api/rendezvous/{code}`
async fn publish(
    State(state): State<Arc<Rendezvous>>,
    Extension(From(from)): Extension<From>,
    Path(code): Path<String>,
    body: Body,
) -> Response {
    let body = match read(body).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let Ok(Published { offer, host, peer }) = serde_json::from_slice(&body) else {
        return malformed("send a JSON object with 'offer', 'host' and 'peer'");
    };
    let is_code = |text: &str| (16..=limits::CODE).contains(&text.len());
    if !is_short_code(&code) || !is_code(&host) || !is_code(&peer) || host == peer || !is_sealed(&offer) {
        return malformed("a short code has six letters or digits, and an offer is sealed");
    }
    let published = state.board().publish(&code, Publication { offer, host, peer }, from, Instant::now());
    match published {
        Ok(()) => (StatusCode::CREATED, Json(OkReply::default())).into_response(),
        Err(Refusal::Taken) => {
            // Slow, since it reveals which codes are in use.
            tokio::time::sleep(state.failures.count(from, Instant::now())).await;
            error(StatusCode::CONFLICT, ErrorCode::InvalidCommand, "this code is in use; choose another")
        }
        Err(Refusal::Share) => error(
            StatusCode::TOO_MANY_REQUESTS,
            ErrorCode::LimitReached,
            "too many offers of this address are waiting; try again in a few minutes",
        ),
        Err(_) => error(
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::LimitReached,
            "the server holds as many offers as it can; try again in a few minutes",
        ),
    }
}

/// `DELETE /api/rendezvous/{code}`
async fn remove(
    State(state): State<Arc<Rendezvous>>,
    Extension(From(from)): Extension<From>,
    Path(code): Path<String>,
    headers: HeaderMap,
) -> Response {
    let removed = state.board().remove(&code, bearer(&headers), Instant::now());
    if removed { StatusCode::NO_CONTENT.into_response() } else { state.unknown(from).await }
}

/// `GET /api/rendezvous/{code}/offer`
async fn offer(
    State(state): State<Arc<Rendezvous>>,
    Extension(From(from)): Extension<From>,
    Path(code): Path<String>,
    headers: HeaderMap,
) -> Response {
    let offer = state.board().take_offer(&code, bearer(&headers), Instant::now());
    match offer {
        Some(offer) => sealed(offer),
        None => state.unknown(from).await,
    }
}

/// `POST /api/rendezvous/{code}/answer`
async fn answer(
    State(state): State<Arc<Rendezvous>>,
    Extension(From(from)): Extension<From>,
    Path(code): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let body = match read(body).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let text = String::from_utf8(body).unwrap_or_default();
    if !is_sealed(&text) {
        return malformed("invalid answer: it is not sealed");
    }
    let answered = state.board().answer(&code, bearer(&headers), text, Instant::now());
    match answered {
        Ok(()) => Json(OkReply::default()).into_response(),
        Err(Refusal::Answered) => {
            error(StatusCode::CONFLICT, ErrorCode::InvalidCommand, "this offer has an answer already")
        }
        Err(_) => state.unknown(from).await,
    }
}

/// `GET /api/rendezvous/{code}/answer`: waits for it.
async fn wait(
    State(state): State<Arc<Rendezvous>>,
    Extension(From(from)): Extension<From>,
    Path(code): Path<String>,
    headers: HeaderMap,
) -> Response {
    let until = tokio::time::Instant::now() + limits::POLL;
    loop {
        let changed = {
            let mut board = state.board();
            match board.take_answer(&code, bearer(&headers), Instant::now()) {
                Ok(Waiting::Answer(answer)) => return sealed(answer),
                // Registered before the board is unlocked, so that no change is missed.
                Ok(Waiting::NotYet(changed)) => Some(changed.notified_owned()),
                Err(_) => None,
            }
        };
        let Some(changed) = changed else { return state.unknown(from).await };
        if tokio::time::timeout_at(until, changed).await.is_err() {
            return StatusCode::NO_CONTENT.into_response();
        }
    }
}

async fn read(body: Body) -> Result<Vec<u8>, Response> {
    match timeout(crate::limits::REQUEST_BODY, to_bytes(body, limits::BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(_)) => Err(error(
            StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::MessageTooLarge,
            "the body is too long, or ends too early",
        )),
        Err(_) => Err(malformed("timed out waiting for the body")),
    }
}

fn is_short_code(text: &str) -> bool {
    text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Whether a text may be something sealed: base64url of a certain length. An offer that is not sealed has other characters.
fn is_sealed(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=limits::SEALED).contains(&text.len()) && text.bytes().all(letter)
}

fn sealed(text: String) -> Response {
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

fn malformed(text: &str) -> Response {
    error(StatusCode::BAD_REQUEST, ErrorCode::InvalidCommand, text)
}

fn error(status: StatusCode, code: ErrorCode, text: &str) -> Response {
    (status, Json(ErrorReply::new(code, text))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_for_who_sends() {
        let headers = |forwarded: &'static str| {
            HeaderMap::from_iter([(
                axum::http::HeaderName::from_static("x-forwarded-for"),
                HeaderValue::from_static(forwarded),
            )])
        };
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(sender(ip("192.0.2.7"), &headers("10.0.0.1")), ip("192.0.2.7"), "anybody can claim that");
        assert_eq!(sender(ip("127.0.0.1"), &headers("10.0.0.1, 192.0.2.8")), ip("192.0.2.8"));
        assert_eq!(sender(ip("127.0.0.1"), &headers("nonsense")), ip("127.0.0.1"));
        assert_eq!(sender(ip("2001:db8:1:2:3::4"), &HeaderMap::new()), ip("2001:db8:1:2::"));
        assert_eq!(sender(ip("::ffff:192.0.2.7"), &HeaderMap::new()), ip("192.0.2.7"));
    }

    #[test]
    fn connections_of_an_address_are_bounded() {
        let state = Arc::new(Rendezvous::default());
        let address: IpAddr = [192, 0, 2, 7].into();
        let places: Vec<Option<AddressPermit>> =
            (0..=limits::CONNECTIONS_OF_ADDRESS).map(|_| AddressPermit::take(&state, address)).collect();
        assert!(places.last().unwrap().is_none());
        assert!(AddressPermit::take(&state, [192, 0, 2, 8].into()).is_some());
        drop(places);
        assert!(state.connections.lock().unwrap().is_empty());
    }

    #[test]
    fn what_is_not_sealed_is_not_taken() {
        assert!(is_sealed("AZaz09-_"));
        for bad in ["", "v=0\r\n", "{\"sdp\":1}", &"A".repeat(limits::SEALED + 1)] {
            assert!(!is_sealed(bad), "{bad}");
        }
    }
}
