//! The tables, by version.
//!
//! A database says in `user_version` which of [`STEPS`] it has been through; opening one goes through the rest. Steps
//! that were released are never edited: a change is a further step.

use crate::{Result, StoreError, transaction};
use rusqlite::Connection;

/// Marks a database as ours: "SWBd".
const APPLICATION: i32 = 0x5357_4264;

/// What leads from each version to the next. Version 0 is an empty file.
pub(crate) const STEPS: [&str; 1] = [VERSION_1];

/// `parts`, `settings`, `usage`, `resume` and `record` are JSON, paths are the bytes they are made of, times are
/// milliseconds since 1970. `words` holds the text of messages, each under its row's number; `digest` tells whether a
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

/// Brings a database to the version after the last of `steps`.
pub(crate) fn migrate(database: &Connection, steps: &[&str]) -> Result<()> {
    if version(database, steps.len())? == steps.len() {
        return Ok(());
    }
    transaction(database, |database| {
        // Another process may have done it while this one waited for its turn.
        let from = version(database, steps.len())?;
        for step in steps.iter().skip(from) {
            database.execute_batch(step)?;
        }
        database.pragma_update(None, "application_id", APPLICATION)?;
        database.pragma_update(None, "user_version", steps.len().cast_signed())?;
        Ok(())
    })
}

/// The version of a database that is ours and not newer than `latest`.
fn version(database: &Connection, latest: usize) -> Result<usize> {
    let number = |pragma: &str| database.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (version, application) = (number("user_version")?, number("application_id")?);
    let tables: i64 = database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = (version, application, tables) == (0, 0, 0);
    if !empty && (application != i64::from(APPLICATION) || version < 1) {
        return Err(StoreError::Form("it is a database of another program".into()));
    }
    match usize::try_from(version) {
        Ok(version) if version <= latest => Ok(version),
        _ => Err(StoreError::Form(format!(
            "it is of version {version}, which a newer program has written; this one knows version {latest}"
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
    fn an_old_database_is_brought_up_to_date_with_what_is_in_it() {
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
    fn newer_and_foreign_databases_are_refused() {
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
