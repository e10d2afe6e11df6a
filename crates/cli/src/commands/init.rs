//! `swb init`: print the shell integration.

use crate::args::{InitArgs, InitShell};
use crate::console::{eprint_text, print_bytes};
use crate::error::{Failure, Outcome};
use rustix::stdio::stdout;
use rustix::termios::isatty;
use std::ffi::OsStr;
use std::path::Path;

impl InitShell {
    /// The shell that runs as this program.
    fn of_program(shell: &OsStr) -> Option<Self> {
        match Path::new(shell).file_name()?.to_str()? {
            "bash" => Some(Self::Bash),
            "zsh" => Some(Self::Zsh),
            "fish" => Some(Self::Fish),
            _ => None,
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Bash => include_str!("../shell/init.bash"),
            Self::Zsh => include_str!("../shell/init.zsh"),
            Self::Fish => include_str!("../shell/init.fish"),
        }
    }

    /// The file that the shell reads, and the line for it.
    fn line(self) -> (&'static str, &'static str) {
        match self {
            Self::Bash => ("~/.bashrc", "eval \"$(swb init bash)\""),
            Self::Zsh => ("~/.zshrc", "eval \"$(swb init zsh)\""),
            Self::Fish => ("~/.config/fish/config.fish", "swb init fish | source"),
        }
    }
}

/// Prints the code for a shell; on a terminal, if no shell is named, how to use it instead.
pub(super) fn run(args: &InitArgs) -> Outcome {
    let shell = match args.shell {
        Some(shell) => shell,
        None => detect(std::env::var_os("SHELL").as_deref())?,
    };
    if args.shell.is_none() && isatty(stdout()) {
        let (file, line) = shell.line();
        eprint_text(&format!(
            "Add this line at the end of {file}:\n\n  {line}\n\nIt takes effect in the next shell.\n"
        ));
        return Ok(0);
    }
    print_bytes(shell.code().as_bytes())?;
    Ok(0)
}

fn detect(shell: Option<&OsStr>) -> Result<InitShell, Failure> {
    let shell = shell.filter(|shell| !shell.is_empty());
    shell.and_then(InitShell::of_program).ok_or_else(|| {
        let message = match shell {
            Some(shell) => format!("there is no integration for your shell, {}", shell.to_string_lossy()),
            None => "SHELL is not set".to_owned(),
        };
        Failure::usage(message).hint("name a shell that you use: `swb init bash`, `zsh` or `fish`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_is_known_by_its_name() {
        let detected = |shell: &str| detect(Some(OsStr::new(shell))).ok();
        assert_eq!(detected("/usr/bin/zsh"), Some(InitShell::Zsh));
        assert_eq!(detected("fish"), Some(InitShell::Fish));
        assert_eq!(detected("/bin/sh"), None);
        assert!(detect(None).unwrap_err().to_string().contains("SHELL is not set"));
    }
}
