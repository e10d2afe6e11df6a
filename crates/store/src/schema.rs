//! The tables, by version.
//!
//! A database stores in `user_version` how many of [`STEPS`] were applied to it; opening it applies the rest. Steps
//! that were released are never edited: a change is a further step.

use crate::{Result, StoreError, transaction};
use rusqlite::Connection;

/// Marks a database as ours: "SWBd".
const APPLICATION: i32 = 0x5357_4264;

/// The step from each version to the next. Version 0 is an empty file.
pub(crate) const STEPS: [&str; 1] = [VERSION_1];

/// `parts`, `settings`, `usage`, `resume` and `record` are JSON, paths are raw bytes, times are
/// milliseconds since 1970. `words` holds the text of messages, each under its row's number; `digest` detects whether a
/// message has to be written again.
const VERSION_1: &str = "
    CREATE TABLE conversation (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        workspace BLOB NOT NULL,
        working_dir BLOB NOT NULL,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        settings TEXT NOT NULL,
        usage TEXT NOT NULL,
        resume TEXT
    ) STRICT;
    CREATE INDEX conversation_by_workspace ON conversation (workspace, updated);
    CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        role TEXT NOT NULL,
        at INTEGER NOT NULL,
        ending TEXT NOT NULL,
        parts TEXT NOT NULL,
        digest INTEGER NOT NULL,
        UNIQUE (conversation, number)
    ) STRICT;
    CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');
    INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
    CREATE TRIGGER message_gone AFTER DELETE ON message BEGIN
        DELETE FROM words WHERE rowid = old.id;
    END;
    CREATE TABLE workspace (
        path BLOB PRIMARY KEY,
        record TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
";

/// Upgrades a database to the version after the last of `steps`.
pub(crate) fn migrate(database: &Connection, steps: &[&str]) -> Result<()> {
    if version(database, steps.len())? == steps.len() {
        return Ok(());
    }
    transaction(database, |database| {
        // Another process may have done it while this one waited for the lock.
        let from = version(database, steps.len())?;
        for step in steps.iter().skip(from) {
            database.execute_batch(step)?;
        }
        database.pragma_update(None, "application_id", APPLICATION)?;
        database.pragma_update(None, "user_version", steps.len().cast_signed())?;
        Ok(())
    })
}

/// The version of a database, which must be ours and not newer than `latest`.
fn version(database: &Connection, latest: usize) -> Result<usize> {
    let number = |pragma: &str| database.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (version, application) = (number("user_version")?, number("application_id")?);
    let tables: i64 = database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = (version, application, tables) == (0, 0, 0);
    if !empty && (application != i64::from(APPLICATION) || version < 1) {
        return Err(StoreError::Form("the file is a database of another program".into()));
    }
    match usize::try_from(version) {
        Ok(version) if version <= latest => Ok(version),
        _ => Err(StoreError::Form(format!(
            "the database has version {version}, but this program supports at most version {latest}; use a newer swb"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: &str = "ALTER TABLE conversation ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;";
    const INSERT: &str =
        "INSERT INTO conversation (name, title, workspace, working_dir, created, updated, settings, usage)
         VALUES ('kept', 't', x'2f', x'2f', 1, 2, '{}', '{}')";

    fn names(database: &Connection, column: &str) -> String {
        let query = format!("SELECT group_concat({column}) FROM conversation");
        database.query_row(&query, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn an_old_database_is_upgraded_and_keeps_its_data() {
        let database = Connection::open_in_memory().unwrap();
        migrate(&database, &STEPS).unwrap();
        database.execute(INSERT, []).unwrap();
        migrate(&database, &[VERSION_1, SECOND]).unwrap();
        assert_eq!(names(&database, "name || pinned"), "kept0");
        // Nothing is done twice.
        migrate(&database, &[VERSION_1, SECOND]).unwrap();
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_version() {
        let database = Connection::open_in_memory().unwrap();
        migrate(&database, &STEPS).unwrap();
        database.execute(INSERT, []).unwrap();
        let broken = format!("{SECOND} CREATE TABLE conversation (x);");
        migrate(&database, &[VERSION_1, &broken]).unwrap_err();
        assert!(database.query_row("SELECT pinned FROM conversation", [], |_| Ok(())).is_err());
        migrate(&database, &STEPS).unwrap();
        assert_eq!(names(&database, "name"), "kept");
    }

    #[test]
    fn newer_and_foreign_databases_are_rejected() {
        let database = Connection::open_in_memory().unwrap();
        migrate(&database, &[VERSION_1, SECOND]).unwrap();
        let error = migrate(&database, &STEPS).unwrap_err().to_string();
        assert!(error.contains("version 2") && error.contains("version 1"), "{error}");
        let foreign = Connection::open_in_memory().unwrap();
        foreign.execute_batch("CREATE TABLE conversation (x)").unwrap();
        let error = migrate(&foreign, &STEPS).unwrap_err().to_string();
        assert!(error.contains("another program"), "{error}");
        foreign.execute_batch("PRAGMA user_version = 1").unwrap();
        migrate(&foreign, &STEPS).unwrap_err();
    }
}
