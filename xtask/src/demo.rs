//! The animation of the README: a real session in a home of its own, typed into as a person would, recorded by `swb record`
//! and drawn by `swb replay --svg`.

#![allow(clippy::disallowed_methods, reason = "pauses are part of what is recorded")]

use crate::steps::{cargo, command, root};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Where the picture is.
const PICTURE: &str = "docs/screenshots/demo.svg";
/// Size of the recorded terminal: readable in the column of a README.
const SIZE: &str = "84x22";
/// The session that is recorded.
const STAGE: &str = "stage";
/// Characters that are typed at once: each time is a process.
const TYPED: usize = 3;
/// Time between two of them.
const TYPING: Duration = Duration::from_millis(60);
/// How long a step may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The prompt, which shows that a command has ended.
const PROMPT: &str = "~/api $";

/// Lines that are typed, and with what the screen ends afterwards.
const SCRIPT: [(&str, &str); 8] = [
    ("# an agent in a session of its own; here Python plays the agent", PROMPT),
    ("swb run -d -n api -- python3 -q", PROMPT),
    ("swb ask api '[n * n for n in range(9)]'", PROMPT),
    ("# the daemon crashes: sessions do not notice", PROMPT),
    ("kill -9 $(swb status --json | jq .daemon.pid)", PROMPT),
    ("swb ask api 'sum(_)'", PROMPT),
    ("# any terminal can attach; Ctrl+] detaches", PROMPT),
    ("swb attach api", ">>>"),
];

/// Records and draws.
pub(crate) fn record() -> Result<()> {
    cargo(&["build", "--quiet", "-p", "swb"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let demo = Demo::new(&target.join("debug"))?;
    let cast = demo.dir.join("demo.cast");
    let prompt = "PS1='\\[\\e[1;36m\\]~/api\\[\\e[m\\] \\[\\e[1;32m\\]$\\[\\e[m\\] '\nHISTFILE=\n";
    fs::write(demo.dir.join("h/.bashrc"), prompt)?;
    demo.run(&["run", "-d", "-n", STAGE, &format!("--size={SIZE}"), "--", "bash"])?;
    demo.until(PROMPT)?;
    let recorder = Recorder(demo.swb(&["record", STAGE]).arg(&cast).spawn().context("cannot record")?);
    demo.until_recorded(&cast)?;
    for (line, end) in SCRIPT {
        sleep(Duration::from_millis(500));
        demo.type_line(line)?;
        demo.until(end)?;
        sleep(Duration::from_millis(if line.starts_with('#') { 300 } else { 1200 }));
    }
    demo.run(&["keys", STAGE, "C-]"])?;
    sleep(Duration::from_millis(800));
    demo.type_line("swb ls")?;
    demo.until(PROMPT)?;
    sleep(Duration::from_secs(1));
    recorder.finish()?;
    let svg = root().join(PICTURE);
    let drawn = demo.swb(&["replay", "--idle-limit", "1.5", "--svg"]).arg(&svg).arg(&cast).status()?;
    ensure!(drawn.success(), "cannot draw the recording");
    println!("{} ({} KiB)", svg.display(), svg.metadata()?.len() / 1024);
    Ok(())
}

/// A home with a daemon, below the temporary directory.
struct Demo {
    dir: PathBuf,
    bin: PathBuf,
}

impl Demo {
    fn new(bin: &Path) -> Result<Self> {
        let dir = std::env::temp_dir().join(format!("swb-demo-{}", std::process::id()));
        for name in ["h/api", "r"] {
            fs::create_dir_all(dir.join(name))?;
        }
        fs::set_permissions(dir.join("r"), fs::Permissions::from_mode(0o700))?;
        Ok(Self { dir, bin: bin.to_owned() })
    }

    fn swb(&self, args: &[&str]) -> Command {
        let home = self.dir.join("h");
        let inherited = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{inherited}", self.bin.display());
        let mut swb = command(&self.bin.join("swb").to_string_lossy(), args);
        swb.env_clear().env("HOME", &home).env("XDG_RUNTIME_DIR", self.dir.join("r")).env("PATH", path);
        swb.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("SHELL", "/bin/bash");
        swb.current_dir(home.join("api")).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null());
        swb
    }

    fn run(&self, args: &[&str]) -> Result<String> {
        let output = self.swb(args).stdout(Stdio::piped()).output()?;
        ensure!(output.status.success(), "swb {args:?} failed: {}", output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Types a line as a person would, and presses Enter.
    fn type_line(&self, line: &str) -> Result<()> {
        let chars: Vec<char> = line.chars().collect();
        for few in chars.chunks(TYPED) {
            self.run(&["send", STAGE, "--", &few.iter().collect::<String>()])?;
            sleep(TYPING);
        }
        sleep(Duration::from_millis(300));
        self.run(&["keys", STAGE, "Enter"]).map(drop)
    }

    /// Waits until the screen ends with this.
    fn until(&self, end: &str) -> Result<()> {
        let screen = || self.run(&["screen", STAGE]);
        let ended = wait(end, || screen().is_ok_and(|screen| screen.trim_end().ends_with(end)));
        ended.with_context(|| format!("the screen is:\n{}", screen().unwrap_or_default()))
    }

    fn until_recorded(&self, cast: &Path) -> Result<()> {
        wait("the recording", || fs::read_to_string(cast).is_ok_and(|text| text.contains("api")))
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ended = self.run(&["shutdown", "--kill"]);
        let _removed = fs::remove_dir_all(&self.dir);
    }
}

/// `swb record`, which ends with SIGINT.
struct Recorder(Child);

impl Recorder {
    fn finish(mut self) -> Result<()> {
        let _sent = command("kill", &["-INT", &self.0.id().to_string()]).status()?;
        ensure!(self.0.wait()?.success(), "the recording failed");
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ended = (self.0.kill(), self.0.wait());
    }
}

fn wait(what: &str, mut fact: impl FnMut() -> bool) -> Result<()> {
    let end = Instant::now() + LIMIT;
    while !fact() {
        if Instant::now() > end {
            bail!("timed out waiting for {what}");
        }
        sleep(Duration::from_millis(100));
    }
    Ok(())
}
