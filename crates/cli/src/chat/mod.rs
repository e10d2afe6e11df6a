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
use crate::console::say;
use crate::context::{self, Context};
use crate::error::{Failure, Outcome};
use crate::limits;
use connection::ChatConnection;
use endpoint::ChatEndpoint;
use open_session::{OpenedSession, SessionChoice};
use rustix::fs::FileType;
use rustix::stdio::{stdin, stdout};
use rustix::termios::isatty;

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
    let prompt = prompt(args, context.json)?;
    let endpoint = ChatEndpoint::find(context, args)?;
    let mut link = connect(context, &endpoint)?;
    let choice = SessionChoice {
        name: args.name.clone(),
        directory: context::workspace(args.directory.as_deref())?,
        new: args.new,
        agent: args.agent.clone(),
        own: prompt.is_some(),
        here,
    };
    let opened = open_session::open(&mut link, &choice)?;
    // Whether standard input adds something to the message.
    let besides = |message: &&str| *message != "-" && prompt.as_deref() != Some(message.trim_end());
    if args.message.as_deref().filter(besides).is_some() {
        check_reader(&mut link)?;
    }
    match prompt {
        Some(prompt) => one_shot::run(link, opened, prompt, args, context.json),
        None => {
            let agent = open_session::agent_of(&mut link)?;
            interactive::run(context, endpoint, link, OpenedSession { agent, ..opened }, choice)
        }
    }
}

/// Rejects standard input beside a message if the agent is a shell: it would run each line of it.
fn check_reader(link: &mut ChatConnection) -> Result<(), Failure> {
    const SHELLS: [&str; 8] = ["shell", "sh", "ash", "bash", "dash", "fish", "ksh", "zsh"];
    match open_session::agent_of(link)? {
        Some(agent) if SHELLS.contains(&agent.as_str()) => {
            Err(Failure::usage(format!("{agent} is a shell and would run each line of standard input"))
                .hint("choose another agent with --agent NAME, or leave out -m to run standard input"))
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
fn prompt(args: &args::ChatArgs, json: bool) -> Result<Option<String>, Failure> {
    let keyboard = isatty(stdin());
    let prompt = match args.message.as_deref() {
        Some("-") => input()?,
        Some(text) if piped() => format!("{text}\n\n{}", input()?),
        Some(text) => text.to_owned(),
        None if !keyboard => input()?,
        None if json || !isatty(stdout()) => {
            return Err(Failure::usage("there is no message to send").hint("give one with -m TEXT"));
        }
        None => return Ok(None),
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the message is empty"));
    }
    Ok(Some(prompt.trim_end().to_owned()))
}

/// Whether standard input is redirected on purpose: a pipe or a file, neither a terminal nor /dev/null.
fn piped() -> bool {
    let kind = rustix::fs::fstat(stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}

fn input() -> Result<String, Failure> {
    Ok(String::from_utf8(crate::stdin::read(limits::PROMPT)?).unwrap_or_else(|error| {
        say(format_args!("[standard input is not valid UTF-8: invalid bytes are replaced by \u{fffd}]"));
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    }))
}

/// A price as programs get it, rounded: sums of small prices have meaningless digits.
pub(crate) fn dollars(price: f64) -> f64 {
    (price * 1e6).round() / 1e6
}

/// Prints how to return to the conversation.
fn farewell(name: &str, unsaved: bool) {
    if unsaved {
        say(format_args!(
            "[session {name} stays in memory, not on disk (/save); `swb chat {name}` continues it]"
        ));
    } else {
        say(format_args!("[session {name} is kept; `swb chat {name}` continues it]"));
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
