//! Descriptions of sessions and shells to create, and the restart policy.

use crate::limits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use swb_turns::{Profile, Profiles};
use swb_types::{SessionName, Size};

/// A session to create.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionSpec {
    /// Its name.
    pub name: SessionName,
    /// Make the name unique by a number instead of refusing a taken one.
    pub unique: bool,
    /// Directory the session belongs to; its processes start there.
    pub workspace: PathBuf,
    /// Refuse when the workspace has another live session made with this flag, and bind it to this one.
    pub bind_workspace: bool,
    /// Label of the front that creates it, for listings.
    pub origin: String,
    /// Program and arguments of PTY 0.
    pub argv: Vec<String>,
    /// Complete environment.
    pub env: BTreeMap<String, String>,
    /// File mode creation mask.
    pub umask: u32,
    /// Size of the terminal until a client resizes it.
    pub size: Size,
    /// When the process starts.
    pub start: Start,
    /// What happens when it ends.
    pub restart: RestartPolicy,
    /// Name of the agent's detection profile; by default the one that matches the command.
    #[serde(default)]
    pub profile: Option<String>,
    /// Program of shells for which a client names none; `/bin/sh` when absent.
    #[serde(default)]
    pub shell: Option<String>,
    /// Environment variable that holds the session's name for its processes.
    #[serde(default)]
    pub name_variable: Option<String>,
    /// Labels of endpoints and fronts that do not offer this session.
    pub hidden: Vec<String>,
    /// Labels of endpoints without which the session is not created.
    pub required: Vec<String>,
    /// Refuse a name under which another program offers a session.
    #[serde(default)]
    pub exclusive_name: bool,
}

impl SessionSpec {
    /// The detection profile of its agent.
    pub(crate) fn profile_in(&self, profiles: &Profiles) -> Option<Arc<Profile>> {
        let named = self.profile.as_deref().and_then(|name| profiles.named(name));
        named.or_else(|| profiles.for_command(self.argv.iter().map(String::as_str)))
    }
}

/// When a session's process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// At once.
    Now,
    /// When the first interactive client attaches, with its size.
    FirstClient,
}

/// A further PTY in a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShellSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Complete environment; the session's own when absent.
    pub env: Option<BTreeMap<String, String>>,
    /// Size of its terminal.
    pub size: Size,
}

/// What to do when the process on PTY 0 ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartPolicy {
    /// Start it again.
    pub auto: bool,
    /// Pause before that.
    pub delay_ms: u64,
}

impl RestartPolicy {
    /// Ends with its process.
    pub const NEVER: Self = Self { auto: false, delay_ms: 0 };
    /// Starts again after one second, as clients of restarting sessions expect.
    pub const ALWAYS: Self = Self { auto: true, delay_ms: 1000 };

    /// Decides after a run of `ran` (unknown when an earlier daemon started it); `short` counts short
    /// runs in a row and is kept by the caller.
    pub(crate) fn after_exit(self, ran: Option<Duration>, short: &mut u32) -> Option<Duration> {
        *short = match ran {
            Some(ran) if ran < limits::SHORT_RUN => *short + 1,
            _ => 0,
        };
        (self.auto && *short < limits::SHORT_RUNS).then(|| Duration::from_millis(self.delay_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CO-63
    #[test]
    fn three_short_runs_in_a_row_end_it() {
        let (quick, long) = (Some(Duration::from_secs(1)), Some(Duration::from_secs(9)));
        let mut short = 0;
        let mut after = |ran| RestartPolicy::ALWAYS.after_exit(ran, &mut short).is_some();
        assert!(after(quick) && after(quick));
        assert!(after(long), "a long run ends the series");
        assert!(after(quick) && after(None), "an unknown one too");
        assert!(after(quick) && after(quick));
        assert!(!after(quick));
    }

    // CO-62
    #[test]
    fn delay_comes_from_the_policy() {
        let delay = RestartPolicy::ALWAYS.after_exit(None, &mut 0);
        assert_eq!(delay, Some(Duration::from_millis(1000)));
        assert_eq!(RestartPolicy::NEVER.after_exit(None, &mut 0), None);
    }
}
