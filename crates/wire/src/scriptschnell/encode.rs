//! Messages of the daemon to lines.

use super::error::ErrorInfo;
use super::server::ServerMessage;
use super::time::Time;
use serde::Serialize;
use swb_types::Timestamp;

/// Appends a message as one line (SS-4, SS-6).
pub fn encode(message: &ServerMessage, request_id: Option<&str>, now: Timestamp, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Plain<'a> {
        #[serde(flatten)]
        message: &'a ServerMessage,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<&'a str>,
        timestamp: Time,
    }
    #[derive(Serialize)]
    struct Failed<'a> {
        r#type: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<&'a str>,
        error: &'a ErrorInfo,
        timestamp: Time,
    }
    let timestamp = Time(now);
    match message {
        ServerMessage::Error(error) => {
            append(&Failed { r#type: "error", request_id, error, timestamp }, out);
        }
        message => append(&Plain { message, request_id, timestamp }, out),
    }
}

/// Appends lines as one batch (SS-76).
pub fn encode_batch<'a>(lines: impl IntoIterator<Item = &'a [u8]>, now: Timestamp, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"batch","data":{"messages":["#);
    for (at, line) in lines.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(line.trim_ascii_end());
    }
    out.extend_from_slice(format!("]}},\"timestamp\":\"{now}\"}}\n").as_bytes());
}

/// Bytes of a text in a line, not counting its quotes.
pub fn text_len(text: &str) -> usize {
    let len = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..32 => 6,
        _ => 1,
    };
    text.bytes().map(len).sum()
}

/// Appends a message of either side as one line.
pub(super) fn append(value: &impl Serialize, out: &mut Vec<u8>) {
    let start = out.len();
    // Writing to memory does not fail, and all maps in messages have text keys.
    if serde_json::to_writer(&mut *out, value).is_err() {
        debug_assert!(false, "a message without a JSON form");
        out.truncate(start);
        return;
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scriptschnell::{Closed, ErrorCode, StatusReply};

    fn line(message: &ServerMessage, request_id: Option<&str>) -> String {
        let mut out = Vec::new();
        encode(message, request_id, Timestamp(0), &mut out);
        String::from_utf8(out).unwrap()
    }

    // SS-4, SS-5, SS-6, SS-11, SS-12
    #[test]
    fn lines_match_the_specification() {
        assert_eq!(
            line(&ServerMessage::Ping, None),
            "{\"type\":\"ping\",\"timestamp\":\"1970-01-01T00:00:00.000Z\"}\n"
        );
        assert_eq!(
            line(&ServerMessage::ChatStop(StatusReply::of("stopped")), Some("a\n\"ü")),
            "{\"type\":\"chat_stop\",\"data\":{\"status\":\"stopped\"},\"request_id\":\"a\\n\\\"ü\",\
             \"timestamp\":\"1970-01-01T00:00:00.000Z\"}\n"
        );
        let error = ErrorInfo::new(ErrorCode::InvalidRequest, "no\nsense");
        assert_eq!(
            line(&ServerMessage::Error(error), None),
            "{\"type\":\"error\",\"error\":{\"code\":\"INVALID_REQUEST\",\"message\":\"no\\nsense\"},\
             \"timestamp\":\"1970-01-01T00:00:00.000Z\"}\n"
        );
    }

    // SS-76
    #[test]
    fn a_batch_is_one_line_that_contains_others() {
        let closed = ServerMessage::Closed(Closed { reason: "x".into(), reconnect: true });
        let lines = [line(&ServerMessage::Pong, Some("1")), line(&closed, None)];
        let mut out = Vec::new();
        encode_batch(lines.iter().map(String::as_bytes), Timestamp(0), &mut out);
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["data"]["messages"][0]["request_id"], "1");
        assert_eq!(value["data"]["messages"][1]["data"]["reason"], "x");
    }

    #[test]
    fn the_length_of_a_text_is_computed_without_encoding() {
        let all: String = (0..0x250u32).filter_map(char::from_u32).collect();
        assert_eq!(text_len(&all), serde_json::to_string(&all).unwrap().len() - 2);
    }
}
