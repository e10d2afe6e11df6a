//! Whether conversations are saved.

use serde::Deserialize;

/// When our own chat saves a conversation to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SavePolicy {
    /// As it goes on.
    #[default]
    Always,
    /// When the user leaves it and agrees.
    Ask,
    /// On request only.
    Never,
}
