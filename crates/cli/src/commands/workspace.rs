//! `swb workspace`: the directories that agents work in.

use crate::args::{self, WorkspaceCommand};
use crate::context::{self, Context};
use crate::error::{Failure, Outcome};
use crate::table::{self, now, short_path};
use std::path::{Path, PathBuf};
use swb_types::did_you_mean;
use swb_vt::printable;
use swb_wire::control::{Operation, Workspace, WorkspaceItem, WorkspaceReply, Workspaces, WorkspacesReply};

/// Lists workspaces, adds one or creates one.
pub(super) fn run(context: &Context, args: args::WorkspaceArgs) -> Outcome {
    match args.command.unwrap_or(WorkspaceCommand::Ls) {
        WorkspaceCommand::Ls => {
            let reply: WorkspacesReply = context.query(&Operation::Workspaces(Workspaces {}))?;
            context.print_result(&reply.workspaces, |all| text(all, now(), &context.paths.home))?;
            Ok(0)
        }
        WorkspaceCommand::Add { dir, context: dirs, agent } => add(context, dir.as_deref(), &dirs, agent),
        WorkspaceCommand::Rm { workspaces } => remove(context, &workspaces),
        WorkspaceCommand::Create { name, from, agent } => {
            let path = context::workspace(from.as_deref())?;
            let umask = Some(context::umask());
            keep(context, Workspace { path, agent, worktree: Some(name), umask, ..Workspace::default() })
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
    context.print_result(&reply.workspace, |workspace| printable(&workspace.path).into_owned())?;
    Ok(0)
}

/// Removes workspaces from the list, all or none of those that do not exist.
fn remove(context: &Context, named: &[String]) -> Outcome {
    let reply: WorkspacesReply = context.query(&Operation::Workspaces(Workspaces {}))?;
    let paths: Vec<String> =
        named.iter().map(|name| meant(&reply.workspaces, name)).collect::<Result<_, _>>()?;
    let mut removed = Vec::with_capacity(paths.len());
    for path in paths {
        let request = Workspace { path, forget: true, ..Workspace::default() };
        let reply: WorkspaceReply = context.execute(&Operation::Workspace(request))?;
        removed.push(reply.workspace.path);
    }
    context.print_result(&removed, |removed| {
        let line =
            |path: &String| format!("Removed {} from the list\n", short_path(path, &context.paths.home));
        removed.iter().map(line).collect()
    })?;
    Ok(0)
}

/// The path of the workspace with this path or name.
fn meant(all: &[WorkspaceItem], name: &str) -> Result<String, Failure> {
    let real = Path::new(name).canonicalize().ok();
    let trimmed = name.strip_suffix('/').filter(|trimmed| !trimmed.is_empty()).unwrap_or(name);
    let there = |one: &&WorkspaceItem| one.path == trimmed || real.as_deref() == Some(Path::new(&one.path));
    // A name means the one in the list before a directory of that name here.
    let mut by_name = all.iter().filter(|one| one.name == name);
    match (by_name.next(), by_name.next()) {
        (Some(one), None) => Ok(one.path.clone()),
        (Some(one), Some(other)) => Err(Failure::usage(format!("several workspaces are named '{name}'"))
            .hint(format!("name its directory: {}, {}", one.path, other.path))),
        (None, _) => all.iter().find(there).map(|one| one.path.clone()).ok_or_else(|| {
            let known = all.iter().flat_map(|one| [one.name.as_str(), one.path.as_str()]);
            let question = did_you_mean(name, known).map(|question| question + " ").unwrap_or_default();
            Failure::general(format!("no workspace '{name}'"))
                .hint(format!("{question}`swb workspace` lists the workspaces"))
        }),
    }
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

    #[test]
    fn a_workspace_is_named_by_its_name_or_its_directory() {
        let item = |path: &str| WorkspaceItem {
            path: path.into(),
            name: path.rsplit('/').next().unwrap().into(),
            ..WorkspaceItem::default()
        };
        let all = [item("/a/api"), item("/b/web"), item("/c/web")];
        assert_eq!(meant(&all, "api").unwrap(), "/a/api");
        assert_eq!(meant(&all, "/b/web/").unwrap(), "/b/web");
        assert_eq!(meant(&all, "web").unwrap_err().kind().exit_code(), 2, "ambiguous");
        let unknown = meant(&all, "aip").unwrap_err().render("swb");
        assert!(
            unknown.contains("no workspace 'aip'") && unknown.contains("did you mean 'api'?"),
            "{unknown}"
        );
    }
}
