//! Workspaces: the directories that agents work in.

use crate::conversations::items;
use crate::errors::{chat_error, invalid};
use crate::execute::Call;
use crate::limits;
use crate::reply::{OperationResult, done, first_items};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use swb_engine::chat::{self, ChatError};
use swb_types::{Scope, SessionName, Timestamp};
use swb_wire::control::{ErrorReply, Workspace, WorkspaceReply, WorkspacesReply};

impl Call<'_> {
    pub(crate) async fn workspaces(&self) -> OperationResult {
        let chats = self.chats()?;
        let mut known = chats.workspaces().all();
        let own =
            |name: &SessionName| self.session(name.as_str()).map(|session| session.workspace().to_owned());
        match self.caller.scope() {
            Scope::All => {}
            Scope::Workspace(scope) => known.retain(|one| one.path == *scope),
            Scope::Session(name) => {
                let own = own(name).ok();
                known.retain(|one| Some(&one.path) == own.as_ref());
            }
        }
        // Saved sessions that cannot be read do not keep the rest from being listed.
        let sessions = chats.list(None).await.unwrap_or_default();
        let count = |path: &Path| sessions.iter().filter(|one| one.summary.workspace == path).count();
        let mut all = Vec::with_capacity(known.len());
        for one in &known {
            all.push(items::workspace(one, &chats.git_facts(&one.path).await, count(&one.path)));
        }
        first_items(&all, usize::MAX, |some, more| WorkspacesReply {
            ok: true,
            workspaces: some.to_vec(),
            more,
        })
    }

    pub(crate) async fn workspace(&self, request: Workspace) -> OperationResult {
        let chats = self.chats()?;
        if request.forget {
            return self.forget_workspace(&request.path).await;
        }
        let mut path = directory(&request.path).await?;
        request
            .agent
            .as_deref()
            .map_or(Ok(()), |agent| chats.named_agent(agent).map(drop))
            .map_err(|error| chat_error(&error))?;
        let context_dirs = match &request.context_dirs {
            Some(dirs) if dirs.len() > limits::CONTEXT_DIRS => {
                return Err(invalid(format!(
                    "a workspace has at most {} context directories",
                    limits::CONTEXT_DIRS
                )));
            }
            Some(dirs) => {
                let mut found = Vec::with_capacity(dirs.len());
                for dir in dirs {
                    found.push(directory(dir).await?);
                }
                Some(found)
            }
            None => None,
        };
        if let Some(name) = &request.worktree {
            let umask = request.umask.unwrap_or(self.operations.settings.umask);
            path = chats.git().create_worktree(&path, name, umask).await.map_err(invalid)?;
        }
        let mut workspace = chats.workspaces().get(&path).as_ref().clone();
        workspace.context_dirs = context_dirs.unwrap_or(workspace.context_dirs);
        workspace.agent = request.agent.or(workspace.agent);
        workspace.last_accessed = Timestamp::of(SystemTime::now());
        let kept = chats.workspaces().keep(workspace.clone()).await;
        kept.map_err(|error| chat_error(&ChatError::Store(error.to_string())))?;
        let facts = chats.git_facts(&path).await;
        let workspace = items::workspace(&workspace, &facts, 0);
        done(&WorkspaceReply { ok: true, workspace })
    }
}

impl Call<'_> {
    /// Removes a workspace from the list. Its directory may be gone, so the path is taken as it is listed.
    async fn forget_workspace(&self, text: &str) -> OperationResult {
        let chats = self.chats()?;
        let removed = chats.workspaces().forget(Path::new(text)).await;
        let removed = removed.map_err(|error| chat_error(&ChatError::Store(error.to_string())))?;
        let workspace = removed.ok_or_else(|| invalid(format!("no workspace {text}")))?;
        let workspace = items::workspace(&workspace, &chats.git_facts(&workspace.path).await, 0);
        done(&WorkspaceReply { ok: true, workspace })
    }
}

/// The full path of a directory that exists.
async fn directory(text: &str) -> Result<PathBuf, ErrorReply> {
    chat::directory(Path::new(text)).await.map_err(|error| chat_error(&error))
}
