//! Bounds of operations, with their reasons. The size of a reply is that of a frame, in the wire crate.

use std::time::Duration;

/// Largest piece of output given out at once. A PTY gives about 4 KiB per read; gathering sixteen of them saves
/// system calls, and a key's echo never waits for more than this.
pub const OUTPUT_PIECE: u64 = 64 * 1024;
/// Pause between two pictures for a watcher whose terminal has another size: smooth to the eye.
pub const VIEW_PAUSE: Duration = Duration::from_millis(33);
/// Pause between two looks at a screen while `wait` waits for something on it.
pub const WAIT_PAUSE: Duration = Duration::from_millis(20);
/// Size of a compiled regular expression, in bytes; one that a person types takes a fraction of it.
pub const REGEX: usize = 1 << 20;
/// Bytes of content and of text in the reply to `ask`; JSON makes six of one at worst, and a frame holds that.
pub const ASK_TEXT: usize = 100 * 1024;
/// Bytes of content and of text in the reply to `turn`. Base64 makes four bytes of three, and JSON two of a line
/// break; what needs more room is cut further.
pub const TURN_PIECE: usize = 300 * 1024;
/// How long `kill` waits for the end before it replies; the killing goes on.
pub const KILL_REPLY: Duration = Duration::from_secs(1);
/// Bytes of a Coopfile; a longer one is refused.
pub const COOPFILE: u64 = 1 << 20;
/// Bytes of each command line in a list. A list has to fit one frame, so long ones are cut when they would take the
/// room of other sessions.
pub const COMMAND_LENGTHS: [usize; 3] = [usize::MAX, 1024, 64];
/// Bytes of each text among the parameters of an approval. A list has to fit one frame, so long ones are cut when they
/// would take the room of others.
pub const APPROVAL_TEXT_LENGTHS: [usize; 4] = [64 << 10, 4 << 10, 256, 32];
/// Messages found by one search unless the caller sets a lower limit.
pub const HITS: u64 = 50;
/// Conversations in one reply unless the caller sets a lower limit.
pub const LISTED: u64 = 500;
/// Bytes of messages in one reply; what needs more room as JSON gets less.
pub const PAGE: usize = 800 << 10;
/// Context directories of a workspace.
pub const CONTEXT_DIRS: usize = 64;
/// Entries of one array or object that are shown: more than anybody reads before approving.
pub(crate) const SHOWN_ENTRIES: usize = 256;
/// How deep a tool's parameters may be nested to be shown: parameters of real tools have three levels.
pub(crate) const SHOWN_DEPTH: usize = 16;
/// Bytes of a title, a reason or a label: they come from agents and can have any length.
pub(crate) const SHOWN_LINE: usize = 2048;
/// Bytes that are enough for any one part of a message after it was cut.
pub(crate) const PAGE_LEAST: usize = 4096;
/// Bytes that a message or a part takes besides its text.
pub(crate) const PAGE_OVERHEAD: usize = 200;
