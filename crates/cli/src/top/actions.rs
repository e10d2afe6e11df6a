//! What the list does for the user, and what became of it.

use super::browser::Browser;
use super::requests::Purpose;
use crate::error::Failure;
use crate::limits;
use serde::de::DeserializeOwned;
use swb_tui::top::{Decision, TopAction};
use swb_wire::control::{
    self, Approval, ApprovalReply, Ask, AskReply, AskResult, Kill, OkReply, Operation, Relay, RelayReply,
};

impl Browser<'_> {
    /// Does what the user chose.
    pub(super) fn act(&mut self, action: TopAction) {
        let (request, purpose, notice) = match action {
            TopAction::Answer { approval, decision } => {
                let (approved, option) = match decision {
                    Decision::Allow => (Some(true), None),
                    Decision::Deny => (Some(false), None),
                    Decision::Choice(id) => (None, Some(id)),
                };
                let request = Approval { approval, approved, option, ..Approval::default() };
                (Operation::Approval(request), Purpose::Answer, String::new())
            }
            TopAction::Ask { session, text } => {
                let timeout_ms = u64::try_from(limits::TOP_ASK.as_millis()).ok();
                let request = Ask { session: session.clone(), text, timeout_ms, ..Ask::default() };
                let notice = format!("asked '{session}'");
                (Operation::Ask(request), Purpose::Ask { session }, notice)
            }
            TopAction::Kill(session) => {
                let request = Kill { session: Some(session.clone()), ..Kill::default() };
                let notice = format!("killing '{session}'");
                (Operation::Kill(request), Purpose::Kill { session }, notice)
            }
            TopAction::Relay { from, to, submit } => {
                let request = Relay { from, to: to.clone(), submit, ..Relay::default() };
                (Operation::Relay(request), Purpose::Relay { to }, String::new())
            }
            TopAction::Attach(_) | TopAction::Shell(_) | TopAction::Quit => return,
        };
        if !notice.is_empty() {
            self.top.notify(notice, false);
        }
        if let Err(why) = self.requests.start(self.context, &request, purpose) {
            self.fail(why);
        }
    }

    /// Shows what became of an action.
    pub(super) fn take_outcome(&mut self, purpose: Purpose, reply: Option<&[u8]>) {
        let told = match purpose {
            Purpose::Answer => outcome::<ApprovalReply>(reply).map(|_| "answered".to_owned()),
            Purpose::Kill { session } => outcome::<OkReply>(reply).map(|_| format!("killed '{session}'")),
            Purpose::Relay { to } => outcome::<RelayReply>(reply).map(|done| match done.warning {
                Some(warning) => warning,
                None => format!("typed turn {} into '{to}'", done.turn_id),
            }),
            Purpose::Ask { session } => outcome::<AskReply>(reply).map(|done| match done.met {
                AskResult::Turn => format!("'{session}' has answered"),
                AskResult::Asking => format!("'{session}' is asking something"),
                AskResult::Ready => format!("'{session}' is ready again"),
                AskResult::Timeout => format!("'{session}' has not answered in time"),
            }),
            Purpose::List | Purpose::Approvals | Purpose::LastLine { .. } => return,
        };
        match told {
            Ok(text) => self.top.notify(text, false),
            Err(why) => self.fail(why),
        }
        self.list_soon();
    }
}

/// The reply to an action, or why there is none.
fn outcome<T: DeserializeOwned>(reply: Option<&[u8]>) -> Result<T, String> {
    let body = reply.ok_or_else(|| "the connection to the daemon was lost".to_owned())?;
    control::parse_reply(body).map_err(|error| Failure::from(error).to_string())
}
