//! The known workspaces, and what agents may do in them.

use super::now;
use crate::{file_access, limits};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use swb_chat::{Archive, ArchiveError, Workspace};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The known workspaces; cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspaces {
    known: Arc<Mutex<BTreeMap<PathBuf, Arc<Workspace>>>>,
    archive: Arc<dyn Archive>,
    /// Directories where agents have worked, by their real paths, and those of saved conversations.
    used: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Cancelled when the saved workspaces have been read, or cannot be.
    read: CancellationToken,
}

impl Workspaces {
    /// Workspaces saved on disk and configured ones; configuration takes precedence. If the disk or another process that
    /// holds the database takes longer than `limit`, the saved ones become known later.
    pub(super) async fn open(
        configured: Vec<Workspace>,
        archive: Arc<dyn Archive>,
        limit: Duration,
        tasks: &TaskTracker,
    ) -> Self {
        let by_path = |workspace: Workspace| (workspace.path.clone(), Arc::new(workspace));
        let known: BTreeMap<_, _> = configured.into_iter().map(by_path).collect();
        let configured: Vec<PathBuf> = known.keys().cloned().collect();
        let read = CancellationToken::new();
        let workspaces = Self { known: Arc::new(Mutex::new(known)), archive, used: Arc::default(), read };
        tasks.spawn(workspaces.clone().note_configured(configured.clone()));
        tasks.spawn(workspaces.clone().add_saved(configured));
        if tokio::time::timeout(limit, workspaces.read.cancelled()).await.is_err() {
            tracing::warn!("the database of workspaces does not respond; going on without it until it does");
        }
        workspaces
    }

    #[allow(clippy::disallowed_methods, reason = "the user's own database, which limits its waits itself")]
    async fn add_saved(self, configured: Vec<PathBuf>) {
        // Others wait for the end of this, also if the call panics.
        let _read = self.read.clone().drop_guard();
        let archive = Arc::clone(&self.archive);
        let read = move || Ok((archive.workspaces()?, archive.list(None).unwrap_or_default()));
        let saved = tokio::task::spawn_blocking(read).await;
        let saved = saved.unwrap_or_else(|error| Err(ArchiveError(error.to_string())));
        let saved = saved.map(|(saved, conversations)| {
            conversations.into_iter().for_each(|conversation| self.note_use(conversation.workspace));
            saved
        });
        match saved {
            Ok(saved) => saved.into_iter().for_each(|saved| self.add(saved, &configured)),
            Err(error) => tracing::warn!(%error, "cannot read the saved workspaces"),
        }
    }

    /// Adds a saved workspace to what is configured or was used meanwhile.
    fn add(&self, saved: Workspace, configured: &[PathBuf]) {
        let mut known = self.lock();
        let workspace = match known.get(&saved.path) {
            Some(used) if configured.contains(&saved.path) => merged(used.as_ref().clone(), &saved),
            Some(used) => {
                let last_accessed = used.last_accessed.max(saved.last_accessed);
                Workspace { created: saved.created, last_accessed, ..merged(saved, used) }
            }
            None => saved,
        };
        known.insert(workspace.path.clone(), Arc::new(workspace));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Workspace>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A workspace; an unknown one has no permissions yet.
    pub fn get(&self, path: &Path) -> Arc<Workspace> {
        let known = self.lock().get(path).cloned();
        known.unwrap_or_else(|| Arc::new(Workspace::new(path, now().unix)))
    }

    async fn note_configured(self, configured: Vec<PathBuf>) {
        for path in configured {
            if let Ok(Ok(real)) = file_access::run(&path, file_access::real_path).await {
                self.note_use(real);
            }
        }
    }

    /// Notes a directory, without links in its path, where an agent is going to work.
    pub(super) fn note_use(&self, dir: PathBuf) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() < limits::USED_DIRS {
            used.insert(dir);
        }
    }

    /// All directories that commands of agents can write: a link there may be the work of an agent.
    pub fn written(&self) -> Vec<PathBuf> {
        let known = self.all();
        let known = known.iter().flat_map(|one| [&one.path].into_iter().chain(&one.landlock_write)).cloned();
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known.chain(used).collect::<BTreeSet<PathBuf>>().into_iter().collect()
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
        let path = workspace.path.clone();
        self.lock().insert(path.clone(), Arc::new(workspace));
        self.write(&path).await
    }

    /// Removes a workspace from the list and from disk, with the permissions it has; returns it if it was known.
    #[allow(clippy::disallowed_methods, reason = "the user's own database, which limits its waits itself")]
    pub async fn forget(&self, path: &Path) -> Result<Option<Arc<Workspace>>, ArchiveError> {
        // Otherwise it would become known again when it is read.
        self.read.cancelled().await;
        let known = self.lock().remove(path);
        let (archive, path) = (Arc::clone(&self.archive), path.to_owned());
        let removed = tokio::task::spawn_blocking(move || archive.forget_workspace(&path)).await;
        removed.unwrap_or_else(|error| Err(ArchiveError(error.to_string()))).map(|()| known)
    }

    /// Allows a command without an approval from now on.
    pub async fn approve_command(&self, path: &Path, command: &str) {
        self.approve(path, |workspace| add_entry(&mut workspace.commands_approved, command)).await;
    }

    /// Allows a domain without an approval from now on.
    pub async fn approve_domain(&self, path: &Path, domain: &str) {
        self.approve(path, |workspace| add_entry(&mut workspace.domains_approved, domain)).await;
    }

    async fn approve(&self, path: &Path, add: impl FnOnce(&mut Workspace)) {
        self.change(path, add);
        if let Err(error) = self.write(path).await {
            tracing::warn!(%error, "cannot save an approval: it is valid until the daemon stops");
        }
    }

    #[allow(clippy::disallowed_methods, reason = "the user's own database, which limits its waits itself")]
    async fn write(&self, path: &Path) -> Result<(), ArchiveError> {
        // Otherwise it would replace a saved workspace that is not known yet.
        self.read.cancelled().await;
        let (archive, workspace) = (Arc::clone(&self.archive), self.get(path));
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

fn add_entry(list: &mut Vec<String>, entry: &str) {
    if !list.iter().any(|known| known == entry) {
        list.push(entry.to_owned());
    }
}

/// The configured permissions, and those that users approved.
fn merged(mut configured: Workspace, kept: &Workspace) -> Workspace {
    for command in &kept.commands_approved {
        add_entry(&mut configured.commands_approved, command);
    }
    for domain in &kept.domains_approved {
        add_entry(&mut configured.domains_approved, domain);
    }
    configured.created = kept.created;
    configured
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use swb_chat::{FoundPrompt, SavedConversation, SearchHit, Summary};
    use swb_types::Timestamp;

    /// An archive with one workspace, which returns it when the sender is dropped.
    #[derive(Debug)]
    struct SlowArchive {
        released: Mutex<mpsc::Receiver<()>>,
        saved: Mutex<Workspace>,
    }

    impl SlowArchive {
        fn new(saved: Workspace) -> (mpsc::SyncSender<()>, Arc<Self>) {
            let (release, released) = mpsc::sync_channel(0);
            (release, Arc::new(Self { released: Mutex::new(released), saved: Mutex::new(saved) }))
        }
    }

    impl Archive for SlowArchive {
        fn save(&self, _: &SavedConversation) -> Result<(), ArchiveError> {
            Ok(())
        }
        fn load(&self, _: &str) -> Result<Option<SavedConversation>, ArchiveError> {
            Ok(None)
        }
        fn delete(&self, _: &str) -> Result<bool, ArchiveError> {
            Ok(false)
        }
        fn list(&self, _: Option<&Path>) -> Result<Vec<Summary>, ArchiveError> {
            Ok(Vec::new())
        }
        fn search(&self, _: &str, _: Option<&Path>, _: usize) -> Result<Vec<SearchHit>, ArchiveError> {
            Ok(Vec::new())
        }
        fn prompts(&self, _: usize) -> Result<Vec<FoundPrompt>, ArchiveError> {
            Ok(Vec::new())
        }
        fn workspaces(&self) -> Result<Vec<Workspace>, ArchiveError> {
            assert!(self.released.lock().unwrap().recv().is_err());
            Ok(vec![self.saved.lock().unwrap().clone()])
        }
        fn forget_workspace(&self, _: &Path) -> Result<(), ArchiveError> {
            Ok(())
        }
        fn keep_workspace(&self, workspace: &Workspace) -> Result<(), ArchiveError> {
            *self.saved.lock().unwrap() = workspace.clone();
            Ok(())
        }
    }

    fn workspace(agent: &str, command: &str) -> Workspace {
        let mut workspace = Workspace::new(Path::new("/w"), Timestamp::default());
        workspace.agent = Some(agent.into());
        workspace.commands_approved = vec![command.into()];
        workspace
    }

    #[tokio::test]
    async fn a_database_that_is_held_delays_neither_the_start_nor_loses_anything() {
        let (release, archive) = SlowArchive::new(workspace("saved", "old"));
        let known =
            Workspaces::open(Vec::new(), archive.clone(), Duration::from_millis(20), &TaskTracker::new())
                .await;
        let path = Path::new("/w");
        assert_eq!(known.all().len(), 0);
        known.touch(path);
        let approval = tokio::spawn({
            let known = known.clone();
            async move { known.approve_command(Path::new("/w"), "new").await }
        });
        tokio::task::yield_now().await;
        drop(release);
        approval.await.unwrap();
        let expected = (Some("saved".to_owned()), vec!["old".to_owned(), "new".to_owned()]);
        for found in [known.get(path).as_ref().clone(), archive.saved.lock().unwrap().clone()] {
            assert_eq!((found.agent, found.commands_approved), expected);
        }
    }

    #[tokio::test]
    async fn configuration_takes_precedence_over_what_is_saved() {
        let (release, archive) = SlowArchive::new(workspace("saved", "old"));
        drop(release);
        let configured = vec![workspace("configured", "always")];
        let known = Workspaces::open(configured, archive, Duration::from_secs(60), &TaskTracker::new()).await;
        let found = known.get(Path::new("/w"));
        known.note_use("/used".into());
        assert_eq!(known.written(), [Path::new("/used"), Path::new("/w")]);
        assert_eq!(found.agent.as_deref(), Some("configured"));
        assert_eq!(found.commands_approved, ["always", "old"]);
    }
}
