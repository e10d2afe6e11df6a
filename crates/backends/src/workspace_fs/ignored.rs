//! What a walk leaves out: the ignore files of the workspace, as git reads them.
//!
//! These files come with the workspace, and so from any author. They are opened like every other file of the workspace, and
//! only small regular ones count: a link to an endless device or a pipe without a writer must not block us.

use super::{Root, beneath};
use crate::workspace_fs::limits;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, OFlags};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Ignore files of a directory; the first one with a matching rule counts.
const FILES: [&str; 3] = [".ignore", ".gitignore", ".git/info/exclude"];

/// What a walk leaves out.
#[derive(Debug)]
pub(super) struct Ignored {
    root: Root,
    /// Where the walk begins; rules from above are not read.
    from: PathBuf,
    /// The rules of the current directory and of those above it; the outermost first.
    chain: Mutex<Vec<Rules>>,
}

/// The rules of a directory.
#[derive(Debug)]
struct Rules {
    dir: PathBuf,
    files: Vec<Gitignore>,
    len: usize,
}

impl Ignored {
    /// For a walk through a root from some directory on, whose path is resolved.
    pub(super) fn new(root: &Root, from: &Path) -> Self {
        Self { root: root.clone(), from: from.to_owned(), chain: Mutex::default() }
    }

    /// Whether a path of the walk is to be left out.
    pub(super) fn leaves_out(&self, path: &Path, directory: bool) -> bool {
        let Some(parent) = path.parent().filter(|parent| parent.starts_with(&self.from)) else {
            return false;
        };
        let mut chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        chain.retain(|rules| parent.starts_with(&rules.dir));
        let known = chain.len();
        let above = parent.ancestors().take_while(|dir| dir.starts_with(&self.from));
        for dir in above.collect::<Vec<_>>().into_iter().rev().skip(known) {
            let spent: usize = chain.iter().map(|rules| rules.len).sum();
            chain.push(self.rules(dir, limits::IGNORE_RULES - spent));
        }
        let files = chain.iter().rev().flat_map(|rules| &rules.files);
        let said = files.map(|file| file.matched(path, directory)).find(|said| !said.is_none());
        said.is_some_and(|said| said.is_ignore())
    }

    fn rules(&self, dir: &Path, room: usize) -> Rules {
        let mut rules = Rules { dir: dir.to_owned(), files: Vec::new(), len: 0 };
        let Ok(beneath) = dir.strip_prefix(&self.root.real) else { return rules };
        for name in FILES {
            let most = limits::IGNORE_FILE.min(room - rules.len);
            let Some(text) = self.text(&beneath.join(name), most) else { continue };
            rules.len += text.len();
            let mut builder = GitignoreBuilder::new(dir);
            for line in String::from_utf8_lossy(&text).lines() {
                // Invalid patterns are skipped, as in git.
                let _added = builder.add_line(None, line);
            }
            rules.files.extend(builder.build().ok());
        }
        rules
    }

    /// The bytes of a file, if it is small and regular.
    fn text(&self, path: &Path, most: usize) -> Option<Vec<u8>> {
        let fd = beneath::open_unlinked(&self.root.real, path, OFlags::RDONLY).ok()?;
        let stat = rustix::fs::fstat(&fd).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut bytes = Vec::new();
        File::from(fd).take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() <= most).then_some(bytes)
    }
}
