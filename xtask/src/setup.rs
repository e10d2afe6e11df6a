//! What the tests need beside the toolchain: programs, fonts, and packages for Python and Node.

use crate::steps::{command, root, run};
use anyhow::{Result, bail, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the tests in a browser are.
pub(crate) const BROWSER_TESTS: &str = "tests/browser";

/// Shells and programs whose screens the tests look at, a desktop for the tests of hotkeys, a browser for those of the web page, and
/// networks with routers and a STUN and TURN server, with the Debian packages they are in.
const PROGRAMS: [(&str, &str); 21] = [
    ("valgrind", "valgrind"),
    ("bash", "bash"),
    ("fish", "fish"),
    ("zsh", "zsh"),
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
    ("chromium", "chromium"),
    ("turnserver", "coturn"),
    ("ip", "iproute2"),
    ("nft", "nftables"),
];

/// Fonts that the pictures of the web page show, as the Debian packages that have them and a file of each.
const FONTS: [(&str, &str); 3] = [
    ("/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf", "fonts-dejavu-core"),
    ("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf", "fonts-noto-color-emoji"),
    ("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc", "fonts-noto-cjk"),
];

/// Installs what is missing; quick when nothing is.
pub(crate) fn setup() -> Result<()> {
    programs()?;
    run(&mut command("sh", &["scripts/python-venv.sh"]))?;
    npm_packages(BROWSER_TESTS)
}

/// Installs the npm packages of a directory if its lock file has changed since.
pub(crate) fn npm_packages(dir: &str) -> Result<()> {
    let changed =
        |file: &str| root().join(dir).join(file).metadata().and_then(|metadata| metadata.modified()).ok();
    let (installed, locked) = (changed("node_modules/.package-lock.json"), changed("package-lock.json"));
    if installed.is_some() && installed >= locked {
        return Ok(());
    }
    run(&mut npm(dir, &["ci", "--no-audit", "--no-fund"])?)
}

/// npm in a directory of the project.
pub(crate) fn npm(dir: &str, args: &[&str]) -> Result<Command> {
    ensure!(
        is_there("node") && is_there("npm"),
        "the web page needs Node 20 or later and npm; please install them (Debian: apt-get install nodejs npm)"
    );
    let mut npm = command("npm", args);
    npm.current_dir(root().join(dir)).stdin(Stdio::null());
    Ok(npm)
}

fn programs() -> Result<()> {
    let programs = PROGRAMS.iter().filter(|(program, _)| !is_there(program));
    let fonts = FONTS.iter().filter(|(file, _)| !Path::new(file).exists());
    let missing: Vec<&str> = programs.chain(fonts).map(|(_, package)| *package).collect();
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
    // Programs for root are not on everybody's path.
    let sbin = std::iter::once("/usr/sbin".into());
    std::env::split_paths(&path).chain(sbin).any(|dir| Path::new(&dir).join(program).is_file())
}
