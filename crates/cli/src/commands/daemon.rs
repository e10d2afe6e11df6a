//! `swb daemon`: run the daemon in the foreground.

use crate::args;
use crate::error::{Failure, Outcome};
use std::path::PathBuf;

/// Runs the daemon until it is asked to end.
pub(super) fn run(config: Option<PathBuf>, args: &args::DaemonArgs) -> Outcome {
    let options = swb_daemon::Options { config, auto: args.auto, supervised: args.supervised };
    // The whole chain of causes in one line.
    swb_daemon::run(options).map_err(|error| Failure::general(format!("{error:#}")))?;
    Ok(0)
}
