//! `swb chat`: a conversation with an agent.

use crate::args;
use crate::chat;
use crate::context::Context;
use crate::error::Outcome;

/// Opens the conversation, or sends one message and prints the answer.
pub(super) fn run(context: &Context, args: &args::ChatArgs) -> Outcome {
    chat::run(context, args)
}
