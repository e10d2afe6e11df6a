//! What CI consists of.

use crate::{deps, docs, setup};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The project's directory.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// Everything, the tests last, so that their closing lines are the last thing to be seen.
pub(crate) fn ci() -> Result<()> {
    step("set-up", setup::setup)?;
    step("format", || cargo(&["fmt", "--all", "--check"]))?;
    step("lints", || cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    step("dependencies", deps::check)?;
    step("documentation", || {
        let mut doc =
            command("cargo", &["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
        run(doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links"))
    })?;
    step("help texts", docs::check)?;
    step("pure crates without an operating system", wasm)?;
    // Always the same inputs: what a change has nothing to do with must not fail it.
    step("fuzzing", || run(fuzzer("5").env("FUZZ_SEED", "1")))?;
    println!("== tests");
    tests()
}

/// Runs each fuzz target for a while.
pub(crate) fn fuzz(seconds: &str) -> Result<()> {
    run(&mut fuzzer(seconds))
}

fn fuzzer(seconds: &str) -> Command {
    command("sh", &["fuzz/run.sh", seconds])
}

/// Types and codecs must build where there are no files and no sockets: the proof that no I/O crept in.
fn wasm() -> Result<()> {
    let installed =
        command("rustc", &["--print", "target-libdir", "--target", "wasm32-unknown-unknown"]).output()?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&installed.stdout).trim());
    if !libraries.exists() {
        println!("skipped: this toolchain has no wasm32-unknown-unknown");
        return Ok(());
    }
    cargo(&[
        "check",
        "--quiet",
        "--target",
        "wasm32-unknown-unknown",
        "-p",
        "swb-types",
        "-p",
        "swb-wire",
        "-p",
        "swb-chat",
    ])
}

fn tests() -> Result<()> {
    let nextest =
        command("cargo", &["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if nextest.is_ok_and(|status| status.success()) {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "slow"])
    } else {
        cargo(&["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"])
    }
}

fn step(name: &str, action: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("== {name}");
    let began = Instant::now();
    action().with_context(|| name.to_owned())?;
    println!("== {name}: {:.0} s", began.elapsed().as_secs_f32());
    Ok(())
}

fn cargo(args: &[&str]) -> Result<()> {
    run(&mut command("cargo", args))
}

/// A program to be run in the project's directory.
pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// Runs a program and insists on its success.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    ensure!(status.success(), "{:?} {:?} failed: {status}", command.get_program(), command.get_args());
    Ok(())
}
