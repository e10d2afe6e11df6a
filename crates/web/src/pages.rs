//! The page and its files, and how a person signs in.

use crate::access::{Connection, Visitor};
use crate::limits;
use axum::Extension;
use axum::body::Body;
use axum::extract::RawQuery;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, SET_COOKIE, VARY};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;
use std::io::Read;
use swb_wire::control::{ErrorCode, ErrorReply};
use swb_wire::web::url::{encode, query_value};

/// A file of the page.
struct Asset {
    /// Path below `/`.
    path: &'static str,
    kind: &'static str,
    /// Whether the name contains a hash of the content, so that it never changes.
    immutable: bool,
    content: Content,
}

/// What a file contains.
#[allow(dead_code, reason = "a build without the page has neither")]
enum Content {
    /// Not worth compressing.
    Plain(&'static [u8]),
    /// Its compressed forms. Every browser takes one of them; what does not gets the content unpacked.
    Packed { brotli: &'static [u8], gzip: &'static [u8] },
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The page of a build without the page.
const NO_PAGE: &str = include_str!("pages/no-page.html");
/// The page that asks for a token.
const SIGN_IN: &str = include_str!("pages/sign-in.html");
/// The page that a right token in the address gets: its script replaces the address.
const SIGNED_IN: &str = include_str!("pages/signed-in.html");
const SIGN_IN_SCRIPT: &str = include_str!("pages/sign-in.js");

const HTML: &str = "text/html; charset=utf-8";

/// `GET /healthz`: reveals nothing but that the server runs.
pub(crate) async fn health() -> &'static str {
    "ok\n"
}

/// `GET /`
pub(crate) async fn index(
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if let Some(token) = query.as_deref().and_then(|query| query_value(query, "token")) {
        // A redirect would lose the cookie: after a click on another site, a browser sends no strict cookies along it.
        return (
            [(SET_COOKIE, cookie(&visitor, &token, limits::COOKIE.as_secs()))],
            page(StatusCode::OK, SIGNED_IN),
        )
            .into_response();
    }
    match find("index.html") {
        Some(asset) => serve(asset, &headers),
        None => page(StatusCode::OK, NO_PAGE),
    }
}

/// `GET /connect`: the page for the other end of a tunnel. It reveals nothing about this machine, so it needs no token; a cookie
/// opens its files to it.
pub(crate) async fn connect(Extension(connection): Extension<Connection>, headers: HeaderMap) -> Response {
    let response = connect_page(headers).await;
    let secure = if connection.tls { "; Secure" } else { "" };
    let name = connection.connect_cookie_name();
    let cookie = format!("{name}=1; Path=/; HttpOnly; SameSite=Strict{secure}");
    // Only characters that any header can hold.
    let cookie = HeaderValue::try_from(cookie).unwrap_or(HeaderValue::from_static(""));
    ([(SET_COOKIE, cookie)], response).into_response()
}

/// The same where everybody may read the files of the page.
pub(crate) async fn connect_page(headers: HeaderMap) -> Response {
    match find("index.html") {
        Some(asset) => serve(asset, &headers),
        None => page(StatusCode::OK, NO_PAGE),
    }
}

/// Whether a path is a file of the page, which everybody may read who has the page.
pub(crate) fn is_public(path: &str) -> bool {
    find(path.trim_start_matches('/')).is_some_and(|asset| asset.path != "index.html")
}

/// `GET /api/openapi.json`
pub(crate) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], include_str!("../../../docs/protocols/openapi.json"))
        .into_response()
}

/// `GET /api/schema.json`
pub(crate) async fn schema() -> Response {
    ([(CONTENT_TYPE, "application/json")], include_str!("../../../docs/protocols/operations.schema.json"))
        .into_response()
}

/// `GET /sign-in.js`
pub(crate) async fn sign_in_script() -> Response {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], SIGN_IN_SCRIPT).into_response()
}

/// `POST /api/sign-out`: the browser forgets its token. The token itself stays valid; an owner revokes it.
pub(crate) async fn sign_out(Extension(visitor): Extension<Visitor>) -> Response {
    ([(SET_COOKIE, cookie(&visitor, "", 0))], StatusCode::NO_CONTENT).into_response()
}

/// Any other path: a file of the page, or nothing.
pub(crate) async fn asset(request: Request<Body>) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.uri().path().trim_start_matches('/');
    match find(path).filter(|_| reads) {
        Some(asset) => serve(asset, request.headers()),
        None => error(StatusCode::NOT_FOUND, "there is nothing at this path"),
    }
}

pub(crate) async fn wrong_method() -> Response {
    error(StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method")
}

/// The refusal for a person: a page that asks for a token (CO-43).
pub(crate) fn sign_in(was_wrong: bool) -> Response {
    let note =
        if was_wrong { "This token is not valid. It may have been revoked or have expired." } else { "" };
    page(StatusCode::FORBIDDEN, &SIGN_IN.replace("{note}", note))
}

/// The cookie that later requests of this browser are recognised by, for this many seconds.
fn cookie(visitor: &Visitor, token: &str, seconds: u64) -> HeaderValue {
    let connection = &visitor.connection;
    let secure = if connection.tls { "; Secure" } else { "" };
    let name = connection.cookie_name();
    let text =
        format!("{name}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}", encode(token));
    // Only characters that any header can hold.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

fn page(status: StatusCode, html: &str) -> Response {
    (status, [(CONTENT_TYPE, HTML)], html.to_owned()).into_response()
}

fn error(status: StatusCode, text: &str) -> Response {
    (status, axum::Json(ErrorReply::new(ErrorCode::InvalidCommand, text))).into_response()
}

fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

fn serve(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepts = |name: &str| {
        accepted.split(',').any(|entry| {
            let (coding, weight) = entry.split_once(';').unwrap_or((entry, ""));
            coding.trim() == name && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
        })
    };
    let (body, coding) = match &asset.content {
        Content::Packed { brotli, .. } if accepts("br") => (Body::from(*brotli), Some("br")),
        Content::Packed { gzip, .. } if accepts("gzip") => (Body::from(*gzip), Some("gzip")),
        Content::Packed { gzip, .. } => (Body::from(unpacked(gzip)), None),
        Content::Plain(bytes) => (Body::from(*bytes), None),
    };
    let caching = if asset.immutable { "private, max-age=31536000, immutable" } else { "no-store" };
    let mut response =
        ([(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, caching), (VARY, "accept-encoding")], body)
            .into_response();
    if let Some(coding) = coding {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

fn unpacked(gzip: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    // It was made by the build.
    let _complete = GzDecoder::new(gzip).read_to_end(&mut plain);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    /// What neither Brotli nor gzip is accepted for is unpacked; in a build without the page there is nothing to serve.
    #[tokio::test]
    async fn files_are_served_as_they_are_to_clients_that_unpack_nothing() {
        for asset in ASSETS {
            let response = serve(asset, &HeaderMap::new());
            assert_eq!(response.headers().get(CONTENT_ENCODING), None, "{}", asset.path);
            let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
            match &asset.content {
                Content::Plain(bytes) => assert_eq!(body, *bytes, "{}", asset.path),
                Content::Packed { brotli, gzip } => {
                    assert!(body.len() > brotli.len() && body.len() > gzip.len(), "{}", asset.path);
                }
            }
        }
    }
}
