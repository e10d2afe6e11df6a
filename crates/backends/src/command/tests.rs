//! The guard itself is tested with the whole program; here a script stands in for it.

use super::process::GuardHost;
use super::*;
use crate::Confinement;
use crate::config::ConfinementConfig;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

/// More than the output of the commands here.
const OUTPUT: usize = 128 << 10;

struct Rig {
    dir: TempDir,
    exe: PathBuf,
    env: BTreeMap<String, String>,
}

/// A script in place of our executable that runs the guarded program directly.
fn rig() -> Rig {
    rig_with("exec \"$@\"")
}

/// The same with another way to run the program.
fn rig_with(how: &str) -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let exe = dir.path().join("guard");
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do [ \"$1\" != --directory ] || cd \"$2\"; shift; done; shift; {how}\n"
    );
    std::fs::write(&exe, script).unwrap();
    std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
    Rig { dir, exe, env }
}

impl Rig {
    fn start(&self, command: &str, limit: usize) -> (RunningCommand, mpsc::Receiver<String>) {
        self.launch(Launch::shell(command, self.dir.path()), limit)
    }

    fn confinement(&self) -> Confinement {
        Confinement::new(ConfinementConfig::default(), self.exe.clone(), &TaskTracker::new())
    }

    fn launch(&self, launch: Launch, limit: usize) -> (RunningCommand, mpsc::Receiver<String>) {
        let (follow, followed) = mpsc::channel(4);
        let confinement = self.confinement();
        let host = GuardHost { exe: &self.exe, env: &self.env, umask: 0o22, confinement: &confinement };
        let (guarded, output) = launch.start(&host).unwrap();
        (
            RunningCommand {
                guarded,
                output,
                follow: Some(follow),
                kept: BoundedOutput::new(limit / 2, limit / 2),
            },
            followed,
        )
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[tokio::test]
async fn both_outputs_come_in_order_and_as_they_are_written() {
    let rig = rig();
    let (run, mut followed) =
        rig.start("echo one; echo two >&2; read x || echo no input; echo é; exit 3", OUTPUT);
    let gather = async {
        let mut all = String::new();
        while let Some(text) = followed.recv().await {
            all.push_str(&text);
        }
        all
    };
    let never = CancellationToken::new();
    let (result, all) = tokio::join!(run.finish(soon(), &never), gather);
    let result = result.unwrap();
    assert_eq!(result.output, "one\ntwo\nno input\né\n");
    assert_eq!(all, result.output);
    assert_eq!((result.status, result.timed_out, result.stopped), (Some(3), false, false));
}

#[tokio::test]
async fn output_is_bounded_without_a_follower() {
    let rig = rig();
    let (run, followed) = rig.start("head -c 3000000 /dev/zero | tr '\\0' x; echo end", 1000);
    drop(followed);
    let result = run.finish(soon(), &CancellationToken::new()).await.unwrap();
    assert!(
        result.output.contains("bytes left out") && result.output.len() < 1100,
        "{}",
        result.output.len()
    );
    assert!(result.output.starts_with("xxx") && result.output.ends_with("xend\n"));
}

#[tokio::test]
async fn a_command_times_out_while_its_output_is_not_read() {
    let rig = rig();
    let (run, _followed) = rig.start("exec yes", OUTPUT);
    let (end, never) = (Instant::now() + Duration::from_millis(300), CancellationToken::new());
    let result = tokio::time::timeout(Duration::from_secs(30), run.finish(end, &never)).await;
    let result = result.unwrap().unwrap();
    assert!(result.timed_out && !result.stopped);
}

#[tokio::test]
async fn cancelling_kills_the_command_at_once() {
    let rig = rig();
    let (run, mut followed) = rig.start("echo begun; exec sleep 1000", OUTPUT);
    let stop = CancellationToken::new();
    let stopping = async {
        assert_eq!(followed.recv().await.as_deref(), Some("begun\n"));
        stop.cancel();
        Instant::now()
    };
    let (result, stopped_at) = tokio::join!(run.finish(soon(), &stop), stopping);
    println!("stopped in {:?}", stopped_at.elapsed());
    assert!(stopped_at.elapsed() < Duration::from_secs(2));
    let result = result.unwrap();
    assert!(result.stopped && result.output == "begun\n", "{result:?}");
}

#[tokio::test]
async fn confined_commands_get_listed_variables_only() {
    let mut rig = rig();
    rig.env.extend([("SECRET".to_owned(), "key".to_owned()), ("LANG".to_owned(), "word".to_owned())]);
    let launch = || Launch::shell("echo $SECRET $LANG", rig.dir.path());
    let workspace = swb_chat::Workspace::new(rig.dir.path(), swb_types::Timestamp(0));
    let confined = launch().confined(&workspace, Vec::new(), &rig.confinement()).await.unwrap();
    for (launch, said) in [(confined, "word\n"), (launch(), "key word\n")] {
        let (run, _followed) = rig.launch(launch, OUTPUT);
        assert_eq!(run.finish(soon(), &CancellationToken::new()).await.unwrap().output, said);
    }
}

/// Runs a command that prints a line and then a process id, and stops it; the process must be gone then.
async fn is_ended(rig: &Rig, command: &str) {
    let (run, mut followed) = rig.start(command, OUTPUT);
    let stop = CancellationToken::new();
    let stopping = async {
        let mut said = String::new();
        while !said.ends_with('\n') {
            said.push_str(&followed.recv().await.unwrap());
        }
        stop.cancel();
        said.trim().to_owned()
    };
    let (result, pid) = tokio::join!(run.finish(soon(), &stop), stopping);
    assert!(result.unwrap().stopped);
    let process = PathBuf::from(format!("/proc/{pid}"));
    let until = Instant::now() + Duration::from_secs(30);
    while std::fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < until, "{pid} lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_guard_that_ignores_signals_is_ended() {
    // It ignores signals, and its program runs in a session of its own.
    let deaf = rig_with("trap '' TERM HUP; setsid \"$@\" & wait; wait");
    is_ended(&deaf, "trap '' TERM HUP; echo $$; while :; do sleep 1000; done").await;
    // It ignores them even when everything below it is gone.
    let stubborn = rig_with("trap '' TERM HUP; echo $$; while :; do sleep 1000; done");
    is_ended(&stubborn, "").await;
}

#[tokio::test]
async fn a_guard_stopped_by_its_program_is_ended() {
    let rig = rig_with("\"$@\" & wait; wait");
    is_ended(&rig, "kill -STOP $PPID; echo $$; trap '' TERM; while :; do kill -STOP $PPID; done").await;
}
