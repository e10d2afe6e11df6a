//! coop's REST (CO-45, CO-69, CO-72).

use crate::access::Visitor;
use crate::limits;
use crate::site::Site;
use axum::Extension;
use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::error::Error as _;
use std::sync::Arc;
use swb_operations::{COOP, Outcome, Then};
use swb_types::{PtyId, SessionName};
use swb_wire::control::{
    Attach, BadMessage, Create, ErrorCode, ErrorReply, Kill, Ls, LsReply, OkReply, Operation, Shell,
    parse_reply,
};
use tokio::time::timeout;

type Reply = Result<Response, RestError>;

/// `GET /api/sessions`
pub(crate) async fn list(State(site): State<Arc<Site>>, Extension(visitor): Extension<Visitor>) -> Reply {
    let outcome = site.execute(&as_coop(&visitor), Operation::Ls(Ls::default())).await?;
    let listed: LsReply = parse_reply(&outcome.reply).map_err(|error| internal(&error.to_string()))?;
    Ok(axum::Json(listed.sessions).into_response())
}

/// `POST /api/sessions`
pub(crate) async fn create(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    RequestBody(body): RequestBody,
) -> Reply {
    let create: Create = fields(&body, "create")?;
    Ok(json(&site.execute(&as_coop(&visitor), Operation::Create(create)).await?))
}

/// `DELETE /api/sessions/{name}`
pub(crate) async fn kill(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
) -> Reply {
    let kill = Kill { session: Some(known(name)?), ..Kill::default() };
    Ok(json(&site.execute(&as_coop(&visitor), Operation::Kill(kill)).await?))
}

/// The fields of a request for a shell.
#[derive(Debug, Default, JsonSchema, Deserialize)]
pub(crate) struct ShellFields {
    /// Program; `/bin/sh` by default.
    command: Option<String>,
    /// Columns of the terminal.
    cols: Option<u16>,
    /// Rows of the terminal.
    rows: Option<u16>,
}

/// `POST /api/sessions/{name}/shell`: starts a shell; `/ws` opens its terminal.
pub(crate) async fn shell(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
    RequestBody(body): RequestBody,
) -> Reply {
    let ShellFields { command, cols, rows } =
        if body.trim_ascii().is_empty() { ShellFields::default() } else { fields(&body, "shell")? };
    let shell = Shell { session: known(name)?, command, cols, rows, ..Shell::default() };
    Ok(json(&site.execute(&as_coop(&visitor), Operation::Shell(shell)).await?))
}

/// The size of a terminal.
#[derive(Debug, JsonSchema, Deserialize)]
pub(crate) struct SizeFields {
    /// Columns, at least 1.
    cols: u16,
    /// Rows, at least 1.
    rows: u16,
}

/// `POST /api/sessions/{name}/pty/{pty}/resize` (CO-72)
pub(crate) async fn resize(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path((name, pty)): Path<(String, String)>,
    RequestBody(body): RequestBody,
) -> Reply {
    let SizeFields { cols, rows } = fields(&body, "resize")?;
    let pty: u32 = pty.parse().map_err(|_| invalid("the PTY has to be a number"))?;
    if cols == 0 || rows == 0 {
        return Err(invalid("cols and rows have to be at least 1"));
    }
    let attach = Attach {
        session: known(name)?,
        pty: Some(PtyId(pty)),
        cols: Some(0),
        rows: Some(0),
        ..Attach::default()
    };
    let outcome = site.execute(&as_coop(&visitor), Operation::Attach(attach)).await?;
    let Then::Terminal(terminal) = outcome.then else { return Err(internal("no terminal")) };
    if !terminal.input.may_resize() {
        return Err(ErrorReply::new(ErrorCode::Forbidden, "resizing needs the role 'drive'").into());
    }
    terminal.input.resize_once(cols, rows).await;
    Ok(axum::Json(OkReply::default()).into_response())
}

/// The visitor as a client of coop's protocol, which sees the sessions that are offered to coop.
fn as_coop(visitor: &Visitor) -> Visitor {
    Visitor { caller: visitor.caller.clone().through(COOP), ..visitor.clone() }
}

/// The body of a request, read within limits of size and time.
pub(crate) struct RequestBody(pub(crate) Bytes);

impl<S: Sync> FromRequest<S> for RequestBody {
    type Rejection = RestError;

    async fn from_request(request: Request, _: &S) -> Result<Self, RestError> {
        let too_large = || RestError(ErrorReply::new(ErrorCode::MessageTooLarge, "the body is too long"));
        let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        // Before any of it is read.
        if announced
            .and_then(|length| length.parse().ok())
            .is_some_and(|length: usize| length > limits::MESSAGE)
        {
            return Err(too_large());
        }
        match timeout(limits::REQUEST_BODY, to_bytes(request.into_body(), limits::MESSAGE)).await {
            Ok(Ok(bytes)) => Ok(Self(bytes)),
            Ok(Err(error)) if error.source().is_some_and(|source| source.is::<LengthLimitError>()) => {
                Err(too_large())
            }
            Ok(Err(error)) => Err(invalid(&format!("cannot read the body: {error}"))),
            Err(_) => {
                Err(RestError(ErrorReply::new(ErrorCode::InvalidCommand, "timed out waiting for the body")))
            }
        }
    }
}

/// A name in a path; what cannot be a session's name or workspace is no session.
fn known(name: String) -> Result<String, RestError> {
    if name.contains('/') || SessionName::new(&name).is_ok() {
        return Ok(name);
    }
    Err(ErrorReply::new(ErrorCode::SessionNotFound, format!("no session '{name}'")).into())
}

/// An error as an HTTP response (CO-69).
pub(crate) struct RestError(ErrorReply);

impl From<ErrorReply> for RestError {
    fn from(error: ErrorReply) -> Self {
        Self(error)
    }
}

impl From<BadMessage> for RestError {
    fn from(bad: BadMessage) -> Self {
        Self(bad.into())
    }
}

impl IntoResponse for RestError {
    fn into_response(self) -> Response {
        (status(self.0.error), axum::Json(self.0)).into_response()
    }
}

fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidCommand => StatusCode::BAD_REQUEST,
        ErrorCode::Forbidden | ErrorCode::NotTrusted => StatusCode::FORBIDDEN,
        ErrorCode::SessionNotFound
        | ErrorCode::PtyNotFound
        | ErrorCode::TurnNotFound
        | ErrorCode::TokenNotFound
        | ErrorCode::ApprovalNotFound => StatusCode::NOT_FOUND,
        ErrorCode::SessionExists | ErrorCode::AgentBusy | ErrorCode::SessionEnded => StatusCode::CONFLICT,
        ErrorCode::MessageTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::LimitReached => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::NotImplemented => StatusCode::NOT_IMPLEMENTED,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub(crate) fn invalid(text: &str) -> RestError {
    ErrorReply::new(ErrorCode::InvalidCommand, text).into()
}

pub(crate) fn internal(text: &str) -> RestError {
    ErrorReply::new(ErrorCode::InternalError, text).into()
}

fn fields<T: DeserializeOwned>(body: &[u8], name: &str) -> Result<T, RestError> {
    serde_json::from_slice(body).map_err(|error| invalid(&format!("invalid {name}: {error}")))
}

fn json(outcome: &Outcome) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], outcome.reply.clone()).into_response()
}
