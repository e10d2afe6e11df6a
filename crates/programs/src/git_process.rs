//! Runs `git` with limits on its time and output. A repository can name programs that git runs; here it runs none of them.

use crate::limits;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Output, Stdio};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

/// Runs git with another file mode creation mask than the daemon's own.
const MASKED: &str = "umask \"$1\" && shift && exec git \"$@\"";
/// Settings under which git runs no program that a repository names: no hooks, no file system monitor, no pager, no
/// external diff, and nothing that fetches objects.
const INERT: [(&str, &str); 7] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("diff.external", ""),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("credential.helper", ""),
];
/// Settings that turn off a filter.
const FILTER_OFF: [(&str, &str); 4] = [("smudge", ""), ("clean", ""), ("process", ""), ("required", "false")];
/// Variables that would make git use another repository than that of the directory, or another configuration.
pub(crate) const FOREIGN: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_CONFIG"];

/// `git` in a directory, made to run nothing that the repository names, these filters included.
pub(crate) fn git(repository: &Path, umask: u32, filters: &BTreeSet<OsString>) -> Command {
    let mut command = Command::new("/bin/sh");
    // Git enters the directory itself: a child of ours that cannot would keep us waiting for its start.
    command
        .args(["-c", MASKED, "sh", &format!("{:04o}", umask & 0o777), "-C"])
        .arg(repository)
        .current_dir("/");
    command
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("LC_ALL", "C");
    // Variables, because the name of a filter may contain anything, even an equals sign.
    let inert = INERT.iter().map(|(key, value)| (OsString::from(key), *value));
    let off = filters.iter().flat_map(|name| {
        FILTER_OFF.iter().map(move |(key, value)| {
            let parts = ["filter.".as_ref(), name.as_os_str(), ".".as_ref(), key.as_ref()];
            (parts.into_iter().collect::<OsString>(), *value)
        })
    });
    let settings: Vec<(OsString, &str)> = inert.chain(off).collect();
    command.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (number, (key, value)) in settings.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{number}"), key).env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    for variable in FOREIGN {
        command.env_remove(variable);
    }
    command
}

/// The filters for contents of files that the repository defines. Those of the user are not among them: the user has
/// installed them.
pub(crate) async fn filters_of(tree: &Path, umask: u32) -> Result<BTreeSet<OsString>, String> {
    let mut command = git(tree, umask, &BTreeSet::new());
    command.args(["config", "--null", "--show-scope", "--name-only", "--get-regexp", "^filter\\."]);
    let output = finished(command).await?;
    match output.status.code() {
        // 1: there are none.
        Some(0 | 1) => Ok(filters_in(&output.stdout)),
        _ => Err(complaint(&output.stderr)),
    }
}

/// The names of filters in pairs of a scope and a key, each with a NUL at its end. Names may be no text.
fn filters_in(listed: &[u8]) -> BTreeSet<OsString> {
    let texts: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let own = texts.chunks_exact(2).filter(|entry| matches!(entry[0], b"local" | b"worktree"));
    own.filter_map(|entry| {
        let key = entry[1].strip_prefix(b"filter.")?;
        let dot = key.iter().rposition(|byte| *byte == b'.')?;
        Some(OsStr::from_bytes(key.get(..dot)?).to_owned())
    })
    .collect()
}

/// Waits for a command that has to succeed.
pub(crate) async fn succeeded(command: Command) -> Result<(), String> {
    let output = finished(command).await?;
    if output.status.success() { Ok(()) } else { Err(complaint(&output.stderr)) }
}

/// Waits for a command that reads no input; kills it and everything it started if it takes too long or writes too much.
async fn finished(mut command: Command) -> Result<Output, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.process_group(0).kill_on_drop(true).spawn();
    let child = child.map_err(|error| format!("cannot start git: {error}"))?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let result = match tokio::time::timeout(limits::GIT, output_of(child)).await {
        Ok(output) => output.map_err(|error| format!("cannot read the output of git: {error}")),
        Err(_) => Err(format!("git did not finish within {} seconds", limits::GIT.as_secs())),
    };
    if let (Err(_), Some(group)) = (&result, group) {
        // It may have exited at this moment.
        let _killed = kill_process_group(group, Signal::KILL);
    }
    result
}

/// The output of a process and its exit status; an error if it writes more than [`limits::GIT_OUTPUT`].
async fn output_of(mut child: Child) -> io::Result<Output> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr, status) = tokio::try_join!(limited(stdout), limited(stderr), child.wait())?;
    Ok(Output { status, stdout, stderr })
}

async fn limited(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(limits::GIT_OUTPUT + 1).read_to_end(&mut bytes).await?;
    }
    match bytes.len() as u64 > limits::GIT_OUTPUT {
        true => Err(io::Error::other(format!("it is longer than {} bytes", limits::GIT_OUTPUT))),
        false => Ok(bytes),
    }
}

/// The error message in git's output.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line =
        text.lines().rev().find_map(|line| line.strip_prefix("fatal: ").or(line.strip_prefix("error: ")));
    let line =
        line.or(text.lines().last()).filter(|line| !line.is_empty()).unwrap_or("failed without a message");
    format!("git: {}", line.chars().take(limits::GIT_ERROR).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_filters_of_the_repository_are_turned_off() {
        let listed = b"global\0filter.lfs.smudge\0local\0filter.a.b=c.smudge\0worktree\0filter.c.process\0";
        assert_eq!(filters_in(listed), ["a.b=c".into(), "c".into()].into());
        let listed = b"local\0filter.\xff\xfe.smudge\0";
        assert_eq!(filters_in(listed), [OsStr::from_bytes(b"\xff\xfe").to_owned()].into());
        assert_eq!(filters_in(b""), BTreeSet::new());
    }
}
