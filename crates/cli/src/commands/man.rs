//! `swb man`: show or write manual pages.

use crate::args::{ManArgs, SwbCli};
use crate::console::print_bytes;
use crate::error::{Failure, Outcome};
use crate::manual;
use clap::CommandFactory;
use rustix::stdio::stdout;
use rustix::termios::isatty;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Shows the page of a command, or writes the pages of all commands to a directory.
pub(super) fn run(args: &ManArgs) -> Outcome {
    let program = manual::built(SwbCli::command());
    if let Some(dir) = &args.dir {
        return write_all(&program, dir);
    }
    let command = manual::find(&program, &args.command).ok_or_else(|| {
        Failure::usage(format!("there is no command '{}'", args.command.join(" ")))
            .hint("`swb --help` lists the commands")
    })?;
    let page = manual::page(&program, command)?;
    if !(isatty(stdout()) && show(&page)) {
        print_bytes(&page)?;
    }
    Ok(0)
}

fn write_all(program: &clap::Command, dir: &Path) -> Outcome {
    let failed = |error: io::Error| Failure::io(format!("cannot write to {}", dir.display()), &error);
    std::fs::create_dir_all(dir).map_err(failed)?;
    for command in manual::all(program) {
        let page = manual::page(program, command)?;
        std::fs::write(dir.join(manual::file_name(command)), page).map_err(failed)?;
    }
    Ok(0)
}

/// Shows a page with man(1); false if that is missing.
fn show(page: &[u8]) -> bool {
    let Ok(mut viewer) = Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn() else {
        return false;
    };
    // It may end before it has read everything.
    let _written = viewer.stdin.take().map(|mut input| input.write_all(page));
    viewer.wait().is_ok_and(|status| status.success())
}
