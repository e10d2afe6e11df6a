//! A raw keepty client.

use crate::coop::{connect, read_more};
use crate::{LIMIT, QUIET, Swb};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use swb_wire::keepty::{Decoder, KeeptyRole, Message, encode};

/// An item received on a keepty connection.
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
    /// Connects without sending anything.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Ok(Self { stream: connect(path)?, decoder: Decoder::new() })
    }

    /// The socket, for operations that this client lacks.
    pub fn socket(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends raw bytes; ignores a closed connection.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _sent = self.stream.write_all(bytes);
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        self.send_raw(&bytes);
    }

    /// Sends Hello without reading the reply.
    pub fn hello(&mut self, role: KeeptyRole, cols: u16, rows: u16) {
        self.send(&Message::Hello { role, cols, rows });
    }

    /// Types into the terminal.
    pub fn type_in(&mut self, bytes: &[u8]) {
        self.send(&Message::Input(bytes.to_vec()));
    }

    /// The next frame; `None` if none arrives within `limit`.
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

    /// Reads output until it contains `text`; returns all of it. Ignores other messages.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> Vec<u8> {
        let mut data: Vec<u8> = Vec::new();
        // Search only the new bytes: a client that is busy searching would be a slow reader.
        let mut searched = 0;
        while !data[searched..].windows(text.len()).any(|window| window == text.as_bytes()) {
            searched = data.len().saturating_sub(text.len() - 1);
            match self.frame(LIMIT) {
                Some(Frame::Message(Message::Output(bytes))) => data.extend_from_slice(&bytes),
                Some(Frame::Message(_)) => {}
                other => {
                    let tail = String::from_utf8_lossy(&data[data.len().saturating_sub(1000)..]);
                    panic!("{other:?} instead of {text:?} after {} bytes that end in {tail:?}", data.len())
                }
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

    /// Reads to the end; returns all output and all other messages.
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

    /// Requires that the daemon closes the connection without a further message but an Error.
    #[track_caller]
    pub fn closed(&mut self) {
        let (_, others) = self.to_end();
        assert!(
            others.iter().all(|message| matches!(message, Message::Error(_))),
            "{others:?} before the end"
        );
    }

    /// Requires that nothing arrives for a while, and that the connection stays open.
    #[track_caller]
    pub fn quiet(&mut self) {
        let frame = self.frame(QUIET);
        assert_eq!(frame, None, "nothing should arrive");
    }

    /// Sends Ping and waits for Pong: everything sent before has been handled then. Returns the output
    /// that arrived meanwhile; other messages must not arrive.
    #[track_caller]
    pub fn ping(&mut self) -> Vec<u8> {
        self.send(&Message::Ping);
        let mut data = Vec::new();
        loop {
            match self.message() {
                Message::Output(bytes) => data.extend_from_slice(&bytes),
                Message::Pong => return data,
                other => panic!("{other:?} instead of Pong"),
            }
        }
    }

    /// Reads to the end and requires that Exit comes last, and only once; returns the output and the code.
    #[track_caller]
    pub fn exit(&mut self) -> (Vec<u8>, i32) {
        let mut data = Vec::new();
        loop {
            match self.message() {
                Message::Output(bytes) => data.extend_from_slice(&bytes),
                Message::Exit { code } => {
                    assert_eq!(self.frame(LIMIT), Some(Frame::End), "after Exit");
                    return (data, code);
                }
                Message::ResizeAck { .. } => {}
                other => panic!("{other:?} before Exit"),
            }
        }
    }

    /// Whether the daemon has closed the connection; nothing is read.
    pub fn is_hung_up(&self) -> bool {
        let mut fds = [PollFd::new(&self.stream, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::HUP)
    }
}

impl Swb {
    /// Creates a session with the keepty command line that runs `script` in a shell once its first
    /// Writer has attached.
    #[track_caller]
    pub fn keepty_start(&self, session: &str, script: &str) {
        let args = ["start", "-d", session, "--", "/bin/sh", "-c", script];
        let output = self.named("keepty", &args).output().expect("the program runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "keepty start failed ({}): {error}{}", output.status, self.log());
    }

    /// The same with its first Writer, at 80×24, after the script has written `ready` (best without a newline, so that
    /// nothing is left to read).
    #[track_caller]
    pub fn keepty_running(&self, session: &str, script: &str) -> KeeptyClient {
        self.keepty_start(session, script);
        let mut writer = self.keepty(session, KeeptyRole::Writer, 80, 24);
        assert_eq!(writer.ack(), (0, 80, 24));
        writer.until("ready");
        writer
    }
}
