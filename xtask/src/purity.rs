//! Pure crates do no I/O and read no clock, so that they run anywhere and tests decide what time it is.
//!
//! Two checks: their sources name nothing of the standard library that reaches outside (always), and they compile
//! for a target without an operating system, which catches the same in their dependencies (where rustup can
//! install that target).

use crate::coverage::files;
use crate::steps::{cargo, command, run};
use anyhow::{Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Crates that must be pure.
const PURE: [&str; 7] = ["types", "wire", "chat", "tui", "vt", "turns", "stun"];
/// The target they are compiled for: not `wasm32-unknown-unknown`, for which the event loop of `alacritty_terminal`,
/// whose grid `vt` uses, does not compile.
const TARGET: &str = "wasm32-unknown-emscripten";

/// What a pure crate must not name. A path also bans everything below it.
const BANNED: [&str; 16] = [
    "std::env",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime::now",
    "print!",
    "println!",
    "eprint!",
    "eprintln!",
    "dbg!",
];

/// Fails if the sources of a pure crate name something banned.
pub(crate) fn sources() -> Result<()> {
    let mut found = Vec::new();
    for name in PURE {
        for path in files(&Path::new("crates").join(name).join("src"), "rs")? {
            if is_test(&path) {
                continue;
            }
            let text = fs::read_to_string(&path)?;
            let place = |(line, what): (usize, &str)| format!("{}:{line}: {what}", path.display());
            found.extend(banned(&text).into_iter().map(place));
        }
    }
    ensure!(found.is_empty(), "pure crates must not use:\n{}", found.join("\n"));
    Ok(())
}

/// Compiles the pure crates for a target without an operating system.
pub(crate) fn target() -> Result<()> {
    if !is_installed(TARGET)? && !install(TARGET) {
        println!("not checked: {TARGET} is not installed and rustup cannot download it");
        return Ok(());
    }
    let packages = PURE.map(|name| format!("--package=swb-{name}"));
    let mut words = vec!["check", "--quiet", "--target", TARGET];
    words.extend(packages.iter().map(String::as_str));
    cargo(&words)
}

fn is_installed(target: &str) -> Result<bool> {
    let output = command("rustc", &["--print", "target-libdir", "--target", target]).output()?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).exists())
}

fn install(target: &str) -> bool {
    // Bounded: without a network rustup may try for long.
    run(command("timeout", &["120", "rustup", "target", "add", target]).stdin(Stdio::null())).is_ok()
}

/// Whether a file is a test module of its own.
fn is_test(path: &Path) -> bool {
    path.with_extension("").iter().any(|part| part == "tests")
}

/// The banned names in a source, with their lines. Comments and test modules at the end of a file do not count.
fn banned(text: &str) -> Vec<(usize, &'static str)> {
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default();
        for path in BANNED.iter().filter(|path| names(line, path)) {
            found.push((number + 1, *path));
        }
    }
    found
}

/// Whether a line names a path, also as one of several in braces: `use std::{fmt, fs};`.
fn names(line: &str, path: &str) -> bool {
    let whole = line.match_indices(path).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + path.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    });
    let Some((module, item)) = path.rsplit_once("::") else { return whole };
    let group = line.split(&format!("{module}::{{")).nth(1).unwrap_or_default();
    whole || group.split(|c| !is_word(c)).any(|word| word == item)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banned_names_are_found() {
        for (line, name) in [
            ("use std::fs;", "std::fs"),
            ("use std::fs::File;", "std::fs"),
            ("use std::{fmt, fs};", "std::fs"),
            ("    let now = std::time::Instant::now();", "Instant::now"),
            ("use std::io::{self, Write, stdout};", "std::io::stdout"),
            ("    println!(\"x\");", "println!"),
        ] {
            assert_eq!(banned(line), [(1, name)], "{line}");
        }
    }

    #[test]
    fn other_names_comments_and_tests_are_allowed() {
        for text in [
            "use std::io::Write; // not std::fs",
            "use std::{fmt, io};",
            "use std::time::{Duration, Instant};",
            "/// Like std::fs::read.",
            "use my_std::fs;",
            "writeln!(out, \"x\")",
            "fn x() {}\n\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}",
        ] {
            assert_eq!(banned(text), [], "{text}");
        }
    }
}
