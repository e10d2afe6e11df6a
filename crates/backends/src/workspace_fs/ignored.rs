//! What a walk leaves out: what the workspace's own files say, as git understands them.
//!
//! These files come with the workspace, and so from anybody. They are opened as every other file of the workspace is, and
//! only small regular ones count: a link to an endless device or a pipe that nobody writes to must not hold us up.

use super::{Root, beneath};
use crate::workspace_fs::limits;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, OFlags};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Files with rules that a directory may have; the first one with a rule for something counts.
const FILES: [&str; 3] = [".ignore", ".gitignore", ".git/info/exclude"];

/// What a walk leaves out.
#[derive(Debug)]
pub(super) struct Ignored {
    root: Root,
    /// Where the walk begins; rules from above do not count.
    from: PathBuf,
    /// The rules of the directory where the walk is, and of those above it; the outermost first.
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
    /// For a walk through a root from some directory on, which is given without links.
    pub(super) fn new(root: &Root, from: &Path) -> Self {
        Self { root: root.clone(), from: from.to_owned(), chain: Mutex::default() }
    }

    /// Whether something that the walk has come to is to be left out.
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
                // What is no pattern is no rule, to git as well.
                let _added = builder.add_line(None, line);
            }
            rules.files.extend(builder.build().ok());
        }
        rules
    }

    /// The bytes of a file that is a small regular one.
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
