//! Input on its way to the daemon.
//!
//! Bounded: when the daemon reads no more, [`Outbox::room`] reaches 0, standard input is not read further, and the
//! daemon's pings get no reply. A frame that was cut off by the end of its connection was never executed, so its
//! input is sent again on the next one.

use super::stream_protocol::StreamProtocol;
use crate::limits;
use std::io;
use std::os::fd::AsFd;
use swb_types::Size;

/// The sending side.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Input without frames around it.
    waiting: Vec<u8>,
    /// A message that is sent before the input.
    resize: Option<Size>,
    /// The frame that is being sent, and how much of it is sent.
    frame: Vec<u8>,
    sent: usize,
    /// The input in that frame, in case it has to be sent again.
    carried: Vec<u8>,
}

impl Outbox {
    /// Bytes of input that may be added.
    pub(crate) fn room(&self) -> usize {
        limits::OUTBOX.saturating_sub(self.waiting.len() + self.carried.len())
    }

    /// Adds input.
    pub(crate) fn push(&mut self, input: &[u8]) {
        self.waiting.extend_from_slice(input);
    }

    /// Queues a new size; replaces one that is still queued.
    pub(crate) fn resize(&mut self, size: Size) {
        self.resize = Some(size);
    }

    /// Whether something is queued.
    pub(crate) fn is_pending(&self) -> bool {
        self.sent < self.frame.len() || self.resize.is_some() || !self.waiting.is_empty()
    }

    /// Adds a message that is sent after everything else.
    pub(crate) fn finish_with(&mut self, speech: &dyn StreamProtocol, message: &[u8]) {
        self.frame_rest(speech);
        self.frame.extend_from_slice(message);
    }

    /// Adds the reply to a request of the peer. Drops it if the peer sends requests faster than it reads replies.
    pub(crate) fn answer(&mut self, speech: &dyn StreamProtocol, message: &[u8]) {
        if self.frame.len() < 2 * limits::OUTBOX {
            self.finish_with(speech, message);
        }
    }

    /// Sends what the socket accepts without blocking.
    pub(crate) fn flush(&mut self, socket: impl AsFd, speech: &dyn StreamProtocol) -> io::Result<()> {
        loop {
            if self.sent == self.frame.len() {
                self.frame.clear();
                self.carried.clear();
                self.sent = 0;
                self.frame_rest(speech);
            }
            let rest = self.frame.get(self.sent..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            match rustix::io::write(&socket, rest) {
                Ok(count) => self.sent += count,
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Prepares for another connection: a frame that was not sent completely will be sent again.
    pub(crate) fn disconnected(&mut self) {
        if self.sent < self.frame.len() {
            self.carried.append(&mut self.waiting);
            std::mem::swap(&mut self.carried, &mut self.waiting);
        }
        self.carried.clear();
        self.frame.clear();
        self.sent = 0;
        // The request to attach contains the size.
        self.resize = None;
    }

    fn frame_rest(&mut self, speech: &dyn StreamProtocol) {
        if let Some(size) = self.resize.take() {
            speech.put_resize(size, &mut self.frame);
        }
        if !self.waiting.is_empty() {
            speech.put_input(&self.waiting, &mut self.frame);
            self.carried.append(&mut self.waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::stream_protocol::ControlStream;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn input_is_framed_and_counted() {
        let (socket, mut peer) = UnixStream::pair().unwrap();
        let mut outbox = Outbox::default();
        assert!(!outbox.is_pending());
        outbox.push(b"ab");
        outbox.push(b"c");
        assert_eq!(outbox.room(), limits::OUTBOX - 3);
        outbox.flush(&socket, &ControlStream).unwrap();
        assert!(!outbox.is_pending());
        assert_eq!(outbox.room(), limits::OUTBOX);
        let mut frame = [0; 8];
        peer.read_exact(&mut frame).unwrap();
        assert_eq!(&frame, b"\0\0\0\x04\0abc");
    }

    #[test]
    fn replies_to_a_peer_that_does_not_read_are_bounded() {
        let mut outbox = Outbox::default();
        outbox.push(b"typed");
        (0..limits::OUTBOX).for_each(|_| outbox.answer(&ControlStream, b"answer"));
        assert!(outbox.frame.len() < 2 * limits::OUTBOX + 100, "{}", outbox.frame.len());
        assert!(outbox.frame.starts_with(b"\0\0\0\x06\0typedanswer"));
    }

    #[test]
    fn a_frame_that_was_cut_off_is_sent_again() {
        let (socket, peer) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut outbox = Outbox::default();
        // Fills the socket until a frame is stuck half-way.
        let chunk = vec![b'x'; limits::OUTBOX];
        while outbox.room() > 0 {
            outbox.push(&chunk[..outbox.room()]);
            outbox.flush(&socket, &ControlStream).unwrap();
            if outbox.is_pending() {
                break;
            }
        }
        let stuck = limits::OUTBOX - outbox.room();
        assert!(stuck > 0 && outbox.is_pending());
        outbox.push(b"y");
        drop(peer);
        outbox.disconnected();
        assert_eq!(outbox.waiting.len(), stuck + 1);
        assert_eq!(outbox.waiting.last(), Some(&b'y'));
    }
}
