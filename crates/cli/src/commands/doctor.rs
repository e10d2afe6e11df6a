//! `swb doctor`: check this machine.

use crate::console::wants_colours;
use crate::context::Context;
use crate::doctor;
use crate::error::Outcome;
use rustix::stdio::stdout;
use rustix::termios::{isatty, tcgetwinsize};

/// Columns of the text if it goes elsewhere than to a terminal.
const COLUMNS: usize = 100;

/// Prints what is found; never starts a daemon.
pub(super) fn run(context: &Context) -> Outcome {
    let report = doctor::examine(context);
    let coloured = wants_colours() && isatty(stdout());
    context.print_coloured_result(&report, |report| report.text(coloured, columns()))?;
    Ok(report.exit_code())
}

fn columns() -> usize {
    let columns = tcgetwinsize(stdout()).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { COLUMNS } else { columns }
}
