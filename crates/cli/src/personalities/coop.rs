//! The command line of coop.
//!
//! Uses our own control socket, which speaks the same protocol; the daemon reads from the Coopfiles which command a
//! session runs (CO-26).

use crate::args::{self as swb_args, parse_pty};
use crate::commands::{self, report};
use crate::context::{self, Context};
use crate::error::{Failure, FailureKind, Outcome};
use crate::session::{self, Target};
use crate::table;
use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use std::ffi::OsString;
use swb_types::PtyId;
use swb_wire::control::{
    Create, OkReply, Operation, PtyItem, PtyRole, Restart, RestartReply, SessionKill, SessionLs,
    SessionLsReply,
};

/// The name of this program.
const PROGRAM: &str = "coop";

/// Sessions of coding agents, one per workspace.
///
/// Without a command, attaches to the session of the current directory, or starts its agent.
#[derive(Debug, Parser)]
#[command(
    name = "coop",
    version,
    disable_help_subcommand = true,
    after_help = "\
Press Ctrl+] to detach from a session; it keeps running.

Exit codes: 0 success, 1 failure, 2 usage error, 3 no such session, 4 the daemon did not start."
)]
struct CoopCli {
    /// Print data as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<CoopCommand>,
}

#[derive(Debug, Subcommand)]
enum CoopCommand {
    /// Attach to a session
    Attach(PtyArgs),
    /// Open a shell in a session
    Shell(ShellArgs),
    /// List sessions
    #[command(visible_alias = "list")]
    Ls,
    /// Kill a session
    Kill(swb_args::KillArgs),
    /// Show the output of a session
    Logs(swb_args::LogsArgs),
    /// Restart the agent of a session
    Restart(PtyArgs),
    /// List and kill the terminals of one session
    #[command(subcommand)]
    Session(SessionCommand),
    /// Show the status of the daemon
    Status,
    /// Stop the daemon; sessions keep running
    Shutdown,
    /// Serve sessions to browsers
    Serve(swb_args::ServeArgs),
    /// Reach sessions from anywhere, without a server in between
    Tunnel(swb_args::TunnelArgs),
}

#[derive(Debug, Args)]
struct ShellArgs {
    /// Session or workspace [default: that of this directory]
    session: Option<String>,
    /// Open another shell even if one is open
    #[arg(long)]
    new: bool,
    /// Program to run
    #[arg(long, default_value = "/bin/sh")]
    command: String,
}

#[derive(Debug, Args)]
struct PtyArgs {
    /// Session or workspace [default: that of this directory]
    session: Option<String>,
    /// Terminal of the session: 0 is the agent, the others are shells
    #[arg(long, default_value = "0", value_parser = parse_pty)]
    pty: PtyId,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    /// List the terminals of a session
    Ls {
        /// Session or workspace [default: that of this directory]
        session: Option<String>,
    },
    /// Kill one terminal of a session
    Kill {
        /// Terminal of the session: 0 is the agent, the others are shells
        #[arg(value_parser = parse_pty)]
        pty: PtyId,
        /// Session or workspace [default: that of this directory]
        #[arg(short, long)]
        session: Option<String>,
    },
}

/// The output of `session ls --json`.
#[derive(Debug, Serialize)]
struct Terminals {
    session: String,
    ptys: Vec<PtyItem>,
}

/// The output of `restart --json`.
#[derive(Debug, Serialize)]
struct Restarted {
    session: String,
    pty: PtyId,
    pid: u32,
}

/// The output of `session kill --json`.
#[derive(Debug, Serialize)]
struct KilledJson {
    session: String,
    pty: PtyId,
}

/// Runs as `coop`.
pub(crate) fn main(args: Vec<OsString>) -> u8 {
    match swb_args::parse::<CoopCli>("coop", args, 2) {
        Ok(cli) => report(PROGRAM, dispatch(cli)),
        Err(code) => code,
    }
}

fn dispatch(cli: CoopCli) -> Outcome {
    let context = Context::from_env(PROGRAM, None, cli.json)?;
    match cli.command {
        None => create_or_attach(&context),
        Some(CoopCommand::Attach(args)) => {
            session::go(&context, &Target { pty: args.pty, ..Target::existing(named(args.session)?) })
        }
        Some(CoopCommand::Shell(args)) => {
            let target = Target::existing(named(args.session)?);
            session::open_shell(&context, target, vec![args.command], Some(args.new))
        }
        Some(CoopCommand::Ls) => commands::ls::run(
            &context,
            &swb_args::LsArgs { running: true, all: false, watch: false, via: None },
        ),
        Some(CoopCommand::Kill(args)) => commands::kill::run(&context, &args),
        Some(CoopCommand::Logs(args)) => {
            let name = Some(named(args.name)?);
            commands::logs::run(&context, swb_args::LogsArgs { name, ..args })
        }
        Some(CoopCommand::Restart(args)) => restart(&context, args),
        Some(CoopCommand::Session(SessionCommand::Ls { session })) => list_terminals(&context, session),
        Some(CoopCommand::Session(SessionCommand::Kill { pty, session })) => {
            kill_terminal(&context, session, pty)
        }
        Some(CoopCommand::Status) => commands::status::run(&context),
        Some(CoopCommand::Shutdown) => {
            commands::shutdown::run(&context, &swb_args::ShutdownArgs { kill: false })
        }
        Some(CoopCommand::Serve(args)) => commands::serve::run(&context, args),
        Some(CoopCommand::Tunnel(args)) => commands::tunnel::run(&context, args),
    }
}

/// The given name, or the current directory: a path stands for the session of that workspace (CO-30).
fn named(session: Option<String>) -> Result<String, Failure> {
    session.map_or_else(|| context::workspace(None), Ok)
}

fn create_or_attach(context: &Context) -> Outcome {
    let workspace = context::workspace(None)?;
    // The Coopfiles name the command; the environment, umask and size are ours.
    let request = Create { argv: None, detach: Some(false), ..session::from_here(workspace, Vec::new()) };
    match session::create_and_go(context, request, None) {
        // CO-21, CO-22: the reply names the existing session.
        Err(failure) if failure.kind() == FailureKind::Exists => match failure.existing() {
            Some(existing) => session::go(context, &Target::existing(existing.to_owned())),
            None => Err(failure),
        },
        outcome => outcome,
    }
}

fn restart(context: &Context, args: PtyArgs) -> Outcome {
    let session = named(args.session)?;
    let reply: RestartReply =
        context.execute(&Operation::Restart(Restart { session: session.clone(), pty: Some(args.pty) }))?;
    context.print_result(&Restarted { session, pty: reply.pty, pid: reply.pid }, |restarted| {
        format!("Restarted {} (pid {})\n", restarted.session, restarted.pid)
    })?;
    Ok(0)
}

fn list_terminals(context: &Context, session: Option<String>) -> Outcome {
    let reply: SessionLsReply =
        context.query(&Operation::SessionLs(SessionLs { session: named(session)? }))?;
    context.print_result(&Terminals { session: reply.session, ptys: reply.ptys }, |terminals| {
        text(&terminals.ptys)
    })?;
    Ok(0)
}

fn kill_terminal(context: &Context, session: Option<String>, pty: PtyId) -> Outcome {
    let session = named(session)?;
    let _: OkReply =
        context.execute(&Operation::SessionKill(SessionKill { session: session.clone(), pty }))?;
    context.print_result(&KilledJson { session, pty }, |killed| {
        format!("Killed terminal {} of {}\n", killed.pty, killed.session)
    })?;
    Ok(0)
}

fn text(ptys: &[PtyItem]) -> String {
    let role = |pty: &PtyItem| match pty.role {
        PtyRole::Agent => "agent".to_owned(),
        PtyRole::Shell => "shell".to_owned(),
    };
    let pid = |pty: &PtyItem| pty.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
    let rows: Vec<[String; 4]> =
        ptys.iter().map(|pty| [pty.id.to_string(), role(pty), pid(pty), pty.command.clone()]).collect();
    table::layout(["PTY", "ROLE", "PID", "COMMAND"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        CoopCli::command().debug_assert();
    }

    #[test]
    fn terminals_are_listed() {
        let ptys = [
            PtyItem { id: PtyId(0), role: PtyRole::Agent, command: "claude".into(), pid: Some(7) },
            PtyItem { id: PtyId(2), role: PtyRole::Shell, command: "/bin/sh".into(), pid: None },
        ];
        insta::assert_snapshot!(text(&ptys), @r"
        PTY  ROLE   PID  COMMAND
        0    agent  7    claude
        2    shell  -    /bin/sh
        ");
    }

    #[test]
    fn verbs_parse() {
        for args in [
            &["coop"][..],
            &["coop", "attach"],
            &["coop", "attach", "a", "--pty", "1"],
            &["coop", "shell", "a", "--new"],
            &["coop", "kill", "--all", "--force"],
            &["coop", "logs", "a", "-f"],
            &["coop", "session", "ls"],
            &["coop", "session", "kill", "2", "-s", "a"],
            &["coop", "restart", "a"],
            &["coop", "status", "--json"],
            &["coop", "shutdown"],
        ] {
            assert!(CoopCli::try_parse_from(args).is_ok(), "{args:?}");
        }
    }
}
