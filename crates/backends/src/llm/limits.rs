//! Every limit and timeout of conversations with models, with its reason.

use std::time::Duration;

/// How long a server may take to accept a connection: one that runs does so within a second.
pub(super) const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may take to send the first byte of its reply: models on slow machines read for minutes.
pub(super) const FIRST_BYTE: Duration = Duration::from_secs(300);
/// How long a reply may pause between two pieces: servers send something at least every minute.
pub(super) const IDLE: Duration = Duration::from_secs(120);
/// How often a request is tried: with the waits between, a busy server gets about a quarter of a minute.
pub(super) const TRIES: u32 = 6;
/// The wait before the second try; it doubles with each further one.
pub(super) const BACKOFF: Duration = Duration::from_millis(500);
/// The longest wait between two tries. If a server asks for more, the user gets an error instead.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Maximum bytes of one event: servers that do not split send a whole file in one.
pub(super) const EVENT_BYTES: usize = 8 << 20;
/// Maximum bytes of one reply, tool arguments included: more than any model can write.
pub(super) const ANSWER_BYTES: usize = 16 << 20;
/// Maximum number of tool calls in one reply.
pub(super) const CALLS: usize = 64;
/// Maximum number of blocks in one reply: text and thoughts come between tool calls.
pub(super) const BLOCKS: usize = 4 * CALLS;
/// Maximum number of replies to one prompt: an agent that runs in circles must not cost money forever.
pub(super) const ROUNDS: u32 = 100;
/// Bytes read of an error reply: enough for its message.
pub(super) const REFUSAL_BYTES: usize = 64 << 10;
/// Characters shown of a server's error message.
pub(super) const REFUSAL_CHARS: usize = 500;
/// Maximum bytes of a request: servers accept no more, and building it must not block the daemon.
pub(super) const REQUEST_BYTES: usize = 16 << 20;
/// Maximum tokens of an answer by default, where the API requires a number: all of its models support this.
pub(super) const ANSWER_TOKENS: u32 = 8192;
/// Bytes of a tool's result sent to the model: about a tenth of most context windows.
pub(super) const RESULT_BYTES: usize = 64 << 10;
/// Bytes kept of an old result when a conversation becomes too long: enough to see what it was about.
pub(super) const SHORT_RESULT_BYTES: usize = 400;
/// Characters of a command or path in a description; the parameters have all of it.
pub(super) const DESCRIPTION_CHARS: usize = 200;
/// Bytes of a changed file that clients get with the result; users can open longer files themselves.
pub(super) const DIFF_BYTES: usize = 64 << 10;
/// The longest timeout that a model may set for a command: longer ones belong in a terminal.
pub(super) const LONGEST_COMMAND: Duration = Duration::from_secs(600);
/// Bytes of a command's output sent to clients while it runs; the rest is in the result, as far as that is kept.
pub(super) const SHOWN_BYTES: usize = 256 << 10;
/// How long to wait for the end of a response after its last event: it comes with the event as a rule.
pub(crate) const DRAIN: Duration = Duration::from_millis(20);
/// Characters of the name of a tool: what the APIs of models accept.
pub(super) const TOOL_NAME: usize = 64;
