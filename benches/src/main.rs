//! Measures `swb` against a raw PTY, an ideal relay, dtach, tmux, GNU screen and shpool, and prints a Markdown table.
//!
//! Absolute numbers say more about the machine than about a program, so everything is judged as a ratio
//! between contenders that take turns within one run. The program in every session is this executable in a
//! hidden mode ([`puppet`]); so are both halves of the ideal relay ([`relay`]) and the process that cleans up
//! ([`janitor`]). The screen model alone is measured in this process ([`screen_model`], with output of [`streams`]). [`peers`] holds the contenders, [`measure`] what is measured, [`report`] the budgets.

mod chart;
mod flood;
mod janitor;
mod measure;
mod model;
mod peers;
mod proc;
mod pty;
mod puppet;
mod relay;
mod report;
mod stats;
mod streams;
mod sys;
mod wait;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use rustix::process::{Resource, Rlimit};

use measure::{Bench, Measure, Scale, screen_model};
use peers::Kind;
use report::Report;

/// Measures swb against a raw PTY, an ideal relay, dtach, tmux, GNU screen and shpool
#[derive(Parser)]
#[command(name = "swb-bench")]
struct Options {
    /// Smaller sizes and fewer rounds
    #[arg(long)]
    quick: bool,
    /// Take only these measures
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MEASURE,…")]
    only: Vec<Measure>,
    /// The swb to measure [default: the one beside this executable]
    #[arg(long, value_name = "PATH")]
    swb: Option<PathBuf>,
    /// How often the contenders take turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Also write everything, with the values of each round, to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write results.json, results.md and charts (SVG) to this directory
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Fail if a budget is missed or could not be judged
    #[arg(long)]
    check: bool,
}

fn main() -> Result<ExitCode> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let words: Vec<&str> = args.iter().map(|a| a.to_str().unwrap_or_default()).collect();
    // The hidden modes come first and without a parser: their start is part of what is measured.
    match words[1..] {
        [puppet::MODE, gate, name] => puppet::run(Path::new(gate), name)?,
        [relay::SERVER, socket, ..] => relay::serve(Path::new(socket), &args[3..])?,
        [relay::CLIENT, socket] => relay::attach(Path::new(socket))?,
        [screen_model::MODE, stream, mib] => screen_model::feed(stream, mib)?,
        [janitor::MODE, dir] => janitor::run(Path::new(dir))?,
        _ => return bench(&Options::parse()),
    }
    Ok(ExitCode::SUCCESS)
}

fn bench(options: &Options) -> Result<ExitCode> {
    // Each session's program holds a connection to this process.
    let most = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: most.maximum, ..most };
    rustix::process::setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")?;
    let exe = std::env::current_exe()?;
    let swb = match &options.swb {
        Some(path) => std::path::absolute(path)?,
        None => exe.with_file_name("swb"),
    };
    let mut scale = if options.quick { Scale::quick() } else { Scale::full() };
    scale.rounds = options.rounds.unwrap_or(scale.rounds);
    let conditions = conditions(&scale, &swb);
    let mut bench = Bench::new(exe, swb, scale)?;
    let measures = if options.only.is_empty() { Measure::value_variants() } else { &options.only[..] };
    let mut metrics = Vec::new();
    for measure in measures {
        let name = measure.to_possible_value().map_or_else(String::new, |name| name.get_name().to_owned());
        let start = Instant::now();
        match measure.take(&mut bench) {
            Ok(taken) => metrics.extend(taken),
            // The others are worth having without it.
            Err(error) => bench.note(format!("{name} failed: {error:#}")),
        }
        eprintln!("{name} took {:.0} s", start.elapsed().as_secs_f64());
    }
    let report = Report { conditions, metrics, notes: std::mem::take(&mut bench.notes) };
    println!("{}", report.markdown());
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&report.json())? + "\n";
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(dir) = &options.write {
        write_results(dir, &report).with_context(|| format!("cannot write to {}", dir.display()))?;
    }
    let missed = report.metrics.iter().any(report::Metric::missed);
    Ok(if options.check && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Writes what documentation shows.
fn write_results(dir: &Path, report: &Report) -> Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join("results.json"), serde_json::to_string_pretty(&report.json())? + "\n")?;
    fs::write(dir.join("results.md"), report.markdown() + "\n")?;
    for (name, chart) in chart::of(&report.metrics) {
        fs::write(dir.join(name), chart)?;
    }
    Ok(())
}

/// What a reader must know about the machine and the run.
fn conditions(scale: &Scale, swb: &Path) -> Vec<String> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    let versions: Vec<String> = Kind::ALL.iter().filter_map(|kind| kind.version(swb)).collect();
    vec![
        format!("Linux {}, {cores} cores, load {load} before the run", kernel.trim()),
        format!(
            "{} rounds; per round {} MiB of output, {} keys, {} sessions created; medians, ratios paired by round",
            scale.rounds,
            scale.flood >> 20,
            scale.keys,
            scale.creates
        ),
        format!("versions: {}", versions.join("; ")),
    ]
}
