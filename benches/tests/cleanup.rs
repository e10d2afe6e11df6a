//! A run leaves nothing behind, even if it is killed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_killed_run_leaves_no_process_and_no_directory() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swb-bench"));
    command.args(["--quick", "--only", "echo"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = command.spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map_while(Result::ok);
    let scratch = lines.find_map(|l| Some(PathBuf::from(l.strip_prefix("scratch directory: ")?))).unwrap();
    // By then every contender has sessions and a client.
    lines.find(|l| l.starts_with("echo, round 1")).unwrap();
    assert!(has_processes(&scratch));

    run.kill().unwrap();
    run.wait().unwrap();

    let end = Instant::now() + Duration::from_secs(15);
    while scratch.exists() {
        assert!(Instant::now() < end, "{} is still there", scratch.display());
        std::thread::yield_now();
    }
    assert!(!has_processes(&scratch));
}

fn has_processes(scratch: &Path) -> bool {
    let mark = format!("SWB_BENCH_DIR={}", scratch.display());
    let processes = std::fs::read_dir("/proc").expect("Linux has /proc").flatten();
    processes
        .filter_map(|p| std::fs::read(p.path().join("environ")).ok())
        .any(|environ| environ.windows(mark.len()).any(|w| w == mark.as_bytes()))
}
