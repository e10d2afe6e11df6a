//! `swb` without a command: this directory's session.

use crate::context::{self, Context};
use crate::error::Outcome;
use crate::session::{self, Target};
use swb_wire::control::Create;

/// Attaches to the newest session of the current directory, or starts one with the user's shell.
pub(super) fn run(context: &Context) -> Outcome {
    let workspace = context::workspace(None)?;
    if let Some(session) = context::newest_in(context.sessions()?, &workspace) {
        return session::go(context, &Target::existing(session.name));
    }
    let name = context::name_for(&workspace).to_string();
    let request = session::from_here(workspace, vec![context::shell()]);
    session::create_and_go(context, Create { name: Some(name), unique: true, ..request }, None)
}
