//! What the machine and the login offer: directories, configuration, what happens at logout, confinement.

use super::processes::keeper_pid;
use super::{DoctorContext, Finding};
use crate::limits;
use crate::sys;
use rustix::fs::{Access, access};
use rustix::process::geteuid;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use swb_daemon::{LoginRules, guard, login_rules, output_within, unit_of};

const RUNTIME: &str = "runtime directory";
const STATE: &str = "state directory";
const LOGOUT: &str = "linger";
const SCOPE: &str = "scope";
const LANDLOCK: &str = "landlock";
const NAMESPACES: &str = "user namespaces";
/// Bytes that a socket path can have, with the zero at its end.
const SOCKET_PATH: usize = 108;

/// The directories of sockets and of state.
pub(super) fn directories(place: &DoctorContext) -> Vec<Finding> {
    let mut findings = vec![runtime_directory(place)];
    let socket = place.paths.control_socket();
    if socket.as_os_str().len() >= SOCKET_PATH {
        findings.push(Finding::problem(
            RUNTIME,
            format!("the socket path {} is too long", socket.display()),
            "set XDG_RUNTIME_DIR to a directory with a shorter path",
        ));
    }
    let state = place.paths.state_dir();
    findings.push(match unusable(&state) {
        None => Finding::ok(STATE, format!("{} can be written", state.display())),
        Some(why) => Finding::problem(
            STATE,
            why,
            "conversations and logs cannot be saved: correct its owner or mode, or set XDG_STATE_HOME",
        ),
    });
    findings
}

fn runtime_directory(place: &DoctorContext) -> Finding {
    let dir = place.paths.run_dir();
    if let Some(why) = unusable(&dir).or_else(|| too_open(&dir)) {
        return Finding::problem(
            RUNTIME,
            why,
            "remove it, or set XDG_RUNTIME_DIR to a directory of your own",
        );
    }
    match &place.paths.runtime {
        Some(runtime) => Finding::ok(RUNTIME, runtime.display().to_string()),
        None => Finding::warning(
            RUNTIME,
            format!("XDG_RUNTIME_DIR is not set; sockets are in {}", dir.display()),
            format!(
                "`export XDG_RUNTIME_DIR=/run/user/{}` finds the daemon of your other logins; clippy's clients need it",
                geteuid().as_raw()
            ),
        ),
    }
}

/// Why a directory, or the place where it will be created, cannot be written.
fn unusable(dir: &Path) -> Option<String> {
    let existing: PathBuf = dir.ancestors().find(|dir| dir.symlink_metadata().is_ok())?.to_owned();
    if !existing.is_dir() {
        return Some(format!("{} is not a directory", existing.display()));
    }
    let failed = access(&existing, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).err()?;
    Some(format!("{} cannot be written: {failed}", existing.display()))
}

/// Why another user could have prepared our own directory.
fn too_open(dir: &Path) -> Option<String> {
    let metadata = dir.symlink_metadata().ok()?;
    if metadata.is_symlink() {
        return Some(format!("{} is a symbolic link", dir.display()));
    }
    let foreign = metadata.uid() != geteuid().as_raw();
    foreign.then(|| format!("{} belongs to another user (uid {})", dir.display(), metadata.uid()))
}

/// The configuration file.
pub(super) fn configuration(place: &DoctorContext) -> Vec<Finding> {
    let file = place.config_file.display();
    let finding = match swb_daemon::Config::load(&place.config_file, place.config_named) {
        Ok(_) if place.config_file.exists() => Finding::ok("configuration", file.to_string()),
        Ok(_) => Finding::ok("configuration", format!("no {file}: the defaults apply")),
        Err(error) => Finding::problem(
            "configuration",
            format!("{error:#}").lines().collect::<Vec<_>>().join(" "),
            "correct the file: a daemon does not start with it; docs/configuration.md has every key",
        ),
    };
    vec![finding]
}

/// What happens to sessions at logout.
pub(super) fn logout(place: &DoctorContext) -> Vec<Finding> {
    let runtime = place.paths.runtime.as_ref();
    if !runtime.is_some_and(|runtime| runtime.join("systemd/private").exists()) {
        return vec![Finding::ok(
            LOGOUT,
            "no systemd manager for your user: nothing ends sessions at logout",
        )];
    }
    let rules = login_rules();
    let unit = keeper_pid(&place.paths).and_then(unit_of);
    let mut findings = vec![lingering(rules, unit.as_deref())];
    findings.extend(unit.map(|unit| scope(&unit)));
    findings
}

fn lingering(rules: LoginRules, unit: Option<&str>) -> Finding {
    let in_login = unit.is_some_and(|unit| unit.starts_with("session-"));
    match rules {
        LoginRules { lingering: true, .. } => {
            Finding::ok(LOGOUT, "on: sessions keep running when you log out")
        }
        LoginRules { kills_processes: false, .. } if in_login => {
            Finding::ok(LOGOUT, "off, but the keeper is in a login session that keeps its processes")
        }
        LoginRules { .. } => Finding::warning(
            LOGOUT,
            "off: sessions end at your last logout",
            "`loginctl enable-linger` keeps them (see docs/logout.md)",
        ),
    }
}

fn scope(unit: &str) -> Finding {
    let own = ["switchboard", "swb", "session-", "user@"];
    if own.iter().any(|name| unit.starts_with(name)) || unit == "init.scope" {
        return Finding::ok(SCOPE, format!("the keeper is in {unit}"));
    }
    Finding::warning(
        SCOPE,
        format!("the keeper is in {unit}, and all sessions end with that"),
        "`swb kill --all && swb shutdown`, then start again where `busctl --user` reaches systemd",
    )
}

/// What confines commands of agents.
pub(super) fn confinement(place: &DoctorContext) -> Vec<Finding> {
    let landlock = match guard::can_confine() {
        true => Finding::ok(LANDLOCK, "commands of agents are confined to their workspace"),
        false => Finding::warning(
            LANDLOCK,
            "this kernel does not support it: commands of models in `swb chat` are refused",
            "use a kernel with Landlock (5.13 or later, `landlock` in the parameter lsm=), or see SECURITY.md",
        ),
    };
    let mut probe = Command::new(&place.exe);
    probe.args(["guard", "--probe"]).env_clear();
    let probed = output_within(sys::in_new_session(&mut probe), limits::DOCTOR_REPLY).ok().flatten();
    let namespaces = match probed.and_then(|output| output.status.code()) {
        Some(0) => Finding::ok(NAMESPACES, "file systems are read-only for commands of agents"),
        Some(1) => Finding::warning(
            NAMESPACES,
            "not allowed here: commands of agents can change modes and times of your files",
            "allow them: user.max_user_namespaces, kernel.unprivileged_userns_clone or \
             kernel.apparmor_restrict_unprivileged_userns in sysctl; see SECURITY.md",
        ),
        _ => Finding::warning(
            NAMESPACES,
            "could not find out whether they are allowed",
            format!("`{} guard --probe` exits with 0 if they are", place.exe.display()),
        ),
    };
    vec![landlock, namespaces]
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn logout_is_judged_by_the_rules_and_the_place_of_the_keeper() {
        let rules = |lingering, kills_processes| LoginRules { lingering, kills_processes };
        let level = |rules, unit| lingering(rules, unit).status;
        assert_eq!(level(rules(true, true), None), Level::Ok);
        assert_eq!(level(rules(false, false), None), Level::Warning);
        assert_eq!(level(rules(false, false), Some("session-3.scope")), Level::Ok);
        assert_eq!(level(rules(false, true), Some("session-3.scope")), Level::Warning);
        assert_eq!(scope("switchboard-7.scope").status, Level::Ok);
        assert_eq!(scope("vte-spawn-1.scope").status, Level::Warning);
    }

    #[test]
    fn directories_of_others_are_problems() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(unusable(&file.join("below")).unwrap().ends_with("is not a directory"));
        assert_eq!(unusable(&dir.path().join("a/b/c")), None, "it can be created");
        symlink(dir.path(), dir.path().join("link")).unwrap();
        assert!(too_open(&dir.path().join("link")).unwrap().contains("symbolic link"));
        assert_eq!(too_open(dir.path()), None);
    }
}
