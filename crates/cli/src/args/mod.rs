//! The arguments of `swb`.

mod approvals;
mod chat;
mod detect;
mod history;
mod hotkey;
mod integration;
mod notify;
mod recording;
mod screen;
mod start;
mod top;
mod trust;
mod tunnel;
mod turns;
mod web;
mod workspace;
mod wrap;

pub(crate) use approvals::{ApprovalsArgs, ApprovalsCommand};
pub(crate) use chat::ChatArgs;
pub(crate) use detect::DetectArgs;
pub(crate) use history::{ExportFormat, HistoryArgs, HistoryCommand, HistoryScope};
pub(crate) use hotkey::HotkeyArgs;
pub(crate) use integration::{AgentName, ChangeArgs, IntegrationArgs, IntegrationCommand};
pub(crate) use notify::{NotifyArgs, NotifyCommand};
pub(crate) use recording::{RecordArgs, ReplayArgs};
pub(crate) use screen::{KeysArgs, ScreenArgs, WaitArgs};
pub(crate) use start::{DoctorArgs, InitArgs, InitShell};
pub(crate) use top::TopArgs;
pub(crate) use trust::TrustArgs;
pub(crate) use tunnel::{RendezvousArgs, TunnelArgs, TunnelCommand};
pub(crate) use turns::{
    AskArgs, CaptureArgs, EventsArgs, ExplainArgs, HookArgs, HookState, PasteArgs, RelayArgs, TimeLimit,
    TurnArgs, TurnsArgs, UntilState,
};
pub(crate) use web::{ServeArgs, TokenArgs, TokenCommand, WEB_PORT};
pub(crate) use workspace::{WorkspaceArgs, WorkspaceCommand};
pub(crate) use wrap::WrapArgs;

use crate::console::{eprint_text, print_text};
use crate::help;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use swb_types::{PtyId, Size};

/// The text below the options in `swb --help`.
const AFTER_HELP: &str = "\
Examples:
  swb                          attach to this directory's session, or start one with your shell
  swb top                      all sessions on a full screen, with keys to work with them
  swb run -n api -- claude     run an agent in a session named 'api'
  swb run -d -- make watch     run a command in the background
  swb attach api               attach to session 'api', from any terminal
  swb send api 'run the tests' --enter
  swb ask api 'what does main.rs do?'   wait for the answer and print it
  swb relay api review --submit         send the answer to another agent
  swb chat                     chat with an agent in this directory
  swb ls                       list sessions

Wherever a session is named, the beginning of its name is enough if no other session's name begins so; `kill` needs the
whole name.

Press Ctrl+] to detach from a session; it keeps running. Closing the window does the same. Ctrl+] then s opens the list of
sessions, Ctrl+] then ? shows the keys, and Ctrl+] twice types it into the session.

Exit codes:
  0    success
  1    failure; for `status`, also that no daemon is running
  2    usage error
  3    no such session
  4    the daemon did not start
  5    the agent is waiting for an answer
  124  `wait` or `ask` timed out
  130  Ctrl+C stopped the answer in `chat`
`run`, `attach` and `shell` exit with the exit code of the command they show, with 128+N if signal N ended it, and with 0 if
you detach.

Every command except `status`, `shutdown`, `replay`, `detect`, `trust`, `hook`, `integration`, `hotkey`, `doctor`, `init`,
`completions` and `man` starts the daemon if none is running.

Environment:
  HOME               required; default paths are below it
  XDG_RUNTIME_DIR    directory of the sockets, if set
  XDG_CONFIG_HOME    directory of switchboard/config.toml [default: ~/.config]
  SHELL              command of a session that is started without one
  SWB_SESSION        set for the command of a session: the session's name
  SWB_CONNECTION     set for commands of an agent that may use swb: descriptor of its connection";

/// Place of the options that every command has: below its own.
const COMMON: usize = 900;

/// Keeps the terminals of coding agents alive and lets any client reach them.
///
/// Without a command, attaches to the session of the current directory, or starts one with your shell; lets you choose if
/// several run there.
#[derive(Debug, Parser)]
#[command(name = "swb", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
pub(crate) struct SwbCli {
    /// Configuration file to use instead of $XDG_CONFIG_HOME/switchboard/config.toml
    #[arg(long, global = true, value_name = "FILE", display_order = COMMON)]
    pub(crate) config: Option<PathBuf>,

    /// Print data as JSON
    #[arg(long, global = true, display_order = COMMON)]
    pub(crate) json: bool,

    /// Command
    #[command(subcommand)]
    pub(crate) command: Option<SwbCommand>,
}

/// The commands of `swb`. The arguments of a command are defined when it is the one that was given: the definitions of all
/// commands take longer than most of them. What describes a command stands here: clap would prefer a description of the
/// arguments, which is why these have comments that it does not read.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SwbCommand {
    /// Run a command in a new session
    Run(RunArgs),
    /// Attach to a running session
    Attach(AttachArgs),
    /// Open another shell in a session
    Shell(ShellArgs),
    /// List sessions
    #[command(visible_alias = "list")]
    Ls(LsArgs),
    /// Show the sessions on a full screen, with keys to work with them
    Top(TopArgs),
    /// Kill sessions
    Kill(KillArgs),
    /// Type text into a session without attaching
    Send(SendArgs),
    /// Press keys in a session without attaching
    Keys(KeysArgs),
    /// Show the output of a session
    Logs(LogsArgs),
    /// Show the screen of a session
    Screen(ScreenArgs),
    /// Wait for a text on a session's screen, for a state of its agent, or for its end
    Wait(WaitArgs),
    /// Ask an agent a question and print its answer
    Ask(AskArgs),
    /// Chat with an agent
    Chat(ChatArgs),
    /// List the turns of an agent
    Turns(TurnsArgs),
    /// Show one turn of an agent
    Turn(TurnArgs),
    /// Type a turn of one session into another
    Relay(RelayArgs),
    /// Copy a turn to the relay buffer
    Capture(CaptureArgs),
    /// Type the relay buffer into a session
    Paste(PasteArgs),
    /// Show an agent's state and the evidence for it
    Explain(ExplainArgs),
    /// Print the events of sessions as they occur
    Events(EventsArgs),
    /// Notify you when an agent asks, finishes or ends
    Notify(NotifyArgs),
    /// Report the state of the agent of this session; for hooks of agents
    Hook(HookArgs),
    /// Let agents report their state through their own hooks
    Integration(IntegrationArgs),
    /// List pending approvals, and approve or deny them
    Approvals(ApprovalsArgs),
    /// List, search, show, export and delete conversations
    History(HistoryArgs),
    /// List, add and create workspaces
    Workspace(WorkspaceArgs),
    /// Serve sessions to browsers
    Serve(ServeArgs),
    /// List, create and revoke tokens for clients elsewhere
    Token(TokenArgs),
    /// Reach sessions from anywhere, without a server in between
    Tunnel(TunnelArgs),
    /// Forward sealed offers and answers of tunnels between other machines
    Rendezvous(RendezvousArgs),
    /// Approve what a directory's coop.toml runs
    Trust(TrustArgs),
    /// Record a session to a file
    Record(RecordArgs),
    /// Play a recording
    Replay(ReplayArgs),
    /// Run a command on this terminal and report its turns to a broker
    Wrap(WrapArgs),
    /// Capture and paste turns with keys that work in every window
    Hotkey(HotkeyArgs),
    /// Get turns from a clippy broker and move them between sessions
    #[command(subcommand)]
    Clippyctl(crate::personalities::clippyctl::ClippyctlCommand),
    /// Find the turns in a recording of a terminal session
    Detect(DetectArgs),
    /// Show the status of the daemon
    ///
    /// Exits with 1 if no daemon is running; does not start one.
    Status,
    /// Run the daemon in the foreground
    ///
    /// It logs to standard error, is ready when its sockets exist, and exits with 0 on SIGTERM or SIGINT. It uses sockets
    /// that systemd passes, and reports to systemd when it is ready.
    /// Sessions keep running and are available again when it restarts.
    Daemon(DaemonArgs),
    /// Stop the daemon; sessions keep running unless --kill is given
    Shutdown(ShutdownArgs),
    /// Replace the running daemon with this program while sessions keep running
    Upgrade(UpgradeArgs),
    /// Check this machine, and show what to do about each problem
    Doctor(DoctorArgs),
    /// Print the integration for your shell: completion, prompt marks, working directory
    Init(InitArgs),
    /// Print a completion script
    Completions(CompletionsArgs),
    /// Show a manual page
    Man(ManArgs),
}

// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb run -- claude                  session named after the directory
  swb run -n api -w ~/src/api -- codex --full-auto
  swb run -d -n build -- make -j8    in the background
  swb run -d --json -- make | jq -r .session

The command gets your environment, file mode mask and TERM. Its terminal has the size of yours; with --detach it has
120 columns and 40 rows until you attach.")]
pub(crate) struct RunArgs {
    /// Name of the session: letters, digits, '.', '_' and '-' [default: the directory's name]
    #[arg(short, long)]
    pub(crate) name: Option<String>,
    /// Start the session in the background and print its name
    #[arg(short, long)]
    pub(crate) detach: bool,
    /// Size of the terminal of a session in the background, such as 80x24 [default: 120x40]
    #[arg(long, value_name = "COLSxROWS", requires = "detach", value_parser = parse_size)]
    pub(crate) size: Option<Size>,
    /// Directory to run in [default: the current one]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Detection profile [default: the one for its command]
    #[arg(long, value_name = "P")]
    pub(crate) profile: Option<String>,
    /// Hide the session from the clients of this dialect; may be repeated
    #[arg(long, value_name = "DIALECT", value_parser = ["clippy", "coop", "keepty"])]
    pub(crate) hide: Vec<String>,
    /// Key that detaches, such as C-] or C-a; `none` for no key
    #[arg(long, value_name = "KEY")]
    pub(crate) detach_key: Option<String>,
    /// Command and its arguments [default: your shell]
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

// Arguments of `attach`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb attach                 this directory's session
  swb attach api             the session named 'api'
  swb attach api --watch     watch without input; q or Ctrl+C detaches
  swb attach api --pty 1     the first shell opened in it

Of several attached terminals, the one in which you type has the size ([screen] window_size in the
configuration); another one shows the part of the screen that fits.

Reconnects when the daemon restarts. Exits with the exit code of the session's command, or reports why
it ended: detached, session killed, daemon shut down or keeper lost.")]
pub(crate) struct AttachArgs {
    /// Session [default: that of this directory]
    pub(crate) name: Option<String>,
    /// Reach another machine through the tunnel that `swb tunnel` opened there
    #[arg(long, value_name = "URL")]
    pub(crate) via: Option<String>,
    /// Watch: send no input and do not resize the terminal
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Terminal of the session: 0 is its command, the others are shells
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_pty)]
    pub(crate) pty: PtyId,
    /// Restore only the screen, not the scrollback
    #[arg(long)]
    pub(crate) no_scrollback: bool,
    /// Key that detaches, such as C-] or C-a; `none` for no key
    #[arg(long, value_name = "KEY")]
    pub(crate) detach_key: Option<String>,
}

// Arguments of `shell`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb shell api              a shell beside the command of 'api'
  swb shell api -- htop      another program instead")]
pub(crate) struct ShellArgs {
    /// Session [default: that of this directory]
    pub(crate) name: Option<String>,
    /// Key that detaches, such as C-] or C-a; `none` for no key
    #[arg(long, value_name = "KEY")]
    pub(crate) detach_key: Option<String>,
    /// Command and its arguments [default: your shell]
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

// Arguments of `ls`.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  swb ls
  swb ls --watch             keep the list up to date until Ctrl+C
  swb ls --json | jq -r '.[] | select(.agent.state == \"asking\") | .name'

Sessions that have ended stay listed for a while below the others, with their exit code; `swb kill` removes one. On a
terminal, the list fits its width.")]
pub(crate) struct LsArgs {
    /// List only running sessions
    #[arg(long, conflicts_with = "all")]
    pub(crate) running: bool,
    /// List all sessions that have ended, too, not only the last five
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Keep the list up to date until Ctrl+C; with --json, print one list per change
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Reach another machine through the tunnel that `swb tunnel` opened there
    #[arg(long, value_name = "URL")]
    pub(crate) via: Option<String>,
}

// Arguments of `kill`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb kill api build
  swb kill --all
  swb kill -f stuck

Sends SIGTERM, waits up to 5 seconds, then sends SIGKILL. Unlike other commands, it takes whole names only.")]
pub(crate) struct KillArgs {
    /// Sessions
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) names: Vec<String>,
    /// Every session
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Send SIGKILL at once
    #[arg(short, long)]
    pub(crate) force: bool,
}

// Arguments of `send`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb send api 'run the tests' --enter
  printf '\\003' | swb send api -        presses Ctrl+C
  swb send api - < prompt.txt

Returns when every byte is written to the session's terminal.")]
pub(crate) struct SendArgs {
    /// Session
    pub(crate) name: String,
    /// Text to type; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Press Enter afterwards
    #[arg(short, long)]
    pub(crate) enter: bool,
    /// Terminal of the session: 0 is its command, the others are shells
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_pty)]
    pub(crate) pty: PtyId,
}

// Arguments of `logs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb logs api
  swb logs api --tail 50 --follow
  swb logs api --raw | less -R

Shows the last megabyte of output. On a terminal, escape sequences are removed, except those for colours and styles;
otherwise the output is as the program wrote it.")]
pub(crate) struct LogsArgs {
    /// Session [default: that of this directory]
    pub(crate) name: Option<String>,
    /// Terminal of the session: 0 is its command, the others are shells
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_pty)]
    pub(crate) pty: PtyId,
    /// Keep printing output as the session writes it
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only the last N lines
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) tail: Option<usize>,
    /// Print the bytes as the program wrote them, also on a terminal
    #[arg(long)]
    pub(crate) raw: bool,
}

// Arguments of `daemon`.
#[derive(Debug, Args)]
pub(crate) struct DaemonArgs {
    /// Exit when idle; set when another command starts the daemon
    #[arg(long, hide = true)]
    pub(crate) auto: bool,
    /// Leave restarts after a crash to the service manager that runs this command, as swb.service does
    #[arg(long)]
    pub(crate) supervised: bool,
}

// Arguments of `shutdown`.
#[derive(Debug, Args)]
pub(crate) struct ShutdownArgs {
    /// Kill all sessions first
    #[arg(long)]
    pub(crate) kill: bool,
}

// Arguments of `upgrade`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb upgrade                        after a new swb has been installed
  swb upgrade --exe ./target/release/swb
  swb upgrade --keeper               also replace the process that holds the terminals

Sessions are not affected; attached terminals reconnect by themselves.")]
pub(crate) struct UpgradeArgs {
    /// Program to run from now on [default: this one]
    #[arg(long, value_name = "PATH")]
    pub(crate) exe: Option<PathBuf>,
    /// Replace the keeper first
    #[arg(long)]
    pub(crate) keeper: bool,
}

// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb completions bash > ~/.local/share/bash-completion/completions/swb
  swb completions zsh > ~/.zfunc/_swb
  swb completions fish > ~/.config/fish/completions/swb.fish

The scripts ask the running daemon for the names of sessions, agents, workspaces and the like at each Tab. They start no
daemon, and wait half a second at most.")]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    pub(crate) shell: clap_complete::Shell,
}

// Arguments of `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb man                    the page of swb
  swb man token add          the page of one command
  swb man run > swb-run.1    in roff, as man(1) reads it
  swb man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Command [default: swb itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write one page per command to this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

/// Parses the number of a terminal.
pub(crate) fn parse_size(text: &str) -> Result<Size, String> {
    let sides = text.split_once(['x', 'X', '×']);
    let numbers = sides.and_then(|(cols, rows)| Some((cols.parse().ok()?, rows.parse().ok()?)));
    numbers
        .and_then(|(cols, rows)| Size::new(cols, rows))
        .ok_or_else(|| format!("not a size such as 80x24, with 1 to {} columns and rows", u16::MAX))
}

pub(crate) fn parse_pty(text: &str) -> Result<PtyId, std::num::ParseIntError> {
    text.parse().map(PtyId)
}

/// Parses the arguments of a program. Prints a usage error, which begins with the program's name as all errors do, and
/// returns its exit code.
pub(crate) fn parse<P: Parser>(program: &str, args: Vec<OsString>, usage_code: u8) -> Result<P, u8> {
    // clap quotes arguments as they are, between colours of its own.
    let acting = args.iter().any(|arg| arg.to_string_lossy().contains(swb_vt::acts));
    P::try_parse_from(&args).map_err(|error| {
        // The help of other names is that of the programs which have them.
        let error = match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                if program == "swb" =>
            {
                help::fitted(P::command()).try_get_matches_from(&args).err().unwrap_or(error)
            }
            _ => error,
        };
        // clap returns help and version as errors, too. If printing fails, there is nowhere to report it.
        let text = || error.render().to_string();
        match (error.use_stderr(), acting) {
            (true, _) => {
                let text = text();
                // Help that is printed because the command is missing is no error message.
                let named = text.strip_prefix("error: ").map(|message| format!("{program}: {message}"));
                eprint_text(&named.unwrap_or(text));
                return usage_code;
            }
            (false, true) => drop(print_text(&text())),
            (false, false) => drop(error.print()),
        }
        0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn command(args: &[&str]) -> SwbCommand {
        SwbCli::try_parse_from(args).unwrap().command.unwrap()
    }

    #[test]
    fn the_definition_is_sound() {
        SwbCli::command().debug_assert();
    }

    #[test]
    fn commands_are_described_by_what_they_do() {
        let program = crate::manual::built(SwbCli::command());
        for command in program.get_subcommands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            assert!(!about.is_empty() && !about.contains(&format!("`{name}`")), "{name}: {about}");
        }
    }

    #[test]
    fn a_command_keeps_its_own_options() {
        for args in [
            &["swb", "run", "-d", "--", "ls", "-l", "--json"][..],
            &["swb", "run", "-d", "ls", "-l", "--json"],
        ] {
            let SwbCommand::Run(run) = command(args) else { panic!("not run") };
            assert!(run.detach);
            assert_eq!(run.command, ["ls", "-l", "--json"]);
        }
        let SwbCommand::Shell(shell) = command(&["swb", "shell", "api", "--", "htop", "-d"]) else {
            panic!("not shell")
        };
        assert_eq!((shell.name.as_deref(), shell.command.len()), (Some("api"), 2));
        let SwbCommand::Shell(shell) = command(&["swb", "shell", "--", "htop"]) else { panic!("not shell") };
        assert_eq!((shell.name, shell.command.len()), (None, 1));
    }

    #[test]
    fn global_options_may_stand_anywhere() {
        for args in [["swb", "--json", "ls"], ["swb", "ls", "--json"]] {
            assert!(SwbCli::try_parse_from(args).unwrap().json);
        }
        let cli = SwbCli::try_parse_from(["swb", "daemon", "--config", "/c", "--auto"]).unwrap();
        assert_eq!(cli.config, Some("/c".into()));
    }

    #[test]
    fn kill_needs_names_or_all() {
        assert!(SwbCli::try_parse_from(["swb", "kill"]).is_err());
        assert!(SwbCli::try_parse_from(["swb", "kill", "a", "--all"]).is_err());
        assert!(SwbCli::try_parse_from(["swb", "kill", "a", "b", "-f"]).is_ok());
    }

    #[test]
    fn text_may_look_like_an_option() {
        let SwbCommand::Send(send) = command(&["swb", "send", "a", "-x", "--enter"]) else {
            panic!("not send")
        };
        assert_eq!((send.text.as_str(), send.enter), ("-x", true));
        let SwbCommand::Send(send) = command(&["swb", "send", "a", "-"]) else { panic!("not send") };
        assert_eq!(send.text, "-");
    }
}
