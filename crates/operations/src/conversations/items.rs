//! Entries of lists: conversations, approvals and workspaces.

use crate::limits;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use swb_chat::{ApprovalId, FoundPrompt, OptionKind, SearchHit, Summary, Workspace};
use swb_engine::chat::GitFacts;
use swb_engine::chat::{Chat, ListedChat};
use swb_engine::{Session, approval_of};
use swb_turns::{Dialog, DialogOption, Meaning};
use swb_types::{SessionName, Timestamp};
use swb_wire::control::{
    ApprovalItem, ApprovalKind, ChoiceItem, ConversationItem, HitItem, PromptItem, WorkspaceItem,
};

/// An approval; texts in the tool's parameters are cut to `most` bytes.
pub(crate) fn approval(chat: &Chat, approval: &swb_chat::Approval, most: usize) -> ApprovalItem {
    item(chat.name(), chat.working_dir(), approval, most)
}

fn item(name: &SessionName, dir: &Path, approval: &swb_chat::Approval, most: usize) -> ApprovalItem {
    let request = &approval.request;
    let mut cut = false;
    let parameters = shortened(&request.parameters, most, limits::SHOWN_DEPTH, &mut cut);
    let line = |text: &str| clipped(text, limits::SHOWN_LINE.min(most.max(64))).to_owned();
    ApprovalItem {
        id: approval.id.to_string(),
        session: name.to_string(),
        kind: ApprovalKind::Chat,
        workspace: path(dir),
        tool: line(&request.tool),
        parameters,
        cut,
        reason: reason(&request.reason, line),
        options: request
            .options
            .iter()
            .take(limits::SHOWN_ENTRIES)
            .map(|option| ChoiceItem {
                id: option.id.clone(),
                label: line(&option.label),
                kind: option_kind(option.kind).to_owned(),
            })
            .collect(),
        asked_at: approval.asked_at.0,
        seen: approval.seen,
    }
}

/// A message of a user.
pub(crate) fn prompt(found: &FoundPrompt) -> PromptItem {
    let text = clipped(&found.text, limits::PROMPT_BYTES).to_owned();
    PromptItem { session: found.name.to_string(), at: found.at.0, text }
}

/// A reason: the first line, which may be an agent's text, is cut like other texts; what follows are our warnings.
fn reason(text: &str, line: impl Fn(&str) -> String) -> String {
    match text.split_once('\n') {
        Some((first, warnings)) => format!("{}\n{}", line(first), clipped(warnings, limits::SHOWN_LINE)),
        None => line(text),
    }
}

/// A dialog on a terminal, under its id as an approval.
pub(crate) fn dialog(session: &Session, dialog: &Dialog, id: ApprovalId, most: usize) -> ApprovalItem {
    let (request, asked_at) = (approval_of(dialog), Timestamp(session.view().status.since.millis()));
    let approval = swb_chat::Approval { id, request, asked_at, seen: true };
    let mut item = item(session.name(), session.workspace(), &approval, most);
    item.kind = ApprovalKind::Terminal;
    item.cut |= dialog.cut;
    // Options that neither allow nor reject are included.
    item.options = dialog.options.iter().map(choice).collect();
    item
}

fn choice(option: &DialogOption) -> ChoiceItem {
    let kind = match option.meaning {
        Meaning::AllowAlways => "allow_always",
        Meaning::AllowOnce => "allow_once",
        Meaning::Other => "other",
        Meaning::RejectAlways => "reject_always",
        Meaning::RejectOnce => "reject_once",
    };
    ChoiceItem { id: option.id.clone(), label: option.label.clone(), kind: kind.to_owned() }
}

fn option_kind(kind: OptionKind) -> &'static str {
    match kind {
        OptionKind::AllowAlways => "allow_always",
        OptionKind::AllowOnce => "allow_once",
        OptionKind::RejectAlways => "reject_always",
        OptionKind::RejectOnce => "reject_once",
    }
}

pub(crate) fn conversation(listed: &ListedChat) -> ConversationItem {
    let (saved, autosaved) = (listed.saved, listed.autosaved);
    let asking_since = listed.asking_since.map(|since| since.0);
    let item = summary(&listed.summary, listed.live, listed.running);
    ConversationItem { saved, autosaved, asking_since, ..item }
}

pub(crate) fn summary(summary: &Summary, live: bool, running: bool) -> ConversationItem {
    ConversationItem {
        session: summary.name.to_string(),
        title: clipped(&summary.title, limits::SHOWN_LINE).to_owned(),
        workspace: path(&summary.workspace),
        messages: summary.message_count as u64,
        created: summary.created.0,
        updated: summary.updated.0,
        tokens: summary.usage.total_tokens(),
        cost: summary.usage.cost,
        live,
        saved: !live,
        autosaved: false,
        running,
        asking_since: None,
        agent: summary.agent.clone(),
    }
}

pub(crate) fn hit(hit: &SearchHit, live: Option<&Chat>) -> HitItem {
    let running = live.is_some_and(|chat| chat.view().state.is_running());
    HitItem {
        conversation: ConversationItem { saved: true, ..summary(&hit.summary, live.is_some(), running) },
        number: hit.number,
        role: hit.role.as_str().to_owned(),
        at: hit.at.0,
        excerpt: hit.excerpt.clone(),
    }
}

pub(crate) fn workspace(workspace: &Workspace, facts: &GitFacts, sessions: usize) -> WorkspaceItem {
    let paths = |list: &[PathBuf]| list.iter().take(limits::SHOWN_ENTRIES).map(|one| path(one)).collect();
    let texts = |list: &[String]| {
        list.iter()
            .take(limits::SHOWN_ENTRIES)
            .map(|one| clipped(one, limits::SHOWN_LINE).to_owned())
            .collect()
    };
    WorkspaceItem {
        path: path(&workspace.path),
        id: workspace.id(),
        name: workspace.name(),
        context_dirs: paths(&workspace.context_dirs),
        landlock_read: paths(&workspace.landlock_read),
        landlock_write: paths(&workspace.landlock_write),
        commands_approved: texts(&workspace.commands_approved),
        domains_approved: texts(&workspace.domains_approved),
        agent: workspace.agent.clone(),
        repository_root: facts.repository_root.as_deref().map(path),
        current_branch: facts.current_branch.clone(),
        is_worktree: facts.is_worktree,
        worktree_name: facts.worktree_name.clone(),
        sessions: sessions as u64,
        created: workspace.created.0,
        last_accessed: workspace.last_accessed.0,
    }
}

/// A tool's parameters with no text longer than `most` bytes; sets `cut` if something was left out.
pub(crate) fn shortened(value: &Value, most: usize, depth: usize, cut: &mut bool) -> Value {
    match value {
        Value::String(text) if text.len() > most => {
            *cut = true;
            Value::String(format!("{}…", clipped(text, most)))
        }
        Value::Array(_) | Value::Object(_) if depth == 0 => {
            *cut = true;
            Value::Null
        }
        Value::Array(list) => {
            *cut |= list.len() > limits::SHOWN_ENTRIES;
            list.iter().take(limits::SHOWN_ENTRIES).map(|one| shortened(one, most, depth - 1, cut)).collect()
        }
        Value::Object(map) => {
            *cut |= map.len() > limits::SHOWN_ENTRIES;
            let entry = |(key, one): (&String, &Value)| {
                (clipped(key, limits::SHOWN_LINE).to_owned(), shortened(one, most, depth - 1, cut))
            };
            Value::Object(map.iter().take(limits::SHOWN_ENTRIES).map(entry).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The beginning of a text, at most `most` bytes.
pub(crate) fn clipped(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_long_reason_does_not_displace_warnings() {
        let line = |text: &str| clipped(text, 3).to_owned();
        assert_eq!(reason("why", line), "why");
        assert_eq!(reason("whyever\nWarning.\nAnother.", line), "why\nWarning.\nAnother.");
        let long = reason(&format!("why\n{}", "x".repeat(1 << 20)), line);
        assert!(long.len() < 2 * limits::SHOWN_LINE, "{}", long.len());
    }

    #[test]
    fn long_parameters_are_cut() {
        let mut cut = false;
        let value = json!({"path": "a", "content": "ä".repeat(100), "n": [1, null, true]});
        assert_eq!(shortened(&value, 1000, limits::SHOWN_DEPTH, &mut cut), value);
        assert!(!cut);
        let short = shortened(&value, 5, limits::SHOWN_DEPTH, &mut cut);
        assert_eq!(short, json!({"path": "a", "content": "ää…", "n": [1, null, true]}));
        assert!(cut);
        let mut deep = json!(1);
        (0..1000).for_each(|_| deep = json!([deep]));
        cut = false;
        assert!(shortened(&deep, 5, limits::SHOWN_DEPTH, &mut cut).to_string().len() < 100 && cut);
        cut = false;
        let long = Value::Array(vec![json!(0); 1000]);
        assert_eq!(
            shortened(&long, 5, limits::SHOWN_DEPTH, &mut cut).as_array().unwrap().len(),
            limits::SHOWN_ENTRIES
        );
        assert!(cut);
    }
}
