//! `swb attach`: attach to a running session.

use crate::args;
use crate::context::Context;
use crate::error::Outcome;
use crate::session::{self, Target};

/// Attaches to the named session, or to that of this directory.
pub(super) fn run(context: &Context, args: args::AttachArgs) -> Outcome {
    let typed = args.name.is_some();
    let session = match args.name {
        Some(name) => name,
        None => context.session_or_here(None)?,
    };
    let target = Target {
        typed,
        pty: args.pty,
        watch: args.watch,
        detach_key: args.detach_key,
        scrollback: args.no_scrollback.then_some(0),
        ..Target::existing(session)
    };
    session::go(context, &target)
}
