//! Whether the program in a session's terminal runs what it reads.
//!
//! Text that no person has typed is data: a diff, a page from the web, the answer of another agent. A shell would run
//! each line of it, with all rights of the user. So such text is refused if a shell or the like reads it, no matter who
//! started that program and what it is called in the configuration.
//!
//! A program is recognised by the command of the session and by the leader of its terminal's foreground process group.
//! One that hides behind another program of the same process group is not.

use super::Session;
use crate::file_access;
use crate::limits;
use std::path::{Path, PathBuf};
use swb_types::PtyId;

/// Shells, without the versions in their names. They run what they read unless they have a script.
const SHELLS: [&str; 21] = [
    "ash", "bash", "csh", "dash", "elvish", "fish", "ion", "ksh", "mksh", "nu", "oksh", "osh", "pwsh",
    "rbash", "rc", "rksh", "sh", "tcsh", "xonsh", "yash", "zsh",
];

/// Other programs that do.
const INTERPRETERS: [&str; 31] = [
    "bun", "clojure", "deno", "erl", "groovysh", "guile", "iex", "ipython", "irb", "jshell", "julia", "lua",
    "luajit", "node", "nodejs", "ocaml", "octave", "perl", "php", "pry", "pypy", "python", "R", "racket",
    "ruby", "sbcl", "scala", "swipl", "tclsh", "utop", "wish",
];

/// Programs behind which there may be a shell that we cannot see, and programs with commands that start others, whatever
/// their arguments are.
const CARRIERS: [&str; 75] = [
    "abduco",
    "adb",
    "autossh",
    "cgdb",
    "chroot",
    "cu",
    "dbclient",
    "distrobox",
    "doas",
    "docker",
    "dtach",
    "ed",
    "emacs",
    "et",
    "ex",
    "expect",
    "ftp",
    "gdb",
    "ghci",
    "incus",
    "kubectl",
    "less",
    "lftp",
    "lldb",
    "login",
    "lxc",
    "machinectl",
    "man",
    "mariadb",
    "mc",
    "minicom",
    "mongosh",
    "more",
    "mosh",
    "mosh-client",
    "mysql",
    "nc",
    "ncat",
    "nerdctl",
    "nsenter",
    "nvim",
    "picocom",
    "pkexec",
    "podman",
    "psql",
    "redis-cli",
    "rlogin",
    "rlwrap",
    "rsh",
    "run0",
    "rview",
    "rvim",
    "screen",
    "script",
    "sftp",
    "socat",
    "sqlite",
    "sqlplus",
    "ssh",
    "sshpass",
    "su",
    "sudo",
    "systemd-run",
    "telnet",
    "tmate",
    "tmux",
    "toolbox",
    "usql",
    "vagrant",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "wsl",
    "zellij",
];

/// Programs that run the program in their arguments, wherever it is in them.
const PREFIXES: [&str; 20] = [
    "busybox", "bwrap", "chrt", "env", "exec", "firejail", "ionice", "ltrace", "nice", "nohup", "proot",
    "setarch", "setsid", "stdbuf", "strace", "taskset", "time", "timeout", "toybox", "unshare",
];

/// Options of shells that are followed by a value.
const WITH_VALUE_IN_SHELLS: [&str; 14] = [
    "+O",
    "+o",
    "--config",
    "--debug",
    "--env-config",
    "--features",
    "--init-command",
    "--init-file",
    "--profile",
    "--rcfile",
    "-C",
    "-d",
    "-O",
    "-o",
];

/// Options of other interpreters that are.
const WITH_VALUE: [&str; 8] = ["--conditions", "--import", "--loader", "--require", "-C", "-r", "-W", "-X"];

impl Session {
    /// The name of the program that reads the input of its agent's terminal if that program runs what it reads, or may.
    pub async fn interpreter(&self) -> Option<String> {
        let agent = self.pty(PtyId::AGENT).ok()?;
        if runs_lines(&agent.argv) {
            return Some(program(&agent.argv).unwrap_or_default().to_owned());
        }
        let foreground = command_line(agent.pty.foreground()?).await;
        match program(&foreground) {
            // It has just ended, or belongs to another user: what reads next is unknown.
            None => Some("an unknown program".to_owned()),
            Some(name) => runs_lines(&foreground).then(|| name.to_owned()),
        }
    }
}

/// The same for the process that a wrapper has registered; `None` if its command line cannot be read.
pub async fn interpreter_of(pid: u32) -> Option<String> {
    let foreground = foreground_of(&proc_file(pid, "stat").await);
    for pid in [Some(pid), foreground].into_iter().flatten() {
        let argv = command_line(pid).await;
        if runs_lines(&argv) {
            return program(&argv).map(str::to_owned);
        }
    }
    None
}

/// The leader of the foreground process group on a process's terminal.
fn foreground_of(stat: &[u8]) -> Option<u32> {
    let stat = String::from_utf8_lossy(stat);
    // The name of the program is in parentheses, and may contain any character.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(5)?.parse().ok()
}

/// The beginning of a file about a process; empty if the process is gone.
async fn proc_file(pid: u32, name: &str) -> Vec<u8> {
    let path = PathBuf::from(format!("/proc/{pid}/{name}"));
    let read = file_access::run(&path, |path| file_access::read_beginning(path, limits::COMMAND_LINE)).await;
    read.ok().and_then(Result::ok).unwrap_or_default()
}

/// The arguments of a process; empty if it is gone.
async fn command_line(pid: u32) -> Vec<String> {
    let bytes = proc_file(pid, "cmdline").await;
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
    let (Some(full), Some(args)) = (program(argv), argv.get(1..)) else { return false };
    // `python3.11` is `python`, but `run0` is not `run`.
    let name = full.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let is_one_of = |list: &[&str]| list.contains(&name) || list.contains(&full);
    if is_one_of(&PREFIXES) {
        return (0..args.len()).any(|at| args.get(at..).is_some_and(runs_lines));
    }
    is_one_of(&CARRIERS)
        || is_one_of(&SHELLS) && reads_commands(args, &WITH_VALUE_IN_SHELLS, &['i', 's'])
        || is_one_of(&INTERPRETERS) && reads_commands(args, &WITH_VALUE, &['i'])
}

/// Whether an interpreter with these arguments takes its commands from its input: it has no script and no `-c`, or an
/// option, one of the letters `reading`, that makes it read its input all the same.
fn reads_commands(args: &[String], with_value: &[&str], reading: &[char]) -> bool {
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let short = arg.starts_with(['-', '+']) && !arg.starts_with("--") && arg.len() > 1;
        match arg {
            "--interactive" | "repl" => return true,
            "--" | "-" => return args.next().is_none(),
            "--command" => return false,
            _ if with_value.contains(&arg) => drop(args.next()),
            _ if short && arg.contains('c') => return false,
            _ if short && arg.contains(reading) => return true,
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
    fn programs_that_run_what_they_read_are_recognised() {
        for line in [
            "bash",
            "/bin/sh",
            "-zsh",
            "zsh-5.9",
            "ksh93",
            "bash -l",
            "bash --norc",
            "bash --rcfile f",
            "sh -i",
            "bash -o vi",
            "fish -C x",
            "fish --login",
            "sh -s",
            "bash -es x",
            "bash -i script",
            "dash -",
            "busybox sh",
            "python3.11 -i",
            "python3 -X dev",
            "python3 -Bi agent.py",
            "node --require ./x.js",
            "deno repl",
        ] {
            assert!(runs(line), "{line}");
        }
    }

    #[test]
    fn the_foreground_of_a_terminal_is_read_after_the_name_of_the_program() {
        assert_eq!(foreground_of(b"10 (a) b (c)) S 1 10 10 34816 4321 4194304"), Some(4321));
        assert_eq!(foreground_of(b"10 (cat) S 1 10 10 0 -1 4194304"), None);
        assert_eq!(foreground_of(b""), None);
    }

    #[test]
    fn programs_that_may_start_a_shell_are_recognised_whatever_their_arguments_are() {
        for line in [
            "gdb ./a.out",
            "sqlite3 x.db",
            "ssh host",
            "docker exec -it x claude",
            "tmux",
            "su - other",
            "sudo -i",
            "run0",
            "less log",
            "env A=b bash",
            "nice -n 5 bash --norc",
            "timeout 10 env ssh host",
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
            "bash -ic claude",
            "sh agent.sh",
            "bash --norc agent.sh",
            "python3 agent.py -i",
            "python3 -m aider",
            "python3 -u agent.py",
            "/usr/bin/python3 -sP /usr/bin/aider",
            "node agent.js --flag",
            "aider --yes",
            "fish --command claude",
            "",
            "bash -- agent.sh",
            "busybox cat",
            "env A=b claude",
            "timeout 10 claude --continue",
            "/opt/bash-agent/agent",
        ] {
            assert!(!runs(line), "{line}");
        }
        assert!(!runs_lines(&[]));
    }
}
