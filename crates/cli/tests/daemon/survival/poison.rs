//! The daemon dies at each start, of something that an earlier one left.

use super::*;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::fs::File;
use swb_testkit::is_alive;

/// Bytes of address space that a daemon gets: enough for what it does, too little to read [`POISON`].
const MEMORY: u64 = 320 << 20;
/// Bytes of the journal of conversations: as many as a daemon tries to read.
const POISON: u64 = 250 << 20;

/// A descriptor of the keeper, by the name of its memory.
fn held(keeper: i64, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(format!("/proc/{keeper}/fd")).ok()?;
    let is_it =
        |path: &PathBuf| std::fs::read_link(path).is_ok_and(|link| link.to_string_lossy().contains(name));
    entries.flatten().map(|entry| entry.path()).find(is_it)
}

#[test]
fn a_daemon_that_dies_of_a_journal_is_replaced_by_one_without_it() {
    let swb = swb();
    let pid = swb.script("one", "stty raw -echo; echo ready; exec cat");
    from_the_start(&swb, "one").until("ready");
    let (keeper, before) = (swb.keeper_pid(), listing(&swb));
    let journal = held(keeper, "swb-chats").expect("a journal of conversations");
    File::options()
        .write(true)
        .open(&journal)
        .and_then(|file| file.set_len(POISON))
        .expect("a poisoned journal");
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    prlimit(Pid::from_raw(keeper as i32), Resource::As, limit).expect("a limit for the next daemons");

    swb.kill_daemon();
    assert_same_sessions(&before, &listing(&swb));
    assert!(is_alive(pid));
    let status = swb.status();
    let deaths = status["daemon"]["restarts"].as_i64().expect("a number") - 1;
    assert_eq!(deaths, 3, "it was tried a few times");
    let reported = |status: &Value| {
        let warnings = status["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
        warnings.filter(|warning| warning.contains("left out the conversations")).count()
    };
    assert_eq!(reported(&status), 1, "{status}");
    assert!(swb.log().contains("left out the conversations"));
    let mut client = swb.attach("one");
    client.type_in(b"goes on");
    client.until("goes on");

    // It is kept, and no daemon reads it again.
    swb.kill_daemon();
    assert_eq!(swb.status()["daemon"]["restarts"], deaths + 2);
    assert_eq!(reported(&swb.status()), 1);
    let kept = std::fs::read_dir(format!("/proc/{keeper}/fd")).expect("a list").flatten();
    let kept = kept.filter(|entry| std::fs::metadata(entry.path()).is_ok_and(|data| data.len() == POISON));
    assert_eq!(kept.count(), 1);
}
