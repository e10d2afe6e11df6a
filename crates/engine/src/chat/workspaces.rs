//! The known workspaces, and what agents may do in them.

use super::now;
use crate::limits;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_chat::{Archive, ArchiveError, Workspace};

/// The known workspaces; cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspaces {
    known: Arc<Mutex<BTreeMap<PathBuf, Arc<Workspace>>>>,
    archive: Arc<dyn Archive>,
}

impl Workspaces {
    /// Workspaces saved on disk and configured ones; configuration takes precedence.
    pub(super) fn new(configured: Vec<Workspace>, archive: Arc<dyn Archive>) -> Self {
        let kept = archive.workspaces().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the saved workspaces");
            Vec::new()
        });
        let mut known: BTreeMap<PathBuf, Arc<Workspace>> = BTreeMap::new();
        for workspace in kept {
            known.insert(workspace.path.clone(), Arc::new(workspace));
        }
        for configured in configured {
            let merged = match known.get(&configured.path) {
                Some(kept) => merged(configured, kept),
                None => configured,
            };
            known.insert(merged.path.clone(), Arc::new(merged));
        }
        Self { known: Arc::new(Mutex::new(known)), archive }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Workspace>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A workspace; an unknown one has no permissions yet.
    pub fn get(&self, path: &Path) -> Arc<Workspace> {
        let known = self.lock().get(path).cloned();
        known.unwrap_or_else(|| Arc::new(Workspace::new(path, now().unix)))
    }

    /// All known workspaces by path.
    pub fn all(&self) -> Vec<Arc<Workspace>> {
        self.lock().values().cloned().collect()
    }

    /// Makes a workspace known (SS-71), for as long as this daemon runs.
    pub fn touch(&self, path: &Path) -> Arc<Workspace> {
        self.change(path, |workspace| workspace.last_accessed = now().unix)
    }

    /// Saves a workspace on disk.
    pub async fn keep(&self, workspace: Workspace) -> Result<(), ArchiveError> {
        let kept = workspace.clone();
        self.lock().insert(workspace.path.clone(), Arc::new(workspace));
        self.write(kept).await
    }

    /// Allows a command without an approval from now on.
    pub async fn approve_command(&self, path: &Path, command: &str) {
        self.approve(path, |workspace| add(&mut workspace.commands_approved, command)).await;
    }

    /// Allows a domain without an approval from now on.
    pub async fn approve_domain(&self, path: &Path, domain: &str) {
        self.approve(path, |workspace| add(&mut workspace.domains_approved, domain)).await;
    }

    async fn approve(&self, path: &Path, add: impl FnOnce(&mut Workspace)) {
        let changed = self.change(path, add);
        if let Err(error) = self.write(changed.as_ref().clone()).await {
            tracing::warn!(%error, "cannot save an approval: it is valid until the daemon stops");
        }
    }

    #[allow(clippy::disallowed_methods, reason = "the user's own database, which limits its waits itself")]
    async fn write(&self, workspace: Workspace) -> Result<(), ArchiveError> {
        let archive = Arc::clone(&self.archive);
        let written = tokio::task::spawn_blocking(move || archive.keep_workspace(&workspace)).await;
        written.unwrap_or_else(|error| Err(ArchiveError(error.to_string())))
    }

    fn change(&self, path: &Path, change: impl FnOnce(&mut Workspace)) -> Arc<Workspace> {
        let mut known = self.lock();
        let mut workspace = match known.get(path) {
            Some(workspace) => workspace.as_ref().clone(),
            None => Workspace::new(path, now().unix),
        };
        change(&mut workspace);
        let workspace = Arc::new(workspace);
        known.insert(path.to_owned(), Arc::clone(&workspace));
        if known.len() > limits::WORKSPACES {
            let oldest = known.values().min_by_key(|workspace| workspace.last_accessed);
            if let Some(oldest) = oldest.map(|workspace| workspace.path.clone()) {
                known.remove(&oldest);
            }
        }
        workspace
    }
}

fn add(list: &mut Vec<String>, entry: &str) {
    if !list.iter().any(|known| known == entry) {
        list.push(entry.to_owned());
    }
}

/// The configured permissions, and those that users approved.
fn merged(mut configured: Workspace, kept: &Workspace) -> Workspace {
    for command in &kept.commands_approved {
        add(&mut configured.commands_approved, command);
    }
    for domain in &kept.domains_approved {
        add(&mut configured.domains_approved, domain);
    }
    configured.created = kept.created;
    configured
}
