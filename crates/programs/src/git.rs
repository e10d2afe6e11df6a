//! Reads what git knows of a directory, and creates working trees.
//!
//! Facts are read from git's own files, so that listing workspaces starts no process; only creating a working tree
//! runs `git` (`git_process.rs`).

use crate::git_process::{filters_of, git, succeeded};
use crate::limits;
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use swb_engine::chat::{Boxed, Git, GitFacts};
use swb_engine::file_access;

/// The repositories on this machine, through the installed `git`.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemGit;

impl Git for SystemGit {
    fn facts(&self, path: &Path) -> GitFacts {
        facts(path)
    }

    fn create_worktree<'a>(
        &'a self,
        base: &'a Path,
        name: &'a str,
        umask: u32,
    ) -> Boxed<'a, Result<PathBuf, String>> {
        Box::pin(create_worktree(base, name, umask))
    }
}

/// Where a working tree and its repository are.
struct Tree {
    root: PathBuf,
    /// The repository's files for this working tree.
    git_dir: PathBuf,
    /// The files that all working trees share; elsewhere only for an additional working tree.
    common_dir: Option<PathBuf>,
}

/// What git knows of a directory; `None` if it is in no repository. Reads a few small files.
fn facts(path: &Path) -> GitFacts {
    let Some(tree) = tree_of(path) else { return GitFacts::default() };
    let name = tree.common_dir.as_ref().and(tree.git_dir.file_name());
    GitFacts {
        current_branch: branch(&tree.git_dir),
        is_worktree: tree.common_dir.is_some(),
        worktree_name: name.map(|name| name.to_string_lossy().into_owned()),
        repository_root: Some(tree.root),
    }
}

/// Creates an additional working tree beside the repository that contains `base`, `<repository>-<name>`, on a new
/// branch `name`, with the file mode creation mask `umask`.
async fn create_worktree(base: &Path, name: &str, umask: u32) -> Result<PathBuf, String> {
    check_name(name)?;
    let wanted = name.to_owned();
    let place = file_access::run(base, move |base| place_for(base, &wanted)).await;
    let (repository, place) = place.map_err(|error| error.to_string())??;
    let mut command = git(&repository, umask, &BTreeSet::new());
    command.args(["worktree", "add", "--no-checkout", "-b", name, "--"]).arg(&place);
    succeeded(command).await?;
    match check_out(&place, umask).await {
        Ok(()) => Ok(place),
        Err(error) => match remove_worktree(&repository, &place, name, umask).await {
            Ok(()) => Err(error),
            Err(left) => Err(format!("{error}; remove {} yourself: {left}", place.display())),
        },
    }
}

/// Writes the files of a new working tree. Its filters are listed here and not in the main tree, as the configuration of
/// a repository can have parts for certain trees and branches only.
async fn check_out(place: &Path, umask: u32) -> Result<(), String> {
    let filters = filters_of(place, umask).await?;
    let mut command = git(place, umask, &filters);
    command.args(["reset", "--hard", "--quiet"]);
    succeeded(command).await
}

/// Removes a working tree that could not be completed, and its branch.
async fn remove_worktree(repository: &Path, place: &Path, name: &str, umask: u32) -> Result<(), String> {
    // Forced, because git would otherwise look for changes, and filter files for that.
    let mut tree = git(repository, umask, &BTreeSet::new());
    tree.args(["worktree", "remove", "--force", "--"]).arg(place);
    let mut branch = git(repository, umask, &BTreeSet::new());
    branch.args(["branch", "--quiet", "-D", "--", name]);
    succeeded(tree).await?;
    succeeded(branch).await
}

/// Checks that a name is valid as a directory, as a branch and as an argument.
fn check_name(name: &str) -> Result<(), String> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    match plain && !name.is_empty() && !name.starts_with(['-', '.']) && name.len() <= limits::WORKTREE_NAME {
        true => Ok(()),
        false => Err(format!(
            "a working tree cannot be named '{}': use letters, digits, '_', and '.' or '-' inside",
            name.chars().take(limits::SHOWN_NAME).collect::<String>().escape_debug()
        )),
    }
}

/// The main working tree of the repository that contains `base`, and the path of a new one.
fn place_for(base: &Path, name: &str) -> Result<(PathBuf, PathBuf), String> {
    let tree = tree_of(base).ok_or_else(|| format!("{} is in no git repository", base.display()))?;
    let main = tree.common_dir.as_deref().and_then(Path::parent);
    let main = main.filter(|main| kind_of(&main.join(".git")) == Some(FileType::Directory));
    let root = main.map_or(tree.root, Path::to_owned);
    let (Some(parent), Some(own)) = (root.parent(), root.file_name()) else {
        return Err(format!("the repository {} has no parent directory for a working tree", root.display()));
    };
    let mut file_name = own.to_owned();
    file_name.push(format!("-{name}"));
    let place = parent.join(file_name);
    match rustix::fs::lstat(&place) {
        Ok(_) => Err(format!("{} already exists", place.display())),
        Err(_) => Ok((root, place)),
    }
}

fn tree_of(path: &Path) -> Option<Tree> {
    path.ancestors().find_map(|root| {
        let git = root.join(".git");
        let git_dir = if kind_of(&git)? == FileType::Directory { git } else { linked(root, &git)? };
        (kind_of(&git_dir.join("HEAD"))? == FileType::RegularFile).then(|| {
            let common = small_file(&git_dir.join("commondir"));
            let common = common.and_then(|text| file_access::real_path(&git_dir.join(text.trim())).ok());
            Tree { root: root.to_owned(), common_dir: common, git_dir }
        })
    })
}

/// The directory that a `.git` file names.
fn linked(root: &Path, file: &Path) -> Option<PathBuf> {
    let text = small_file(file)?;
    file_access::real_path(&root.join(text.strip_prefix("gitdir:")?.trim())).ok()
}

fn branch(git_dir: &Path) -> Option<String> {
    let head = small_file(&git_dir.join("HEAD"))?;
    head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// The text of a file that should be small; the owner of the directory may have put anything there.
fn small_file(path: &Path) -> Option<String> {
    file_access::read_text(path, limits::GIT_FILE).ok()
}

/// What a path leads to.
fn kind_of(path: &Path) -> Option<FileType> {
    rustix::fs::stat(path).ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git_process::FOREIGN;
    use std::os::unix::fs::PermissionsExt;

    fn run_git(dir: &Path, args: &[&str]) {
        let mut command = std::process::Command::new("git");
        command.current_dir(dir).args(["-c", "user.name=n", "-c", "user.email=e@example.org"]).args(args);
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn repository(dir: &Path) -> PathBuf {
        let root = dir.canonicalize().unwrap().join("repo");
        std::fs::create_dir(&root).unwrap();
        run_git(&root, &["init", "-q", "-b", "trunk"]);
        run_git(&root, &["commit", "-q", "--allow-empty", "-m", "first"]);
        root
    }

    // SS-70
    #[test]
    fn branch_and_root_are_read_from_the_files_of_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(facts(dir.path()), GitFacts::default());
        assert_eq!(facts(Path::new("/does/not/exist")), GitFacts::default());
        let root = repository(dir.path());
        let inner = root.join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let expected = GitFacts {
            repository_root: Some(root.clone()),
            current_branch: Some("trunk".into()),
            is_worktree: false,
            worktree_name: None,
        };
        assert_eq!(facts(&root), expected);
        assert_eq!(facts(&inner), expected);
        run_git(&root, &["checkout", "-q", "-b", "feature/x"]);
        assert_eq!(facts(&root).current_branch.as_deref(), Some("feature/x"));
        run_git(&root, &["checkout", "-q", "--detach"]);
        assert_eq!(facts(&root).current_branch, None);
    }

    // SS-70, SS-73
    #[tokio::test]
    async fn a_worktree_is_created_beside_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let root = repository(dir.path());
        let place = create_worktree(&root, "fix-1", 0o022).await.unwrap();
        assert_eq!(place, root.with_file_name("repo-fix-1"));
        let expected = GitFacts {
            repository_root: Some(place.clone()),
            current_branch: Some("fix-1".into()),
            is_worktree: true,
            worktree_name: Some("repo-fix-1".into()),
        };
        assert_eq!(facts(&place), expected);
        // From a working tree: beside the main one as well.
        let second = create_worktree(&place, "fix-2", 0o077).await.unwrap();
        assert_eq!(second, root.with_file_name("repo-fix-2"));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&place), mode(&second)), (0o755, 0o700));
    }

    #[tokio::test]
    async fn nothing_that_a_repository_names_is_run() {
        let dir = tempfile::tempdir().unwrap();
        let root = repository(dir.path());
        std::fs::write(root.join("file"), "text").unwrap();
        std::fs::write(root.join(".gitattributes"), "* filter=evil\n").unwrap();
        run_git(&root, &["add", "."]);
        run_git(&root, &["commit", "-q", "-m", "second"]);
        let traces = dir.path().join("traces");
        std::fs::create_dir(&traces).unwrap();
        let script = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n: > '{}/{name}'\ncat\n", traces.display())).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            path.display().to_string()
        };
        let hook = root.join(".git/hooks/post-checkout");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::rename(script("hook"), hook).unwrap();
        for (name, setting) in [
            ("smudge", "filter.evil.smudge"),
            ("process", "filter.evil.process"),
            ("monitor", "core.fsmonitor"),
            ("pager", "core.pager"),
            ("diff", "diff.external"),
        ] {
            run_git(&root, &["config", setting, &script(name)]);
        }
        run_git(&root, &["config", "filter.evil.required", "true"]);
        let place = create_worktree(&root, "fix", 0o022).await.unwrap();
        assert_eq!(std::fs::read_to_string(place.join("file")).unwrap(), "text");
        assert_eq!(std::fs::read_dir(&traces).unwrap().count(), 0, "a program of the repository ran");
    }

    /// A repository with one file for each filter, and a directory with traces of filters that ran.
    struct Filtered {
        dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Filtered {
        fn new(filters: &[&[u8]]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = repository(dir.path());
            let mut attributes = Vec::new();
            for (number, filter) in filters.iter().enumerate() {
                std::fs::write(root.join(format!("file{number}")), "text").unwrap();
                attributes.extend([format!("file{number} filter=").as_bytes(), filter, b"\n"].concat());
            }
            std::fs::write(root.join(".gitattributes"), attributes).unwrap();
            run_git(&root, &["add", "."]);
            run_git(&root, &["commit", "-q", "-m", "second"]);
            std::fs::create_dir(dir.path().join("traces")).unwrap();
            Self { dir, root }
        }

        /// A section of a configuration file that defines a filter.
        fn section(&self, filter: &[u8]) -> Vec<u8> {
            let trace = self.dir.path().join("traces/filter");
            let command = format!("\"]\n\tsmudge = \": > '{}'; cat\"\n", trace.display());
            [b"[filter \"", filter, command.as_bytes()].concat()
        }

        /// A configuration file beside the repository.
        fn write(&self, name: &str, bytes: &[u8]) -> String {
            let path = self.dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path.display().to_string()
        }

        /// Appends to the repository's own configuration.
        fn configure(&self, bytes: &[u8]) {
            let path = self.root.join(".git/config");
            let before = std::fs::read(&path).unwrap();
            std::fs::write(&path, [&before, bytes].concat()).unwrap();
        }

        fn include_if(&self, condition: &str, path: &str) {
            self.configure(format!("[includeIf \"{condition}\"]\n\tpath = {path}\n").as_bytes());
        }

        fn assert_nothing_ran(&self) {
            let traces = std::fs::read_dir(self.dir.path().join("traces")).unwrap();
            assert_eq!(traces.count(), 0, "a filter of the repository ran");
        }

        /// Nothing is left of a working tree that could not be created.
        fn assert_removed(&self, name: &str) {
            assert!(!self.root.with_file_name(format!("repo-{name}")).exists());
            assert!(!self.root.join(".git/refs/heads").join(name).exists());
        }
    }

    #[tokio::test]
    async fn filters_for_certain_trees_or_branches_are_not_run() {
        let rig = Filtered::new(&[b"tree", b"branch", b"\xff\xfe"]);
        rig.include_if("gitdir:**/worktrees/**", &rig.write("for-trees", &rig.section(b"tree")));
        rig.include_if("onbranch:fix", &rig.write("for-branch", &rig.section(b"branch")));
        rig.configure(&rig.section(b"\xff\xfe"));
        let place = create_worktree(&rig.root, "fix", 0o022).await.unwrap();
        for file in ["file0", "file1", "file2"] {
            assert_eq!(std::fs::read_to_string(place.join(file)).unwrap(), "text");
        }
        rig.assert_nothing_ran();
    }

    #[tokio::test]
    async fn nothing_is_checked_out_if_the_filters_are_unknown() {
        let rig = Filtered::new(&[b"tree"]);
        rig.include_if("gitdir:**/worktrees/repo-bad", &rig.write("bad", b"[filter"));
        let error = create_worktree(&rig.root, "bad", 0o022).await.unwrap_err();
        assert!(error.contains("bad config"), "{error}");
        rig.assert_removed("bad");
        let many: Vec<u8> = (0..20_000).flat_map(|n| rig.section(format!("{n:0>60}").as_bytes())).collect();
        rig.include_if("gitdir:**/worktrees/repo-many", &rig.write("many", &many));
        let error = create_worktree(&rig.root, "many", 0o022).await.unwrap_err();
        assert!(error.contains("longer than"), "{error}");
        rig.assert_removed("many");
        rig.assert_nothing_ran();
    }

    // SS-73
    #[tokio::test]
    async fn an_invalid_worktree_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let root = repository(dir.path());
        for bad in ["", "-b", "..", "a/b", "a b", "ä", "x\n", &"n".repeat(200)] {
            let error = create_worktree(&root, bad, 0o022).await.unwrap_err();
            assert!(error.contains("cannot be named"), "{bad}: {error}");
        }
        let none = create_worktree(dir.path(), "x", 0o022).await.unwrap_err();
        assert!(none.contains("no git repository"), "{none}");
        let taken = create_worktree(&root, "trunk", 0o022).await.unwrap_err();
        assert!(taken.starts_with("git: ") && taken.contains("trunk"), "{taken}");
        std::fs::write(root.with_file_name("repo-there"), "").unwrap();
        let there = create_worktree(&root, "there", 0o022).await.unwrap_err();
        assert!(there.contains("already exists"), "{there}");
    }

    #[test]
    fn a_directory_with_invalid_git_files_is_no_repository() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().join(".git");
        for text in ["", "gitdir:", "gitdir: /does/not/exist", "gitdir: .", "\0\0", "nonsense"] {
            std::fs::write(&git, text).unwrap();
            assert_eq!(facts(dir.path()), GitFacts::default(), "{text:?}");
        }
        std::fs::remove_file(&git).unwrap();
        let fifo = |path: &Path| {
            rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, 0o600.into(), 0).unwrap();
        };
        fifo(&git);
        assert_eq!(facts(dir.path()), GitFacts::default(), "and it is not waited for");
        std::fs::remove_file(&git).unwrap();
        std::fs::create_dir_all(git.join("HEAD")).unwrap();
        assert_eq!(facts(dir.path()), GitFacts::default());
        std::fs::remove_dir(git.join("HEAD")).unwrap();
        fifo(&git.join("HEAD"));
        fifo(&git.join("commondir"));
        assert_eq!(facts(dir.path()), GitFacts::default());
        std::fs::remove_file(git.join("HEAD")).unwrap();
        std::fs::write(git.join("HEAD"), vec![b'x'; 1 << 20]).unwrap();
        assert_eq!(facts(dir.path()).current_branch, None);
    }
}
