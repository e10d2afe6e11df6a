//! Every cap and wait of this backend, with its reason.

use std::time::Duration;

/// Bytes of one line at most, both ways: a file of the greatest size we serve fits if it is text as people write it.
pub(super) const LINE: usize = 16 << 20;
/// Bytes that wait for an agent that does not read: one line, and another that is being read. Answers wait with whoever
/// gives them until there is room; an agent that leaves none for anything else is given up.
pub(super) const UNREAD: usize = 2 * LINE;
/// Lines that are none of the protocol's, in one answer: programs that greet or warn there are forgiven.
pub(super) const GARBAGE: usize = 100;
/// Bytes kept of what the agent writes to its standard error: the last line tells why it ended.
pub(super) const STDERR: usize = 4 << 10;
/// Characters of an agent's own words in an error of ours.
pub(super) const WORDS: usize = 300;
/// How long an agent may take until it can be talked to: some fetch themselves first.
pub(super) const START: Duration = Duration::from_secs(90);
/// How long an agent may take to end an answer that is not wanted any more; it is killed after that. The whole stop must
/// not take 2 s (SS-55).
pub(super) const CANCEL: Duration = Duration::from_millis(800);
/// How long to wait for the status of an agent whose output has ended.
pub(super) const EXIT: Duration = Duration::from_secs(1);
/// Requests of the agent that are served at the same time; it is not listened to beyond that. One that does not take its
/// answers is, as it may take none before it has said everything, up to twice as many; then it is given up.
pub(super) const SERVED: usize = 128;
/// Files that are read or written at the same time: each takes several times its size until the agent has its answer.
pub(super) const FILES: usize = 8;
/// Permissions that people are asked for at the same time; others wait for their turn. Each keeps room among what the
/// conversation has not heard yet (128), of which most must be left for everything else.
pub(super) const ASKED: usize = 32;
/// Uses of tools that are remembered to have ended: as many as a message has room for.
pub(super) const ENDED: usize = 4096;
/// Uses of tools that have not ended.
pub(super) const TOOLS: usize = 1024;
/// Terminals that the agent has not released.
pub(super) const TERMINALS: usize = 32;
/// Bytes of a terminal's output that are kept if the agent does not say, and at most.
pub(super) const TERMINAL_OUTPUT: [usize; 2] = [256 << 10, 4 << 20];
/// Bytes of what was said before that an agent is told when it cannot remember it by itself.
pub(super) const TRANSCRIPT: usize = 32 << 10;
/// Bytes read from an agent at once: most of its lines are shorter.
pub(crate) const CHUNK: usize = 32 << 10;
