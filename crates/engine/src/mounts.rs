//! Finds the mounts that a path leads through. The caller is asked before each of them is accessed, so that it can avoid
//! one that does not respond.
//!
//! A path is followed link by link, because a link in a directory that responds may lead to a mount that does not. The
//! mount of a place is found by comparing names with the kernel's list, which no file system can delay.

use crate::limits;
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Follows an absolute path. Calls `may_enter` with each place on the way, without links in it, before the kernel accesses
/// it; stops and returns `false` if that returns `false`.
pub(crate) fn follow(path: &Path, mut may_enter: impl FnMut(&Path) -> bool) -> bool {
    if !path.is_absolute() {
        return true;
    }
    let mut at = PathBuf::from("/");
    let mut rest = parts_backwards(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        at.push(&part);
        if !may_enter(&at) {
            return false;
        }
        match rustix::fs::readlink(&at, Vec::new()) {
            Ok(target) if links < limits::LINKS => {
                links += 1;
                at.pop();
                let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                rest.extend(parts_backwards(target));
            }
            // Not a link.
            Err(Errno::INVAL) => {}
            // The caller's own access to the path reports what is wrong.
            Ok(_) | Err(_) => return true,
        }
    }
    true
}

/// The names in a path, the first one last.
fn parts_backwards(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<OsString> = parts.collect();
    parts.reverse();
    parts
}

/// Where file systems are mounted for this process.
#[derive(Debug)]
pub(crate) struct Mounts(Vec<PathBuf>);

impl Mounts {
    /// Reads the kernel's list. If that fails, all places count as on one mount.
    #[allow(clippy::disallowed_methods, reason = "a file of the kernel, which no file system delays")]
    pub(crate) fn read() -> Self {
        Self::parse(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(list: &[u8]) -> Self {
        let lines = list.split(|byte| *byte == b'\n');
        // id, parent, device, root, mount point, …
        let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
        Self(points.map(|point| OsString::from_vec(unescaped(point)).into()).collect())
    }

    /// The mount that a place without links is on, as the path of its root.
    pub(crate) fn of(&self, place: &Path) -> &Path {
        let above = self.0.iter().filter(|point| place.starts_with(point));
        above.max_by_key(|point| point.as_os_str().len()).map_or(Path::new("/"), PathBuf::as_path)
    }
}

/// A name in the kernel's list, where spaces, tabs, line ends and backslashes are written as three octal digits.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_a_place_is_the_nearest_above_it() {
        let mounts = Mounts::parse(
            b"22 1 0:2 / / rw - ext4 /dev/a rw\n\
              30 22 0:9 / /mnt/a\\040b rw shared:1 - nfs4 x:/ rw\n\
              31 22 0:8 / /mnt rw - tmpfs x rw\nbroken\n",
        );
        for (place, mount) in [
            ("/home/x", "/"),
            ("/mnt", "/mnt"),
            ("/mnt/a", "/mnt"),
            ("/mnt/a b/c", "/mnt/a b"),
            ("/mnt/a bc", "/mnt"),
            ("/mntx", "/"),
        ] {
            assert_eq!(mounts.of(Path::new(place)), Path::new(mount), "{place}");
        }
        assert_eq!(Mounts::parse(b"").of(Path::new("/x")), Path::new("/"));
        assert_eq!(Mounts::read().of(Path::new("/proc/version")), Path::new("/proc"));
    }

    #[test]
    fn a_path_is_followed_through_links() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real/../to", base.join("link")).unwrap();
        std::os::unix::fs::symlink("/proc", base.join("to")).unwrap();
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        let places = |path: &str| {
            let mut places = Vec::new();
            assert!(follow(&base.join(path), |place| {
                places.push(place.to_owned());
                true
            }));
            places
        };
        assert_eq!(places("link/version").last().unwrap(), Path::new("/proc/version"));
        assert_eq!(places("real/./none/x").last().unwrap(), &base.join("real/none"), "the access reports it");
        assert!(places("loop").len() <= limits::LINKS + base.components().count() + 1);
        assert!(!follow(&base.join("link/version"), |place| place != Path::new("/proc")));
    }
}
