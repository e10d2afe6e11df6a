//! The detection profiles: the built-in ones, and the user's own, which take precedence.

use crate::console::eprint_line;
use crate::error::Failure;
use std::sync::Arc;
use swb_turns::{Profile, Profiles};
use swb_types::{Paths, did_you_mean};

/// Loads the profiles, and warns about those of the user that are ignored because they are invalid.
pub(crate) fn load(program: &str) -> Result<Profiles, Failure> {
    let dir = Paths::from_env(|key| std::env::var_os(key)).map(|paths| paths.profiles_dir());
    let (profiles, warnings) = swb_daemon::load_profiles(&dir.unwrap_or_default());
    for warning in warnings {
        eprint_line(format_args!("{program}: {warning}"));
    }
    profiles.ok_or_else(|| Failure::general("cannot read the built-in detection profiles"))
}

/// The profile with this name, or for the command with this name.
pub(crate) fn named(profiles: &Profiles, name: &str) -> Result<Arc<Profile>, Failure> {
    let found = profiles.named(name).or_else(|| for_program(profiles, name));
    found.ok_or_else(|| {
        let known = profiles.names();
        let meant =
            did_you_mean(name, known.iter().copied()).map(|question| question + " ").unwrap_or_default();
        Failure::usage(format!("there is no detection profile '{name}'"))
            .hint(format!("{meant}available: {}", known.join(", ")))
    })
}

/// The profile for a program by its name, which may have a suffix such as a version: `codex-0.80` is `codex`.
pub(crate) fn for_program(profiles: &Profiles, program: &str) -> Option<Arc<Profile>> {
    let mut names =
        std::iter::successors(Some(program), |name| name.rsplit_once('-').map(|(shorter, _)| shorter));
    names.find_map(|name| profiles.for_command([name]).filter(|profile| profile.name() != "generic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_names_may_have_a_version() {
        let profiles = Profiles::built_in().unwrap();
        let name = |program| for_program(&profiles, program).map(|profile| profile.name().to_owned());
        assert_eq!(name("claude-code-2.0").as_deref(), Some("claude"));
        assert_eq!(name("codex-0.80-notify").as_deref(), Some("codex"));
        assert_eq!(name("python3-pyrepl").as_deref(), Some("python"));
        assert_eq!(name("recordings"), None);
        assert_eq!(named(&profiles, "bash").unwrap().name(), "shell");
        assert_eq!(named(&profiles, "generic").unwrap().name(), "generic");
        let failure = named(&profiles, "nobody").unwrap_err();
        assert!(failure.render("swb").contains("claude, codex"), "{}", failure.render("swb"));
    }
}
