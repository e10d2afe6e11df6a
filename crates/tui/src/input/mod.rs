//! Input: [`keys`] decodes bytes as keys, [`editor`] edits a message with them, [`completion`] completes commands, and
//! [`search`] finds earlier messages.

pub mod completion;
pub mod editor;
pub mod keys;
pub mod search;
