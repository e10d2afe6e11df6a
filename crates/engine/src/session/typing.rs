//! Typing into a program: text is submitted once the program has taken it; keys are pressed by name.
//!
//! `bracketed_paste.rs` makes the bytes that are typed.

use super::Session;
use super::agent_wait::AgentBusy;
use super::bracketed_paste::{PasteSupport, RunsText, TypedText};
use crate::error::Error;
use crate::limits;
use crate::pty::{InputError, Pty};
use crate::screen::InputState;
use swb_turns::InputBox;
use swb_types::{Offset, PtyId};
use swb_vt::{Key, Modes};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// How text is typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TypingMode {
    /// Press Enter after the text, once the program has taken it.
    pub submit: bool,
    /// Type even if the program shows a dialog, which a key could answer, or its input holds other text.
    pub force: bool,
}

impl TypingMode {
    /// The text is a prompt.
    pub const PROMPT: Self = Self { submit: true, force: false };
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
    #[error("the agent is waiting for an answer")]
    Asks {
        /// Whether this was seen after the text was typed.
        typed: bool,
        /// The last rows of the screen.
        shown: String,
    },
    /// The input holds text of the user, to which this text would be appended.
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
        mode: TypingMode,
    ) -> Result<TypingReport, TypingError> {
        self.type_until(&CancellationToken::new(), clear, text, mode).await
    }

    /// The same until `stop`.
    pub async fn type_until(
        &self,
        stop: &CancellationToken,
        clear: &[&str],
        text: TypedText,
        mode: TypingMode,
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
        if let Some(before) = before.as_ref().filter(|_| !mode.force) {
            may_type(before, mode.submit)?;
        }
        let modes = pty.look(false, |sight| sight.screen().modes()).await?;
        // What bytes show is not known.
        let before = before.filter(|_| !matches!(text, TypedText::Raw(_)));
        let paste = if modes.bracketed_paste { PasteSupport::On } else { PasteSupport::Off };
        let (mut bytes, warning) = text.encode(paste, mode.submit)?;
        let input = before.as_ref().and_then(|before| before.input.as_ref());
        // Where each line is submitted by itself, a pause before the last one would end the turn of the others.
        let at_once = mode.submit && warning.is_some() && input.is_none();
        if at_once {
            bytes.extend(key_bytes("Enter", &modes));
        }
        let head = pty.head();
        pty.input(&bytes).await?;
        if mode.submit && !at_once {
            let seen = async {
                taken(&pty, head).await;
                match input {
                    _ if mode.force => Ok(()),
                    Some(before) => held(&pty, before, &typed_text(&bytes)).await,
                    None => no_dialog(&pty).await,
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
            if let Some(before) = input.filter(|_| !mode.force) {
                let text = typed_text(&bytes);
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    done = enter_again(&pty, &modes, before, &text) => done?,
                }
            }
        }
        Ok(TypingReport { bytes: bytes.len() as u64, warning })
    }

    /// Why its agent takes no prompt at present, as far as that is certain.
    pub async fn busy(&self) -> Option<AgentBusy> {
        let agent = self.pty(PtyId::AGENT).ok()?;
        agent.pty.input_state().await.ok()??.busy
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

/// Whether text can be typed: no dialog is shown, and if it is to be submitted, the input is visible and empty.
fn may_type(state: &InputState, submit: bool) -> Result<(), TypingError> {
    let hidden = submit && state.input.as_ref().is_some_and(|input| !input.visible);
    if state.asks || hidden {
        return Err(TypingError::Asks { typed: false, shown: state.shown.clone() });
    }
    match state.half_typed.as_ref().filter(|_| submit) {
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

/// Presses Enter once more if the input box still holds the text and the agent has not begun to work: an agent that is slow to
/// start takes no Enter at first, and one on a busy machine may take it for a line break in the text.
async fn enter_again(pty: &Pty, modes: &Modes, before: &InputBox, text: &str) -> Result<(), TypingError> {
    let deadline = Instant::now() + limits::ENTER_TAKEN;
    loop {
        sleep(limits::DIALOG_LOOK).await;
        let state = pty.input_state().await?;
        let input = state.filter(|state| !state.asks).and_then(|state| state.input);
        if !input.is_some_and(|input| !input.busy && input.holds(text, before)) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Ok(pty.input(&key_bytes("Enter", modes)).await?);
        }
    }
}

/// Removes text that was not submitted. Where no input box is seen to hold any, the keys would mean something else.
async fn take_back(pty: &Pty, modes: &Modes, clear: &[&str], why: &TypingError) -> Result<(), TypingError> {
    let state = pty.input_state().await?;
    let holds = match state.as_ref().map(|state| (state.asks, &state.input)) {
        Some((false, Some(input))) => {
            input.visible && input.typed.as_ref().is_none_or(|typed| !typed.is_empty())
        }
        Some((asks, None)) => !asks && *why == TypingError::Stopped,
        Some((true, _)) => false,
        None => *why == TypingError::Stopped,
    };
    if holds {
        let head = pty.head();
        press(pty, modes, clear.iter().copied()).await?;
        // The next caller must not take it for text of the user.
        taken(pty, head).await;
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
