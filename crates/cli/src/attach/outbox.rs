//! Input on its way to the daemon.
//!
//! Bounded: when the daemon reads no more, [`Outbox::room`] reaches 0, standard input is not read further, and the
//! daemon's pings get no reply. Bytes are numbered, and those that a daemon may not have written to the terminal yet are
//! kept: on the next connection the daemon reports how far it came, and the rest is sent again. A daemon that does not
//! count gets only the frame again that was cut off by the end of the connection, since it was never executed.

use super::stream_protocol::StreamProtocol;
use crate::limits;
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use swb_types::Size;
use swb_wire::control::InputCount;

/// The sending side.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Input without frames around it: what may have to be sent again, then what is still to be sent.
    input: VecDeque<u8>,
    /// Number of the first byte of it.
    first: u64,
    /// Number of the first byte that is in no frame yet.
    next: u64,
    /// A message that is sent before the input.
    resize: Option<Size>,
    /// The frame that is being sent, and how much of it is sent.
    frame: Vec<u8>,
    sent: usize,
    /// Bytes of input in that frame.
    carried: usize,
}

impl Outbox {
    /// Bytes of input that may be added.
    pub(crate) fn room(&self) -> usize {
        limits::OUTBOX.saturating_sub(self.unsent() + self.carried)
    }

    /// Adds input.
    pub(crate) fn push(&mut self, input: &[u8]) {
        self.input.extend(input);
    }

    /// Queues a new size; replaces one that is still queued.
    pub(crate) fn resize(&mut self, size: Size) {
        self.resize = Some(size);
    }

    /// Whether something is queued.
    pub(crate) fn is_pending(&self) -> bool {
        self.sent < self.frame.len() || self.resize.is_some() || self.unsent() > 0
    }

    /// Adds a message that is sent after everything else.
    pub(crate) fn finish_with(&mut self, protocol: &dyn StreamProtocol, message: &[u8]) {
        self.frame_rest(protocol);
        self.frame.extend_from_slice(message);
    }

    /// Adds the reply to a request of the peer. Drops it if the peer sends requests faster than it reads replies.
    pub(crate) fn reply(&mut self, protocol: &dyn StreamProtocol, message: &[u8]) {
        if self.frame.len() < 2 * limits::OUTBOX {
            self.finish_with(protocol, message);
        }
    }

    /// Sends what the socket accepts without blocking.
    pub(crate) fn flush(&mut self, socket: impl AsFd, protocol: &dyn StreamProtocol) -> io::Result<()> {
        loop {
            if self.sent == self.frame.len() {
                self.frame.clear();
                (self.carried, self.sent) = (0, 0);
                self.forget_old();
                self.frame_rest(protocol);
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
            self.next = self.next.saturating_sub(self.carried as u64);
        }
        self.frame.clear();
        (self.carried, self.sent) = (0, 0);
        // The request to attach contains the size.
        self.resize = None;
    }

    /// Continues where the daemon has come to, if it counts; returns how many bytes may not have arrived.
    pub(crate) fn resume(&mut self, count: Option<InputCount>) -> u64 {
        let Some(count) = count else { return 0 };
        if count.new {
            // Nothing is known of what was sent: to type it twice would be worse than not at all.
            let sent = self.framed().min(self.input.len());
            self.input.drain(..sent);
            (self.first, self.next) = (0, 0);
            return sent as u64;
        }
        let end = self.first.saturating_add(self.input.len() as u64);
        self.next = count.written.clamp(self.first, end);
        self.first.saturating_sub(count.written).saturating_add(count.doubtful)
    }

    /// Bytes that are in no frame yet.
    fn unsent(&self) -> usize {
        self.input.len().saturating_sub(self.framed())
    }

    /// Bytes at the beginning of the input that were in a frame.
    fn framed(&self) -> usize {
        usize::try_from(self.next.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// Forgets input that a daemon must have written.
    fn forget_old(&mut self) {
        let old = self.framed().saturating_sub(limits::INPUT_KEPT).min(self.input.len());
        self.input.drain(..old);
        self.first += old as u64;
    }

    fn frame_rest(&mut self, protocol: &dyn StreamProtocol) {
        if let Some(size) = self.resize.take() {
            protocol.put_resize(size, &mut self.frame);
        }
        let unsent: Vec<u8> = self.input.iter().skip(self.framed()).copied().collect();
        if !unsent.is_empty() {
            protocol.put_input(&unsent, &mut self.frame);
            self.carried += unsent.len();
            self.next += unsent.len() as u64;
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
        (0..limits::OUTBOX).for_each(|_| outbox.reply(&ControlStream, b"answer"));
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
        assert_eq!(outbox.unsent(), stuck + 1);
        assert_eq!(outbox.input.back(), Some(&b'y'));
    }

    /// What a socket's peer gets in one read, without the header of its frame.
    fn sent(outbox: &mut Outbox) -> Vec<u8> {
        let (socket, mut peer) = UnixStream::pair().unwrap();
        outbox.flush(&socket, &ControlStream).unwrap();
        peer.set_nonblocking(true).unwrap();
        let mut frame = vec![0; limits::OUTBOX];
        let count = peer.read(&mut frame).unwrap_or(5);
        frame[5..count].to_vec()
    }

    #[test]
    fn input_that_was_not_written_is_sent_again() {
        let mut outbox = Outbox::default();
        outbox.push(b"abcdef");
        assert_eq!(sent(&mut outbox), b"abcdef");
        outbox.disconnected();
        assert_eq!(outbox.resume(Some(InputCount { written: 4, ..InputCount::default() })), 0);
        outbox.push(b"gh");
        assert_eq!(sent(&mut outbox), b"efgh");
        outbox.disconnected();
        assert_eq!(
            outbox.resume(Some(InputCount { written: 8, doubtful: 2, ..InputCount::default() })),
            2,
            "the user has to know"
        );
        assert_eq!(sent(&mut outbox), b"");
        outbox.disconnected();
        assert_eq!(outbox.resume(None), 0);
        assert_eq!(sent(&mut outbox), b"", "a daemon that does not count gets nothing twice");
    }

    #[test]
    fn input_of_an_unknown_stream_is_not_sent_again() {
        let mut outbox = Outbox::default();
        outbox.push(b"abcdef");
        assert_eq!(sent(&mut outbox), b"abcdef");
        outbox.disconnected();
        outbox.push(b"gh");
        assert_eq!(outbox.resume(Some(InputCount { new: true, ..InputCount::default() })), 6);
        assert_eq!(sent(&mut outbox), b"gh");
        outbox.disconnected();
        outbox.push(b"i");
        assert_eq!(outbox.resume(Some(InputCount { written: 1, ..InputCount::default() })), 0);
        assert_eq!(sent(&mut outbox), b"hi", "the count has begun again");
    }

    #[test]
    fn input_is_kept_for_a_while() {
        let mut outbox = Outbox::default();
        let chunk = vec![b'x'; limits::OUTBOX / 2];
        let total = limits::INPUT_KEPT + 8 * chunk.len();
        for _ in 0..total / chunk.len() {
            outbox.push(&chunk);
            sent(&mut outbox);
        }
        assert!(outbox.input.len() <= limits::INPUT_KEPT + chunk.len());
        assert!(
            outbox.resume(Some(InputCount::default())) > 0,
            "the beginning is gone, and that is reported"
        );
    }
}
