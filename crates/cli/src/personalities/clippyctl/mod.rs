//! `clippyctl`: requests to a broker from the command line (CR-26). Under its own name, and as `swb clippyctl`.
//!
//! Speaks the clippy dialect, so it works with every broker that does.

mod broker_client;

use crate::args::{self, HotkeyArgs};
use crate::commands::report;
use crate::console::{eprint_json, eprint_text, print_bytes, print_coloured, print_json, print_text};
use crate::error::{Failure, Outcome};
use crate::table;
use broker_client::{BrokerClient, garbled};
use clap::{Parser, Subcommand, ValueEnum};
use rustix::stdio::stdout;
use rustix::termios::isatty;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use swb_vt::printable;
use swb_wire::clippy::{Malformed, Request, Response, Sink};

/// Gets turns from a clippy broker and moves them between sessions.
#[derive(Debug, Parser)]
#[command(name = "clippyctl", version, disable_help_subcommand = true)]
struct ClippyctlCli {
    /// Print data as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ClippyctlCommand,
}

/// The commands of `clippyctl`.
#[derive(Debug, Subcommand)]
pub(crate) enum ClippyctlCommand {
    /// List sessions
    ListSessions,
    /// List the turns of a session, the newest first
    ListTurns {
        /// Session
        session: String,
        /// Only the newest N
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Write a turn to standard output, and its metadata to standard error
    GetTurn {
        /// Turn, such as api:3
        id: String,
        /// Leave out the content
        #[arg(long)]
        metadata_only: bool,
    },
    /// Copy the latest turn of a session to the relay buffer
    Capture {
        /// Session
        session: String,
    },
    /// Copy a turn to the relay buffer
    CaptureById {
        /// Turn, such as api:3
        id: String,
    },
    /// Type the relay buffer into a session
    Paste {
        /// Session
        session: String,
    },
    /// Deliver the relay buffer to a session, a file or the clipboard
    Deliver {
        /// Destination
        sink: SinkName,
        /// Session, for inject
        #[arg(long, required_if_eq("sink", "inject"))]
        session: Option<String>,
        /// File, for file
        #[arg(long, required_if_eq("sink", "file"))]
        path: Option<PathBuf>,
    },
    /// Capture and paste turns with keys that work in every window; the same as `swb hotkey`
    Hotkey(HotkeyArgs),
}

/// A destination of the relay buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SinkName {
    /// The input of a session
    Inject,
    /// A file
    File,
    /// The system's clipboard
    Clipboard,
}

#[derive(Debug, Serialize)]
struct SessionJson<'a> {
    session: &'a str,
    pid: u32,
    has_turn: bool,
}

#[derive(Debug, Serialize)]
struct TurnJson<'a> {
    turn_id: &'a str,
    timestamp: u64,
    byte_length: u32,
    interrupted: bool,
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct CapturedJson<'a> {
    turn_id: Option<&'a str>,
    size: u32,
}

/// Runs as `clippyctl`.
pub(crate) fn main(args: Vec<OsString>) -> u8 {
    match args::parse::<ClippyctlCli>("clippyctl", args, 2) {
        Ok(cli) => report("clippyctl", run(&cli.command, cli.json)),
        Err(code) => code,
    }
}

/// Executes a command.
pub(crate) fn run(command: &ClippyctlCommand, json: bool) -> Outcome {
    match command {
        ClippyctlCommand::ListSessions => {
            BrokerClient::open()?.ask(&Request::ListSessions, |answer| sessions(answer, json))
        }
        ClippyctlCommand::ListTurns { session, limit } => {
            let request = Request::ListTurns { session, limit: *limit };
            BrokerClient::open()?.ask(&request, |answer| turns(answer, json))
        }
        ClippyctlCommand::GetTurn { id, metadata_only } => BrokerClient::open()?
            .ask(&Request::GetTurn { turn_id: id }, |answer| turn(answer, *metadata_only, json)),
        ClippyctlCommand::Capture { session } => {
            BrokerClient::open()?.ask(&Request::Capture { session }, |answer| captured(answer, json))
        }
        ClippyctlCommand::CaptureById { id } => {
            BrokerClient::open()?.ask(&Request::CaptureById { turn_id: id }, |answer| captured(answer, json))
        }
        ClippyctlCommand::Paste { session } => {
            BrokerClient::open()?.ask(&Request::Paste { session }, |_| Ok(()))
        }
        ClippyctlCommand::Deliver { sink, session, path } => {
            deliver(*sink, session.as_deref(), path.as_ref())
        }
        ClippyctlCommand::Hotkey(args) => return crate::hotkey::run(args),
    }?;
    Ok(0)
}

fn deliver(sink: SinkName, session: Option<&str>, path: Option<&PathBuf>) -> Result<(), Failure> {
    // The broker accepts no relative paths, because it does not know our working directory.
    let path = path.map(std::path::absolute).transpose()?;
    let path = path.as_ref().map(|path| path.to_str().ok_or_else(|| Failure::usage("the path is not UTF-8")));
    let missing = || Failure::usage("missing_field");
    let sink = match sink {
        SinkName::Inject => Sink::Inject { session: session.ok_or_else(missing)? },
        SinkName::File => Sink::File { path: path.ok_or_else(missing)?? },
        SinkName::Clipboard => Sink::Clipboard,
    };
    BrokerClient::open()?.ask(&Request::Deliver(sink), |_| Ok(()))
}

/// A field that a reply must have.
fn needed<T>(field: Option<T>) -> Result<T, Failure> {
    field.ok_or_else(|| garbled(&Malformed))
}

fn yes(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

fn sessions(answer: &Response<'_>, json: bool) -> Result<(), Failure> {
    let items = needed(answer.sessions.as_ref())?.iter();
    let items: Vec<SessionJson<'_>> = items
        .map(|item| SessionJson { session: item.session, pid: item.pid, has_turn: item.has_turn })
        .collect();
    if json {
        return print_json(&items);
    }
    let row = |item: &SessionJson<'_>| [item.session.to_owned(), item.pid.to_string(), yes(item.has_turn)];
    let rows: Vec<[String; 3]> = items.iter().map(row).collect();
    print_text(&table::layout(["SESSION", "PID", "TURN"], &rows))
}

fn turns(answer: &Response<'_>, json: bool) -> Result<(), Failure> {
    let items = needed(answer.turns.as_ref())?.iter();
    let items: Vec<TurnJson<'_>> = items
        .map(|item| TurnJson {
            turn_id: item.turn_id,
            timestamp: item.timestamp,
            byte_length: item.byte_length,
            interrupted: item.interrupted,
            truncated: item.truncated,
        })
        .collect();
    if json {
        return print_json(&items);
    }
    let row = |item: &TurnJson<'_>| {
        let [time, length] = [item.timestamp, item.byte_length.into()].map(|number| number.to_string());
        [item.turn_id.to_owned(), time, length, yes(item.interrupted), yes(item.truncated)]
    };
    let rows: Vec<[String; 5]> = items.iter().map(row).collect();
    print_text(&table::layout(["TURN", "TIMESTAMP", "BYTES", "INTERRUPTED", "TRUNCATED"], &rows))
}

/// Content is for programs and is written unchanged, except to a terminal; the rest is text for people, or JSON.
fn turn(answer: &Response<'_>, metadata_only: bool, json: bool) -> Result<(), Failure> {
    let turn = TurnJson {
        turn_id: needed(answer.turn_id)?,
        timestamp: needed(answer.timestamp)?,
        byte_length: needed(answer.byte_length)?,
        interrupted: needed(answer.interrupted)?,
        truncated: needed(answer.truncated)?,
    };
    if json {
        eprint_json(&turn)?;
    } else {
        eprint_text(&format!(
            "turn_id: {}\ntimestamp: {}\nbyte_length: {}\ninterrupted: {}\ntruncated: {}\n",
            printable(turn.turn_id),
            turn.timestamp,
            turn.byte_length,
            turn.interrupted,
            turn.truncated
        ));
    }
    match metadata_only {
        true => Ok(()),
        false if isatty(stdout()) => print_coloured(needed(answer.content)?),
        false => print_bytes(needed(answer.content)?),
    }
}

fn captured(answer: &Response<'_>, json: bool) -> Result<(), Failure> {
    let captured = CapturedJson { turn_id: answer.turn_id, size: needed(answer.size)? };
    if json {
        return print_json(&captured);
    }
    // Brokers of the first level do not name turns.
    let name = captured.turn_id.map(|id| format!("{} ", printable(id))).unwrap_or_default();
    print_text(&format!("{name}{} bytes\n", captured.size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        ClippyctlCli::command().debug_assert();
    }

    // CR-26
    #[test]
    fn verbs_parse() {
        for args in [
            &["list-sessions"][..],
            &["list-turns", "s"],
            &["list-turns", "s", "--limit", "3"],
            &["get-turn", "s:1"],
            &["get-turn", "s:1", "--metadata-only"],
            &["capture", "s"],
            &["capture-by-id", "s:1"],
            &["paste", "s"],
            &["deliver", "inject", "--session", "s"],
            &["deliver", "file", "--path", "/p"],
            &["deliver", "clipboard"],
            &["hotkey", "--capture-key", "Super+C", "--paste-key", "Super+V", "--clipboard-key", "Super+X"],
        ] {
            assert!(ClippyctlCli::try_parse_from([&["clippyctl"], args].concat()).is_ok(), "{args:?}");
        }
        for args in
            [&[][..], &["deliver", "inject"], &["deliver", "file"], &["deliver", "printer"], &["get-turn"]]
        {
            assert!(ClippyctlCli::try_parse_from([&["clippyctl"], args].concat()).is_err(), "{args:?}");
        }
    }
}
