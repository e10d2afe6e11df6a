//! What the tests need beside the toolchain: programs, and Python packages.

use crate::steps::{command, run};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Stdio;

/// Programs whose screens the tests look at, and a desktop for the tests of hotkeys, with the Debian packages they are
/// in.
const PROGRAMS: [(&str, &str); 14] = [
    ("bash", "bash"),
    ("vim", "vim"),
    ("less", "less"),
    ("htop", "htop"),
    ("tmux", "tmux"),
    ("Xvfb", "xvfb"),
    ("openbox", "openbox"),
    ("xterm", "xterm"),
    ("xdotool", "xdotool"),
    ("setxkbmap", "x11-xkb-utils"),
    ("xmodmap", "x11-xserver-utils"),
    ("xprop", "x11-utils"),
    ("dbus-daemon", "dbus-daemon"),
    ("dbus-monitor", "dbus-bin"),
];

/// Installs what is missing; quick when nothing is.
pub(crate) fn setup() -> Result<()> {
    programs()?;
    run(&mut command("sh", &["scripts/python-venv.sh"]))
}

fn programs() -> Result<()> {
    let missing: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_there("apt-get") {
        bail!("the tests need programs that are not here; please install: {}", missing.join(" "));
    }
    apt_get(&["update", "-q"])?;
    apt_get(&[&["install", "-y", "-q", "--no-install-recommends"], &missing[..]].concat())
}

fn apt_get(args: &[&str]) -> Result<()> {
    let is_root = command("id", &["-u"]).output()?.stdout == b"0\n";
    let words = if is_root { vec!["apt-get"] } else { vec!["sudo", "apt-get"] };
    let words = [&words[..], args].concat();
    run(command(words[0], &words[1..]).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()))
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| Path::new(&dir).join(program).is_file())
}
