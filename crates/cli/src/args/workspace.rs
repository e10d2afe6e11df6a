//! The arguments of `swb workspace`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

// Arguments of `workspace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb workspace                              list the directories agents work in
  swb workspace add ~/src/api --context ~/src/docs --agent claude
  swb workspace rm api                       remove it from the list; the directory stays
  swb workspace create fix-login             a git working tree beside this repository, on a new branch")]
pub(crate) struct WorkspaceArgs {
    /// Subcommand [default: ls]
    #[command(subcommand)]
    pub(crate) command: Option<WorkspaceCommand>,
}

// Subcommands of `workspace`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// List workspaces
    #[command(visible_alias = "list")]
    Ls,
    /// Add a workspace, or change one
    Add {
        /// Directory [default: the current one]
        dir: Option<PathBuf>,
        /// Further directory that its agents may read; may be repeated; replaces earlier ones
        #[arg(short, long, value_name = "DIR")]
        context: Vec<PathBuf>,
        /// Default agent of the workspace
        #[arg(long, value_name = "A")]
        agent: Option<String>,
    },
    /// Remove workspaces from the list; their directories, sessions and conversations stay
    Rm {
        /// Workspace: its directory, or its name in the list
        #[arg(required = true, value_name = "WORKSPACE")]
        workspaces: Vec<String>,
    },
    /// Create a git working tree beside a repository, on a new branch of the same name
    Create {
        /// Name of the branch and suffix of the directory's name
        name: String,
        /// Directory in the repository [default: the current one]
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
        /// Default agent of the workspace
        #[arg(long, value_name = "A")]
        agent: Option<String>,
    },
}
