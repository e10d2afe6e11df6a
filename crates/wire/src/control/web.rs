//! Operations for clients elsewhere: the web server, tokens with roles, and the filter for their input.

use super::operation::{is_false, null_as_default};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swb_types::Role;

/// Starts the web server (CO-42), or stops all web servers.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Serve {
    /// TCP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Address to bind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Secret that requests must contain; random by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// *Addition*: serve over TLS, with a certificate of our own.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub tls: bool,
    /// *Addition*: stop every web server instead, and close their connections.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub stop: bool,
}

impl Serve {
    /// The port, or its default.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(8888)
    }

    /// The address, or its default.
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or("127.0.0.1")
    }
}

/// Reply to `serve` (CO-42).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ServeReply {
    /// Always true.
    pub ok: bool,
    /// Port bound.
    pub port: u16,
    /// Address bound.
    pub host: String,
    /// Secret that requests must contain.
    pub token: String,
    /// *Addition*: SHA-256 fingerprint of the certificate, for a server with TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// *Addition*: addresses of this machine at which other machines may reach the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// *Addition*: reply to `serve` with `stop`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StopServeReply {
    /// Always true.
    pub ok: bool,
    /// Number of servers that were stopped.
    pub stopped: u32,
}

/// *Addition*: one web server, in the reply to `status`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WebStatus {
    /// Address bound.
    pub host: String,
    /// Port bound.
    pub port: u16,
    /// Whether it serves over TLS.
    pub tls: bool,
    /// Open connections.
    pub connections: u32,
}

/// *Addition*: creates a token for clients elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Token {
    /// What its holder may do; `watch` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The one session that it is limited to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The one workspace that it is limited to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Seconds until it expires; never by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// *Addition*: reply to `token`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TokenReply {
    /// Always true.
    pub ok: bool,
    /// Id under which it is listed and revoked; `id` is the request's over the web.
    pub token_id: String,
    /// The token itself, which is not stored and cannot be shown again.
    pub token: String,
    /// What its holder may do.
    pub role: Role,
    /// Its name for people.
    pub label: Option<String>,
    /// When it expires, in Unix milliseconds.
    pub expires: Option<u64>,
}

/// *Addition*: lists tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Tokens {}

/// *Addition*: reply to `tokens`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TokensReply {
    /// Always true.
    pub ok: bool,
    /// Valid tokens, oldest first.
    pub tokens: Vec<TokenItem>,
}

/// *Addition*: one token in a list.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TokenItem {
    /// Its id.
    pub id: String,
    /// What its holder may do.
    pub role: Role,
    /// The one session that it is limited to.
    pub session: Option<String>,
    /// The one workspace that it is limited to.
    pub workspace: Option<String>,
    /// Its name for people.
    pub label: Option<String>,
    /// When it was created, in Unix milliseconds.
    pub created: u64,
    /// When it expires, in Unix milliseconds.
    pub expires: Option<u64>,
}

/// *Addition*: revokes a token and closes its connections.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Revoke {
    /// Id or label of the token.
    pub token: String,
}

/// *Addition*: returns what the caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Whoami {}

/// *Addition*: reply to `whoami`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WhoamiReply {
    /// Always true.
    pub ok: bool,
    /// What the caller may do.
    pub role: Role,
    /// The one session that it is limited to.
    pub session: Option<String>,
    /// The one workspace that it is limited to.
    pub workspace: Option<String>,
    /// Name of the daemon's machine.
    pub machine: String,
    /// Version of the daemon.
    pub version: String,
}

/// *Addition*: switches the filter for input from elsewhere to the agent's terminal (CO-46), or shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Filter {
    /// Name or workspace.
    pub session: String,
    /// Whether input is to be filtered; without it nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<bool>,
}

/// *Addition*: reply to `filter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FilterReply {
    /// Always true.
    pub ok: bool,
    /// Whether input is filtered.
    pub on: bool,
}
