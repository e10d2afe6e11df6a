//! Reads what git knows of a directory, and creates working trees.
//!
//! Facts are read from git's own files, so that listing workspaces starts no process; only creating a working tree
//! runs `git`. A repository can name programs that git runs; here it runs none of them.

use crate::limits;
use rustix::fs::FileType;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use swb_engine::chat::{Boxed, Git, GitFacts};
use swb_engine::file_access;
use tokio::process::Command;

/// Runs git with another file mode creation mask than the daemon's own.
const MASKED: &str = "umask \"$1\" && shift && exec git \"$@\"";
/// Settings under which git runs no program that a repository names: no hooks, no file system monitor, no pager, no
/// external diff, and nothing that fetches objects.
const INERT: [(&str, &str); 7] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("diff.external", ""),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("credential.helper", ""),
];
/// Settings that turn off a filter.
const FILTER_OFF: [(&str, &str); 4] = [("smudge", ""), ("clean", ""), ("process", ""), ("required", "false")];
/// Variables that would make git use another repository than that of the directory.
const FOREIGN: [&str; 5] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"];

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
    let filters = filters_of(&repository, umask).await?;
    let mut command = git(&repository, umask, &filters);
    command.args(["worktree", "add", "-b", name, "--"]).arg(&place);
    let output = finished(command).await?;
    match output.status.success() {
        true => Ok(place),
        false => Err(complaint(&output.stderr)),
    }
}

/// `git` in a directory, made to run nothing that the repository names, these filters included.
fn git(repository: &Path, umask: u32, filters: &BTreeSet<String>) -> Command {
    let mut command = Command::new("/bin/sh");
    // Git enters the directory itself: a child of ours that cannot would keep us waiting for its start.
    command
        .args(["-c", MASKED, "sh", &format!("{:04o}", umask & 0o777), "-C"])
        .arg(repository)
        .current_dir("/");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_LAZY_FETCH", "1").env("LC_ALL", "C");
    // Variables, because the name of a filter may contain anything, even an equals sign.
    let inert = INERT.iter().map(|(key, value)| ((*key).to_owned(), *value));
    let off = filters
        .iter()
        .flat_map(|name| FILTER_OFF.iter().map(move |(key, value)| (format!("filter.{name}.{key}"), *value)));
    let settings: Vec<(String, &str)> = inert.chain(off).collect();
    command.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (number, (key, value)) in settings.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{number}"), key).env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    for variable in FOREIGN {
        command.env_remove(variable);
    }
    command
}

/// The filters for contents of files that the repository defines. Those of the user are not among them: the user has
/// installed them.
async fn filters_of(repository: &Path, umask: u32) -> Result<BTreeSet<String>, String> {
    let mut command = git(repository, umask, &BTreeSet::new());
    command.args(["config", "--null", "--show-scope", "--name-only", "--get-regexp", "^filter\\."]);
    // It fails if there are none.
    Ok(filters_in(&finished(command).await?.stdout))
}

/// The names of filters in pairs of a scope and a key, each with a NUL at its end.
fn filters_in(listed: &[u8]) -> BTreeSet<String> {
    let texts: Vec<_> = listed.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let own = texts.chunks_exact(2).filter(|entry| matches!(&*entry[0], "local" | "worktree"));
    own.filter_map(|entry| Some(entry[1].strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned())).collect()
}

/// Checks that a name is valid as a directory, as a branch and as an argument.
fn check_name(name: &str) -> Result<(), String> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    match plain && !name.is_empty() && !name.starts_with(['-', '.']) && name.len() <= limits::WORKTREE_NAME {
        true => Ok(()),
        false => Err(format!(
            "a working tree cannot be named '{}': use letters, digits, '_', and '.' or '-' inside",
            name.chars().take(80).collect::<String>().escape_debug()
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

/// Waits for a command that reads no input; kills it and everything it started if it takes too long.
async fn finished(mut command: Command) -> Result<Output, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.process_group(0).kill_on_drop(true).spawn();
    let child = child.map_err(|error| format!("cannot start git: {error}"))?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    match tokio::time::timeout(limits::GIT, child.wait_with_output()).await {
        Ok(output) => output.map_err(|error| format!("cannot read the output of git: {error}")),
        Err(_) => {
            if let Some(group) = group {
                // It may have exited at this moment.
                let _killed = kill_process_group(group, Signal::KILL);
            }
            Err(format!("git did not finish within {} seconds", limits::GIT.as_secs()))
        }
    }
}

/// The error message in git's output.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line =
        text.lines().rev().find_map(|line| line.strip_prefix("fatal: ").or(line.strip_prefix("error: ")));
    let line =
        line.or(text.lines().last()).filter(|line| !line.is_empty()).unwrap_or("failed without a message");
    format!("git: {}", line.chars().take(300).collect::<String>())
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

    #[test]
    fn only_filters_of_the_repository_are_turned_off() {
        let listed = b"global\0filter.lfs.smudge\0local\0filter.a.b=c.smudge\0worktree\0filter.c.process\0";
        assert_eq!(filters_in(listed), ["a.b=c".to_owned(), "c".to_owned()].into());
        assert_eq!(filters_in(b""), BTreeSet::new());
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
