//! Sessions and approvals of the daemon as rows of the list.

use crate::context;
use crate::table;
use std::collections::HashMap;
use std::path::Path;
use swb_tui::top::{ApprovalChoice, ApprovalRow, SessionRow, SessionState};
use swb_vt::printable;
use swb_wire::control::{AgentState, ApprovalItem, ApprovalKind, SessionItem, SessionStatus};

/// The rows for a list of sessions; of several with one name, the running or else the newest one.
pub(super) fn sessions(items: Vec<SessionItem>, watched: Option<&str>, home: &Path) -> Vec<SessionRow> {
    let mut newest: HashMap<String, SessionRow> = HashMap::with_capacity(items.len());
    for item in items {
        let row = session(item, watched, home);
        let rank = |row: &SessionRow| (row.state != SessionState::Exited, row.created);
        match newest.get(&row.name) {
            Some(other) if rank(other) >= rank(&row) => {}
            _ => drop(newest.insert(row.name.clone(), row)),
        }
    }
    newest.into_values().collect()
}

fn session(item: SessionItem, watched: Option<&str>, home: &Path) -> SessionRow {
    let details = item.details;
    let listed = item.local_clients.saturating_add(item.web_clients);
    let clients = details.as_ref().map_or(listed, |details| details.clients);
    // The client that shows the session beside the list is our own.
    let ours = u32::from(watched == Some(item.name.as_str()));
    let agent = details.as_ref().and_then(|details| details.agent.as_ref());
    let status = details.as_ref().map_or(SessionStatus::Running, |details| details.status);
    let since = agent.map_or(0, |agent| agent.since);
    SessionRow {
        workspace: table::short_path(&item.workspace, home),
        command: details.as_ref().map(|details| table::command_line(&details.argv)).unwrap_or_default(),
        state: match status {
            SessionStatus::Exited => SessionState::Exited,
            SessionStatus::Starting => SessionState::Starting,
            SessionStatus::Running | SessionStatus::Restarting => {
                let agent = agent.filter(|agent| !context::is_no_agent(agent, item.created, table::now()));
                agent.map_or(SessionState::Unknown, |agent| state(agent.state))
            }
        },
        since: if since > 0 { since } else { item.created.saturating_mul(1000) },
        created: item.created,
        turns: details.as_ref().map_or(0, |details| details.turns),
        clients: clients.saturating_sub(ours),
        web_clients: item.web_clients,
        exit_code: details.as_ref().and_then(|details| details.exit_code),
        offset: details.as_ref().map_or(0, |details| details.offset.0),
        last_line: String::new(),
        conversation: false,
        name: item.name,
    }
}

/// The state of an agent.
pub(super) fn state(state: AgentState) -> SessionState {
    match state {
        AgentState::Starting => SessionState::Starting,
        AgentState::Working => SessionState::Working,
        AgentState::Ready => SessionState::Ready,
        AgentState::Asking => SessionState::Asking,
        AgentState::Error => SessionState::Error,
        AgentState::Exited => SessionState::Exited,
        _ => SessionState::Unknown,
    }
}

/// The row of an approval.
pub(super) fn approval(item: &ApprovalItem, home: &Path) -> ApprovalRow {
    let workspace = table::short_path(&item.workspace, home);
    let dialog = item.parameters.get("detail").and_then(serde_json::Value::as_str);
    let mut details = Vec::new();
    // First, so that nothing of an agent's comes before it.
    if item.cut && item.kind == ApprovalKind::Terminal {
        details.push("(not all of it is shown here; attach to see the rest)".to_owned());
    } else if item.cut {
        details.push(format!("(not all of it is shown here; `swb approvals show {}` shows more)", item.id));
    }
    match dialog.filter(|_| item.kind == ApprovalKind::Terminal) {
        // The terminal shows all of it.
        Some(shown) => {
            details.extend(shown.lines().map(str::to_owned));
            details.push(String::new());
            details.extend(item.reason.lines().map(str::to_owned));
        }
        None => details.extend(parameters(item)),
    }
    ApprovalRow {
        id: item.id.clone(),
        session: item.session.clone(),
        workspace,
        title: title(item),
        details,
        choices: item
            .options
            .iter()
            .map(|option| ApprovalChoice { id: option.id.clone(), label: option.label.clone() })
            .collect(),
        asked: item.asked_at,
    }
}

/// Our warnings, the tool, why it asks, and its parameters. What an agent wrote stands behind a word of ours or is indented,
/// so that no line of it looks like a warning.
fn parameters(item: &ApprovalItem) -> Vec<String> {
    let mut reason = item.reason.lines();
    let why = reason.next().unwrap_or_default();
    // Of a dialog, all lines are those of its program.
    let (ours, theirs) = match item.kind {
        ApprovalKind::Terminal => (None, Some(reason)),
        _ => (Some(reason), None),
    };
    let mut details: Vec<String> = ours.into_iter().flatten().map(|warning| format!("! {warning}")).collect();
    details.push(format!("Tool: {}", item.tool));
    if !why.is_empty() && why != item.tool {
        details.push(format!("Reason: {why}"));
    }
    details.extend(theirs.into_iter().flatten().map(|line| format!("  {line}")));
    if let serde_json::Value::Object(map) = &item.parameters {
        for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            let key = printable(key);
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            match text.lines().count() {
                0 | 1 => details.push(format!("  {key}: {text}")),
                _ => {
                    details.push(format!("  {key}:"));
                    details.extend(text.lines().map(|line| format!("    {line}")));
                }
            }
        }
    }
    details
}

/// What is asked, in one line.
fn title(item: &ApprovalItem) -> String {
    let what = crate::commands::approvals::what(item);
    if what.is_empty() || what == item.tool { item.tool.clone() } else { format!("{}: {what}", item.tool) }
}

/// The rows with the approvals taken into account: a session with a pending one asks, and a conversation that is no session has a
/// row of its own as long as it asks.
pub(super) fn with_approvals(rows: &[SessionRow], approvals: &[ApprovalRow]) -> Vec<SessionRow> {
    let mut rows = rows.to_vec();
    for approval in approvals {
        match rows.iter_mut().find(|row| row.name == approval.session) {
            Some(row) if !row.state.needs_attention() => {
                (row.state, row.since) = (SessionState::Asking, approval.asked);
            }
            Some(_) => {}
            None => rows.push(SessionRow {
                name: approval.session.clone(),
                workspace: approval.workspace.clone(),
                command: "conversation".to_owned(),
                state: SessionState::Asking,
                since: approval.asked,
                created: approval.asked / 1000,
                conversation: true,
                ..SessionRow::default()
            }),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_makes_a_session_ask_and_shows_its_conversation() {
        let row = SessionRow { name: "api".into(), state: SessionState::Working, ..SessionRow::default() };
        let approval =
            |session: &str| ApprovalRow { session: session.into(), asked: 7000, ..ApprovalRow::default() };
        let rows = with_approvals(&[row], &[approval("api"), approval("chat-1")]);
        let short: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.state, row.conversation)).collect();
        assert_eq!(short, [("api", SessionState::Asking, false), ("chat-1", SessionState::Asking, true)]);
        assert_eq!((rows[0].since, rows[1].created), (7000, 7));
    }

    #[test]
    fn warnings_come_first_and_nothing_of_an_agent_looks_like_one() {
        let item = ApprovalItem {
            tool: "execute_command".into(),
            reason: "! all is well\nThe agent's commands can reach Unix sockets.".into(),
            parameters: serde_json::json!({"! It is\nconfined": "make\nrm", "none": null}),
            cut: true,
            id: "auth-1".into(),
            ..ApprovalItem::default()
        };
        assert_eq!(
            approval(&item, Path::new("/home/u")).details,
            [
                "(not all of it is shown here; `swb approvals show auth-1` shows more)",
                "! The agent's commands can reach Unix sockets.",
                "Tool: execute_command",
                "Reason: ! all is well",
                "  ! It is\\nconfined:",
                "    make",
                "    rm",
            ]
        );
    }

    #[test]
    fn of_several_sessions_with_one_name_the_running_one_is_listed() {
        let item = |created, pid| SessionItem {
            name: "api".into(),
            workspace: "/w".into(),
            pid,
            created,
            ptys: Vec::new(),
            web_clients: 0,
            local_clients: 2,
            details: None,
        };
        let rows = sessions(vec![item(1, 1), item(3, 3), item(2, 2)], Some("api"), Path::new("/home/u"));
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].created, rows[0].clients), (3, 1), "our own client does not count");
    }
}
