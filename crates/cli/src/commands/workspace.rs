//! `swb workspace`: the directories that agents work in.

use crate::args::{self, WorkspaceCommand};
use crate::context::{self, Context};
use crate::error::{Failure, Outcome};
use crate::table::{self, now, short_path};
use std::path::{Path, PathBuf};
use swb_vt::printable;
use swb_wire::control::{Operation, Workspace, WorkspaceItem, WorkspaceReply, Workspaces, WorkspacesReply};

/// Lists workspaces, adds one or creates one.
pub(super) fn run(context: &Context, args: args::WorkspaceArgs) -> Outcome {
    match args.command.unwrap_or(WorkspaceCommand::Ls) {
        WorkspaceCommand::Ls => {
            let reply: WorkspacesReply = context.query(&Operation::Workspaces(Workspaces {}))?;
            context.answer(&reply.workspaces, |all| text(all, now(), &context.paths.home))?;
            Ok(0)
        }
        WorkspaceCommand::Add { dir, context: dirs, agent } => add(context, dir.as_deref(), &dirs, agent),
        WorkspaceCommand::Create { name, from, agent } => {
            let path = context::workspace(from.as_deref())?;
            let umask = Some(context::umask());
            keep(context, Workspace { path, agent, worktree: Some(name), umask, context_dirs: None })
        }
    }
}

fn add(context: &Context, dir: Option<&Path>, dirs: &[PathBuf], agent: Option<String>) -> Outcome {
    let path = context::workspace(dir)?;
    let full: Result<Vec<String>, Failure> = dirs.iter().map(|dir| context::workspace(Some(dir))).collect();
    let context_dirs = Some(full?).filter(|dirs| !dirs.is_empty());
    keep(context, Workspace { path, context_dirs, agent, ..Workspace::default() })
}

fn keep(context: &Context, workspace: Workspace) -> Outcome {
    let reply: WorkspaceReply = context.execute(&Operation::Workspace(workspace))?;
    context.answer(&reply.workspace, |workspace| printable(&workspace.path).into_owned())?;
    Ok(0)
}

fn text(all: &[WorkspaceItem], now: u64, home: &Path) -> String {
    if all.is_empty() {
        return "No workspaces. `swb workspace add` adds this directory.\n".to_owned();
    }
    let rows: Vec<[String; 6]> = all.iter().map(|one| row(one, now, home)).collect();
    table::layout(["NAME", "BRANCH", "SESSIONS", "AGENT", "USED", "PATH"], &rows)
}

fn row(one: &WorkspaceItem, now: u64, home: &Path) -> [String; 6] {
    let or_dash = |text: Option<&String>| text.map_or("-", String::as_str).to_owned();
    let mut branch = or_dash(one.current_branch.as_ref());
    if one.is_worktree {
        branch.push_str(" (worktree)");
    }
    [
        one.name.clone(),
        branch,
        one.sessions.to_string(),
        or_dash(one.agent.as_ref()),
        table::age(now.saturating_sub(one.last_accessed / 1000)),
        short_path(&one.path, home),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_a_table() {
        let api = WorkspaceItem {
            path: "/home/u/api".into(),
            name: "api".into(),
            agent: Some("claude".into()),
            current_branch: Some("main".into()),
            sessions: 2,
            last_accessed: 60_000,
            ..WorkspaceItem::default()
        };
        let fix = WorkspaceItem {
            path: "/home/u/api-fix".into(),
            name: "api-fix".into(),
            current_branch: Some("fix".into()),
            is_worktree: true,
            last_accessed: 60_000,
            ..WorkspaceItem::default()
        };
        insta::assert_snapshot!(text(&[api, fix], 180, Path::new("/home/u")), @r"
        NAME     BRANCH          SESSIONS  AGENT   USED  PATH
        api      main            2         claude  2m    ~/api
        api-fix  fix (worktree)  0         -       2m    ~/api-fix
        ");
        assert!(text(&[], 0, Path::new("/")).contains("swb workspace add"));
    }
}
