//! Messages of a terminal's channel: each is exactly one frame of stream mode (CO-52), length included.

use crate::control::{ClientControl, StreamFrame, encode_control, parse_client_control, parse_stream};
use crate::frame::PREFIX;
use serde::{Deserialize, Serialize};

/// What a peer sends on a terminal's channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerFrame {
    /// Terminal bytes.
    Input(Vec<u8>),
    /// A control message that all transports have.
    Control(ClientControl),
    /// How many bytes of output the peer has handled since the channel was opened.
    Ack(u64),
    /// Something that we do not know, and ignore (CO-55).
    Unknown,
}

/// A message that is no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message has to be exactly one frame: its length, a tag, its content")]
pub struct BadFrame;

/// Reads a message of the peer.
pub fn parse_peer_frame(message: &[u8]) -> Result<PeerFrame, BadFrame> {
    Ok(match split(message)? {
        StreamFrame::Data(bytes) => PeerFrame::Input(bytes),
        StreamFrame::Control(body) => match (parse_client_control(&body), acknowledged(&body)) {
            (Some(control), _) => PeerFrame::Control(control),
            (None, Some(bytes)) => PeerFrame::Ack(bytes),
            (None, None) => PeerFrame::Unknown,
        },
        StreamFrame::Unknown(_) => PeerFrame::Unknown,
    })
}

/// Reads a message of the host.
pub fn parse_host_frame(message: &[u8]) -> Result<StreamFrame, BadFrame> {
    split(message)
}

/// The message that acknowledges output.
pub fn ack(bytes: u64) -> Vec<u8> {
    #[derive(Serialize)]
    struct Ack {
        cmd: &'static str,
        bytes: u64,
    }
    let mut message = Vec::new();
    // It is short, so it fits.
    let _encoded = encode_control(&Ack { cmd: "ack", bytes }, &mut message);
    message
}

fn split(message: &[u8]) -> Result<StreamFrame, BadFrame> {
    let (length, body) = message.split_first_chunk::<PREFIX>().ok_or(BadFrame)?;
    if body.is_empty() || u32::from_be_bytes(*length) as usize != body.len() {
        return Err(BadFrame);
    }
    Ok(parse_stream(body.to_vec()))
}

fn acknowledged(body: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Ack {
        cmd: String,
        bytes: u64,
    }
    serde_json::from_slice::<Ack>(body).ok().filter(|ack| ack.cmd == "ack").map(|ack| ack.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::encode_data;

    // CO-52
    #[test]
    fn a_message_is_one_frame() {
        let mut data = Vec::new();
        encode_data(b"ls\r", &mut data);
        assert_eq!(parse_peer_frame(&data), Ok(PeerFrame::Input(b"ls\r".to_vec())));
        assert_eq!(parse_peer_frame(&ack(17)), Ok(PeerFrame::Ack(17)));
        let mut resize = Vec::new();
        encode_control(&ClientControl::Resize { cols: 80, rows: 24 }, &mut resize).unwrap();
        assert_eq!(
            parse_peer_frame(&resize),
            Ok(PeerFrame::Control(ClientControl::Resize { cols: 80, rows: 24 }))
        );
        assert_eq!(parse_peer_frame(&[0, 0, 0, 1, 9]), Ok(PeerFrame::Unknown));
        assert_eq!(parse_peer_frame(&[0, 0, 0, 3, 1, b'{', b'}']), Ok(PeerFrame::Unknown));
    }

    #[test]
    fn anything_else_is_none() {
        let mut two = Vec::new();
        encode_data(b"a", &mut two);
        encode_data(b"b", &mut two);
        for bad in [&[][..], &[0], &[0, 0, 0, 0], &[0, 0, 0, 2, 0], &[0, 0, 0, 1, 0, 0], &[255; 9], &two] {
            assert_eq!(parse_peer_frame(bad), Err(BadFrame), "{bad:?}");
        }
    }
}
