//! `swb integration`: lets agents report their state through their own hooks.

use crate::args::{self, AgentName, IntegrationCommand};
use crate::console::{eprint_text, print_coloured, print_text, wants_colours};
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::integration::edit::{self, Change};
use crate::integration::program::{self, in_path, own_path};
use crate::integration::{HookState, Integration};
use crate::limits;
use crate::table::{self, short_path};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::isatty;
use serde::Serialize;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use swb_vt::printable_lines;

/// An agent in the output of `integration status --json`.
#[derive(Debug, Serialize)]
struct AgentStatus {
    agent: &'static str,
    /// Whether the agent is in the PATH.
    found: bool,
    state: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// An agent in the output of `integration install --json` and `integration uninstall --json`.
#[derive(Debug, Serialize)]
struct Changed {
    agent: &'static str,
    path: String,
    /// Whether the file was changed, or would be.
    changed: bool,
    /// Whether it was only shown.
    dry_run: bool,
    diff: String,
    backup: Option<PathBuf>,
}

/// Shows, adds or removes hooks.
pub(super) fn run(context: &Context, args: args::IntegrationArgs) -> Outcome {
    match args.command.unwrap_or(IntegrationCommand::Status { agents: Vec::new() }) {
        IntegrationCommand::Status { agents } => status(context, &agents),
        IntegrationCommand::Install(args) => change(context, &args, true),
        IntegrationCommand::Uninstall(args) => change(context, &args, false),
    }
}

fn path(context: &Context, integration: Integration) -> PathBuf {
    integration.path(&context.paths.home, |name| std::env::var_os(name))
}

fn status(context: &Context, agents: &[AgentName]) -> Outcome {
    let program = program::in_hooks()?;
    let chosen = Integration::ALL.into_iter().filter(|one| agents.is_empty() || agents.contains(&one.agent));
    let all: Vec<AgentStatus> = chosen
        .map(|integration| {
            let path = path(context, integration);
            let state = edit::state(integration, &path, &program);
            AgentStatus {
                agent: integration.name(),
                found: in_path(integration.name()).is_some(),
                state: state.as_ref().map_or("unknown", |state| state.as_str()),
                path: path.to_string_lossy().into_owned(),
                error: state.err(),
            }
        })
        .collect();
    context.print_result(&all, |all| status_text(all, &context.paths.home))?;
    Ok(0)
}

fn status_text(all: &[AgentStatus], home: &Path) -> String {
    let rows: Vec<[String; 4]> = all
        .iter()
        .map(|one| {
            let found = if one.found { "yes" } else { "no" };
            [one.agent.to_owned(), found.to_owned(), one.state.to_owned(), short_path(&one.path, home)]
        })
        .collect();
    let mut text = table::layout(["AGENT", "IN PATH", "HOOKS", "FILE"], &rows);
    for error in all.iter().filter_map(|one| one.error.as_ref()) {
        text.push_str(&format!("\n{}\n", printable_lines(error)));
    }
    let is = |state: HookState| all.iter().any(|one| one.state == state.as_str());
    if is(HookState::Outdated) || is(HookState::Missing) {
        text.push_str("\n`swb integration install AGENT` adds the hooks.\n");
    }
    text
}

fn change(context: &Context, args: &args::ChangeArgs, install: bool) -> Outcome {
    let program = program::in_hooks()?;
    let mut all = Vec::new();
    for agent in &args.agents {
        let integration = Integration { agent: *agent };
        let path = path(context, integration);
        let change = match install {
            true => edit::install(integration, &path, &program),
            // It may have been installed under either name.
            false => edit::uninstall(integration, &path, &[&program, "swb", &own_path()?]),
        };
        let change = change.map_err(|error| Failure::general(printable_lines(&error).into_owned()))?;
        all.push(changed(context, args, integration, &path, &change, install)?);
    }
    if context.json {
        context.print_result(&all, |_| String::new())?;
    }
    Ok(0)
}

/// Shows the change of one file, asks, and makes it.
fn changed(
    context: &Context,
    args: &args::ChangeArgs,
    integration: Integration,
    path: &Path,
    change: &Change,
    install: bool,
) -> Result<Changed, Failure> {
    let shown = path.to_string_lossy().into_owned();
    let name = printable_lines(&shown).into_owned();
    let mut result = Changed {
        agent: integration.name(),
        path: shown,
        changed: !change.is_empty(),
        dry_run: args.dry_run,
        diff: change.diff(&name),
        backup: None,
    };
    if change.is_empty() {
        let state = if install { "already installed" } else { "not installed" };
        say(context, &format!("{}: {state}\n", integration.name()))?;
        return Ok(result);
    }
    show(context, &result.diff, args.yes)?;
    if args.dry_run {
        return Ok(result);
    }
    if !args.yes {
        ask(&name)?;
    }
    let backup = change.apply().map_err(|error| Failure::io(format!("cannot change {name}"), &error))?;
    let done = if install { "installed" } else { "uninstalled" };
    say(context, &format!("{}: {done}\n", integration.name()))?;
    if let Some(backup) = &backup {
        say(context, &format!("The file as it was: {}\n", printable_lines(&backup.to_string_lossy())))?;
    }
    if install {
        say(context, &format!("{}\n", integration.advice()))?;
    }
    result.backup = backup;
    Ok(result)
}

/// Prints text for people; JSON has the same at the end.
fn say(context: &Context, text: &str) -> Result<(), Failure> {
    if context.json { Ok(()) } else { print_text(text) }
}

/// Shows a diff; where a question follows, also to people who asked for JSON.
fn show(context: &Context, diff: &str, silent: bool) -> Result<(), Failure> {
    let text = printable_lines(diff);
    match context.json {
        true if silent => Ok(()),
        true => {
            eprint_text(&text);
            Ok(())
        }
        false => print_coloured(coloured(&text, wants_colours() && isatty(stdout())).as_bytes()),
    }
}

fn coloured(diff: &str, colours: bool) -> String {
    let line = |line: &str| match line.chars().next().filter(|_| colours) {
        Some('+') => format!("\x1b[32m{line}\x1b[m\n"),
        Some('-') => format!("\x1b[31m{line}\x1b[m\n"),
        Some('@') => format!("\x1b[36m{line}\x1b[m\n"),
        _ => format!("{line}\n"),
    };
    diff.lines().map(line).collect()
}

fn ask(name: &str) -> Result<(), Failure> {
    if !(isatty(stdin()) && isatty(stderr())) {
        return Err(Failure::general("there is no terminal to ask on; nothing was changed")
            .hint("--yes makes the change without a question, --dry-run only shows it"));
    }
    eprint_text(&format!("Change {name}? [y/N] "));
    let mut line = String::new();
    std::io::stdin().lock().take(limits::ANSWER).read_line(&mut line)?;
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::general("nothing was changed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_a_table() {
        let one = |agent, found, state: HookState, path: &str| AgentStatus {
            agent,
            found,
            state: state.as_str(),
            path: path.to_owned(),
            error: None,
        };
        let all = [
            one("claude", true, HookState::Installed, "/home/u/.claude/settings.json"),
            one("codex", false, HookState::Missing, "/home/u/.codex/config.toml"),
        ];
        insta::assert_snapshot!(status_text(&all, Path::new("/home/u")), @r#"
        AGENT   IN PATH  HOOKS          FILE
        claude  yes      installed      ~/.claude/settings.json
        codex   no       not installed  ~/.codex/config.toml

        `swb integration install AGENT` adds the hooks.
        "#);
    }

    #[test]
    fn added_and_removed_lines_have_colours() {
        assert_eq!(coloured("+a\n-b\n c\n", true), "\x1b[32m+a\x1b[m\n\x1b[31m-b\x1b[m\n c\n");
        assert_eq!(coloured("+a\n", false), "+a\n");
    }
}
