//! Inspects processes, sends them signals and waits for their end.

use crate::LIMIT;
use rustix::process::{Pid, Signal};
use std::path::Path;
use std::process::{Child, Output};
use std::sync::mpsc::sync_channel;

/// Whether a process exists and is not a zombie. It counts as alive while one of its threads is: until then its
/// sockets are open.
pub fn is_alive(pid: i64) -> bool {
    let ended = |stat: &str| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']));
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut stats = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    stats.any(|stat| !ended(&stat))
}

/// Whether a process has ended and was not reaped.
pub fn is_zombie(pid: i64) -> bool {
    stat(pid).is_some_and(|(state, _)| state == 'Z')
}

/// The processes whose parent is `pid`.
pub fn children(pid: i64) -> Vec<i64> {
    all().filter(|child| stat(*child).is_some_and(|(_, parent)| parent == pid)).collect()
}

/// The keepers whose socket is below `dir`.
pub fn keepers_in(dir: &Path) -> Vec<i64> {
    let is_keeper = |pid: &i64| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        words.any(|word| word == "--socket")
            && words.next().is_some_and(|socket| Path::new(&socket).starts_with(dir))
    };
    all().filter(is_keeper).filter(|pid| is_alive(*pid)).collect()
}

/// Sends a process a signal, if it still exists.
pub fn signal(pid: i64, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _sent = rustix::process::kill_process(pid, signal);
    }
}

/// Reads a program's pipes to their end and waits for the program, within the time limit.
#[track_caller]
pub fn in_time(child: Child) -> Output {
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    receiver.recv_timeout(LIMIT).expect("its end in time").expect("its output")
}

fn all() -> impl Iterator<Item = i64> {
    let entries = std::fs::read_dir("/proc").expect("a list of processes");
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// State and parent of a process.
fn stat(pid: i64) -> Option<(char, i64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // pid (name) state ppid …; the name may contain anything, so start after its end.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
