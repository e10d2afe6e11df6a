//! `swb completions`: print completion scripts for shells.

use crate::args::CompletionsArgs;
use crate::completion;
use crate::console::print_bytes;
use crate::error::{Failure, Outcome};

/// Prints the completion script of one shell.
pub(super) fn run(args: &CompletionsArgs) -> Outcome {
    let script =
        completion::script(args.shell).map_err(|error| Failure::io("cannot make the script", &error))?;
    print_bytes(&script)?;
    Ok(0)
}
