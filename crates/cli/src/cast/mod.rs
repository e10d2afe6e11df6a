//! Recordings: asciicast files, version 3 written, versions 2 and 3 read.
//!
//! All of it is pure: output and times go in, lines come out, and vice versa. A line is either the header, a
//! comment, or one event, so that a file is valid up to its last complete line.

mod animation;
mod reader;
mod text;
mod timeline;
mod writer;

pub(crate) use animation::Animation;
pub(crate) use reader::{Cast, CastError};
pub(crate) use timeline::Timeline;
pub(crate) use writer::{CastHeader, CastWriter, Term};
