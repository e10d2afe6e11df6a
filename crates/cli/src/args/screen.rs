//! The arguments of `screen`, `wait` and `keys`, which read and control a terminal without attaching.

use super::{UntilState, parse_pty};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use swb_types::PtyId;

// Arguments of `screen`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb screen api                    the text on the screen
  swb screen api --scrollback 200   with up to 200 lines of scrollback
  swb screen api --png shot.png --scrollback 100
  swb screen api --json | jq .screen.cursor

Also works for sessions that have ended. FILE may be - for standard output. A PNG image shows Chinese, Japanese, Korean
and other characters that the built-in font lacks if an installed font has them (Noto Sans CJK, for example), and boxes
otherwise.")]
pub(crate) struct ScreenArgs {
    /// Session [default: that of this directory]
    pub(crate) name: Option<String>,
    /// Terminal of the session: 0 is its command, the others are shells
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_pty)]
    pub(crate) pty: PtyId,
    /// Also show up to N lines of scrollback
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) scrollback: u64,
    /// Keep colours and styles
    #[arg(long, group = "format")]
    pub(crate) ansi: bool,
    /// Write an SVG image of the screen to this file
    #[arg(long, value_name = "FILE", group = "format")]
    pub(crate) svg: Option<PathBuf>,
    /// Write a PNG image of the screen to this file
    #[arg(long, value_name = "FILE", group = "format")]
    pub(crate) png: Option<PathBuf>,
    /// Reach another machine through the tunnel that `swb tunnel` opened there
    #[arg(long, value_name = "URL")]
    pub(crate) via: Option<String>,
}

// Arguments of `wait`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("condition").multiple(true))]
#[command(after_help = "\
Examples:
  swb wait api --text 'Done|Failed'     until one of these is on the screen
  swb wait api --stable 2000            until the screen has not changed for two seconds
  swb wait build --exit --timeout 600 && swb logs build
  swb wait api --until ready            until the agent waits for input
  swb wait api --until turn --json      until its next answer is complete

With several conditions, the first one that holds ends the wait. The expression is matched against the screen
and the lines that scroll off it meanwhile; ^ and $ match at the ends of lines.

Exits with 0 when a condition holds, 124 on a timeout, and 1 if the session ends first.")]
pub(crate) struct WaitArgs {
    /// Session [default: that of this directory]
    pub(crate) name: Option<String>,
    /// Wait until this regular expression matches on the screen
    #[arg(long, value_name = "REGEX", group = "condition")]
    pub(crate) text: Option<String>,
    /// Wait until the screen has not changed for this many milliseconds
    #[arg(long, value_name = "MS", group = "condition")]
    pub(crate) stable: Option<u64>,
    /// Wait until the command has ended
    #[arg(long, group = "condition")]
    pub(crate) exit: bool,
    /// Wait until the agent is in this state
    #[arg(long, value_name = "WHAT", group = "condition")]
    pub(crate) until: Option<UntilState>,
    /// Terminal of the session: 0 is its command, the others are shells
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_pty)]
    pub(crate) pty: PtyId,
    /// Give up after this many seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub(crate) timeout: Option<Duration>,
}

// Arguments of `keys`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb keys api C-c
  swb keys api /model Enter Down Down Enter
  swb keys api --literal Enter        types the five letters

A KEY is a name such as Enter, Escape, Tab, BSpace, Up, PageDown or F5, with C-, M- and S- in front for
Ctrl, Alt and Shift; anything else is typed literally. Put -- before keys that begin with a hyphen.

Returns when every byte is written to the session's terminal.")]
pub(crate) struct KeysArgs {
    /// Session
    pub(crate) name: String,
    /// Keys to press, or text to type
    #[arg(required = true, value_name = "KEY")]
    pub(crate) keys: Vec<String>,
    /// Type everything literally
    #[arg(short, long)]
    pub(crate) literal: bool,
    /// Terminal of the session: 0 is its command, the others are shells
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_pty)]
    pub(crate) pty: PtyId,
}

/// Parses a number of seconds, which may have a fraction.
pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::{SwbCli, SwbCommand};
    use super::*;
    use clap::Parser;

    #[test]
    fn a_wait_needs_something_to_wait_for() {
        let parse = |args: &[&str]| SwbCli::try_parse_from([&["swb", "wait", "a"], args].concat());
        for good in [&["--text", "x"][..], &["--stable", "50"], &["--exit"], &["--text", "x", "--exit"]] {
            assert!(parse(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        assert_eq!(parse_seconds("1.5"), Ok(Duration::from_millis(1500)));
        for bad in ["", "x", "-1", "NaN", "inf", "1e300"] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_after_two_hyphens_may_begin_with_one() {
        let Some(SwbCommand::Keys(keys)) =
            SwbCli::try_parse_from(["swb", "keys", "a", "-l", "--", "-x", "C-c"]).unwrap().command
        else {
            panic!("not keys")
        };
        assert!(keys.literal);
        assert_eq!(keys.keys, ["-x", "C-c"]);
        assert!(SwbCli::try_parse_from(["swb", "keys", "a"]).is_err());
    }

    #[test]
    fn a_screen_has_one_form() {
        assert!(SwbCli::try_parse_from(["swb", "screen", "--ansi", "--svg", "x"]).is_err());
        assert!(SwbCli::try_parse_from(["swb", "screen", "--png", "x", "--svg", "x"]).is_err());
        assert!(SwbCli::try_parse_from(["swb", "screen", "a", "--svg", "-"]).is_ok());
    }
}
