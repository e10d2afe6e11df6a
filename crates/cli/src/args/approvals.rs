//! The arguments of `swb approvals`.

use clap::{Args, Subcommand};

// Arguments of `approvals`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb approvals                          pending approvals of all sessions
  swb approvals --watch                  keep the list up to date until Ctrl+C
  swb approvals show 3f9a                details of one; extends its timeout to ten minutes
  swb approvals approve 3f9a             allow it once
  swb approvals approve api --always     allow what session 'api' waits for, and similar requests later
  swb approvals deny 3f9a

Name an approval by its id or its session, or by the beginning of either, if only one is pending there. An
approval is denied if no one opens it within 30 seconds; `show` extends that to ten minutes.")]
pub(crate) struct ApprovalsArgs {
    /// Keep the list up to date until Ctrl+C; with --json, print one list per change
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Subcommand [default: ls]
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
}

// Subcommands of `approvals`.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List pending approvals
    #[command(visible_alias = "list")]
    Ls {
        /// Keep the list up to date until Ctrl+C; with --json, print one list per change
        #[arg(short, long)]
        watch: bool,
    },
    /// Show the details of an approval and extend its timeout
    Show {
        /// Approval or session
        id: String,
    },
    /// Allow what the agent asks for
    Approve {
        /// Approval or session
        id: String,
        /// Allow similar requests from now on, too
        #[arg(long, conflicts_with = "option")]
        always: bool,
        /// Choose one of the agent's own options, as listed by `show`
        #[arg(long, value_name = "X")]
        option: Option<String>,
    },
    /// Deny what the agent asks for
    Deny {
        /// Approval or session
        id: String,
        /// Choose one of the agent's own options, as listed by `show`
        #[arg(long, value_name = "X")]
        option: Option<String>,
    },
}
