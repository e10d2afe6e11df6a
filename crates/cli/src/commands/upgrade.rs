//! `swb upgrade`: replace the daemon while sessions keep running.

use crate::args;
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::limits;
use crate::start_daemon;
use serde::Serialize;
use std::path::PathBuf;
use swb_wire::control::{OkReply, Operation, StatusReply, Upgrade};

/// The output of `upgrade --json`.
#[derive(Debug, Serialize)]
struct Upgraded {
    version: String,
    pid: u32,
    previous: String,
    sessions: u32,
}

/// Asks the daemon to replace itself, and waits until the new one replies.
pub(super) fn run(context: &Context, args: args::UpgradeArgs) -> Outcome {
    if args.exe.is_none() {
        check_config(context)?;
    }
    let exe = program(args.exe)?;
    let mut control = context.connect()?;
    let before: StatusReply = control.request(&Operation::Status)?;
    let _: OkReply = control.request(&Operation::Upgrade(Upgrade { exe: Some(exe), keeper: args.keeper }))?;
    // The connection ends with the old process image, so the next reply comes from the new one.
    if !control.wait_for_end(limits::UPGRADE) {
        return Err(Failure::general("timed out waiting for the daemon to restart")
            .hint("see the daemon's log; sessions are not affected"));
    }
    let after: StatusReply = context.query(&Operation::Status)?;
    let upgraded = Upgraded {
        version: after.daemon.version,
        pid: after.daemon.pid,
        previous: before.daemon.version,
        sessions: after.sessions,
    };
    context.print_result(&upgraded, |upgraded| {
        let change = match upgraded.version == upgraded.previous {
            true => format!("Restarted the daemon, version {}", upgraded.version),
            false => {
                format!("Upgraded the daemon from version {} to {}", upgraded.previous, upgraded.version)
            }
        };
        format!("{change} (pid {}).\n", upgraded.pid)
    })?;
    Ok(0)
}

/// A daemon that cannot read its configuration does not start, which would leave the user without one.
fn check_config(context: &Context) -> Result<(), Failure> {
    let named = context.config_file.is_some();
    let config = swb_daemon::Config::load(&context.config_path(), named);
    config.map(drop).map_err(|error| {
        Failure::general(format!("{error:#}"))
            .hint("correct the file and try again; the running daemon is unchanged")
    })
}

fn program(exe: Option<PathBuf>) -> Result<String, Failure> {
    let exe = match exe {
        Some(path) => path
            .canonicalize()
            .map_err(|error| Failure::io(format!("cannot use {}", path.display()), &error))?,
        None => start_daemon::own_program(),
    };
    exe.into_os_string()
        .into_string()
        .map_err(|_| Failure::general("the path of the program is not valid UTF-8").hint("move it elsewhere"))
}
