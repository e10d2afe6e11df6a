//! The text of a completed turn, looked up in the session files of its agent.
//!
//! The files are read on a thread of their own (`file_access`), as they are in a home that may not respond. A look-up takes
//! a limited time, and a session whose files did not respond uses the screen for a while. Only regular files of our own
//! user are read, links below the agent's directory are not followed, and the text of a file counts only if it agrees with the screen.

use crate::file_access;
use crate::limits;
use crate::spec::SessionSpec;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::cmp::Reverse;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::Arc;
use swb_turns::CompletedTurn;
use swb_turns::transcript::{Disagreement, Exchange, Shown, TranscriptFormat, TranscriptPlace, agreed};
use tokio::time::{Instant, sleep};

/// What is looked up.
#[derive(Debug, Clone)]
pub(super) struct LookUp {
    spec: Arc<SessionSpec>,
    format: TranscriptFormat,
    /// Where the files are, if an earlier look-up has found that out.
    place: Option<Arc<TranscriptPlace>>,
    turn: Arc<ShownTurn>,
}

/// What the screen showed of the turn.
#[derive(Debug)]
struct ShownTurn {
    text: String,
    truncated: bool,
    interrupted: bool,
    /// The agent has written to its file after this, in Unix seconds.
    since: i64,
}

/// The outcome of a look-up.
#[derive(Debug)]
pub(super) struct LookedUp {
    /// Where the files are.
    pub(super) place: Option<Arc<TranscriptPlace>>,
    pub(super) text: Result<String, NoText>,
}

/// Why a turn has the text that the screen showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoText {
    #[error("no session file of the agent was written during the turn")]
    NoFile,
    #[error("the agent's session files cannot be read in time")]
    NotResponding,
    #[error("the agent ended before its session file was read")]
    Ended,
    #[error(transparent)]
    Disagrees(#[from] Disagreement),
}

impl LookUp {
    pub(super) fn new(
        spec: &Arc<SessionSpec>,
        format: TranscriptFormat,
        place: Option<Arc<TranscriptPlace>>,
        turn: &CompletedTurn,
    ) -> Self {
        let submitted = i64::try_from(turn.submitted_at.millis() / 1000).unwrap_or(i64::MAX);
        let shown = ShownTurn {
            text: turn.text.clone(),
            truncated: turn.truncated,
            interrupted: turn.interrupted,
            since: submitted.saturating_sub(limits::TRANSCRIPT_CLOCK),
        };
        Self { spec: Arc::clone(spec), format, place, turn: Arc::new(shown) }
    }

    /// Looks the text up. An answer that is not complete in the file yet is read again, as the screen may show it first.
    pub(super) async fn run(mut self) -> LookedUp {
        let deadline = Instant::now() + limits::TRANSCRIPT_LOOKUP;
        let mut seen = SeenFiles::default();
        let text = loop {
            let attempt = self.attempt(deadline, std::mem::take(&mut seen)).await;
            let Ok((text, files)) = attempt else { break Err(NoText::NotResponding) };
            seen = files;
            match text {
                Err(NoText::Disagrees(Disagreement::Incomplete)) if Instant::now() < deadline => {
                    sleep(limits::TRANSCRIPT_AGAIN).await;
                }
                text => break text,
            }
        };
        LookedUp { place: self.place, text }
    }

    async fn attempt(
        &mut self,
        deadline: Instant,
        seen: SeenFiles,
    ) -> Result<(Result<String, NoText>, SeenFiles), file_access::FileAccessError> {
        let Some(place) = self.find_place(deadline).await? else {
            return Ok((Err(NoText::NoFile), seen));
        };
        let (format, turn) = (self.format, Arc::clone(&self.turn));
        let left = deadline.saturating_duration_since(Instant::now());
        let directory = place.directory.clone();
        file_access::run_within(left, &directory, move |_| {
            let mut seen = seen;
            let text = seen.read(format, &place, &turn);
            (text, seen)
        })
        .await
    }

    async fn find_place(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<Arc<TranscriptPlace>>, file_access::FileAccessError> {
        if self.place.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            let real = file_access::run_within(left, &self.spec.workspace, file_access::real_path).await?;
            let variable = |name: &str| self.spec.env.get(name).cloned();
            let place = real.ok().and_then(|directory| self.format.place(variable, &directory));
            self.place = place.map(Arc::new);
        }
        Ok(self.place.clone())
    }
}

/// The files that were read last, and their content: a file that has not changed since is not read again.
#[derive(Debug, Default)]
struct SeenFiles {
    states: Vec<FileState>,
    reason: Option<NoText>,
}

/// Enough of a file's metadata to notice that it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FileState {
    seconds: i64,
    nanoseconds: i64,
    inode: u64,
    size: u64,
}

impl SeenFiles {
    /// The text of the turn from the newest file that agrees with the screen. Blocks.
    fn read(
        &mut self,
        format: TranscriptFormat,
        place: &TranscriptPlace,
        turn: &ShownTurn,
    ) -> Result<String, NoText> {
        let files = Walk::files(place, turn.since);
        let states: Vec<FileState> = files.iter().map(|file| file.state).collect();
        if let Some(reason) = self.reason.filter(|_| self.states == states) {
            return Err(reason);
        }
        self.states = states;
        let shown = Shown { text: &turn.text, truncated: turn.truncated, interrupted: turn.interrupted };
        let mut reason = NoText::NoFile;
        for file in files {
            for exchanges in file.conversations(format, place.log, turn.since).unwrap_or_default() {
                match agreed(&exchanges, shown) {
                    Ok(text) => return Ok(text),
                    // Of several sessions in one directory, the one that has not finished may be this one.
                    Err(Disagreement::Incomplete) => reason = Disagreement::Incomplete.into(),
                    Err(other) if reason == NoText::NoFile => reason = other.into(),
                    Err(_) => {}
                }
            }
        }
        self.reason = Some(reason);
        Err(reason)
    }
}

/// A session file that was written during the turn.
struct SessionFile {
    directory: Rc<OwnedFd>,
    name: CString,
    state: FileState,
}

impl SessionFile {
    /// The newest exchanges of each conversation in the file; `log` if it is a database, which has older conversations, too.
    fn conversations(
        &self,
        format: TranscriptFormat,
        log: Option<&str>,
        since: i64,
    ) -> std::io::Result<Vec<Vec<Exchange>>> {
        let Some(log) = log else {
            let (bytes, whole) = self.read_end()?;
            return Ok(vec![format.exchanges(&bytes, whole)]);
        };
        // The log first: what a checkpoint copies to the database meanwhile is in both then.
        let log = self.read_log(log)?;
        let (file, _) = self.open(&self.name)?;
        let part = |offset, bytes: &mut [u8]| file.read_exact_at(bytes, offset).is_ok();
        Ok(format.stored_exchanges(&part, &log, since))
    }

    fn read_log(&self, suffix: &str) -> std::io::Result<Vec<u8>> {
        match self.open(&log_name(&self.name, suffix)?) {
            Ok((_, size)) if size > limits::TRANSCRIPT_LOG => Err(std::io::ErrorKind::FileTooLarge.into()),
            Ok((log, size)) => read_from(&log, 0, size),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Opens a file of the directory, and returns its size.
    fn open(&self, name: &CStr) -> std::io::Result<(File, u64)> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&*self.directory, name, flags, Mode::empty())?;
        // The file may be another one by now.
        let stat = rustix::fs::fstat(&file)?;
        let size = own_file(&stat).ok_or(Errno::ACCESS)?.size;
        Ok((file.into(), size))
    }

    /// The last bytes of the file, and whether these are all of them.
    fn read_end(&self) -> std::io::Result<(Vec<u8>, bool)> {
        let (file, size) = self.open(&self.name)?;
        let from = size.saturating_sub(limits::TRANSCRIPT_TAIL);
        Ok((read_from(&file, from, size)?, from == 0))
    }
}

/// The bytes of a file from one place to another, or up to its end.
fn read_from(file: &File, from: u64, to: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(to - from).unwrap_or(0)];
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, from + read as u64) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// The name of a database's write-ahead log.
fn log_name(name: &CStr, suffix: &str) -> std::io::Result<CString> {
    Ok(CString::new([name.to_bytes(), suffix.as_bytes()].concat())?)
}

/// The state of a file that may be read: a regular one of our own user.
fn own_file(stat: &Stat) -> Option<FileState> {
    let own = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_uid == rustix::process::geteuid().as_raw();
    own.then(|| FileState {
        seconds: stat.st_mtime,
        nanoseconds: i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
        inode: stat.st_ino,
        size: u64::try_from(stat.st_size).unwrap_or(0),
    })
}

/// A search for session files, with a limited number of entries.
struct Walk<'a> {
    place: &'a TranscriptPlace,
    since: i64,
    entries: usize,
    found: Vec<SessionFile>,
}

impl<'a> Walk<'a> {
    /// The session files that were written since then, the newest first.
    fn files(place: &'a TranscriptPlace, since: i64) -> Vec<SessionFile> {
        let mut walk = Self { place, since, entries: limits::TRANSCRIPT_ENTRIES, found: Vec::new() };
        // The agent's directory itself may be a link, as to a place that is under version control.
        if let Ok(directory) = open_directory(CWD, &place.directory, OFlags::empty()) {
            walk.enter(directory, place.depth);
        }
        walk.found.sort_by_key(|file| Reverse(file.state));
        walk.found.truncate(limits::TRANSCRIPTS);
        walk.found
    }

    fn enter(&mut self, directory: OwnedFd, depth: usize) {
        let Ok(entries) = Dir::read_from(&directory) else { return };
        let directory = Rc::new(directory);
        let mut below: Vec<CString> = Vec::new();
        for entry in entries.flatten() {
            let Some(left) = self.entries.checked_sub(1) else { break };
            self.entries = left;
            let name = entry.file_name();
            match depth {
                _ if name.to_bytes().starts_with(b".") => {}
                0 => self.consider(&directory, name),
                _ => below.push(name.to_owned()),
            }
        }
        // Where directories are named by date, the newest ones come first.
        below.sort_unstable_by(|a, b| b.cmp(a));
        for name in below {
            if let Ok(inner) = open_directory(&*directory, &name, OFlags::NOFOLLOW) {
                self.enter(inner, depth - 1);
            }
        }
    }

    fn consider(&mut self, directory: &Rc<OwnedFd>, name: &CStr) {
        if !self.place.suffixes.iter().any(|suffix| name.to_bytes().ends_with(suffix.as_bytes())) {
            return;
        }
        let state_of = |name: &CStr| {
            let stat = rustix::fs::statat(&**directory, name, AtFlags::SYMLINK_NOFOLLOW).ok();
            stat.as_ref().and_then(own_file)
        };
        // A database is written to its log first, and to its file some time later.
        let log = self.place.log.and_then(|suffix| state_of(&log_name(name, suffix).ok()?));
        let state = state_of(name).map(|state| log.map_or(state, |log| log.max(state)));
        let state = state.filter(|state| state.seconds >= self.since);
        let file =
            state.map(|state| SessionFile { directory: Rc::clone(directory), name: name.to_owned(), state });
        self.found.extend(file);
    }
}

fn open_directory(at: impl AsFd, path: impl rustix::path::Arg, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat(at, path, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    const FILE: &str = concat!(
        r#"{"type":"user","message":{"role":"user","content":"hi"}}"#,
        "\n",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a **bold** answer"}]}}"#,
        "\n",
    );

    fn shown(text: &str, since: i64) -> ShownTurn {
        ShownTurn { text: text.to_owned(), truncated: false, interrupted: false, since }
    }

    fn place(directory: &Path, depth: usize) -> TranscriptPlace {
        TranscriptPlace { directory: directory.to_owned(), depth, suffixes: &[".jsonl"], log: None }
    }

    fn read(place: &TranscriptPlace, turn: &ShownTurn) -> Result<String, NoText> {
        SeenFiles::default().read(TranscriptFormat::Claude, place, turn)
    }

    #[test]
    fn the_file_that_agrees_is_found_among_others() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let turn = shown("a bold answer", 0);
        assert_eq!(read(&place(home.path(), 0), &turn), Err(NoText::NoFile));
        assert_eq!(read(&place(&at("missing"), 0), &turn), Err(NoText::NoFile));
        fs::write(at("other.jsonl"), FILE.replace("bold", "different and much longer")).unwrap();
        assert_eq!(read(&place(home.path(), 0), &turn), Err(Disagreement::Differs.into()));
        fs::write(at("unfinished.jsonl"), FILE.lines().next().unwrap()).unwrap();
        assert_eq!(read(&place(home.path(), 0), &turn), Err(Disagreement::Incomplete.into()));
        fs::write(at("own.jsonl"), FILE).unwrap();
        assert_eq!(read(&place(home.path(), 0), &turn).unwrap(), "a **bold** answer");
        assert_eq!(read(&place(home.path(), 1), &turn), Err(NoText::NoFile), "files of another level");
        assert_eq!(
            read(&place(home.path(), 0), &shown("a bold answer", i64::MAX)),
            Err(NoText::NoFile),
            "old"
        );
    }

    #[test]
    fn directories_by_date_are_searched_from_the_newest_on() {
        let home = tempfile::tempdir().unwrap();
        for day in ["2026/01/02", "2026/11/16", "2025/12/31"] {
            fs::create_dir_all(home.path().join(day)).unwrap();
        }
        for n in 0..limits::TRANSCRIPT_ENTRIES {
            fs::write(home.path().join(format!("2025/12/31/{n}.jsonl")), "").unwrap();
        }
        fs::write(home.path().join("2026/11/16/own.jsonl"), FILE).unwrap();
        assert!(read(&place(home.path(), 3), &shown("a bold answer", 0)).is_ok());
    }

    #[test]
    fn links_and_other_kinds_of_files_are_not_read() {
        let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("own.jsonl"), FILE).unwrap();
        symlink(elsewhere.path().join("own.jsonl"), home.path().join("link.jsonl")).unwrap();
        symlink(elsewhere.path(), home.path().join("linked")).unwrap();
        rustix::fs::mknodat(CWD, home.path().join("fifo.jsonl"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::create_dir(home.path().join("directory.jsonl")).unwrap();
        let turn = shown("a bold answer", 0);
        assert_eq!(read(&place(home.path(), 0), &turn), Err(NoText::NoFile));
        assert_eq!(read(&place(home.path(), 1), &turn), Err(NoText::NoFile));
        assert!(
            read(&place(&home.path().join("linked"), 0), &turn).is_ok(),
            "the place itself may be a link"
        );
    }

    #[test]
    fn only_the_end_of_a_long_file_is_read() {
        let home = tempfile::tempdir().unwrap();
        let filler = format!("{{\"filler\":\"{}\"}}\n", "x".repeat(1000));
        let long = filler.repeat(usize::try_from(limits::TRANSCRIPT_TAIL).unwrap() / filler.len() + 2) + FILE;
        fs::write(home.path().join("own.jsonl"), long).unwrap();
        let files = Walk::files(&place(home.path(), 0), 0);
        let (bytes, whole) = files[0].read_end().unwrap();
        assert_eq!((bytes.len() as u64, whole), (limits::TRANSCRIPT_TAIL, false));
        assert!(read(&place(home.path(), 0), &shown("a bold answer", 0)).is_ok());
    }

    /// A database in which opencode has one exchange that is in the log alone.
    fn opencode(home: &Path) -> rusqlite::Connection {
        let database = rusqlite::Connection::open(home.join("opencode.db")).unwrap();
        let sql = r#"PRAGMA journal_mode = wal;
            CREATE TABLE message (id text PRIMARY KEY, session_id text, data text);
            CREATE TABLE part (id text PRIMARY KEY, message_id text, data text);
            PRAGMA wal_checkpoint(TRUNCATE);
            INSERT INTO message VALUES ('1', 's', '{"role":"user","time":{"created":5000}}');
            INSERT INTO part VALUES ('1', '1', '{"type":"text","text":"hi"}');
            INSERT INTO message VALUES ('2', 's', '{"role":"assistant","time":{"created":5000}}');
            INSERT INTO part VALUES ('2', '2', '{"type":"text","text":"a **bold** answer"}');"#;
        database.execute_batch(sql).unwrap();
        database
    }

    #[test]
    fn a_database_is_read_with_its_log() {
        let home = tempfile::tempdir().unwrap();
        let place = TranscriptPlace { suffixes: &[".db"], log: Some("-wal"), ..place(home.path(), 0) };
        let read = |turn: &ShownTurn| SeenFiles::default().read(TranscriptFormat::Opencode, &place, turn);
        let turn = shown("a bold answer", 5);
        assert_eq!(read(&turn), Err(NoText::NoFile));
        let database = opencode(home.path());
        assert_eq!(read(&turn), Err(Disagreement::Incomplete.into()));
        let completed = "UPDATE message SET data = json_set(data, '$.time.completed', 6000) WHERE id = '2'";
        database.execute_batch(completed).unwrap();
        assert_eq!(read(&turn).unwrap(), "a **bold** answer");
        assert_eq!(read(&shown("another one", 5)), Err(Disagreement::Differs.into()));
        assert_eq!(read(&shown("a bold answer", 6)), Err(NoText::NoFile), "an old conversation");
        database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        assert_eq!(read(&turn).unwrap(), "a **bold** answer");
        // As its file may have been written by anyone, neither may be a link or a pipe.
        database.execute_batch("UPDATE part SET data = data").unwrap();
        let log = home.path().join("opencode.db-wal");
        fs::rename(&log, home.path().join("elsewhere")).unwrap();
        symlink("elsewhere", &log).unwrap();
        assert_eq!(read(&turn), Err(NoText::NoFile));
        fs::remove_file(&log).unwrap();
        rustix::fs::mknodat(CWD, &log, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(read(&turn), Err(NoText::NoFile));
    }

    #[test]
    fn a_file_is_read_again_only_when_it_was_written() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join("own.jsonl");
        fs::write(&own, FILE.lines().next().unwrap()).unwrap();
        let (place, turn) = (place(home.path(), 0), shown("a bold answer", 0));
        let mut seen = SeenFiles::default();
        let mut again = || seen.read(TranscriptFormat::Claude, &place, &turn);
        assert_eq!(again(), Err(Disagreement::Incomplete.into()));
        assert_eq!(again(), Err(Disagreement::Incomplete.into()));
        fs::write(&own, FILE).unwrap();
        assert!(again().is_ok());
    }
}
