//! Workspaces in the database.

use crate::conversations::path_bytes;
use crate::{Result, StoreError};
use rusqlite::Connection;
use std::path::Path;
use swb_chat::Workspace;

pub(crate) fn all(database: &Connection) -> Result<Vec<Workspace>> {
    let mut statement = database.prepare_cached("SELECT record FROM workspace ORDER BY path")?;
    let records = statement.query_map([], |row| row.get::<_, String>(0))?;
    records.map(|record| Ok(serde_json::from_str(&record?)?)).collect()
}

pub(crate) fn keep(database: &Connection, workspace: &Workspace) -> Result<()> {
    let record = serde_json::to_string(workspace).map_err(|_| {
        // Paths are the only fields that JSON may be unable to hold.
        StoreError::Form(format!("a path of the workspace {} is not UTF-8", workspace.path.display()))
    })?;
    let mut statement =
        database.prepare_cached("INSERT OR REPLACE INTO workspace (path, record) VALUES (?1, ?2)")?;
    statement.execute((path_bytes(&workspace.path), record))?;
    Ok(())
}

pub(crate) fn forget(database: &Connection, path: &Path) -> Result<()> {
    database.prepare_cached("DELETE FROM workspace WHERE path = ?1")?.execute([path_bytes(path)])?;
    Ok(())
}
