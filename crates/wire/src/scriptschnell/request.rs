//! The requests of a client.
//!
//! Each request is a struct of its `data`; a field that the protocol calls optional is an `Option`, left out if
//! `None`. A field that the protocol requires may be optional here if its absence has an error of its own. Fields
//! marked *addition* are ours and unknown to other clients and daemons.

use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// A request; on the wire, `type` holds the variant's name in snake case and `data` its fields.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Request {
    /// Authenticates the client.
    AuthRequest(Auth),
    /// Reports that a person has opened an approval.
    AuthorizationAck(AuthorizationAck),
    /// Decides an approval.
    AuthorizationResponse(AuthorizationResponse),
    /// Sends several messages in order.
    #[serde(serialize_with = "messages")]
    Batch(Vec<Box<RawValue>>),
    /// Removes the messages of the conversation.
    ChatClear(SessionRef),
    /// Sends a prompt to the agent.
    ChatSend(ChatSend),
    /// Stops the agent.
    ChatStop(SessionRef),
    /// Ends the connection.
    Close(Close),
    /// Requests settings.
    ConfigGet(ConfigGet),
    /// Changes settings.
    ConfigSet(ConfigSet),
    /// Pauses or resumes events.
    FlowControl(FlowControl),
    /// Requests a `pong`.
    Ping,
    /// Replies to a `ping`.
    Pong,
    /// Answers a question.
    QuestionResponse(QuestionResponse),
    /// Attaches to a session.
    SessionAttach(SessionAttach),
    /// Creates a session.
    SessionCreate(SessionCreate),
    /// Removes a session.
    SessionDelete(SessionRef),
    /// Detaches from a session.
    SessionDetach(SessionRef),
    /// Lists sessions.
    SessionList(SessionFilter),
    /// Loads a saved session.
    SessionLoad(SessionRef),
    /// Saves the session.
    SessionSave(SessionSave),
    /// Creates a working tree of a repository.
    WorkspaceCreate(WorkspaceCreate),
    /// Lists workspaces.
    WorkspaceList,
    /// Sets the workspace.
    WorkspaceSet(WorkspaceName),
}

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        // Raw JSON cannot be compared; its text can.
        serde_json::to_string(self).ok() == serde_json::to_string(other).ok()
    }
}

fn messages<S: serde::Serializer>(messages: &[Box<RawValue>], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Batch<'a> {
        messages: &'a [Box<RawValue>],
    }
    Batch { messages }.serialize(serializer)
}

/// Identity of a client (SS-13, SS-20).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Auth {
    /// `tui`, `cli` or anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_type: Option<String>,
    /// Version of the protocol that it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its capabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// The secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The nonce of the challenge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The signature: HMAC-SHA256 of the nonce's text under the secret, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Names a session; the current one by default (*addition* where the protocol has no such field).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionRef {
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Creates a session (SS-29).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionCreate {
    /// The directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The directory; takes precedence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Further options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<CreateOptions>,
}

/// Options of a new session (SS-48).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CreateOptions {
    /// Whether it is saved automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_save: Option<bool>,
    /// Interval of saving in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub save_interval_seconds: Option<u64>,
    /// *Addition*: the agent that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Attaches to a session (SS-34).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionAttach {
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Whether to become the owner even if another client is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takeover: Option<bool>,
}

/// Which sessions to list (SS-39).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionFilter {
    /// Only those of this directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Saves the session (SS-44).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionSave {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// *Addition*: the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Sends a prompt to the agent (SS-49).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ChatSend {
    /// The prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The prompt, under another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Settings for this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<ChatSendOptions>,
    /// *Addition*: the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Settings for one answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ChatSendOptions {
    /// The temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Maximum number of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// *Addition*: the prompt contains text that no person typed; it is refused if a shell answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piped: Option<bool>,
}

/// Reports that a person has opened an approval (SS-61).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AuthorizationAck {
    /// Id of the approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_id: Option<String>,
}

/// Decides an approval (SS-60), or reports that a person has opened it (SS-61).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AuthorizationResponse {
    /// Id of the approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_id: Option<String>,
    /// Whether to allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Whether this only reports that it was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<bool>,
    /// *Addition*: the option chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// *Addition*: apply the decision to later requests of this kind, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<bool>,
}

/// Answers a question (SS-64).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QuestionResponse {
    /// Id of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_id: Option<String>,
    /// The answer to a single question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The answers to several questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_map: Option<QuestionAnswers>,
    /// The same, under another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<QuestionAnswers>,
}

/// Answers to several questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum QuestionAnswers {
    /// By key: `q_1`, `q_2` and so on.
    Named(BTreeMap<String, String>),
    /// In the order of the questions.
    Listed(Vec<String>),
}

/// Ends the connection (SS-27).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Close {
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the session stays in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_session: Option<bool>,
}

/// Requests settings (SS-67).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConfigGet {
    /// Their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// *Addition*: the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Changes settings (SS-68): directly or under `values`. Unknown keys are ignored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ConfigSet {
    /// The agent that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Scalar>,
    /// The same, under another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<Scalar>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Scalar>,
    /// The temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Scalar>,
    /// Maximum number of tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<Scalar>,
    /// The same again; these take precedence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Box<ConfigSet>>,
    /// *Addition*: the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Pauses or resumes events (SS-74).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlowControl {
    /// Whether to pause them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<bool>,
}

/// Creates a working tree of a repository (SS-73).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkspaceCreate {
    /// The repository, or a directory in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_workspace: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Names a workspace (SS-72).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkspaceName {
    /// The directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// A value of any type, so that a wrong type is no parse error: of a setting, or of a field of the envelope.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    /// Neither text nor a number, so never a valid value.
    Other,
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Scalar, E> {
                Ok(Scalar::Other)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar::Number(number as f64))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar::Number(number as f64))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar::Number(number))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Scalar, A::Error> {
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar::Other)
            }
        }
        deserializer.deserialize_any(Any)
    }
}
