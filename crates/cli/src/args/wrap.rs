//! The arguments of `wrap`.

use crate::limits;
use clap::Args;
use std::ffi::OsString;

// Arguments of `wrap`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb wrap -- claude
  swb wrap --pattern aider -- aider
  swb wrap --pattern '^me@host.*\\$ $' -- ssh host

A pattern is claude, aider, generic, or a regular expression that matches the line of a prompt.

Completed turns are sent to the broker at $XDG_RUNTIME_DIR/clippy/broker.sock, as soon as one is
running; `clippyctl` reads them there. The command runs on this terminal and ends with it; use
`swb run` for one that survives.

Exits with the command's exit code, by the signal that ended it, or with 127 if it cannot be started.")]
pub(crate) struct WrapArgs {
    /// Pattern that recognises the command's prompt
    #[arg(long, value_name = "P", default_value = "generic")]
    pub(crate) pattern: String,
    /// Set CLIPPY_SESSION_ID for the command
    #[arg(long)]
    pub(crate) env: bool,
    /// Maximum number of bytes to keep of a turn
    #[arg(long, value_name = "BYTES", default_value_t = limits::WRAP_TURN, value_parser = parse_bytes, hide_default_value = true)]
    pub(crate) max_turn: usize,
    /// Command and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD", allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

fn parse_bytes(text: &str) -> Result<usize, String> {
    // A little less than the maximum frame: the rest of the message has to fit, too.
    const LARGEST: usize = swb_wire::clippy::MAX_FRAME - 4096;
    let bytes = text.parse().ok().filter(|bytes| (1..=LARGEST).contains(bytes));
    bytes.ok_or_else(|| format!("not a number from 1 to {LARGEST}"))
}

#[cfg(test)]
mod tests {
    use super::super::{SwbCli, SwbCommand};
    use super::*;
    use clap::Parser;

    fn parse(args: &[&str]) -> Result<WrapArgs, clap::Error> {
        let cli = SwbCli::try_parse_from([&["swb", "wrap"], args].concat())?;
        let Some(SwbCommand::Wrap(wrap)) = cli.command else { panic!("not wrap") };
        Ok(wrap)
    }

    // CP-30
    #[test]
    fn the_pattern_is_generic_unless_given() {
        let wrap = parse(&["--", "ls", "-l", "--pattern", "x"]).unwrap();
        assert_eq!((&*wrap.pattern, wrap.command.len()), ("generic", 4));
        let wrap = parse(&["--pattern", "claude", "--", "claude"]).unwrap();
        assert_eq!((&*wrap.pattern, wrap.command.len()), ("claude", 1));
        let wrap = parse(&["ls", "--json"]).unwrap();
        assert_eq!(wrap.command, ["ls", "--json"]);
        assert!(parse(&[]).is_err());
    }

    // CP-28
    #[test]
    fn a_turn_is_bounded() {
        assert_eq!(parse(&["--", "x"]).unwrap().max_turn, 8_388_608);
        assert_eq!(parse(&["--max-turn", "100", "--", "x"]).unwrap().max_turn, 100);
        assert!(parse(&["--max-turn", "16777216", "--", "x"]).is_err());
        assert!(parse(&["--max-turn", "0", "--", "x"]).is_err());
    }
}
