//! `swb wrap`: a command on a terminal between the user and it, that nobody notices.
//!
//! All bytes go through unchanged, both ways ([`output`], [`keyboard`]). On the side, prompts are looked for
//! (`swb_turns::LineRules`), and completed turns go to a broker if there is one ([`registration`], [`broker_connection`]): our
//! daemon or any other that speaks the clippy dialect. `docs/protocols/clippy.md` has the rules.

mod broker_connection;
mod child;
mod keyboard;
mod output;
mod registration;
mod sys;
mod wrapper;

use crate::args::WrapArgs;
use crate::console::say;
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

/// Exit code when the command could not be started, as shells have it (CP-23).
const NOT_STARTED: u8 = 127;

/// Name of the variable that tells a command its session, if the user wants that (CP-12).
const SESSION_VARIABLE: &str = "CLIPPY_SESSION_ID";

/// Runs a command and ends as it does.
pub(crate) fn run(args: WrapArgs) -> Outcome {
    // Everything that can be refused is refused before the command starts (CT-1, CT-2).
    let pattern = Pattern::new(&args.pattern).map_err(|error| Failure::usage(error.to_string()))?;
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Failure::usage("no command"));
    };
    let session = session_id().map_err(|error| Failure::io("no randomness for a session id", &error))?;
    let env = args.env.then_some((SESSION_VARIABLE, session.as_str()));
    let child = match WrappedChild::start(program, rest, env) {
        Ok(child) => child,
        Err(error) => {
            say(format_args!("swb: cannot run {}: {error}", program.display()));
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

/// Where a broker listens, if it can (CB-1 to CB-3).
pub(crate) fn broker_socket() -> Option<PathBuf> {
    // A broker can be had without a home.
    let var = |key: &str| std::env::var_os(key).or_else(|| (key == "HOME").then(|| "/".into()));
    Paths::from_env(var)?.clippy_socket()
}

/// A name that no other session has or will have (CP-13): 128 random bits.
fn session_id() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Ends by the signal the command ended by, so that whoever started us can tell (CP-22).
///
/// Gives the exit code that shells have for it when the signal does not end us.
fn die_by(signal: i32) -> u8 {
    // The command has left a core if it was to; ours would only replace it.
    let _limited = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    drop(emulate_default_handler(signal));
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
