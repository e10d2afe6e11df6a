//! `swb wrap`: runs a command on a transparent terminal between the user and the command.
//!
//! All bytes pass unchanged in both directions ([`output`], [`keyboard`]). Meanwhile prompts are recognised
//! (`swb_turns::LineRules`), and completed turns are sent to a broker if there is one ([`registration`],
//! [`broker_connection`]): our daemon or any other that speaks the clippy dialect. `docs/protocols/clippy.md` has the
//! rules.

mod broker_connection;
mod child;
mod keyboard;
mod output;
mod registration;
mod sys;
mod wrapper;

use crate::args::WrapArgs;
use crate::console::eprint_line;
use crate::error::{Failure, Outcome};
use broker_connection::BrokerConnection;
use child::WrappedChild;
use registration::Registration;
use rustix::process::{Resource, Rlimit, setrlimit};
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, Read};
use std::path::PathBuf;
use swb_turns::{LineOptions, LineRules, Pattern};
use swb_types::Paths;
use wrapper::{WrapEnd, Wrapper};

/// Exit code if the command could not be started, as in shells (CP-23).
const NOT_STARTED: u8 = 127;

/// The variable that holds the session id for the command, with `--env` (CP-12).
const SESSION_VARIABLE: &str = "CLIPPY_SESSION_ID";

/// Runs a command and exits as it does.
pub(crate) fn run(args: WrapArgs) -> Outcome {
    // Check everything that can be invalid before the command starts (CT-1, CT-2).
    let pattern = Pattern::new(&args.pattern).map_err(|error| Failure::usage(error.to_string()))?;
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Failure::usage("no command given"));
    };
    let session = session_id().map_err(|error| Failure::io("cannot create a session id", &error))?;
    let env = args.env.then_some((SESSION_VARIABLE, session.as_str()));
    let child = match WrappedChild::start(program, rest, env) {
        Ok(child) => child,
        Err(error) => {
            eprint_line(format_args!("swb: cannot run {}: {error}", program.display()));
            return Ok(NOT_STARTED);
        }
    };
    let registration = Registration::new(session, child.pid(), pattern.as_str().to_owned());
    let options = LineOptions { turn_bytes: args.max_turn, ..LineOptions::default() };
    let mut wrapper = Wrapper::new(
        child,
        BrokerConnection::new(broker_socket(), registration),
        LineRules::new(pattern, options),
    )?;
    let ending = wrapper.run();
    drop(wrapper);
    match ending? {
        WrapEnd::Code(code) => Ok(code),
        WrapEnd::Signal(signal) => Ok(die_by(signal)),
    }
}

/// The socket of the broker, if it can have one (CB-1 to CB-3).
pub(crate) fn broker_socket() -> Option<PathBuf> {
    // The broker's socket does not depend on HOME.
    let var = |key: &str| std::env::var_os(key).or_else(|| (key == "HOME").then(|| "/".into()));
    Paths::from_env(var)?.clippy_socket()
}

/// A globally unique name (CP-13): 128 random bits.
fn session_id() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Ends by the signal that ended the command, so that the parent process can see it (CP-22).
///
/// Returns the exit code that shells use for it if the signal does not end this process.
fn die_by(signal: i32) -> u8 {
    // The command has dumped its own core; ours would only replace it.
    let _limited = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    drop(emulate_default_handler(signal));
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
