//! Messages for the user on standard error, and data on standard output.

use crate::error::Failure;
use std::fmt::Arguments;
use std::io::Write;

/// Prints a message of one line. `eprintln!` would panic if standard error is closed, and so change the exit code.
pub(crate) fn say(line: Arguments<'_>) {
    say_text(&format!("{line}\n"));
}

/// Prints a message of whole lines with one write, so that no other program's output comes in between.
pub(crate) fn say_text(lines: &str) {
    drop(std::io::stderr().write_all(lines.as_bytes()));
}

/// Writes data to standard output.
pub(crate) fn print(data: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(data)
        .and_then(|()| out.flush())
        .map_err(|error| Failure::io("cannot write to standard output", &error))
}
