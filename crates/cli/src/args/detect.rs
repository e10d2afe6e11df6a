//! The arguments of `detect`.

use super::parse_size;
use clap::Args;
use std::path::PathBuf;
use swb_types::Size;

// Arguments of `detect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb detect recordings/claude-code/02-three-turns
  swb detect stream.jsonl --profile codex --json
  swb detect --score recordings

A recording is a folder with a stream.jsonl (one event per line), or that file itself. The expected.json beside it
names the program and the size of the terminal; without one, the program is recognised by the name of the folder
or by its greeting. With --json, prints one object per line: one for each turn, then a summary.")]
pub(crate) struct DetectArgs {
    /// Recording
    #[arg(required_unless_present = "score", conflicts_with = "score")]
    pub(crate) recording: Option<PathBuf>,
    /// Detection profile [default: chosen by the program]
    #[arg(long, value_name = "P")]
    pub(crate) profile: Option<String>,
    /// Size of the terminal at the start, such as 80x24 [default: as recorded]
    #[arg(long, value_name = "COLSxROWS", value_parser = parse_size)]
    pub(crate) size: Option<Size>,
    /// Compare the turns found in all recordings below this folder with the expected ones
    #[arg(long, value_name = "DIR")]
    pub(crate) score: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::super::SwbCli;
    use super::*;
    use clap::Parser;

    #[test]
    fn sizes_have_two_numbers() {
        assert_eq!(parse_size("80x24"), Ok(Size::DEFAULT));
        for bad in ["", "80", "80x", "x24", "0x24", "80x24x1", "80x99999"] {
            assert!(parse_size(bad).unwrap_err().contains("1 to 65535 columns and rows"), "{bad}");
        }
    }

    #[test]
    fn one_recording_or_a_folder_of_them() {
        let parse = |args: &[&str]| SwbCli::try_parse_from([&["swb", "detect"], args].concat()).is_ok();
        assert!(parse(&["r"]) && parse(&["--score", "d"]));
        assert!(!parse(&[]) && !parse(&["r", "--score", "d"]));
    }
}
