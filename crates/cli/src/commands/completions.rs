//! `swb completions`: scripts for shells.

use crate::args::{Cli, Completions};
use crate::error::Outcome;
use clap::CommandFactory;
use std::io::Write;

/// Prints the completion script of one shell.
pub(super) fn run(args: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "swb", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(0)
}
