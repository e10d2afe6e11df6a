//! Whether the agents report their state through hooks.

use super::{DoctorContext, Finding};
use crate::integration::program::{in_hooks, in_path};
use crate::integration::{HookState, Integration, edit};

const HOOKS: &str = "hooks";

/// Checks the hooks of each agent that is installed.
pub(super) fn check(place: &DoctorContext) -> Vec<Finding> {
    let installed = Integration::ALL.into_iter().filter(|one| in_path(one.name()).is_some());
    let findings: Vec<Finding> = installed.map(|integration| hook(integration, place)).collect();
    match findings.is_empty() {
        true => vec![Finding::ok(HOOKS, "no agent with hooks is installed")],
        false => findings,
    }
}

fn hook(integration: Integration, place: &DoctorContext) -> Finding {
    let name = integration.name();
    let install = format!("`swb integration install {name}`");
    let path = integration.path(&place.paths.home, |variable| std::env::var_os(variable));
    let state = in_hooks().map_err(|failure| failure.to_string());
    match state.and_then(|program| edit::state(integration, &path, &program)) {
        Ok(HookState::Installed) => Finding::ok(HOOKS, format!("{name} reports its state to swb")),
        Ok(HookState::Outdated) => {
            Finding::warning(HOOKS, format!("the hooks of {name} are those of another swb"), install)
        }
        Ok(HookState::Missing) => {
            let message = format!("{name} reports nothing; its state is read from its screen");
            Finding::warning(HOOKS, message, install)
        }
        Err(error) => {
            Finding::warning(HOOKS, error, "correct the file; `swb integration status` checks it again")
        }
    }
}
