//! The arguments of `swb serve` and `swb token`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use swb_types::Role;

/// Port of `serve` if none is given.
pub(crate) const WEB_PORT: u16 = 8888;

// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command returns at once; the daemon serves until `swb serve --stop` or `swb shutdown`. The
printed address contains a token that allows everything; `swb token add` creates tokens that
allow less. docs/web.md describes what is exposed to whom.

Examples:
  swb serve                          serve this machine only, at http://127.0.0.1:8888
  swb serve --host 0.0.0.0 --tls     serve the local network, encrypted
  swb serve --stop                   stop serving")]
pub(crate) struct ServeArgs {
    /// Address to listen on; 0.0.0.0 means all of this machine's
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: String,

    /// Port to listen on; 0 means any free one
    #[arg(short, long, default_value_t = WEB_PORT)]
    pub(crate) port: u16,

    /// Token that requests must contain [default: a random one]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,

    /// Encrypt connections with a certificate that is made once
    #[arg(long)]
    pub(crate) tls: bool,

    /// Stop all web servers and close their connections
    #[arg(long, conflicts_with_all = ["host", "port", "token", "tls"])]
    pub(crate) stop: bool,
}

// Arguments of `token`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb token add --role watch --label tablet --expires 2h
  swb token add --role prompt --session api
  swb token revoke tablet            its connections are closed at once")]
pub(crate) struct TokenArgs {
    /// Subcommand [default: ls]
    #[command(subcommand)]
    pub(crate) command: Option<TokenCommand>,
}

// Subcommands of `token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// List tokens
    #[command(visible_alias = "list")]
    Ls,
    /// Create a token and print it; it cannot be shown again
    Add {
        /// What its holder may do
        #[arg(long, default_value = "watch", value_parser = one_of(&[Role::Watch, Role::Prompt, Role::Approve, Role::Drive, Role::Owner]))]
        role: Role,
        /// Limit it to one session
        #[arg(long, value_name = "NAME", conflicts_with = "workspace")]
        session: Option<String>,
        /// Limit it to the sessions of one directory
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
        /// When it expires: a number with s, m, h or d [default: never]
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<Duration>,
        /// Name for the list and for `revoke`
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
    },
    /// Revoke a token and close its connections
    #[command(visible_alias = "rm")]
    Revoke {
        /// Id or label of the token
        #[arg(value_name = "ID|LABEL")]
        token: String,
    },
}

/// A parser for one of these roles, which help texts, errors and completions then list.
pub(super) fn one_of(roles: &'static [Role]) -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(roles.iter().map(|role| role.as_str()))
        .try_map(move |name| roles.iter().copied().find(|role| role.as_str() == name).ok_or("unknown role"))
}

/// Reads a number with a unit.
pub(super) fn lifetime(text: &str) -> Result<Duration, String> {
    let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
    let parsed = units.into_iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(seconds).filter(|seconds| *seconds > 0)
    });
    let seconds = parsed.ok_or_else(|| "write a number with s, m, h or d, such as 30s or 2h".to_owned())?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Shells complete options from these lists.
    #[test]
    fn roles_are_listed_for_completion() {
        let program = crate::manual::built(crate::args::SwbCli::command());
        let roles = |words: &[&str]| {
            let command = words.iter().fold(&program, |command, word| {
                command.find_subcommand(word).expect("a subcommand of this name")
            });
            let role = command.get_arguments().find(|one| one.get_id() == "role").expect("--role");
            let names: Vec<String> =
                role.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            names.join(" ")
        };
        assert_eq!(roles(&["tunnel"]), "watch prompt approve drive");
        assert_eq!(roles(&["token", "add"]), "watch prompt approve drive owner");
    }

    #[test]
    fn times_have_a_unit() {
        let seconds = |text| lifetime(text).map(|time| time.as_secs()).ok();
        assert_eq!(["30s", "5m", "2h", "1d"].map(seconds), [Some(30), Some(300), Some(7200), Some(86_400)]);
        for bad in ["", "5", "h", "0s", "-1h", "1.5h", "2w", "99999999999999999999d"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
