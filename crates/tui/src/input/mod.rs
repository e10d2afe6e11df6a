//! Input: [`keys`] decodes bytes as keys, [`editor`] edits a message with them.

pub mod editor;
pub mod keys;
