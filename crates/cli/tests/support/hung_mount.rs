//! A mount that never responds, like that of a file server that is gone.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Mounts a FUSE file system and serves none of its requests.
const SERVER: &str = "exec 9<>/dev/fuse &&
    mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hung \"$0\" &&
    echo mounted && exec sleep 1000";

/// Such a mount, until it is dropped. Every access to a path below it hangs.
#[derive(Debug)]
pub(crate) struct HungMount {
    dir: PathBuf,
    server: Child,
}

impl HungMount {
    /// Mounts it at a new directory.
    #[track_caller]
    pub(crate) fn new(dir: &Path) -> Self {
        std::fs::create_dir(dir).expect("a directory");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SERVER]).arg(dir).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("a shell");
        let mut line = String::new();
        BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let mount = Self { dir: dir.to_owned(), server };
        assert_eq!(line, "mounted\n", "cannot mount {}", dir.display());
        mount
    }

    /// A path below it.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.join("x")
    }
}

impl Drop for HungMount {
    fn drop(&mut self) {
        // Without its server, everything that hangs fails.
        let _ended = (self.server.kill(), self.server.wait());
        let _unmounted = Command::new("umount").arg("-l").arg(&self.dir).stderr(Stdio::null()).status();
    }
}
