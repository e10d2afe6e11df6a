//! Records where this daemon's sockets are, for commands whose environment does not name the place.

use crate::limits;
use std::io;
use std::path::Path;
use swb_engine::file_access;
use swb_types::Paths;

/// Writes the record. A state directory that does not respond delays the start for a moment only.
pub(crate) async fn write(paths: &Paths) {
    let own = paths.clone();
    let work = move |record: &Path| write_now(&own, record);
    let written = file_access::run_within(limits::PLACE_RECORD, &paths.place_record(), work).await;
    if let Err(error) = written.map_err(io::Error::from).and_then(|written| written) {
        tracing::warn!(%error, "cannot record where the daemon's sockets are");
    }
}

#[allow(clippy::disallowed_methods, reason = "on a thread of its own")]
fn write_now(paths: &Paths, record: &Path) -> io::Result<()> {
    let dir = paths.runtime.as_ref().map_or(Some(""), |dir| dir.to_str());
    let dir = dir.filter(|dir| !dir.contains('\n')).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the runtime directory's name is not plain text")
    })?;
    swb_dialects::private_socket::private_dir(&paths.state_dir()).map_err(io::Error::other)?;
    // Readers see the old record or the new one.
    let new = record.with_extension("new");
    file_access::write(&new, format!("{dir}\n").as_bytes())?;
    std::fs::rename(&new, record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_runtime_directory_is_recorded_for_its_user_only() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("h");
        fs::create_dir(&home).unwrap();
        for runtime in [Some("/run/user/1"), None] {
            let paths = Paths::from_env(|key| match key {
                "HOME" => Some(home.clone().into()),
                "XDG_RUNTIME_DIR" => runtime.map(Into::into),
                _ => None,
            });
            let paths = paths.unwrap();
            write_now(&paths, &paths.place_record()).unwrap();
            let text = fs::read_to_string(paths.place_record()).unwrap();
            assert_eq!(text, format!("{}\n", runtime.unwrap_or_default()));
            let mode = fs::metadata(paths.place_record()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
