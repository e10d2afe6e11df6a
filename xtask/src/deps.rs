//! The direction of dependencies, as ARCHITECTURE.md has it.

use crate::steps::command;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Who may depend on whom, within the project. Development dependencies are free.
const ALLOWED: [(&str, &[&str]); 21] = [
    ("swb-types", &[]),
    ("swb-wire", &["swb-types"]),
    ("swb-vt", &["swb-types"]),
    ("swb-turns", &["swb-types", "swb-vt"]),
    ("swb-stun", &[]),
    ("swb-keeper", &[]),
    ("swb-chat", &["swb-types"]),
    ("swb-store", &["swb-chat", "swb-types"]),
    ("swb-engine", &["swb-chat", "swb-turns", "swb-types", "swb-keeper", "swb-vt"]),
    ("swb-backends", &["swb-chat", "swb-engine", "swb-turns", "swb-types", "swb-vt"]),
    ("swb-programs", &["swb-engine", "swb-keeper"]),
    ("swb-operations", &["swb-chat", "swb-turns", "swb-types", "swb-wire", "swb-engine", "swb-vt"]),
    ("swb-dialects", &["swb-chat", "swb-types", "swb-wire", "swb-engine", "swb-operations"]),
    ("swb-web", &["swb-engine", "swb-operations", "swb-types", "swb-wire"]),
    ("swb-tunnel", &["swb-engine", "swb-operations", "swb-stun", "swb-types", "swb-wire"]),
    (
        "swb-daemon",
        &[
            "swb-backends",
            "swb-chat",
            "swb-dialects",
            "swb-engine",
            "swb-keeper",
            "swb-operations",
            "swb-programs",
            "swb-store",
            "swb-tunnel",
            "swb-turns",
            "swb-types",
            "swb-vt",
            "swb-web",
            "swb-wire",
        ],
    ),
    ("swb-tui", &["swb-vt"]),
    (
        "swb",
        &[
            "swb-types",
            "swb-wire",
            "swb-vt",
            "swb-turns",
            "swb-tui",
            "swb-tunnel",
            "swb-daemon",
            "swb-keeper",
        ],
    ),
    ("swb-testkit", &["swb-types", "swb-wire", "swb-vt"]),
    ("swb-bench", &["swb-turns", "swb-types", "swb-vt"]),
    ("xtask", &[]),
];

/// Names that must not appear in the engine: a dialect that needs something gets a concept that can be
/// named without it.
const DIALECTS: [&str; 4] = ["keepty", "coop", "clippy", "scriptschnell"];

/// Fails on an edge that is not listed, or on a dialect's name in the engine.
pub(crate) fn check() -> Result<()> {
    let output = command("cargo", &["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let ours: Vec<&str> = metadata["packages"].as_array().into_iter().flatten().filter_map(name).collect();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let package_name = name(package).unwrap_or_default();
        let allowed = ALLOWED.iter().find(|(name, _)| *name == package_name);
        let (_, allowed) =
            allowed.with_context(|| format!("{package_name} is not listed in xtask/src/deps.rs"))?;
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = name(dependency).unwrap_or_default();
            let checked = dependency["kind"].is_null() && ours.contains(&to);
            ensure!(!checked || allowed.contains(&to), "{package_name} must not depend on {to}");
        }
    }
    dialect_names(Path::new("crates/engine/src"))
}

fn name(value: &Value) -> Option<&str> {
    value["name"].as_str()
}

fn dialect_names(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            dialect_names(&path)?;
            continue;
        }
        let text = fs::read_to_string(&path)?.to_lowercase();
        for (number, line) in text.lines().enumerate() {
            let found =
                DIALECTS.iter().find(|dialect| line.contains(**dialect) && !line.contains("clippy::"));
            ensure!(found.is_none(), "{}:{}: names the dialect {found:?}", path.display(), number + 1);
        }
    }
    Ok(())
}
