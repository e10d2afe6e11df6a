//! A client with a terminal: it shows output, tracks its offset, and replies to queries.

use crate::{CoopClient, LIMIT, QUIET, StreamItem, Swb};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use swb_types::Size;
use swb_vt::{Options, Screen, ScreenState};

/// Maximum number of differences printed for two screens that should be the same.
const SHOWN: usize = 12;
/// Number of items after which a program counts as one that never rests.
const SETTLING: usize = 20;

/// A stream of one session's output with the screen of the client's terminal.
#[derive(Debug)]
pub struct ScreenClient {
    socket: PathBuf,
    attach: Value,
    client: CoopClient,
    screen: Screen,
    /// Offset up to which output is on the screen.
    offset: u64,
    /// Bytes of a picture that are still to come.
    picture: u64,
    pictures: u32,
    /// Output that has arrived but is not shown yet.
    held: Vec<u8>,
    /// Whether to reply to the program's queries.
    answers: bool,
    /// Whether it watches with a window size of its own.
    has_window: bool,
    events: Vec<Value>,
}

impl ScreenClient {
    /// Attaches to a session with a terminal of its size; the screen arrives as a picture.
    #[track_caller]
    pub fn attach(swb: &Swb, session: &str) -> Self {
        let mut client = Self::with(swb, session, &json!({"repaint": true}));
        client.shown();
        client
    }

    /// Watches from the first byte of output to the last.
    #[track_caller]
    pub fn observe(swb: &Swb, session: &str) -> Self {
        let client = Self::with(swb, session, &json!({"watch": true, "resume": 0}));
        assert_eq!(client.offset, 0, "the output is available from its beginning");
        client
    }

    /// Attaches with the fields of `how`. Its terminal has the size given there, or the session's.
    #[track_caller]
    pub fn with(swb: &Swb, session: &str, how: &Value) -> Self {
        let has_window = how["watch"] == true && how["cols"].is_u64();
        // A client that follows the session's size has none of its own.
        let mut attach = json!({"cmd": "attach", "session": session, "sizes": !has_window, "offsets": true});
        // Without a size in the request, the terminal would have a default one, which is seldom right.
        let listed = swb.session(session).expect("a session");
        (attach["cols"], attach["rows"]) = (listed["cols"].clone(), listed["rows"].clone());
        for (key, value) in how.as_object().expect("fields") {
            attach[key] = value.clone();
        }
        let socket = swb.paths().control_socket();
        let mut client = CoopClient::connect(&socket).expect("the control socket");
        client.hello();
        let attached = client.ok(&attach);
        let side =
            |key: &str| attach[key].as_u64().and_then(|side| u16::try_from(side).ok()).expect("a side");
        let size = Size::new(side("cols"), side("rows")).expect("a size");
        Self {
            socket,
            answers: attach["watch"] != true,
            has_window,
            attach,
            client,
            screen: Screen::new(size, Options::default()),
            offset: attached["offset"].as_u64().expect("an offset"),
            picture: 0,
            pictures: 0,
            held: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Stops replying to queries.
    pub fn silent(mut self) -> Self {
        self.answers = false;
        self
    }

    /// The screen of the terminal.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// The complete state of the terminal.
    pub fn state(&self) -> ScreenState {
        self.screen.state()
    }

    /// Offset of the next byte of output.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many pictures were complete so far.
    pub fn pictures(&self) -> u32 {
        self.pictures
    }

    /// The events so far.
    pub fn events(&self) -> &[Value] {
        &self.events
    }

    /// How many events of this name there were so far.
    pub fn count(&self, event: &str) -> usize {
        self.events.iter().filter(|item| item["event"] == event).count()
    }

    /// The connection, for operations that this client lacks.
    pub fn client(&mut self) -> &mut CoopClient {
        &mut self.client
    }

    /// Types.
    pub fn type_in(&mut self, bytes: &[u8]) {
        self.client.type_in(bytes);
    }

    /// Sends the daemon a new size of the terminal. A client that follows the session's size changes when the session does.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        self.client.control(&json!({"cmd": "resize", "cols": cols, "rows": rows}));
        if self.has_window {
            self.screen.resize(Size::new(cols, rows).expect("a size"));
        }
    }

    /// Takes the next item, or none within `limit`; of output not more than up to `goal`.
    /// True if there was one.
    #[track_caller]
    pub fn take(&mut self, goal: u64, limit: Duration) -> bool {
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            self.show(&held, goal);
            return true;
        }
        match self.client.item(limit) {
            None => return false,
            Some(StreamItem::Data(bytes)) => self.show(&bytes, goal),
            Some(StreamItem::Control(event)) => self.note(event),
            Some(StreamItem::End) => self.go_on(),
        }
        true
    }

    fn show(&mut self, bytes: &[u8], goal: u64) {
        let (picture, output) = bytes.split_at(bytes.len().min(self.picture as usize));
        if !picture.is_empty() {
            self.screen.feed(picture);
            self.picture -= picture.len() as u64;
            self.pictures += u32::from(self.picture == 0);
            let asked = self.screen.take_replies();
            assert!(
                asked.is_empty(),
                "a picture contains no queries, but there was {:?}",
                asked.escape_ascii()
            );
        }
        let wanted = goal.saturating_sub(self.offset).min(output.len() as u64) as usize;
        let (output, held) = output.split_at(wanted);
        self.screen.feed(output);
        self.offset += output.len() as u64;
        self.held = held.to_vec();
        drop(self.screen.take_events());
        let answers = self.screen.take_replies();
        if self.answers && !answers.is_empty() {
            self.client.type_in(&answers);
        }
    }

    fn note(&mut self, event: Value) {
        let number = |key: &str| event[key].as_u64();
        match event["event"].as_str() {
            Some("repaint") => {
                assert_eq!(self.picture, 0, "one picture at a time");
                self.picture = number("bytes").expect("a length");
                self.offset = number("offset").expect("an offset");
            }
            // A watcher with a window of its own keeps it.
            Some("resized") if !self.has_window => {
                let side = |key: &str| number(key).and_then(|side| u16::try_from(side).ok()).expect("a side");
                self.screen.resize(Size::new(side("cols"), side("rows")).expect("a size"));
            }
            Some("lagged") => self.offset = number("offset").expect("an offset"),
            _ => {}
        }
        self.events.push(event);
    }

    /// Reconnects where the last connection ended; waits for a daemon that is not running yet.
    #[track_caller]
    fn come_back(&mut self) -> Value {
        assert_eq!(self.count("pty_exited") + self.count("detached"), 0, "nothing comes after the end");
        assert_eq!(self.picture, 0, "a picture is complete");
        self.attach["resume"] = json!(self.offset);
        let (client, attached) = crate::wait_for("the daemon", || {
            let mut client = CoopClient::connect(&self.socket).ok()?;
            client.try_ask(&json!({"version": 1}))?;
            let attached = client.try_ask(&self.attach)?;
            Some((client, attached))
        });
        self.client = client;
        attached
    }

    /// Closes the connection and reconnects at the same offset.
    #[track_caller]
    pub fn reconnect(&mut self) {
        self.held.clear();
        self.go_on();
    }

    #[track_caller]
    fn go_on(&mut self) {
        let attached = self.come_back();
        assert_eq!(attached["offset"], self.offset, "the stream continues where it ended: {attached}");
    }

    /// Closes the connection and reconnects too late to continue at the same offset: a picture comes first.
    #[track_caller]
    pub fn reconnect_late(&mut self) {
        self.held.clear();
        let attached = self.come_back();
        assert!(
            attached["offset"].as_u64() > Some(self.offset),
            "the stream continued meanwhile: {attached}"
        );
    }

    /// Shows everything up to a condition; panics with `what` if it does not hold within [`LIMIT`].
    #[track_caller]
    pub fn until(&mut self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + LIMIT;
        while self.picture > 0 || !condition(self) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                self.take(u64::MAX, left),
                "timed out waiting for {what}; there is {:?}",
                self.screen.text()
            );
        }
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub fn until_text(&mut self, text: &str) {
        self.until(text, |client| client.screen.text().contains(text));
    }

    /// Waits for the first picture.
    #[track_caller]
    fn shown(&mut self) {
        self.until("a picture", |client| client.pictures > 0);
    }

    /// Shows all output before `offset`, and no more.
    #[track_caller]
    pub fn read_to(&mut self, offset: u64) {
        assert!(self.offset <= offset, "output at {offset} is requested, {} has been shown", self.offset);
        while self.picture > 0 || self.offset < offset {
            let at = self.offset;
            assert!(self.take(offset, LIMIT), "timed out waiting for output from {at} to {offset}");
        }
    }

    /// Shows output until none arrives for a moment; of a program that never rests, a good deal.
    #[track_caller]
    pub fn settle(&mut self) {
        for _ in 0..SETTLING {
            if !self.take(u64::MAX, QUIET) {
                break;
            }
        }
    }

    /// Detaches and shows output until the daemon confirms it.
    #[track_caller]
    pub fn detach(&mut self) {
        self.client.control(&json!({"cmd": "detach"}));
        self.until("goodbye", |client| client.count("detached") > 0);
        assert_eq!(self.client.item(LIMIT), Some(StreamItem::End), "after the confirmation");
    }

    /// Requires that both are at the same offset and show the same, cell by cell.
    #[track_caller]
    pub fn assert_same(&self, other: &Self, when: &str) {
        assert_eq!(self.offset, other.offset, "{when}: screens at different offsets cannot be compared");
        assert_same(&self.screen, &other.screen, when);
    }
}

/// Requires that two screens are the same in everything.
#[track_caller]
pub fn assert_same(one: &Screen, two: &Screen, when: &str) {
    if let Some(difference) = one.state().difference(&two.state()) {
        let (lines, texts) = (shortened(&difference), (one.text(), two.text()));
        panic!("{when}: {lines}\n--- one ---\n{}\n--- two ---\n{}", texts.0, texts.1);
    }
}

/// The first differences; of two long lines that differ, the part where they begin to.
fn shortened(difference: &str) -> String {
    let lines: Vec<&str> = difference.lines().take(SHOWN).collect();
    let mut out = String::new();
    for (n, line) in lines.iter().enumerate() {
        let other = match *line {
            "!=" => "",
            _ if lines.get(n + 1) == Some(&"!=") => lines.get(n + 2).copied().unwrap_or_default(),
            _ if n > 1 && lines[n - 1] == "!=" => lines[n - 2],
            _ => "",
        };
        let same = line.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        out.extend(line.chars().skip(same.saturating_sub(100)).take(400));
        out.push('\n');
    }
    out
}
