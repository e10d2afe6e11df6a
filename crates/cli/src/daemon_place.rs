//! Finds the running daemon of this user where the environment names another place, or none.
//!
//! The sockets are in `$XDG_RUNTIME_DIR`, which cron, `su` and `sudo` do not set, or leave as it was for another user. The
//! daemon records the directory it uses in the state directory; a record that another user could have written is ignored.

use crate::limits;
use crate::own_socket;
use crate::regular_file;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use swb_types::Paths;

/// The paths of a daemon of this user: those of the environment, unless a daemon runs elsewhere and none could there.
pub(crate) fn find(paths: Paths) -> Paths {
    if own_place(&paths) {
        return paths;
    }
    let Some(recorded) = recorded(&paths) else { return paths };
    let set = paths.runtime.as_deref().is_some_and(is_own_dir);
    match recorded.runtime {
        // The user has chosen another directory, and so another daemon.
        Some(_) if set => paths,
        runtime => {
            let found = Paths { runtime, ..paths.clone() };
            if is_in_use(&found) { found } else { paths }
        }
    }
}

/// Whether the environment names a place in which a daemon runs, or may be started again.
fn own_place(paths: &Paths) -> bool {
    match &paths.runtime {
        Some(dir) => is_own_dir(dir) && paths.control_socket().exists(),
        None => is_live(paths),
    }
}

/// What the daemon that was started last has recorded.
struct PlaceRecord {
    /// The runtime directory, unless it runs without one.
    runtime: Option<PathBuf>,
}

fn recorded(paths: &Paths) -> Option<PlaceRecord> {
    let path = paths.place_record();
    own_socket::check_place(&path).ok()?;
    let metadata = fs::symlink_metadata(&path).ok()?;
    if metadata.uid() != own_socket::our_uid() || metadata.mode() & 0o022 != 0 {
        return None;
    }
    let text = regular_file::read_text(&path, limits::PLACE_RECORD).ok()?;
    let dir = text.strip_suffix('\n')?;
    let runtime = (!dir.is_empty()).then(|| PathBuf::from(dir));
    runtime.as_deref().is_none_or(Path::is_absolute).then_some(PlaceRecord { runtime })
}

/// Whether a directory is there and belongs to this user.
fn is_own_dir(dir: &Path) -> bool {
    fs::metadata(dir).is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own_socket::our_uid())
}

/// Whether a daemon of this user accepts connections there.
fn is_live(paths: &Paths) -> bool {
    own_socket::connect_at_once(&paths.control_socket()).is_ok()
}

/// Whether a daemon runs there, or a keeper with sessions waits for one.
fn is_in_use(paths: &Paths) -> bool {
    let keeper = paths.keeper_socket();
    is_live(paths) || (own_socket::check_place(&keeper).is_ok() && keeper.exists())
}

/// The user for whom root runs this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SudoUser {
    name: String,
    uid: u32,
}

impl SudoUser {
    /// Reads what sudo sets, if this is root.
    pub(crate) fn from_env(uid: u32, var: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let user: u32 = var("SUDO_UID")?.parse().ok()?;
        let plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-$".contains(c));
        let name = var("SUDO_USER").filter(plain).unwrap_or_else(|| format!("#{user}"));
        (uid == 0 && user != 0).then_some(Self { name, uid: user })
    }

    /// That of this process.
    pub(crate) fn current() -> Option<Self> {
        Self::from_env(own_socket::our_uid(), |key| std::env::var(key).ok())
    }

    /// Whether `home` belongs to this user: root would create files there that its owner cannot change.
    pub(crate) fn owns(&self, home: &Path) -> bool {
        fs::metadata(home).is_ok_and(|metadata| metadata.uid() == self.uid)
    }

    /// The user's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whose sessions root sees, and how to see the user's.
    pub(crate) fn note(&self) -> String {
        let name = &self.name;
        format!(
            "these are the sessions of root; `swb` without sudo, or `sudo -u {name} swb`, shows those of {name}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    fn paths(dir: &Path, runtime: Option<&Path>) -> Paths {
        let home = dir.join("h");
        Paths::from_env(|key| match key {
            "HOME" => Some(home.clone().into()),
            "XDG_RUNTIME_DIR" => runtime.map(Into::into),
            _ => None,
        })
        .unwrap()
    }

    fn private(dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
    }

    /// A daemon that listens with this runtime directory, and has recorded that.
    fn daemon(dir: &Path, runtime: Option<&Path>) -> UnixListener {
        let paths = paths(dir, runtime);
        private(&paths.state_dir());
        private(&paths.run_dir());
        let text = runtime.map_or_else(String::new, |dir| dir.display().to_string());
        fs::write(paths.place_record(), text + "\n").unwrap();
        UnixListener::bind(paths.control_socket()).unwrap()
    }

    #[test]
    fn without_a_runtime_directory_the_recorded_one_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = dir.path().join("r");
        let listening = daemon(dir.path(), Some(&runtime));
        assert_eq!(find(paths(dir.path(), None)).runtime.as_deref(), Some(&*runtime));
        let gone = dir.path().join("gone");
        assert_eq!(find(paths(dir.path(), Some(&gone))).runtime.as_deref(), Some(&*runtime));
        let other = dir.path().join("other");
        private(&other);
        assert_eq!(find(paths(dir.path(), Some(&other))).runtime.as_deref(), Some(&*other), "chosen");
        drop(listening);
        assert_eq!(find(paths(dir.path(), None)).runtime, None, "no daemon is there any more");
        fs::write(runtime.join("switchboard/keeper.sock"), "").unwrap();
        assert_eq!(find(paths(dir.path(), None)).runtime.as_deref(), Some(&*runtime), "its keeper waits");
    }

    #[test]
    fn a_daemon_without_a_runtime_directory_is_found_with_one() {
        let dir = tempfile::tempdir().unwrap();
        let listening = daemon(dir.path(), None);
        let runtime = dir.path().join("r");
        private(&runtime);
        assert_eq!(find(paths(dir.path(), Some(&runtime))).runtime, None);
        let _own = daemon(dir.path(), Some(&runtime));
        assert_eq!(find(paths(dir.path(), Some(&runtime))).runtime.as_deref(), Some(&*runtime));
        assert_eq!(find(paths(dir.path(), None)).runtime, None, "it still runs");
        drop(listening);
        assert_eq!(find(paths(dir.path(), None)).runtime.as_deref(), Some(&*runtime));
    }

    #[test]
    fn a_record_that_others_can_write_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = dir.path().join("r");
        let _listening = daemon(dir.path(), Some(&runtime));
        let record = paths(dir.path(), None).place_record();
        for (mode, used) in [(0o666, false), (0o600, true)] {
            fs::set_permissions(&record, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(find(paths(dir.path(), None)).runtime.is_some(), used, "{mode:o}");
        }
        for text in ["relative/dir\n", "no line", ""] {
            fs::write(&record, text).unwrap();
            assert_eq!(find(paths(dir.path(), None)).runtime, None, "{text:?}");
        }
    }

    #[test]
    fn sudo_matters_to_root_only() {
        let user = |uid, vars: &[(&str, &str)]| {
            let var = |key: &str| vars.iter().find(|(k, _)| *k == key).map(|(_, value)| (*value).to_owned());
            SudoUser::from_env(uid, var).map(|user| user.name)
        };
        let alice = [("SUDO_UID", "1000"), ("SUDO_USER", "alice")];
        assert_eq!(user(0, &alice).as_deref(), Some("alice"));
        assert_eq!(user(1000, &alice), None);
        assert_eq!(user(0, &[("SUDO_UID", "0"), ("SUDO_USER", "root")]), None);
        assert_eq!(user(0, &[("SUDO_UID", "7"), ("SUDO_USER", "a\x1b[2J")]).as_deref(), Some("#7"));
        assert_eq!(user(0, &[]), None);
    }
}
