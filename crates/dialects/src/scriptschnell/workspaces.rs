//! Workspaces: lists and sets them, and creates working trees.

use super::errors::{invalid, mapped, not_allowed};
use super::request_handler::RequestHandler;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use swb_chat::Workspace;
use swb_engine::chat::{Chats, GitFacts};
use swb_wire::scriptschnell::{
    ErrorInfo, ServerMessage, Time, WorkspaceCreate, WorkspaceCreated, WorkspaceItem, WorkspaceList,
    WorkspaceName, WorkspaceSetReply,
};

impl RequestHandler {
    /// SS-70
    pub(super) async fn workspace_list(&mut self) -> Result<ServerMessage, ErrorInfo> {
        let sessions = mapped(self.front.chats.list(None).await)?;
        let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for session in sessions {
            *counts.entry(session.summary.workspace).or_default() += 1;
        }
        let known = self.front.chats.workspaces().all();
        let mut workspaces = Vec::with_capacity(known.len());
        for workspace in known {
            let facts = self.front.chats.git_facts(&workspace.path).await;
            let count = counts.get(&workspace.path).copied().unwrap_or_default();
            workspaces.push(item(&workspace, facts, count));
        }
        Ok(ServerMessage::WorkspaceListResponse(WorkspaceList { workspaces }))
    }

    /// SS-72, Q-65
    pub(super) async fn workspace_set(&mut self, which: WorkspaceName) -> Result<ServerMessage, ErrorInfo> {
        let dir = self.directory(which.workspace.as_deref());
        let dir = dir.ok_or_else(|| invalid("workspace is missing"))?;
        if self.attachments.iter().any(|attached| attached.chat.workspace() != dir) {
            return Err(not_allowed("a session of another workspace is attached; detach from it first"));
        }
        let workspace = mapped(self.front.chats.workspace(&dir).await)?;
        self.workspace = Some(dir);
        Ok(ServerMessage::WorkspaceSet(WorkspaceSetReply {
            workspace_id: workspace.id(),
            path: shown(&workspace.path),
            name: workspace.name(),
            status: "set".to_owned(),
        }))
    }

    /// SS-73: git may take long, so other requests are handled meanwhile; the reply is sent when it is done.
    pub(super) fn workspace_create(
        &mut self,
        create: WorkspaceCreate,
        request_id: Option<String>,
    ) -> Result<(), ErrorInfo> {
        let base = self.directory(create.base_workspace.as_deref()).or_else(|| self.workspace.clone());
        let base = base.ok_or_else(|| invalid("base_workspace is missing"))?;
        let name = create.name.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| invalid("name is missing"))?;
        let (chats, umask) = (self.front.chats.clone(), self.settings().umask);
        let outbound = Arc::clone(&self.outbound);
        let making = async move {
            match worktree(&chats, &base, &name, umask).await {
                Ok(made) => outbound.send(&ServerMessage::WorkspaceCreate(made), request_id.as_deref()),
                Err(error) => outbound.send_error(error, request_id.as_deref()),
            }
        };
        self.front.fronts.tasks.spawn(self.ended.clone().run_until_cancelled_owned(making));
        Ok(())
    }
}

async fn worktree(chats: &Chats, base: &Path, name: &str, umask: u32) -> Result<WorkspaceCreated, ErrorInfo> {
    mapped(chats.workspace(base).await)?;
    let made = chats.git().create_worktree(base, name, umask).await.map_err(not_allowed)?;
    let workspace = mapped(chats.workspace(&made).await)?;
    let path = shown(&workspace.path);
    Ok(WorkspaceCreated { workspace_id: workspace.id(), path, is_worktree: true })
}

fn item(workspace: &Workspace, facts: GitFacts, session_count: usize) -> WorkspaceItem {
    let all = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect::<Vec<_>>();
    let approved = |list: &[String]| list.iter().map(|one| (one.clone(), true)).collect();
    WorkspaceItem {
        path: shown(&workspace.path),
        hash: workspace.id(),
        id: workspace.id(),
        name: workspace.name(),
        context_directories: all(&workspace.context_dirs),
        context_dirs: all(&workspace.context_dirs),
        repository_root: facts.repository_root.as_deref().map(shown).unwrap_or_default(),
        current_branch: facts.current_branch.unwrap_or_default(),
        is_worktree: facts.is_worktree,
        worktree_name: facts.worktree_name.unwrap_or_default(),
        session_count,
        last_accessed: Time(workspace.last_accessed),
        created_at: Time(workspace.created),
        landlock_read: all(&workspace.landlock_read),
        landlock_write: all(&workspace.landlock_write),
        domains_approved: approved(&workspace.domains_approved),
        commands_approved: approved(&workspace.commands_approved),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
