//! A program's query to its terminal gets exactly one reply, whichever clients are attached.

use super::{EXE, script};
use rustix::process::Signal;
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use swb_testkit::{Fifo, LIMIT, QUIET, ScreenClient, StreamItem, Swb, signal, stays, wait_for};
use swb_wire::keepty::KeeptyRole;

/// Questions, each with what the model answers.
const QUESTIONS: [(&str, &str); 11] = [
    ("\x1b[c", "\x1b[?62;22c"),
    ("\x1b[>c", "\x1b[>1;10;0c"),
    ("\x1b[5n", "\x1b[0n"),
    ("\x1b[7;11H\x1b[6n", "\x1b[7;11R"),
    ("\x1b[>q", concat!("\x1bP>|switchboard(", env!("CARGO_PKG_VERSION"), ")\x1b\\")),
    ("\x1b]10;?\x1b\\", "\x1b]10;rgb:d8d8/d8d8/d8d8\x1b\\"),
    ("\x1b]11;?\x07", "\x1b]11;rgb:1818/1818/1818\x07"),
    ("\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07"),
    ("\x1b[?u", "\x1b[?0u"),
    ("\x1b[?2026$p", "\x1b[?2026;2$y"),
    ("\x1b]7501;?\x1b\\", "\x1b]7501;?\x1b\\"),
];

/// A program in the session `x` that writes what a file contains, and records its input.
struct Asker {
    swb: Swb,
    mouth: File,
    ears: PathBuf,
    /// All that it is to have heard.
    expected: Vec<u8>,
}

impl Asker {
    fn new() -> Self {
        let swb = Swb::start(EXE);
        let workspace = swb.workspace("x");
        drop(Fifo::make(&workspace.join("mouth")));
        // Open for both, so that neither end waits and it never ends.
        let mouth = File::options().read(true).write(true).open(workspace.join("mouth")).unwrap();
        script(&swb, "x", "stty raw -echo; cat < /dev/tty > ears & echo ready; exec cat <> mouth");
        let ears = workspace.join("ears");
        wait_for("the program", || (super::head(&swb, "x") == 6 && ears.exists()).then_some(()));
        Self { swb, mouth, ears, expected: Vec::new() }
    }

    fn says(&mut self, text: &str) {
        self.mouth.write_all(text.as_bytes()).unwrap();
    }

    /// Sends every query there is; no terminal replies, or the model does.
    fn asks(&mut self, model_answers: bool) {
        for (question, answer) in QUESTIONS {
            self.says(question);
            self.expected.extend(answer.bytes().filter(|_| model_answers));
        }
    }

    /// Sends a unique query, whose reply identifies it.
    fn asks_number(&mut self, number: u32) {
        self.says(&format!("\x1b[?{number}$p"));
        self.expected.extend(numbered_answer(number).into_bytes());
    }

    fn heard(&self) -> Vec<u8> {
        std::fs::read(&self.ears).unwrap()
    }

    /// Insists that it hears what it was to hear, and nothing else.
    #[track_caller]
    fn assert_heard(&self, when: &str) {
        let end = Instant::now() + LIMIT;
        while self.heard().len() < self.expected.len() && Instant::now() < end {
            std::thread::park_timeout(Duration::from_millis(5));
        }
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        assert_eq!(text(&self.heard()), text(&self.expected), "{when}");
        stays(when, || self.heard() == self.expected);
    }
}

fn numbered_answer(number: u32) -> String {
    format!("\x1b[?{number};0$y")
}

#[test]
fn without_clients_the_model_replies_once() {
    let mut asker = Asker::new();
    asker.asks(true);
    asker.assert_heard("alone");
    asker.asks(true);
    asker.assert_heard("again");
    // Earlier queries are history for a client that attaches; a picture with a question in it makes the client fail.
    let mut late = ScreenClient::attach(&asker.swb, "x");
    late.settle();
    late.detach();
    drop(ScreenClient::attach(&asker.swb, "x"));
    asker.assert_heard("after a client attached");
    asker.swb.kill_daemon();
    drop(ScreenClient::attach(&asker.swb, "x"));
    asker.assert_heard("after the daemon's death");
    wait_for("all clients to leave", || (asker.swb.session("x")?["clients"] == 0).then_some(()));
    asker.asks(true);
    asker.assert_heard("with another daemon");
}

#[test]
fn queries_in_a_flood_get_one_reply() {
    let mut asker = Asker::new();
    // Less than the ring holds at a time: a model that gets no turn for long does not answer what is gone.
    let flood = |line: &str| line.repeat(300_000 / line.len());
    let lines = ["plain text in a line\r\n", "\x1b[1;31mred\x1b[m and more\r\n"];
    for (number, line) in (3000..3012).zip(lines.into_iter().cycle()) {
        asker.says(&flood(line));
        asker.asks_number(number);
        asker.says(&flood(line));
        wait_for("an answer", || (asker.heard().len() >= asker.expected.len()).then_some(()));
    }
    asker.assert_heard("in a flood");
    asker.swb.kill_daemon();
    asker.asks(true);
    asker.assert_heard("after the daemon's death");
}

#[test]
fn queries_without_a_daemon_get_one_reply() {
    let mut asker = Asker::new();
    for number in 3000..3010 {
        signal(asker.swb.daemon_pid(), Signal::KILL);
        asker.asks_number(number);
        asker.says(&"some more text\r\n".repeat(100));
        // One that dies while it answers takes the answer with it: better none than two.
        wait_for("an answer", || (asker.heard().len() >= asker.expected.len()).then_some(()));
    }
    asker.assert_heard("from daemons that came after others");
}

#[test]
fn only_an_attached_terminal_replies() {
    let mut asker = Asker::new();
    let end = 6 + QUESTIONS.iter().map(|(question, _)| question.len() as u64).sum::<u64>();
    let mut terminal = ScreenClient::attach(&asker.swb, "x").silent();
    asker.asks(false);
    terminal.read_to(end);
    asker.assert_heard("with a silent terminal");
    terminal.type_in(b"typed");
    asker.expected.extend(b"typed");
    asker.assert_heard("with a terminal that types");
    terminal.detach();
    asker.assert_heard("when it has left");
    asker.asks(true);
    asker.assert_heard("without it");

    // One that answers does so once, and the model not at all.
    let mut terminal = ScreenClient::attach(&asker.swb, "x");
    asker.asks(true);
    terminal.read_to(end + 2 * (end - 6));
    asker.assert_heard("with a terminal that answers");
    drop(terminal);
    wait_for("all clients to leave", || (asker.swb.session("x")?["clients"] == 0).then_some(()));
    asker.asks(true);
    asker.assert_heard("when it is gone without a word");
}

#[test]
fn only_an_attached_terminal_of_any_dialect_replies() {
    let mut asker = Asker::new();
    let last = QUESTIONS[QUESTIONS.len() - 1].0;
    let mut coop = asker.swb.attach("x");
    asker.asks(false);
    coop.until(last);
    asker.assert_heard("with a coop client");
    drop(coop);
    let gone = |asker: &Asker| {
        wait_for("all clients to leave", || (asker.swb.session("x")?["clients"] == 0).then_some(()));
    };
    gone(&asker);
    asker.asks(true);
    asker.assert_heard("when the coop client is gone");

    let mut keepty = asker.swb.keepty("x", KeeptyRole::Writer, 80, 24);
    keepty.ack();
    keepty.ping();
    asker.asks(false);
    keepty.until(last);
    asker.assert_heard("with a keepty writer");
    drop(keepty);
    gone(&asker);
    asker.asks(true);
    asker.assert_heard("when the keepty writer is gone");
}

#[test]
fn a_watcher_does_not_reply() {
    let mut asker = Asker::new();
    let mut watchers =
        [json!({"repaint": true}), json!({"resume": 0}), json!({"repaint": true, "cols": 40, "rows": 10})]
            .map(|mut how| {
                how["watch"] = json!(true);
                ScreenClient::with(&asker.swb, "x", &how)
            });
    let mut monitor = asker.swb.keepty("x", KeeptyRole::Watcher, 80, 24);
    monitor.ack();
    asker.asks(true);
    asker.assert_heard("with watchers");
    watchers.iter_mut().for_each(ScreenClient::settle);
    asker.assert_heard("with watchers that have seen it");
}

#[test]
fn a_terminal_that_missed_output_does_not_reply_to_old_queries() {
    let mut asker = Asker::new();
    let mut terminal = ScreenClient::attach(&asker.swb, "x");
    terminal.read_to(6);
    let mut written = 6;
    for number in 3000..3020 {
        let text = format!("{}\x1b[?{number}$p", "text that fills the ring\r\n".repeat(10_000));
        written += text.len() as u64;
        asker.says(&text);
    }
    asker.says("the end");
    wait_for("all of it", || (super::head(&asker.swb, "x") > written).then_some(()));
    terminal.until_text("the end");
    assert!(terminal.count("lagged") > 0, "it was to be too slow");
    asker.asks_number(4000);
    asker.expected.clear();
    let last = numbered_answer(4000).into_bytes();
    wait_for("the last answer", || {
        terminal.take(u64::MAX, Duration::from_millis(10));
        asker.heard().ends_with(&last).then_some(())
    });
    let heard = String::from_utf8(asker.heard()).unwrap();
    for number in (3000..3020).chain([4000]) {
        assert!(
            heard.matches(&numbered_answer(number)).count() <= 1,
            "{number} was answered twice: {heard:?}"
        );
    }
}

// Where one that answers gives way to the next one, no question is answered by both or by none.
#[test]
fn attaching_and_detaching_loses_and_repeats_no_reply() {
    let swb = Swb::start(EXE);
    // Each answer has eleven bytes.
    let workspace = script(
        &swb,
        "x",
        "stty raw -echo; n=3000; while [ ! -e stop ]; do printf \"\\033[?$((n+=1))\\$p\"; head -c 11 >> ears; \
         if [ -e pause ]; then printf '\\r\\npaused'; while [ -e pause ]; do sleep 0.01; done; printf '\\033[2J'; fi; done; \
         printf '\\r\\nstopped'; exec cat >> ears",
    );
    let pause = workspace.join("pause");
    let heard = || std::fs::read(workspace.join("ears")).unwrap_or_default();
    for round in 0..25 {
        let before = heard().len();
        wait_for("some answers of the model", || (heard().len() > before + 55).then_some(()));
        let mut terminal = ScreenClient::attach(&swb, "x");
        let from = terminal.offset();
        terminal.until("some questions", |terminal| terminal.offset() > from + 60);
        std::fs::write(&pause, "").unwrap();
        terminal.until_text("paused");
        terminal.detach();
        if round % 5 == 4 {
            swb.kill_daemon();
        }
        std::fs::remove_file(&pause).unwrap();
    }
    std::fs::write(workspace.join("stop"), "").unwrap();
    wait_for("the end", || {
        let text = swb.ok(&["screen", "x"]);
        text.contains("stopped").then_some(())
    });
    let last = heard().len();
    stays("no more answers", || heard().len() == last);
    let heard = heard();
    let expected: String = (3001..).take(heard.len() / 11).map(numbered_answer).collect();
    assert_eq!(String::from_utf8_lossy(&heard), expected);
}

// The same when no program waits for replies, and a query is under way at any moment.
#[test]
fn a_terminal_attached_amid_queries_replies_where_the_model_did_not() {
    const QUESTIONS: u32 = 150;
    let asker = Asker::new();
    for round in 0..25 {
        let first = 3000 + round * QUESTIONS;
        let before = asker.heard().len();
        let mut terminal = std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in first..first + QUESTIONS {
                    (&asker.mouth).write_all(format!("\x1b[?{number}$p").as_bytes()).unwrap();
                    std::thread::park_timeout(Duration::from_micros(50));
                }
            });
            wait_for("the first answers", || (asker.heard().len() > before + 100).then_some(()));
            ScreenClient::attach(&asker.swb, "x")
        });
        let end = u64::from((round + 1) * QUESTIONS) * 9 + 6;
        terminal.read_to(end);
        let all = (round + 1) as usize * QUESTIONS as usize * 11;
        wait_for("all answers", || (asker.heard().len() >= all).then_some(()));
        terminal.detach();
        let text = String::from_utf8(asker.heard()).unwrap();
        let mut answers: Vec<&str> = text.split_inclusive('y').collect();
        answers.sort_unstable();
        let expected: Vec<String> = (3000..first + QUESTIONS).map(numbered_answer).collect();
        assert_eq!(answers, expected, "round {round}");
    }
}

// CO-33: who gets old output as it was shows what was asked in it; the program has its answer already.
#[test]
fn a_plain_client_gets_old_queries_unchanged() {
    let mut asker = Asker::new();
    asker.asks(true);
    asker.assert_heard("alone");
    let mut plain = asker.swb.attach("x");
    let mut old = Vec::new();
    while let Some(StreamItem::Data(bytes)) = plain.item(QUIET) {
        old.extend(bytes);
    }
    let asked: String = QUESTIONS.iter().map(|(question, _)| *question).collect();
    assert_eq!(old, format!("ready\n{asked}").into_bytes());
}

#[test]
fn a_reattached_terminal_replies_where_the_model_did_not() {
    let mut asker = Asker::new();
    let mut terminal = ScreenClient::attach(&asker.swb, "x");
    asker.asks(true);
    wait_for("the answers", || {
        terminal.take(u64::MAX, Duration::from_millis(10));
        (asker.heard().len() >= asker.expected.len()).then_some(())
    });
    asker.swb.kill_daemon();
    asker.asks_number(3000);
    asker.assert_heard("from the model");
    terminal.reconnect_late();
    terminal.settle();
    asker.assert_heard("after the terminal came back");
}

#[test]
fn of_two_terminals_one_replies() {
    let mut asker = Asker::new();
    let [mut first, mut second] = [(); 2].map(|()| ScreenClient::attach(&asker.swb, "x"));
    asker.asks(true);
    first.settle();
    second.settle();
    asker.assert_heard("from the one that came last");
    second.detach();
    asker.asks(true);
    first.settle();
    asker.assert_heard("from the one that is left");
}
