//! A raw coop client.

use crate::{LIMIT, QUIET};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// An item of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// Terminal bytes.
    Data(Vec<u8>),
    /// A control message.
    Control(Value),
    /// The end of the connection.
    End,
}

/// A coop connection that sends and shows exactly what is on the wire.
#[derive(Debug)]
pub struct CoopClient {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl CoopClient {
    /// Connects without sending anything.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Ok(Self { stream: connect(path)?, buffer: Vec::new() })
    }

    /// The socket, for operations that this client lacks.
    pub fn socket(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends raw bytes; ignores a closed connection.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _sent = self.stream.write_all(bytes);
    }

    /// Sends a message with its length.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(&framed(message.to_string().as_bytes()));
    }

    /// Performs the handshake, which must succeed.
    #[track_caller]
    pub fn hello(&mut self) {
        assert_eq!(self.ask(&json!({"version": 1})), json!({"version": 1, "ok": true}));
    }

    /// Sends a command and returns the reply.
    #[track_caller]
    pub fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.answer().expect("an answer")
    }

    /// Sends a command and returns the reply; `None` if the connection ends before.
    pub fn try_ask(&mut self, message: &Value) -> Option<Value> {
        self.send(message);
        serde_json::from_slice(&self.frame(LIMIT)??).ok()
    }

    /// Sends a command that must succeed.
    #[track_caller]
    pub fn ok(&mut self, message: &Value) -> Value {
        let answer = self.ask(message);
        assert_eq!(answer["ok"], true, "reply to {message}: {answer}");
        answer
    }

    /// Sends a command that must fail and returns the error code.
    #[track_caller]
    pub fn error(&mut self, message: &Value) -> String {
        let answer = self.ask(message);
        assert_eq!(answer["ok"], false, "reply to {message}: {answer}");
        assert!(answer["message"].is_string(), "an error explains itself: {answer}");
        answer["error"].as_str().expect("a code").to_owned()
    }

    /// The next message in command mode; `None` at the end of the connection.
    #[track_caller]
    pub fn answer(&mut self) -> Option<Value> {
        let frame = self.frame(LIMIT).expect("a message in time")?;
        Some(serde_json::from_slice(&frame).expect("JSON"))
    }

    /// Sends terminal bytes in stream mode.
    pub fn type_in(&mut self, bytes: &[u8]) {
        let mut body = vec![0];
        body.extend_from_slice(bytes);
        self.send_raw(&framed(&body));
    }

    /// Sends a control message in stream mode.
    pub fn control(&mut self, message: &Value) {
        let mut body = vec![1];
        body.extend_from_slice(message.to_string().as_bytes());
        self.send_raw(&framed(&body));
    }

    /// The next frame in stream mode; `None` if none arrives within `limit`.
    pub fn item(&mut self, limit: Duration) -> Option<StreamItem> {
        Some(match self.frame(limit)? {
            None => StreamItem::End,
            Some(frame) => match frame.split_first().expect("a tag") {
                (0, data) => StreamItem::Data(data.to_vec()),
                (1, json) => StreamItem::Control(serde_json::from_slice(json).expect("JSON")),
                (tag, _) => panic!("tag {tag}"),
            },
        })
    }

    /// Reads the stream until its data contains `text`; returns all data.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> Vec<u8> {
        let mut data: Vec<u8> = Vec::new();
        // Search only the new bytes: a client that is busy searching would be a slow reader.
        let mut searched = 0;
        loop {
            match self.item(LIMIT) {
                Some(StreamItem::Data(bytes)) => data.extend_from_slice(&bytes),
                Some(StreamItem::Control(_)) => {}
                other => panic!("{other:?} instead of {text:?} after {:?}", String::from_utf8_lossy(&data)),
            }
            if data[searched..].windows(text.len()).any(|window| window == text.as_bytes()) {
                return data;
            }
            searched = data.len().saturating_sub(text.len() - 1);
        }
    }

    /// Reads the stream until the event `name`; returns the data before it and the event.
    #[track_caller]
    pub fn event(&mut self, name: &str) -> (Vec<u8>, Value) {
        let mut data = Vec::new();
        loop {
            match self.item(LIMIT) {
                Some(StreamItem::Data(bytes)) => data.extend_from_slice(&bytes),
                Some(StreamItem::Control(control)) if control["event"] == name => return (data, control),
                Some(StreamItem::Control(_)) => {}
                other => panic!(
                    "{other:?} instead of the event {name:?} after {:?}",
                    String::from_utf8_lossy(&data)
                ),
            }
        }
    }

    /// Requires that nothing arrives for a while, and that the connection stays open.
    #[track_caller]
    pub fn quiet(&mut self) {
        let item = self.item(QUIET);
        assert_eq!(item, None, "nothing should arrive");
    }

    /// Reads the stream to its end; returns all data and all control messages.
    #[track_caller]
    pub fn to_end(&mut self) -> (Vec<u8>, Vec<Value>) {
        let (mut data, mut controls) = (Vec::new(), Vec::new());
        loop {
            match self.item(LIMIT).expect("the end in time") {
                StreamItem::Data(bytes) => data.extend_from_slice(&bytes),
                StreamItem::Control(control) => controls.push(control),
                StreamItem::End => return (data, controls),
            }
        }
    }

    /// Requires that the daemon closes the connection; it may send anything before.
    #[track_caller]
    pub fn closed(&mut self) {
        while self.frame(LIMIT).expect("the end in time").is_some() {}
    }

    /// A frame's body: `None` after a timeout, `Some(None)` at the end of the connection.
    fn frame(&mut self, limit: Duration) -> Option<Option<Vec<u8>>> {
        let end = Instant::now() + limit;
        loop {
            if let Some((len, rest)) = self.buffer.split_first_chunk::<4>() {
                let len = u32::from_be_bytes(*len) as usize;
                if rest.len() >= len {
                    let frame = rest[..len].to_vec();
                    self.buffer.drain(..4 + len);
                    return Some(Some(frame));
                }
            }
            match read_more(&mut self.stream, &mut self.buffer, end)? {
                0 => return Some(None),
                _ => continue,
            }
        }
    }
}

/// Connects to a daemon, with a timeout for writes, so that a daemon that does not read makes a test fail, not hang.
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    stream.set_write_timeout(Some(LIMIT))?;
    Ok(stream)
}

/// Reads available bytes into `buffer`: `None` at `end`, 0 at the end of the stream.
pub(crate) fn read_more(stream: &mut UnixStream, buffer: &mut Vec<u8>, end: Instant) -> Option<usize> {
    let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
    stream.set_read_timeout(Some(left)).expect("a timeout");
    let mut bytes = [0; 65536];
    match stream.read(&mut bytes) {
        Ok(n) => {
            buffer.extend_from_slice(&bytes[..n]);
            Some(n)
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => None,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(1).filter(|_| Instant::now() < end),
        Err(_) => Some(0),
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}
