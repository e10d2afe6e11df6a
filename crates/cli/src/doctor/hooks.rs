//! Whether the agents report their state through hooks.

use super::agents::find;
use super::{Finding, Place};
use crate::limits;
use crate::regular_file;
use std::path::{Path, PathBuf};
use swb_types::Paths;

const HOOKS: &str = "hooks";
/// Agents that have hooks, with the files and directories below the home directory that can contain them.
const CONFIGURATIONS: [(&str, &[&str]); 4] = [
    ("claude", &[".claude/settings.json", ".claude/settings.local.json"]),
    ("codex", &[".codex/config.toml", ".codex/hooks.json"]),
    ("gemini", &[".gemini/settings.json"]),
    ("opencode", &[".config/opencode/opencode.json", ".config/opencode/plugin", ".config/opencode/plugins"]),
];

/// Checks the hooks of each agent that is installed.
pub(super) fn check(place: &Place) -> Vec<Finding> {
    let installed = CONFIGURATIONS.iter().filter(|(agent, _)| find(agent).is_some());
    let findings: Vec<Finding> = installed.map(|(agent, files)| hook(agent, files, &place.paths)).collect();
    match findings.is_empty() {
        true => vec![Finding::ok(HOOKS, "no agent with hooks is installed")],
        false => findings,
    }
}

fn hook(agent: &str, files: &[&str], paths: &Paths) -> Finding {
    match calls_swb(files, paths) {
        true => Finding::ok(HOOKS, format!("{agent} reports its state to swb")),
        false => Finding::warning(
            HOOKS,
            format!("{agent} reports nothing; its state is read from its screen"),
            format!("`swb integration install {agent}`"),
        ),
    }
}

/// Whether one of the files, or a file in one of the directories, calls `swb hook`.
fn calls_swb(files: &[&str], paths: &Paths) -> bool {
    files
        .iter()
        .flat_map(|file| files_at(&place_of(file, paths)))
        .any(|file| regular_file::read_text(&file, limits::AGENT_CONFIG).is_ok_and(|text| has_hook(&text)))
}

fn place_of(file: &str, paths: &Paths) -> PathBuf {
    match file.strip_prefix(".config/") {
        Some(rest) => paths.config_home.join(rest),
        None => paths.home.join(file),
    }
}

fn files_at(path: &Path) -> Vec<PathBuf> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).take(limits::AGENT_PLUGINS).collect(),
        Err(_) => vec![path.to_owned()],
    }
}

/// Whether the words `swb hook` are in a configuration, as one text or as a list of arguments.
fn has_hook(text: &str) -> bool {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || "\"'`,[]()\\{}$".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    words
        .windows(2)
        .any(|pair| matches!(pair, [program, "hook"] if program.rsplit('/').next() == Some("swb")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_found_in_any_notation() {
        for text in [
            r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"swb hook ready"}]}]}}"#,
            r#"notify = ["/usr/bin/swb", "hook", "ready"]"#,
            "await $`swb hook working`",
        ] {
            assert!(has_hook(text), "{text}");
        }
        for text in ["", "swb", "hook swb", r#"{"command":"echo swb; hook"}"#, "swbx hook"] {
            assert!(!has_hook(text), "{text}");
        }
    }

    #[test]
    fn files_and_directories_are_searched() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::from_env(|key| (key == "HOME").then(|| home.path().into())).unwrap();
        let (_, files) = CONFIGURATIONS[3];
        assert!(!calls_swb(files, &paths));
        let plugins = home.path().join(".config/opencode/plugin");
        std::fs::create_dir_all(&plugins).unwrap();
        std::fs::write(plugins.join("swb.js"), "Bun.spawn([\"swb\", \"hook\", \"ready\"])").unwrap();
        assert!(calls_swb(files, &paths));
    }
}
