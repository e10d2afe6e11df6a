//! What CI consists of.

use crate::progress::{self, Progress};
use crate::{deny, deps, docs, purity, setup};
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::num::NonZero;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Seconds for which CI runs each fuzz target, after all of its seeds.
const FUZZ_SECONDS: &str = "3";

/// The project's directory.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// Everything, the tests last, so that their closing lines are the last thing to be seen.
pub(crate) fn ci() -> Result<()> {
    println!("== beside all else: fuzzing");
    let fuzzing = BesideTask::start("fuzz", &["fuzz", FUZZ_SECONDS])?;
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
    println!("== tests, and beside them: the pure crates for a target without an operating system");
    let pure = BesideTask::start("pure", &["pure"])?;
    let tested = {
        let _progress = Progress::of("tests");
        tests()
    };
    let beside = [fuzzing, pure].map(BesideTask::finish);
    tested?;
    beside.into_iter().collect()
}

/// A task that runs beside the others: builds, browser and tests all leave processor time unused. Fuzzing has a target
/// directory of its own, so that neither waits for the other's build.
struct BesideTask {
    name: &'static str,
    process: Child,
}

impl BesideTask {
    fn start(name: &'static str, words: &[&str]) -> Result<Self> {
        fs::create_dir_all("target")?;
        let log = File::create(Self::log(name))?;
        // Behind interactive programs, and yet not last in a queue with other programs on this machine.
        let mut task = command("nice", &["-n", "5"]);
        // By this path, because building the workspace may have replaced the file. A group of its own can be ended.
        task.arg(format!("/proc/{}/exe", std::process::id())).args(words).process_group(0);
        // Always the same inputs: what a change has nothing to do with must not fail it.
        task.env("FUZZ_SEED", "1");
        task.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Self { name, process: task.spawn().with_context(|| format!("cannot start {name}"))? })
    }

    fn log(name: &str) -> PathBuf {
        Path::new("target").join(name).with_extension("log")
    }

    /// Waits for its end, and insists on its success.
    fn finish(mut self) -> Result<()> {
        let (name, log) = (self.name, Self::log(self.name));
        let _progress = Progress::of(name);
        if !self.process.wait()?.success() {
            println!("{}", fs::read_to_string(&log).unwrap_or_default());
            bail!("`cargo xtask {name}` failed; its output is above, and in {}", log.display());
        }
        Ok(())
    }
}

impl Drop for BesideTask {
    fn drop(&mut self) {
        // Something else has failed: the result is not needed.
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ended = command("kill", &["--", &format!("-{}", self.process.id())]).status();
        }
    }
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

/// The page for tunnels as a file that needs no server; see docs/tunnel.md.
pub(crate) fn connect_page() -> Result<()> {
    setup::npm_packages("web")?;
    let directory = root().join("target/connect-page");
    run(setup::npm("web", &["run", "connect-page"])?.env("SWB_CONNECT_DIR", &directory))?;
    println!("{}", directory.join("connect.html").display());
    Ok(())
}

/// Tests of the page in Chromium, with the debug build of the program; see tests/browser/README.md.
pub(crate) fn browser(arguments: &[&str]) -> Result<()> {
    in_browser(&[&["test", "--"], arguments].concat())
}

/// Pictures of the page's main views.
pub(crate) fn screenshots() -> Result<()> {
    in_browser(&["run", "screenshots"])
}

/// Pictures of what people see in a terminal; those whose test's name contains `filter`, or all.
pub(crate) fn terminal_pictures(filter: &[&str]) -> Result<()> {
    let programs = ["--test", "pictures", "--test", "top"];
    let mut test = command("cargo", &[&["test", "--quiet", "-p", "swb"], &programs[..], &["--"]].concat());
    // The others of `top` make none.
    let filter = if filter.is_empty() { &["pictures::", "chat::"] } else { filter };
    run(test.args(filter).env("SWB_PICTURES", root().join("docs/screenshots")))
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
/// other processes most of the time, so there are seven for two cores.
fn tests() -> Result<()> {
    let threads = 7 * std::thread::available_parallelism().map_or(1, NonZero::get) / 2;
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
    let progress = Progress::of(name);
    let done = action();
    drop(progress);
    done.with_context(|| name.to_owned())?;
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

/// The beginning of a command line, as people would type it.
fn line_of(command: &Command) -> String {
    /// Words that say which command it is.
    const WORDS: usize = 4;
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.take(WORDS).map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Runs a program and insists on its success.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    progress::runs(line_of(command));
    let status = command.status().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    ensure!(status.success(), "{:?} {:?} failed: {status}", command.get_program(), command.get_args());
    Ok(())
}
