//! The agents that are installed, and their versions.

use super::{DoctorContext, Finding};
use crate::integration::program::in_path;
use crate::limits;
use crate::sys;
use std::path::PathBuf;
use std::process::Command;
use swb_daemon::output_within;

const NONE: &str = "agents";
/// Agents that have a detection profile.
pub(super) const AGENTS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "aider"];

/// Looks for the agents and asks each for its version, all at the same time.
pub(super) fn check(_place: &DoctorContext) -> Vec<Finding> {
    let installed: Vec<(&'static str, PathBuf)> =
        AGENTS.into_iter().filter_map(|agent| Some((agent, in_path(agent)?))).collect();
    if installed.is_empty() {
        return vec![Finding::warning(
            NONE,
            format!("none of {} is in PATH", AGENTS.join(", ")),
            "install one, or configure one under [[agents]] (see docs/agents.md); until then your shell answers \
             in `swb chat`",
        )];
    }
    let asked: Vec<_> = installed
        .into_iter()
        .map(|(agent, path)| (agent, std::thread::spawn(move || version(agent, &path))))
        .collect();
    let joined = asked.into_iter().map(|(agent, thread)| thread.join().unwrap_or_else(|_| no_answer(agent)));
    joined.collect()
}

fn version(agent: &'static str, path: &std::path::Path) -> Finding {
    let mut ask = Command::new(path);
    // In no directory of the user's: an agent may read settings there.
    ask.arg("--version").current_dir("/");
    match output_within(sys::in_new_session(&mut ask), limits::DOCTOR_PROGRAM) {
        Ok(Some(output)) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no version");
            let line: String = line.chars().take(limits::DOCTOR_VERSION).collect();
            Finding::ok(agent, format!("{line} ({})", path.display()))
        }
        Ok(Some(output)) => Finding::warning(
            agent,
            format!("`{} --version` failed: {}", path.display(), output.status),
            "run it to see why",
        ),
        Ok(None) => no_answer(agent),
        Err(error) => {
            Finding::warning(agent, format!("cannot run {}: {error}", path.display()), "install it again")
        }
    }
}

fn no_answer(agent: &'static str) -> Finding {
    let seconds = limits::DOCTOR_PROGRAM.as_secs();
    Finding::warning(
        agent,
        format!("it has not replied to --version within {seconds} s"),
        "run it to see why",
    )
}
