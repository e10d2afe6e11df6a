//! `swb chat`: a terminal client of the scriptschnell socket.
//!
//! [`connection`] is the connection, [`open_session`] chooses the session. Display and editing are in [`swb_tui`];
//! [`session_state`] is the state of a conversation and [`interactive`] the loop around it.
//! [`one_shot`] sends one prompt and prints the answer.

mod connection;
mod endpoint;
mod interactive;
mod messages;
mod one_shot;
mod open_session;
mod session_state;
mod slash_commands;

use crate::args;
use crate::console::eprint_line;
use crate::context::{self, Context};
use crate::error::{Failure, Outcome};
use crate::limits;
use connection::ChatConnection;
use endpoint::ChatEndpoint;
use open_session::{OpenedSession, SessionChoice};
use rustix::fs::FileType;
use rustix::stdio::{stdin, stdout};
use rustix::termios::isatty;
use swb_types::SavePolicy;
use swb_wire::control::ChatAgentItem;

/// The agent that stands for the user's shell; it answers if no other is configured or installed.
const SHELL_AGENT: &str = "shell";

/// The conversation or session that the user means; a name for a new one, or at another server, is taken as it is.
fn meant(context: &Context, args: &args::ChatArgs, name: String) -> Result<String, Failure> {
    if args.new || args.socket.is_some() { Ok(name) } else { context.conversation(name) }
}

/// Programs that run each message.
const SHELLS: [&str; 7] = ["sh", "ash", "bash", "dash", "fish", "ksh", "zsh"];

/// Opens the conversation, or sends one message and prints the answer.
pub(crate) fn run(context: &Context, args: &args::ChatArgs) -> Outcome {
    let here = std::env::var("SWB_SESSION").ok();
    if let Some(name) = &args.name {
        context::checked_name(name)?;
        if here.as_ref() == Some(name) {
            return Err(Failure::usage(format!("this terminal belongs to session '{name}' itself"))
                .hint("run the command in another terminal"));
        }
    }
    if args.raw && context.json {
        return Err(Failure::usage("--json cannot be combined with --raw"));
    }
    let prompt = prompt(args, context.json)?;
    let endpoint = ChatEndpoint::find(context, args)?;
    let mut link = connect(context, &endpoint)?;
    let agents = if endpoint.ours { interactive::agents(context) } else { Vec::new() };
    let choice = SessionChoice {
        name: args.name.clone().map(|name| meant(context, args, name)).transpose()?,
        directory: context::workspace(args.directory.as_deref())?,
        new: args.new,
        agent: args.agent.clone().map(|agent| named_agent(&agents, agent)),
        own: prompt.is_some(),
        here,
        default_agent: agents.first().map(|agent| agent.name.clone()),
        auto_save: endpoint.save == SavePolicy::Always,
    };
    let opened = open_session::open(&mut link, &choice)?;
    // A daemon of another project does not report the agent with the session.
    let needed = opened.agent.is_none() && prompt.as_ref().is_none_or(|prompt| prompt.piped);
    let agent = if needed { open_session::agent_of(&mut link)? } else { opened.agent };
    let opened = OpenedSession { agent, ..opened };
    match prompt {
        Some(prompt) => {
            check_reader(&prompt, opened.agent.as_deref(), needed)?;
            one_shot::run(context, link, opened, prompt, args, endpoint.save)
        }
        None => interactive::run(context, endpoint, link, opened, choice, agents),
    }
}

/// A message to send.
struct OneShotPrompt {
    text: String,
    /// Some of it is from standard input, so no person has typed it here.
    piped: bool,
}

/// The name of the agent that a name or a kind stands for. The daemon rejects one that is unknown.
fn named_agent(known: &[ChatAgentItem], wanted: String) -> String {
    let by_name = known.iter().find(|agent| agent.name == wanted);
    let found = by_name.or_else(|| known.iter().find(|agent| agent.kind == wanted));
    found.map(|agent| agent.name.clone()).unwrap_or(wanted)
}

/// Rejects piped text if a shell answers: it would run each line of it. Our daemon checks the program that reads; for
/// another one, the name has to do.
fn check_reader(prompt: &OneShotPrompt, agent: Option<&str>, by_name: bool) -> Result<(), Failure> {
    let is_shell = |agent: &str| agent == SHELL_AGENT || (by_name && SHELLS.contains(&agent));
    match agent {
        Some(agent) if prompt.piped && is_shell(agent) => {
            Err(Failure::usage("a shell answers here; it would run each line of standard input")
                .hint("choose another agent with --agent NAME, or type the text with -m TEXT"))
        }
        _ => Ok(()),
    }
}

/// Connects; starts our own daemon if it is not running.
fn connect(context: &Context, endpoint: &ChatEndpoint) -> Result<ChatConnection, Failure> {
    if endpoint.ours {
        // Reports the start of a daemon and its warnings.
        drop(context.connect()?);
    }
    ChatConnection::open(endpoint)
}

/// The message to send; `None` for an interactive conversation.
fn prompt(args: &args::ChatArgs, json: bool) -> Result<Option<OneShotPrompt>, Failure> {
    let keyboard = isatty(stdin());
    let (prompt, piped) = match args.message.as_deref() {
        Some("-") => (input()?, !keyboard),
        Some(text) => match if piped() { input()? } else { String::new() } {
            input if input.trim().is_empty() => (text.to_owned(), false),
            input => (format!("{text}\n\n{input}"), true),
        },
        None if !keyboard => (input()?, true),
        None if json || !isatty(stdout()) => {
            return Err(Failure::usage("there is no message to send").hint("give one with -m TEXT"));
        }
        None => return Ok(None),
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the message is empty"));
    }
    Ok(Some(OneShotPrompt { text: prompt.trim_end().to_owned(), piped }))
}

/// Whether standard input is redirected on purpose: a pipe or a file, neither a terminal nor /dev/null.
fn piped() -> bool {
    let kind = rustix::fs::fstat(stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}

fn input() -> Result<String, Failure> {
    Ok(String::from_utf8(crate::stdin::read(limits::PROMPT)?).unwrap_or_else(|error| {
        eprint_line(format_args!(
            "[standard input is not valid UTF-8: invalid bytes are replaced by \u{fffd}]"
        ));
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    }))
}

/// A price as programs get it, rounded: sums of small prices have meaningless digits.
pub(crate) fn dollars(price: f64) -> f64 {
    (price * 1e6).round() / 1e6
}

/// Prints how to return to the conversation.
fn print_how_to_continue(name: &str, unsaved: bool) {
    if unsaved {
        eprint_line(format_args!(
            "[conversation {name} stays in memory, not on disk (/save); `swb chat {name}` continues it]"
        ));
    } else {
        eprint_line(format_args!("[conversation {name} is kept; `swb chat {name}` continues it]"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_six_digits() {
        assert_eq!(dollars(0.1 + 0.2).to_string(), "0.3");
        assert_eq!(dollars(0.000_012_49).to_string(), "0.000012");
    }
}
