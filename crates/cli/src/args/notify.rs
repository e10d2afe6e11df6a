//! The arguments of `swb notify`.

use super::web::lifetime;
use clap::{Args, Subcommand};
use std::time::Duration;

// Arguments of `notify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb notify                     show how notifications are sent, and which sessions are muted
  swb notify mute api --for 1h   no notifications about 'api' for an hour
  swb notify unmute api
  swb notify test                send one by every means

Notifications are sent when an agent asks, finishes after a while, or ends. [notifications] in the
configuration file sets for which events, by which means and when; see docs/notifications.md.")]
pub(crate) struct NotifyArgs {
    /// Command [default: status]
    #[command(subcommand)]
    pub(crate) command: Option<NotifyCommand>,
}

// The commands of `notify`.
#[derive(Debug, Subcommand)]
pub(crate) enum NotifyCommand {
    /// Show how notifications are sent, and which sessions are muted
    Status,
    /// Send no notifications about a session
    Mute {
        /// Session
        name: String,
        /// For how long: a number with s, m, h or d [default: as long as the session lives]
        #[arg(long = "for", value_name = "TIME", value_parser = lifetime)]
        time: Option<Duration>,
    },
    /// Send notifications about a session again
    Unmute {
        /// Session
        name: String,
    },
    /// Send a notification by every means, also in quiet hours
    ///
    /// Exits with 1 if one of them fails.
    Test,
}
