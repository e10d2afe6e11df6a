//! Every bound of the codecs, with its unit and reason.
//!
//! Limits that a protocol defines are constants of its codec, beside the clause that defines them; this list repeats them.

pub use crate::clippy::MAX_FRAME as CLIPPY_FRAME;
pub use crate::control::{MAX_DATA as CONTROL_DATA, MAX_FRAME as CONTROL_FRAME};
pub use crate::keepty::MAX_PAYLOAD as KEEPTY_PAYLOAD;
pub use crate::scriptschnell::{MAX_BATCH, MAX_LINE, MAX_REQUEST_ID};
/// Bytes of capacity that an empty buffer may keep. A typical read fits; a client that once pasted a megabyte
/// does not hold on to that megabyte while it is idle.
pub(crate) const KEEP_CAPACITY: usize = 64 * 1024;
/// Bytes of an error's explanation. It quotes what a peer sent, up to a megabyte, and the reply has to fit
/// into a frame even after JSON has escaped every byte of it.
pub(crate) const CONTROL_EXPLANATION: usize = 1024;
/// Bytes of an error's message for people. It may quote a line of the peer, which has any length.
pub(crate) const SCRIPTSCHNELL_EXPLANATION: usize = 4096;
/// Bytes of an offer or an answer of a tunnel once it is inflated; those of browsers have about 1 KiB.
pub(crate) const TUNNEL_PACK: usize = 64 * 1024;
/// Bytes of the id of a request over the web: each event of a stream repeats it.
pub(crate) const WEB_ID: usize = 4096;
