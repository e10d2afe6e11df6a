//! How programs are read: the built-in profiles, and the user's own before them.

use crate::console::say;
use crate::error::Failure;
use std::sync::Arc;
use swb_turns::{Profile, Profiles};
use swb_types::Paths;

/// Loads the profiles, and says which of the user's are left out because they are not right.
pub(crate) fn load(program: &str) -> Result<Profiles, Failure> {
    let dir = Paths::from_env(|key| std::env::var_os(key)).map(|paths| paths.profiles_dir());
    let (profiles, warnings) = swb_daemon::load_profiles(&dir.unwrap_or_default());
    for warning in warnings {
        say(format_args!("{program}: {warning}"));
    }
    profiles.ok_or_else(|| Failure::general("the built-in profiles cannot be read"))
}

/// The profile that a user names: by its own name, or by that of a command it is for.
pub(crate) fn named(profiles: &Profiles, name: &str) -> Result<Arc<Profile>, Failure> {
    let found = profiles.named(name).or_else(|| for_program(profiles, name));
    found.ok_or_else(|| {
        let mut names: Vec<&str> = profiles.iter().map(Profile::name).collect();
        names.sort_unstable();
        names.dedup();
        Failure::usage(format!("there is no profile '{name}'"))
            .hint(format!("there are: {}", names.join(", ")))
    })
}

/// The profile for a program by its name, to which a version or the like may be added: `codex-0.80` is `codex`.
pub(crate) fn for_program(profiles: &Profiles, program: &str) -> Option<Arc<Profile>> {
    let mut names =
        std::iter::successors(Some(program), |name| name.rsplit_once('-').map(|(shorter, _)| shorter));
    names.find_map(|name| profiles.for_command([name]).filter(|profile| profile.name() != "generic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_with_their_versions() {
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
