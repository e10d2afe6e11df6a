//! Records where this daemon's sockets are, for commands whose environment does not name the place.

use crate::limits;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use swb_types::Paths;

/// Writes the record. A state directory that does not respond delays the start for a moment only.
pub(crate) async fn write(paths: &Paths) {
    let paths = paths.clone();
    let written = tokio::task::spawn_blocking(move || write_now(&paths));
    match tokio::time::timeout(limits::PLACE_RECORD, written).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => tracing::warn!(%error, "cannot record where the daemon's sockets are"),
        Ok(Err(_)) | Err(_) => tracing::warn!("timed out recording where the daemon's sockets are"),
    }
}

fn write_now(paths: &Paths) -> io::Result<()> {
    let dir = paths.runtime.as_ref().map_or("", |dir| dir.to_str().unwrap_or_default());
    if dir.is_empty() != paths.runtime.is_none() || dir.contains('\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the runtime directory is not plain text"));
    }
    swb_dialects::private_socket::private_dir(&paths.state_dir()).map_err(io::Error::other)?;
    // Readers see the old record or the new one.
    let (path, new) = (paths.place_record(), paths.place_record().with_extension("new"));
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(format!("{dir}\n").as_bytes())?;
    fs::rename(&new, &path)
}

#[cfg(test)]
mod tests {
    use super::*;
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
            write_now(&paths).unwrap();
            let text = fs::read_to_string(paths.place_record()).unwrap();
            assert_eq!(text, format!("{}\n", runtime.unwrap_or_default()));
            let mode = fs::metadata(paths.place_record()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
