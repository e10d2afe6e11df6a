//! Lists and searches files: a walk from one of the roots that leaves out what git ignores.
//!
//! The walk itself uses paths, so a directory that turns into a link meanwhile could lead it elsewhere. Therefore its
//! results are not trusted: each file is opened or checked beneath the root again, without links.

use super::files::read_text;
use super::ignored::Ignored;
use super::{AgentPath, WorkspaceFs, WorkspaceFsError, beneath};
use crate::workspace_fs::limits;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use regex::{Regex, RegexBuilder};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What to list.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListQuery {
    /// The directory; the working directory if empty.
    pub(crate) path: String,
    /// Only what matches, as in a `.gitignore`: `*.rs`, `src/**/mod.rs`.
    pub(crate) glob: Option<String>,
    /// Maximum depth; 1 is the directory alone.
    pub(crate) depth: Option<usize>,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileEntry {
    /// Relative to the working directory.
    pub(crate) path: String,
    /// It is a directory.
    pub(crate) directory: bool,
}

/// A list, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The entries.
    pub(crate) entries: Vec<FileEntry>,
    /// There are more.
    pub(crate) truncated: bool,
}

/// What to search for.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchQuery {
    /// A regular expression.
    pub(crate) pattern: String,
    /// The pattern is plain text instead.
    pub(crate) literal: bool,
    /// Ignore the case.
    pub(crate) ignore_case: bool,
    /// The directory or file; the working directory if empty.
    pub(crate) path: String,
    /// Only files that match, as in [`ListQuery::glob`].
    pub(crate) glob: Option<String>,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    /// The file, relative to the working directory.
    pub(crate) path: String,
    /// The line's number, from 1 on.
    pub(crate) line: usize,
    /// The line, or its beginning.
    pub(crate) text: String,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SearchMatches {
    /// The lines.
    pub(crate) matches: Vec<Match>,
    /// There may be more.
    pub(crate) truncated: bool,
}

impl WorkspaceFs {
    /// Lists a directory.
    pub(crate) fn list(&self, query: &ListQuery) -> Result<Listing, WorkspaceFsError> {
        let start = self.start(&query.path)?;
        if !start.directory {
            return Err(WorkspaceFsError::NotADirectory(query.path.clone()));
        }
        let mut listing = Listing::default();
        listing.truncated = self.walk(&start, query.glob.as_deref(), query.depth, |spot| {
            if listing.entries.len() >= limits::ENTRIES {
                return false;
            }
            // A pattern passes every directory, as it may match something in it; those are not listed.
            let entry = self.entry(spot).filter(|entry| query.glob.is_none() || !entry.directory);
            listing.entries.extend(entry);
            true
        })?;
        listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }

    /// Searches the lines of text files.
    pub(crate) fn search(&self, query: &SearchQuery) -> Result<SearchMatches, WorkspaceFsError> {
        let pattern = pattern(query)?;
        let start = self.start(&query.path)?;
        let mut found = SearchMatches::default();
        if !start.directory {
            found.truncated = !self.search_file(&start.spot, &pattern, &mut found.matches);
            return Ok(found);
        }
        found.truncated = self.walk(&start, query.glob.as_deref(), None, |spot| {
            self.search_file(spot, &pattern, &mut found.matches)
        })?;
        Ok(found)
    }

    fn start<'a>(&'a self, path: &'a str) -> Result<WalkStart<'a>, WorkspaceFsError> {
        let (spot, fd) = self.open(self.spot(if path.is_empty() { "." } else { path })?, OFlags::PATH)?;
        let directory = is_directory(&fd).map_err(|error| spot.io(error))?;
        let real = beneath::path_of(&fd).map_err(|error| spot.io(error))?;
        Ok(WalkStart { spot: self.real_spot(spot.shown, &real)?, directory })
    }

    /// Calls `visit` for everything beneath a directory until it returns false; returns whether it did or time ran out.
    fn walk(
        &self,
        start: &WalkStart<'_>,
        glob: Option<&str>,
        depth: Option<usize>,
        mut visit: impl FnMut(&AgentPath<'_>) -> bool,
    ) -> Result<bool, WorkspaceFsError> {
        let until = Instant::now() + limits::WALK;
        let mut any = false;
        // From the root on, as the root's ignore rules hold in every directory below. An ignored directory is walked
        // anyway if it was requested.
        for from in [&start.spot.root.real, &start.spot.real()] {
            for entry in walker(&start.spot, from, glob, depth)? {
                let Ok(entry) = entry else { continue };
                let Ok(beneath) = entry.path().strip_prefix(&start.spot.root.real) else { continue };
                if !beneath.starts_with(&start.spot.beneath) || beneath == start.spot.beneath {
                    continue;
                }
                any = true;
                let spot = AgentPath { shown: "", root: start.spot.root, beneath: beneath.to_owned() };
                if Instant::now() > until || !visit(&spot) {
                    return Ok(true);
                }
            }
            if any || start.spot.beneath.as_os_str().is_empty() {
                break;
            }
        }
        Ok(false)
    }

    fn entry(&self, spot: &AgentPath<'_>) -> Option<FileEntry> {
        let fd = beneath::open_unlinked(&spot.root.real, &spot.beneath, OFlags::PATH);
        let directory = match fd {
            Ok(fd) => is_directory(&fd).ok()?,
            // A link: it is listed, but its target is not.
            Err(error) if beneath::leaves(&error) => false,
            Err(_) => return None,
        };
        Some(FileEntry { path: self.shown(&spot.full()), directory })
    }

    /// Searches one file; returns whether there is room for more. Binary and unreadable files are skipped.
    fn search_file(&self, spot: &AgentPath<'_>, pattern: &Regex, found: &mut Vec<Match>) -> bool {
        let Ok(fd) = beneath::open_unlinked(&spot.root.real, &spot.beneath, OFlags::RDONLY) else {
            return true;
        };
        let Ok(text) = read_text(spot, fd) else { return true };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| pattern.is_match(line)) {
            if found.len() >= limits::MATCHES {
                return false;
            }
            let text = line.chars().take(limits::MATCH_LINE).collect();
            found.push(Match { path: self.shown(&spot.full()), line: number + 1, text });
        }
        true
    }
}

/// Where a walk begins.
struct WalkStart<'a> {
    /// Without links.
    spot: AgentPath<'a>,
    directory: bool,
}

fn is_directory(fd: &OwnedFd) -> Result<bool, Errno> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) == FileType::Directory)
}

fn pattern(query: &SearchQuery) -> Result<Regex, WorkspaceFsError> {
    let source = if query.literal { regex::escape(&query.pattern) } else { query.pattern.clone() };
    let built =
        RegexBuilder::new(&source).case_insensitive(query.ignore_case).size_limit(limits::PATTERN).build();
    built.map_err(|error| WorkspaceFsError::BadPattern(error.to_string()))
}

fn walker(
    start: &AgentPath<'_>,
    from: &Path,
    glob: Option<&str>,
    depth: Option<usize>,
) -> Result<ignore::Walk, WorkspaceFsError> {
    let target = start.real();
    let ignored = Ignored::new(start.root, from);
    let asked_for = overrides(&target, glob)?;
    let above = target.strip_prefix(from).map_or(0, |rest| rest.components().count());
    let mut builder = WalkBuilder::new(from);
    builder
        // `WalkBuilder` would open ignore files itself, even if they are not regular files: `Ignored` does that.
        .standard_filters(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .max_depth(depth.map(|depth| above + depth.max(1)))
        .overrides(asked_for.clone())
        .filter_entry(move |entry| {
            let directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            on_the_way(entry, &target)
                && (asked_for.matched(entry.path(), directory).is_whitelist()
                    || !ignored.leaves_out(entry.path(), directory))
        });
    Ok(builder.build())
}

fn overrides(target: &PathBuf, glob: Option<&str>) -> Result<Override, WorkspaceFsError> {
    let bad = |error: ignore::Error| WorkspaceFsError::BadPattern(error.to_string());
    let mut builder = OverrideBuilder::new(target);
    if let Some(glob) = glob {
        builder.add(glob).map_err(bad)?;
    }
    builder.build().map_err(bad)
}

/// Whether a path leads to the requested directory or lies in it; never git's own files.
fn on_the_way(entry: &DirEntry, target: &Path) -> bool {
    let path = entry.path();
    entry.file_name() != ".git" && (path.starts_with(target) || target.starts_with(path))
}
