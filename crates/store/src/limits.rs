//! Every bound of the store, with its unit and reason.

use std::time::Duration;

/// How long to wait for another process that holds the database: longer than any transaction of ours takes.
pub(crate) const BUSY: Duration = Duration::from_secs(5);
/// Conversations in one list, the newest ones: more than a person scrolls through.
pub(crate) const LISTED: u32 = 10_000;
/// Words of one search: each is one more index lookup.
pub(crate) const SEARCH_WORDS: usize = 32;
/// Bytes of one search: room for the longest words there are.
pub(crate) const SEARCH_BYTES: usize = 4096;
/// Words of an excerpt: two lines of a terminal.
pub(crate) const EXCERPT_WORDS: u32 = 24;
/// Characters of a message from which the database makes the excerpt: it takes minutes for a megabyte of the same word.
pub(crate) const SNIPPET_TEXT: usize = 16 * 1024;
/// Characters of an excerpt, because some words are as long as a file.
pub(crate) const EXCERPT: usize = 400;
