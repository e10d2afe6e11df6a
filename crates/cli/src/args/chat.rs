//! Arguments of `chat`.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `chat`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "\
Examples:
  swb chat                           go on with this directory's latest session, or begin one
  swb chat --new --agent claude      begin another one
  swb chat api                       talk to the agent in the terminal session 'api'
  swb chat -m 'what does main.rs do?'
  git diff | swb chat -m 'review this' > review.md
  swb chat --new --yes --json -m 'run the tests' | jq -r 'select(.event == \"result\").text'

In a conversation: Enter sends, a trailing backslash or Alt+Enter begins another line, Ctrl+C stops the
answer, Ctrl+O shows the last tool in full, Ctrl+D leaves; the session stays. /help lists the commands.

With -m or piped input only the answer goes to standard output. Approvals are asked for on the terminal
if standard error is one, else denied.

Exit codes: 0 the answer is complete, 1 it failed or was cut off, 130 Ctrl+C stopped it.")]
pub(crate) struct ChatArgs {
    /// Session: a conversation, or any session with a terminal [default: this directory's latest]
    pub(crate) name: Option<String>,
    /// Say this, print the answer and end; `-` reads it from standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
    /// Begin a new session, named NAME if that is given
    #[arg(long)]
    pub(crate) new: bool,
    /// Agent that answers: its name in the configuration, or a known one that is installed
    #[arg(short, long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Directory the agent works in [default: the current one]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Approve whatever the agent asks for
    #[arg(short, long, conflicts_with = "no")]
    pub(crate) yes: bool,
    /// Deny whatever the agent asks for
    #[arg(long)]
    pub(crate) no: bool,
    /// Save the session when the answer is there
    #[arg(long)]
    pub(crate) save: bool,
    /// Tell about tools and progress on standard error, terminal or not
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Socket to connect to instead of the configured one; no daemon is started
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}
