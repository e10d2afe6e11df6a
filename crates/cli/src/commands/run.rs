//! `swb run`: run a command in a new session.

use crate::args;
use crate::context::{self, Context};
use crate::error::Outcome;
use crate::session;
use serde::Serialize;
use swb_types::Size;
use swb_wire::control::Create;

/// The output of `run --detach`.
#[derive(Debug, Serialize)]
struct Started {
    session: String,
    pid: u32,
    workspace: String,
}

/// Creates the session and attaches to it, unless it is to run in the background.
pub(super) fn run(context: &Context, args: args::RunArgs) -> Outcome {
    if let Some(name) = &args.name {
        context::checked_name(name)?;
    }
    let workspace = context::workspace(args.workspace.as_deref())?;
    let argv = if args.command.is_empty() { vec![context::shell()] } else { args.command };
    let here = session::from_here(workspace.clone(), argv);
    let (cols, rows) = match args.detach {
        true => {
            let size = args.size.unwrap_or(Size::DETACHED);
            (Some(size.cols()), Some(size.rows()))
        }
        false => (here.cols, here.rows),
    };
    let request = Create {
        cols,
        rows,
        unique: args.name.is_none(),
        name: Some(args.name.unwrap_or_else(|| context::name_for(&workspace).to_string())),
        hide: args.hide,
        profile: args.profile,
        detach: Some(args.detach),
        ..here
    };
    if !args.detach {
        return session::create_and_go(context, request, args.detach_key);
    }
    let created = session::create(context, request)?;
    let started = Started { session: created.session, pid: created.pid, workspace };
    context.print_result(&started, |started| {
        format!("Started session {} (pid {})", started.session, started.pid)
    })?;
    Ok(0)
}
