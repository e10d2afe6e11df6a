//! Every cap and wait of conversations with models, with its reason.

use std::time::Duration;

/// How long a server may take to accept a connection: one that is there does so within a second.
pub(super) const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may think before the first byte of its answer: models on slow machines read for minutes.
pub(super) const FIRST_BYTE: Duration = Duration::from_secs(300);
/// How long an answer may pause between two pieces: servers send something at least every minute.
pub(super) const IDLE: Duration = Duration::from_secs(120);
/// How often a request is sent at most: with the waits between, busy servers get about a quarter of a minute.
pub(super) const TRIES: u32 = 6;
/// The wait before the second try; it doubles with each further one.
pub(super) const BACKOFF: Duration = Duration::from_millis(500);
/// The longest wait between two tries. A server that wants a longer one gets none: people should know instead.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Bytes of one event of a stream at most: servers that do not split send a whole file in one.
pub(super) const EVENT_BYTES: usize = 8 << 20;
/// Bytes of one answer at most, tools' arguments included: more than any model can write.
pub(super) const ANSWER_BYTES: usize = 16 << 20;
/// Uses of tools in one answer at most.
pub(super) const CALLS: usize = 64;
/// Blocks of one answer at most: words and thoughts come between uses of tools.
pub(super) const BLOCKS: usize = 4 * CALLS;
/// Answers of a model to one prompt at most: an agent that runs in circles must not cost money for ever.
pub(super) const ROUNDS: u32 = 100;
/// Bytes that are read of a server's refusal: enough for its words.
pub(super) const REFUSAL_BYTES: usize = 64 << 10;
/// Characters of a server's words that are passed on.
pub(super) const REFUSAL_CHARS: usize = 500;
/// Bytes of a request at most: servers take no more, and putting it together must not keep the daemon from its work.
pub(super) const REQUEST_BYTES: usize = 16 << 20;
/// Tokens of an answer if nobody has set them, where the API demands a number: what all of its models can do.
pub(super) const ANSWER_TOKENS: u32 = 8192;
/// Bytes of one tool's result that a model is told: about a tenth of what most models can remember.
pub(super) const RESULT_BYTES: usize = 64 << 10;
/// Bytes of an old result that stay when a conversation becomes too long: enough to know what it was about.
pub(super) const SHORT_RESULT_BYTES: usize = 400;
/// Characters of a command or path that a description shows; the whole of it is among the parameters.
pub(super) const DESCRIPTION_CHARS: usize = 200;
/// Bytes of a changed file that are shown to people with the result; beyond that they look at the file.
pub(super) const DIFF_BYTES: usize = 64 << 10;
/// How long a command may run if a model wants it to: longer ones belong into a terminal.
pub(super) const LONGEST_COMMAND: Duration = Duration::from_secs(600);
/// Bytes of a command's output that are shown while it runs; the rest is in the result, as far as that is kept.
pub(super) const SHOWN_BYTES: usize = 256 << 10;
/// How long to wait for the end of a response after its last event: it comes with the event as a rule.
pub(crate) const DRAIN: Duration = Duration::from_millis(20);
