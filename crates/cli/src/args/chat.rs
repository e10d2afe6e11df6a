//! Arguments of `chat`.

use clap::Args;
use std::path::PathBuf;

// Arguments of `chat`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "\
Examples:
  swb chat                           continue this directory's latest conversation, or start one
  swb chat --agent shell             run commands in a conversation; `swb chat` continues the other one
  swb chat --new --agent claude      start another one
  swb chat api                       chat with the agent in the terminal of session 'api'
  swb chat -m 'what does main.rs do?'
  git diff | swb chat -m 'review this' > review.md
  swb chat --new --yes --json -m 'run the tests' | jq -r 'select(.event == \"result\").text'

Without an agent, your shell answers: it runs each message as a command, and the prompt is `$` instead of
`›`. docs/agents.md says how to configure an agent; one that is installed is found by itself.

In a conversation: Enter sends, a trailing backslash or Alt+Enter starts a new line, Ctrl+C stops the
answer, Ctrl+O shows the last tool call in full, Ctrl+R searches all earlier messages, Tab completes
commands, Ctrl+D exits and keeps the conversation. A message that is sent while the agent answers waits for the
end of the answer; Esc takes it back. /help lists the commands.

Conversations are saved as they go on; `[chat] save = \"ask\"` or `\"never\"` in the configuration changes that.

With -m or piped input, only the answer is written to standard output. Approvals are asked for on standard
error if that is a terminal, and denied otherwise.

Exit codes: 0 the answer is complete, 1 it failed or was interrupted, 130 Ctrl+C stopped it.")]
pub(crate) struct ChatArgs {
    /// Conversation, or a session with a terminal [default: this directory's latest conversation]
    pub(crate) name: Option<String>,
    /// Send this message, print the answer and exit; `-` reads it from standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
    /// Start a new conversation, named NAME if given
    #[arg(long)]
    pub(crate) new: bool,
    /// Agent: its name in the configuration, or a known agent that is installed
    #[arg(short, long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Directory the agent works in [default: the current one]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Approve everything the agent asks for
    #[arg(short, long, conflicts_with = "no")]
    pub(crate) yes: bool,
    /// Deny everything the agent asks for
    #[arg(long)]
    pub(crate) no: bool,
    /// Print the answer as it is, with characters that act on a terminal; otherwise they are escaped
    #[arg(long)]
    pub(crate) raw: bool,
    /// Save the conversation after the answer
    #[arg(long)]
    pub(crate) save: bool,
    /// Report tool calls and progress on standard error even if it is not a terminal
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Connect to this socket instead of the configured one; starts no daemon
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Allow the server at that socket to run as this user; otherwise it must be a server of your own
    #[arg(long, value_name = "UID", requires = "socket")]
    pub(crate) socket_owner: Option<u32>,
}
