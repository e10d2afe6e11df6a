//! Permissions that an agent requests.

use super::tools;
use crate::config::Allow;
use crate::policy;
use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SelectedPermissionOutcome,
};
use reqwest::Url;
use serde_json::Value;
use swb_chat::{
    ApprovalAnswer, ApprovalOption, ApprovalRequest, Decision, OptionKind, ToolCall, ToolKind, Workspace,
};

/// The subject of a permission that can be allowed permanently.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Command(String),
    Domain(String),
}

/// The approval to request from the user, and the kind of tool. `known` is the tool call as the agent announced it.
pub(super) fn approval(
    request: &RequestPermissionRequest,
    known: Option<&ToolCall>,
) -> (ApprovalRequest, ToolKind) {
    let fields = &request.tool_call.fields;
    let mut call = known.cloned().unwrap_or_else(|| tools::unknown(&request.tool_call.tool_call_id));
    tools::merge(&mut call, fields);
    let reason = call.description.clone().unwrap_or_else(|| format!("the agent asks to use {}", call.name));
    let approval = ApprovalRequest {
        tool: call.name,
        tool_id: known.map(|call| call.id.clone()),
        parameters: with_changes(call.parameters, tools::diffs(fields)),
        reason,
        options: request.options.iter().map(option).collect(),
    };
    (approval, call.kind)
}

/// The parameters, with the edits that the agent shows beside them, unless they contain these.
fn with_changes(parameters: Value, changes: Vec<Value>) -> Value {
    let known = |texts: &str| {
        changes.iter().all(|change| change["new_text"].as_str().is_some_and(|new| new == texts))
    };
    let has = |key: &str| parameters.get(key).and_then(Value::as_str).is_some_and(known);
    if changes.is_empty() || ["new_text", "new_string", "newText", "content"].iter().any(|key| has(key)) {
        return parameters;
    }
    let mut fields = match parameters {
        Value::Null => serde_json::Map::new(),
        Value::Object(fields) if !fields.contains_key("changes") => fields,
        other => return other,
    };
    fields.insert("changes".to_owned(), Value::Array(changes));
    Value::Object(fields)
}

fn option(option: &PermissionOption) -> ApprovalOption {
    let kind = match option.kind {
        PermissionOptionKind::AllowAlways => OptionKind::AllowAlways,
        PermissionOptionKind::AllowOnce => OptionKind::AllowOnce,
        PermissionOptionKind::RejectAlways => OptionKind::RejectAlways,
        // Kinds that a later version adds must not allow anything.
        _ => OptionKind::RejectOnce,
    };
    ApprovalOption { id: option.option_id.to_string(), label: option.name.clone(), kind }
}

/// The command to run or the domain to reach, if the permission is about one.
pub(super) fn subject(approval: &ApprovalRequest, kind: ToolKind) -> Option<Subject> {
    let parameter = |name: &str| approval.parameters.get(name).and_then(Value::as_str);
    match kind {
        ToolKind::Execute => parameter("command").map(|command| Subject::Command(command.to_owned())),
        ToolKind::Fetch => {
            let url = Url::parse(parameter("url")?).ok()?;
            url.host_str().map(|domain| Subject::Domain(domain.to_owned()))
        }
        _ => None,
    }
}

/// Whether it is allowed without approval: by the user's policy, which names tools, kinds of tools or commands, or by
/// what was allowed in the workspace.
pub(super) fn is_allowed(
    approval: &ApprovalRequest,
    kind: ToolKind,
    allow: &Allow,
    workspace: &Workspace,
) -> bool {
    let tool = |rule: &String| rule == "*" || *rule == approval.tool || rule == tools::word(kind);
    let by_subject = match subject(approval, kind) {
        Some(Subject::Command(command)) => [&allow.commands, &workspace.commands_approved]
            .iter()
            .any(|rules| policy::allows(rules, &command)),
        Some(Subject::Domain(domain)) => policy::allows_domain(&workspace.domains_approved, &domain),
        None => false,
    };
    allow.tools.iter().any(tool) || by_subject
}

/// Whether it was allowed permanently and the agent has no option to remember that itself.
pub(super) fn is_ours_to_keep(options: &[ApprovalOption], decision: &Decision) -> bool {
    let own = options.iter().any(|option| option.kind == OptionKind::AllowAlways);
    matches!(decision, Decision::Decided(ApprovalAnswer { approved: true, always: true, .. })) && !own
}

/// The outcome sent to the agent: the chosen option, or the one nearest to the decision.
pub(super) fn outcome(options: &[ApprovalOption], decision: &Decision) -> RequestPermissionOutcome {
    let kinds = match decision {
        Decision::Decided(verdict) => return decided(options, verdict),
        Decision::Lapsed | Decision::Withdrawn => [OptionKind::RejectOnce, OptionKind::RejectAlways],
        Decision::Stopped => return RequestPermissionOutcome::Cancelled,
    };
    first(options, &kinds)
}

fn decided(options: &[ApprovalOption], verdict: &ApprovalAnswer) -> RequestPermissionOutcome {
    let chosen = options.iter().find(|option| verdict.option.as_ref() == Some(&option.id));
    // If the option contradicts the verdict, deny: that is the safe side.
    if let Some(chosen) = chosen.filter(|option| option.kind.allows() == verdict.approved) {
        return selected(chosen);
    }
    let kinds = match (verdict.approved && chosen.is_none(), verdict.always) {
        (true, false) => [OptionKind::AllowOnce, OptionKind::AllowAlways],
        (true, true) => [OptionKind::AllowAlways, OptionKind::AllowOnce],
        (false, false) => [OptionKind::RejectOnce, OptionKind::RejectAlways],
        (false, true) => [OptionKind::RejectAlways, OptionKind::RejectOnce],
    };
    // Allowing something once does not allow it permanently.
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

    fn answer(options: &[ApprovalOption], decision: Decision) -> String {
        let value = serde_json::to_value(outcome(options, &decision)).unwrap();
        value["optionId"].as_str().or(value["outcome"].as_str()).unwrap().to_owned()
    }

    fn verdict(approved: bool, option: Option<&str>, always: bool) -> Decision {
        Decision::Decided(ApprovalAnswer { approved, option: option.map(Into::into), always })
    }

    #[test]
    fn the_outcome_is_the_chosen_option_or_the_nearest() {
        use OptionKind::{AllowAlways, AllowOnce, RejectOnce};
        let all = options(&[
            ("once", AllowOnce),
            ("twice", AllowOnce),
            ("always", AllowAlways),
            ("no", RejectOnce),
        ]);
        assert_eq!(answer(&all, verdict(true, None, false)), "once");
        assert_eq!(answer(&all, verdict(true, Some("twice"), false)), "twice");
        assert_eq!(answer(&all, verdict(true, None, true)), "always");
        assert_eq!(answer(&all, verdict(false, None, false)), "no");
        assert_eq!(answer(&all, verdict(false, None, true)), "no");
        assert_eq!(answer(&all, verdict(false, Some("once"), false)), "no", "the verdict says no");
        assert_eq!(answer(&all, verdict(true, Some("no"), false)), "no", "the option says no");
        assert_eq!(answer(&all, Decision::Lapsed), "no");
        assert_eq!(answer(&all, Decision::Stopped), "cancelled");
        let lasting = options(&[("always", AllowAlways)]);
        assert_eq!(answer(&lasting, verdict(true, None, false)), "cancelled", "once is not for ever");
        assert_eq!(answer(&lasting, verdict(true, Some("always"), false)), "always");
        assert_eq!(answer(&[], verdict(true, None, false)), "cancelled");
    }

    #[test]
    fn an_approval_shows_what_is_known_about_the_tool_call() {
        let request = |call: Value| -> RequestPermissionRequest {
            let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"},
                                 {"optionId": "z", "name": "Never", "kind": "reject_always"}]);
            serde_json::from_value(json!({"sessionId": "s", "toolCall": call, "options": options})).unwrap()
        };
        let call =
            json!({"toolCallId": "c", "title": "Run ls", "kind": "execute", "rawInput": {"command": "ls"}});
        let (asked, kind) = approval(&request(call), None);
        assert_eq!(
            (asked.tool.as_str(), asked.reason.as_str(), kind),
            ("execute", "Run ls", ToolKind::Execute)
        );
        assert_eq!((asked.tool_id, &asked.parameters["command"]), (None, &json!("ls")));
        let kinds: Vec<OptionKind> = asked.options.iter().map(|option| option.kind).collect();
        assert_eq!(kinds, [OptionKind::AllowOnce, OptionKind::RejectAlways]);

        let diff = json!([{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}]);
        let edit =
            |input: Value| json!({"toolCallId": "c", "kind": "edit", "rawInput": input, "content": diff});
        let changes = json!([{"path": "/a", "old_text": "x", "new_text": "y"}]);
        let parameters = |call: Value| approval(&request(call), None).0.parameters;
        assert_eq!(parameters(edit(Value::Null)), json!({"changes": changes}));
        assert_eq!(parameters(edit(json!({"mode": 1}))), json!({"mode": 1, "changes": changes}));
        let known = json!({"file_path": "/a", "old_string": "x", "new_string": "y"});
        assert_eq!(parameters(edit(known.clone())), known, "it is there already");

        let mut known = tools::unknown(&"c".into());
        (known.name, known.kind) = ("Bash".into(), ToolKind::Execute);
        let (asked, kind) = approval(&request(json!({"toolCallId": "c"})), Some(&known));
        assert_eq!((asked.tool.as_str(), kind), ("Bash", ToolKind::Execute));
        assert_eq!((asked.tool_id, asked.reason.as_str()), (Some(known.id), "the agent asks to use Bash"));
    }

    #[test]
    fn the_policy_allows_commands_and_tools_by_name_or_kind() {
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
        let mut workspace = Workspace::new(std::path::Path::new("/w"), swb_types::Timestamp(0));
        for (tools, commands, expected) in [
            (&["Bash"][..], &[][..], true),
            (&["execute"], &[], true),
            (&["*"], &[], true),
            (&[], &["ls"], true),
            (&[], &["ls *"], true),
            (&["read"], &["ls -l", "l *"], false),
        ] {
            assert_eq!(
                is_allowed(&approval, ToolKind::Execute, &allow(tools, commands), &workspace),
                expected,
                "{tools:?}"
            );
        }
        assert!(!is_allowed(&approval, ToolKind::Edit, &allow(&[], &["ls"]), &workspace));
        workspace.commands_approved = vec!["ls".into()];
        assert!(is_allowed(&approval, ToolKind::Execute, &Allow::default(), &workspace));
    }

    #[test]
    fn domains_of_the_workspace_need_no_approval() {
        let mut workspace = Workspace::new(std::path::Path::new("/w"), swb_types::Timestamp(0));
        workspace.domains_approved = vec!["docs.rs".into()];
        let mut approval = ApprovalRequest {
            tool: "WebFetch".into(),
            tool_id: None,
            parameters: json!({}),
            reason: String::new(),
            options: Vec::new(),
        };
        for (url, expected) in [
            ("https://docs.rs/serde", true),
            ("https://DOCS.rs:443", true),
            ("https://docs.rs@evil.example/", false),
            ("https://evil.example/docs.rs", false),
            ("docs.rs", false),
            ("file:///docs.rs", false),
        ] {
            approval.parameters = json!({ "url": url });
            let allowed = is_allowed(&approval, ToolKind::Fetch, &Allow::default(), &workspace);
            assert_eq!(allowed, expected, "{url}");
        }
        approval.parameters = json!({"url": "https://docs.rs"});
        assert!(!is_allowed(&approval, ToolKind::Execute, &Allow::default(), &workspace));
    }

    #[test]
    fn a_permission_that_the_agent_remembers_is_not_stored() {
        let once = options(&[("once", OptionKind::AllowOnce)]);
        let both = options(&[("once", OptionKind::AllowOnce), ("always", OptionKind::AllowAlways)]);
        assert!(is_ours_to_keep(&once, &verdict(true, None, true)));
        assert!(!is_ours_to_keep(&both, &verdict(true, None, true)));
        assert!(!is_ours_to_keep(&once, &verdict(true, None, false)));
        assert!(!is_ours_to_keep(&once, &verdict(false, None, true)));
        assert!(!is_ours_to_keep(&once, &Decision::Lapsed));
    }
}
