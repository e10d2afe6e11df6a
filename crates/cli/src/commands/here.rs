//! `swb` without a command: this directory's session, or a choice of several.

use crate::context::{self, Context};
use crate::error::Outcome;
use crate::session::{self, Target};
use crate::top::{self, ListStart};
use swb_wire::control::{Create, SessionItem, SessionStatus};

/// Attaches to the session of the current directory, or starts one with the user's shell. If several run here, the list opens;
/// without a terminal for it, the newest one counts.
pub(super) fn run(context: &Context) -> Outcome {
    let workspace = context::workspace(None)?;
    let sessions = context.sessions()?;
    let here = |session: &&SessionItem| {
        session.workspace == workspace && context::status(session) != SessionStatus::Exited
    };
    if sessions.iter().filter(here).count() > 1 && top::is_usable() {
        let select = context::newest_in(sessions, &workspace).map(|session| session.name);
        let start = ListStart { select, ..ListStart::default() };
        return session::follow_choice(context, top::choose(context, start)?);
    }
    if let Some(session) = context::newest_in(sessions, &workspace) {
        return session::go(context, &Target::existing(session.name));
    }
    let name = context::name_for(&workspace).to_string();
    let request = session::from_here(workspace, vec![context::shell()]);
    session::create_and_go(context, Create { name: Some(name), unique: true, ..request }, None)
}
