//! The two protocols an attachment can use, reduced to what the loop needs.

use super::inbox::{InboxFrame, Layout};
use swb_types::{Offset, Size};
use swb_wire::control::{ExitCause, NotificationKind};
use swb_wire::{control, keepty};

/// A message of the daemon other than terminal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamNotice {
    /// The process has ended with this code.
    Exited(i32, Option<ExitCause>),
    /// The daemon ends; the session continues.
    Detached,
    /// All requested output has been sent.
    End,
    /// Output was lost because this client is too slow; the stream continues at the offset.
    Lagged(Option<Offset>),
    /// The next bytes are a picture of the screen at the offset, where the output continues if the picture is whole.
    Repaint { offset: Offset, bytes: u64, whole: bool },
    /// The output from this offset on is to be read in the memory that came with the message.
    Direct(Offset),
    /// The output is no longer to be read there.
    Indirect,
    /// The session's terminal has a new size from here on: columns, rows.
    Resized(u16, u16),
    /// A notification for the user.
    Notification { session: String, kind: NotificationKind, text: String },
    /// A ping that needs a reply.
    Ping,
    /// The reply to our own ping.
    Pong,
    /// A message that has no effect here.
    Nothing,
}

/// One protocol in stream mode.
pub(crate) trait StreamProtocol: Sync {
    /// How its frames begin.
    fn layout(&self) -> Layout;
    /// Decodes a frame other than terminal data.
    fn understand(&self, message: &InboxFrame) -> StreamNotice;
    /// Appends input.
    fn put_input(&self, input: &[u8], out: &mut Vec<u8>);
    /// Appends a change of size.
    fn put_resize(&self, size: Size, out: &mut Vec<u8>);
    /// The message of a client that detaches.
    fn goodbye(&self) -> Vec<u8>;
    /// The reply to [`StreamNotice::Ping`].
    fn pong(&self) -> Vec<u8>;
    /// Whether a watcher asks for a redraw by sending its size once more.
    fn size_redraws(&self) -> bool;
}

/// The control socket.
#[derive(Debug)]
pub(crate) struct ControlStream;

/// The socket of one keepty session.
#[derive(Debug)]
pub(crate) struct KeeptyStream;

impl StreamProtocol for ControlStream {
    fn layout(&self) -> Layout {
        Layout { tag: 1, max: control::MAX_FRAME, data: &[0] }
    }

    fn understand(&self, message: &InboxFrame) -> StreamNotice {
        // CO-55: tags and events this client does not know are ignored.
        let event = (message.tag == [1]).then(|| control::parse_event(&message.payload)).flatten();
        match event {
            Some(control::StreamEvent::PtyExited { code, cause }) => StreamNotice::Exited(code, cause),
            Some(control::StreamEvent::Detached) => StreamNotice::Detached,
            Some(control::StreamEvent::End { .. }) => StreamNotice::End,
            Some(control::StreamEvent::Lagged { offset, .. }) => StreamNotice::Lagged(offset),
            Some(control::StreamEvent::Repaint { offset, bytes, part }) => {
                StreamNotice::Repaint { offset, bytes, whole: !part }
            }
            Some(control::StreamEvent::Direct { offset }) => StreamNotice::Direct(offset),
            Some(control::StreamEvent::Indirect) => StreamNotice::Indirect,
            Some(control::StreamEvent::Resized { cols, rows, .. }) => StreamNotice::Resized(cols, rows),
            Some(control::StreamEvent::Notification { session, notification, text }) => {
                StreamNotice::Notification { session, kind: notification, text }
            }
            Some(control::StreamEvent::PtyRestarting { .. }) | None => StreamNotice::Nothing,
        }
    }

    fn put_input(&self, input: &[u8], out: &mut Vec<u8>) {
        control::encode_data(input, out);
    }

    fn put_resize(&self, size: Size, out: &mut Vec<u8>) {
        put_control(&control::ClientControl::Resize { cols: size.cols(), rows: size.rows() }, out);
    }

    fn goodbye(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_control(&control::ClientControl::Detach, &mut out);
        out
    }

    fn pong(&self) -> Vec<u8> {
        Vec::new()
    }

    fn size_redraws(&self) -> bool {
        false
    }
}

pub(super) fn put_control(control: &control::ClientControl, out: &mut Vec<u8>) {
    control::encode_control(control, out).expect("a few numbers always fit a frame");
}

impl StreamProtocol for KeeptyStream {
    fn layout(&self) -> Layout {
        // Version 1, kind 4 (KP-4, KP-6).
        Layout { tag: 2, max: keepty::MAX_PAYLOAD + 2, data: &[1, 4] }
    }

    fn understand(&self, message: &InboxFrame) -> StreamNotice {
        let mut decoder = keepty::Decoder::new();
        let length = u32::try_from(message.tag.len() + message.payload.len()).unwrap_or(u32::MAX);
        decoder.push(&length.to_be_bytes());
        decoder.push(&message.tag);
        decoder.push(&message.payload);
        match decoder.next() {
            Ok(Some(keepty::Message::Exit { code })) => StreamNotice::Exited(code, None),
            Ok(Some(keepty::Message::Ping)) => StreamNotice::Ping,
            Ok(Some(keepty::Message::Pong)) => StreamNotice::Pong,
            _ => StreamNotice::Nothing,
        }
    }

    fn put_input(&self, input: &[u8], out: &mut Vec<u8>) {
        keepty::encode(&keepty::Message::Input(input.to_vec()), out);
    }

    fn put_resize(&self, size: Size, out: &mut Vec<u8>) {
        keepty::encode(&keepty::Message::Resize { cols: size.cols(), rows: size.rows() }, out);
    }

    fn goodbye(&self) -> Vec<u8> {
        // keepty has no such message; a client detaches by closing the connection (KP-28).
        Vec::new()
    }

    fn pong(&self) -> Vec<u8> {
        let mut out = Vec::new();
        keepty::encode(&keepty::Message::Pong, &mut out);
        out
    }

    // KP-36
    fn size_redraws(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coop_notice(tag: u8, json: &str) -> StreamNotice {
        ControlStream.understand(&InboxFrame { tag: vec![tag], payload: json.as_bytes().to_vec() })
    }

    #[test]
    fn coop_events_are_understood() {
        assert_eq!(coop_notice(1, r#"{"event":"pty_exited","code":137}"#), StreamNotice::Exited(137, None));
        assert_eq!(
            coop_notice(1, r#"{"event":"pty_exited","code":143,"cause":"killed"}"#),
            StreamNotice::Exited(143, Some(ExitCause::Killed))
        );
        assert_eq!(coop_notice(1, r#"{"event":"detached"}"#), StreamNotice::Detached);
        assert_eq!(
            coop_notice(1, r#"{"event":"lagged","dropped":3,"offset":9}"#),
            StreamNotice::Lagged(Some(Offset(9)))
        );
        assert_eq!(coop_notice(1, r#"{"event":"end","offset":9}"#), StreamNotice::End);
        assert_eq!(
            coop_notice(1, r#"{"event":"repaint","offset":9,"bytes":5}"#),
            StreamNotice::Repaint { offset: Offset(9), bytes: 5, whole: true }
        );
        assert_eq!(
            coop_notice(1, r#"{"event":"repaint","offset":9,"bytes":5,"part":true}"#),
            StreamNotice::Repaint { offset: Offset(9), bytes: 5, whole: false }
        );
        assert_eq!(
            coop_notice(1, r#"{"event":"resized","cols":80,"rows":24,"generation":1}"#),
            StreamNotice::Resized(80, 24)
        );
        assert_eq!(
            coop_notice(
                1,
                r#"{"event":"notification","session":"a","notification":"ended","text":"a ended"}"#
            ),
            StreamNotice::Notification {
                session: "a".to_owned(),
                kind: NotificationKind::Ended,
                text: "a ended".to_owned()
            }
        );
        assert_eq!(coop_notice(1, r#"{"event":"pty_restarting","delay_ms":1000}"#), StreamNotice::Nothing);
        assert_eq!(coop_notice(1, r#"{"ok":true}"#), StreamNotice::Nothing);
        assert_eq!(coop_notice(7, r#"{"event":"detached"}"#), StreamNotice::Nothing);
    }

    #[test]
    fn keepty_messages_are_understood() {
        let notice = |kind: u8, payload: &[u8]| {
            KeeptyStream.understand(&InboxFrame { tag: vec![1, kind], payload: payload.to_vec() })
        };
        assert_eq!(notice(10, &[0, 0, 0, 5]), StreamNotice::Exited(5, None));
        assert_eq!(notice(12, &[]), StreamNotice::Ping);
        assert_eq!(notice(6, &[0; 8]), StreamNotice::Nothing);
        assert_eq!(notice(99, &[]), StreamNotice::Nothing);
    }

    #[test]
    fn data_has_the_tag_the_layout_names() {
        let mut out = Vec::new();
        ControlStream.put_input(b"x", &mut out);
        assert_eq!(&out[4..5], ControlStream.layout().data);
        let mut out = Vec::new();
        keepty::encode(&keepty::Message::Output(b"x".to_vec()), &mut out);
        assert_eq!(&out[4..6], KeeptyStream.layout().data);
    }
}
