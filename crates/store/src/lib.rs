//! Saved conversations and workspaces in SQLite.
//!
//! [`Store`] is the archive of a daemon: one database file in a private directory. A save is one transaction, so a
//! crash leaves the old or the new state. The database keeps a rollback journal and not a write-ahead log: saves are
//! rare, home directories may be on a network, and there is one file to copy between saves.
//!
//! - `database_file.rs`: the directory, the file, and who may read them.
//! - `schema.rs`: the tables, by version.
//! - `conversations.rs`, `search.rs`, `workspaces.rs`: the queries.
//!
//! Calls block on the disk and on each other: callers keep them off threads that serve others.

mod conversations;
mod database_file;
mod limits;
mod schema;
mod search;
mod workspaces;

use database_file::{DatabaseFile, Identity};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use swb_chat::{Archive, ArchiveError, FoundPrompt, SavedConversation, SearchHit, Summary, Workspace};

/// Conversations and workspaces in a directory.
///
/// The database is created with the first save; until then every query returns nothing.
#[derive(Debug)]
pub struct Store {
    file: DatabaseFile,
    open: Mutex<Option<OpenDatabase>>,
}

/// An open database and the identity of its file, which may be removed or replaced meanwhile.
#[derive(Debug)]
struct OpenDatabase {
    connection: Connection,
    identity: Identity,
}

/// Why a query of the store fails.
#[derive(Debug, thiserror::Error)]
enum StoreError {
    /// SQLite reports an error.
    #[error("{}", words(.0))]
    Database(#[from] rusqlite::Error),
    /// It is not one of our databases, or not as expected.
    #[error("{0}")]
    Form(String),
    /// The system reports an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A value is not as we write it.
    #[error("invalid data: {0}")]
    Json(#[from] serde_json::Error),
}

type Result<T> = std::result::Result<T, StoreError>;

impl Store {
    /// A store in this directory, which need not exist.
    pub fn new(dir: PathBuf) -> Self {
        Self { file: DatabaseFile::new(dir), open: Mutex::new(None) }
    }

    /// The database file; it need not exist.
    pub fn file(&self) -> &Path {
        self.file.file()
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpenDatabase>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queries the database; `None` if there is none.
    fn ask<T>(
        &self,
        ask: impl FnOnce(&Connection) -> Result<T>,
    ) -> std::result::Result<Option<T>, ArchiveError> {
        let mut open = self.lock();
        let asked =
            self.opened(&mut open).and_then(|database| database.map(|one| ask(&one.connection)).transpose());
        self.settled(&mut open, asked)
    }

    /// Changes the database in one transaction; creates it if there is none.
    fn change<T>(
        &self,
        change: impl FnOnce(&Connection) -> Result<T>,
    ) -> std::result::Result<T, ArchiveError> {
        let mut open = self.lock();
        let changed = self.file.make().map_err(StoreError::from).and_then(|()| {
            let database = self.opened(&mut open)?;
            let database =
                database.ok_or_else(|| StoreError::Form("the file was removed; try again".into()))?;
            transaction(&database.connection, change)
        });
        self.settled(&mut open, changed)
    }

    /// The database, opened if it was not; `None` if there is no file.
    fn opened<'a>(&self, open: &'a mut Option<OpenDatabase>) -> Result<Option<&'a mut OpenDatabase>> {
        let Some(identity) = self.file.check()? else {
            *open = None;
            return Ok(None);
        };
        if open.as_ref().is_none_or(|open| open.identity != identity) {
            *open = None;
            *open = Some(OpenDatabase { connection: connect(self.file())?, identity });
        }
        Ok(open.as_mut())
    }

    /// Adds the file's name to an error, and closes the database, so that the next call opens it again.
    fn settled<T>(
        &self,
        open: &mut Option<OpenDatabase>,
        result: Result<T>,
    ) -> std::result::Result<T, ArchiveError> {
        result.map_err(|error| {
            *open = None;
            ArchiveError(format!("{}: {error}", self.file().display()))
        })
    }
}

impl Archive for Store {
    fn save(&self, saved: &SavedConversation) -> std::result::Result<(), ArchiveError> {
        self.change(|database| conversations::save(database, saved))
    }

    fn load(&self, name: &str) -> std::result::Result<Option<SavedConversation>, ArchiveError> {
        Ok(self.ask(|database| conversations::load(database, name))?.flatten())
    }

    fn delete(&self, name: &str) -> std::result::Result<bool, ArchiveError> {
        let deleted =
            self.ask(|database| transaction(database, |database| conversations::delete(database, name)));
        Ok(deleted?.unwrap_or(false))
    }

    fn list(&self, workspace: Option<&Path>) -> std::result::Result<Vec<Summary>, ArchiveError> {
        Ok(self.ask(|database| conversations::list(database, workspace))?.unwrap_or_default())
    }

    fn search(
        &self,
        words: &str,
        workspace: Option<&Path>,
        most: usize,
    ) -> std::result::Result<Vec<SearchHit>, ArchiveError> {
        Ok(self.ask(|database| search::search(database, words, workspace, most))?.unwrap_or_default())
    }

    fn prompts(&self, most: usize) -> std::result::Result<Vec<FoundPrompt>, ArchiveError> {
        Ok(self.ask(|database| search::prompts(database, most))?.unwrap_or_default())
    }

    fn workspaces(&self) -> std::result::Result<Vec<Workspace>, ArchiveError> {
        Ok(self.ask(workspaces::all)?.unwrap_or_default())
    }

    fn keep_workspace(&self, workspace: &Workspace) -> std::result::Result<(), ArchiveError> {
        self.change(|database| workspaces::keep(database, workspace))
    }

    fn forget_workspace(&self, path: &Path) -> std::result::Result<(), ArchiveError> {
        self.change(|database| workspaces::forget(database, path))
    }
}

/// Opens an existing database and upgrades it to the current version.
fn connect(file: &Path) -> Result<Connection> {
    let connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(limits::BUSY)?;
    connection.execute_batch(
        // Deleted data is overwritten, and nothing goes to temporary files elsewhere. EXTRA: the end of a
        // transaction is on disk even if the directory's own blocks are not written in order.
        "PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA secure_delete = ON;
         PRAGMA foreign_keys = ON;
         PRAGMA synchronous = EXTRA;",
    )?;
    schema::migrate(&connection, &schema::STEPS)?;
    Ok(connection)
}

/// Runs a transaction. It takes the write lock at once, so that what it reads is what it changes.
fn transaction<T>(database: &Connection, act: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    let behavior = rusqlite::TransactionBehavior::Immediate;
    let transaction = rusqlite::Transaction::new_unchecked(database, behavior)?;
    let done = act(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

/// Messages for the errors that a user can do something about.
fn words(error: &rusqlite::Error) -> String {
    let known = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program has locked the database"
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            "the database is damaged; move it away to start with an empty one"
        }
        Some(ErrorCode::NotADatabase) => {
            "the file is not a database; move it away to start with an empty one"
        }
        Some(ErrorCode::DiskFull) => "the disk is full",
        Some(ErrorCode::ReadOnly) => "the database cannot be written; check its permissions",
        Some(ErrorCode::SystemIoFailure) => "the disk cannot be read or written",
        _ => return error.to_string(),
    };
    format!("{known} ({error})")
}
