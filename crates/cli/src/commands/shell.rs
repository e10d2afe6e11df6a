//! `swb shell`: open another shell in a session.

use crate::args;
use crate::context::{self, Context};
use crate::error::Outcome;
use crate::session::{self, Target};

/// Opens a new terminal beside the session's command and attaches to it.
pub(super) fn run(context: &Context, args: args::ShellArgs) -> Outcome {
    let session = context.session_or_here(args.name)?;
    let argv = if args.command.is_empty() { vec![context::shell()] } else { args.command };
    let target = Target { detach_key: args.detach_key, fresh: true, ..Target::existing(session) };
    session::open_shell(context, target, argv, None)
}
