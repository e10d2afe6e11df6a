//! Runs the user's command for a notification, which it gets as JSON on standard input. Nothing of it is part of the
//! command line.

use crate::limits;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use swb_wire::control::NotificationItem;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// Runs a program with another file mode creation mask than the daemon's own.
const MASKED: &str = "umask \"$1\" && shift && exec \"$@\"";
/// Secrets in the daemon's environment that the command has no use for.
const SECRETS: [&str; 1] = ["SCRIPTSCHNELL_SOCKET_TOKEN"];

/// A program with its arguments.
#[derive(Debug)]
pub(super) struct UserCommand {
    argv: Vec<String>,
    env: BTreeMap<String, String>,
    umask: u32,
    limit: Duration,
}

impl UserCommand {
    pub(super) fn new(argv: Vec<String>, mut env: BTreeMap<String, String>, umask: u32) -> Self {
        env.retain(|key, _| !SECRETS.contains(&key.as_str()));
        Self { argv, env, umask, limit: limits::NOTIFY_COMMAND }
    }

    /// Runs it to its end; it is killed with everything in its process group if it takes too long.
    pub(super) async fn run(&self, item: &NotificationItem) -> Result<(), String> {
        let mut json = serde_json::to_vec(item).map_err(|error| error.to_string())?;
        json.push(b'\n');
        let mut command = Command::new("/bin/sh");
        command.args(["-c", MASKED, "sh", &format!("{:04o}", self.umask & 0o777)]).args(&self.argv);
        command.env_clear().envs(&self.env).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.process_group(0).kill_on_drop(true).spawn();
        let mut child = child.map_err(|error| format!("cannot start it: {error}"))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        match tokio::time::timeout(self.limit, feed(&mut child, &json)).await {
            Ok(Ok(status)) => outcome(status),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => {
                if let Some(group) = group {
                    // It may have exited at this moment.
                    let _killed = kill_process_group(group, Signal::KILL);
                }
                // Reaps it; a killed process ends at once, or waits for a dead disk.
                let _ended = tokio::time::timeout(self.limit, child.wait()).await;
                Err(format!("it took longer than {} s and was killed", self.limit.as_secs_f32()))
            }
        }
    }
}

async fn feed(child: &mut Child, json: &[u8]) -> std::io::Result<ExitStatus> {
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read it fails by its exit code, if at all.
        let _written = stdin.write_all(json).await;
    }
    child.wait().await
}

fn outcome(status: ExitStatus) -> Result<(), String> {
    match status.code() {
        Some(0) => Ok(()),
        Some(127) => Err("exit code 127: the program was not found".to_owned()),
        Some(code) => Err(format!("exit code {code}")),
        None => Err("a signal ended it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::control::{EventBody, EventItem, NotificationKind};

    fn item(text: &str) -> NotificationItem {
        let event =
            EventItem { cursor: "1-1".into(), at: 5, session: Some("api".into()), what: EventBody::Closed };
        NotificationItem {
            event,
            notification: NotificationKind::Ended,
            text: text.to_owned(),
            count: 1,
            seconds: None,
            machine: "m".into(),
        }
    }

    fn command(argv: &[&str], env: &[(&str, &str)]) -> UserCommand {
        let env = env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        UserCommand::new(argv.iter().map(|word| (*word).to_owned()).collect(), env, 0o22)
    }

    #[tokio::test]
    async fn the_command_gets_the_notification_and_a_plain_environment() {
        let dir = tempfile::tempdir().unwrap();
        let script = format!(
            "cd '{}' && cat > got && env > env && printf '%s\\n' \"$@\" > args",
            dir.path().display()
        );
        let secret = ("SCRIPTSCHNELL_SOCKET_TOKEN", "s");
        let path = ("PATH", "/usr/bin:/bin");
        let run = command(&["sh", "-c", &script, "sh", "$(touch evil)"], &[secret, path, ("OWN", "1")]);
        run.run(&item("a `touch evil` \u{1b}]0;x")).await.unwrap();
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        let got: NotificationItem = serde_json::from_str(&read("got")).unwrap();
        assert_eq!(got, item("a `touch evil` \u{1b}]0;x"));
        assert!(
            read("got").ends_with("}\n") && read("got").contains("\"event\":\"closed\""),
            "{}",
            read("got")
        );
        assert!(read("env").contains("OWN=1") && !read("env").contains("SCRIPTSCHNELL"));
        assert_eq!(read("args"), "$(touch evil)\n");
        assert!(!dir.path().join("evil").exists());
        let mode = std::os::unix::fs::MetadataExt::mode(&dir.path().join("got").metadata().unwrap());
        assert_eq!(mode & 0o777, 0o644);
    }

    #[tokio::test]
    async fn failures_are_explained() {
        let path = [("PATH", "/usr/bin:/bin")];
        let failed = command(&["sh", "-c", "exit 3"], &path).run(&item("t")).await;
        assert_eq!(failed, Err("exit code 3".to_owned()));
        let missing = command(&["/nowhere/program"], &path).run(&item("t")).await;
        assert!(missing.unwrap_err().contains("not found"));
        assert_eq!(command(&["true"], &path).run(&item("t")).await, Ok(()), "it need not read");
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_killed_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        // Both hold the FIFO open; reading it to its end shows that both are gone.
        let script = format!("exec 3> '{}'; sleep 600 & sleep 600", fifo.display());
        let mut hangs = command(&["sh", "-c", &script], &[("PATH", "/usr/bin:/bin")]);
        hangs.limit = Duration::from_millis(500);
        let reader = std::thread::spawn(move || std::fs::read(fifo).unwrap());
        let error = hangs.run(&item("t")).await.unwrap_err();
        assert!(error.contains("killed"), "{error}");
        assert!(reader.join().unwrap().is_empty());
    }
}
