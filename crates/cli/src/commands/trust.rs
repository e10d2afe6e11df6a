//! `swb trust`: approve what a directory's coop.toml runs.
//!
//! The file is read once: what is shown, what is approved and what is recorded are the same bytes. The daemon compares
//! them with those that it is about to use.

use crate::args;
use crate::console::eprint_text;
use crate::context::{self, Context};
use crate::error::{Failure, Outcome};
use crate::limits;
use crate::regular_file;
use crate::table;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::stdio::{stderr, stdin};
use rustix::termios::isatty;
use serde::Serialize;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use swb_daemon::trust::{COOPFILE, CoopfileEffects, Digest, TrustList};

/// The output of `trust --json`.
#[derive(Debug, Serialize)]
struct Trusted {
    directory: String,
    sha256: Digest,
    #[serde(flatten)]
    effects: CoopfileEffects,
}

/// An entry of `trust --list --json`.
#[derive(Debug, Serialize)]
struct ListedCoopfile {
    directory: String,
    sha256: Digest,
    state: CoopfileState,
}

/// Whether the file is still the one that was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CoopfileState {
    /// It is.
    Trusted,
    /// It has other content now, which is not trusted.
    Changed,
    /// It is gone, or cannot be read.
    Missing,
}

impl CoopfileState {
    fn of(directory: &str, digest: &Digest) -> Self {
        match read(&Path::new(directory).join(COOPFILE)) {
            Ok(text) if Digest::of(text.as_bytes()) == *digest => Self::Trusted,
            Ok(_) => Self::Changed,
            Err(_) => Self::Missing,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Changed => "changed",
            Self::Missing => "missing",
        }
    }
}

/// The output of `trust --revoke --json`.
#[derive(Debug, Serialize)]
struct Revoked {
    directory: String,
}

/// Trusts a file, lists the trusted ones, or revokes one.
pub(super) fn run(context: &Context, args: args::TrustArgs) -> Outcome {
    if args.list {
        return list(context);
    }
    if swb_keeper::is_confined() || std::env::var_os(swb_types::CONNECTION_VARIABLE).is_some() {
        return Err(Failure::general("an agent may not decide what is trusted")
            .hint("run `swb trust` yourself, outside the agent"));
    }
    if args.revoke {
        return revoke(context, args.dir.as_deref());
    }
    let directory = context::workspace(args.dir.as_deref())?;
    let path = Path::new(&directory).join(COOPFILE);
    let text = read(&path)?;
    let effects = CoopfileEffects::of(&text, &defaults(context)?)
        .map_err(|error| Failure::general(format!("{}: {}", path.display(), shown_lines(&error))))?;
    let trusted = Trusted { directory, sha256: Digest::of(text.as_bytes()), effects };
    if !args.yes {
        eprint_text(&question(&path, &text, &trusted.effects));
        ask(&path)?;
    }
    change(context, |list| match list.add(trusted.directory.clone(), trusted.sha256.clone()) {
        true => Ok(()),
        false => Err(Failure::general("the list of trusted files is full")
            .hint("`swb trust --list` shows it; `swb trust --revoke DIR` removes a file from it")),
    })?;
    context.print_result(&trusted, |trusted| format!("Trusted {}/{COOPFILE}", shown(&trusted.directory)))?;
    Ok(0)
}

/// The user's own Coopfile, over which that of a directory is merged; empty if there is none.
fn defaults(context: &Context) -> Result<String, Failure> {
    let path = context.paths.default_coopfile();
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        _ => read(&path),
    }
}

fn list(context: &Context) -> Outcome {
    let list = load(context)?;
    let listed = list.iter().map(|(directory, digest)| ListedCoopfile {
        directory: directory.to_owned(),
        sha256: digest.clone(),
        state: CoopfileState::of(directory, digest),
    });
    let listed: Vec<ListedCoopfile> = listed.collect();
    context.print_result(&listed, |listed| {
        if listed.is_empty() {
            return "No trusted files.".to_owned();
        }
        let row = |entry: &ListedCoopfile| {
            [entry.state.as_str().to_owned(), shown(entry.sha256.as_str()), shown(&entry.directory)]
        };
        let rows: Vec<[String; 3]> = listed.iter().map(row).collect();
        table::layout(["STATE", "SHA-256", "DIRECTORY"], &rows)
    })?;
    Ok(0)
}

fn revoke(context: &Context, dir: Option<&Path>) -> Outcome {
    let dir = dir.unwrap_or(Path::new("."));
    // The directory may be gone.
    let full = dir.canonicalize().or_else(|_| std::path::absolute(dir))?;
    let directory = full.to_string_lossy().into_owned();
    change(context, |list| match list.remove(&directory) {
        true => Ok(()),
        false => {
            let text = format!("{}/{COOPFILE} is not trusted", shown(&directory));
            Err(Failure::general(text).hint("`swb trust --list` shows the trusted files"))
        }
    })?;
    context.print_result(&Revoked { directory }, |revoked| {
        format!("No longer trusted: {}/{COOPFILE}", shown(&revoked.directory))
    })?;
    Ok(0)
}

fn read(path: &Path) -> Result<String, Failure> {
    regular_file::read_text(path, limits::COOPFILE)
        .map_err(|error| Failure::io(format!("cannot read {}", path.display()), &error))
}

/// The file, and what it would run.
fn question(path: &Path, text: &str, effects: &CoopfileEffects) -> String {
    let lines: String = text.lines().map(|line| format!("    {}\n", shown(line))).collect();
    let argv: Vec<String> = effects.command.iter().chain(&effects.args).cloned().collect();
    // A variable, not a word to be quoted.
    let shell = if effects.command.is_none() { "$SHELL " } else { "" };
    let env: String =
        effects.env.iter().map(|(key, value)| format!("    {}={}\n", shown(key), shown(value))).collect();
    let env = if env.is_empty() { env } else { format!("\nin this environment:\n\n{env}") };
    let further =
        effects.shell.as_ref().map(|shell| format!("\nand for `coop shell`:\n\n    {}\n", shown(shell)));
    let further = further.unwrap_or_default();
    format!(
        "{}:\n\n{lines}\nA session in this directory would run, with your rights:\n\n    {}\n{further}{env}\n",
        shown(&path.to_string_lossy()),
        format!("{shell}{}", shown(&table::command_line(&argv))).trim_end()
    )
}

/// Asks on the terminal; anything but a yes is a no.
fn ask(path: &Path) -> Result<(), Failure> {
    let not_trusted = || Failure::general(format!("{} is not trusted", shown(&path.to_string_lossy())));
    if !isatty(stdin()) || !isatty(stderr()) {
        return Err(not_trusted().hint("read it, then run `swb trust --yes`"));
    }
    eprint_text("Trust this file? [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().take(limits::ANSWER).read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(not_trusted()),
    }
}

fn load(context: &Context) -> Result<TrustList, Failure> {
    let path = context.paths.trust_list();
    TrustList::load(&path).map_err(|error| Failure::io(format!("cannot use {}", path.display()), &error))
}

/// Changes the list. It is replaced as a whole, so that the daemon never reads a part of it.
fn change(
    context: &Context,
    change: impl FnOnce(&mut TrustList) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (dir, path) = (context.paths.state_dir(), context.paths.trust_list());
    let failed = |error: io::Error| Failure::io(format!("cannot write {}", path.display()), &error);
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(failed)?;
    let lock = File::open(&dir).map_err(failed)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            return Err(Failure::general("another `swb trust` is changing the list").hint("try again"));
        }
        locked => locked.map_err(|error| failed(error.into()))?,
    }
    let mut list = load(context)?;
    change(&mut list)?;
    let new = replacement(&path);
    // Left behind by a command that was killed.
    let _removed = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).map_err(failed)?;
    file.write_all(&list.encode()).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&new, &path).map_err(failed)
}

fn replacement(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// A message of several lines that quotes the file.
fn shown_lines(text: &str) -> String {
    text.lines().map(shown).collect::<Vec<_>>().join("\n")
}

/// Text of a repository, without anything that acts on the terminal or hides what follows.
fn shown(text: &str) -> String {
    let hides = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let escaped = |c: char| match c {
        '\t' => vec![c],
        c if c.is_control() || hides(c) => c.escape_unicode().collect(),
        c => vec![c],
    };
    text.chars().flat_map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_shows_the_file_and_the_command() {
        let text = "[agent]\ncommand = \"claude\"\nargs = [\"-x\", \"a b\"]\n# \u{9b}2J \u{202e}\n[env]\nA = \"\\u001b[1m\"\n";
        let effects = CoopfileEffects::of(text, "").unwrap();
        insta::assert_snapshot!(question(Path::new("/w/coop.toml"), text, &effects), @r#"
        /w/coop.toml:

            [agent]
            command = "claude"
            args = ["-x", "a b"]
            # \u{9b}2J \u{202e}
            [env]
            A = "\u001b[1m"

        A session in this directory would run, with your rights:

            claude -x 'a b'

        in this environment:

            A=\u{1b}[1m
        "#);
    }

    #[test]
    fn without_a_command_the_shell_is_run() {
        let effects = CoopfileEffects::of("[env]\nA = \"1\"\n", "").unwrap();
        let shown = question(Path::new("/w/coop.toml"), "", &effects);
        assert!(shown.contains("with your rights:\n\n    $SHELL\n\nin this environment"), "{shown}");
        let effects = CoopfileEffects::of("[sandbox]\nshell = \"zsh\"\n", "").unwrap();
        let shown = question(Path::new("/w/coop.toml"), "", &effects);
        assert!(shown.contains("    $SHELL\n\nand for `coop shell`:\n\n    zsh\n"), "{shown}");
    }
}
