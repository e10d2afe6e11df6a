//! A raw keepty client.

use crate::LIMIT;
use crate::coop::read_more;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use swb_wire::keepty::{Decoder, Message, Role, encode};

/// What a keepty connection brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A message.
    Message(Message),
    /// The end of the connection.
    End,
}

/// A keepty connection that sends and shows exactly what is on the wire.
#[derive(Debug)]
pub struct KeeptyClient {
    stream: UnixStream,
    decoder: Decoder,
}

impl KeeptyClient {
    /// Connects without saying anything.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Ok(Self {
            stream: UnixStream::connect(path)?,
            decoder: Decoder::new(),
        })
    }

    /// The socket, for what this client does not do.
    pub fn socket(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends bytes as they are; a daemon that has closed is no error here.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _sent = self.stream.write_all(bytes);
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        self.send_raw(&bytes);
    }

    /// Says hello without reading the answer.
    pub fn hello(&mut self, role: Role, cols: u16, rows: u16) {
        self.send(&Message::Hello { role, cols, rows });
    }

    /// Types into the terminal.
    pub fn type_in(&mut self, bytes: &[u8]) {
        self.send(&Message::Input(bytes.to_vec()));
    }

    /// The next frame; nothing if none comes within `limit`.
    pub fn frame(&mut self, limit: Duration) -> Option<Frame> {
        let end = Instant::now() + limit;
        loop {
            if let Some(message) = self.decoder.next().expect("a frame of the protocol") {
                return Some(Frame::Message(message));
            }
            let mut bytes = Vec::new();
            if read_more(&mut self.stream, &mut bytes, end)? == 0 {
                return Some(Frame::End);
            }
            self.decoder.push(&bytes);
        }
    }

    /// The next message; panics at the end of the connection.
    #[track_caller]
    pub fn message(&mut self) -> Message {
        match self.frame(LIMIT) {
            Some(Frame::Message(message)) => message,
            other => panic!("{other:?} instead of a message"),
        }
    }

    /// The HelloAck: process id, columns, rows.
    #[track_caller]
    pub fn ack(&mut self) -> (u32, u16, u16) {
        match self.message() {
            Message::HelloAck { pid, cols, rows } => (pid, cols, rows),
            other => panic!("{other:?} instead of HelloAck"),
        }
    }

    /// Reads output until it contains `text`; gives all of it. Other messages are passed over.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> Vec<u8> {
        let mut data = Vec::new();
        while !data.windows(text.len()).any(|window| window == text.as_bytes()) {
            match self.frame(LIMIT) {
                Some(Frame::Message(Message::Output(bytes))) => data.extend_from_slice(&bytes),
                Some(Frame::Message(_)) => {}
                other => panic!(
                    "{other:?} instead of {text:?} after {:?}",
                    String::from_utf8_lossy(&data)
                ),
            }
        }
        data
    }

    /// The next message that is not Output.
    #[track_caller]
    pub fn next_but_output(&mut self) -> Message {
        loop {
            match self.message() {
                Message::Output(_) => {}
                other => return other,
            }
        }
    }

    /// Reads to the end; gives all output and all other messages.
    #[track_caller]
    pub fn to_end(&mut self) -> (Vec<u8>, Vec<Message>) {
        let (mut data, mut others) = (Vec::new(), Vec::new());
        loop {
            match self.frame(LIMIT).expect("the end in time") {
                Frame::Message(Message::Output(bytes)) => data.extend_from_slice(&bytes),
                Frame::Message(other) => others.push(other),
                Frame::End => return (data, others),
            }
        }
    }

    /// Insists that the daemon closes the connection without a further message but an Error.
    #[track_caller]
    pub fn closed(&mut self) {
        let (_, others) = self.to_end();
        assert!(
            others.iter().all(|message| matches!(message, Message::Error(_))),
            "{others:?} before the end"
        );
    }
}
