//! The repositories of directories that a confined program may write.
//!
//! What is in a repository is run by git, outside of all confinement. Files in a directory that the program can write are
//! claims of that program.

use crate::guard::limits;
use std::path::{Path, PathBuf};
use swb_engine::file_access;

/// The repository of a linked working tree: git keeps data of both there.
///
/// The program can write the working tree, so its link is trusted only if the repository links back, and only if the
/// program cannot write there.
pub(super) fn repository_of(tree: &Path, write: &[PathBuf]) -> Option<PathBuf> {
    let own = pointed(tree)?.canonicalize().ok()?;
    let mut written = write.iter().filter_map(|dir| dir.canonicalize().ok());
    if written.any(|dir| own.starts_with(dir)) {
        return None;
    }
    let back = own.join(line(&own.join("gitdir"))?).canonicalize().ok()?;
    let common = own.join(line(&own.join("commondir"))?).canonicalize().ok()?;
    let agreed = back == tree.canonicalize().ok()?.join(".git") && own.parent()? == common.join("worktrees");
    agreed.then_some(common)
}

/// What git uses as the repository of a directory, wherever that is: its `.git`, the directory that a file of that name
/// points to, and the one that several working trees share; or the directory itself, if it is a repository without a
/// working tree. The whole directory then, as a new file in it (`commondir`) is enough to replace its settings.
pub(crate) fn own_repository(dir: &Path) -> Vec<PathBuf> {
    let git = dir.join(".git");
    if git.symlink_metadata().is_err() {
        let bare = ["HEAD", "objects", "refs"].iter().all(|name| dir.join(name).exists());
        return bare.then(|| dir.to_owned()).into_iter().collect();
    }
    let own = pointed(dir).unwrap_or_else(|| git.clone());
    let common = line(&own.join("commondir")).map(|common| own.join(common));
    [git, own].into_iter().chain(common).collect()
}

/// The directory that a `.git` points to, if it is a file.
fn pointed(tree: &Path) -> Option<PathBuf> {
    let pointer = line(&tree.join(".git"))?;
    Some(tree.join(pointer.strip_prefix("gitdir: ")?))
}

/// The only line of a file, as git reads it.
fn line(path: &Path) -> Option<String> {
    Some(short_text(path)?.trim_end_matches(['\n', '\r']).to_owned())
}

/// The text of a small regular file. Anything else that the program may have put there must not block its guard.
fn short_text(path: &Path) -> Option<String> {
    String::from_utf8(file_access::read_beginning(path, limits::GIT_POINTER).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Rig(tempfile::TempDir);

    impl Rig {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        /// A working tree and its directory in the repository.
        fn tie(&self, tree: &str, own: &str, commondir: &str) {
            let (tree, own) = (self.at(tree), self.at(own));
            fs::create_dir_all(&tree).unwrap();
            fs::create_dir_all(&own).unwrap();
            fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
            fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
            fs::write(own.join("commondir"), format!("{commondir}\n")).unwrap();
        }

        fn repository(&self, tree: &str) -> Option<PathBuf> {
            repository_of(&self.at(tree), &[self.at(tree), self.at("written")])
        }
    }

    #[test]
    fn a_linked_working_tree_and_its_repository_must_agree() {
        let rig = Rig::new();
        rig.tie("tree", "repo/.git/worktrees/tree", "../..");
        assert_eq!(rig.repository("tree"), Some(rig.at("repo/.git")));
        // Another tree that claims to be the same one.
        fs::create_dir(rig.at("other")).unwrap();
        fs::copy(rig.at("tree/.git"), rig.at("other/.git")).unwrap();
        assert_eq!(rig.repository("other"), None);
        // A tree with a repository of its own that claims to be elsewhere.
        fs::create_dir(rig.at("home")).unwrap();
        rig.tie("false", "false/worktrees/false", rig.at("home").to_str().unwrap());
        assert_eq!(rig.repository("false"), None);
        std::os::unix::fs::symlink(rig.at("home"), rig.at("false/link")).unwrap();
        rig.tie("false", "false/worktrees/false", "../../link");
        assert_eq!(rig.repository("false"), None);
        // An ordinary repository.
        fs::create_dir_all(rig.at("plain/.git")).unwrap();
        assert_eq!(rig.repository("plain"), None);
        assert_eq!(rig.repository("nothing"), None);
    }

    #[test]
    fn a_repository_that_the_program_can_write_is_rejected() {
        let rig = Rig::new();
        // The tree lies where git would keep its data, and so would confirm its own claim.
        rig.tie("home/worktrees/tree", "home/worktrees/tree", "../..");
        assert_eq!(rig.repository("home/worktrees/tree"), None);
        rig.tie("tree", "written/worktrees/tree", "../..");
        assert_eq!(rig.repository("tree"), None);
    }

    #[test]
    fn all_parts_of_a_repository_are_found() {
        let rig = Rig::new();
        assert_eq!(own_repository(&rig.at("nothing")), Vec::<PathBuf>::new());
        fs::create_dir_all(rig.at("plain/.git")).unwrap();
        assert!(own_repository(&rig.at("plain")).contains(&rig.at("plain/.git")));
        rig.tie("tree", "tree/.bare/worktrees/tree", "../..");
        let found: Vec<PathBuf> =
            own_repository(&rig.at("tree")).iter().map(|path| path.canonicalize().unwrap()).collect();
        assert_eq!(found, ["tree/.git", "tree/.bare/worktrees/tree", "tree/.bare"].map(|path| rig.at(path)));
        for dir in ["bare/objects", "bare/refs"] {
            fs::create_dir_all(rig.at(dir)).unwrap();
        }
        assert_eq!(own_repository(&rig.at("bare")), Vec::<PathBuf>::new());
        fs::write(rig.at("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(own_repository(&rig.at("bare")), [rig.at("bare")]);
    }

    #[test]
    fn oversized_git_files_are_rejected() {
        let rig = Rig::new();
        fs::write(rig.at("long"), "x".repeat(1 << 20)).unwrap();
        assert_eq!(short_text(&rig.at("long")).unwrap().len() as u64, limits::GIT_POINTER);
    }

    #[test]
    fn irregular_git_files_do_not_block() {
        let rig = Rig::new();
        let pipe = |path: &str| {
            let path = rig.at(path);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        };
        for tree in ["pipe", "zero"] {
            fs::create_dir(rig.at(tree)).unwrap();
        }
        pipe("pipe/.git");
        std::os::unix::fs::symlink("/dev/zero", rig.at("zero/.git")).unwrap();
        rig.tie("tree", "repo/worktrees/tree", "../..");
        fs::remove_file(rig.at("repo/worktrees/tree/commondir")).unwrap();
        pipe("repo/worktrees/tree/commondir");
        for tree in ["pipe", "zero", "tree"] {
            assert_eq!(rig.repository(tree), None, "{tree}");
        }
    }
}
