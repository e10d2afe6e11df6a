//! Detection profiles: the built-in ones, and the user's own, which take precedence.

use crate::limits;
use std::path::Path;
use swb_engine::file_access;
use swb_turns::Profiles;

/// Reads the user's profiles, one per TOML file of `dir`. An invalid file is skipped with a warning: it must not
/// keep the daemon from starting.
pub fn load(dir: &Path) -> (Option<Profiles>, Vec<String>) {
    let mut profiles = match Profiles::built_in() {
        Ok(profiles) => profiles,
        Err(error) => return (None, vec![error.to_string()]),
    };
    let mut warnings = Vec::new();
    #[allow(clippy::disallowed_methods, reason = "the user's own directory, at the start of the daemon")]
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    for file in files {
        let name = file.display().to_string();
        let added = match file_access::read_text(&file, limits::PROFILE) {
            Ok(text) => profiles.add(&name, &text).map_err(|error| error.to_string()),
            Err(error) => Err(format!("{name}: {error}")),
        };
        if let Err(warning) = added {
            tracing::warn!(warning, "skipping an invalid detection profile");
            warnings.push(warning);
        }
    }
    (Some(profiles), warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_file_is_skipped_with_a_warning() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("bad.toml"), "nonsense = 1\n").unwrap();
        std::fs::write(dir.path().join("notes.txt"), "not a profile").unwrap();
        let (profiles, warnings) = load(dir.path());
        assert!(profiles.unwrap().named("claude").is_some());
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("bad.toml") && warnings[0].contains("nonsense"), "{warnings:?}");
    }

    #[test]
    fn a_missing_directory_causes_no_warning() {
        let (profiles, warnings) = load(Path::new("/no/such/directory"));
        assert!(profiles.is_some() && warnings.is_empty());
    }
}
