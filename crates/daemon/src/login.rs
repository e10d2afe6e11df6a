//! The end of a login: how the keeper and a daemon that a command started come to outlive the terminal they were started
//! from, where systemd manages the user's processes.
//!
//! systemd ends all processes of a unit with the unit: a terminal window's with the window, a login session's with the
//! session. So they move to a scope of their own in the user's manager. Everything here is a courtesy: without a user
//! manager, or if it does not answer, the processes stay where they are.

#![allow(
    clippy::disallowed_methods,
    reason = "files of the kernel and of systemd, before any client is served"
)]

use crate::limits;
use crate::timed_command::output_within;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use swb_types::Paths;

/// How the names of our units begin, of the scope here and of the service in docs/logout.md. A daemon in one stays there.
const OWN_UNITS: &str = "switchboard";
/// Warning if the user's manager, and with it the scope, ends at the last logout.
const NO_LINGERING: &str =
    "sessions end when you log out: `loginctl enable-linger` keeps them (see docs/logout.md)";
/// Warning if the processes stay in a login session that ends them.
const NO_SCOPE: &str = "sessions end when you log out: KillUserProcesses is on, and the user's systemd manager created no scope \
                        for them (see docs/logout.md)";

/// How the processes of this user end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginRules {
    /// The user's manager keeps running when the user is logged out.
    pub lingering: bool,
    /// All processes of a login session end with it.
    pub kills_processes: bool,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// Stay: it is the best place there is.
    Stay,
    /// Move to a scope of the user's manager.
    Move,
    /// The same; if that fails, the processes end with the login session.
    MoveOrEnd,
    /// The same, and the user's manager ends with the last login.
    MoveUntilLogout,
}

impl Plan {
    /// The warning for the user, after the processes have `moved` or not.
    fn warning(self, moved: bool) -> Option<&'static str> {
        match (self, moved) {
            (Self::MoveOrEnd, false) => Some(NO_SCOPE),
            (Self::MoveUntilLogout, _) => Some(NO_LINGERING),
            (Self::Stay | Self::Move, _) | (Self::MoveOrEnd, true) => None,
        }
    }
}

/// Decides by the control group of this process, as in `/proc/self/cgroup`.
fn plan(cgroups: &str, rules: impl FnOnce() -> LoginRules) -> Plan {
    let Some(path) = manager_path(cgroups) else { return Plan::Stay };
    let unit = unit_in(path).unwrap_or_default();
    if unit.starts_with(OWN_UNITS) || path.starts_with("/system.slice/") {
        return Plan::Stay;
    }
    if !unit.starts_with("session-") {
        return Plan::Move;
    }
    match rules() {
        LoginRules { lingering: true, kills_processes: true } => Plan::MoveOrEnd,
        LoginRules { lingering: true, .. } => Plan::Move,
        LoginRules { kills_processes: true, .. } => Plan::MoveUntilLogout,
        // The session stays until its last process has ended, but the user's manager would not.
        LoginRules { .. } => Plan::Stay,
    }
}

/// The innermost unit in the path of a control group.
fn unit_in(path: &str) -> Option<&str> {
    path.rsplit('/').find(|part| part.ends_with(".scope") || part.ends_with(".service"))
}

/// The unit of systemd that a process is in.
pub fn unit_of(pid: u32) -> Option<String> {
    let cgroups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    manager_path(&cgroups).and_then(unit_in).map(str::to_owned)
}

/// The control group in systemd's hierarchy.
fn manager_path(cgroups: &str) -> Option<&str> {
    let path = |prefix: &str| cgroups.lines().find_map(|line| line.strip_prefix(prefix));
    let named = cgroups.lines().find_map(|line| line.split_once(":name=systemd:").map(|(_, path)| path));
    path("0::").filter(|path| *path != "/").or(named).or(path("0::"))
}

/// Moves `processes` to a scope of their own if that makes them live longer; returns a warning for the user.
pub(crate) async fn move_to_own_scope(paths: &Paths, processes: Vec<u32>) -> Option<String> {
    let manager = paths.runtime.as_ref()?.join("systemd/private");
    if processes.is_empty() || !manager.exists() {
        return None;
    }
    let cgroups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    // Its answer may take a while, and nothing else can be done meanwhile: no session may start before.
    let moving = tokio::task::spawn_blocking(move || {
        let plan = plan(&cgroups, login_rules);
        (plan, plan != Plan::Stay && start_scope(&processes))
    });
    let (plan, moved) = moving.await.ok()?;
    if moved {
        tracing::info!("moved to a scope of the user's systemd manager");
    }
    plan.warning(moved).map(str::to_owned)
}

/// Finds out how the processes of this user end; waits for systemd, but not long.
pub fn login_rules() -> LoginRules {
    let user = ["USER", "LOGNAME"].iter().find_map(std::env::var_os);
    let lingering = user.is_some_and(|user| Path::new("/var/lib/systemd/linger").join(user).exists());
    let mut ask = Command::new("busctl");
    ask.args(["get-property", "org.freedesktop.login1", "/org/freedesktop/login1"]);
    ask.args(["org.freedesktop.login1.Manager", "KillUserProcesses"]);
    let answer = output_within(&mut ask, limits::MANAGER).ok().flatten();
    LoginRules {
        lingering,
        kills_processes: answer.is_some_and(|answer| answer.stdout.starts_with(b"b true")),
    }
}

/// Asks the user's manager for a scope with these processes; returns whether they are in it.
fn start_scope(processes: &[u32]) -> bool {
    let unit = format!("{OWN_UNITS}-{}.scope", std::process::id());
    let answer = output_within(&mut scope_command(&unit, processes), limits::MANAGER);
    if !matches!(&answer, Ok(Some(output)) if output.status.success()) {
        tracing::info!(
            "the user's systemd manager created no scope; sessions end with what started the daemon"
        );
        return false;
    }
    // The manager moves them a moment after its answer.
    let deadline = Instant::now() + limits::SCOPE;
    while !processes.iter().all(|pid| is_in(*pid, &unit)) {
        if Instant::now() > deadline {
            tracing::warn!(unit, "timed out waiting for the user's systemd manager to move the processes");
            return false;
        }
        std::thread::park_timeout(limits::SCOPE_CHECK);
    }
    true
}

fn is_in(pid: u32, unit: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|cgroups| cgroups.contains(unit))
}

/// The call of the manager's `StartTransientUnit`.
fn scope_command(unit: &str, processes: &[u32]) -> Command {
    let mut command = Command::new("busctl");
    command.args(["--user", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1"]);
    command.args([
        "org.freedesktop.systemd1.Manager",
        "StartTransientUnit",
        "ssa(sv)a(sa(sv))",
        unit,
        "fail",
    ]);
    command.args(["4", "PIDs", "au"]).arg(processes.len().to_string());
    command.args(processes.iter().map(u32::to_string));
    command.args(["Description", "s", "Switchboard keeper and its sessions"]);
    // Shells ignore SIGTERM. With delegation the end of one process by the OOM killer does not end the others.
    command.args(["SendSIGHUP", "b", "true", "Delegate", "b", "true", "0"]);
    command
}

/// Makes the kernel end this daemon before the keeper when memory runs out: the keeper starts the next one.
pub(crate) fn offer_to_oom_killer(keeper: i32) {
    let score = |process: &str| -> Option<i32> {
        std::fs::read_to_string(format!("/proc/{process}/oom_score_adj")).ok()?.trim().parse().ok()
    };
    let (Some(keepers), Some(own)) = (score(&keeper.to_string()), score("self")) else { return };
    let wanted = keepers.saturating_add(swb_keeper::OOM_DAEMON).min(swb_keeper::OOM_MOST);
    if wanted > own
        && let Err(error) = std::fs::write("/proc/self/oom_score_adj", wanted.to_string())
    {
        tracing::debug!(%error, "cannot change the OOM score");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(cgroups: &str, lingering: bool, kills_processes: bool) -> Plan {
        plan(cgroups, || LoginRules { lingering, kills_processes })
    }

    #[test]
    fn a_terminal_window_is_left() {
        let window = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope\n";
        assert_eq!(planned(window, false, false), Plan::Move);
        let shell = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-foot@1.service/x\n";
        assert_eq!(planned(shell, false, false), Plan::Move);
    }

    #[test]
    fn a_login_session_is_left_if_that_is_better() {
        let session = "0::/user.slice/user-1000.slice/session-3.scope\n";
        assert_eq!(planned(session, true, false), Plan::Move);
        assert_eq!(planned(session, true, true), Plan::MoveOrEnd);
        assert_eq!(planned(session, false, true), Plan::MoveUntilLogout);
        assert_eq!(planned(session, false, false), Plan::Stay, "it outlives the login there");
    }

    #[test]
    fn the_user_is_warned_if_sessions_end_at_logout() {
        let warnings = |plan: Plan| [true, false].map(|moved| plan.warning(moved));
        assert_eq!(warnings(Plan::Stay), [None; 2]);
        assert_eq!(warnings(Plan::Move), [None; 2]);
        assert_eq!(warnings(Plan::MoveOrEnd), [None, Some(NO_SCOPE)]);
        assert_eq!(warnings(Plan::MoveUntilLogout), [Some(NO_LINGERING); 2]);
    }

    #[test]
    fn services_and_our_own_units_are_not_left() {
        for cgroup in [
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/switchboard.service\n",
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/switchboard-17.scope\n",
            "0::/system.slice/cron.service\n",
            "",
        ] {
            assert_eq!(planned(cgroup, true, true), Plan::Stay, "{cgroup}");
        }
    }

    #[test]
    fn the_older_hierarchies_are_known_too() {
        let hybrid = "12:pids:/x\n1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n0::/\n";
        assert_eq!(manager_path(hybrid), Some("/user.slice/user-1000.slice/session-3.scope"));
        assert_eq!(manager_path("0::/\n"), Some("/"));
    }

    #[test]
    fn the_manager_is_asked_for_a_scope_of_exactly_these_processes() {
        let command = scope_command("switchboard-5.scope", &[5, 6]);
        let args: Vec<&str> = command.get_args().filter_map(|arg| arg.to_str()).collect();
        let at = args.iter().position(|arg| *arg == "PIDs").unwrap();
        assert_eq!(args[at - 3..at + 5], ["switchboard-5.scope", "fail", "4", "PIDs", "au", "2", "5", "6"]);
    }
}
