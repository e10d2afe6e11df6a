//! Approvals of tool calls.

use super::{LlmToolUse, LlmTools, STOPPED};
use crate::confinement::one_line;
use crate::policy;
use swb_chat::{ApprovalAnswer, ApprovalOption, ApprovalRequest, Decision, OptionKind};

const ONCE: &str = "allow_once";
const ALWAYS: &str = "allow_always";
const REJECT: &str = "reject_once";

/// What a decision allows.
#[derive(Debug, PartialEq, Eq)]
enum ApprovalScope {
    Always,
    Once,
    /// Denied, with a message for the model.
    Refused(&'static str),
}

impl LlmTools<'_> {
    /// Returns when the tool may be used; if it is denied, an error message for the model.
    ///
    /// An "always" for a command is stored in the workspace and covers this command; for any other tool it lasts as
    /// long as the conversation is open, since its next call may do something quite different.
    pub(super) async fn permit(
        &mut self,
        this: &LlmToolUse,
        reason: &str,
        command: Option<&str>,
    ) -> Result<(), String> {
        if self.is_allowed(&this.name, command) {
            return Ok(());
        }
        let reason = match command {
            Some(_) => self.context.confinement.explain(reason, &self.exchange.workspace()),
            None => one_line(reason),
        };
        let request = ApprovalRequest {
            tool: this.name.clone(),
            tool_id: Some(this.id.clone()),
            parameters: this.parameters.clone(),
            reason,
            options: options(command),
        };
        match meaning(&self.exchange.approve(request).await) {
            ApprovalScope::Once => Ok(()),
            ApprovalScope::Always => {
                match command.map(policy::rule_for) {
                    Some(Some(rule)) => self.exchange.approve_command(rule).await,
                    // It was not offered.
                    Some(None) => {}
                    None => drop(self.allowed.insert(this.name.clone())),
                }
                Ok(())
            }
            ApprovalScope::Refused(why) => Err(why.to_owned()),
        }
    }

    fn is_allowed(&self, tool: &str, command: Option<&str>) -> bool {
        let rules = &self.context.allow;
        let by_tool =
            rules.tools.iter().any(|rule| rule == tool || rule == "*") || self.allowed.contains(tool);
        by_tool
            || command.is_some_and(|command| {
                policy::allows(&rules.commands, command)
                    || policy::allows(&self.exchange.workspace().commands_approved, command)
            })
    }
}

fn options(command: Option<&str>) -> Vec<ApprovalOption> {
    let always = match command.map(policy::rule_for) {
        Some(Some(_)) => Some("Always allow this command here"),
        // As a rule it would allow other commands, too.
        Some(None) => None,
        None => Some("Allow for the rest of this session"),
    };
    let option = |id: &str, label: &str, kind| ApprovalOption { id: id.into(), label: label.into(), kind };
    let once = option(ONCE, "Allow", OptionKind::AllowOnce);
    let always = always.map(|label| option(ALWAYS, label, OptionKind::AllowAlways));
    let reject = option(REJECT, "Reject", OptionKind::RejectOnce);
    [Some(once), always, Some(reject)].into_iter().flatten().collect()
}

fn meaning(decision: &Decision) -> ApprovalScope {
    const DENIED: &str = "the user has refused this; do not try it in another way, ask what to do instead";
    match decision {
        Decision::Decided(ApprovalAnswer { approved: true, option, always }) => match option.as_deref() {
            Some(REJECT) => ApprovalScope::Refused(DENIED),
            Some(ALWAYS) => ApprovalScope::Always,
            _ if *always => ApprovalScope::Always,
            _ => ApprovalScope::Once,
        },
        Decision::Decided(_) => ApprovalScope::Refused(DENIED),
        Decision::Lapsed | Decision::Withdrawn => ApprovalScope::Refused("no user allowed this in time"),
        Decision::Stopped => ApprovalScope::Refused(STOPPED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_reads_as_a_prefix_rule_cannot_be_allowed_always() {
        let ids = |command| options(command).into_iter().map(|option| option.id).collect::<Vec<_>>();
        assert_eq!(ids(Some("find *")), [ONCE, REJECT]);
        assert_eq!(ids(Some("find .")), [ONCE, ALWAYS, REJECT]);
        assert_eq!(ids(None), [ONCE, ALWAYS, REJECT]);
    }

    #[test]
    fn decisions_have_the_meaning_of_their_names() {
        let decided = |approved, option: Option<&str>, always| {
            meaning(&Decision::Decided(ApprovalAnswer {
                approved,
                option: option.map(str::to_owned),
                always,
            }))
        };
        assert_eq!(decided(true, None, false), ApprovalScope::Once);
        assert_eq!(decided(true, Some(ONCE), false), ApprovalScope::Once);
        assert_eq!(decided(true, None, true), ApprovalScope::Always);
        assert_eq!(decided(true, Some(ALWAYS), false), ApprovalScope::Always);
        for refused in [
            decided(true, Some(REJECT), true),
            decided(false, None, false),
            decided(false, Some(ALWAYS), true),
            meaning(&Decision::Lapsed),
            meaning(&Decision::Stopped),
            meaning(&Decision::Withdrawn),
        ] {
            assert!(matches!(refused, ApprovalScope::Refused(_)), "{refused:?}");
        }
    }
}
