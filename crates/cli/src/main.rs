//! `swb`: the user's program, the daemon and the keeper in one file.
//!
//! The name it is started as decides what it does: as `keepty`, `coop` and `clippyctl` it behaves like those programs,
//! under any other name it is `swb`. `daemon`, `keeper` and `guard` work under every name, because our processes
//! start each other with them.

#![warn(clippy::print_stderr, reason = "panics if standard error is closed; see `eprint_line`")]

mod args;
mod attach;
mod cast;
mod chat;
mod commands;
mod completion;
mod config;
mod console;
mod context;
mod control_client;
mod daemon_place;
mod doctor;
mod error;
mod event_stream;
mod fonts;
mod help;
mod hotkey;
mod inherited_connection;
mod integration;
mod limits;
mod manual;
mod own_socket;
mod panics;
mod personalities;
mod profiles;
mod regular_file;
mod session;
mod session_name;
mod start_daemon;
mod stdin;
mod sys;
mod table;
mod terminal;
mod top;
mod via;
mod watch_list;
mod wrap;

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

/// Exit code after a panic, as for every Rust program.
const PANICKED: u8 = 101;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|verb| verb == "keeper") {
        return commands::keeper(args.into_iter().skip(2));
    }
    if args.get(1).is_some_and(|verb| verb == "guard") {
        return swb_daemon::guard::main(args.into_iter().skip(2));
    }
    let result = panic::catch_unwind(AssertUnwindSafe(|| run(args)));
    ExitCode::from(result.unwrap_or_else(|_| {
        panics::print_messages();
        PANICKED
    }))
}

fn run(args: Vec<OsString>) -> u8 {
    let main = personalities::entry_point(&args).unwrap_or(commands::main);
    main(args)
}
