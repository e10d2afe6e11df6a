//! The memory of screens without clients.

use super::{EXE, script};
use std::path::Path;
use std::time::{Duration, Instant};
use swb_testkit::{LIMIT, ScreenClient, Swb};

const SESSIONS: u64 = 8;
/// What a session may cost that has written a lot and is quiet: its ring, and its screen put away; 1.4 MiB.
const EACH: u64 = (14 << 20) / 10;
/// More than the ring holds, so that all of it is in use.
const WRITES: &str = "stty -echo; i=0; while [ $i -lt 45 ]; do yes 'some text that fills most of a line, and \
                      then some more of it' | head -n 1500; i=$((i+1)); done; printf ready; exec cat";

/// Memory of daemon and keeper together, shared memory counted once.
fn memory(swb: &Swb) -> u64 {
    let pss = |pid: i64| {
        let file = Path::new("/proc").join(pid.to_string()).join("smaps_rollup");
        let rollup = std::fs::read_to_string(file).unwrap();
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap().to_owned();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
    };
    pss(swb.daemon_pid()) + pss(swb.keeper_pid())
}

#[test]
fn a_quiet_session_costs_its_ring_and_little_more() {
    let swb = Swb::start(EXE);
    let idle = memory(&swb);
    let names: Vec<String> = (0..SESSIONS).map(|n| format!("s{n}")).collect();
    for name in &names {
        script(&swb, name, WRITES);
    }
    for name in &names {
        super::wait_for_text(&swb, name, "ready");
        assert!(super::head(&swb, name) > 4 << 20);
        let mut late = ScreenClient::attach(&swb, name);
        late.until_text("ready");
        late.detach();
    }
    let mut each = u64::MAX;
    let end = Instant::now() + LIMIT;
    while each > EACH {
        assert!(Instant::now() < end, "each session still costs {} KiB", each >> 10);
        std::thread::park_timeout(Duration::from_millis(50));
        each = memory(&swb).saturating_sub(idle) / SESSIONS;
    }
    println!("each session costs {} KiB", each >> 10);
}
