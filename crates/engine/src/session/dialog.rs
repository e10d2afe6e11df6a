//! Dialogs in which an agent waits for an answer: read from its screen, answered by pressing keys.

use super::Session;
use super::typing::{TypingError, press};
use crate::limits;
use crate::pty::Pty;
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use swb_chat::{ApprovalAnswer, ApprovalOption, ApprovalRequest, OptionKind};
use swb_turns::{Dialog, DialogOption, Meaning, ProgramState};
use swb_types::PtyId;
use swb_vt::Modes;
use tokio::time::{Instant, sleep};

/// Why a dialog was not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialogError {
    /// Another dialog is shown, or none.
    #[error("the agent no longer shows this dialog")]
    Gone,
    /// It has no such option.
    #[error("the dialog has no option '{0}'")]
    NoOption(String),
    /// The terminal does not take keys.
    #[error(transparent)]
    Terminal(#[from] TypingError),
}

impl Session {
    /// The dialog in which its agent waits, if it does. One without options can be answered only in the terminal.
    pub async fn dialog(&self) -> Option<Dialog> {
        if self.view().status.state != ProgramState::Asking {
            return None;
        }
        let pty = self.pty(PtyId::AGENT).ok()?.pty;
        pty.dialog().await.ok().flatten().map(|(dialog, _)| dialog)
    }

    /// The last rows of its agent's screen, while turns are detected.
    pub async fn shown(&self) -> Option<String> {
        let pty = self.pty(PtyId::AGENT).ok()?.pty;
        pty.input_state().await.ok().flatten().map(|state| state.shown)
    }

    /// Presses the keys of an option, if the same dialog is still shown. Returns when it has closed, or after a timeout.
    pub async fn answer_dialog(&self, dialog: &str, option: &str) -> Result<(), DialogError> {
        let pty = self.pty(PtyId::AGENT).map_err(TypingError::from)?.pty;
        // Held until the dialog has closed: a second answer to it must not press keys in the next one.
        let _alone = self.shared.typing.lock().await;
        self.dialog_stands().await;
        let shown = pty.dialog().await.map_err(TypingError::from)?;
        let (found, modes) = shown.filter(|(found, _)| found.id == dialog).ok_or(DialogError::Gone)?;
        let chosen = found.options.iter().find(|known| known.id == option);
        let chosen = chosen.ok_or_else(|| DialogError::NoOption(option.to_owned()))?;
        let moves = chosen.moves().len();
        let keys: Vec<&str> = chosen.keys.iter().map(String::as_str).collect();
        press(&pty, &modes, keys[..moves].iter().copied()).await.map_err(TypingError::from)?;
        if moves > 0 {
            self.marked(&pty, dialog, option).await?;
        }
        press(&pty, &modes, keys[moves..].iter().copied()).await.map_err(TypingError::from)?;
        let allows = chosen.meaning.allows();
        let deadline = Instant::now() + limits::DIALOG_GONE;
        while Instant::now() < deadline {
            sleep(limits::DIALOG_LOOK).await;
            match pty.dialog().await {
                Ok(Some((still, _))) if still.id == dialog => {}
                Ok(Some((next, modes))) if allows => return confirm(&pty, &next, &modes).await,
                _ => break,
            }
        }
        Ok(())
    }
}

/// Presses the keys of the option that confirms the decision just made, if the next dialog has one.
async fn confirm(pty: &Pty, next: &Dialog, modes: &Modes) -> Result<(), DialogError> {
    let Some(option) = next.options.iter().find(|option| option.confirms) else { return Ok(()) };
    sleep(limits::DIALOG_STANDS).await;
    let still = pty.dialog().await.map_err(TypingError::from)?;
    if still.is_some_and(|(still, _)| still == *next) {
        let keys = option.keys.iter().map(String::as_str);
        press(pty, modes, keys).await.map_err(TypingError::from)?;
    }
    Ok(())
}

impl Session {
    /// Waits until the dialog's selection has reached an option: only then is it safe to choose it.
    async fn marked(&self, pty: &Pty, dialog: &str, option: &str) -> Result<(), DialogError> {
        let deadline = Instant::now() + limits::DIALOG_GONE;
        while Instant::now() < deadline {
            sleep(limits::DIALOG_LOOK).await;
            match pty.dialog().await.map_err(TypingError::from)? {
                Some((shown, _)) if shown.id == dialog && shown.is_marked(option) => return Ok(()),
                Some((shown, _)) if shown.id == dialog => {}
                _ => return Err(DialogError::Gone),
            }
        }
        Err(DialogError::NoOption(option.to_owned()))
    }

    /// Waits until the dialog was shown for a moment: agents ignore keys that come too early.
    async fn dialog_stands(&self) {
        let since = UNIX_EPOCH + Duration::from_micros(self.view().status.since.0);
        let stood = SystemTime::now().duration_since(since).unwrap_or_default();
        sleep(limits::DIALOG_STANDS.saturating_sub(stood)).await;
    }
}

/// A dialog as a request for approval.
pub fn approval_of(dialog: &Dialog) -> ApprovalRequest {
    let options = dialog.options.iter().filter_map(|option| {
        let kind = match option.meaning {
            Meaning::AllowAlways => OptionKind::AllowAlways,
            Meaning::AllowOnce => OptionKind::AllowOnce,
            Meaning::RejectAlways => OptionKind::RejectAlways,
            Meaning::RejectOnce => OptionKind::RejectOnce,
            Meaning::Other => return None,
        };
        Some(ApprovalOption { id: option.id.clone(), label: option.label.clone(), kind })
    });
    let reason = match dialog.is_readable() {
        true => dialog.question.clone(),
        false => format!("{} (answer in the terminal)", dialog.question),
    };
    let mut parameters = json!({ "question": dialog.question, "detail": dialog.detail });
    if let Some(subject) = &dialog.subject {
        parameters["subject"] = json!(subject);
    }
    ApprovalRequest {
        tool: dialog.tool.clone(),
        tool_id: None,
        parameters,
        reason,
        options: options.collect(),
    }
}

/// The name of the option that a verdict chooses, if there is one of that kind.
pub fn chosen(dialog: &Dialog, verdict: &ApprovalAnswer) -> Option<String> {
    let named = verdict.option.as_deref().and_then(|id| dialog.options.iter().find(|option| option.id == id));
    let of = |meaning: Meaning| dialog.options.iter().find(move |option| option.meaning == meaning);
    let found: Option<&DialogOption> = match (verdict.approved, verdict.always) {
        _ if named.is_some() => named,
        (true, true) => of(Meaning::AllowAlways),
        // What is allowed once must not be allowed permanently.
        (true, false) => of(Meaning::AllowOnce),
        (false, true) => of(Meaning::RejectAlways),
        (false, false) => of(Meaning::RejectOnce).or_else(|| of(Meaning::RejectAlways)),
    };
    // An option that contradicts the verdict was chosen by mistake.
    let fits = |option: &&DialogOption| match verdict.approved {
        true => !option.meaning.rejects(),
        false => !option.meaning.allows(),
    };
    found.filter(fits).map(|option| option.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(options: &[(&str, Meaning)]) -> Dialog {
        let options = options.iter().map(|(id, meaning)| DialogOption {
            id: (*id).to_owned(),
            label: (*id).to_owned(),
            meaning: *meaning,
            confirms: false,
            keys: vec!["1".to_owned()],
        });
        Dialog {
            id: "d".to_owned(),
            tool: "Bash".to_owned(),
            question: "Proceed?".to_owned(),
            subject: Some("ls".to_owned()),
            detail: "ls".to_owned(),
            cut: false,
            options: options.collect(),
        }
    }

    fn verdict(approved: bool, always: bool, option: Option<&str>) -> ApprovalAnswer {
        ApprovalAnswer { approved, always, option: option.map(str::to_owned) }
    }

    #[test]
    fn a_verdict_chooses_an_option_of_the_same_meaning() {
        let full = dialog(&[
            ("yes", Meaning::AllowOnce),
            ("always", Meaning::AllowAlways),
            ("red", Meaning::Other),
            ("no", Meaning::RejectOnce),
        ]);
        let chosen = |approved, always, option| chosen(&full, &verdict(approved, always, option));
        assert_eq!(chosen(true, false, None).as_deref(), Some("yes"));
        assert_eq!(chosen(true, true, None).as_deref(), Some("always"));
        assert_eq!(chosen(false, false, None).as_deref(), Some("no"));
        assert_eq!(chosen(false, true, None), None, "it can be denied only once");
        assert_eq!(chosen(true, false, Some("always")).as_deref(), Some("always"));
        assert_eq!(chosen(true, false, Some("red")).as_deref(), Some("red"));
        assert_eq!(chosen(false, false, Some("always")), None);
        let always = dialog(&[("always", Meaning::AllowAlways)]);
        assert_eq!(super::chosen(&always, &verdict(true, false, None)), None);
    }

    #[test]
    fn a_dialog_is_an_approval_with_its_options() {
        let request = approval_of(&dialog(&[("yes", Meaning::AllowOnce), ("red", Meaning::Other)]));
        assert_eq!((request.tool.as_str(), request.reason.as_str()), ("Bash", "Proceed?"));
        assert_eq!(request.options.len(), 1);
        assert_eq!(
            (&request.parameters["detail"], &request.parameters["subject"]),
            (&json!("ls"), &json!("ls"))
        );
        assert!(approval_of(&dialog(&[])).reason.contains("in the terminal"));
    }
}
