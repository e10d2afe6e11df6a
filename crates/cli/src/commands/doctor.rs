//! `swb doctor`: check this machine.

use crate::console::wants_colours;
use crate::context::Context;
use crate::doctor;
use crate::error::Outcome;
use rustix::stdio::stdout;
use rustix::termios::isatty;

/// Prints what is found; never starts a daemon.
pub(super) fn run(context: &Context) -> Outcome {
    let report = doctor::examine(context);
    let coloured = wants_colours() && isatty(stdout());
    context.answer_coloured(&report, |report| report.text(coloured))?;
    Ok(report.exit_code())
}
