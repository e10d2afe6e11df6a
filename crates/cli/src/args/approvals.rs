//! The arguments of `swb approvals`.

use clap::{Args, Subcommand};

/// Arguments of `approvals`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb approvals                          what waits, in all sessions
  swb approvals --watch                  until Ctrl+C
  swb approvals show 3f9a                everything about one, and time to think
  swb approvals approve 3f9a             let it happen, this once
  swb approvals approve api --always     the one that session 'api' waits for, and its like from now on
  swb approvals deny 3f9a

An approval is named by its id, by the beginning of it, or by its session if that waits for one only. Nobody having
looked at it within 30 seconds counts as no; `show` gives ten minutes.")]
pub(crate) struct ApprovalsArgs {
    /// Go on showing what waits; with --json, a list a line whenever something has changed
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// What to do [default: ls]
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
}

/// What can be done with approvals.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List what waits for an approval
    #[command(visible_alias = "list")]
    Ls {
        /// Go on showing what waits; with --json, a list a line whenever something has changed
        #[arg(short, long)]
        watch: bool,
    },
    /// Show everything about an approval
    Show {
        /// Approval or session
        id: String,
    },
    /// Let it happen
    Approve {
        /// Approval or session
        id: String,
        /// And its like from now on
        #[arg(long, conflicts_with = "option")]
        always: bool,
        /// One of the agent's own options, as `show` lists them
        #[arg(long, value_name = "X")]
        option: Option<String>,
    },
    /// Do not let it happen
    Deny {
        /// Approval or session
        id: String,
        /// One of the agent's own options, as `show` lists them
        #[arg(long, value_name = "X")]
        option: Option<String>,
    },
}
