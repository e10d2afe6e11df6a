//! The arguments of the commands about the turns and the state of agents.

use super::screen::parse_seconds;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

// Arguments of `turns`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb turns api
  swb turns api --json | jq -r '.[0].turn_id'

A turn is an input to an agent and its answer, up to where the agent is ready again. The newest come first.")]
pub(crate) struct TurnsArgs {
    /// Session [default: that of this directory]
    pub(crate) name: Option<String>,
    /// Only the newest N
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
}

// Arguments of `turn`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb turn api               the text of the latest answer in 'api'
  swb turn api:3             the text of the third
  swb turn api:3 --raw       as the program wrote it, escape sequences included
  swb turn api --json        with times, offsets and the signal that marked its end")]
pub(crate) struct TurnArgs {
    /// Turn, such as api:3; or a session, for its latest turn
    pub(crate) id: String,
    /// Print the bytes as the program wrote them
    #[arg(long, group = "form")]
    pub(crate) raw: bool,
    /// Print the text as it was on the screen (the default)
    #[arg(long, group = "form")]
    pub(crate) text: bool,
}

// Arguments of `capture`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb capture api && swb paste review
  swb capture api:3

There is one buffer, shared with clippy's clients. It holds the raw bytes of the turn: when clippy's clients paste them,
line breaks and escape sequences act as keys. `swb paste` types the text instead.")]
pub(crate) struct CaptureArgs {
    /// Session, for its latest turn; or the id of a turn, such as api:3
    pub(crate) id: String,
}

// Arguments of `paste`.
#[derive(Debug, Args)]
#[command(after_help = "\
Types the text of the turn in the relay buffer, as `swb relay` does: it presses no keys, and a line such as
[from api, turn 3] comes first, so that it is no command of the agent that reads it.
With --raw the bytes are typed unchanged, as clippy's `paste` does: a shell runs each line of them.
Fails if the agent is asking something, unless --force is given. Text of several lines is typed only with --raw into a
program without bracketed paste, or into a session of `swb wrap`, whose screen is unknown.")]
pub(crate) struct PasteArgs {
    /// Session
    pub(crate) name: String,
    /// Type the text without the line of origin; fails if it would be a command
    #[arg(long)]
    pub(crate) verbatim: bool,
    /// Type the bytes as the program wrote them; they can press any key
    #[arg(long, conflicts_with = "verbatim")]
    pub(crate) raw: bool,
    /// Type even if the agent is asking something
    #[arg(short, long)]
    pub(crate) force: bool,
}

// Arguments of `relay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb relay api review --submit
  swb relay api:3 review --prefix 'Is this right? ' --submit
  swb relay api review --template ask.txt --submit

Types the text of a turn. Control characters are removed, and the text is sent as a bracketed paste if the program
has asked for that, so that no text can press keys. A template may contain {text}, {turn_id} and {session}.

A line such as [from api, turn 3] comes first, so that the text is no command of the agent that reads it: an answer that
begins with `!` or `/` would be one. Without that line (--verbatim, --template) such text is refused. Nothing is
submitted to a shell or another program that runs what it reads.

Fails if the agent is asking something, and with --submit if it is working or its input holds text that was not
submitted, unless --force is given. Text of several lines is typed only with --raw where each line would be submitted by
itself: into a program without bracketed paste, or a session of `swb wrap`, whose screen is unknown.")]
pub(crate) struct RelayArgs {
    /// Session, for its latest turn; or the id of a turn, such as api:3
    pub(crate) from: String,
    /// Session to type into
    pub(crate) to: String,
    /// Type the contents of this file, with the turn filled in; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prefix", "raw"])]
    pub(crate) template: Option<PathBuf>,
    /// Type this before the turn
    #[arg(long, value_name = "TEXT", conflicts_with = "raw", allow_hyphen_values = true)]
    pub(crate) prefix: Option<String>,
    /// Press Enter after the text
    #[arg(short, long)]
    pub(crate) submit: bool,
    /// Type the text without the line of origin; fails if it would be a command
    #[arg(long, conflicts_with = "raw")]
    pub(crate) verbatim: bool,
    /// Type the bytes as the program wrote them; they can press any key
    #[arg(long)]
    pub(crate) raw: bool,
    /// Type even if the agent is busy, or its input holds other text
    #[arg(short, long)]
    pub(crate) force: bool,
}

// Arguments of `ask`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb ask api 'what does main.rs do?'
  swb ask api --timeout 600 - < prompt.txt
  swb ask api 'run the tests' --json | jq -r .text

Types the text, presses Enter, waits for the answer and prints it. Waits for an agent that is still starting.
Fails if the agent is working or asking something, or if its input holds text that was not submitted, unless --force
is given. Enter is pressed only when the agent's input box shows the text; otherwise the text is removed, and what is
on the screen is printed.

Where each line is submitted by itself (a shell, Python), the answers to all lines are printed. If the program waits for
more lines (a block in Python, an open quote in a shell), that is reported; what was typed stays.

Exits with 0 if the agent has answered, 5 if it asks something first, or for more lines (`swb approvals`
shows the question and answers it, `swb keys` presses keys), 124 on a timeout (after ten minutes unless --timeout is given), 130 if the answer was interrupted or Ctrl+C was
pressed, and 1 if the session ends first.")]
pub(crate) struct AskArgs {
    /// Session
    pub(crate) name: String,
    /// Text to send; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Give up after this many seconds; `none` waits without a limit. The agent continues
    #[arg(long, value_name = "S", default_value = "600", value_parser = parse_limit)]
    pub(crate) timeout: TimeLimit,
    /// Send even if the agent is busy, or its input holds other text
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Print the bytes of the answer as the program wrote them
    #[arg(long)]
    pub(crate) raw: bool,
    /// Reach another machine through the tunnel that `swb tunnel` opened there
    #[arg(long, value_name = "URL")]
    pub(crate) via: Option<String>,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// As long as it takes.
    None,
    /// This long.
    After(Duration),
}

/// Parses a number of seconds, or `none`.
fn parse_limit(text: &str) -> Result<TimeLimit, String> {
    match text {
        "none" => Ok(TimeLimit::None),
        seconds => parse_seconds(seconds)
            .map(TimeLimit::After)
            .map_err(|error| format!("{error}; `none` is no limit")),
    }
}

// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb explain api
  swb explain api --json | jq -r .state")]
pub(crate) struct ExplainArgs {
    /// Session [default: that of this directory]
    pub(crate) name: Option<String>,
}

// Arguments of `events`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb events
  swb events api --json | jq 'select(.event == \"turn\")'
  swb events --json --since 18c9f3a2b1d-42

Prints events from now on, or those after CURSOR (the `cursor` of an event). Continues when the daemon restarts and
reports whether events were lost. Runs until Ctrl+C.")]
pub(crate) struct EventsArgs {
    /// Only these sessions, which must exist unless --since is given [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Start after this event
    #[arg(long, value_name = "CURSOR")]
    pub(crate) since: Option<String>,
}

// Arguments of `hook`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb hook working
  swb hook --event           read the event from standard input, as claude, codex and gemini send it

For hooks of agents: reports the state of the agent of the current session (SWB_SESSION). Prints nothing, does
nothing outside of a session, and takes at most one second. Exits with 0 even if it fails, unless the arguments are
invalid (2).")]
pub(crate) struct HookArgs {
    /// State of the agent
    #[arg(required_unless_present = "event")]
    pub(crate) state: Option<HookState>,
    /// Take the state from an agent's event: JSON, as the agent sends it to its hooks [default: from standard input]
    #[arg(long, visible_alias = "claude", value_name = "JSON", num_args = 0..=1, conflicts_with = "state")]
    pub(crate) event: Option<Option<String>>,
}

/// A state that a hook can report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookState {
    /// The agent is working
    Working,
    /// The agent waits for input
    Ready,
    /// The agent asks for a permission or an answer
    Asking,
    /// The agent has finished its task
    Done,
    /// The agent has failed
    Error,
}

/// What `wait --until` can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UntilState {
    /// The agent waits for input
    Ready,
    /// The agent asks for a permission or an answer
    Asking,
    /// The agent completes a turn, from now on
    Turn,
    /// The agent has ended
    Exit,
}

#[cfg(test)]
mod tests {
    use super::super::SwbCli;
    use clap::Parser;

    fn parses(line: &str) -> bool {
        SwbCli::try_parse_from(line.split(' ')).is_ok()
    }

    #[test]
    fn forms_exclude_each_other() {
        assert!(parses("swb turn a:1 --raw") && parses("swb turn a --text"));
        assert!(!parses("swb turn a --raw --text"));
        assert!(parses("swb relay a b --prefix x --submit") && parses("swb relay a b --raw"));
        assert!(
            !parses("swb relay a b --raw --prefix x") && !parses("swb relay a b --template f --prefix x")
        );
    }

    #[test]
    fn a_hook_takes_a_state_or_an_event() {
        assert!(parses("swb hook done") && parses("swb hook --claude"));
        assert!(parses("swb hook --event") && parses("swb hook --event {}"));
        assert!(!parses("swb hook") && !parses("swb hook asleep") && !parses("swb hook done --claude"));
    }

    #[test]
    fn wait_takes_states_of_agents_and_ask_a_limit() {
        assert!(parses("swb wait a --until ready") && !parses("swb wait a --until never"));
        assert!(parses("swb wait a --until ready --stable 100"));
        assert!(parses("swb ask a - --timeout 1.5") && parses("swb ask a -x"));
        assert!(parses("swb ask a b --timeout none") && !parses("swb ask a b --timeout never"));
    }
}
