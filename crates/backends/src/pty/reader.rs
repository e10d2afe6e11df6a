//! Whether a terminal's program runs the lines that it reads.
//!
//! Piped text is data: a diff, a log, a page from the web. A shell would run each line of it, so such a prompt is refused
//! if a shell answers, no matter who started it and what it is called in the configuration.

use super::limits;
use std::path::{Path, PathBuf};
use swb_engine::chat::{Exchange, Failure};
use swb_engine::{Session, file_access};
use swb_types::PtyId;

/// The agent that stands for the user's shell, whatever program that is.
const SHELL_AGENT: &str = "shell";

/// Programs that run what they read.
const SHELLS: [&str; 23] = [
    "ash", "bash", "csh", "dash", "elvish", "fish", "ion", "ksh", "ksh93", "mksh", "nu", "oksh", "osh",
    "pwsh", "rbash", "rc", "rksh", "sh", "tcsh", "xonsh", "yash", "zsh", "zsh5",
];

/// Programs behind which there may be a shell that we cannot see.
const CARRIERS: [&str; 17] = [
    "abduco",
    "chroot",
    "distrobox",
    "docker",
    "dtach",
    "kubectl",
    "login",
    "machinectl",
    "mosh",
    "mosh-client",
    "podman",
    "screen",
    "ssh",
    "su",
    "telnet",
    "tmux",
    "zellij",
];

/// Options of shells that are followed by a value.
const WITH_VALUE: [&str; 8] = ["--init-file", "--rcfile", "-O", "-o", "+O", "+o", "--init-command", "-C"];

/// Refuses a prompt with piped text if a shell reads it.
pub(super) async fn check(session: &Session, exchange: &Exchange) -> Result<(), Failure> {
    if !exchange.options().piped {
        return Ok(());
    }
    let Ok(agent) = session.pty(PtyId::AGENT) else { return Ok(()) };
    let chosen = exchange.settings().agent.as_deref() == Some(SHELL_AGENT);
    let foreground = match agent.pty.foreground() {
        Some(pid) => command_line(pid).await,
        None => Vec::new(),
    };
    let program = match [&*agent.argv, &foreground].into_iter().find(|argv| runs_lines(argv)) {
        Some(argv) => program(argv).unwrap_or(SHELL_AGENT).to_owned(),
        None if chosen => SHELL_AGENT.to_owned(),
        None => return Ok(()),
    };
    Err(Failure::Agent(format!(
        "{program} would run each line of the piped text, so nothing was sent; choose another agent, or type the text"
    )))
}

/// The arguments of a process; empty if it is gone.
async fn command_line(pid: u32) -> Vec<String> {
    let path = PathBuf::from(format!("/proc/{pid}/cmdline"));
    let read = file_access::run(&path, |path| file_access::read_beginning(path, limits::COMMAND_LINE)).await;
    let bytes = read.ok().and_then(Result::ok).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let mut words: Vec<String> = words.collect();
    // The last argument is terminated, too.
    words.pop();
    words
}

/// The name of the program; a login shell has a hyphen before it.
fn program(argv: &[String]) -> Option<&str> {
    let name = Path::new(argv.first()?).file_name()?.to_str()?;
    Some(name.strip_prefix('-').unwrap_or(name))
}

/// Whether the program of a command line runs what it reads, or may.
fn runs_lines(argv: &[String]) -> bool {
    match program(argv) {
        Some("busybox") => runs_lines(argv.get(1..).unwrap_or_default()),
        Some(name) if CARRIERS.contains(&name) => true,
        Some(name) if SHELLS.contains(&name) => reads_commands(argv.get(1..).unwrap_or_default()),
        _ => false,
    }
}

/// Whether a shell with these arguments takes its commands from its input: it has no script and no `-c`.
fn reads_commands(args: &[String]) -> bool {
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let short = arg.starts_with(['-', '+']) && !arg.starts_with("--") && arg.len() > 1;
        match arg {
            "-s" | "-i" => return true,
            "--" | "-" => return args.next().is_none(),
            "--command" => return false,
            _ if WITH_VALUE.contains(&arg) => drop(args.next()),
            _ if short && arg.contains('c') => return false,
            _ if short || arg.starts_with("--") => {}
            // A script.
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(line: &str) -> bool {
        runs_lines(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn shells_are_recognised() {
        for line in [
            "bash",
            "/bin/sh",
            "-zsh",
            "bash -l",
            "bash --norc",
            "bash --rcfile f",
            "sh -i",
            "bash -o vi",
            "fish -C x",
            "sh -s",
            "bash -i script",
            "dash -",
            "ssh host",
            "docker exec -it x claude",
            "tmux",
            "busybox sh",
        ] {
            assert!(runs(line), "{line}");
        }
    }

    #[test]
    fn programs_that_do_not_run_their_input_are_not() {
        for line in [
            "claude",
            "sh -c claude",
            "bash -lc claude",
            "sh agent.sh",
            "bash --norc agent.sh",
            "python3 -i",
            "aider --yes",
            "fish --command claude",
            "",
            "bash -- agent.sh",
            "busybox cat",
            "/opt/bash-agent/agent",
        ] {
            assert!(!runs(line), "{line}");
        }
    }
}
