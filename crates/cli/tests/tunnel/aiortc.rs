//! Tunnels with a WebRTC peer that is not ours: aiortc. Each test runs one part of `tests/tunnel`, whose checks follow the
//! documents of the protocol; each check has a daemon of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

// CO-31, CO-47, Q-31
#[test]
fn offers() {
    run("offer");
}

// CO-47
#[test]
fn answers() {
    run("answers");
}

// CO-47
#[test]
fn proofs() {
    run("proof");
}

// CO-15, CO-19, CO-31, CO-46, CO-47, CO-52, CO-53, CO-55, CO-56, CO-57, CO-58, CO-59, CO-60, CO-61, CO-64
#[test]
fn channels() {
    run("channels");
}

// CO-47
#[test]
fn roles() {
    run("roles");
}

// CO-47, CO-65, CO-66
#[test]
fn flow() {
    run("flow");
}

// CO-47
#[test]
fn limits() {
    run("bounds");
}

// CO-47, CO-48
#[test]
fn ends() {
    run("ends");
}

// CO-47, CO-65
#[test]
fn floods() {
    run("floods");
}

// CO-47
#[test]
fn peers_of_other_kinds() {
    run("peers");
}

// CO-47
#[test]
fn lost_peers() {
    run("lost");
}

#[track_caller]
fn run(part: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(python(&root));
    command.arg(root.join("tests/tunnel/run.py")).args(["-j", "3", part]).env("SWB", crate::SWB);
    let output = command.output().expect("Python runs");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Python with aiortc, which `scripts/python-venv.sh` installs if it is not there.
fn python(root: &Path) -> PathBuf {
    let output =
        Command::new(root.join("scripts/python-venv.sh")).output().expect("scripts/python-venv.sh runs");
    assert!(
        output.status.success(),
        "these tests need aiortc: run scripts/python-venv.sh and see why it fails:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    root.join(".venv/bin/python")
}
