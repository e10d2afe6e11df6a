//! What each shell runs at a Tab, and how it gets the candidates.
//!
//! `clap_complete` has scripts for these shells, too. These know about colons in words (turns such as `api:3`) where bash
//! splits them, and can be stored in the directory from which zsh loads functions.

use super::names::is_plain;
use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::EnvCompleter;
use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::Path;

const BASH_SCRIPT: &str = r#"# Completion of swb in bash; made by `swb completions bash`.
_swb() {
    local rest=$COMP_LINE words=() word i
    COMPREPLY=()
    # The words as swb gets them: bash splits them at colons and equals signs.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        [[ $i == "$COMP_CWORD" && $word != [:=] ]] && word=$2
        if [[ $i != 0 && -n $rest && $rest != [[:space:]]* ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        rest=${rest#*"${COMP_WORDS[i]}"}
    done
    local current=${words[${#words[@]} - 1]}
    # Bash replaces what follows the last colon or equals sign.
    local kept=${current%"${current##*[:=]}"}
    while IFS= read -r word; do
        word=${word#"$kept"}
        # Bash inserts candidates as they are: quote whatever could mean something to it.
        case $word in
            *[!A-Za-z0-9_./:@%+,=-]*) printf -v word %q "$word" ;;
        esac
        COMPREPLY+=("$word")
    done < <(SWB_INDEX=$((${#words[@]} - 1)) VARIABLE=bash PROGRAM -- "${words[@]}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=/] ]] && compopt -o nospace 2>/dev/null
}
complete -o bashdefault -o default -o nosort -F _swb swb 2>/dev/null ||
    complete -o bashdefault -o default -F _swb swb
"#;

const ZSH_SCRIPT: &str = r#"#compdef swb
# Completion of swb in zsh; made by `swb completions zsh`.
_swb() {
    local -a candidates names directories
    local candidate
    candidates=("${(@f)$(SWB_INDEX=$((CURRENT - 1)) VARIABLE=zsh PROGRAM -- "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    for candidate in "${(@)candidates:#}"; do
        case $candidate in
            */) directories+=("$candidate") ;;
            *) names+=("$candidate") ;;
        esac
    done
    (( $#names )) && _describe -V swb names
    (( $#directories )) && compadd -S '' -f -- "${(@)directories}"
    (( $#names + $#directories )) || _files
}
if [[ $funcstack[1] == _swb ]]; then
    _swb "$@"
else
    compdef _swb swb
fi
"#;

const FISH_SCRIPT: &str = r#"# Completion of swb in fish; made by `swb completions fish`.
function __swb_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token --cut-at-cursor)
    SWB_INDEX=(math (count $words) - 1) VARIABLE=fish PROGRAM -- $words 2>/dev/null
end
complete --command swb --no-files --keep-order --arguments '(__swb_complete)'
"#;

/// The variable with the number of the word that is completed.
const INDEX: &str = "SWB_INDEX";

/// A shell with its script, and how the script reads a candidate.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompletedShell {
    name: &'static str,
    script: &'static str,
    line: fn(&CompletionCandidate) -> String,
}

pub(super) static BASH: CompletedShell = CompletedShell { name: "bash", script: BASH_SCRIPT, line: value };
pub(super) static FISH: CompletedShell =
    CompletedShell { name: "fish", script: FISH_SCRIPT, line: fish_line };
pub(super) static ZSH: CompletedShell = CompletedShell { name: "zsh", script: ZSH_SCRIPT, line: zsh_line };

impl EnvCompleter for CompletedShell {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is(&self, name: &str) -> bool {
        name == self.name
    }

    fn write_registration(
        &self,
        var: &str,
        _: &str,
        _: &str,
        program: &str,
        out: &mut dyn Write,
    ) -> Result<()> {
        write_script(self.script, var, program, out)
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        args: Vec<OsString>,
        dir: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<()> {
        for candidate in candidates(command, args, dir)? {
            writeln!(out, "{}", (self.line)(&candidate))?;
        }
        Ok(())
    }
}

/// The script is that of `clap_complete`. The shell inserts candidates as they are, so that those with characters that mean
/// something to it are left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Powershell;

impl EnvCompleter for Powershell {
    fn name(&self) -> &'static str {
        clap_complete::env::Powershell.name()
    }

    fn is(&self, name: &str) -> bool {
        clap_complete::env::Powershell.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        program: &str,
        out: &mut dyn Write,
    ) -> Result<()> {
        clap_complete::env::Powershell.write_registration(var, name, bin, program, out)
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        args: Vec<OsString>,
        dir: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let means_nothing = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_-./:+=".contains(c));
        for candidate in candidates(command, args, dir)? {
            if means_nothing(&value(&candidate)) {
                writeln!(out, "{}\t{}", value(&candidate), help(&candidate))?;
            }
        }
        Ok(())
    }
}

fn fish_line(candidate: &CompletionCandidate) -> String {
    format!("{}\t{}", value(candidate), help(candidate))
}

fn zsh_line(candidate: &CompletionCandidate) -> String {
    let (value, help) = (value(candidate), help(candidate));
    if value.ends_with('/') {
        return value;
    }
    // A colon is between a candidate and its description.
    let value = value.replace('\\', "\\\\").replace(':', "\\:");
    let help = help.replace('\\', "\\\\");
    format!("{value}{}{help}", if help.is_empty() { "" } else { ":" })
}

fn write_script(script: &str, variable: &str, program: &str, out: &mut dyn Write) -> Result<()> {
    // Quoted in a way that all three shells understand.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let quoted: String =
        program.chars().map(|c| if plain(c) { c.to_string() } else { format!("\\{c}") }).collect();
    out.write_all(script.replace("VARIABLE", variable).replace("PROGRAM", &quoted).as_bytes())
}

/// The candidates for the word that the shell has named. Options are listed only where nothing else fits, or where the
/// word begins with a hyphen.
fn candidates(
    command: &mut clap::Command,
    mut args: Vec<OsString>,
    dir: Option<&Path>,
) -> Result<Vec<CompletionCandidate>> {
    let index = std::env::var(INDEX).ok().and_then(|index| index.parse().ok());
    let index: usize = index.unwrap_or_else(|| args.len().saturating_sub(1));
    // A shell may leave out an empty word.
    args.resize(index.saturating_add(1).min(args.len() + 1), OsString::new());
    let hyphen = args.last().is_some_and(|word| word.to_string_lossy().starts_with('-'));
    let mut all = complete(command, args, index, dir)?;
    all.retain(|one| is_plain(&one.get_value().to_string_lossy()));
    let is_option = |one: &CompletionCandidate| one.get_value().to_string_lossy().starts_with('-');
    if !hyphen && !all.iter().all(is_option) {
        all.retain(|one| !is_option(one));
    }
    Ok(all)
}

fn value(candidate: &CompletionCandidate) -> String {
    candidate.get_value().to_string_lossy().into_owned()
}

/// The description of a candidate: one line.
fn help(candidate: &CompletionCandidate) -> String {
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    swb_vt::printable(help.lines().next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    fn offered(words: &[&str]) -> Vec<String> {
        let mut command = Command::new("x")
            .arg(Arg::new("shape").value_parser(["round", "square"]))
            .arg(Arg::new("fast").long("fast").num_args(0).help("Be quick\nand dirty"))
            .subcommand(Command::new("sub"));
        let args = words.iter().map(OsString::from).collect();
        candidates(&mut command, args, None).unwrap().iter().map(value).collect()
    }

    #[test]
    fn options_are_offered_after_a_hyphen() {
        let plain = offered(&["x", ""]);
        assert!(
            plain.contains(&"round".to_owned()) && !plain.iter().any(|one| one.starts_with('-')),
            "{plain:?}"
        );
        assert_eq!(offered(&["x", "--f"]), ["--fast"]);
        assert!(offered(&["x", "sub", ""]).iter().all(|one| one.starts_with('-')), "nothing else fits");
    }

    #[test]
    fn programs_with_odd_paths_are_quoted() {
        let mut out = Vec::new();
        write_script("PROGRAM VARIABLE", "V", "/a b/$c'd", &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), r"/a\ b/\$c\'d V");
    }
}
