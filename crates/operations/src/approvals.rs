//! The queue of approvals: those of conversations, and dialogs on terminals that belong to no conversation.

use crate::conversations::items;
use crate::errors::{chat_error, dialog_error, invalid};
use crate::execute::Call;
use crate::limits::APPROVAL_TEXT_LENGTHS;
use crate::reply::{OperationResult, done, first_items};
use std::hash::{DefaultHasher, Hash, Hasher};
use swb_chat::{ApprovalAnswer, ApprovalId, ApprovalOption, OptionKind, Refused};
use swb_engine::chat::Chat;
use swb_engine::{Session, chosen};
use swb_turns::{Dialog, ProgramState};
use swb_wire::control::{Approval, ApprovalItem, ApprovalReply, ApprovalsReply, ErrorCode, ErrorReply};

/// A pending approval.
enum PendingApproval {
    Chat(Chat, swb_chat::Approval),
    Terminal(Session, Dialog),
}

impl PendingApproval {
    fn item(&self, most: usize) -> ApprovalItem {
        match self {
            Self::Chat(chat, approval) => items::approval(chat, approval, most),
            Self::Terminal(session, dialog) => {
                items::dialog(session, dialog, terminal_id(session, dialog), most)
            }
        }
    }

    async fn acknowledge(&self) -> Result<(), ErrorReply> {
        match self {
            Self::Chat(chat, one) => {
                chat.acknowledge(one.id.clone()).await.map_err(|error| chat_error(&error))
            }
            // A dialog on a terminal has no deadline.
            Self::Terminal(..) => Ok(()),
        }
    }

    /// Decides the approval, if the request contains a decision.
    async fn decide(&self, request: &Approval) -> Result<(), ErrorReply> {
        match self {
            Self::Chat(chat, approval) => match verdict(request, &approval.request.options)? {
                Some(verdict) => {
                    chat.decide(None, approval.id.clone(), verdict).await.map_err(|error| chat_error(&error))
                }
                None => Ok(()),
            },
            Self::Terminal(session, dialog) => match choice(request, dialog)? {
                Some(option) => {
                    session.answer_dialog(&dialog.id, &option).await.map_err(|error| dialog_error(&error))
                }
                None => Ok(()),
            },
        }
    }
}

impl Call<'_> {
    pub(crate) async fn approvals(&self) -> OperationResult {
        let waiting = self.waiting().await?;
        for most in APPROVAL_TEXT_LENGTHS {
            let approvals = waiting.iter().map(|one| one.item(most)).collect();
            if let Ok(answer) = done(&ApprovalsReply { ok: true, approvals, more: false }) {
                return Ok(answer);
            }
        }
        let all: Vec<ApprovalItem> = waiting.iter().map(|one| one.item(0)).collect();
        first_items(&all, usize::MAX, |some, more| ApprovalsReply {
            ok: true,
            approvals: some.to_vec(),
            more,
        })
    }

    pub(crate) async fn approval(&self, request: Approval) -> OperationResult {
        let waiting = self.waiting().await?;
        let found = waiting.into_iter().find(|one| one.item(0).id == request.approval);
        let found = found.ok_or_else(|| chat_error(&Refused::NotAsked.into()))?;
        if request.ack {
            found.acknowledge().await?;
        }
        found.decide(&request).await?;
        let mut lengths = APPROVAL_TEXT_LENGTHS.into_iter().map(|most| most * 8).chain([0]);
        let shown =
            lengths.find_map(|most| done(&ApprovalReply { ok: true, approval: found.item(most) }).ok());
        shown.ok_or_else(|| ErrorReply::new(ErrorCode::InternalError, "the reply is too long"))
    }

    /// All pending approvals, oldest first.
    async fn waiting(&self) -> Result<Vec<PendingApproval>, ErrorReply> {
        let chats = self.chats()?.approvals().into_iter();
        let mut all: Vec<PendingApproval> = chats
            .filter(|(chat, _)| self.caller.covers(chat.name().as_str(), Some(chat.workspace())))
            .map(|(chat, one)| PendingApproval::Chat(chat, one))
            .collect();
        for session in self.engine().sessions().into_iter().filter(|session| self.caller.sees(session)) {
            // If a conversation reports this dialog, it is decided there.
            let chats = |one: &PendingApproval| matches!(one, PendingApproval::Chat(chat, _) if chat.name() == session.name());
            if session.view().status.state != ProgramState::Asking || all.iter().any(chats) {
                continue;
            }
            if let Some(dialog) = session.dialog().await {
                all.push(PendingApproval::Terminal(session, dialog));
            }
        }
        all.sort_by_key(|one| match one {
            PendingApproval::Chat(_, approval) => approval.asked_at.0,
            PendingApproval::Terminal(session, _) => session.view().status.since.millis(),
        });
        Ok(all)
    }
}

/// An id for a dialog, stable as long as the same dialog of the same session is shown.
fn terminal_id(session: &Session, dialog: &Dialog) -> ApprovalId {
    let mut hasher = DefaultHasher::new();
    (session.name(), session.created(), &dialog.id).hash(&mut hasher);
    ApprovalId(format!("term-{:016x}", hasher.finish()))
}

/// The option of a dialog that the request chooses, if any.
fn choice(request: &Approval, dialog: &Dialog) -> Result<Option<String>, ErrorReply> {
    let Some(wanted) = &request.option else {
        let Some(approved) = request.approved else { return Ok(None) };
        let verdict = ApprovalAnswer { approved, option: None, always: request.always };
        let none = || no_match(request.always);
        return chosen(dialog, &verdict).map(Some).ok_or_else(none);
    };
    let known = dialog.options.iter().map(|option| option.id.as_str());
    let option = dialog.options.iter().find(|option| option.id == *wanted);
    let option = option.ok_or_else(|| no_option(wanted, known))?;
    match request.approved {
        Some(true) if option.meaning.rejects() => Err(opposite(wanted)),
        Some(false) if option.meaning.allows() => Err(opposite(wanted)),
        _ => Ok(Some(wanted.clone())),
    }
}

/// The decision in the request, if any.
fn verdict(request: &Approval, options: &[ApprovalOption]) -> Result<Option<ApprovalAnswer>, ErrorReply> {
    let Some(wanted) = &request.option else {
        let Some(approved) = request.approved else { return Ok(None) };
        let lasting = if approved { OptionKind::AllowAlways } else { OptionKind::RejectAlways };
        // Without options of its own, everything can be decided.
        if request.always && !options.is_empty() && options.iter().all(|option| option.kind != lasting) {
            return Err(no_match(true));
        }
        return Ok(Some(ApprovalAnswer { approved, option: None, always: request.always }));
    };
    let option = options.iter().find(|option| option.id == *wanted);
    let option = option.ok_or_else(|| no_option(wanted, options.iter().map(|option| option.id.as_str())))?;
    let approved = option.kind.allows();
    if request.approved.is_some_and(|said| said != approved) {
        return Err(opposite(wanted));
    }
    let lasting = matches!(option.kind, OptionKind::AllowAlways | OptionKind::RejectAlways);
    Ok(Some(ApprovalAnswer { approved, option: Some(wanted.clone()), always: request.always || lasting }))
}

/// The error if the approval offers no option for the decision.
fn no_match(always: bool) -> ErrorReply {
    invalid(match always {
        true => {
            "it has no option that applies from now on; decide without 'always', or name one of its options"
        }
        false => "the dialog has no matching option; name one of its options, or answer it in the terminal",
    })
}

fn no_option<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> ErrorReply {
    let known: Vec<&str> = known.collect();
    let there = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    invalid(format!("unknown option '{wanted}'; available: {there}"))
}

fn opposite(wanted: &str) -> ErrorReply {
    invalid(format!("the option '{wanted}' contradicts the decision"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_turns::{DialogOption, Meaning};

    fn options() -> Vec<ApprovalOption> {
        let option = |id: &str, kind| ApprovalOption { id: id.into(), label: id.into(), kind };
        vec![
            option("yes", OptionKind::AllowOnce),
            option("ever", OptionKind::AllowAlways),
            option("no", OptionKind::RejectOnce),
        ]
    }

    fn decided(
        approved: Option<bool>,
        option: Option<&str>,
        always: bool,
    ) -> Result<Option<ApprovalAnswer>, ErrorReply> {
        let option = option.map(str::to_owned);
        verdict(&Approval { approved, option, always, ..Approval::default() }, &options())
    }

    #[test]
    fn the_kind_of_an_option_decides() {
        let verdict = |approved, option: Option<&str>, always| {
            Ok(Some(ApprovalAnswer { approved, option: option.map(str::to_owned), always }))
        };
        assert_eq!(decided(None, Some("yes"), false), verdict(true, Some("yes"), false));
        assert_eq!(decided(None, Some("ever"), false), verdict(true, Some("ever"), true));
        assert_eq!(decided(Some(false), Some("no"), false), verdict(false, Some("no"), false));
        assert_eq!(decided(Some(true), None, true), verdict(true, None, true));
        assert_eq!(decided(None, None, true), Ok(None));
        assert!(decided(Some(false), None, true).is_err(), "it can be denied only once");
        assert!(decided(Some(true), Some("no"), false).is_err());
        let unknown = decided(None, Some("perhaps"), false).unwrap_err();
        assert_eq!(unknown.message, "unknown option 'perhaps'; available: yes, ever, no");
    }

    #[test]
    fn a_dialog_is_answered_by_one_of_its_options() {
        let option = |id: &str, meaning| DialogOption {
            id: id.into(),
            label: id.into(),
            meaning,
            confirms: false,
            keys: Vec::new(),
        };
        let options = vec![
            option("1", Meaning::AllowOnce),
            option("2", Meaning::Other),
            option("3", Meaning::RejectOnce),
        ];
        let dialog = Dialog {
            id: "d".into(),
            tool: "t".into(),
            question: "q".into(),
            subject: None,
            detail: String::new(),
            cut: false,
            options,
        };
        let chosen = |approved, option: Option<&str>| {
            let option = option.map(str::to_owned);
            choice(&Approval { approved, option, ..Approval::default() }, &dialog)
                .map_err(|error| error.message)
        };
        assert_eq!(chosen(Some(true), None), Ok(Some("1".into())));
        assert_eq!(chosen(Some(false), None), Ok(Some("3".into())));
        assert_eq!(chosen(Some(true), Some("2")), Ok(Some("2".into())));
        assert_eq!(chosen(None, None), Ok(None));
        let always = Approval { approved: Some(true), always: true, ..Approval::default() };
        assert!(choice(&always, &dialog).unwrap_err().message.contains("from now on"));
        assert!(chosen(Some(true), Some("3")).is_err() && chosen(Some(false), Some("1")).is_err());
        assert_eq!(chosen(None, Some("9")), Err("unknown option '9'; available: 1, 2, 3".into()));
    }
}
