//! `swb completions`: print completion scripts for shells.

use crate::args::{CompletionsArgs, SwbCli};
use crate::console::print_bytes;
use crate::error::Outcome;
use clap::CommandFactory;

/// Prints the completion script of one shell.
pub(super) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut SwbCli::command(), "swb", &mut script);
    print_bytes(&script)?;
    Ok(0)
}
