//! The arguments of `swb integration`.

use clap::{Args, Subcommand, ValueEnum};

// Arguments of `integration`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb integration status
  swb integration install claude             show the changes, ask, and make them
  swb integration install codex --dry-run    only show them
  swb integration install gemini opencode --yes
  swb integration uninstall claude

The agent's own configuration gets hooks that call `swb hook`, so that the agent reports what it is doing: swb need not
find that out from its screen. Your own hooks stay. Outside of a session, the hooks do nothing.
Honours CLAUDE_CONFIG_DIR, CODEX_HOME, GEMINI_CLI_HOME and XDG_CONFIG_HOME.")]
pub(crate) struct IntegrationArgs {
    /// Command [default: status]
    #[command(subcommand)]
    pub(crate) command: Option<IntegrationCommand>,
}

// The commands of `integration`.
#[derive(Debug, Subcommand)]
pub(crate) enum IntegrationCommand {
    /// Add the hooks to the configuration of agents
    Install(ChangeArgs),
    /// Show which agents have the hooks
    Status {
        /// Agents [default: all]
        #[arg(value_name = "AGENT")]
        agents: Vec<AgentName>,
    },
    /// Remove the hooks from the configuration of agents
    Uninstall(ChangeArgs),
}

// Arguments of `integration install` and `integration uninstall`.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// Agents
    #[arg(required = true, value_name = "AGENT")]
    pub(crate) agents: Vec<AgentName>,
    /// Make the changes without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Show the changes without making them
    #[arg(short = 'n', long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

/// An agent whose hooks are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentName {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// opencode
    Opencode,
}
