//! Conversations in the database.

use crate::limits;
use crate::{Result, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use swb_chat::{Author, ConversationSettings, Message, SavedConversation, Summary};
use swb_types::{SessionName, Timestamp};

/// Columns of [`summary`].
pub(crate) const SUMMARY: &str = "c.name, c.title, c.workspace, c.working_dir, c.created, c.updated, c.usage,
    (SELECT count(*) FROM message WHERE conversation = c.id), c.settings";
/// Their number.
pub(crate) const SUMMARY_COLUMNS: usize = 9;

/// A stored message: its row, and a digest to detect changes.
struct SavedMessage {
    row: i64,
    digest: i64,
}

/// Stores a conversation in place of the one with its name. Messages that have not changed are not written.
pub(crate) fn save(database: &Connection, saved: &SavedConversation) -> Result<()> {
    let id = save_head(database, saved)?;
    let mut kept = kept_messages(database, id)?;
    let mut changed = Vec::new();
    for message in &saved.messages {
        let parts = serde_json::to_string(&message.parts)?;
        let ending = serde_json::to_string(&message.ending)?;
        let digest = digest(message, &parts, &ending);
        match kept.get(&message.number).is_some_and(|kept| kept.digest == digest) {
            true => drop(kept.remove(&message.number)),
            false => changed.push((message, parts, ending, digest)),
        }
    }
    for old in kept.values() {
        database.prepare_cached("DELETE FROM message WHERE id = ?1")?.execute([old.row])?;
    }
    for (message, parts, ending, digest) in changed {
        insert(database, id, message, (&parts, &ending, digest))?;
    }
    Ok(())
}

fn save_head(database: &Connection, saved: &SavedConversation) -> Result<i64> {
    let resume = saved.resume.as_ref().map(serde_json::to_string).transpose()?;
    let mut statement = database.prepare_cached(
        "INSERT INTO conversation
             (name, title, workspace, working_dir, created, updated, settings, usage, resume)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (name) DO UPDATE SET
             title = excluded.title, workspace = excluded.workspace, working_dir = excluded.working_dir,
             created = excluded.created, updated = excluded.updated, settings = excluded.settings,
             usage = excluded.usage, resume = excluded.resume
         RETURNING id",
    )?;
    let values = params![
        saved.name.as_str(),
        saved.title,
        path_bytes(&saved.workspace),
        path_bytes(&saved.working_dir),
        number(saved.created.0),
        number(saved.updated.0),
        serde_json::to_string(&saved.settings)?,
        serde_json::to_string(&saved.usage)?,
        resume,
    ];
    Ok(statement.query_row(values, |row| row.get(0))?)
}

fn kept_messages(database: &Connection, conversation: i64) -> Result<BTreeMap<u64, SavedMessage>> {
    let mut statement =
        database.prepare_cached("SELECT number, id, digest FROM message WHERE conversation = ?1")?;
    let rows = statement.query_map([conversation], |row| {
        Ok((unsigned(row, 0)?, SavedMessage { row: row.get(1)?, digest: row.get(2)? }))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn insert(
    database: &Connection,
    conversation: i64,
    message: &Message,
    written: (&str, &str, i64),
) -> Result<()> {
    let (parts, ending, digest) = written;
    let mut statement = database.prepare_cached(
        "INSERT INTO message (conversation, number, role, at, ending, parts, digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let (place, at) = (number(message.number), number(message.at.0));
    statement.execute(params![conversation, place, message.role.as_str(), at, ending, parts, digest])?;
    let row = database.last_insert_rowid();
    let mut statement = database.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
    statement.execute((row, crate::search::searchable(&message.text())))?;
    Ok(())
}

/// Detects changes of messages. If a later version computes it differently, messages are written once more.
fn digest(message: &Message, parts: &str, ending: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    (message.number, message.role.as_str(), message.at, parts, ending).hash(&mut hasher);
    hasher.finish().cast_signed()
}

pub(crate) fn load(database: &Connection, name: &str) -> Result<Option<SavedConversation>> {
    // One transaction, so that nothing changes between reading the conversation and its messages.
    let look = database.unchecked_transaction()?;
    let query = format!("SELECT {SUMMARY}, c.id, c.resume FROM conversation c WHERE c.name = ?1");
    let found = look.prepare_cached(&query)?.query_row([name], |row| {
        let rest: (i64, Option<String>) = (row.get(SUMMARY_COLUMNS)?, row.get(SUMMARY_COLUMNS + 1)?);
        Ok((summary(row)?, settings(row)?, rest))
    });
    let Some((summary, settings, (id, resume))) = found.optional()? else { return Ok(None) };
    Ok(Some(SavedConversation {
        name: summary.name,
        title: summary.title,
        workspace: summary.workspace,
        working_dir: summary.working_dir,
        created: summary.created,
        updated: summary.updated,
        settings,
        usage: summary.usage,
        resume: resume.map(|resume| serde_json::from_str(&resume)).transpose()?,
        messages: messages(&look, id)?,
    }))
}

fn messages(database: &Connection, conversation: i64) -> Result<Vec<Message>> {
    let mut statement = database.prepare_cached(
        "SELECT number, role, at, ending, parts FROM message WHERE conversation = ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([conversation])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        messages.push(Message {
            number: unsigned(row, 0)?,
            role: role(row, 1)?,
            at: Timestamp(unsigned(row, 2)?),
            ending: serde_json::from_str(&row.get::<_, String>(3)?)?,
            parts: serde_json::from_str(&row.get::<_, String>(4)?)?,
        });
    }
    Ok(messages)
}

pub(crate) fn delete(database: &Connection, name: &str) -> Result<bool> {
    Ok(database.prepare_cached("DELETE FROM conversation WHERE name = ?1")?.execute([name])? > 0)
}

pub(crate) fn list(database: &Connection, workspace: Option<&Path>) -> Result<Vec<Summary>> {
    let query = format!(
        "SELECT {SUMMARY} FROM conversation c WHERE ?1 IS NULL OR c.workspace = ?1
         ORDER BY c.updated DESC, c.name LIMIT {}",
        limits::LISTED
    );
    let mut statement = database.prepare_cached(&query)?;
    let rows = statement.query_map([workspace.map(path_bytes)], summary)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What a list shows, from the first columns of a row.
pub(crate) fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let usage: String = row.get(6)?;
    let count = unsigned(row, 7)?;
    let settings = settings(row)?;
    Ok(Summary {
        name: name(row, 0)?,
        title: row.get(1)?,
        workspace: path(row, 2)?,
        working_dir: path(row, 3)?,
        created: Timestamp(unsigned(row, 4)?),
        updated: Timestamp(unsigned(row, 5)?),
        agent: settings.answering().map(str::to_owned),
        message_count: usize::try_from(count).unwrap_or(usize::MAX),
        usage: serde_json::from_str(&usage).map_err(|error| strange(6, error))?,
    })
}

/// The name of a conversation.
pub(crate) fn name(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionName> {
    SessionName::new(&row.get::<_, String>(column)?).map_err(|error| strange(column, error))
}

fn settings(row: &Row<'_>) -> rusqlite::Result<ConversationSettings> {
    serde_json::from_str(&row.get::<_, String>(8)?).map_err(|error| strange(8, error))
}

pub(crate) fn role(row: &Row<'_>, column: usize) -> rusqlite::Result<Author> {
    let name: String = row.get(column)?;
    let known =
        [Author::Assistant, Author::System, Author::User].into_iter().find(|role| role.as_str() == name);
    known.ok_or_else(|| strange(column, StoreError::Form(format!("unknown role '{name}'"))))
}

/// A number that is never negative.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

/// A number, limited to what the database can hold.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A path as stored: the same bytes for equal paths.
pub(crate) fn path_bytes(path: &Path) -> Vec<u8> {
    path.components().collect::<PathBuf>().into_os_string().into_vec()
}

pub(crate) fn path(row: &Row<'_>, column: usize) -> rusqlite::Result<PathBuf> {
    Ok(OsString::from_vec(row.get(column)?).into())
}

fn strange(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
