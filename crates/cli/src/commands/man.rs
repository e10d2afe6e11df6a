//! `swb man`: print the manual page.

use crate::args::{ManArgs, SwbCli};
use crate::console::print_bytes;
use crate::error::{Failure, Outcome};
use clap::CommandFactory;

/// Prints the page of `swb`, or writes the pages of all commands to a directory.
pub(super) fn run(args: &ManArgs) -> Outcome {
    let command = SwbCli::command();
    if let Some(dir) = &args.dir {
        let failed =
            |error: std::io::Error| Failure::io(format!("cannot write to {}", dir.display()), &error);
        std::fs::create_dir_all(dir).map_err(failed)?;
        clap_mangen::generate_to(command, dir).map_err(failed)?;
        return Ok(0);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    print_bytes(&page)?;
    Ok(0)
}
