//! Why text is not typed into a session or not submitted, and what the user can do: one wording for `ask`, `relay` and
//! `paste`.
//!
//! The message states what happened; the hint names commands and options of `swb`, with the name of the session.

use crate::errors::{engine_error, input_error, invalid, refused};
use swb_engine::{AgentBusy, Error, RunsText, Session, TypingError};
use swb_wire::control::{ErrorCode, ErrorReply};

/// An agent that takes no text at present.
pub(crate) async fn busy(session: &Session, why: AgentBusy) -> ErrorReply {
    let name = session.name();
    // A program that a shell has started may run for ever, or wait for keys.
    if why == AgentBusy::Working
        && let Some(program) = session.in_foreground().await
    {
        let hint = format!(
            "`swb attach {name}` shows it, and `swb keys {name} KEY…` types into it; `swb wait {name} --until ready` \
             waits until it has ended; --force types the text all the same"
        );
        return nothing_typed(name.as_str(), format_args!("{program} runs there")).with_hint(hint);
    }
    let hint = match why {
        AgentBusy::Gone => return refused(Error::Ended(name.clone())),
        AgentBusy::Asking => answer_first(name.as_str()),
        AgentBusy::Starting => no_prompt(name.as_str()),
        AgentBusy::Working => {
            format!("`swb wait {name} --until ready` waits for it; --force types the text all the same")
        }
    };
    nothing_typed(name.as_str(), format_args!("its agent {why}")).with_hint(hint)
}

/// Text that was not typed or not submitted.
pub(crate) fn typing_error(error: TypingError, session: &Session) -> ErrorReply {
    let name = session.name().as_str();
    match error {
        TypingError::Session(error) => engine_error(&error),
        TypingError::Input(error) => input_error(error),
        TypingError::Runs(why) => runs_text(&why, name),
        TypingError::HalfTyped(_) => nothing_typed(name, &error).with_hint(format!(
            "`swb attach {name}` shows it, to submit or remove it; --force types the text behind it"
        )),
        TypingError::Asks { typed: false, .. } => nothing_typed(name, &error).with_hint(answer_first(name)),
        TypingError::Asks { typed: true, .. } | TypingError::Stopped => {
            let what = format!("the text was not submitted to session '{name}': {error}");
            ErrorReply::new(ErrorCode::AgentBusy, what)
                .with_hint(format!("`swb screen {name}` shows what is on its screen"))
        }
    }
}

/// Relayed text that the target would execute.
pub(crate) fn runs_text(why: &RunsText, to: &str) -> ErrorReply {
    let hint = match why {
        RunsText::Command { .. } => {
            "without --verbatim and --template a line of origin comes first, and it is no command"
        }
        RunsText::Interpreter(_) => {
            "without --submit a single line is typed and not run; --raw types the bytes of the turn all the same"
        }
        RunsText::Line { .. } | RunsText::LinesPerhaps => "--raw types the bytes of the turn all the same",
        RunsText::Lines => {
            "--raw types the bytes of the turn all the same; `swb turn` with its id prints the text, for a file that the program can read"
        }
    };
    invalid(format!("nothing was typed into session '{to}': {why}")).with_hint(hint)
}

/// What to do about a program whose prompt is unknown.
pub(crate) fn no_prompt(name: &str) -> String {
    format!(
        "`swb send {name} TEXT --enter` types without waiting for a prompt, as --force does; a detection profile \
         (`swb run --profile`, docs/detection.md) names the prompts of a program"
    )
}

fn answer_first(name: &str) -> String {
    format!(
        "`swb screen {name}` shows its question; `swb approvals` or `swb keys {name} KEY…` answers it; --force \
         types the text all the same"
    )
}

fn nothing_typed(name: &str, why: impl std::fmt::Display) -> ErrorReply {
    ErrorReply::new(ErrorCode::AgentBusy, format!("nothing was typed into session '{name}': {why}"))
}
