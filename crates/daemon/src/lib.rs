//! The daemon's wiring: configuration, keeper, fronts, signals, upgrade. Sessions are the engine's.
//!
//! Startup order: configuration, log, private directory, keeper, engine (which recovers all sessions),
//! conversations, fronts. Shutdown order: new connections are rejected, each open connection is closed as its
//! dialect demands, conversations are saved if configured, sessions are left to the keeper, sockets are removed.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests have threads of their own"))]

mod agent_connections;
mod config;
mod conversations;
pub mod desktop;
mod fronts;
mod host;
mod idle;
mod keeper;
mod limits;
mod log;
mod login;
mod notify;
mod place_record;
mod profiles;
mod run;
mod service_manager;
mod sys;
mod timed_command;
mod tunnel;
mod upgrade;
mod web;

pub use config::{CliConfig, Config, ScriptschnellConfig};
pub use login::{LoginRules, login_rules, unit_of};
pub use profiles::load as load_profiles;
pub use run::{Options, run};
pub use swb_backends::guard;
pub use swb_operations::trust;
pub use swb_web::rendezvous;
pub use timed_command::output_within;
