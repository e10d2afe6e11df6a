//! Pages that are generated from the code: the reference of the command line from the help texts of `swb`, and
//! the list of tests that cite each requirement.

use crate::coverage;
use crate::steps::{command, root, run};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;

const HEAD: &str =
    "# Command line\n\nGenerated from the help texts of `swb` by `cargo xtask docs`: do not edit.\n";

/// Writes the pages.
pub(crate) fn write() -> Result<()> {
    for (path, made) in pages()? {
        fs::write(path, made)?;
    }
    schemas()
}

/// Writes the descriptions of the web's interfaces and the page's types; tests of these crates compare them.
fn schemas() -> Result<()> {
    let tests = ["test", "--quiet", "-p", "swb-wire", "-p", "swb-web", "--", "generated_from"];
    run(command("cargo", &tests).env("UPDATE_EXPECT", "1"))
}

/// Writes the page about coverage alone, which needs no build of `swb`.
pub(crate) fn write_coverage() -> Result<()> {
    Ok(fs::write(root().join(coverage::PAGE), coverage::page()?)?)
}

/// Fails when a page is out of date.
pub(crate) fn check() -> Result<()> {
    for (path, made) in pages()? {
        let written = fs::read_to_string(&path).unwrap_or_default();
        ensure!(written == made, "{} is out of date: run `cargo xtask docs`", path.display());
    }
    Ok(())
}

fn pages() -> Result<Vec<(PathBuf, String)>> {
    Ok(vec![(root().join("docs/cli.md"), cli_page()?), (root().join(coverage::PAGE), coverage::page()?)])
}

fn cli_page() -> Result<String> {
    // As the tests are built, so that CI compiles everything once.
    run(&mut command("cargo", &["build", "--quiet", "--workspace", "--bins", "--tests"]))?;
    let main = help(&[])?;
    let mut page = format!("{HEAD}\n## swb\n\n```text\n{main}\n```\n");
    for verb in verbs(&main) {
        let text = help(&[&verb])?;
        page.push_str(&format!("\n## swb {verb}\n\n```text\n{text}\n```\n"));
        for sub in verbs(&text) {
            let text = help(&[&verb, &sub])?;
            page.push_str(&format!("\n### swb {verb} {sub}\n\n```text\n{text}\n```\n"));
        }
    }
    Ok(page)
}

/// The commands listed in a help text.
fn verbs(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // Further in are the later lines of a description.
    let lines = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn help(words: &[&str]) -> Result<String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let exe = target.join("debug/swb");
    let mut program = command(&exe.to_string_lossy(), words);
    // A fixed width, independent of the terminal this runs in.
    let output = program.arg("--help").env("COLUMNS", "100").output().context("cannot run swb")?;
    ensure!(output.status.success(), "swb {words:?} --help failed");
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned())
}
