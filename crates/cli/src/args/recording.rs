//! The arguments of `record` and `replay`.

use super::parse_pty;
use super::screen::parse_seconds;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use swb_types::PtyId;

// Arguments of `record`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb record api api.cast
  swb record api - | gzip > api.cast.gz

Begins with the current screen and ends with the session, or on Ctrl+C; the session is not affected.
The file is an asciicast (version 3), which `swb replay` and asciinema play. It can hold everything that
was on the screen, so only you can read it.")]
pub(crate) struct RecordArgs {
    /// Session
    pub(crate) name: String,
    /// File to write; `-` is standard output
    pub(crate) file: PathBuf,
    /// Terminal of the session: 0 is its command, the others are shells
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_pty)]
    pub(crate) pty: PtyId,
    /// Overwrite an existing file
    #[arg(short, long)]
    pub(crate) force: bool,
}

// Arguments of `replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb replay api.cast
  swb replay api.cast --speed 4 --idle-limit 1
  swb replay api.cast --svg api.svg       an animated picture, for a README

Space pauses and resumes; q or Ctrl+C quits. If standard output is not a terminal, everything is written
at once. Plays asciicast files of versions 2 and 3.

The picture needs no scripts, repeats itself, and shows the last screen where animations are turned off. It has 20
screens a second at most, fewer in a long recording, and pauses of 2 seconds unless --idle-limit is given.")]
pub(crate) struct ReplayArgs {
    /// Recording; `-` is standard input
    pub(crate) file: PathBuf,
    /// Speed, as a multiple of the recorded one
    #[arg(long, value_name = "X", default_value = "1", value_parser = parse_speed)]
    pub(crate) speed: f64,
    /// Limit pauses to this many seconds [default: as set in the recording]
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub(crate) idle_limit: Option<Duration>,
    /// Write an animated SVG to this file instead; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

fn parse_speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| speed.is_normal() && *speed > 0.0);
    speed.ok_or_else(|| "not a number above zero".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_positive() {
        assert_eq!(parse_speed("0.5"), Ok(0.5));
        for bad in ["0", "-1", "inf", "NaN", "fast", ""] {
            assert!(parse_speed(bad).is_err(), "{bad}");
        }
    }
}
