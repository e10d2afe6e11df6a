//! Input without attaching: bytes, named keys, and the reports of an agent's hooks.

use crate::errors::{input_error, invalid, refused};
use crate::execute::Call;
use crate::reply::{OperationResult, done};
use swb_engine::{Pty, ScreenView, Session};
use swb_types::PtyId;
use swb_vt::{Key, KeyCode};
use swb_wire::control::{Base64, Hook, HookState, Keys, KeysReply, OkReply, Send, SendReply};

impl Call<'_> {
    pub(crate) async fn send(&self, send: Send) -> OperationResult {
        let session = self.live_session(&send.session)?;
        let pty = session.pty(send.pty.unwrap_or(PtyId::AGENT)).map_err(refused)?.pty;
        let bytes = match (send.text, send.data) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(Base64(data))) => data,
            _ => return Err(invalid("send needs exactly one of 'text' and 'data'")),
        };
        session.start(None).await.ok();
        let mut steps = vec![bytes];
        if send.enter {
            steps.push(b"\r".to_vec());
        }
        let (steps, notice) = self.for_program(&session, &pty, steps);
        session.type_steps(&pty, &steps).await.map_err(input_error)?;
        done(&SendReply { ok: true, notice })
    }

    pub(crate) async fn keys(&self, keys: Keys) -> OperationResult {
        let session = self.live_session(&keys.session)?;
        let pty = session.pty(keys.pty()).map_err(refused)?.pty;
        session.start(None).await.ok();
        let steps = pty.look(false, move |sight| encode_keys(&keys, sight)).await.map_err(refused)?;
        let (steps, notice) = self.for_program(&session, &pty, steps);
        let bytes = steps.iter().map(|step| step.len() as u64).sum();
        session.type_steps(&pty, &steps).await.map_err(input_error)?;
        done(&KeysReply { ok: true, bytes, notice })
    }

    /// The part of the input that the program gets, and a notice about what was withheld (CO-46).
    fn for_program(
        &self,
        session: &Session,
        pty: &Pty,
        steps: Vec<Vec<u8>>,
    ) -> (Vec<Vec<u8>>, Option<String>) {
        if pty.id() == PtyId::AGENT { self.filtered(session, steps) } else { (steps, None) }
    }

    pub(crate) async fn hook(&self, hook: &Hook) -> OperationResult {
        let session = self.live_session(&hook.session)?;
        let agent = session.pty(PtyId::AGENT).map_err(refused)?;
        let state = match hook.state {
            HookState::Working => swb_turns::Hook::Working,
            HookState::Ready | HookState::Done => swb_turns::Hook::Ready,
            HookState::Asking => swb_turns::Hook::Asking,
            HookState::Error => swb_turns::Hook::Error,
        };
        agent.pty.hook(state).await.map_err(refused)?;
        done(&OkReply::default())
    }
}

/// The bytes of the keys in the current modes of the terminal; an item that is no key name is text. Enter after text is a
/// step of its own.
fn encode_keys(keys: &Keys, sight: &ScreenView<'_>) -> Vec<Vec<u8>> {
    let modes = sight.screen().modes();
    let (mut steps, mut typed, mut text) = (Vec::new(), Vec::new(), false);
    for item in &keys.keys {
        let Some(key) = Key::parse(item).filter(|_| !keys.literal) else {
            typed.extend_from_slice(item.as_bytes());
            text = true;
            continue;
        };
        if key.code == KeyCode::Enter && text {
            steps.push(std::mem::take(&mut typed));
            key.encode(&modes, &mut typed);
            steps.push(std::mem::take(&mut typed));
        } else {
            key.encode(&modes, &mut typed);
        }
        text = false;
    }
    steps.push(typed);
    steps
}
