//! The arguments of `swb trust`.

use clap::Args;
use std::path::PathBuf;

// Arguments of `trust`.
#[derive(Debug, Args)]
#[command(after_help = "\
A coop.toml decides which command `coop` runs in its directory, with your rights:

  [agent]
  command = \"claude\"
  args = [\"--continue\"]

It is used only after you have trusted its content, and a file that has changed must be trusted again. Your own
~/.config/coop/default.toml and commands that you give yourself (`swb run -- CMD`) need no trust. Other programs
that use coop's socket are not asked.

Examples:
  swb trust                    show this directory's coop.toml, and ask
  swb trust --yes ~/src/api    trust a file that you have read
  swb trust --list
  swb trust --revoke ~/src/api")]
pub(crate) struct TrustArgs {
    /// Directory of the coop.toml [default: the current one]
    pub(crate) dir: Option<PathBuf>,
    /// Trust the file without asking
    #[arg(short, long, conflicts_with_all = ["list", "revoke"])]
    pub(crate) yes: bool,
    /// List the trusted files, and whether they have changed
    #[arg(short, long, conflicts_with_all = ["dir", "revoke"])]
    pub(crate) list: bool,
    /// No longer trust the directory's coop.toml
    #[arg(long)]
    pub(crate) revoke: bool,
}
