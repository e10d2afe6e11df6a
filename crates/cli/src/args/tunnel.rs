//! The arguments of `swb tunnel`.

use super::web::{lifetime, one_of};
use clap::{Args, Subcommand};
use std::time::Duration;
use swb_types::Role;

// Arguments of `tunnel`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
A tunnel connects a browser or another `swb` anywhere with this machine, directly and encrypted
from end to end. Anyone who has the printed address can connect, once; the tunnel ends with this
command. docs/tunnel.md describes what is sent where.

If the other end cannot return its answer by itself, it shows a text: paste it here, or give it to
`swb tunnel --answer`.

Exits with 0 if the peer has left or Ctrl+C was pressed, 124 if no peer connected in time, and 1
otherwise.

Examples:
  swb tunnel                         reach all sessions
  swb tunnel api --role watch        share one session, for watching only
  swb tunnel --no-stun               use addresses of this machine only
  swb tunnel revoke ID               end a tunnel"
)]
pub(crate) struct TunnelArgs {
    /// Subcommand
    #[command(subcommand)]
    pub(crate) command: Option<TunnelCommand>,

    /// Session to reach [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// What the peer may do
    #[arg(long, default_value = "drive", value_parser = one_of(&[Role::Watch, Role::Prompt, Role::Approve, Role::Drive]))]
    pub(crate) role: Role,

    /// STUN server to use instead of the configured ones; may be repeated
    #[arg(long, value_name = "URL")]
    pub(crate) stun: Vec<String>,

    /// Ask no STUN server
    #[arg(long, conflicts_with = "stun")]
    pub(crate) no_stun: bool,

    /// TURN server to use, as turn:USER:PASSWORD@HOST:PORT
    #[arg(long, value_name = "URL")]
    pub(crate) turn: Option<String>,

    /// How long to wait for the peer: a number with s, m, h or d
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = lifetime)]
    pub(crate) expires: Duration,

    /// Give a waiting tunnel the answer of its peer; `-` reads it from standard input
    #[arg(long, value_name = "ANSWER", conflicts_with_all = ["name", "role", "stun", "no_stun", "turn", "expires"])]
    pub(crate) answer: Option<String>,
}

// Arguments of `rendezvous`.
#[derive(Debug, Args)]
#[command(after_help = "\
A rendezvous server helps two machines that share no web server to begin a tunnel: the host leaves
its offer there under a short code, and the peer its answer. Both are sealed; the server keeps them
in memory, for five minutes and one reader each, and can read neither. Sessions never pass through
it. Put it behind a proxy with TLS, so that pages served by https can use it.

Daemons use it with `rendezvous = \"https://…\"` under [tunnel] in their configuration.

Examples:
  swb rendezvous                     listen on this machine, for a proxy
  swb rendezvous --host 0.0.0.0      listen on all addresses")]
pub(crate) struct RendezvousArgs {
    /// Address to listen on; 0.0.0.0 means all of this machine's
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: String,

    /// Port to listen on; 0 means any free one
    #[arg(short, long, default_value_t = 8889)]
    pub(crate) port: u16,
}

// Subcommands of `tunnel`.
#[derive(Debug, Subcommand)]
pub(crate) enum TunnelCommand {
    /// List tunnels
    #[command(visible_alias = "list")]
    Ls,
    /// End a tunnel and its connections
    #[command(visible_alias = "rm")]
    Revoke {
        /// Name of the tunnel
        #[arg(value_name = "ID")]
        tunnel: String,
    },
}
