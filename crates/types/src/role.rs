//! Roles and scopes: what a caller may do, and to which sessions.

use crate::SessionName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// What a caller may do. Which operation needs which role is one table, where operations are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read: list sessions, see screens, logs, turns, events and history, attach without input.
    Watch,
    /// Watch, and send text to agents that can press no key.
    Prompt,
    /// List, see screens and turns, wait, ask and relay, within one workspace: for agents that use `swb` themselves.
    Agent,
    /// Watch, and decide approvals and dialogs.
    Approve,
    /// Prompt, approve, type, resize, create and kill.
    Drive,
    /// Everything.
    Owner,
}

impl Role {
    /// Whether this role allows everything that `other` allows.
    pub fn includes(self, other: Self) -> bool {
        match self {
            Self::Owner => true,
            Self::Drive => other != Self::Owner,
            Self::Prompt => matches!(other, Self::Prompt | Self::Agent | Self::Watch),
            Self::Approve => matches!(other, Self::Approve | Self::Watch),
            Self::Watch | Self::Agent => other == self,
        }
    }

    /// The role's name, in the protocol and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Agent => "agent",
            Self::Prompt => "prompt",
            Self::Approve => "approve",
            Self::Drive => "drive",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The sessions a caller can reach; to the caller, others do not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every session.
    All,
    /// The sessions of one workspace.
    Workspace(PathBuf),
    /// One session.
    Session(SessionName),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all sessions"),
            Self::Workspace(path) => write!(f, "the workspace '{}'", path.display()),
            Self::Session(name) => write!(f, "the session '{name}'"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The roles of people and their programs, each of which may at least watch.
    const ROLES: [Role; 5] = [Role::Watch, Role::Prompt, Role::Approve, Role::Drive, Role::Owner];

    #[test]
    fn an_agent_may_not_even_watch() {
        for role in ROLES {
            assert!(!Role::Agent.includes(role), "{role}");
        }
        assert!(Role::Agent.includes(Role::Agent) && Role::Prompt.includes(Role::Agent));
        assert!(!Role::Watch.includes(Role::Agent) && !Role::Approve.includes(Role::Agent));
    }

    #[test]
    fn every_role_includes_watch_and_itself_and_owner_includes_all() {
        for role in ROLES {
            assert!(role.includes(Role::Watch) && role.includes(role) && Role::Owner.includes(role));
        }
    }

    #[test]
    fn prompt_and_approve_do_not_include_each_other() {
        assert!(!Role::Prompt.includes(Role::Approve) && !Role::Approve.includes(Role::Prompt));
        assert!(Role::Drive.includes(Role::Prompt) && Role::Drive.includes(Role::Approve));
        assert!(!Role::Drive.includes(Role::Owner) && !Role::Approve.includes(Role::Drive));
    }
}
