//! Starting under difficult conditions: other daemons, obstacles, missing directories, other users.

use std::process::Output;
use swb_testkit::{Swb, is_alive};

mod activation;
mod obstacles;
mod others;
mod place;
mod settings;
mod users;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// How a front is doing.
fn state(swb: &Swb, front: &str) -> String {
    let status = swb.status();
    let found = status["dialects"].as_array().unwrap().iter().find(|dialect| dialect["name"] == front);
    found.expect("the front is listed")["state"].as_str().unwrap().to_owned()
}

/// What a command wrote to standard error.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The daemons that run in this home.
fn daemons(swb: &Swb) -> Vec<i64> {
    let runtime = format!("XDG_RUNTIME_DIR={}", swb.dir().join("r").display());
    let words = |pid: i64, file: &str| -> Vec<String> {
        let content = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        content.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    };
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i64>().ok());
    pids.filter(|pid| is_alive(*pid))
        .filter(|pid| words(*pid, "cmdline").get(1).is_some_and(|verb| verb == "daemon"))
        .filter(|pid| words(*pid, "environ").contains(&runtime))
        .collect()
}
