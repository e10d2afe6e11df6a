//! An upgrade: another program replaces this daemon, and its keeper if requested, while sessions keep running.

use crate::limits;
use crate::run::{DaemonEnd, DaemonSetup, own_environment};
use crate::service_manager;
use crate::timed_command::output_within;
use anyhow::Result;
use rustix::fs::Mode;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use swb_engine::Engine;

/// The program to replace this one with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramUpgrade {
    pub(crate) exe: PathBuf,
    pub(crate) keeper: bool,
}

/// Checks that a program can run here and is `swb`, before it replaces the running one.
pub(crate) fn check_program(exe: &Path) -> Result<(), String> {
    let cannot = |why: &str| format!("cannot upgrade to {}: {why}", exe.display());
    if !exe.is_absolute() {
        return Err(cannot("the path is not absolute"));
    }
    let output = output_within(Command::new(exe).arg("--version"), limits::VERSION_TIMEOUT);
    let output = output.map_err(|error| cannot(&error.to_string()))?;
    let output = output.ok_or_else(|| cannot("timed out waiting for the output of --version"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.starts_with("swb ") {
        Ok(())
    } else {
        Err(cannot("the program is not swb"))
    }
}

impl DaemonSetup {
    /// Leaves the sessions to the keeper, and the keeper to the new program.
    pub(crate) async fn hand_over(&self, engine: &Engine, upgrade: &ProgramUpgrade) -> Result<DaemonEnd> {
        tracing::info!(program = %upgrade.exe.display(), keeper = upgrade.keeper, "replacing the running program");
        if upgrade.keeper {
            let socket = self.paths.keeper_socket();
            let argv = vec![upgrade.exe.clone().into(), "keeper".into(), "--socket".into(), socket.into()];
            engine.replace_keeper(&self.spec(argv, own_environment().collect()))?;
        }
        engine.hand_over(limits::HANDOVER).await;
        Ok(DaemonEnd::Again(upgrade.exe.clone()))
    }

    /// Executes the new program in this process; returns only if that fails.
    pub(crate) fn become_program(&self, exe: &Path) -> anyhow::Error {
        rustix::process::umask(Mode::from_raw_mode(self.umask));
        let error = service_manager::hide_from(Command::new(exe).args(self.arguments())).exec();
        anyhow::Error::new(error).context(format!("cannot run {}", exe.display()))
    }
}
