//! Programs of other projects that `swb` can replace, chosen by the name it is started as.

pub(crate) mod clippyctl;
mod coop;
mod keepty;

use std::ffi::OsString;
use std::path::Path;

/// Runs a program with its arguments, its name included; returns the exit code.
type EntryPoint = fn(Vec<OsString>) -> u8;

/// Names and the programs behind them.
const PERSONALITIES: [(&str, EntryPoint); 3] =
    [("keepty", keepty::main), ("coop", coop::main), ("clippyctl", clippyctl::main)];

/// The program for these arguments; `None` for `swb` itself.
pub(crate) fn entry_point(args: &[OsString]) -> Option<EntryPoint> {
    // The daemon is started by the path of the running program, which may have any name.
    if args.get(1).is_some_and(|verb| verb == "daemon") {
        return None;
    }
    let name = Path::new(args.first()?).file_name()?;
    PERSONALITIES.iter().find(|(known, _)| name == *known).map(|(_, main)| *main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_except_for_the_daemon() {
        let found =
            |args: &[&str]| entry_point(&args.iter().map(OsString::from).collect::<Vec<_>>()).is_some();
        assert!(
            found(&["/usr/bin/keepty", "list"]) && found(&["coop"]) && found(&["./clippyctl", "daemons"])
        );
        assert!(!found(&["swb", "keepty"]) && !found(&["coop", "daemon"]) && !found(&[]));
    }
}
