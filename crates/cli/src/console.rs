//! Messages for the user on standard error, and data on standard output.
//!
//! Everything that commands print is made printable here: text from an agent, a file or an argument cannot act on the
//! terminal, independent of what a command prints. Only [`print_bytes`] writes what it is given. What draws on a terminal (`attach`,
//! `chat`, `replay`) writes to it directly.

use crate::error::Failure;
use serde::Serialize;
use std::fmt::Arguments;
use std::io::Write;
use swb_vt::{ColourFilter, printable_json, printable_lines};

/// Prints a message of one line. `eprintln!` would panic if standard error is closed, and so change the exit code.
pub(crate) fn eprint_line(line: Arguments<'_>) {
    eprint_text(&format!("{line}\n"));
}

/// Prints a message of whole lines with one write, so that no other program's output comes in between.
pub(crate) fn eprint_text(lines: &str) {
    eprint_bytes(printable_lines(lines).as_bytes());
}

/// Prints a message that has colours of its own.
pub(crate) fn eprint_coloured(lines: &str) {
    eprint_bytes(&coloured(lines.as_bytes()));
}

/// Prints a JSON value on a line of standard error.
pub(crate) fn eprint_json(value: &impl Serialize) -> Result<(), Failure> {
    eprint_bytes(json_line(value)?.as_bytes());
    Ok(())
}

/// Writes text for people to standard output.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    print_bytes(printable_lines(text).as_bytes())
}

/// Whether the terminal shows colours and the user has not disabled them.
pub(crate) fn wants_colours() -> bool {
    let set = |key: &str| std::env::var_os(key).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// Whether the terminal shows more characters than those of ASCII: unless the locale names another encoding. Many
/// systems set no locale, and their terminals use UTF-8.
pub(crate) fn shows_unicode() -> bool {
    let set = |key: &str| std::env::var(key).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|key| set(key));
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.ends_with("utf-8") || locale.ends_with("utf8") || locale.contains("utf-8@")
    })
}

/// Writes text for people that has colours of its own to standard output.
pub(crate) fn print_coloured(text: &[u8]) -> Result<(), Failure> {
    print_bytes(&coloured(text))
}

/// Writes a JSON value to a line of standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print_bytes(json_line(value)?.as_bytes())
}

/// Writes JSON text to standard output.
pub(crate) fn print_json_text(json: &str) -> Result<(), Failure> {
    print_bytes(printable_json(json).as_bytes())
}

/// Writes data to standard output as it is: for programs, or because the user asked for it.
pub(crate) fn print_bytes(data: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(data)
        .and_then(|()| out.flush())
        .map_err(|error| Failure::io("cannot write to standard output", &error))
}

fn eprint_bytes(bytes: &[u8]) {
    drop(std::io::stderr().write_all(bytes));
}

fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    Ok(printable_json(&serde_json::to_string(value)?).into_owned() + "\n")
}

fn coloured(text: &[u8]) -> Vec<u8> {
    let (mut filter, mut out) = (ColourFilter::new(), Vec::with_capacity(text.len()));
    filter.feed(text, &mut out);
    filter.finish(&mut out);
    out
}
