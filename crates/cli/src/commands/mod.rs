//! The commands of `swb`, one file each.

pub(crate) mod approvals;
mod ask;
mod attach;
mod capture;
mod chat;
mod completions;
mod daemon;
mod detect;
mod doctor;
mod events;
mod explain;
mod here;
mod history;
mod hook;
mod init;
mod integration;
mod keys;
pub(crate) mod kill;
pub(crate) mod logs;
pub(crate) mod ls;
mod man;
mod notify;
mod paste;
mod record;
mod relay;
mod rendezvous;
mod replay;
mod run;
mod screen;
mod send;
pub(crate) mod serve;
mod shell;
pub(crate) mod shutdown;
pub(crate) mod status;
mod token;
mod trust;
pub(crate) mod tunnel;
pub(crate) mod turn;
mod turns;
mod upgrade;
pub(crate) mod wait;
mod workspace;

use crate::args::{self, SwbCli, SwbCommand};
use crate::completion;
use crate::console::eprint_text;
use crate::context::Context;
use crate::error::Outcome;
use crate::via::reach;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs as `swb`.
pub(crate) fn main(args: Vec<OsString>) -> u8 {
    if let Some(code) = completion::run(&args) {
        return code;
    }
    match args::parse::<SwbCli>("swb", args, 2) {
        Ok(cli) => report("swb", dispatch(cli)),
        Err(code) => code,
    }
}

/// Runs as the keeper; its arguments are private to our own processes.
pub(crate) fn keeper(args: impl Iterator<Item = OsString>) -> ExitCode {
    let code = swb_keeper::run(args);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Prints a failure and returns the exit code.
pub(crate) fn report(program: &str, outcome: Outcome) -> u8 {
    outcome.unwrap_or_else(|failure| {
        eprint_text(&failure.render(program));
        failure.kind().exit_code()
    })
}

fn dispatch(cli: SwbCli) -> Outcome {
    let context = || Context::from_env("swb", cli.config.clone(), cli.json);
    match cli.command {
        None => here::run(&context()?),
        Some(SwbCommand::Run(args)) => run::run(&context()?, args),
        Some(SwbCommand::Attach(args)) => attach::run(&*reach(context()?, args.via.as_deref())?, args),
        Some(SwbCommand::Shell(args)) => shell::run(&context()?, args),
        Some(SwbCommand::Ls(args)) => ls::run(&*reach(context()?, args.via.as_deref())?, &args),
        Some(SwbCommand::Top(args)) => crate::top::run(&*reach(context()?, args.via.as_deref())?),
        Some(SwbCommand::Kill(args)) => kill::run(&context()?, &args),
        Some(SwbCommand::Send(args)) => send::run(&context()?, args),
        Some(SwbCommand::Keys(args)) => keys::run(&context()?, args),
        Some(SwbCommand::Logs(args)) => logs::run(&context()?, args),
        Some(SwbCommand::Screen(args)) => screen::run(&*reach(context()?, args.via.as_deref())?, args),
        Some(SwbCommand::Wait(args)) => wait::run(&context()?, args),
        Some(SwbCommand::Ask(args)) => ask::run(&*reach(context()?, args.via.as_deref())?, args),
        Some(SwbCommand::Chat(args)) => chat::run(&context()?, &args),
        Some(SwbCommand::Turns(args)) => turns::run(&context()?, args),
        Some(SwbCommand::Turn(args)) => turn::run(&context()?, &args),
        Some(SwbCommand::Relay(args)) => relay::run(&context()?, args),
        Some(SwbCommand::Capture(args)) => capture::run(&context()?, &args),
        Some(SwbCommand::Paste(args)) => paste::run(&context()?, args),
        Some(SwbCommand::Explain(args)) => explain::run(&context()?, args),
        Some(SwbCommand::Events(args)) => events::run(&context()?, args),
        Some(SwbCommand::Notify(args)) => notify::run(&context()?, args),
        Some(SwbCommand::Hook(args)) => Ok(hook::run(&args)),
        Some(SwbCommand::Integration(args)) => integration::run(&context()?, args),
        Some(SwbCommand::Approvals(args)) => approvals::run(&context()?, args),
        Some(SwbCommand::History(args)) => history::run(&context()?, args),
        Some(SwbCommand::Workspace(args)) => workspace::run(&context()?, args),
        Some(SwbCommand::Serve(args)) => serve::run(&context()?, args),
        Some(SwbCommand::Token(args)) => token::run(&context()?, args),
        Some(SwbCommand::Tunnel(args)) => tunnel::run(&context()?, args),
        Some(SwbCommand::Rendezvous(args)) => rendezvous::run(cli.json, &args),
        Some(SwbCommand::Trust(args)) => trust::run(&context()?, args),
        Some(SwbCommand::Record(args)) => record::run(&context()?, args),
        Some(SwbCommand::Replay(args)) => replay::run(&args),
        Some(SwbCommand::Wrap(args)) => crate::wrap::run(args),
        Some(SwbCommand::Hotkey(args)) => crate::hotkey::run(&args),
        Some(SwbCommand::Clippyctl(command)) => {
            Ok(report("clippyctl", crate::personalities::clippyctl::run(&command, cli.json)))
        }
        Some(SwbCommand::Detect(args)) => detect::run(cli.json, &args),
        Some(SwbCommand::Status) => status::run(&context()?),
        Some(SwbCommand::Daemon(args)) => daemon::run(cli.config, &args),
        Some(SwbCommand::Shutdown(args)) => shutdown::run(&context()?, &args),
        Some(SwbCommand::Upgrade(args)) => upgrade::run(&context()?, args),
        Some(SwbCommand::Doctor(_)) => doctor::run(&context()?),
        Some(SwbCommand::Init(args)) => init::run(&args),
        Some(SwbCommand::Completions(args)) => completions::run(&args),
        Some(SwbCommand::Man(args)) => man::run(&args),
    }
}
