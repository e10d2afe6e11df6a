//! Permissions that an agent asks for.

use super::tools;
use crate::config::Allow;
use crate::policy;
use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SelectedPermissionOutcome,
};
use serde_json::Value;
use swb_chat::{ApprovalOption, ApprovalRequest, Decision, OptionKind, ToolCall, ToolKind, Verdict};

/// What people are asked, and what the tool is for. `known` is the use of the tool as the agent has announced it.
pub(super) fn approval(
    request: &RequestPermissionRequest,
    known: Option<&ToolCall>,
) -> (ApprovalRequest, ToolKind) {
    let fields = &request.tool_call.fields;
    let mut call = known.cloned().unwrap_or_else(|| tools::unknown(&request.tool_call.tool_call_id));
    tools::merge(&mut call, fields);
    let reason = call.description.clone().unwrap_or_else(|| format!("the agent wants to use {}", call.name));
    let approval = ApprovalRequest {
        tool: call.name,
        tool_id: known.map(|call| call.id.clone()),
        parameters: call.parameters,
        reason,
        options: request.options.iter().map(option).collect(),
    };
    (approval, call.kind)
}

fn option(option: &PermissionOption) -> ApprovalOption {
    let kind = match option.kind {
        PermissionOptionKind::AllowAlways => OptionKind::AllowAlways,
        PermissionOptionKind::AllowOnce => OptionKind::AllowOnce,
        PermissionOptionKind::RejectAlways => OptionKind::RejectAlways,
        // What a later version may add must not allow anything.
        _ => OptionKind::RejectOnce,
    };
    ApprovalOption { id: option.option_id.to_string(), label: option.name.clone(), kind }
}

/// Whether the user's policy lets it happen without asking: by the tool's name or kind, or by the command.
pub(super) fn is_allowed(
    approval: &ApprovalRequest,
    kind: ToolKind,
    allow: &Allow,
    commands: &[String],
) -> bool {
    let tool = |rule: &String| rule == "*" || *rule == approval.tool || rule == tools::word(kind);
    let command = approval.parameters.get("command").and_then(Value::as_str);
    let command = command.filter(|_| kind == ToolKind::Execute);
    let command_allowed = command
        .is_some_and(|command| policy::allows(&allow.commands, command) || policy::allows(commands, command));
    allow.tools.iter().any(tool) || command_allowed
}

/// What the agent is told: the option that was chosen, or the one that comes nearest to what was decided.
pub(super) fn outcome(options: &[ApprovalOption], decision: &Decision) -> RequestPermissionOutcome {
    let kinds = match decision {
        Decision::Decided(verdict) => return decided(options, verdict),
        Decision::Lapsed | Decision::Withdrawn => [OptionKind::RejectOnce, OptionKind::RejectAlways],
        Decision::Stopped => return RequestPermissionOutcome::Cancelled,
    };
    first(options, &kinds)
}

fn decided(options: &[ApprovalOption], verdict: &Verdict) -> RequestPermissionOutcome {
    let chosen = options.iter().find(|option| verdict.option.as_ref() == Some(&option.id));
    // An option that means the opposite of the verdict is a mistake, and no is the safe side of it.
    if let Some(chosen) = chosen.filter(|option| option.kind.allows() == verdict.approved) {
        return selected(chosen);
    }
    let kinds = match (verdict.approved && chosen.is_none(), verdict.always) {
        (true, false) => [OptionKind::AllowOnce, OptionKind::AllowAlways],
        (true, true) => [OptionKind::AllowAlways, OptionKind::AllowOnce],
        (false, false) => [OptionKind::RejectOnce, OptionKind::RejectAlways],
        (false, true) => [OptionKind::RejectAlways, OptionKind::RejectOnce],
    };
    // Nobody who allows something once has allowed it for ever.
    let most = if kinds[0] == OptionKind::AllowOnce { 1 } else { 2 };
    first(options, &kinds[..most])
}

fn first(options: &[ApprovalOption], kinds: &[OptionKind]) -> RequestPermissionOutcome {
    let found = kinds.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind));
    found.map_or(RequestPermissionOutcome::Cancelled, selected)
}

fn selected(option: &ApprovalOption) -> RequestPermissionOutcome {
    RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.id.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn options(kinds: &[(&str, OptionKind)]) -> Vec<ApprovalOption> {
        let option = |(id, kind): &(&str, OptionKind)| ApprovalOption {
            id: (*id).into(),
            label: (*id).into(),
            kind: *kind,
        };
        kinds.iter().map(option).collect()
    }

    fn told(options: &[ApprovalOption], decision: Decision) -> String {
        let value = serde_json::to_value(outcome(options, &decision)).unwrap();
        value["optionId"].as_str().or(value["outcome"].as_str()).unwrap().to_owned()
    }

    fn verdict(approved: bool, option: Option<&str>, always: bool) -> Decision {
        Decision::Decided(Verdict { approved, option: option.map(Into::into), always })
    }

    #[test]
    fn the_outcome_is_the_option_chosen_or_the_nearest() {
        use OptionKind::{AllowAlways, AllowOnce, RejectOnce};
        let all = options(&[
            ("once", AllowOnce),
            ("twice", AllowOnce),
            ("always", AllowAlways),
            ("no", RejectOnce),
        ]);
        assert_eq!(told(&all, verdict(true, None, false)), "once");
        assert_eq!(told(&all, verdict(true, Some("twice"), false)), "twice");
        assert_eq!(told(&all, verdict(true, None, true)), "always");
        assert_eq!(told(&all, verdict(false, None, false)), "no");
        assert_eq!(told(&all, verdict(false, None, true)), "no");
        assert_eq!(told(&all, verdict(false, Some("once"), false)), "no", "the verdict says no");
        assert_eq!(told(&all, verdict(true, Some("no"), false)), "no", "the option says no");
        assert_eq!(told(&all, Decision::Lapsed), "no");
        assert_eq!(told(&all, Decision::Stopped), "cancelled");
        let lasting = options(&[("always", AllowAlways)]);
        assert_eq!(told(&lasting, verdict(true, None, false)), "cancelled", "once is not for ever");
        assert_eq!(told(&lasting, verdict(true, Some("always"), false)), "always");
        assert_eq!(told(&[], verdict(true, None, false)), "cancelled");
    }

    #[test]
    fn the_policy_allows_tools_by_name_and_kind_and_commands() {
        let approval = ApprovalRequest {
            tool: "Bash".into(),
            tool_id: None,
            parameters: json!({"command": "ls"}),
            reason: String::new(),
            options: Vec::new(),
        };
        let allow = |tools: &[&str], commands: &[&str]| {
            let own = |list: &[&str]| list.iter().map(|rule| (*rule).to_owned()).collect();
            Allow { tools: own(tools), commands: own(commands) }
        };
        for (tools, commands, expected) in [
            (&["Bash"][..], &[][..], true),
            (&["execute"], &[], true),
            (&["*"], &[], true),
            (&[], &["ls"], true),
            (&[], &["ls *"], true),
            (&["read"], &["ls -l", "l *"], false),
        ] {
            assert_eq!(
                is_allowed(&approval, ToolKind::Execute, &allow(tools, commands), &[]),
                expected,
                "{tools:?}"
            );
        }
        assert!(!is_allowed(&approval, ToolKind::Edit, &allow(&[], &["ls"]), &[]));
        assert!(is_allowed(&approval, ToolKind::Execute, &Allow::default(), &["ls".into()]));
    }
}
