//! Typing into a program: text is submitted once the program has taken it; keys are pressed by name.
//!
//! `bracketed_paste.rs` makes the bytes that are typed.

use super::Session;
use super::bracketed_paste::TypedText;
use crate::error::Error;
use crate::limits;
use crate::pty::{InputError, Pty};
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
    /// The program shows a dialog, and Enter would have answered it.
    #[error("the agent is waiting for an answer{}", if *typed { "; the text was typed but not submitted" } else { "" })]
    Asks {
        /// Whether the dialog appeared after the text was typed.
        typed: bool,
    },
    /// The caller stopped it, and the text was removed.
    #[error("typing was stopped")]
    Stopped,
}

impl Session {
    /// Types into its agent's terminal; Enter is pressed when the program has taken the text. Other callers wait until
    /// that is done.
    pub async fn type_into(&self, text: TypedText, submit: Submit) -> Result<TypingReport, TypingError> {
        self.type_until(&CancellationToken::new(), &[], text, submit).await
    }

    /// The same until `stop`: text that was not submitted by then is removed with the keys `clear`.
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
        no_dialog(&pty, submit, false).await?;
        let modes = pty.look(false, |sight| sight.screen().modes()).await?;
        let (bytes, warning) = text.encode(modes.bracketed_paste);
        let before = pty.head();
        pty.input(&bytes).await?;
        if submit != Submit::No {
            let stopped = tokio::select! {
                biased;
                () = stop.cancelled() => true,
                () = taken(&pty, before) => false,
            };
            no_dialog(&pty, submit, true).await?;
            if stopped {
                press(&pty, &modes, clear.iter().copied()).await?;
                return Err(TypingError::Stopped);
            }
            pty.input(&key_bytes("Enter", &modes)).await?;
        }
        Ok(TypingReport { bytes: bytes.len() as u64, warning })
    }

    /// Presses keys in its agent's terminal, by their names, one after the other.
    pub async fn press(&self, keys: &[&str]) -> Result<(), TypingError> {
        let pty = self.pty(PtyId::AGENT)?.pty;
        let _alone = self.shared.typing.lock().await;
        let modes = pty.look(false, |sight| sight.screen().modes()).await?;
        Ok(press(&pty, &modes, keys.iter().copied()).await?)
    }
}

/// Refuses to submit a prompt while a dialog is shown.
async fn no_dialog(pty: &Pty, submit: Submit, typed: bool) -> Result<(), TypingError> {
    match submit == Submit::Prompt && pty.dialog().await?.is_some() {
        true => Err(TypingError::Asks { typed }),
        false => Ok(()),
    }
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
