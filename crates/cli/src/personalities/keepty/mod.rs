//! The command line of keepty, as its users and SDKs call it (KP-49 to KP-53).
//!
//! New sessions are created through our own daemon. Everything else uses the keepty protocol on the session's
//! socket, so it also works with a session of the original program.

mod broker;
mod connection;

use crate::args;
use crate::attach::stream_protocol::KeeptyStream;
use crate::attach::{self, AroundSession, AttachEnd, AttachOptions, KeyboardUse, Position, ReplayedOutput};
use crate::commands::report;
use crate::console::{eprint_line, print_text};
use crate::context::{self, Context};
use crate::control_client::means_no_listener;
use crate::error::{Failure, FailureKind, Outcome};
use crate::limits;
use crate::own_socket;
use crate::session;
use crate::terminal::detach::DetachKey;
use crate::terminal::size;
use clap::{Args, Parser, Subcommand};
use connection::KeeptyConnection;
use rustix::event::{Timespec, poll};
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Instant;
use swb_types::{Offset, SessionName, Size};
use swb_vt::printable;
use swb_wire::control::{Create, Kill, OkReply, Operation, Start};
use swb_wire::keepty::{KeeptyRole, Message};

/// The name of this program.
const PROGRAM: &str = "keepty";

/// TERM in every keepty session (KP-24).
const TERM: &str = "xterm-256color";

/// Keys that detach a Writer (KP-52).
const DETACH: &str = ",,,d";

/// Persistent terminal sessions.
#[derive(Debug, Parser)]
#[command(name = "keepty", version, disable_help_subcommand = true)]
struct KeeptyCli {
    #[command(subcommand)]
    command: KeeptyCommand,
}

#[derive(Debug, Subcommand)]
enum KeeptyCommand {
    /// Start a session, and attach to it if this is a terminal
    Start(StartArgs),
    /// Attach to a running session; ,,,d detaches
    Attach(AttachArgs),
    /// List sessions
    #[command(visible_alias = "ls")]
    List,
    /// Kill a session
    Stop {
        /// Session
        id: String,
    },
    /// Run a session in the foreground
    #[command(hide = true)]
    Broker(BrokerArgs),
}

#[derive(Debug, Args)]
struct StartArgs {
    /// Session
    id: String,
    /// Do not attach
    #[arg(short, long)]
    detach: bool,
    #[command(flatten)]
    what: What,
}

#[derive(Debug, Args)]
struct BrokerArgs {
    /// Session
    #[arg(long)]
    session_id: String,
    #[command(flatten)]
    what: What,
}

#[derive(Debug, Args)]
struct AttachArgs {
    /// Session
    id: String,
    /// Watch without input; Ctrl+C or q detaches
    #[arg(short, long)]
    watch: bool,
}

/// The command of a session, its directory and size.
#[derive(Debug, Args)]
struct What {
    /// Directory the command runs in [default: the current one]
    #[arg(long, value_name = "DIR")]
    working_dir: Option<PathBuf>,
    /// Columns of the terminal [default: those of this one]
    #[arg(long)]
    cols: Option<u16>,
    /// Rows of the terminal [default: those of this one]
    #[arg(long)]
    rows: Option<u16>,
    /// Command and its arguments [default: your shell]
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Runs as `keepty`.
pub(crate) fn main(args: Vec<OsString>) -> u8 {
    match args::parse::<KeeptyCli>("keepty", args, 1) {
        Ok(cli) => report(PROGRAM, dispatch(cli.command)),
        Err(code) => code,
    }
}

fn dispatch(command: KeeptyCommand) -> Outcome {
    let context = Context::from_env(PROGRAM, None, false)?;
    match command {
        KeeptyCommand::Start(args) => start(&context, args),
        KeeptyCommand::Attach(args) => attach(&context, &args.id, args.watch),
        KeeptyCommand::List => list(&context.paths.keepty_dir()),
        KeeptyCommand::Stop { id } => stop(&context, &id),
        KeeptyCommand::Broker(args) => broker::run(&context, args),
    }
}

/// KP-49. No process of ours keeps the caller's pipes open, so a caller can read them to their end.
fn start(context: &Context, args: StartArgs) -> Outcome {
    create(context, &args.id, args.what)?;
    print_text(&format!("Started session {}\n", args.id))?;
    if !args.detach && rustix::termios::isatty(rustix::stdio::stdin()) {
        return attach(context, &args.id, false);
    }
    Ok(0)
}

/// Creates the session; its socket exists when this returns.
fn create(context: &Context, id: &str, what: What) -> Result<(), Failure> {
    check_id(id)?;
    let running = || Failure::new(FailureKind::Exists, format!("Session '{id}' is already running"));
    // The original program may use the name without our daemon knowing it (KP-14).
    match own_socket::connect(&context.paths.keepty_socket(id)) {
        Ok(_) => return Err(running()),
        Err(error) if own_socket::is_foreign(&error) => return Err(Failure::general(error.to_string())),
        Err(_) => {}
    }
    let workspace = context::workspace(what.working_dir.as_deref())?;
    let argv = if what.command.is_empty() { vec![context::shell()] } else { what.command };
    let mut request = session::from_here(workspace, argv);
    request.env.get_or_insert_default().insert("TERM".to_owned(), TERM.to_owned());
    let created = session::create(
        context,
        Create {
            name: Some(id.to_owned()),
            cols: what.cols.filter(|cols| *cols > 0).or(request.cols),
            rows: what.rows.filter(|rows| *rows > 0).or(request.rows),
            start: Some(Start::Writer),
            require: vec!["keepty".to_owned()],
            // KP-24: nothing but TERM is changed.
            announce: false,
            ..request
        },
    );
    match created {
        Ok(_) => wait_for_socket(&context.paths.keepty_socket(id)),
        Err(failure) if failure.kind() == FailureKind::Exists => Err(running()),
        Err(failure) => Err(failure),
    }
}

/// Waits until SDKs can find the session (KP-49).
fn wait_for_socket(socket: &Path) -> Result<(), Failure> {
    let deadline = Instant::now() + limits::KEEPTY_SOCKET;
    while !socket.exists() {
        if Instant::now() >= deadline {
            return Err(Failure::general(format!("the session has no socket at {}", socket.display()))
                .hint("`swb status` shows why the keepty socket is missing"));
        }
        let pause = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        let _ = poll(&mut [], Some(&pause));
    }
    Ok(())
}

// KP-13
fn check_id(id: &str) -> Result<(), Failure> {
    SessionName::new(id)
        .map(drop)
        .map_err(|error| Failure::general(format!("'{id}' is not a valid session ID: {error}")))
}

/// KP-52.
fn attach(context: &Context, id: &str, watch: bool) -> Outcome {
    let size = size::current().unwrap_or(Size::DEFAULT);
    let role = if watch { KeeptyRole::Watcher } else { KeeptyRole::Writer };
    let (link, pid) = KeeptyConnection::open(context, id, role, size)?;
    let leave = if watch { "Ctrl+C or q detaches" } else { "Type ,,,d to detach" };
    eprint_line(format_args!("[Attached to {id}. {leave}.]"));
    let detach = DetachKey::parse(DETACH).map_err(|error| Failure::general(error.to_string()))?;
    let plan = AttachOptions {
        session: id.to_owned(),
        protocol: &KeeptyStream,
        socket: link.into_stream(),
        resume: None,
        position: Position::new(Offset(0), false),
        // KP-21, KP-30, KP-31: the first Writer and Watchers get no replay.
        old: if pid == 0 || watch { ReplayedOutput::Bytes(0) } else { ReplayedOutput::FirstFrame },
        keys: if watch { vec![DetachKey::plain('q'), DetachKey::ctrl('c')] } else { vec![detach] },
        keyboard: if watch { KeyboardUse::Leaves } else { KeyboardUse::Types },
        filter: None,
        size,
        notify: crate::attach::notification::TerminalNotifier::NONE,
        around: AroundSession::default(),
    };
    match attach::run(plan)? {
        AttachEnd::Exited(code) | AttachEnd::Killed(code) | AttachEnd::KeeperLost(code) => {
            eprint_line(format_args!("[Session exited with code {code}]"));
        }
        AttachEnd::Left => eprint_line(format_args!("[Detached from {id}]")),
        AttachEnd::Signalled(signal) => return Ok(AttachEnd::Signalled(signal).exit_code()),
        AttachEnd::Lost => {
            return Err(
                Failure::general("Session disconnected").hint(format!("`keepty attach {id}` attaches again"))
            );
        }
        AttachEnd::Complete
        | AttachEnd::Dismissed
        | AttachEnd::HungUp
        | AttachEnd::ListRequested { .. }
        | AttachEnd::Unread => {}
    }
    Ok(0)
}

/// KP-50.
fn stop(context: &Context, id: &str) -> Outcome {
    match KeeptyConnection::try_open(context, id, KeeptyRole::Monitor, Size::DEFAULT)? {
        Some((mut link, _)) => {
            link.send(&Message::Shutdown)?;
            link.settle();
        }
        // KP-19 leaves no place here, and the user has to be able to end a session.
        None => {
            let mut control = context.connect_if_running()?.ok_or_else(|| connection::full(id))?;
            let request = Kill { session: Some(id.to_owned()), all: false, force: false };
            let _: OkReply = control.request(&Operation::Kill(request))?;
        }
    }
    eprint_line(format_args!("Session '{id}' stopping"));
    Ok(0)
}

/// KP-51.
fn list(dir: &Path) -> Outcome {
    own_socket::check_dir(dir).map_err(|error| Failure::general(error.to_string()))?;
    let mut sessions: Vec<(String, bool)> = match std::fs::read_dir(dir) {
        Ok(entries) => entries
            .flatten()
            .filter_map(|entry| {
                let id = session_id(entry.file_name().to_str()?)?.to_owned();
                Some((id, is_alive(&entry.path())))
            })
            .collect(),
        Err(_) => Vec::new(),
    };
    if sessions.is_empty() {
        eprint_line(format_args!("No running sessions"));
        return Ok(0);
    }
    sessions.sort();
    let state = |alive| if alive { "running" } else { "stale" };
    let line = |(id, alive): &(String, bool)| format!("  {}  ({})\n", printable(id), state(*alive));
    print_text(&sessions.iter().map(line).collect::<String>())?;
    Ok(0)
}

fn session_id(file_name: &str) -> Option<&str> {
    file_name.strip_prefix("keepty-")?.strip_suffix(".sock")
}

fn is_alive(socket: &Path) -> bool {
    match UnixStream::connect(socket) {
        Ok(_) => true,
        Err(error) => !means_no_listener(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(args: &[&str]) -> KeeptyCommand {
        KeeptyCli::try_parse_from(args).unwrap().command
    }

    #[test]
    fn the_definition_is_sound() {
        KeeptyCli::command().debug_assert();
    }

    // KP-49: as the SDKs call it.
    #[test]
    fn start_accepts_the_arguments_of_sdks() {
        let KeeptyCommand::Start(args) =
            parse(&["keepty", "start", "s1", "--working-dir", "/w", "--", "bash -l"])
        else {
            panic!("not start")
        };
        assert_eq!((args.id.as_str(), args.detach), ("s1", false));
        assert_eq!(args.what.working_dir, Some("/w".into()));
        assert_eq!(args.what.command, ["bash -l"]);
        let KeeptyCommand::Start(args) =
            parse(&["keepty", "start", "-d", "s1", "--cols", "100", "--rows", "30"])
        else {
            panic!("not start")
        };
        assert!(args.detach && args.what.command.is_empty());
        assert_eq!((args.what.cols, args.what.rows), (Some(100), Some(30)));
    }

    #[test]
    fn the_other_verbs_parse() {
        assert!(matches!(parse(&["keepty", "ls"]), KeeptyCommand::List));
        assert!(matches!(parse(&["keepty", "list"]), KeeptyCommand::List));
        assert!(matches!(
            parse(&["keepty", "attach", "-w", "a"]),
            KeeptyCommand::Attach(AttachArgs { watch: true, .. })
        ));
        assert!(matches!(parse(&["keepty", "stop", "a"]), KeeptyCommand::Stop { .. }));
        let KeeptyCommand::Broker(args) =
            parse(&["keepty", "broker", "--session-id", "a", "--", "sh", "-c", "x"])
        else {
            panic!("not broker")
        };
        assert_eq!((args.session_id.as_str(), args.what.command.len()), ("a", 3));
    }

    // KP-13
    #[test]
    fn bad_ids_are_refused() {
        for id in ["", "..", "../x", "a/b"] {
            assert_eq!(check_id(id).unwrap_err().kind().exit_code(), 1, "{id:?}");
        }
        assert!(check_id("my session:1").is_ok());
    }

    #[test]
    fn socket_names_are_taken_apart() {
        assert_eq!(session_id("keepty-a.b.sock"), Some("a.b"));
        assert_eq!(session_id("other.sock"), None);
        assert_eq!(session_id("keepty-a"), None);
    }
}
