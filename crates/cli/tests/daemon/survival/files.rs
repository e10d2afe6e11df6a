//! Descriptors run out: new sessions are refused while there is still room for everything else.

use super::*;
use swb_testkit::is_alive;

/// The limit of open files of daemon and keeper.
const LIMIT: u32 = 160;

#[test]
fn sessions_are_refused_before_descriptors_run_out() {
    let mut swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    let limited = swb.shell(&format!("ulimit -n {LIMIT}; exec \"$SWB\" daemon"));
    swb.start_daemon_with(|command| *command = limited);
    let mut names = Vec::new();
    let refusal = loop {
        let name = format!("s{}", names.len());
        let run = swb.run(&["run", "-d", "-n", &name, "--", "cat"]);
        if !run.status.success() {
            break String::from_utf8_lossy(&run.stderr).into_owned();
        }
        names.push(name);
        assert!(names.len() < LIMIT as usize, "no limit was met");
    };
    assert!(names.len() >= 8, "only {} sessions fit", names.len());
    for part in ["RLIMIT_NOFILE", &LIMIT.to_string(), "ulimit -Hn", "LimitNOFILE="] {
        assert!(refusal.contains(part), "{part} is missing in {refusal:?}");
    }

    let before = listing(&swb);
    for _ in 0..3 {
        swb.kill_daemon();
        assert_same_sessions(&before, &listing(&swb));
    }
    assert_eq!(before.len(), names.len());
    // All of them can be used, one after the other: terminals that are open at once need descriptors, too.
    for name in &names {
        let mut client = swb.attach(name);
        client.type_in(format!("{name}\n").as_bytes());
        client.until(name);
    }
    swb.ok(&["send", &names[0], "hello", "--enter"]);
    swb.ok(&["wait", &names[0], "--text", "hello"]);
    for session in &before {
        swb.ok(&["kill", session["name"].as_str().expect("a name")]);
        let pid = session["pid"].as_i64().expect("a pid");
        wait_for("the child's end", || (!is_alive(pid)).then_some(()));
    }
    // What has ended and is only remembered makes room for what is new.
    for number in 0..2 * names.len() {
        swb.ok(&["run", "-n", &format!("short{number}"), "--", "true"]);
    }
}
