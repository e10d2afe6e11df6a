//! Sends frames to one client, with output straight from the ring.
//!
//! Usually nothing is copied between ring and socket: a frame's head and the bytes in shared memory are sent in one
//! system call, and afterwards the ring is checked whether the writer overran them meanwhile. Only what a full socket
//! leaves of a frame is copied, so that the frame can be finished even if the ring is overwritten; and a client that lags
//! far behind, near the end that is being overwritten, is served from a copy that was validated first.

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use swb_engine::Cursor;
use swb_types::Offset;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Why output was not sent.
#[derive(Debug)]
pub(crate) enum OutputError {
    /// The bytes were overwritten; nothing was sent.
    Lost,
    /// The client cannot be reached any more, or got bytes that were overwritten while they were sent.
    Broken,
}

impl From<io::Error> for OutputError {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// The writing half of a connection.
#[derive(Debug)]
pub(crate) struct Outlet<'a> {
    stream: &'a UnixStream,
}

impl<'a> Outlet<'a> {
    pub(crate) fn new(stream: &'a UnixStream) -> Self {
        Self { stream }
    }

    /// Sends all of `bytes`, however long the client takes to read them.
    pub(crate) async fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = &rest[self.write(&[IoSlice::new(rest)]).await?..];
        }
        Ok(())
    }

    /// Sends all of `bytes`, and a descriptor with the first of them.
    pub(crate) async fn send_with(&self, bytes: &[u8], descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let sent = self.stream.async_io(Interest::WRITABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            let descriptors = [descriptor];
            control.push(SendAncillaryMessage::ScmRights(&descriptors));
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            Ok(sendmsg(self.stream, &[IoSlice::new(bytes)], &mut control, flags)?)
        });
        let sent = sent.await?;
        self.send(bytes.get(sent..).unwrap_or_default()).await
    }

    /// Sends the output from the cursor up to `to` after `head`, and moves the cursor.
    pub(crate) async fn send_output(
        &self,
        head: &[u8],
        cursor: &mut Cursor,
        to: Offset,
    ) -> Result<(), OutputError> {
        let from = cursor.offset();
        let sent = self.send_range(head, cursor, from, to).await;
        if sent.is_ok() {
            cursor.advance(to - from);
        }
        sent
    }

    async fn send_range(
        &self,
        head: &[u8],
        cursor: &Cursor,
        from: Offset,
        to: Offset,
    ) -> Result<(), OutputError> {
        let ring = cursor.ring().ok_or(OutputError::Lost)?;
        if ring.head() - from > ring.keep() / 2 {
            let mut copy = head.to_vec();
            if !ring.copy(from, to, &mut copy) {
                return Err(OutputError::Lost);
            }
            return Ok(self.send(&copy).await?);
        }
        let total = head.len() + (to - from) as usize;
        let written = loop {
            let [first, second] = ring.pieces(from, to).ok_or(OutputError::Lost)?;
            match self.stream.try_write_vectored(&[IoSlice::new(head), first, second]) {
                Ok(0) => return Err(OutputError::Broken),
                Ok(n) => break n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stream.writable().await?,
                Err(error) => return Err(error.into()),
            }
        };
        // Only now is it known that the bytes sent from the ring were valid.
        if !ring.intact(from) {
            return Err(OutputError::Broken);
        }
        if written < total {
            let mut rest = head.get(written..).unwrap_or_default().to_vec();
            let sent = written.saturating_sub(head.len()) as u64;
            if !ring.copy(from + sent, to, &mut rest) {
                return Err(OutputError::Broken);
            }
            self.send(&rest).await?;
        }
        Ok(())
    }

    async fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        loop {
            match self.stream.try_write_vectored(pieces) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stream.writable().await?,
                done => return done,
            }
        }
    }
}
