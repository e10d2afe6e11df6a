//! The arguments of `init` and `doctor`.

use clap::{Args, ValueEnum};

// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval \"$(swb init bash)\"    at the end of ~/.bashrc
  eval \"$(swb init zsh)\"     at the end of ~/.zshrc, after compinit
  swb init fish | source     at the end of ~/.config/fish/config.fish
  swb init                   show the line for your shell

Completes the arguments of swb, marks prompts and the output of commands (OSC 133), so that swb recognises the
turns of a shell exactly, and reports the working directory (OSC 7). Your own prompt, PROMPT_COMMAND and precmd
functions are kept, and reading the code twice changes nothing.")]
pub(crate) struct InitArgs {
    /// Shell [default: the one in $SHELL]
    pub(crate) shell: Option<InitShell>,
}

/// A shell that has an integration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitShell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb doctor
  swb doctor --json | jq -r '.checks[] | select(.level != \"ok\") | .hint'

Checks the directories and sockets, the daemon and the keeper, what happens at logout, this terminal, the agents and
their hooks, the web server's port, and the confinement of commands. Starts no daemon, and waits a few seconds at most
for whatever does not reply.

Exits with 0 if there is no problem (warnings are none), and with 1 otherwise.")]
pub(crate) struct DoctorArgs {}
