//! A list in which nothing changes costs nothing, and a key is answered at once.

use crate::stage::{EXE, Stage, agent};
use std::time::{Duration, Instant};
use swb_testkit::{LIMIT, QUIET, Swb, stays};

/// How long a key may take until its effect is shown.
const REACTION: Duration = Duration::from_millis(50);

/// How often a process has slept and was woken.
fn wakeups(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

/// Processor time that a process has used.
fn processor_time(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of_task = |task: std::path::PathBuf| {
        let times = std::fs::read_to_string(task.join("schedstat")).unwrap();
        times.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    Duration::from_nanos(tasks.map(|task| of_task(task.unwrap().path())).sum())
}

/// Waits until the last replies have arrived.
fn settle(stage: &mut Stage, pid: u32) {
    let end = Instant::now() + LIMIT;
    let mut before = wakeups(pid);
    loop {
        stage.terminal.shows("\u{0}", QUIET);
        let now = wakeups(pid);
        if now == before || Instant::now() > end {
            return;
        }
        before = now;
    }
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
    settle(&mut stage, pid);
    let before = wakeups(pid);
    for _ in 0..5 {
        // One tick of the clock and one look at what the programs print may fall into this time.
        stays("a sleeping list", || wakeups(pid) <= before + 9);
    }
    // It still reacts.
    stage.press("?");
    stage.until_text("select the next session that waits");
}

#[test]
fn five_hundred_sessions_cost_nothing_and_a_key_is_answered_at_once() {
    let swb = Swb::start(EXE);
    for at in 0..500 {
        swb.script(&format!("s{at:03}"), "exec sleep 600");
    }
    let mut stage = Stage::top(&swb, 120, 40);
    stage.until("everything", |screen| screen.contains("500 sessions") && screen.contains("s000"));
    let pid = stage.terminal.child().id();
    settle(&mut stage, pid);
    let (began, used) = (Instant::now(), processor_time(pid));
    for _ in 0..30 {
        stays("a list that costs little", || processor_time(pid) - used < Duration::from_millis(100));
    }
    let share = (processor_time(pid) - used).as_secs_f64() / began.elapsed().as_secs_f64();
    assert!(share < 0.01, "{share}");
    // On a machine that does other things, too, some key finds it idle.
    let reaction = (0..20).map(|_| {
        stage.terminal.forget();
        let pressed = Instant::now();
        stage.press("j");
        assert!(stage.terminal.shows("\x1b[?2026l", LIMIT), "a key is answered");
        pressed.elapsed()
    });
    let fastest = reaction.min().unwrap();
    assert!(fastest < REACTION, "{fastest:?}");
}
