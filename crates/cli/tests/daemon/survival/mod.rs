//! What survives what: deaths, stops and replacements of daemon and keeper under running sessions.

use crate::support::view;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use swb_testkit::{CoopClient, Swb, children, wait_for};

mod death;
mod files;
mod hang;
mod keeper;
mod login;
mod poison;
mod stop;
mod upgrade;

fn swb() -> Swb {
    Swb::start(env!("CARGO_BIN_EXE_swb"))
}

/// A script that prints numbered lines until [`stop_counting`], then how many, and ends with code 7.
const COUNTING: &str = "i=0; while [ ! -e stop-counting ]; do echo line $i; i=$((i+1)); sleep 0.01; done; \
                        echo end $i; exit 7";

fn stop_counting(swb: &Swb) {
    touch(swb, "stop-counting");
}

/// Makes a file in the directory the sessions run in.
fn touch(swb: &Swb, name: &str) {
    std::fs::write(swb.workspace("").join(name), "").expect("a file");
}

/// Insists that `output` is all that [`COUNTING`] printed, every byte once and in order.
#[track_caller]
fn assert_counted(output: &[u8]) {
    let text = String::from_utf8(output.to_vec()).expect("text");
    let count = text.trim_end().rsplit(' ').next().and_then(|count| count.parse::<u32>().ok());
    let count = count.unwrap_or_else(|| panic!("no count at the end of {text:?}"));
    let lines: String = (0..count).map(|line| format!("line {line}\r\n")).collect();
    // Not assert_eq: the difference is what matters, not all of both.
    let expected = format!("{lines}end {count}\r\n");
    let same = expected.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    let rest = |text: &str| text.chars().skip(same.saturating_sub(20)).take(60).collect::<String>();
    assert!(
        expected == text,
        "from byte {same} on there is {:?} instead of {:?}",
        rest(&text),
        rest(&expected)
    );
}

/// A connection that streams the output of a session from its first byte on.
#[track_caller]
fn from_the_start(swb: &Swb, session: &str) -> CoopClient {
    let mut client = swb.coop();
    let attached = client.ok(&json!({"cmd": "attach", "session": session, "resume": 0, "watch": true}));
    assert_eq!(attached["offset"], 0);
    client
}

/// All live sessions, by name.
fn listing(swb: &Swb) -> Vec<Value> {
    let list = swb.control().ok(&json!({"cmd": "ls", "details": true}));
    list["sessions"].as_array().expect("a list").clone()
}

/// Insists that everything about these sessions is what it was; output may have come, clients may have gone, and
/// more may be known of what an agent does.
#[track_caller]
fn assert_same_sessions(before: &[Value], after: &[Value]) {
    let stripped = |session: &Value| {
        let mut session = session.clone();
        for changing in ["offset", "clients", "local_clients", "agent"] {
            session[changing] = Value::Null;
        }
        session
    };
    let all = |list: &[Value]| list.iter().map(stripped).collect::<Vec<_>>();
    assert_eq!(all(before), all(after));
    for (before, after) in before.iter().zip(after) {
        let offset = |session: &Value| session["offset"].as_u64().expect("an offset");
        assert!(offset(before) <= offset(after), "output of {} is gone", before["name"]);
    }
}

/// Insists that the keeper has no process but the daemon and those of listed sessions.
#[track_caller]
fn assert_no_orphans(swb: &Swb) {
    wait_for("the keeper to have only processes of sessions", || {
        let status = swb.status();
        let mut known: Vec<i64> = listing(swb)
            .iter()
            .flat_map(|session| session["ptys"].as_array().expect("a list").clone())
            .filter_map(|pty| pty["pid"].as_i64())
            .collect();
        known.extend(status["daemon"]["pid"].as_i64());
        let keeper = status["keeper"]["pid"].as_i64().expect("a pid");
        children(keeper).iter().all(|child| known.contains(child)).then_some(())
    });
}

/// Makes sessions that end at once, so that the keeper is nearly always starting or reaping some child. The
/// daemon may go in the middle of it.
fn keep_busy(swb: &Swb, name: &str, stop: &AtomicBool) {
    let create = json!({"cmd": "create", "name": name, "workspace": "/", "argv": ["true"]});
    while !stop.load(Relaxed) {
        let Ok(mut client) = CoopClient::connect(&swb.paths().control_socket()) else {
            std::thread::park_timeout(Duration::from_millis(1));
            continue;
        };
        let _made = client.try_ask(&json!({"version": 1})).and_then(|_| client.try_ask(&create));
    }
}

/// Raises a flag when it is dropped.
struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Where the configuration is read from.
fn config_file(swb: &Swb) -> PathBuf {
    swb.paths().config_file()
}

/// Makes the configuration such that no daemon can start.
fn spoil_config(swb: &Swb) {
    let file = config_file(swb);
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(file, "nonsense = true\n").expect("a file");
}

fn mend_config(swb: &Swb) {
    std::fs::remove_file(config_file(swb)).expect("the file is there");
}
