//! The seam between a picture and the output after it: nothing is missing or repeated.

use super::{EXE, assert_newcomer_sees_the_same, script};
use serde_json::json;
use swb_testkit::{ScreenClient, Swb, wait_for};
use swb_vt::Screen;

/// Writes numbered lines for ever, a thousand at a time.
const COUNTING: &str =
    "i=0; while :; do seq -f 'line %.0f' $i $((i+999)); i=$((i+1000)); [ -e slow ] && sleep 0.05; done";
/// Rounds of clients that attach and leave.
const ROUNDS: usize = 20;
/// Output that is looked at behind a picture.
const FURTHER: u64 = 30_000;

/// All complete lines of the scrollback and the screen.
fn lines(screen: &Screen) -> Vec<String> {
    let mut lines: Vec<String> = screen.scrollback(usize::MAX).iter().map(|line| line.text()).collect();
    lines.extend(screen.row_texts());
    lines.truncate(lines.len() - 1);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Insists that a screen full of numbered lines has each of them once and in order.
#[track_caller]
fn assert_counted(screen: &Screen, when: &str) {
    let lines = lines(screen);
    let number = |line: &String| line.strip_prefix("line ")?.parse::<u64>().ok();
    let first = number(&lines[0]).unwrap_or_else(|| panic!("{when}: it begins with {:?}", lines[0]));
    for (n, line) in lines.iter().enumerate() {
        assert_eq!(number(line), Some(first + n as u64), "{when}: line {n} is {line:?}");
    }
}

#[test]
fn a_picture_and_the_output_after_it_give_the_observers_screen() {
    let swb = Swb::start(EXE);
    script(&swb, "x", COUNTING);
    let mut observer = ScreenClient::observe(&swb, "x");
    observer.until("a full scrollback", |observer| observer.offset() > 100_000);
    for round in 0..ROUNDS {
        let when = format!("round {round}");
        let mut late = ScreenClient::with(&swb, "x", &json!({"repaint": true, "watch": round % 2 == 0}));
        late.until("a picture", |late| late.pictures() > 0);
        assert_counted(late.screen(), &when);
        observer.read_to(late.offset());
        late.assert_same(&observer, &when);
        let further = late.offset() + FURTHER;
        late.read_to(further);
        observer.read_to(further);
        late.assert_same(&observer, &format!("{when}, further on"));
        assert_eq!((late.count("lagged"), observer.count("lagged")), (0, 0), "a client was too slow");
        assert_eq!(late.pictures(), 1, "output follows, not pictures");
    }
}

// A terminal that comes gives the session its size: what it is shown first is shown at that size, also when the program
// goes on writing in that very moment.
#[test]
fn a_picture_has_the_size_of_the_attaching_terminal() {
    let swb = Swb::start(EXE);
    // Output that takes a moment to be drawn, and pauses in which terminals come.
    script(&swb, "x", "seq 20000 > block; while :; do cat block; sleep 0.005; done");
    for round in 0..4 * ROUNDS {
        let size = [(90, 30), (80, 24), (100, 40)][round % 3];
        let how = json!({"repaint": true, "scrollback": 0, "cols": size.0, "rows": size.1});
        let mut late = ScreenClient::with(&swb, "x", &how);
        late.until("a picture", |late| late.pictures() > 0);
        let further = late.offset() + 1;
        late.read_to(further);
        assert_eq!(late.count("resized"), 0, "round {round}: {:?}", late.events());
    }
}

#[test]
fn a_lost_connection_resumes_at_its_offset() {
    let swb = Swb::start(EXE);
    let workspace = script(&swb, "x", COUNTING);
    let mut observer = ScreenClient::observe(&swb, "x");
    observer.until("a full scrollback", |observer| observer.offset() > 100_000);
    // The ring must still have the place when a new daemon is there.
    std::fs::write(workspace.join("slow"), "").unwrap();
    let mut late = ScreenClient::attach(&swb, "x");
    for round in 0..ROUNDS {
        late.read_to(late.offset() + FURTHER / 10);
        match round % 5 {
            4 => drop(swb.kill_daemon()),
            _ => late.reconnect(),
        }
    }
    late.read_to(late.offset() + FURTHER / 10);
    assert_counted(late.screen(), "at the end");
    assert_eq!((late.pictures(), late.count("lagged")), (1, 0), "only output after the first picture");
    observer.read_to(late.offset());
    late.assert_same(&observer, "at the end");
}

#[test]
fn the_requested_amount_of_scrollback_is_sent() {
    let swb = Swb::start(EXE);
    script(&swb, "x", "seq -f 'line %.0f' 1 5000; exec sleep 1000");
    let mut observer = ScreenClient::observe(&swb, "x");
    observer.until_text("line 5000");
    assert_newcomer_sees_the_same(&swb, "x", &mut observer, "with all of it");
    for (asked, comes) in [(json!(null), 2000), (json!(2000), 2000), (json!(10), 10), (json!(0), 0)] {
        let mut late =
            ScreenClient::with(&swb, "x", &json!({"repaint": true, "watch": true, "scrollback": asked}));
        late.until("a picture", |late| late.pictures() > 0);
        assert_eq!(late.screen().scrollback_len(), comes, "asked for {asked}");
        assert_counted(late.screen(), "with scrollback");
        assert_eq!(lines(late.screen()).len(), comes + 23);
        assert_eq!(late.screen().contents(0), observer.screen().contents(0));
    }
}

#[test]
fn a_valid_offset_takes_precedence_over_a_picture() {
    let swb = Swb::start(EXE);
    let workspace =
        script(&swb, "x", &format!("seq 1 3; while [ ! -e go ]; do sleep 0.01; done; {COUNTING}"));
    let mut late = ScreenClient::with(&swb, "x", &json!({"repaint": true, "resume": 0}));
    late.until_text("3");
    assert_eq!((late.pictures(), late.offset()), (0, 9), "output, not a picture");
    std::fs::write(workspace.join("go"), "").unwrap();
    wait_for("output to leave the ring", || (super::head(&swb, "x") > 3 << 20).then_some(()));
    let mut late = ScreenClient::with(&swb, "x", &json!({"repaint": true, "resume": 0, "watch": true}));
    late.until("a picture", |late| late.pictures() > 0);
    assert!(late.offset() > 3 << 20, "it is not there any more");
    assert_counted(late.screen(), "instead of what is gone");
}
