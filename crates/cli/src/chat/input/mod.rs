//! What a person types: [`keys`] makes keys of bytes, [`editor`] makes a message of keys.

pub(super) mod editor;
pub(super) mod keys;
