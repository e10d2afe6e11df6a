//! Changes of an agent's configuration file: what it was, what it becomes, and how that is written.
//!
//! A file is replaced at once, in the place that a link leads to; what was there before is kept beside it.

use super::{HookState, Integration};
use crate::limits;
use crate::own_socket;
use crate::regular_file;
use similar::TextDiff;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What a configuration file is to become.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Where the file is, links followed.
    target: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// The backup is what the file becomes again.
    restores: bool,
    /// What was there before becomes the backup.
    keeps: bool,
}

/// The state of an agent's hooks.
pub(crate) fn state(integration: Integration, path: &Path, program: &str) -> Result<HookState, String> {
    let (_, text) = read(path)?;
    integration.state(text.as_deref(), program).map_err(|error| explained(path, &error))
}

/// The change that adds the hooks.
pub(crate) fn install(integration: Integration, path: &Path, program: &str) -> Result<Change, String> {
    let (target, before) = read(path)?;
    let after = integration.install(before.as_deref().unwrap_or_default(), program);
    let after = Some(after.map_err(|error| explained(path, &error))?);
    // Hooks of an earlier version replace no backup of what the user had before them.
    let is_users = before.as_deref().is_some_and(|text| has_no_hooks(integration, text));
    let keeps = is_users || !backup(&target).exists();
    Ok(Change { target, before, after, restores: false, keeps })
}

/// The change that removes the hooks: back to what was there before, if only the hooks have been added since.
pub(crate) fn uninstall(integration: Integration, path: &Path, programs: &[&str]) -> Result<Change, String> {
    let (target, before) = read(path)?;
    let Some(text) = &before else {
        return Ok(Change { target, before, after: None, restores: false, keeps: false });
    };
    let rest = integration.uninstall(text).map_err(|error| explained(path, &error))?;
    let backup = regular_file::read_text(&backup(&target), limits::AGENT_CONFIG).ok();
    let came_from = |text_before: &str| {
        programs.iter().any(|program| {
            integration.install(text_before, program).is_ok_and(|installed| installed == *text)
        })
    };
    let changes = rest.as_deref() != Some(text);
    let restored = backup.filter(|backup| changes && has_no_hooks(integration, backup) && came_from(backup));
    let restores = restored.is_some();
    Ok(Change { target, after: restored.or(rest), before, restores, keeps: !restores })
}

/// Whether a configuration has no hooks of ours, of any version.
fn has_no_hooks(integration: Integration, text: &str) -> bool {
    integration.uninstall(text).is_ok_and(|rest| rest.as_deref() == Some(text))
}

impl Change {
    pub(crate) fn is_empty(&self) -> bool {
        self.before == self.after
    }

    /// The change as a unified diff.
    pub(crate) fn diff(&self, name: &str) -> String {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
        let header = |there: Option<&str>| there.map_or("/dev/null", |_| name);
        diff.unified_diff().context_radius(3).header(header(before), header(after)).to_string()
    }

    /// Makes the change; returns where the earlier content is kept.
    pub(crate) fn apply(&self) -> io::Result<Option<PathBuf>> {
        let backup = backup(&self.target);
        check_owner(&self.target)?;
        // The user, or the agent, may have changed the file since it was read.
        if regular_file::read_text(&self.target, limits::AGENT_CONFIG).ok() != self.before {
            return Err(io::Error::other("it has changed meanwhile; try again"));
        }
        let Some(after) = &self.after else {
            fs::remove_file(&self.target)?;
            return Ok(None);
        };
        let mode = fs::metadata(&self.target).map_or(0o600, |metadata| metadata.mode() & 0o777);
        let kept = self.before.as_ref().filter(|_| self.keeps);
        if let Some(before) = kept {
            replace(&backup, before, mode)?;
        }
        if let Some(dir) = self.target.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        replace(&self.target, after, mode)?;
        if self.restores {
            fs::remove_file(&backup)?;
        }
        Ok(kept.map(|_| backup))
    }
}

/// Fails if a file, or the directory in which it is or would be created, belongs to another user. A file that root replaces
/// would be root's, and its owner could not change it any more; and in a directory of another user, anything can be swapped.
fn check_owner(target: &Path) -> io::Result<()> {
    let dir = target.ancestors().skip(1).find(|dir| dir.exists());
    for place in [Some(target), dir].into_iter().flatten() {
        let owner = match fs::metadata(place) {
            Ok(metadata) => metadata.uid(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if owner != own_socket::our_uid() {
            let text = format!("{} belongs to another user (uid {owner})", place.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
    }
    Ok(())
}

/// The place of the earlier content.
fn backup(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".swb-backup");
    name.into()
}

/// Where a file is, links followed, and its text; none if it does not exist.
fn read(path: &Path) -> Result<(PathBuf, Option<String>), String> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A link that leads nowhere stays one.
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(format!("{} is a link that leads nowhere", path.display())),
                Err(_) => Ok((path.to_owned(), None)),
            };
        }
        Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
    };
    match regular_file::read_text(&target, limits::AGENT_CONFIG) {
        Ok(text) => Ok((target, Some(text))),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

fn explained(path: &Path, error: &str) -> String {
    format!("{} was not changed: {error}", path.display())
}

/// Replaces a file at once.
fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".swb-new");
    let new = PathBuf::from(name);
    // Left behind by a command that was killed.
    let _removed = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(&new, path)) {
        let _removed = fs::remove_file(&new);
        return Err(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: Integration = Integration::ALL[0];

    #[test]
    fn uninstall_restores_exactly_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let odd = "{ \"b\":1 ,\n\n\t\"hooks\" : { } , \"a\" : [ 1,2 ]}";
        fs::write(&path, odd).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let kept = install(CLAUDE, &path, "swb").unwrap().apply().unwrap().unwrap();
        assert_eq!(fs::read_to_string(&kept).unwrap(), odd);
        assert_eq!(state(CLAUDE, &path, "swb"), Ok(HookState::Installed));
        assert!(install(CLAUDE, &path, "swb").unwrap().is_empty(), "once is enough");
        uninstall(CLAUDE, &path, &["swb"]).unwrap().apply().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), odd);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
        assert!(uninstall(CLAUDE, &path, &["swb"]).unwrap().is_empty());
    }

    #[test]
    fn changes_since_the_installation_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, "{\n  \"a\": 1\n}\n").unwrap();
        install(CLAUDE, &path, "swb").unwrap().apply().unwrap();
        let changed = fs::read_to_string(&path).unwrap().replace("\"a\": 1", "\"a\": 2");
        fs::write(&path, changed).unwrap();
        uninstall(CLAUDE, &path, &["swb"]).unwrap().apply().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"a\": 2\n}\n");
    }

    #[test]
    fn hooks_of_an_earlier_version_are_not_restored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let users = "{ \"a\" : 1 }";
        fs::write(&path, users).unwrap();
        install(CLAUDE, &path, "/old/swb").unwrap().apply().unwrap();
        assert_eq!(install(CLAUDE, &path, "swb").unwrap().apply().unwrap(), None, "the backup stays");
        uninstall(CLAUDE, &path, &["swb"]).unwrap().apply().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), users);
        // As an earlier version left it.
        fs::write(backup(&path), CLAUDE.install(users, "/old/swb").unwrap()).unwrap();
        fs::write(&path, CLAUDE.install(users, "swb").unwrap()).unwrap();
        uninstall(CLAUDE, &path, &["swb"]).unwrap().apply().unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains("hook"));
    }

    #[test]
    fn a_file_of_ours_alone_is_removed_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/settings.json");
        assert_eq!(install(CLAUDE, &path, "swb").unwrap().apply().unwrap(), None);
        assert_eq!(state(CLAUDE, &path, "swb"), Ok(HookState::Installed));
        let change = uninstall(CLAUDE, &path, &["swb"]).unwrap();
        assert!(change.diff("f").contains("+++ /dev/null"), "{}", change.diff("f"));
        change.apply().unwrap();
        assert!(!path.exists());
    }

    #[test]
    #[ignore = "needs root: run by cargo xtask ci"]
    fn files_of_another_user_are_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        for foreign in [path.as_path(), dir.path()] {
            std::os::unix::fs::chown(foreign, Some(65534), None).unwrap();
            let error = install(CLAUDE, &path, "swb").unwrap().apply().unwrap_err();
            assert!(error.to_string().contains("belongs to another user (uid 65534)"), "{error}");
            std::os::unix::fs::chown(foreign, Some(0), None).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::chown(dir.path(), Some(65534), None).unwrap();
        let below = dir.path().join("new/settings.json");
        assert!(install(CLAUDE, &below, "swb").unwrap().apply().is_err());
        assert!(!below.parent().unwrap().exists());
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.json"), dir.path().join("settings.json"));
        fs::write(&real, "{}").unwrap();
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        install(CLAUDE, &link, "swb").unwrap().apply().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("swb hook"));
        uninstall(CLAUDE, &link, &["swb"]).unwrap().apply().unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "{}");
        std::os::unix::fs::symlink("nowhere", dir.path().join("dangling")).unwrap();
        assert!(install(CLAUDE, &dir.path().join("dangling"), "swb").unwrap_err().contains("leads nowhere"));
    }

    #[test]
    fn a_file_that_is_broken_or_changes_meanwhile_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, "{ broken").unwrap();
        let error = install(CLAUDE, &path, "swb").unwrap_err();
        assert!(error.contains("settings.json was not changed"), "{error}");
        fs::write(&path, "{}").unwrap();
        let change = install(CLAUDE, &path, "swb").unwrap();
        fs::write(&path, "{\"new\": 1}").unwrap();
        assert!(change.apply().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"new\": 1}");
    }
}
