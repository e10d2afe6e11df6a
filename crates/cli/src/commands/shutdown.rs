//! `swb shutdown`: stop the daemon.

use crate::args;
use crate::console::eprint_line;
use crate::context::Context;
use crate::control_client::ControlClient;
use crate::error::{FailureKind, Outcome};
use crate::limits;
use serde::Serialize;
use swb_wire::control::{History, HistoryReply, OkReply, Operation, Shutdown};

/// The output of `shutdown --json`.
#[derive(Debug, Serialize)]
struct Stopped {
    /// Whether a daemon was running.
    stopped: bool,
    /// Whether its sessions were killed.
    killed: bool,
    /// Number of unsaved conversations that were lost, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    forgotten: Option<usize>,
}

/// Stops the daemon, and kills the sessions with `--kill`.
pub(crate) fn run(context: &Context, args: &args::ShutdownArgs) -> Outcome {
    let mut running = context.connect_if_running()?;
    // Only a daemon can kill the sessions that a keeper still holds.
    if running.is_none() && args.kill && context.paths.keeper_socket().exists() {
        running = Some(context.connect()?);
    }
    let Some(mut control) = running else {
        context.print_result(&Stopped { stopped: false, killed: false, forgotten: None }, |_| {
            "No daemon is running.\n".to_owned()
        })?;
        return Ok(0);
    };
    let forgotten = unsaved(&mut control);
    match control.request::<OkReply>(&Operation::Shutdown(Shutdown { kill: args.kill })) {
        Ok(_) => {}
        // The daemon was asked to end.
        Err(failure) if failure.kind() == FailureKind::Disconnected && !args.kill => {}
        Err(failure) => return Err(failure),
    }
    if !control.wait_for_end(limits::SHUTDOWN) {
        eprint_line(format_args!("{}: the daemon is still shutting down", context.program));
    }
    context.print_result(&Stopped { stopped: true, killed: args.kill, forgotten }, |stopped| {
        let sessions = if stopped.killed { "all sessions were killed" } else { "sessions keep running" };
        let forgotten = match stopped.forgotten {
            None => String::new(),
            Some(1) => ", an unsaved conversation was lost".to_owned(),
            Some(many) => format!(", {many} unsaved conversations were lost"),
        };
        format!("The daemon has stopped; {sessions}{forgotten}.\n")
    })?;
    Ok(0)
}

/// Number of conversations that are not saved and will not be, if there are any. A daemon that does not report it has none.
fn unsaved(control: &mut ControlClient) -> Option<usize> {
    let history = control.request::<HistoryReply>(&Operation::History(History::default()));
    let conversations = history.map(|history| history.conversations).unwrap_or_default();
    Some(conversations.iter().filter(|one| one.live && !one.saved && !one.autosaved).count())
        .filter(|count| *count > 0)
}
