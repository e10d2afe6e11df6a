//! Notifications: what the daemon reports when an agent asks, finishes or ends, and how a user silences that.

use super::operation::{is_false, null_as_default};
use super::turns::EventItem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a notification is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum NotificationKind {
    /// The agent waits for a permission or an answer.
    Asking,
    /// The agent has finished, after it worked for a while.
    Finished,
    /// The command of the session has ended.
    Ended,
    /// A user tries the notifications out.
    Test,
}

impl NotificationKind {
    /// The word on the wire and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Finished => "finished",
            Self::Ended => "ended",
            Self::Test => "test",
        }
    }
}

/// How the terminal is notified in which `swb attach` runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TerminalMeans {
    /// What the terminal understands: a sequence for notifications, or else the bell.
    #[default]
    Auto,
    /// The bell.
    Bell,
    /// `OSC 9`, of iTerm2.
    Osc9,
    /// `OSC 99`, of kitty.
    Osc99,
    /// `OSC 777`, of urxvt.
    Osc777,
    /// Not at all.
    None,
}

impl TerminalMeans {
    /// The word in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bell => "bell",
            Self::Osc9 => "osc9",
            Self::Osc99 => "osc99",
            Self::Osc777 => "osc777",
            Self::None => "none",
        }
    }
}

/// A notification as commands and webhooks receive it: the event as `events` sends it, and what it means.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct NotificationItem {
    /// The event; a test has the event `unknown`.
    #[serde(flatten)]
    pub event: EventItem,
    /// What it is about.
    pub notification: NotificationKind,
    /// The same for people: the name of the session and the state of its agent, and nothing from its terminal.
    pub text: String,
    /// Number of notifications of the session that this one stands for.
    pub count: u32,
    /// Seconds that the agent worked, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Name of the machine.
    pub machine: String,
}

/// *Addition*: stops notifications about a session for a while, or allows them again.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Mute {
    /// Name or workspace.
    pub session: String,
    /// Seconds until notifications are sent again; without it, as long as the session lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Allow notifications again.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub off: bool,
}

/// *Addition*: reply to `mute`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MuteReply {
    /// Always true.
    pub ok: bool,
    /// Name of the session.
    pub session: String,
    /// Whether it is muted.
    pub muted: bool,
    /// When notifications are sent again, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

/// *Addition*: returns how notifications are sent, and which sessions are muted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Notifications {}

/// *Addition*: reply to `notifications`.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct NotificationsReply {
    /// Always true.
    pub ok: bool,
    /// What notifications are sent about.
    pub on: Vec<NotificationKind>,
    /// Seconds that an agent has to work for its end to be reported.
    pub finished_after: u64,
    /// The means, with what they did last.
    pub means: Vec<MeansItem>,
    /// The quiet hours in local time, such as `22:00-07:00`.
    pub quiet_hours: Vec<String>,
    /// Whether it is a quiet hour now.
    pub quiet: bool,
    /// The muted sessions.
    pub muted: Vec<MuteItem>,
}

/// *Addition*: one means of notification.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct MeansItem {
    /// `terminal`, `desktop`, `command` or `webhook`.
    pub means: String,
    /// What it is: the kind of sequence, the program, or the host of the URL.
    pub detail: String,
    /// Notifications sent.
    pub sent: u64,
    /// Notifications that could not be sent or were dropped.
    pub failed: u64,
    /// Why the last one that failed did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// *Addition*: a muted session.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MuteItem {
    /// Its name.
    pub session: String,
    /// When notifications are sent again, in Unix milliseconds; none as long as it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

/// *Addition*: sends a notification by every means, also in quiet hours, and waits for the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct NotifyTest {}

/// *Addition*: reply to `notify_test`.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct NotifyTestReply {
    /// Always true.
    pub ok: bool,
    /// What each means did.
    pub results: Vec<TestItem>,
}

/// *Addition*: what one means of notification did with a test.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TestItem {
    /// `terminal`, `desktop`, `command` or `webhook`.
    pub means: String,
    /// What it is.
    pub detail: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
