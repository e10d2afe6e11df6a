//! Project tasks: `cargo xtask` lists them, `cargo xtask ci` runs what CI runs.

mod coverage;
mod demo;
mod deny;
mod deps;
mod dist;
mod docs;
mod progress;
mod purity;
mod setup;
mod steps;

use anyhow::{Result, bail};
use std::process::ExitCode;

/// The tasks, with what they do.
const TASKS: [(&str, &str); 15] = [
    ("ci", "run every check and every test, installing what they need"),
    ("setup", "install what the tests need: programs, fonts, Python packages in .venv, npm packages"),
    ("deps", "check dependencies: directions, pure crates, licences, minimum Rust version"),
    ("msrv", "compile with the minimum Rust version, installing it"),
    ("docs", "write the generated pages: command line, coverage of requirements (--check: compare)"),
    ("coverage", "write the page about coverage alone, without building swb"),
    ("page", "check the types of the web page and run its unit tests"),
    ("connect-page", "write the page for tunnels as one file: target/connect-page/connect.html"),
    ("browser", "build swb and test the web page in Chromium (arguments go to Playwright)"),
    ("screenshots", "write the pictures of the web page in docs/screenshots"),
    ("demo", "record the animation of the README, docs/screenshots/demo.svg"),
    (
        "dist",
        "build packages in target/dist: `dist deb` a Debian package, `dist musl` a static binary, `dist` both",
    ),
    (
        "terminal-pictures",
        "write the pictures of programs in a terminal in docs/screenshots (arguments filter)",
    ),
    ("pure", "compile the pure crates for a target without an operating system"),
    ("fuzz", "run each fuzz target for the given number of seconds (default 10)"),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    std::env::set_current_dir(steps::root())?;
    match words {
        [] => {
            for (name, what) in TASKS {
                println!("cargo xtask {name:<17} {what}");
            }
            Ok(())
        }
        ["ci"] => steps::ci(),
        ["setup"] => setup::setup(),
        ["deps"] => steps::dependencies(),
        ["msrv"] => deny::msrv(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["coverage"] => docs::write_coverage(),
        ["page"] => steps::page(),
        ["connect-page"] => steps::connect_page(),
        ["browser", arguments @ ..] => steps::browser(arguments),
        ["screenshots"] => steps::screenshots(),
        ["demo"] => demo::record(),
        ["dist"] => dist::deb(false).and_then(|()| dist::musl().map(drop)),
        ["dist", "deb"] => dist::deb(false),
        ["dist", "deb", "--static"] => dist::deb(true),
        ["dist", "musl"] => dist::musl().map(drop),
        ["terminal-pictures", filter @ ..] => steps::terminal_pictures(filter),
        ["pure"] => purity::target(),
        ["fuzz"] => steps::fuzz("10"),
        ["fuzz", seconds] => steps::fuzz(seconds),
        _ => bail!("no such task; `cargo xtask` lists them"),
    }
}
