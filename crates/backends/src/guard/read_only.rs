//! A file system that is read-only outside the directories that a confined program may write.
//!
//! Landlock does not cover changes of modes, owners, times and attributes of files. In a mount namespace of its own the
//! program sees every file system read-only but for its directories. A repository's `.git` is read-only as well unless
//! the workspace allows it to be written: what is there is run by git, outside of all confinement. The directories that
//! lead there from a writable one cannot be renamed, so that nothing else takes its place.

use crate::guard::Orders;
use crate::guard::repository::own_repository;
use crate::sys;
use crate::workspace_fs::open_unlinked;
use rustix::fs::CWD;
use rustix::mount::{
    MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount_change, move_mount, open_tree,
};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The directories of a confined program.
#[derive(Debug)]
pub(super) struct ReadOnlyFiles {
    /// What may be written.
    writable: Vec<PathBuf>,
    /// What may be read only, although it is within one of these.
    fixed: Vec<PathBuf>,
}

impl ReadOnlyFiles {
    pub(super) fn new(orders: &Orders, writable: &[PathBuf], temporary: &Path) -> Self {
        let writable: Vec<PathBuf> =
            writable.iter().map(PathBuf::as_path).chain([temporary]).map(Path::to_owned).collect();
        let repositories = orders.write.iter().filter(|_| !orders.git_writable);
        let mut fixed: Vec<PathBuf> = repositories.flat_map(|dir| own_repository(dir)).collect();
        create_missing(&orders.protect, &writable);
        fixed.extend(orders.protect.iter().cloned());
        Self { writable, fixed }
    }

    /// Enters a namespace where only these directories are writable; fails where the kernel gives none, and then
    /// nothing has changed. The process must have one thread.
    pub(super) fn enter(&self) -> io::Result<()> {
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        sys::new_namespaces()?;
        // The program keeps its user: in its namespace, too, files belong to whom they belong.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        // Copies from before everything becomes read-only stay writable.
        let existing = self.writable.iter().filter(|dir| dir.exists());
        let writable: Vec<(&PathBuf, OwnedFd)> =
            existing.map(|dir| Ok((dir, copy(dir)?))).collect::<io::Result<_>>()?;
        sys::make_read_only(CWD, c"/")?;
        for (dir, tree) in writable {
            attach(&tree, dir)?;
        }
        let (fixed, pinned) = self.within_writable();
        // A mount cannot be renamed.
        for path in &pinned {
            attach(&copy(path)?, path)?;
        }
        for path in &fixed {
            let tree = copy(path)?;
            sys::make_read_only(tree.as_fd(), c"")?;
            attach(&tree, path)?;
        }
        // The current directory still belongs to the mount below the writable copy, which is read-only now. Its path
        // leads to the copy, so enter it again.
        let current = std::env::current_dir()?;
        std::env::set_current_dir(current)
    }

    /// What is read-only although it is within a writable directory, and the directories between the two, outer ones
    /// first. All paths are without links.
    fn within_writable(&self) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
        let real = |paths: &[PathBuf]| -> BTreeSet<PathBuf> {
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
        };
        let (writable, mut fixed) = (real(&self.writable), real(&self.fixed));
        fixed.retain(|path| writable.iter().any(|dir| path.starts_with(dir)));
        let between = |path: &PathBuf| -> Vec<PathBuf> {
            let outer =
                writable.iter().filter(|dir| path.starts_with(dir)).min().cloned().unwrap_or_default();
            let above = path.ancestors().skip(1).take_while(|dir| **dir != outer && dir.starts_with(&outer));
            above.map(Path::to_owned).collect()
        };
        let pinned = fixed.iter().flat_map(between).collect();
        (fixed, pinned)
    }
}

/// Creates directories that a program could otherwise create itself, and then write.
fn create_missing(dirs: &[PathBuf], writable: &[PathBuf]) {
    let writable: Vec<PathBuf> = writable.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
    let umask = rustix::process::umask(0o077.into());
    for dir in dirs.iter().filter(|dir| !dir.exists()) {
        let above = dir.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
        if writable.iter().any(|writable| above.starts_with(writable)) {
            // Where that is impossible, it is for the program, too.
            let _created = fs::create_dir_all(dir);
        }
    }
    rustix::process::umask(umask);
}

/// Whether this kernel lets a process of this user make file systems read-only for itself. The process must have one
/// thread.
pub(super) fn is_available() -> bool {
    let temporary = std::env::temp_dir().canonicalize().into_iter().collect();
    let nothing = ReadOnlyFiles { writable: temporary, fixed: Vec::new() };
    sys::succeeds_in_child(|| nothing.enter().is_ok())
}

/// A copy of the mounts from this path on, which must not contain a link: another program may have put it there since
/// the path was resolved.
fn copy(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(open_unlinked(path)?, c"", flags)?)
}

fn attach(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, c"", open_unlinked(path)?, c"", flags)?)
}
