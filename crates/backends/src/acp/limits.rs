//! Every limit and timeout of this backend, with its reason.

use std::time::Duration;

/// Maximum bytes of one line, both ways: a text file of the largest size we serve fits.
pub(super) const LINE: usize = 16 << 20;
/// Bytes buffered for an agent that does not read: one line, and another that is being read. Replies wait with their
/// tasks until there is room; an agent that leaves no room for anything else is killed.
pub(super) const UNREAD: usize = 2 * LINE;
/// Lines per answer that are not protocol messages: some programs print greetings or warnings to standard output.
pub(super) const GARBAGE: usize = 100;
/// Bytes kept of the agent's standard error: its last line usually has the reason for its exit.
pub(super) const STDERR: usize = 4 << 10;
/// Characters of an agent's text in our error messages.
pub(super) const WORDS: usize = 300;
/// How long an agent may take to start: some download themselves first.
pub(super) const START: Duration = Duration::from_secs(90);
/// How long an agent may take to end an answer after it was cancelled; then it is killed. The whole stop must not
/// take 2 s (SS-55).
pub(super) const CANCEL: Duration = Duration::from_millis(800);
/// How long to wait for the exit status of an agent whose output has ended.
pub(super) const EXIT: Duration = Duration::from_secs(1);
/// Requests of the agent served concurrently; its output is not read beyond that. If it does not read its replies, it
/// may send up to twice as many, as it may read none before it has sent them all; then it is killed.
pub(super) const SERVED: usize = 128;
/// Files read or written concurrently: each needs several times its size in memory until the reply is sent.
pub(super) const FILES: usize = 8;
/// Permissions that users are asked for concurrently; others are queued. Each takes a place in the conversation's queue
/// (128), most of which must stay free for everything else.
pub(super) const ASKED: usize = 32;
/// Ended tool calls to remember: as many as fit in a message.
pub(super) const ENDED: usize = 4096;
/// Tool calls in progress.
pub(super) const TOOLS: usize = 1024;
/// Terminals that the agent has not released.
pub(super) const TERMINALS: usize = 32;
/// Bytes of a terminal's output that are kept: the default, and the maximum.
pub(super) const TERMINAL_OUTPUT: [usize; 2] = [256 << 10, 4 << 20];
/// Bytes of the earlier conversation sent to an agent that cannot load its session.
pub(super) const TRANSCRIPT: usize = 32 << 10;
/// Bytes read from an agent at once: most of its lines are shorter.
pub(crate) const CHUNK: usize = 32 << 10;
/// Bytes of the edits that are shown with a request for permission: more than a person reads before a decision.
pub(super) const DIFF_BYTES: usize = 256 << 10;
