//! The daemon's wiring: configuration, keeper, fronts, signals, upgrade. No logic of sessions here.
//!
//! Order of a start: configuration, log, private directory, keeper, engine (which finds all sessions
//! again), conversations, fronts. Order of a stop: no new connections, every connection says goodbye in its dialect,
//! conversations are saved if they are to be, sessions are left to the keeper, sockets go away.

mod config;
mod conversations;
mod fronts;
mod host;
mod idle;
mod keeper;
mod limits;
mod log;
mod profiles;
mod run;
mod upgrade;

pub use config::{CliConfig, Config, ScriptschnellConfig};
pub use profiles::load as load_profiles;
pub use run::{Options, run};
pub use swb_backends::guard;
