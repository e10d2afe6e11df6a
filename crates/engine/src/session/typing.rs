//! Typing into a program: text is submitted once the program has taken it; keys are pressed by name.
//!
//! `bracketed_paste.rs` makes the bytes that are typed.

use super::Session;
use super::bracketed_paste::{RunsText, TypedText};
use crate::error::Error;
use crate::limits;
use crate::pty::{InputError, Pty};
use crate::screen::InputState;
use swb_turns::InputBox;
use swb_types::{Offset, PtyId};
use swb_vt::{Key, Modes};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Whether Enter is pressed after the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submit {
    /// The text is only typed.
    No,
    /// The text is a prompt: refused while the program shows a dialog, which Enter would answer.
    Prompt,
    /// Enter is pressed even if the program shows a dialog.
    Forced,
}

/// The result of typing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypingReport {
    /// Number of bytes that were typed.
    pub bytes: u64,
    /// A warning for the user.
    pub warning: Option<&'static str>,
}

/// Why text was not typed or not submitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypingError {
    /// The input was not delivered.
    #[error(transparent)]
    Input(#[from] InputError),
    /// There is no terminal to type into.
    #[error(transparent)]
    Session(#[from] Error),
    /// The program shows a dialog, or no input box that holds the text: Enter might have answered a question.
    #[error("the agent is waiting for an answer{}", if *typed { "; the text was typed but not submitted" } else { "" })]
    Asks {
        /// Whether this was seen after the text was typed.
        typed: bool,
        /// The last rows of the screen.
        shown: String,
    },
    /// The input holds text of the user, to which the prompt would be appended.
    #[error("its input holds text that was not submitted: '{0}'")]
    HalfTyped(String),
    /// The program would execute the text of another session.
    #[error(transparent)]
    Runs(#[from] RunsText),
    /// The caller stopped it, and the text was removed.
    #[error("typing was stopped")]
    Stopped,
}

impl Session {
    /// Types into its agent's terminal; Enter is pressed when the program has taken the text. Other callers wait until
    /// that is done. Text that cannot be submitted is removed with the keys `clear`.
    pub async fn type_into(
        &self,
        clear: &[&str],
        text: TypedText,
        submit: Submit,
    ) -> Result<TypingReport, TypingError> {
        self.type_until(&CancellationToken::new(), clear, text, submit).await
    }

    /// The same until `stop`.
    pub async fn type_until(
        &self,
        stop: &CancellationToken,
        clear: &[&str],
        text: TypedText,
        submit: Submit,
    ) -> Result<TypingReport, TypingError> {
        // It may run already.
        self.start(None).await.ok();
        let pty = self.pty(PtyId::AGENT)?.pty;
        let _alone = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(TypingError::Stopped),
            alone = self.shared.typing.lock() => alone,
        };
        let before = pty.input_state().await?;
        if let Some(before) = before.as_ref().filter(|_| submit == Submit::Prompt) {
            may_submit(before)?;
        }
        let modes = pty.look(false, |sight| sight.screen().modes()).await?;
        // What bytes show is not known.
        let before = before.filter(|_| !matches!(text, TypedText::Raw(_)));
        let (bytes, warning) = text.encode(modes.bracketed_paste, submit != Submit::No)?;
        let head = pty.head();
        pty.input(&bytes).await?;
        if submit != Submit::No {
            let seen = async {
                taken(&pty, head).await;
                match (submit, before.as_ref().and_then(|before| before.input.as_ref())) {
                    (Submit::Prompt, Some(before)) => held(&pty, before, &typed_text(&bytes)).await,
                    (Submit::Prompt, None) => no_dialog(&pty).await,
                    _ => Ok(()),
                }
            };
            let seen = tokio::select! {
                biased;
                () = stop.cancelled() => {
                    no_dialog(&pty).await?;
                    Err(TypingError::Stopped)
                }
                seen = seen => seen,
            };
            if let Err(error) = seen {
                take_back(&pty, &modes, clear, &error).await?;
                return Err(error);
            }
            pty.input(&key_bytes("Enter", &modes)).await?;
        }
        Ok(TypingReport { bytes: bytes.len() as u64, warning })
    }

    /// Types bytes into one of its terminals; each step waits until the program has taken the one before. Enter after text is
    /// a step: programs take an Enter that comes with the text for a line break in it.
    pub async fn type_steps(&self, pty: &Pty, steps: &[Vec<u8>]) -> Result<(), InputError> {
        let _alone = self.shared.typing.lock().await;
        let mut before = None;
        for step in steps.iter().filter(|step| !step.is_empty()) {
            if let Some(before) = before.replace(pty.head()) {
                taken(pty, before).await;
            }
            pty.input(step).await?;
        }
        Ok(())
    }

    /// Presses keys in its agent's terminal, by their names, one after the other.
    pub async fn press(&self, keys: &[&str]) -> Result<(), TypingError> {
        let pty = self.pty(PtyId::AGENT)?.pty;
        let _alone = self.shared.typing.lock().await;
        let modes = pty.look(false, |sight| sight.screen().modes()).await?;
        Ok(press(&pty, &modes, keys.iter().copied()).await?)
    }
}

/// Whether a prompt can be submitted: an input box waits for one, and is empty.
fn may_submit(state: &InputState) -> Result<(), TypingError> {
    let hidden = state.input.as_ref().is_some_and(|input| !input.visible);
    if state.asks || hidden {
        return Err(TypingError::Asks { typed: false, shown: state.shown.clone() });
    }
    match &state.half_typed {
        Some(text) => Err(TypingError::HalfTyped(text.chars().take(limits::HALF_TYPED).collect())),
        None => Ok(()),
    }
}

/// Refuses Enter while a dialog is shown.
async fn no_dialog(pty: &Pty) -> Result<(), TypingError> {
    match pty.input_state().await? {
        Some(state) if state.asks => Err(TypingError::Asks { typed: true, shown: state.shown }),
        _ => Ok(()),
    }
}

/// Waits until an input box is seen to hold the text: Enter pressed elsewhere might answer a question.
async fn held(pty: &Pty, before: &InputBox, text: &str) -> Result<(), TypingError> {
    let deadline = Instant::now() + limits::BOX_HOLDS;
    loop {
        let Some(state) = pty.input_state().await? else { return Ok(()) };
        if !state.asks && state.input.as_ref().is_some_and(|input| input.holds(text, before)) {
            return Ok(());
        }
        if state.asks || Instant::now() >= deadline {
            return Err(TypingError::Asks { typed: true, shown: state.shown });
        }
        sleep(limits::DIALOG_LOOK).await;
    }
}

/// Removes text that was not submitted. Where no input box is seen to hold any, the keys would mean something else.
async fn take_back(pty: &Pty, modes: &Modes, clear: &[&str], why: &TypingError) -> Result<(), TypingError> {
    let state = pty.input_state().await?;
    let holds = match state.as_ref().map(|state| (state.asks, &state.input, &state.half_typed)) {
        Some((false, Some(input), half_typed)) => {
            input.visible && (half_typed.is_some() || input.typed.is_none())
        }
        Some((asks, None, _)) => !asks && *why == TypingError::Stopped,
        Some((true, ..)) => false,
        None => *why == TypingError::Stopped,
    };
    if holds {
        press(pty, modes, clear.iter().copied()).await?;
    }
    Ok(())
}

/// The text in typed bytes, without the marks of a paste.
fn typed_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_start_matches("\x1b[200~").trim_end_matches("\x1b[201~").to_owned()
}

/// Presses keys, with a pause in between: programs may take keys that arrive together for another key.
pub(super) async fn press<'a>(
    pty: &Pty,
    modes: &Modes,
    keys: impl Iterator<Item = &'a str>,
) -> Result<(), InputError> {
    for (n, key) in keys.enumerate() {
        if n > 0 {
            sleep(limits::KEY_PAUSE).await;
        }
        pty.input(&key_bytes(key, modes)).await?;
    }
    Ok(())
}

/// The bytes that a terminal sends for a key; none for an unknown name.
fn key_bytes(name: &str, modes: &Modes) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(key) = Key::parse(name) {
        key.encode(modes, &mut bytes);
    }
    bytes
}

/// Waits until a program has taken what was typed: until its output has moved and come to rest, or for a short time.
async fn taken(pty: &Pty, before: Offset) {
    let start = Instant::now();
    let (mut head, mut moved) = (before, None);
    loop {
        sleep(limits::TAKE_LOOK).await;
        if pty.head() != head {
            head = pty.head();
            moved = Some(Instant::now());
        }
        let rests = moved.is_some_and(|at: Instant| at.elapsed() >= limits::TAKE_QUIET);
        let longest = if moved.is_some() { limits::TAKE_LONGEST } else { limits::TAKE_SILENT };
        if rests || start.elapsed() >= longest {
            return;
        }
    }
}
