//! Instructions that the screen model takes per byte of output, counted by callgrind on fixed streams.
//!
//! Times on shared machines are noise; this is the same number in every run of one build. The bounds are generous: half as
//! much again as was counted, for other compilers. Skipped without valgrind, which `cargo xtask setup` installs.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::process::{Command, Stdio};

const MODE: &str = "feed-screen-model";

/// MiB of output that are counted, after a run without any has been subtracted.
const MIB: u64 = 1;

/// Streams, and the instructions per byte that they may take in a build for development.
const BOUNDS: [(&str, u64); 4] = [("text", 100), ("cells", 60), ("cursor", 100), ("repaint", 95)];

#[test]
fn the_screen_model_needs_few_instructions_per_byte() {
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: valgrind is not installed");
        return;
    }
    let mut missed = Vec::new();
    for (stream, bound) in BOUNDS {
        let per_byte = (count(stream, MIB) - count(stream, 0)) / (MIB << 20);
        eprintln!("{stream}: {per_byte} instructions per byte, at most {bound}");
        if per_byte > bound {
            missed.push(format!("{stream}: {per_byte} > {bound}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join(", "));
}

/// Instructions of a run that feeds so much of a stream.
fn count(stream: &str, mib: u64) -> u64 {
    let run = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            env!("CARGO_BIN_EXE_swb-bench"),
            MODE,
            stream,
        ])
        .arg(mib.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    let number = |line: &str| line.split_once("Collected :")?.1.trim().parse().ok();
    said.lines().find_map(number).unwrap_or_else(|| panic!("no count: {said}"))
}
