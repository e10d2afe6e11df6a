//! The page and its files, and how a person signs in.

use crate::access::Visitor;
use crate::limits;
use axum::Extension;
use axum::body::Body;
use axum::extract::RawQuery;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, SET_COOKIE, VARY};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use swb_wire::control::{ErrorCode, ErrorReply};
use swb_wire::web::url::{encode, query_value};

/// A file of the page.
struct Asset {
    /// Path below `/`.
    path: &'static str,
    kind: &'static str,
    /// Whether the name contains a hash of the content, so that it never changes.
    immutable: bool,
    plain: &'static [u8],
    /// Compressed forms, if they are smaller.
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
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

/// `GET /healthz`: says nothing but that the server runs.
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
        return ([(SET_COOKIE, cookie(&visitor, &token))], page(StatusCode::OK, SIGNED_IN)).into_response();
    }
    match find("index.html") {
        Some(asset) => serve(asset, &headers),
        None => page(StatusCode::OK, NO_PAGE),
    }
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

/// The cookie that later requests of this browser are recognised by.
fn cookie(visitor: &Visitor, token: &str) -> HeaderValue {
    let connection = &visitor.connection;
    let secure = if connection.tls { "; Secure" } else { "" };
    let name = connection.cookie_name();
    let text = format!(
        "{name}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}",
        encode(token),
        limits::COOKIE.as_secs()
    );
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
    let (body, coding) = match (asset.brotli, asset.gzip) {
        (Some(brotli), _) if accepts("br") => (brotli, Some("br")),
        (_, Some(gzip)) if accepts("gzip") => (gzip, Some("gzip")),
        _ => (asset.plain, None),
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
