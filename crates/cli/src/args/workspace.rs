//! The arguments of `swb workspace`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `workspace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb workspace                              the directories agents know
  swb workspace add ~/src/api --context ~/src/docs --agent claude
  swb workspace create fix-login             a git working tree beside this repository, on a new branch")]
pub(crate) struct WorkspaceArgs {
    /// What to do [default: ls]
    #[command(subcommand)]
    pub(crate) command: Option<WorkspaceCommand>,
}

/// What can be done with workspaces.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// List workspaces
    #[command(visible_alias = "list")]
    Ls,
    /// Keep a workspace, or change what is kept of it
    Add {
        /// Directory [default: the current one]
        dir: Option<PathBuf>,
        /// Further directory that agents may read there; may be repeated, and takes the place of those before
        #[arg(short, long, value_name = "DIR")]
        context: Vec<PathBuf>,
        /// Agent that answers there
        #[arg(long, value_name = "A")]
        agent: Option<String>,
    },
    /// Make a git working tree beside a repository, on a new branch of the same name
    Create {
        /// Name of the branch, and end of the directory's name
        name: String,
        /// Directory in the repository [default: the current one]
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
        /// Agent that answers there
        #[arg(long, value_name = "A")]
        agent: Option<String>,
    },
}
