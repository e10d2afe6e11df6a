//! The daemon is killed with SIGKILL at random moments, again and again, while sessions print and clients
//! are attached. Children never stall, no client misses or repeats a byte, and the daemon always comes back.
//!
//! A longer run: `SWB_CHAOS_SECONDS=600 cargo test -p swb --test daemon chaos -- --nocapture`; `SWB_CHAOS_SEED`
//! repeats the kills of an earlier one.

use crate::support::view;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use swb_testkit::{
    CoopClient, Follower, Frame, KeeptyClient, LIMIT, StreamItem, Swb, Terminal, children, is_alive, signal,
    wait_for,
};
use swb_wire::keepty::{KeeptyRole, Message};

/// Sessions, and how many lines each prints before it pauses for a moment.
const SESSIONS: [(&str, u32); 4] = [("one", 1), ("two", 2), ("three", 6), ("four", 12)];
/// What every line ends with, so that kills meet frames of some length.
const PAD: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// A child that paused for longer than this was stalled; a busy machine alone does not do that.
const STALL: Duration = Duration::from_secs(5);
/// The daemon is to be back within a second. That is printed; a busy machine is granted more.
const BACK: Duration = Duration::from_secs(10);

// XS-14
#[test]
fn no_output_is_lost_when_the_daemon_is_killed_repeatedly() {
    let seconds = number("SWB_CHAOS_SECONDS").unwrap_or(20);
    let seed = seed();
    let swb = Swb::start(env!("CARGO_BIN_EXE_swb"));
    let pids = SESSIONS.map(|(name, lines)| swb.script(name, &script(name, lines)));
    let stop = AtomicBool::new(false);

    let (back, gaps) = std::thread::scope(|scope| {
        // Also when this thread panics: the others would be waited for in vain.
        let flag = Raised(&stop);
        let mut looking = Vec::new();
        for (name, _) in SESSIONS {
            for _ in 0..2 {
                looking.push(scope.spawn(|| follow(&swb, name, &stop)));
            }
            looking.push(scope.spawn(|| attach(&swb, name, &stop)));
        }
        let others = [scope.spawn(|| monitor(&swb, "three", &stop)), scope.spawn(|| list(&swb, &stop))];
        let broken = || {
            looking.iter().any(|thread| thread.is_finished())
                || others.iter().any(|thread| thread.is_finished())
        };
        let back = kill_again_and_again(&swb, Duration::from_secs(seconds), seed, broken);
        assert!(pids.into_iter().all(is_alive), "the children are those of the beginning");
        std::fs::write(swb.workspace("").join("stop"), "").expect("a file");
        let gaps: Vec<Duration> =
            looking.into_iter().map(|thread| thread.join().expect("a whole stream")).collect();
        drop(flag);
        for thread in others {
            thread.join().expect("a client that goes on");
        }
        (back, gaps)
    });

    let (longest, worst) = (back.iter().max().expect("a kill"), gaps.iter().max().expect("a gap"));
    println!("{} kills; back after {:?} at the median, {longest:?} at the most", back.len(), median(&back));
    println!("longest pause of a child: {worst:?}");
    println!("times until the daemon was back: {back:?}");
    assert!(*longest < BACK, "it took {longest:?} until the daemon was back");
    assert!(*worst < STALL, "a child was stalled for {worst:?}");
}

// XS-14: what was under way when the daemon died is there as a whole afterwards, or not at all.
#[test]
fn nothing_is_left_behind_when_the_daemon_is_killed_repeatedly() {
    let seconds = number("SWB_CHAOS_SECONDS").map_or(8, |seconds| seconds / 2);
    let seed = seed();
    let swb = Swb::start(env!("CARGO_BIN_EXE_swb"));
    let (keeper, stop) = (swb.keeper_pid(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _flag = Raised(&stop);
        for worker in 1..=3 {
            let (swb, stop) = (&swb, &stop);
            scope.spawn(move || make_and_end(swb, worker, &mut Random(seed.wrapping_add(worker)), stop));
        }
        let (mut random, end) = (Random(seed), Instant::now() + Duration::from_secs(seconds));
        while Instant::now() < end {
            std::thread::park_timeout(Duration::from_millis(random.below(300)));
            signal(swb.daemon_pid(), Signal::KILL);
        }
    });
    assert_eq!(swb.keeper_pid(), keeper);
    // What was being ended may take its time.
    wait_for("processes, sessions and sockets to fit each other", || {
        let (processes, sockets) = what_there_is(&swb);
        let fit = processes == sorted(children(keeper)) && sockets == files(&swb.paths().keepty_dir());
        fit.then_some(())
    });
    for session in sessions(&swb).iter().filter(|session| session["status"] != "exited") {
        let name = session["name"].as_str().expect("a name");
        assert_eq!(session["pid"], swb.keepty(name, KeeptyRole::Monitor, 80, 24).ack().0);
        let mut client = swb.attach(name);
        client.type_in(b"still here\n");
        client.until("still here");
    }
}

/// The processes and keepty sockets there must be for what is listed: the daemon, and what lives.
fn what_there_is(swb: &Swb) -> (Vec<i64>, Vec<String>) {
    let (mut processes, mut sockets) = (vec![swb.daemon_pid()], Vec::new());
    for session in sessions(swb) {
        let ended = session["status"] == "exited";
        let ptys = session["ptys"].as_array().expect("a list").iter();
        // PTY 0 stays in the list when shells outlive it.
        processes.extend(ptys.filter(|pty| !ended || pty["id"] != 0).filter_map(|pty| pty["pid"].as_i64()));
        if !ended {
            sockets.push(format!("keepty-{}.sock", session["name"].as_str().expect("a name")));
        }
    }
    (sorted(processes), sorted(sockets))
}

fn sessions(swb: &Swb) -> Vec<Value> {
    let list = swb.control().ok(&json!({"cmd": "ls", "details": true}));
    list["sessions"].as_array().expect("a list").clone()
}

fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    sorted(entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect())
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

/// Makes sessions, opens shells in them and ends them again; the daemon may go in the middle of anything.
fn make_and_end(swb: &Swb, worker: u64, random: &mut Random, stop: &AtomicBool) {
    let mut number = 0;
    while !stop.load(Relaxed) {
        let name = format!("w{worker}-{}", number % 4);
        let message = match random.below(8) {
            0..3 => {
                number += 1;
                json!({"cmd": "create", "name": name, "workspace": "/", "argv": ["cat"]})
            }
            3 => json!({"cmd": "create", "name": name, "workspace": "/", "argv": ["cat"], "start": "writer"}),
            4 => json!({"cmd": "shell", "session": name, "command": "cat"}),
            5 => json!({"cmd": "sessionkill", "session": name, "pty": random.below(3)}),
            6 => json!({"cmd": "kill", "session": name, "force": random.below(2) == 0}),
            _ => json!({"cmd": "create", "name": name, "workspace": "/", "argv": ["true"]}),
        };
        if let Ok(mut client) = CoopClient::connect(&swb.paths().control_socket()) {
            let _answer = client.try_ask(&json!({"version": 1})).and_then(|_| client.try_ask(&message));
        }
    }
}

/// Kills the daemon at random moments until `time` is over; gives how long each took to be replaced.
fn kill_again_and_again(swb: &Swb, time: Duration, seed: u64, broken: impl Fn() -> bool) -> Vec<Duration> {
    let (keeper, end) = (swb.keeper_pid(), Instant::now() + time);
    let mut random = Random(seed);
    let mut back = Vec::new();
    while Instant::now() < end && !broken() {
        std::thread::park_timeout(Duration::from_millis(random.below(3000)));
        let daemon = swb.daemon_pid();
        let mut began = Instant::now();
        signal(daemon, Signal::KILL);
        let mut killed = vec![daemon];
        // Now and then the next one does not get far either.
        while random.below(3) == 0 {
            killed.extend(kill_next(keeper, &killed, Duration::from_micros(random.below(20_000))));
            began = Instant::now();
        }
        let status = loop {
            match swb.try_status() {
                Some(status) if !killed.contains(&status["daemon"]["pid"].as_i64().expect("a pid")) => {
                    break status;
                }
                _ => assert!(began.elapsed() < LIMIT, "the daemon does not come back"),
            }
        };
        back.push(began.elapsed());
        assert_eq!(status["keeper"]["pid"], keeper);
        assert_eq!(status["sessions"], SESSIONS.len());
    }
    assert!(swb.status()["daemon"]["restarts"].as_u64() >= Some(back.len() as u64));
    back
}

/// Kills the daemon that the keeper starts next, a moment after that.
fn kill_next(keeper: i64, killed: &[i64], after: Duration) -> Option<i64> {
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        let is_daemon = |pid: &i64| {
            let line =
                std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).nth(1) == Some(b"daemon")
        };
        let next = children(keeper).into_iter().filter(|pid| !killed.contains(pid)).find(is_daemon);
        if let Some(next) = next {
            std::thread::park_timeout(after);
            signal(next, Signal::KILL);
            return Some(next);
        }
    }
    None
}

/// A client that resumes at its offset; gives the longest pause of the child, as that measured it.
fn follow(swb: &Swb, name: &str, stop: &AtomicBool) -> Duration {
    let mut follower = Follower::new(swb, name);
    let mut lines = Lines::new(name);
    while !stop.load(Relaxed) {
        match follower.item(Duration::from_secs(1)) {
            Some(StreamItem::Data(data)) => lines.take(&data),
            Some(StreamItem::Control(event)) => {
                assert_eq!((&event["event"], &event["code"]), (&"pty_exited".into(), &7.into()), "{name}");
                return lines.end.expect("the last line before the end");
            }
            Some(StreamItem::End) => unreachable!("it comes back"),
            None => {}
        }
    }
    panic!("{name} was left before its end, at line {:?}", lines.next);
}

/// A person with `swb attach`, who reads what leaves the screen at its top; gives the same.
fn attach(swb: &Swb, name: &str, stop: &AtomicBool) -> Duration {
    let mut terminal = Terminal::start(swb.command(&["attach", name]), 100, 30);
    let mut screen = view::screen(b"", 100, 30);
    let mut lines = Lines::new(name);
    while !stop.load(Relaxed) {
        let ended = terminal.child().try_wait().expect("a child");
        terminal.shows("\0", Duration::from_millis(50));
        // In small pieces, so that no line can pass unseen.
        for piece in terminal.seen().chunks(1024) {
            let before = screen.scrolled();
            screen.feed(piece);
            let new = (screen.scrolled() - before) as usize;
            screen.scrollback(new).iter().for_each(|line| lines.take_text(&line.text()));
        }
        terminal.forget();
        if let Some(status) = ended {
            assert_eq!(status.code(), Some(7), "swb attach {name} passes the code on");
            screen.row_texts().iter().for_each(|line| lines.take_text(line));
            return lines.end.expect("the last line before the end");
        }
    }
    panic!("the terminal on {name} was left before the end, at line {:?}", lines.next);
}

/// keepty clients come back without an offset: what each connection shows is without gap or repetition.
fn monitor(swb: &Swb, name: &str, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        // The socket of a session that has ended is gone.
        let Ok(mut client) = KeeptyClient::connect(&swb.paths().keepty_socket(name)) else {
            std::thread::park_timeout(Duration::from_millis(5));
            continue;
        };
        client.hello(KeeptyRole::Monitor, 80, 24);
        let mut lines = Lines::anywhere(name);
        while let Some(Frame::Message(message)) = client.frame(LIMIT) {
            if let Message::Output(data) = message {
                lines.take(&data);
            }
        }
    }
}

/// `swb ls` always has an answer.
fn list(swb: &Swb, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        let sessions = swb.json(&["ls"]);
        assert_eq!(sessions.as_array().map(Vec::len), Some(SESSIONS.len()), "{sessions}");
        std::thread::park_timeout(Duration::from_millis(100));
    }
}

/// What a session prints: numbered lines, a burst of them now and then, and in the end how many they were
/// and how long it had to wait at most. Its clock counts hundredths of a second.
fn script(name: &str, lines: u32) -> String {
    format!(
        "i=0; round=0; max=0; last=
        while [ ! -e stop ]; do
            read now rest < /proc/uptime; now=${{now%.*}}${{now#*.}}
            if [ -n \"$last\" ] && [ $((now - last)) -gt $max ]; then max=$((now - last)); fi
            last=$now; round=$((round + 1)); n=0
            if [ $((round % 32)) -eq 0 ]; then most=400; else most={lines}; fi
            while [ $n -lt $most ]; do echo \"{name} $i {PAD}\"; i=$((i + 1)); n=$((n + 1)); done
            sleep 0.01
        done
        echo \"end $i $max\"; exit 7"
    )
}

/// Checks the lines of a session as they come, in any pieces.
struct Lines {
    name: String,
    /// Number of the next line; unknown before the first whole one of a stream that begins anywhere.
    next: Option<u64>,
    /// The first line may be cut.
    cut: bool,
    rest: Vec<u8>,
    /// The longest pause of the child, once it has printed it.
    end: Option<Duration>,
}

impl Lines {
    /// Begins with the first line.
    fn new(name: &str) -> Self {
        Self { next: Some(0), cut: false, ..Self::anywhere(name) }
    }

    /// Begins anywhere, maybe in the middle of a line.
    fn anywhere(name: &str) -> Self {
        Self { name: name.to_owned(), next: None, cut: true, rest: Vec::new(), end: None }
    }

    /// Takes a line as a terminal shows it. What stood there before the session came leaves blank ones.
    #[track_caller]
    fn take_text(&mut self, line: &str) {
        if !line.is_empty() {
            self.take(format!("{}\r\n", line.trim_end()).as_bytes());
        }
    }

    #[track_caller]
    fn take(&mut self, data: &[u8]) {
        self.rest.extend_from_slice(data);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text: Vec<u8> = self.rest.drain(..whole).collect();
        for line in String::from_utf8(text).expect("text").split_inclusive('\n') {
            if self.end.is_some() {
                return;
            }
            self.check(line);
        }
    }

    #[track_caller]
    fn check(&mut self, line: &str) {
        if std::mem::take(&mut self.cut) {
            return;
        }
        let number = || line.split(' ').nth(1).and_then(|number| number.parse().ok());
        let next = self.next.or_else(number).unwrap_or_else(|| panic!("{line:?} has no number"));
        if let Some(gap) = line.strip_prefix(&format!("end {next} ")) {
            let hundredths: u64 = gap.trim_end().parse().expect("a number");
            self.end = Some(Duration::from_millis(hundredths * 10));
            return;
        }
        let expected = format!("{} {next} {PAD}\r\n", self.name);
        assert!(line == expected, "{line:?} came instead of {expected:?}");
        self.next = Some(next + 1);
    }
}

/// Numbers that look random and are the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// Raises a flag when it is dropped.
struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The seed of this run, printed so that the run can be repeated.
fn seed() -> u64 {
    let now = || std::time::UNIX_EPOCH.elapsed().map_or(1, |elapsed| elapsed.as_nanos() as u64);
    let seed = number("SWB_CHAOS_SEED").unwrap_or_else(now);
    println!("SWB_CHAOS_SEED={seed}");
    seed
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}
