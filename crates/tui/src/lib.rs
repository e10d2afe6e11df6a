//! The display and the input of a chat, and the list of sessions, as values: no I/O, no clock, no protocol.
//!
//! Bytes of the keyboard become keys and a message ([`mod@input`]); events of a conversation become lines
//! ([`view::transcript`]), which [`text`] folds to the width of the terminal and [`view::canvas`] draws. [`top`] is the list of sessions.

pub mod event;
pub mod images;
pub mod input;
mod limits;
pub mod markdown;
pub mod text;
pub mod top;
pub mod view;
