//! Completion in shells: sessions, agents, profiles and the like are requested from the daemon at each Tab.
//!
//! The scripts of `swb completions` run `swb` with [`VARIABLE`] set and the words of the command line as arguments. That
//! call starts no daemon, prints no error and ends soon even if the daemon hangs ([`crate::limits::COMPLETION`]).

mod names;
mod shells;

use crate::args::SwbCli;
use crate::manual;
use crate::start_daemon::own_program;
use clap::CommandFactory;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter};
use clap_complete::env::{CompleteEnv, Elvish, Shells};
use clap_complete::{PathCompleter, Shell};
use shells::{BASH, FISH, Powershell, ZSH};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

/// The environment variable that makes `swb` complete a command line; its value is the shell's name.
pub(crate) const VARIABLE: &str = "SWB_COMPLETE";

const SHELLS: Shells<'static> = Shells(&[&BASH, &Elvish, &FISH, &Powershell, &ZSH]);

/// What an argument takes.
#[derive(Debug, Clone, Copy)]
enum Takes {
    Agent,
    /// An approval, or the session that waits for it.
    Approval,
    /// A conversation, or a session with a terminal.
    Chat,
    /// A program and its arguments.
    Command,
    Conversation,
    Profile,
    /// A running session, or its directory.
    Running,
    /// A session, running or ended, or the directory of one.
    Session,
    Token,
    Tunnel,
    /// A turn, or a session for its latest one.
    Turn,
    /// A workspace, or any other directory.
    Workspace,
}

/// The arguments that are completed with more than files and listed values, by command and id.
const ARGUMENTS: [(&[&str], &str, Takes); 49] = [
    (&["approvals", "approve"], "id", Takes::Approval),
    (&["approvals", "deny"], "id", Takes::Approval),
    (&["approvals", "show"], "id", Takes::Approval),
    (&["ask"], "name", Takes::Running),
    (&["attach"], "name", Takes::Running),
    (&["capture"], "id", Takes::Turn),
    (&["chat"], "agent", Takes::Agent),
    (&["chat"], "directory", Takes::Workspace),
    (&["chat"], "name", Takes::Chat),
    (&["detect"], "profile", Takes::Profile),
    (&["events"], "names", Takes::Running),
    (&["explain"], "name", Takes::Running),
    (&["history"], "workspace", Takes::Workspace),
    (&["history", "export"], "name", Takes::Conversation),
    (&["history", "ls"], "workspace", Takes::Workspace),
    (&["history", "rm"], "names", Takes::Conversation),
    (&["history", "search"], "workspace", Takes::Workspace),
    (&["history", "show"], "name", Takes::Conversation),
    (&["keys"], "name", Takes::Running),
    (&["kill"], "names", Takes::Session),
    (&["logs"], "name", Takes::Session),
    (&["notify", "mute"], "name", Takes::Running),
    (&["notify", "unmute"], "name", Takes::Running),
    (&["paste"], "name", Takes::Running),
    (&["record"], "name", Takes::Running),
    (&["relay"], "from", Takes::Turn),
    (&["relay"], "to", Takes::Running),
    (&["run"], "command", Takes::Command),
    (&["run"], "profile", Takes::Profile),
    (&["run"], "workspace", Takes::Workspace),
    (&["screen"], "name", Takes::Session),
    (&["send"], "name", Takes::Running),
    (&["shell"], "command", Takes::Command),
    (&["shell"], "name", Takes::Running),
    (&["token", "add"], "session", Takes::Running),
    (&["token", "add"], "workspace", Takes::Workspace),
    (&["token", "revoke"], "token", Takes::Token),
    (&["trust"], "dir", Takes::Workspace),
    (&["tunnel"], "name", Takes::Running),
    (&["tunnel", "revoke"], "tunnel", Takes::Tunnel),
    (&["turn"], "id", Takes::Turn),
    (&["turns"], "name", Takes::Running),
    (&["wait"], "name", Takes::Session),
    (&["workspace", "add"], "agent", Takes::Agent),
    (&["workspace", "add"], "dir", Takes::Workspace),
    (&["workspace", "create"], "agent", Takes::Agent),
    (&["workspace", "create"], "from", Takes::Workspace),
    (&["workspace", "rm"], "workspaces", Takes::Workspace),
    (&["wrap"], "command", Takes::Command),
];

/// Completes the command line of a shell if one has called this program for that; returns the exit code.
pub(crate) fn run(args: &[OsString]) -> Option<u8> {
    std::env::var_os(VARIABLE).filter(|shell| !shell.is_empty())?;
    let env = CompleteEnv::with_factory(command).var(VARIABLE).bin("swb").shells(SHELLS);
    match env.try_complete(args.iter().cloned(), std::env::current_dir().ok().as_deref()) {
        Ok(true) => Some(0),
        Ok(false) => None,
        // A message would appear in the middle of the command line.
        Err(_) => Some(1),
    }
}

/// The script that makes a shell call this program for completion.
pub(crate) fn script(shell: Shell) -> io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let name = shell.to_string();
    let completer =
        SHELLS.completer(&name).ok_or_else(|| io::Error::other(format!("unknown shell {name}")))?;
    completer.write_registration(VARIABLE, "swb", "swb", &called_as(), &mut script)?;
    Ok(script)
}

/// How scripts call this program: by its name if that leads here, as it will after an update, else by its path.
fn called_as() -> String {
    let own = own_program();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join("swb")).find(|file| file.is_file());
    let same = |file: &Path| {
        file.canonicalize().ok().is_some_and(|file| own.canonicalize().is_ok_and(|own| own == file))
    };
    match found {
        Some(file) if same(&file) => "swb".to_owned(),
        _ => own.to_string_lossy().into_owned(),
    }
}

/// The definition of `swb` with what its arguments take.
fn command() -> clap::Command {
    // Built, since commands are given their arguments when they are used.
    let whole = manual::built(SwbCli::command());
    ARGUMENTS.iter().fold(whole, |command, (words, id, takes)| add(command, words, id, *takes))
}

fn add(command: clap::Command, words: &[&'static str], id: &'static str, takes: Takes) -> clap::Command {
    match words {
        // `mut_arg` would put it behind the other arguments.
        [] => command.mut_args(|arg| match arg.get_id() == id {
            true => arg.add(ArgValueCompleter::new(takes)),
            false => arg,
        }),
        [word, rest @ ..] => command.mut_subcommand(word, |command| add(command, rest, id, takes)),
    }
}

impl ValueCompleter for Takes {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        self.complete_at(0, current)
    }

    fn complete_at(&self, index: usize, current: &OsStr) -> Vec<CompletionCandidate> {
        let text = current.to_string_lossy();
        let directories = || PathCompleter::dir().complete(current);
        match self {
            Self::Running | Self::Session | Self::Turn if text.contains('/') => directories(),
            Self::Command if index > 0 => PathCompleter::any().complete(current),
            Self::Command if text.contains('/') => PathCompleter::file().complete(current),
            Self::Workspace if text.contains('/') => directories(),
            Self::Workspace => {
                let mut all = names::matching(*self, &text);
                all.extend(directories());
                all
            }
            _ => names::matching(*self, &text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All commands, with the words that lead to them.
    fn commands(command: &clap::Command, words: &[String], found: &mut Vec<(Vec<String>, clap::Command)>) {
        found.push((words.to_vec(), command.clone()));
        for sub in command.get_subcommands() {
            commands(sub, &[words, &[sub.get_name().to_owned()]].concat(), found);
        }
    }

    #[test]
    fn every_argument_with_a_name_is_completed() {
        let mut found = Vec::new();
        commands(&command(), &[], &mut found);
        // These name something new, or a thing of another program.
        let new = [("run", "name"), ("workspace create", "name")];
        for (words, command) in
            found.iter().filter(|(words, _)| words.first().is_none_or(|one| one != "clippyctl"))
        {
            for arg in command.get_arguments() {
                let (words, id) = (words.join(" "), arg.get_id().as_str());
                let named = ["agent", "id", "name", "names", "profile", "session", "workspace"].contains(&id);
                let known = arg.get::<ArgValueCompleter>().is_some() || new.contains(&(words.as_str(), id));
                assert!(!named || known, "swb {words}: {id} is not completed");
            }
        }
    }

    #[test]
    fn every_shell_has_a_script() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let script = String::from_utf8(script(shell).unwrap()).unwrap();
            assert!(script.contains("swb") && script.contains(VARIABLE), "{shell}: {script}");
        }
    }

    #[test]
    fn directories_of_sessions_are_completed() {
        let found = Takes::Session.complete(OsStr::new("/proc/self/task/"));
        assert!(!found.is_empty(), "no directory");
    }
}
