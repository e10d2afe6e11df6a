//! HTTP requests to models, and their streamed replies.

use super::endpoint::Endpoint;
use super::{anthropic, limits, openai};
use crate::config::Api;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode, redirect};
use serde_json::Value;
use std::error::Error;
use std::time::Duration;
use swb_engine::chat::Failure;
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallError {
    /// It may succeed later; the server may have given a time.
    Busy(String, Option<Duration>),
    /// Retrying will not help.
    Final(String),
    /// The conversation exceeds the model's context window.
    Overflow(String),
}

/// Sends requests to one API.
#[derive(Debug, Clone)]
pub(super) struct ModelClient {
    http: reqwest::Client,
    endpoint: Endpoint,
}

impl ModelClient {
    /// Creates a client for an API. Certificates are only loaded where they are needed.
    pub(super) async fn new(endpoint: Endpoint) -> Result<Self, Failure> {
        let http = match endpoint.url.scheme() {
            "https" => secure(endpoint.is_local()).await?,
            // No certificates: redirects are not followed, so this client never uses any. Each request opens its own
            // connection, which is cheap nearby: on a reused one, the kernel delays acknowledgements, and servers that
            // wait for those (Nagle) send the beginning of a reply 40 ms late.
            _ => {
                let plain = base(endpoint.is_local()).tls_certs_only([]).pool_max_idle_per_host(0);
                plain.build().map_err(unusable)?
            }
        };
        Ok(Self { http, endpoint })
    }

    /// Its API.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request; returns when the reply has begun.
    pub(super) async fn post(&self, body: &Value) -> Result<ResponseStream, CallError> {
        let request = self.http.post(self.endpoint.url.clone()).headers(self.endpoint.headers.clone());
        let sent = timeout(limits::FIRST_BYTE, request.body(body.to_string()).send()).await;
        let late = |_| {
            CallError::Final(format!("the server sent no reply within {} s", limits::FIRST_BYTE.as_secs()))
        };
        let response = sent.map_err(late)?.map_err(|error| self.unreachable(error))?;
        if response.status().is_success() && streams(response.headers()) {
            return Ok(ResponseStream { response, begun: false });
        }
        Err(self.refusal(response).await)
    }

    fn unreachable(&self, error: reqwest::Error) -> CallError {
        let server = self.endpoint.server();
        let what = if error.is_connect() { "cannot be reached" } else { "closed the connection" };
        let wont = error.is_builder();
        let why = format!("{server} {what}: {}", root_cause(&error.without_url()));
        // A certificate that is rejected now will be rejected in a second, too.
        if wont || why.contains("certificate") { CallError::Final(why) } else { CallError::Busy(why, None) }
    }

    async fn refusal(&self, mut response: Response) -> CallError {
        let (status, after) = (response.status(), retry_after(response.headers()));
        let mut body = Vec::new();
        let read = async {
            while body.len() < limits::REFUSAL_BYTES
                && let Ok(Some(more)) = response.chunk().await
            {
                body.extend_from_slice(&more);
            }
        };
        // Use what has arrived until then.
        let _whole = timeout(limits::IDLE, read).await;
        body.truncate(limits::REFUSAL_BYTES);
        refused(&self.endpoint, status, after, &body)
    }
}

/// A reply that has begun.
#[derive(Debug)]
pub(super) struct ResponseStream {
    response: Response,
    begun: bool,
}

impl ResponseStream {
    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, CallError> {
        let limit = if self.begun { limits::IDLE } else { limits::FIRST_BYTE };
        self.begun = true;
        match timeout(limit, self.response.chunk()).await {
            Ok(Ok(more)) => Ok(more),
            Ok(Err(error)) => Err(CallError::Busy(
                format!("the connection was lost: {}", root_cause(&error.without_url())),
                None,
            )),
            Err(_) => Err(CallError::Final(format!("the model sent nothing for {} s", limit.as_secs()))),
        }
    }

    /// Waits briefly for the end of a complete reply: then an encrypted connection can be
    /// reused.
    pub(super) async fn drain(mut self) {
        let _rest = timeout(limits::DRAIN, self.response.chunk()).await;
    }
}

fn base(local: bool) -> reqwest::ClientBuilder {
    // Any provider that is already installed is fine.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .connect_timeout(limits::CONNECT)
        // A redirect must not carry the key elsewhere.
        .redirect(redirect::Policy::none())
        .tcp_nodelay(true)
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")));
    if local { builder.no_proxy() } else { builder }
}

/// The client for encrypted connections: loading the system's certificates takes time, so it is done once.
async fn secure(local: bool) -> Result<reqwest::Client, Failure> {
    static CLIENTS: [OnceCell<reqwest::Client>; 2] = [const { OnceCell::const_new() }; 2];
    #[allow(
        clippy::disallowed_methods,
        reason = "reads the system's certificates, at no path that a client names"
    )]
    let make = || async {
        let built = tokio::task::spawn_blocking(move || base(local).build()).await;
        built.map_err(|error| Failure::Agent(error.to_string()))?.map_err(unusable)
    };
    CLIENTS[usize::from(local)].get_or_try_init(make).await.cloned()
}

fn unusable(error: reqwest::Error) -> Failure {
    Failure::NotConfigured(format!("encrypted connections are not available: {}", root_cause(&error)))
}

/// The innermost cause of an error.
fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

/// Whether a reply is a stream: any type that does not exclude it.
fn streams(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    !kind.starts_with("application/json") && !kind.starts_with("text/html")
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Classifies an error reply.
fn refused(endpoint: &Endpoint, status: StatusCode, after: Option<Duration>, body: &[u8]) -> CallError {
    let (words, code) = words(body);
    let overflow = match endpoint.api {
        Api::Anthropic => anthropic::is_overflow(&words),
        Api::OpenAi => openai::is_overflow(&words) || code == "context_length_exceeded",
    };
    let said = if words.is_empty() { String::new() } else { format!(": {words}") };
    let why = format!("{} returned status {}{said}", endpoint.server(), status.as_u16());
    let variable = &endpoint.key_variable;
    match status.as_u16() {
        _ if overflow => CallError::Overflow(words),
        200..=299 => CallError::Final(format!("the server does not stream its replies{said}")),
        // The account is empty: waiting does not help.
        429 if code == "insufficient_quota" => CallError::Final(why),
        408 | 429 | 500 | 502 | 503 | 504 | 529 => CallError::Busy(why, after),
        401 | 403 => CallError::Final(format!("{why}; check the key in {variable}")),
        _ => CallError::Final(why),
    }
}

/// The printable message of an error reply, and its code.
fn words(body: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(body);
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    // Some servers wrap it in a list.
    let value = value.get(0).unwrap_or(&value);
    let places = [&value["error"]["message"], &value["message"], &value["error"], &value["detail"]];
    let found = places.into_iter().find_map(Value::as_str);
    let shown = match found {
        Some(words) => words,
        None if text.trim_start().starts_with('<') => "",
        None => text.trim(),
    };
    let clean = shown.chars().map(|c| if c.is_control() { ' ' } else { c });
    let code = value["error"]["code"].as_str().unwrap_or_default();
    (clean.take(limits::REFUSAL_CHARS).collect(), code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AgentConfig, AgentKind};
    use std::collections::BTreeMap;

    fn endpoint(api: Api, base: &str) -> Endpoint {
        let mut agent = AgentConfig::of_command("smith", AgentKind::Llm, Vec::new());
        (agent.api, agent.base_url) = (api, Some(base.to_owned()));
        Endpoint::new(&agent, &BTreeMap::new()).unwrap()
    }

    fn refusal(status: u16, body: &str) -> CallError {
        let status = StatusCode::from_u16(status).unwrap();
        refused(&endpoint(Api::OpenAi, "http://host:1"), status, None, body.as_bytes())
    }

    #[test]
    fn error_replies_are_classified() {
        for status in [429, 500, 502, 503, 529] {
            assert!(matches!(refusal(status, ""), CallError::Busy(..)), "{status}");
        }
        let busy = refusal(503, r#"{"error":{"message":"come\nback"}}"#);
        assert_eq!(busy, CallError::Busy("host:1 returned status 503: come back".into(), None));
        let empty = r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#;
        assert_eq!(refusal(429, empty), CallError::Final("host:1 returned status 429: pay".into()));
        let long = r#"{"error":{"message":"This model's maximum context length is 5"}}"#;
        assert!(matches!(refusal(400, long), CallError::Overflow(_)));
        let CallError::Final(key) = refusal(401, r#"[{"error":"no key"}]"#) else { panic!() };
        assert_eq!(key, "host:1 returned status 401: no key; check the key in OPENAI_API_KEY");
        assert_eq!(refusal(404, "<html>gone"), CallError::Final("host:1 returned status 404".into()));
        assert!(matches!(refusal(200, "{}"), CallError::Final(words) if words.contains("stream")));
        let endless = refusal(400, &"x".repeat(10_000));
        assert!(matches!(endless, CallError::Final(words) if words.len() < 600));
    }

    #[test]
    fn json_and_html_replies_are_not_streams() {
        let kind = |kind: Option<&'static str>| {
            let headers = kind.map(|kind| (CONTENT_TYPE, kind.parse().unwrap()));
            streams(&headers.into_iter().collect())
        };
        assert!(kind(None) && kind(Some("text/event-stream; charset=utf-8")) && kind(Some("text/plain")));
        assert!(!kind(Some("application/json")) && !kind(Some("text/html; charset=utf-8")));
    }

    #[test]
    fn retry_headers_set_the_wait() {
        let after = |name: &'static str, value: &'static str| {
            let headers = [(name.parse().unwrap(), value.parse().unwrap())];
            retry_after(&headers.into_iter().collect())
        };
        assert_eq!(after("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(after("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(after("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), None);
        assert_eq!(after("retry-after", "-1"), None);
        assert_eq!(after("retry-after", "1e300"), None);
    }

    #[tokio::test]
    async fn an_unreachable_server_is_an_error_not_a_panic() {
        for base in ["http://127.0.0.1:9", "https://127.0.0.1:9"] {
            match ModelClient::new(endpoint(Api::Anthropic, base)).await {
                Ok(client) => {
                    let error = client.post(&Value::Null).await.err();
                    assert!(matches!(error, Some(CallError::Busy(..))), "{error:?}");
                }
                // A machine without any certificates.
                Err(error) => {
                    assert!(base.starts_with("https") && matches!(error, Failure::NotConfigured(_)))
                }
            }
        }
    }
}
