//! A list in which nothing changes costs nothing.

use crate::stage::{EXE, Stage, agent};
use std::time::{Duration, Instant};
use swb_testkit::{QUIET, Swb, stays};

/// How often a process has slept and was woken.
fn wakeups(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn nothing_wakes_the_list_while_nothing_changes() {
    let swb = Swb::start(EXE);
    for at in 0..30 {
        swb.script(&format!("s{at}"), "exec sleep 600");
    }
    agent(&swb, "main");
    let mut stage = Stage::top(&swb, 120, 40);
    stage.until("everything", |screen| screen.contains("31 sessions") && screen.contains("s0"));
    let pid = stage.terminal.child().id();
    // Until the last replies have arrived.
    let mut before = wakeups(pid);
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        stage.terminal.shows("\u{0}", QUIET);
        let now = wakeups(pid);
        if now == before || Instant::now() > end {
            break;
        }
        before = now;
    }
    let before = wakeups(pid);
    for _ in 0..5 {
        // One tick of the clock may fall into this time.
        stays("a sleeping list", || wakeups(pid) <= before + 3);
    }
    // It still reacts.
    stage.press("?");
    stage.until_text("select the next session that waits");
}
