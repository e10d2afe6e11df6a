//! The command line's reference page, made from the program's own help texts.

use crate::steps::{command, root, run};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;

const HEAD: &str = "# Command line\n\nMade from the program's help texts by `cargo xtask docs`.\n";

/// Writes the page.
pub(crate) fn write() -> Result<()> {
    Ok(fs::write(page_path(), page()?)?)
}

/// Fails when the page is not what the program says.
pub(crate) fn check() -> Result<()> {
    let written = fs::read_to_string(page_path()).unwrap_or_default();
    ensure!(written == page()?, "docs/cli.md is not what the program says; run `cargo xtask docs`");
    Ok(())
}

fn page_path() -> PathBuf {
    root().join("docs/cli.md")
}

fn page() -> Result<String> {
    run(&mut command("cargo", &["build", "--quiet", "--package", "swb"]))?;
    let main = help(&[])?;
    let mut page = format!("{HEAD}\n## swb\n\n```text\n{main}\n```\n");
    for verb in verbs(&main) {
        let text = help(&[&verb])?;
        page.push_str(&format!("\n## swb {verb}\n\n```text\n{text}\n```\n"));
    }
    Ok(page)
}

/// The commands listed in the main help text.
fn verbs(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn help(words: &[&str]) -> Result<String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let exe = target.join("debug/swb");
    let mut program = command(&exe.to_string_lossy(), words);
    // A fixed width, whatever terminal this runs in.
    let output = program.arg("--help").env("COLUMNS", "100").output().context("cannot run swb")?;
    ensure!(output.status.success(), "swb {words:?} --help failed");
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned())
}
