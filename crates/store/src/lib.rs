//! Saved conversations and workspaces in SQLite.
