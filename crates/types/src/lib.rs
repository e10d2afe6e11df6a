//! Plain data that every layer shares: names, sizes, offsets, exit states and the places of sockets.
//!
//! Nothing here performs I/O, so the crate builds for any target. Values that come from a peer are
//! checked when they are made ([`SessionName::new`], [`Size::new`]), so every value is valid.

mod exit;
mod limits;
mod name;
mod offset;
pub mod paths;
mod role;
mod save;
mod similar;
mod size;
mod size_policy;
mod time;

pub use exit::ExitStatus;
pub use name::{NameError, SessionName};
pub use offset::Offset;
pub use paths::Paths;
pub use role::{Role, Scope};
pub use save::SavePolicy;
pub use similar::did_you_mean;
pub use size::Size;
pub use size_policy::SizePolicy;
pub use time::Timestamp;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Environment variable with the number of the descriptor through which an agent's programs connect to the daemon.
pub const CONNECTION_VARIABLE: &str = "SWB_CONNECTION";

/// Why an answer ended that the end of the daemon interrupted. Clients of protocols that report a reason only as a text
/// compare it.
pub const INTERRUPTED_BY_SHUTDOWN: &str = "the daemon is shutting down; the answer was interrupted";

/// Number of a PTY within its session: 0 is the agent, the others are shells.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PtyId(pub u32);

impl PtyId {
    /// The PTY a session is made for.
    pub const AGENT: Self = Self(0);
}

impl fmt::Display for PtyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
