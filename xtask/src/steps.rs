//! What CI consists of.

use crate::{deny, deps, docs, purity, setup};
use anyhow::{Context, Result, ensure};
use std::fs::{self, File};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// The output of the checks that run beside the tests.
const CHECKS_LOG: &str = "target/checks.log";

/// The project's directory.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// Everything, the tests last, so that their closing lines are the last thing to be seen.
pub(crate) fn ci() -> Result<()> {
    step("set-up", setup::setup)?;
    step("format", || cargo(&["fmt", "--all", "--check"]))?;
    step("web page", page)?;
    step("lints", || cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    step("dependencies", dependencies)?;
    step("documentation", || {
        let mut doc =
            command("cargo", &["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
        run(doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links"))
    })?;
    step("generated pages", docs::check)?;
    step("web page in a browser", || browser(&[]))?;
    println!("== tests, and beside them `cargo xtask checks`, which writes to {CHECKS_LOG}");
    let mut checks = start_checks()?;
    let tested = tests();
    let checked = checks.wait()?.success();
    if !checked {
        println!("{}", fs::read_to_string(CHECKS_LOG).unwrap_or_default());
    }
    tested?;
    ensure!(checked, "`cargo xtask checks` failed; its output is above, and in {CHECKS_LOG}");
    Ok(())
}

/// What CI runs beside the tests. These leave half of the processor time unused; fuzzing has a target directory of its
/// own, so that neither waits for the other's build.
pub(crate) fn checks() -> Result<()> {
    // Always the same inputs: what a change has nothing to do with must not fail it.
    step("fuzzing", || run(fuzzer("5").env("FUZZ_SEED", "1")))?;
    step("pure crates: a target without an operating system", purity::target)
}

fn start_checks() -> Result<Child> {
    let log = File::create(CHECKS_LOG)?;
    // By this path, because building the workspace may have replaced the file.
    let mut checks = Command::new("/proc/self/exe");
    checks.arg("checks").stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    checks.spawn().context("cannot start the checks")
}

/// Who depends on whom, what pure crates use, and what third-party crates bring along.
pub(crate) fn dependencies() -> Result<()> {
    deps::check()?;
    purity::sources()?;
    deny::check()
}

/// Types and unit tests of the web page.
pub(crate) fn page() -> Result<()> {
    setup::npm_packages("web")?;
    run(&mut setup::npm("web", &["run", "check"])?)?;
    run(&mut setup::npm("web", &["test"])?)
}

/// Tests of the page in Chromium, with the debug build of the program; see tests/browser/README.md.
pub(crate) fn browser(arguments: &[&str]) -> Result<()> {
    in_browser(&[&["test", "--"], arguments].concat())
}

/// Pictures of the page's main views.
pub(crate) fn screenshots() -> Result<()> {
    in_browser(&["run", "screenshots"])
}

fn in_browser(arguments: &[&str]) -> Result<()> {
    setup::npm_packages(setup::BROWSER_TESTS)?;
    // As the tests are built, so that CI compiles everything once.
    cargo(&["build", "--quiet", "--workspace", "--bins", "--tests"])?;
    run(&mut setup::npm(setup::BROWSER_TESTS, &["run", "check"])?)?;
    run(&mut setup::npm(setup::BROWSER_TESTS, arguments)?)
}

/// Runs each fuzz target for a while.
pub(crate) fn fuzz(seconds: &str) -> Result<()> {
    run(&mut fuzzer(seconds))
}

fn fuzzer(seconds: &str) -> Command {
    command("sh", &["fuzz/run.sh", seconds])
}

/// All tests, also those that need root or Landlock: here they fail where these are missing. Most of them wait for
/// other processes half of the time, so there are five for two cores.
fn tests() -> Result<()> {
    let threads = 5 * std::thread::available_parallelism().map_or(1, NonZero::get) / 2;
    if succeeds(&["nextest", "--version"]) {
        cargo(&[
            "nextest",
            "run",
            "--workspace",
            "--run-ignored",
            "all",
            "--no-fail-fast",
            "--status-level",
            "pass",
            "--test-threads",
            &threads.to_string(),
        ])
    } else {
        let all = ["--no-fail-fast", "--lib", "--bins", "--tests", "--", "--include-ignored"];
        cargo(&[&["test", "--workspace"], &all[..]].concat())
    }
}

fn step(name: &str, action: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("== {name}");
    let began = Instant::now();
    action().with_context(|| name.to_owned())?;
    println!("== {name}: {:.0} s", began.elapsed().as_secs_f32());
    Ok(())
}

/// Runs cargo and insists on its success.
pub(crate) fn cargo(args: &[&str]) -> Result<()> {
    run(&mut command("cargo", args))
}

/// Whether a command of cargo succeeds, without showing what it prints: whether it is installed.
pub(crate) fn succeeds(args: &[&str]) -> bool {
    let status = command("cargo", args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
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
