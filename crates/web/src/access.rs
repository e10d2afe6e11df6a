//! Who may send a request, checked before anything else looks at it.

use crate::origin::{self, Source};
use crate::pages;
use crate::places::{Holder, WebConnection};
use crate::site::Site;
use crate::socket::SocketEnding;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONNECTION, COOKIE, UPGRADE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use swb_operations::Caller;
use swb_operations::tokens::Grant;
use swb_types::Role;
use swb_wire::control::{ErrorCode, ErrorReply};
use swb_wire::web::url::{decode, query_value};
use tokio_util::sync::CancellationToken;

/// The connection that a request arrived on.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) peer: IpAddr,
    /// Addresses of ours under which the peer may know the server.
    pub(crate) ours: Vec<IpAddr>,
    /// Port that the server is bound to, part of the cookie's name: browsers send cookies of one port to all ports.
    pub(crate) port: u16,
    pub(crate) tls: bool,
    /// Cancelled when the server stops.
    pub(crate) stop: CancellationToken,
    /// Cancelled when the daemon stops, and the server with it.
    pub(crate) daemon_stop: CancellationToken,
    pub(crate) place: Arc<WebConnection>,
}

impl Connection {
    /// Name of the cookie that opens the files of the page, and nothing else, to the page for tunnels.
    pub(crate) fn connect_cookie_name(&self) -> String {
        format!("swb-connect-{}", self.port)
    }

    pub(crate) fn cookie_name(&self) -> String {
        format!("swb-{}", self.port)
    }

    /// How its WebSockets end when the server has stopped.
    pub(crate) fn stopped(&self) -> SocketEnding {
        if self.daemon_stop.is_cancelled() { SocketEnding::Restarting } else { SocketEnding::Stopped }
    }
}

/// Who sent a request.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) caller: Caller,
    /// Cancelled when the visitor's token ends.
    pub(crate) ended: CancellationToken,
    pub(crate) connection: Connection,
}

/// What a request proves itself with.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Proof {
    /// A token that the client sent on purpose, in `Authorization` or in the query.
    Token(String),
    /// A token that the browser added.
    Cookie(String),
    Nothing,
}

/// Checks a request and adds who sent it; everything else is refused here.
pub(crate) async fn check(State(site): State<Arc<Site>>, mut request: Request<Body>, next: Next) -> Response {
    let Some(connection) = request.extensions().get::<Connection>().cloned() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let (headers, uri) = (request.headers().clone(), request.uri().clone());
    let acts = acts(request.method(), &headers);
    let response = match admit(&site, &connection, &headers, &uri, acts).await {
        Ok(visitor) => {
            if let Some(visitor) = visitor {
                request.extensions_mut().insert(visitor);
            }
            next.run(request).await
        }
        Err(refusal) => refusal,
    };
    with_security_headers(response)
}

/// The visitor, `None` on paths that are open to everybody, or the refusal.
async fn admit(
    site: &Site,
    connection: &Connection,
    headers: &HeaderMap,
    uri: &Uri,
    acts: bool,
) -> Result<Option<Visitor>, Response> {
    if !site.hosts.admit(headers, uri, &connection.ours) {
        let text = "the request names a host that this server does not serve; add it to [web] hosts";
        return Err(refusal(text));
    }
    if uri.path() == "/healthz" {
        return Ok(None);
    }
    let source = origin::source(headers, connection.tls, &site.hosts);
    if is_signalling(uri.path()) {
        // These prove with every request that they know the tunnel's secret; their page may be anywhere.
        return Ok(None);
    }
    if acts && source == Source::Foreign {
        return Err(refusal("the request comes from a page of another site"));
    }
    if !acts
        && (uri.path() == "/connect" || (pages::is_public(uri.path()) && is_connecting(headers, connection)))
    {
        return Ok(None);
    }
    let token = match proof(headers, uri.query(), &connection.cookie_name()) {
        Proof::Token(token) => Some(token),
        // A browser adds cookies to requests of other sites, too; those of our own page say where they come from.
        Proof::Cookie(token) if !acts || source == Source::Own => Some(token),
        Proof::Cookie(_) | Proof::Nothing => None,
    };
    let grant = token.as_deref().and_then(|token| site.context.tokens.find(token));
    let Some(Grant { caller, ended, number }) = grant else {
        if token.is_some() {
            let delay = site.failures.count(connection.peer, Instant::now());
            tokio::time::sleep(delay).await;
        }
        let shows_page = uri.path() == "/" && !acts;
        return Err(if shows_page {
            pages::sign_in(token.is_some())
        } else {
            refusal("a valid token is needed")
        });
    };
    site.failures.clear(connection.peer);
    let holder = Holder { token: number, owner: caller.role() == Role::Owner };
    if !connection.place.keep(holder) {
        let error =
            ErrorReply::new(ErrorCode::LimitReached, "this token has too many connections; close some");
        return Err((StatusCode::SERVICE_UNAVAILABLE, axum::Json(error)).into_response());
    }
    Ok(Some(Visitor { caller, ended, connection: connection.clone() }))
}

/// Whether a path belongs to the signalling of tunnels.
fn is_signalling(path: &str) -> bool {
    path.starts_with("/api/tunnel/") && (path.ends_with("/offer") || path.ends_with("/answer"))
}

/// Whether a request comes from the page for tunnels, which needs files of the page and no token.
fn is_connecting(headers: &HeaderMap, connection: &Connection) -> bool {
    cookie_value(headers, &connection.connect_cookie_name()).is_some()
}

/// Whether a request changes something or opens a connection that can.
fn acts(method: &Method, headers: &HeaderMap) -> bool {
    let reads = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let names = |header: HeaderName, word: &str| {
        let values = headers.get_all(header).iter();
        values.filter_map(|value| value.to_str().ok()).any(|value| value.to_ascii_lowercase().contains(word))
    };
    !reads || names(UPGRADE, "websocket") || names(CONNECTION, "upgrade")
}

fn proof(headers: &HeaderMap, query: Option<&str>, cookie_name: &str) -> Proof {
    if headers.contains_key(AUTHORIZATION) {
        return Proof::Token(bearer(headers).to_owned());
    }
    if let Some(token) = query.and_then(|query| query_value(query, "token")) {
        return Proof::Token(token);
    }
    match cookie_value(headers, cookie_name) {
        Some(token) => Proof::Cookie(decode(token)),
        None => Proof::Nothing,
    }
}

/// What a request proves itself with in `Authorization`; anything but a bearer's code is empty, and as such a wrong one.
pub(crate) fn bearer(headers: &HeaderMap) -> &str {
    let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match value.split_once(' ') {
        Some((scheme, code)) if scheme.eq_ignore_ascii_case("bearer") => code.trim(),
        _ => "",
    }
}

fn cookie_value<'a>(headers: &'a HeaderMap, cookie_name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == cookie_name).map(|(_, value)| value)
}

/// The refusal of a request, as an error that programs can read (CO-18).
fn refusal(text: &str) -> Response {
    let error = ErrorReply::new(ErrorCode::Forbidden, text);
    (StatusCode::FORBIDDEN, axum::Json(error)).into_response()
}

/// What a page of ours may load and do: nothing from elsewhere, no inline code. xterm.js needs inline styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'";

pub(crate) fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof_of(pairs: &[(&'static str, &'static str)], query: Option<&str>) -> Proof {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        proof(&headers, query, "swb-8888")
    }

    fn token(text: &str) -> Proof {
        Proof::Token(text.to_owned())
    }

    // CO-70
    #[test]
    fn a_token_is_read_from_header_query_and_cookie_in_this_order() {
        let cookie = ("cookie", "a=b; swb-8888=c%2Fd; swb-1=x");
        assert_eq!(proof_of(&[("authorization", "Bearer one")], Some("token=two")), token("one"));
        assert_eq!(proof_of(&[("authorization", "bearer one"), cookie], None), token("one"));
        assert_eq!(proof_of(&[cookie], Some("session=s&token=t%20w+o")), token("t w o"));
        assert_eq!(proof_of(&[cookie], Some("session=s")), Proof::Cookie("c/d".to_owned()));
        assert_eq!(proof_of(&[("cookie", "swb-9=x")], None), Proof::Nothing);
        assert_eq!(proof_of(&[("authorization", "Basic abc"), cookie], None), token(""));
    }

    #[test]
    fn upgrades_and_methods_that_change_something_act() {
        let request = |method: &str, upgrade: bool| {
            let mut request = Request::builder().method(method).uri("/");
            if upgrade {
                request = request.header("upgrade", "WebSocket").header("connection", "keep-alive, Upgrade");
            }
            let request = request.body(Body::empty()).unwrap();
            acts(request.method(), request.headers())
        };
        assert!(!request("GET", false) && !request("HEAD", false));
        assert!(request("GET", true) && request("POST", false) && request("DELETE", false));
    }
}
