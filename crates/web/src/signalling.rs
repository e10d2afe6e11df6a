//! What the peers of tunnels need of a web server: the offer, and a way for the answer.
//!
//! No token is needed. Each request proves with its own code that the peer knows the tunnel's secret, which it got by another
//! way; a page for tunnels may be anywhere, so requests of all sites are answered.

use crate::access::{Connection, bearer};
use crate::rest::RequestBody;
use crate::site::Site;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Instant;
use swb_operations::AnswerError;
use swb_wire::control::{ErrorCode, ErrorReply, OkReply};

/// `GET /api/tunnel/{id}/offer`
pub(crate) async fn offer(
    State(site): State<Arc<Site>>,
    Extension(connection): Extension<Connection>,
    Path(tunnel): Path<String>,
    headers: HeaderMap,
) -> Response {
    match site.context.signalling.offer(&tunnel, bearer(&headers)) {
        Some(envelope) => everywhere(([(CONTENT_TYPE, "application/json")], envelope).into_response()),
        None => forbidden(&site, &connection).await,
    }
}

/// `POST /api/tunnel/{id}/answer`
pub(crate) async fn answer(
    State(site): State<Arc<Site>>,
    Extension(connection): Extension<Connection>,
    Path(tunnel): Path<String>,
    headers: HeaderMap,
    RequestBody(body): RequestBody,
) -> Response {
    let text = String::from_utf8_lossy(&body);
    let error = match site.context.signalling.answer(&tunnel, bearer(&headers), &text).await {
        None | Some(Err(AnswerError::Unknown(_))) => return forbidden(&site, &connection).await,
        Some(Ok(())) => return everywhere(axum::Json(OkReply::default()).into_response()),
        Some(Err(error)) => error,
    };
    let status = match &error {
        AnswerError::Answered => StatusCode::CONFLICT,
        AnswerError::Malformed(_) | AnswerError::Unknown(_) => StatusCode::BAD_REQUEST,
    };
    everywhere((status, axum::Json(ErrorReply::from(error))).into_response())
}

/// `OPTIONS`, also of a rendezvous server: a page elsewhere asks before it sends its code.
pub(crate) async fn preflight() -> Response {
    let headers = [
        ("access-control-allow-methods", "GET, POST, PUT, DELETE"),
        ("access-control-allow-headers", "authorization, content-type"),
        ("access-control-max-age", "600"),
    ];
    everywhere((StatusCode::NO_CONTENT, headers).into_response())
}

/// The same for a wrong code, an unknown tunnel and a used-up offer, after a pause that grows with the attempts of an address.
async fn forbidden(site: &Site, connection: &Connection) -> Response {
    tokio::time::sleep(site.failures.count(connection.peer, Instant::now())).await;
    let error = ErrorReply::new(ErrorCode::Forbidden, "no tunnel waits here for this peer");
    everywhere((StatusCode::FORBIDDEN, axum::Json(error)).into_response())
}

/// Lets pages of other sites read a response: it contains nothing that the secret does not open.
fn everywhere(mut response: Response) -> Response {
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}
