//! The arguments of `swb history`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

// Arguments of `history`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb history                        conversations of this directory
  swb history --all
  swb history search race condition  messages with both words
  swb history show brave-blue-otter
  swb history export brave-blue-otter -o otter.md
  swb history export brave-blue-otter --format json | jq '.messages[].parts'
  swb history rm brave-blue-otter

Saved conversations are on disk. Others are listed and searched while the daemon holds them.
`[chat] save` in the configuration sets whether `swb chat` saves conversations: always, ask or never.")]
pub(crate) struct HistoryArgs {
    /// Conversations to list
    #[command(flatten)]
    pub(crate) scope: HistoryScope,
    /// Subcommand [default: ls]
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,
}

// The directories whose conversations are listed.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct HistoryScope {
    /// Conversations of all directories
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Conversations of this directory [default: the current one]
    #[arg(short, long, value_name = "DIR", conflicts_with = "all")]
    pub(crate) workspace: Option<PathBuf>,
}

/// Formats of an exported conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The conversation with all that is known of it, as `show --json` prints it
    Json,
    /// A document for people
    Markdown,
}

// Subcommands of `history`.
#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// List conversations, the newest first
    #[command(visible_alias = "list")]
    Ls(HistoryScope),
    /// Search all conversations, live or saved, for messages that contain all these words
    Search {
        /// Words
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        /// Only in conversations of this directory
        #[arg(short, long, value_name = "DIR")]
        workspace: Option<PathBuf>,
        /// Maximum number of results
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<u64>,
    },
    /// Show the messages of a conversation
    Show {
        /// Conversation
        name: String,
    },
    /// Write a conversation as Markdown or JSON
    Export {
        /// Conversation
        name: String,
        /// Format [default: markdown]
        #[arg(short, long, value_enum, value_name = "FORMAT")]
        format: Option<ExportFormat>,
        /// Write to this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Delete conversations permanently
    Rm {
        /// Conversations
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}
