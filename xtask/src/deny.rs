//! Third-party crates: licences, sources and wildcard versions as `deny.toml` has them, and their minimum Rust version.
//!
//! `cargo deny` reads the same file and is run, too, where it is installed. Building it takes longer than everything
//! else in CI, so what the file asks for is checked here from `cargo metadata`. Advisories and yanked versions need a
//! database from the network; a new advisory must not fail a change that has nothing to do with it either.
//!
//! That our own code uses nothing newer than the minimum Rust version is checked by clippy (`incompatible_msrv`), and
//! by compiling with that version in `cargo xtask msrv`, which doubles the time of a build and is not part of CI.

use crate::steps::{cargo, command, run, succeeds};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};
use std::collections::BTreeMap;
use std::fs;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The settings of `deny.toml` that are checked here, and what they must be if that is not a choice.
const SETTINGS: [(&str, &str, Option<&str>); 9] = [
    ("graph", "targets", None),
    ("licenses", "allow", None),
    ("licenses", "confidence-threshold", None),
    ("bans", "multiple-versions", Some("warn")),
    ("bans", "wildcards", Some("deny")),
    ("bans", "allow-wildcard-paths", None),
    ("advisories", "yanked", None),
    ("sources", "unknown-registry", Some("deny")),
    ("sources", "unknown-git", Some("deny")),
];

/// Checks all third-party crates.
pub(crate) fn check() -> Result<()> {
    let policy: toml::Table = fs::read_to_string("deny.toml")?.parse().context("deny.toml")?;
    let metadata = metadata(&list(&policy, "graph", "targets")?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    understood(&policy)?;
    let mut faults = Vec::new();
    let allowed = allowed_licences(&policy)?;
    for package in packages {
        faults.extend(licence(package, &allowed));
        faults.extend(source(package));
        faults.extend(wildcards(package));
    }
    faults.extend(minimum_rust(packages)?);
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    for (name, versions) in duplicates(packages) {
        println!("warning: {name} is there in several versions: {}", versions.join(", "));
    }
    println!("not checked: advisories and yanked versions (run `cargo deny check advisories`)");
    if succeeds(&["deny", "--version"]) {
        cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"])?;
    }
    Ok(())
}

/// All crates that one of our targets needs.
fn metadata(targets: &[String]) -> Result<Value> {
    let mut cargo = command("cargo", &["metadata", "--format-version", "1", "--locked"]);
    cargo.args(targets.iter().map(|target| format!("--filter-platform={target}")));
    let output = cargo.output()?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("cargo metadata")
}

/// Fails on a setting that this check does not know, so that `deny.toml` never promises more than is checked.
fn understood(policy: &toml::Table) -> Result<()> {
    for (section, settings) in policy {
        for (key, value) in settings.as_table().into_iter().flatten() {
            let known = SETTINGS.iter().find(|(known, name, _)| known == section && name == key);
            let Some((_, _, fixed)) = known else {
                bail!("deny.toml: {section}.{key} is not checked by xtask")
            };
            let supported = fixed.is_none_or(|fixed| value.as_str() == Some(fixed));
            ensure!(supported, "deny.toml: {section}.{key} = {value} is not supported by xtask");
        }
    }
    Ok(())
}

fn allowed_licences(policy: &toml::Table) -> Result<Vec<Licensee>> {
    let names = list(policy, "licenses", "allow")?;
    names
        .iter()
        .map(|name| Licensee::parse(name).with_context(|| format!("deny.toml: licence {name:?}")))
        .collect()
}

/// A list of texts in `deny.toml`.
fn list(policy: &toml::Table, section: &str, key: &str) -> Result<Vec<String>> {
    let list = policy.get(section).and_then(|section| section.get(key)).and_then(|list| list.as_array());
    let list = list.with_context(|| format!("deny.toml has no list {section}.{key}"))?;
    Ok(list.iter().filter_map(|text| text.as_str()).map(str::to_owned).collect())
}

fn licence(package: &Value, allowed: &[Licensee]) -> Option<String> {
    let Some(text) = package["license"].as_str() else {
        return Some(format!("{}: no licence", label(package)));
    };
    // Old crates have `MIT/Apache-2.0`, which only the lax mode reads.
    let Ok(expression) = Expression::parse_mode(text, ParseMode::LAX) else {
        return Some(format!("{}: cannot read the licence {text:?}", label(package)));
    };
    let fine = expression.evaluate(|required| allowed.iter().any(|licence| licence.satisfies(required)));
    (!fine).then(|| format!("{}: licence {text} is not allowed by deny.toml", label(package)))
}

fn source(package: &Value) -> Option<String> {
    let source = package["source"].as_str();
    // Without a source it is ours, in this repository.
    let fine = source.is_none_or(|source| source == CRATES_IO);
    (!fine).then(|| {
        format!("{}: source {} is not allowed by deny.toml", label(package), source.unwrap_or_default())
    })
}

fn wildcards(package: &Value) -> Option<String> {
    let ours = package["source"].is_null();
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let mut any = dependencies.filter(|dependency| dependency["req"] == "*" && dependency["path"].is_null());
    let found = any.next().filter(|_| ours)?;
    Some(format!(
        "{}: any version of {} would do",
        label(package),
        found["name"].as_str().unwrap_or_default()
    ))
}

/// Compiles everything with the oldest Rust that we promise to work with, installing that first.
pub(crate) fn msrv() -> Result<()> {
    let metadata = metadata(&[])?;
    let (major, minor) =
        rust_version(metadata["packages"].as_array().context("cargo metadata has no packages")?)?;
    let toolchain = format!("{major}.{minor}.0");
    let install = ["toolchain", "install", &toolchain, "--profile", "minimal", "--no-self-update"];
    run(&mut command("rustup", &install))?;
    // In a directory of its own, so that the usual one need not be built again.
    run(&mut command(
        "rustup",
        &["run", &toolchain, "cargo", "check", "--workspace", "--target-dir", "target/msrv"],
    ))
}

/// The oldest Rust that all our crates work with.
fn rust_version(packages: &[Value]) -> Result<(u32, u32)> {
    let ours = packages.iter().filter(|package| package["source"].is_null());
    let versions = ours.filter_map(|package| version(package["rust_version"].as_str()?));
    versions.min().context("Cargo.toml has no rust-version")
}

/// Crates that need a newer Rust than ours promises.
fn minimum_rust(packages: &[Value]) -> Result<Vec<String>> {
    let ours = rust_version(packages)?;
    let needs_more = |package: &&Value| package["rust_version"].as_str().and_then(version) > Some(ours);
    let fault = |package: &Value| {
        let needed = package["rust_version"].as_str().unwrap_or_default();
        format!("{}: needs Rust {needed}; our rust-version is {}.{}", label(package), ours.0, ours.1)
    };
    Ok(packages.iter().filter(needs_more).map(fault).collect())
}

/// `1.91` or `1.91.0`, as numbers that can be compared.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn duplicates(packages: &[Value]) -> Vec<(&str, Vec<&str>)> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        versions.entry(text("name")).or_default().push(text("version"));
    }
    versions.into_iter().filter(|(_, versions)| versions.len() > 1).collect()
}

fn label(package: &Value) -> String {
    format!(
        "{} {}",
        package["name"].as_str().unwrap_or_default(),
        package["version"].as_str().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(more: Value) -> Value {
        let mut package = json!({"name": "x", "version": "1.2.3", "source": CRATES_IO, "license": "MIT"});
        package.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        package
    }

    #[test]
    fn licences_follow_the_list() {
        let policy = "[licenses]\nallow = [\"MIT\", \"Apache-2.0\", \"ISC\"]".parse().unwrap();
        let allowed = allowed_licences(&policy).unwrap();
        let is_fine = |text: &str| licence(&package(json!({"license": text})), &allowed).is_none();
        for fine in ["MIT", "MIT OR GPL-3.0", "MIT/Apache-2.0", "MIT AND ISC", "(MIT OR GPL-2.0) AND ISC"] {
            assert!(is_fine(fine), "{fine}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0 WITH LLVM-exception", "", "nonsense"] {
            assert!(!is_fine(bad), "{bad}");
        }
        assert!(licence(&package(json!({"license": null})), &allowed).is_some());
    }

    #[test]
    fn only_the_public_registry_and_this_repository_are_sources() {
        assert_eq!(source(&package(json!({}))), None);
        assert_eq!(source(&package(json!({"source": null}))), None);
        assert!(source(&package(json!({"source": "git+https://example.org/x"}))).is_some());
    }

    #[test]
    fn our_dependencies_have_versions() {
        let with =
            |dependency: Value| wildcards(&package(json!({"source": null, "dependencies": [dependency]})));
        assert_eq!(with(json!({"name": "y", "req": "^1"})), None);
        assert_eq!(with(json!({"name": "y", "req": "*", "path": "/y"})), None);
        assert!(with(json!({"name": "y", "req": "*"})).is_some());
    }

    #[test]
    fn a_crate_that_needs_a_newer_rust_is_a_fault() {
        let ours = package(json!({"source": null, "rust_version": "1.91"}));
        let faults =
            |needed: &str| minimum_rust(&[ours.clone(), package(json!({"rust_version": needed}))]).unwrap();
        assert_eq!(faults("1.91.0"), [] as [&str; 0]);
        assert_eq!(faults("1.9"), [] as [&str; 0]);
        assert_eq!(faults("1.92"), ["x 1.2.3: needs Rust 1.92; our rust-version is 1.91"]);
    }

    #[test]
    fn settings_that_are_not_checked_are_refused() {
        let fails = |text: &str| understood(&text.parse().unwrap()).is_err();
        assert!(!fails("[bans]\nwildcards = \"deny\""));
        assert!(fails("[bans]\nwildcards = \"allow\""));
        assert!(fails("[bans]\nskip = []"));
    }
}
