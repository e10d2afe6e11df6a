//! Where a stream stands in the session's output, and how to go on from there after its loss.
//!
//! A picture of the screen is no output: its bytes do not count, and behind it the output goes on where the
//! picture was taken. Half a picture is worth nothing, so a stream that was lost in one, or before one that
//! was asked for, begins with a picture again.

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
    /// A picture was asked for, and nothing has come yet.
    awaits: bool,
}

impl Position {
    /// A stream whose first byte of output will be at `offset`; `awaits` if a picture comes before it.
    pub(crate) fn new(offset: Offset, awaits: bool) -> Self {
        Self { offset, picture: 0, awaits }
    }

    /// The end of the output that has come.
    pub(crate) fn offset(&self) -> Offset {
        self.offset
    }

    /// Takes note of bytes that have come.
    pub(crate) fn advance(&mut self, bytes: u64) {
        // A daemon that knows no pictures sends old output instead.
        self.awaits = false;
        let picture = bytes.min(self.picture);
        self.picture -= picture;
        self.offset.0 = self.offset.0.saturating_add(bytes - picture);
    }

    /// The next bytes are a picture of the screen at `offset`.
    pub(crate) fn repaint(&mut self, offset: Offset, bytes: u64) {
        *self = Self { offset, picture: bytes, awaits: false };
    }

    /// Takes an answer on a connection that is being made anew: the greeting's, or that to the request, which says where
    /// the output goes on. True for the latter.
    pub(crate) fn take_answer(&mut self, inbox: &Inbox, body: &[u8]) -> Result<bool, Failure> {
        if inbox.awaits_answers() {
            control::parse_reply::<HandshakeReply>(body)?;
            return Ok(false);
        }
        let attached: Attached = control::parse_reply(body)?;
        self.offset = attached.offset.unwrap_or(self.offset);
        Ok(true)
    }

    /// Something is missing before `offset`; a picture makes up for it if the client has asked for pictures.
    pub(crate) fn lagged(&mut self, offset: Offset, pictures: bool) {
        *self = Self { offset, picture: 0, awaits: pictures };
    }

    /// The connection is gone, and with it the rest of a picture.
    pub(crate) fn disconnected(&mut self) {
        self.awaits |= self.picture > 0;
        self.picture = 0;
    }

    /// Where to go on after a loss; nothing if only a picture can help.
    pub(crate) fn resume(&self) -> Option<Offset> {
        (self.picture == 0 && !self.awaits).then_some(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_does_not_count() {
        let mut position = Position::new(Offset(100), true);
        position.repaint(Offset(90), 10);
        position.advance(4);
        assert_eq!(position.offset(), Offset(90));
        position.advance(9);
        assert_eq!(position.offset(), Offset(93), "the rest is output");
        position.advance(7);
        assert_eq!(position.resume(), Some(Offset(100)));
    }

    #[test]
    fn half_a_picture_is_asked_for_again() {
        let mut position = Position::new(Offset(100), true);
        assert_eq!(position.resume(), None, "nothing has come");
        position.repaint(Offset(90), 10);
        assert_eq!(position.resume(), None);
        position.advance(9);
        assert_eq!(position.resume(), None);
        position.advance(1);
        assert_eq!(position.resume(), Some(Offset(90)));
        position.repaint(Offset(500), 3);
        assert_eq!(position.resume(), None, "also later");
        position.disconnected();
        assert_eq!(position.resume(), None);
        position.repaint(Offset(510), 2);
        position.advance(2);
        assert_eq!(position.resume(), Some(Offset(510)), "nothing is left of the lost one");
    }

    #[test]
    fn an_empty_picture_is_one() {
        let mut position = Position::new(Offset(0), true);
        position.repaint(Offset(7), 0);
        assert_eq!(position.resume(), Some(Offset(7)));
    }

    #[test]
    fn a_daemon_without_pictures_is_followed_too() {
        let mut position = Position::new(Offset(100), true);
        position.advance(5);
        assert_eq!(position.resume(), Some(Offset(105)));
        position.lagged(Offset(200), false);
        position.disconnected();
        assert_eq!(position.resume(), Some(Offset(200)));
    }

    #[test]
    fn what_is_missing_comes_as_a_picture() {
        let mut position = Position::new(Offset(100), false);
        position.lagged(Offset(900), true);
        assert_eq!(position.resume(), None);
        position.repaint(Offset(950), 1);
        position.advance(11);
        assert_eq!(position.resume(), Some(Offset(960)));
    }
}
