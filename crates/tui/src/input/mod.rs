//! What a person types: [`keys`] makes keys of bytes, [`editor`] makes a message of keys.

pub mod editor;
pub mod keys;
