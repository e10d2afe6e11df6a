//! Whether the program in a session's terminal runs what it reads.
//!
//! Text that no person has typed is data: a diff, a page from the web, the answer of another agent. A shell would run
//! each line of it, with all rights of the user. So such text is refused if a shell or the like reads it, no matter who
//! started that program and what it is called in the configuration.
//!
//! A program is recognised by the command of the session and by the leader of its terminal's foreground process group, a shell
//! with `-c` by what its script runs. One that hides behind another program of the same process group is not.

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

/// Ends of the names of special builds.
const BUILDS: [&str; 5] = ["-static", ".static", "-dbg", "-debug", "-real"];

/// Words of a shell's grammar that may stand before a command, and commands that run the one behind them.
const KEYWORDS: [&str; 13] = [
    "!", "builtin", "command", "do", "elif", "else", "exec", "if", "then", "trap", "until", "while", "xargs",
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

impl Session {
    /// The name of the program that has its agent's terminal in the foreground, if that is not the agent itself: a shell has
    /// started it, and gets no input until it ends.
    pub async fn in_foreground(&self) -> Option<String> {
        let agent = self.pty(PtyId::AGENT).ok()?;
        let foreground = agent.pty.foreground()?;
        if i64::from(foreground) == i64::from(agent.pid) {
            return None;
        }
        program(&command_line(foreground).await).map(str::to_owned)
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
    let name = without_version(full);
    let is_one_of = |list: &[&str]| list.contains(&name) || list.contains(&full);
    if is_one_of(&PREFIXES) {
        return (0..args.len()).any(|at| args.get(at..).is_some_and(runs_lines));
    }
    is_one_of(&CARRIERS)
        || is_one_of(&SHELLS) && reads_commands(args, &WITH_VALUE_IN_SHELLS, &['i', 's'], true)
        || is_one_of(&INTERPRETERS) && reads_commands(args, &WITH_VALUE, &['i'], false)
}

/// `python3.11-dbg` is `python`, and `bash-static` is `bash`; but `run0` is also `run0`.
fn without_version(name: &str) -> &str {
    let name = BUILDS.iter().find_map(|build| name.strip_suffix(build)).unwrap_or(name);
    let numbers =
        |name: &'_ str| name.trim_end_matches(|c: char| c.is_ascii_digit() || "._-".contains(c)).len();
    // Python's builds with other ABIs: `python3.13t`.
    let abi = name.strip_suffix(['d', 'm', 't']).filter(|name| name.ends_with(|c: char| c.is_ascii_digit()));
    let name = abi.unwrap_or(name);
    name.get(..numbers(name)).unwrap_or(name)
}

/// Whether the script of a shell runs what it reads: with a command that does, or with one that it gets from a variable.
fn script_runs_lines(script: &str) -> bool {
    commands_of(script).into_iter().any(|words| {
        let command =
            words.iter().position(|word| !KEYWORDS.contains(&word.as_str()) && !is_assignment(word));
        let words = command.and_then(|at| words.get(at..)).unwrap_or_default();
        match words.first().map(String::as_str) {
            Some("eval" | "source" | ".") => true,
            Some(word) if word.starts_with('$') => true,
            _ => runs_lines(words),
        }
    })
}

/// The simple commands of a shell script as words, as far as that is clear without running it.
fn commands_of(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = script.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => word.get_or_insert_default().extend(chars.next().filter(|c| *c != '\n')),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (None, '#') if word.is_none() => {
                chars.by_ref().find(|c| *c == '\n');
                commands.push(Vec::new());
            }
            (None, c) if c.is_whitespace() || ";&|(){}`".contains(c) => {
                if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
                    command.push(word);
                }
                if c == '\n' || !c.is_whitespace() {
                    commands.push(Vec::new());
                }
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if let (Some(word), Some(command)) = (word, commands.last_mut()) {
        command.push(word);
    }
    commands
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// Whether an interpreter with these arguments takes its commands from its input: it has no script and no `-c`, or an
/// option, one of the letters `reading`, that makes it read its input all the same. `scripts`: what follows `-c` is a
/// script of a shell.
fn reads_commands(args: &[String], with_value: &[&str], reading: &[char], scripts: bool) -> bool {
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let short = arg.starts_with(['-', '+']) && !arg.starts_with("--") && arg.len() > 1;
        match arg {
            "--interactive" | "repl" => return true,
            "--" | "-" => return args.next().is_none(),
            "--command" => return scripts && args.next().is_some_and(script_runs_lines),
            _ if with_value.contains(&arg) => drop(args.next()),
            _ if short && arg.contains('c') => return scripts && args.next().is_some_and(script_runs_lines),
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
            "/usr/bin/bash5",
            "bash-static -l",
            "python3.13t",
            "python3.11-dbg -q",
            "busybox.static ash",
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

    #[test]
    fn a_script_that_runs_what_it_reads_is_recognised() {
        let runs = |script: &str| runs_lines(&["sh".to_owned(), "-c".to_owned(), script.to_owned()]);
        for script in [
            r#"while read l; do eval "$l"; done"#,
            r#"while read l; do sh -c "$l"; done"#,
            "while read l\ndo $l\ndone",
            "cd /x && exec bash --norc",
            "A=b python3 -i agent.py",
            "trap '' TERM; . /dev/stdin",
            "ssh host | tee log",
            r#"while read l; do "$l"; done"#,
            "echo \\; # it's\nbash",
        ] {
            assert!(runs(script), "{script}");
        }
        for script in [
            "claude",
            "exec claude --continue",
            r#"while read l; do echo "you said: $l"; done"#,
            "stty raw; cat",
            r#"say() { printf '\033]7501;state=%s\033\\' "$1"; }; echo "a; bash"; case $1 in *) say x;; esac # eval"#,
            "python3 agent.py; sh agent.sh",
            "",
        ] {
            assert!(!runs(script), "{script}");
        }
    }
}
