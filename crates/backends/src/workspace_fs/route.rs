//! The route to a directory, link by link.
//!
//! Directories are given by path, and the path is resolved whenever one is used. Where it leads through something that
//! agents can write, they can redirect it by putting a link in the place of a directory.

use crate::workspace_fs::limits;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// A name that is looked up on the route.
#[derive(Debug)]
struct PathStep {
    /// Its path, in which only the last part may be a link.
    at: PathBuf,
    link: bool,
}

/// Whether the route to a directory leads through a writable one.
pub(crate) fn is_beneath(path: &Path, written: &[PathBuf]) -> bool {
    steps(path).is_none_or(|(steps, _)| steps.iter().any(|step| is_in(&step.at, written)))
}

/// Where a path leads, if no link on its route is in a writable directory.
pub(crate) fn resolve(path: &Path, written: &[PathBuf]) -> Option<PathBuf> {
    let (steps, end) = steps(path)?;
    let linked = steps.iter().any(|step| step.link && is_in(&step.at, written));
    (!linked).then_some(end)
}

fn is_in(at: &Path, written: &[PathBuf]) -> bool {
    written.iter().any(|dir| at != dir && at.starts_with(dir))
}

/// All steps of the route, and its end; `None` if it has none.
fn steps(path: &Path) -> Option<(Vec<PathStep>, PathBuf)> {
    let (mut at, mut links, mut steps) = (PathBuf::from("/"), 0, Vec::new());
    let mut ahead: VecDeque<OsString> = names(path).collect();
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        let target = std::fs::read_link(&at).ok();
        steps.push(PathStep { at: at.clone(), link: target.is_some() });
        let Some(target) = target else { continue };
        links += 1;
        if links > limits::LINKS {
            return None;
        }
        at = if target.is_absolute() { PathBuf::from("/") } else { at.parent()?.to_owned() };
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            ahead.push_front(name);
        }
    }
    Some((steps, at))
}

fn names(path: &Path) -> impl Iterator<Item = OsString> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(|part| part.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn routes_through_writable_directories_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().canonicalize().unwrap().join(path);
        for name in ["ws/docs", "other/docs"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        symlink(at("ws/docs"), at("alias")).unwrap();
        symlink("ws", at("short")).unwrap();
        symlink("../other", at("ws/out")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let written = [at("ws")];
        let found = |path: &str| (is_beneath(&at(path), &written), resolve(&at(path), &written));
        for (path, real) in [("ws", "ws"), ("short", "ws"), ("missing", "missing"), ("ws/../other", "other")]
        {
            assert_eq!(found(path), (false, Some(at(real))), "{path}");
        }
        for (path, real) in [("ws/docs", "ws/docs"), ("alias", "ws/docs"), ("short/docs", "ws/docs")] {
            assert_eq!(found(path), (true, Some(at(real))), "{path}");
        }
        for path in ["ws/out", "ws/out/docs", "short/out/docs", "loop"] {
            assert_eq!(found(path), (true, None), "{path}");
        }
    }
}
