//! Bytes from the socket, cut into frames in place.
//!
//! Terminal data is never copied: it is returned as ranges of the buffer, as much of a frame as has arrived, and
//! written from there. Only short messages have to be complete before they are returned.

use crate::limits;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

/// Bytes in the length prefix of a frame.
const PREFIX: usize = 4;

/// How the frames of a stream begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Bytes between the length and the payload; the length counts them.
    pub(crate) tag: usize,
    /// Maximum length.
    pub(crate) max: usize,
    /// The tag of terminal data.
    pub(crate) data: &'static [u8],
}

/// The peer sent an invalid frame length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid frame length {0}")]
pub(crate) struct BadFrame(usize);

/// A frame other than terminal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InboxFrame {
    /// The bytes between length and payload; empty in command mode.
    pub(crate) tag: Vec<u8>,
    /// The payload.
    pub(crate) payload: Vec<u8>,
}

/// The receiving side of one connection after another.
#[derive(Debug)]
pub(crate) struct Inbox {
    layout: Layout,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes of the current data frame that are still to come.
    left: usize,
    /// Untagged replies that are still to come before the stream.
    answers: u8,
    /// The descriptor that came last.
    descriptor: Option<OwnedFd>,
}

impl Inbox {
    /// Creates an empty inbox for a connection that is in stream mode.
    pub(crate) fn new(layout: Layout) -> Self {
        Self {
            layout,
            buffer: vec![0; limits::INBOX].into(),
            start: 0,
            end: 0,
            left: 0,
            answers: 0,
            descriptor: None,
        }
    }

    /// Clears the buffer for a new connection that begins with this many untagged replies.
    pub(crate) fn restart(&mut self, answers: u8) {
        (self.start, self.end, self.left, self.answers) = (0, 0, 0, answers);
        self.descriptor = None;
    }

    /// Whether the connection is still in command mode.
    pub(crate) fn awaits_answers(&self) -> bool {
        self.answers > 0
    }

    /// Reads once from a socket; 0 is its end. Invalidates ranges returned before.
    pub(crate) fn fill(&mut self, socket: impl AsFd) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = recvmsg(socket, &mut [IoSliceMut::new(room)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        let descriptor = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
            _ => None,
        });
        self.descriptor = descriptor.or(self.descriptor.take());
        self.end += got.bytes;
        Ok(got.bytes)
    }

    /// Takes the descriptor that came with what was read.
    pub(crate) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptor.take()
    }

    /// Lets `fill` write up to `most` bytes of terminal data from elsewhere, if nothing is left from the socket. They are
    /// taken like those of a frame; returns how many there are. Invalidates ranges returned before.
    pub(crate) fn supply(&mut self, most: usize, fill: impl FnOnce(&mut [u8]) -> bool) -> Option<usize> {
        if !self.is_empty() {
            return None;
        }
        let count = most.min(self.buffer.len());
        let supplied = self.buffer.get_mut(..count).is_some_and(fill);
        if supplied {
            (self.start, self.end, self.left) = (0, count, count);
        }
        supplied.then_some(count)
    }

    /// Whether everything that has arrived was taken, and no frame has only begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end && self.left == 0 && self.answers == 0
    }

    /// Takes the next terminal data, unless a message comes first.
    pub(crate) fn next_data(&mut self) -> Result<Option<Range<usize>>, BadFrame> {
        while self.left == 0 {
            let Some((tag, length)) = self.header()? else {
                return Ok(None);
            };
            if self.answers > 0 || tag != self.layout.data {
                return Ok(None);
            }
            self.start += PREFIX + self.layout.tag;
            self.left = length - self.layout.tag;
        }
        let count = self.left.min(self.end - self.start);
        if count == 0 {
            return Ok(None);
        }
        let range = self.start..self.start + count;
        self.start += count;
        self.left -= count;
        Ok(Some(range))
    }

    /// Bytes of the current data frame that have not been taken.
    pub(crate) fn rest_of_frame(&self) -> usize {
        self.left
    }

    /// Takes the next message, if it is complete and no data comes before it.
    pub(crate) fn next_message(&mut self) -> Result<Option<InboxFrame>, BadFrame> {
        if self.left > 0 {
            return Ok(None);
        }
        let Some((tag, length)) = self.header()? else {
            return Ok(None);
        };
        if self.answers == 0 && tag == self.layout.data {
            return Ok(None);
        }
        let skip = if self.answers > 0 { 0 } else { self.layout.tag };
        let begin = self.start + PREFIX + skip;
        let end = self.start + PREFIX + length;
        if end > self.end {
            return Ok(None);
        }
        let tag = tag.get(..skip).unwrap_or_default().to_vec();
        let payload = self.bytes(begin..end).to_vec();
        self.answers = self.answers.saturating_sub(1);
        self.start = end;
        Ok(Some(InboxFrame { tag, payload }))
    }

    /// The bytes of a range returned since the last [`Inbox::fill`].
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or_default()
    }

    /// Tag and length of the frame that begins here, once they have arrived.
    fn header(&self) -> Result<Option<(&[u8], usize)>, BadFrame> {
        let waiting = self.bytes(self.start..self.end);
        let Some((length, rest)) = waiting.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        let least = if self.answers > 0 { 0 } else { self.layout.tag };
        if length < least || length > self.layout.max {
            return Err(BadFrame(length));
        }
        let Some(tag) = rest.get(..least) else {
            return Ok(None);
        };
        // A message has to fit the buffer as a whole; no message of the daemon is that long.
        if tag != self.layout.data && PREFIX + length > self.buffer.len() {
            return Err(BadFrame(length));
        }
        Ok(Some((tag, length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    const LAYOUT: Layout = Layout { tag: 1, max: 1 << 20, data: &[0] };

    fn frame(tag: &[u8], payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(tag.len() + payload.len()).unwrap();
        [&length.to_be_bytes(), tag, payload].concat()
    }

    /// Feeds the stream in chunks and returns the items that come out.
    fn read(stream: &[u8], chunk: usize, answers: u8) -> Result<Vec<String>, BadFrame> {
        let (mut sender, receiver) = UnixStream::pair().unwrap();
        let mut inbox = Inbox::new(LAYOUT);
        inbox.restart(answers);
        let mut seen = Vec::new();
        let mut data = Vec::new();
        for chunk in stream.chunks(chunk) {
            sender.write_all(chunk).unwrap();
            inbox.fill(&receiver).unwrap();
            loop {
                while let Some(range) = inbox.next_data()? {
                    data.extend_from_slice(inbox.bytes(range));
                }
                let Some(message) = inbox.next_message()? else {
                    break;
                };
                if !data.is_empty() {
                    seen.push(format!("data {}", String::from_utf8_lossy(&std::mem::take(&mut data))));
                }
                seen.push(format!("{:?} {}", message.tag, String::from_utf8_lossy(&message.payload)));
            }
        }
        if !data.is_empty() {
            seen.push(format!("data {}", String::from_utf8_lossy(&data)));
        }
        Ok(seen)
    }

    #[test]
    fn frames_are_found_in_chunks_of_any_size() {
        let stream = [
            frame(&[], b"hello"),
            frame(&[], b"attached"),
            frame(&[0], b"abc"),
            frame(&[0], b""),
            frame(&[0], b"def"),
            frame(&[1], b"event"),
            frame(&[9], b""),
            frame(&[0], b"rest"),
        ]
        .concat();
        for chunk in 1..=stream.len() {
            let seen = read(&stream, chunk, 2).unwrap();
            assert_eq!(
                seen,
                ["[] hello", "[] attached", "data abcdef", "[1] event", "[9] ", "data rest"],
                "{chunk}"
            );
        }
    }

    #[test]
    fn data_larger_than_the_buffer_passes() {
        let body = vec![b'x'; 3 * limits::INBOX];
        let (mut sender, receiver) = UnixStream::pair().unwrap();
        let stream = frame(&[0], &body);
        let writer = std::thread::spawn(move || sender.write_all(&stream).unwrap());
        let mut inbox = Inbox::new(LAYOUT);
        let mut total = 0;
        while inbox.fill(&receiver).unwrap() > 0 {
            while let Some(range) = inbox.next_data().unwrap() {
                total += range.len();
            }
        }
        writer.join().unwrap();
        assert_eq!(total, body.len());
    }

    #[test]
    fn invalid_lengths_end_the_connection() {
        assert_eq!(read(&[0, 0, 0, 0, 0], 5, 0), Err(BadFrame(0)));
        assert_eq!(read(&[0x7f, 0, 0, 0, 0], 5, 0), Err(BadFrame(0x7f00_0000)));
        let long = u32::try_from(limits::INBOX).unwrap().to_be_bytes();
        assert_eq!(read(&[&long[..], &[1]].concat(), 5, 0), Err(BadFrame(limits::INBOX)));
    }
}
