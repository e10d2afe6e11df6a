//! The position of a stream in the session's output, and how to resume there after a lost connection.
//!
//! A picture of the screen is not output: its bytes do not count, and after it the output continues at the offset
//! of the picture. Half a picture is useless, so a stream that was lost within one, or before a requested one
//! arrived, begins with a picture again.

use super::inbox::Inbox;
use crate::error::Failure;
use swb_types::Offset;
use swb_wire::control::{self, Attached, HandshakeReply};

/// The position of one client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    offset: Offset,
    /// Bytes of the picture that are still to come.
    picture: u64,
    /// A picture was requested, and nothing has arrived yet.
    awaits: bool,
    /// The latest picture was part of the screen only, and no output continues it.
    part: bool,
}

impl Position {
    /// A stream whose first byte of output will be at `offset`; `awaits` if a picture precedes it.
    pub(crate) fn new(offset: Offset, awaits: bool) -> Self {
        Self { offset, picture: 0, awaits, part: false }
    }

    /// The end of the output that has arrived.
    pub(crate) fn offset(&self) -> Offset {
        self.offset
    }

    /// Counts bytes that have arrived.
    pub(crate) fn advance(&mut self, bytes: u64) {
        // A daemon without support for pictures sends old output instead.
        self.awaits = false;
        let picture = bytes.min(self.picture);
        self.picture -= picture;
        self.offset.0 = self.offset.0.saturating_add(bytes - picture);
    }

    /// The next bytes are a picture of the screen at `offset`, or of a part of it.
    pub(crate) fn repaint(&mut self, offset: Offset, bytes: u64, whole: bool) {
        *self = Self { offset, picture: bytes, awaits: false, part: !whole };
    }

    /// Handles a reply on a connection that is being restored: to the handshake, or to the request, which contains the
    /// offset where the output continues. Returns the latter.
    pub(crate) fn take_answer(&mut self, inbox: &Inbox, body: &[u8]) -> Result<Option<Attached>, Failure> {
        if inbox.awaits_answers() {
            control::parse_reply::<HandshakeReply>(body)?;
            return Ok(None);
        }
        let attached: Attached = control::parse_reply(body)?;
        self.offset = attached.offset.unwrap_or(self.offset);
        Ok(Some(attached))
    }

    /// Output before `offset` was lost; a picture replaces it if the client has asked for pictures.
    pub(crate) fn lagged(&mut self, offset: Offset, pictures: bool) {
        *self = Self { offset, picture: 0, awaits: pictures, part: false };
    }

    /// The connection was lost, and with it the rest of a picture.
    pub(crate) fn disconnected(&mut self) {
        self.awaits |= self.picture > 0;
        self.picture = 0;
    }

    /// Whether a picture is on its way.
    pub(crate) fn is_in_picture(&self) -> bool {
        self.picture > 0 || self.awaits
    }

    /// Where to resume after a lost connection; `None` if a picture is needed.
    pub(crate) fn resume(&self) -> Option<Offset> {
        (self.picture == 0 && !self.awaits && !self.part).then_some(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_does_not_count() {
        let mut position = Position::new(Offset(100), true);
        position.repaint(Offset(90), 10, true);
        position.advance(4);
        assert_eq!(position.offset(), Offset(90));
        position.advance(9);
        assert_eq!(position.offset(), Offset(93), "the rest is output");
        position.advance(7);
        assert_eq!(position.resume(), Some(Offset(100)));
    }

    #[test]
    fn half_a_picture_is_requested_again() {
        let mut position = Position::new(Offset(100), true);
        assert_eq!(position.resume(), None, "nothing has arrived");
        position.repaint(Offset(90), 10, true);
        assert_eq!(position.resume(), None);
        position.advance(9);
        assert_eq!(position.resume(), None);
        position.advance(1);
        assert_eq!(position.resume(), Some(Offset(90)));
        position.repaint(Offset(500), 3, true);
        assert_eq!(position.resume(), None, "also later");
        position.disconnected();
        assert_eq!(position.resume(), None);
        position.repaint(Offset(510), 2, true);
        position.advance(2);
        assert_eq!(position.resume(), Some(Offset(510)), "nothing is left of the lost one");
    }

    #[test]
    fn part_of_the_screen_is_nothing_to_continue_from() {
        let mut position = Position::new(Offset(100), true);
        position.repaint(Offset(110), 5, false);
        position.advance(5);
        assert_eq!(position.resume(), None);
        position.repaint(Offset(120), 2, true);
        position.advance(2);
        assert_eq!(position.resume(), Some(Offset(120)));
    }

    #[test]
    fn an_empty_picture_counts() {
        let mut position = Position::new(Offset(0), true);
        position.repaint(Offset(7), 0, true);
        assert_eq!(position.resume(), Some(Offset(7)));
    }

    #[test]
    fn old_output_replaces_a_missing_picture() {
        let mut position = Position::new(Offset(100), true);
        position.advance(5);
        assert_eq!(position.resume(), Some(Offset(105)));
        position.lagged(Offset(200), false);
        position.disconnected();
        assert_eq!(position.resume(), Some(Offset(200)));
    }

    #[test]
    fn a_picture_replaces_lost_output() {
        let mut position = Position::new(Offset(100), false);
        position.lagged(Offset(900), true);
        assert_eq!(position.resume(), None);
        position.repaint(Offset(950), 1, true);
        position.advance(11);
        assert_eq!(position.resume(), Some(Offset(960)));
    }
}
