//! A client that reconnects at its offset after a lost connection, as `swb attach` does.

use crate::{CoopClient, LIMIT, StreamItem, Swb};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A reader of one session's output from its first byte on, over any number of connections.
#[derive(Debug)]
pub struct Follower {
    socket: PathBuf,
    session: String,
    client: Option<CoopClient>,
    offset: u64,
    reconnects: u32,
}

impl Follower {
    /// Follows `session` through the coop socket.
    pub fn new(swb: &Swb, session: &str) -> Self {
        Self {
            socket: swb.paths().coop_socket(),
            session: session.to_owned(),
            client: None,
            offset: 0,
            reconnects: 0,
        }
    }

    /// Offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of reconnects.
    pub fn reconnects(&self) -> u32 {
        self.reconnects
    }

    /// The next data or control message; `None` if none arrives within `limit`.
    #[track_caller]
    pub fn item(&mut self, limit: Duration) -> Option<StreamItem> {
        let end = Instant::now() + limit;
        loop {
            let left = end.checked_duration_since(Instant::now())?;
            let Some(client) = &mut self.client else {
                self.connect();
                std::thread::park_timeout(Duration::from_millis(if self.client.is_some() { 0 } else { 5 }));
                continue;
            };
            match client.item(left)? {
                StreamItem::End => {
                    self.client = None;
                    self.reconnects += 1;
                }
                StreamItem::Data(bytes) => {
                    self.offset += bytes.len() as u64;
                    return Some(StreamItem::Data(bytes));
                }
                control => return Some(control),
            }
        }
    }

    /// Reads until the data contains `text`; returns all of it. Requires that nothing is missing.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> Vec<u8> {
        let mut data = Vec::new();
        while !data.windows(text.len()).any(|window| window == text.as_bytes()) {
            match self.item(LIMIT) {
                Some(StreamItem::Data(bytes)) => data.extend_from_slice(&bytes),
                other => panic!("{other:?} instead of {text:?} after {:?}", String::from_utf8_lossy(&data)),
            }
        }
        data
    }

    /// Reads to the end of the session; returns all data and the exit code. Requires that nothing is missing.
    #[track_caller]
    pub fn to_exit(&mut self) -> (Vec<u8>, i64) {
        let mut data = Vec::new();
        loop {
            match self.item(LIMIT) {
                Some(StreamItem::Data(bytes)) => data.extend_from_slice(&bytes),
                Some(StreamItem::Control(event)) if event["event"] == "pty_exited" => {
                    return (data, event["code"].as_i64().expect("a code"));
                }
                other => panic!("{other:?} instead of the end of {}", self.session),
            }
        }
    }

    #[track_caller]
    fn connect(&mut self) {
        let attach = json!({"cmd": "attach", "session": self.session, "resume": self.offset, "watch": true});
        let Some((client, attached)) = self.try_attach(&attach) else {
            return;
        };
        assert_eq!(attached["ok"], true, "reply to {attach}: {attached}");
        assert_eq!(attached["offset"], self.offset, "the stream continues where it ended");
        self.client = Some(client);
    }

    /// `None` if the daemon dies meanwhile.
    fn try_attach(&self, attach: &Value) -> Option<(CoopClient, Value)> {
        let mut client = CoopClient::connect(&self.socket).ok()?;
        client.try_ask(&json!({"version": 1}))?;
        let attached = client.try_ask(attach)?;
        Some((client, attached))
    }
}
