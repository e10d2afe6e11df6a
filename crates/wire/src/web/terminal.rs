//! An open terminal over a WebSocket (CO-71): the query that opens it, and its text messages. Binary messages are terminal
//! bytes.

use super::url::query_value;
use crate::control::{Attach, BadMessage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swb_types::{Offset, PtyId};

/// A text message of the server.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ServerMessage {
    /// The first message: where the output begins, and the terminal's size.
    Attached {
        /// Position of the first byte of output.
        offset: Offset,
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// The next bytes are not output but a picture of the screen.
    Repaint {
        /// Position at which the output continues after the picture.
        offset: Offset,
        /// Length of the picture.
        bytes: u64,
    },
    /// From here on the output is for a terminal of another size.
    Resized {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// The client was too slow and missed output.
    Lagged {
        /// Position at which the output continues.
        offset: Offset,
        /// Pieces of up to 64 KiB that it missed.
        dropped: u64,
    },
    /// Something that a person should know.
    Notice {
        /// A sentence.
        text: String,
    },
    /// The process has ended for good.
    Exited {
        /// Its exit code, or 128 plus the signal.
        code: i32,
    },
}

/// A text message of the client; unknown types are ignored.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ClientMessage {
    /// The client's window has this size.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// A type that this build does not know; only received.
    #[serde(other)]
    Unknown,
}

/// The attachment that a query describes.
pub fn attach(session: String, query: &str) -> Result<Attach, BadMessage> {
    let (watch, repaint) = (flag(query, "watch")?, flag(query, "repaint")?);
    Ok(Attach {
        session,
        pty: Some(PtyId(number(query, "pty")?.unwrap_or(0))),
        // A client that names no size takes the terminal as it is.
        cols: Some(number(query, "cols")?.unwrap_or(0)),
        rows: Some(number(query, "rows")?.unwrap_or(0)),
        resume: number(query, "resume")?.map(Offset),
        watch,
        repaint,
        // A watcher of another size gets cut-outs instead.
        sizes: !(watch && repaint),
        ..Attach::default()
    })
}

fn number<T: std::str::FromStr>(query: &str, name: &str) -> Result<Option<T>, BadMessage> {
    let Some(value) = query_value(query, name) else { return Ok(None) };
    // `FromStr` would accept a sign.
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|_| digits);
    number
        .map(Some)
        .ok_or_else(|| BadMessage::new(format!("the parameter '{name}' has to be a number in range")))
}

fn flag(query: &str, name: &str) -> Result<bool, BadMessage> {
    match query_value(query, name).as_deref() {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(_) => Err(BadMessage::new(format!("the parameter '{name}' has to be 0 or 1"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_describes_an_attachment() {
        let plain = attach("s".to_owned(), "session=s&token=t").unwrap();
        assert_eq!(
            (plain.pty, plain.resume, plain.watch, plain.repaint),
            (Some(PtyId(0)), None, false, false)
        );
        assert_eq!((plain.cols, plain.rows, plain.sizes), (Some(0), Some(0), true));
        let full =
            attach("s".to_owned(), "pty=2&resume=70000000000&repaint=1&watch=1&cols=80&rows=24").unwrap();
        assert_eq!((full.pty, full.resume), (Some(PtyId(2)), Some(Offset(70_000_000_000))));
        assert!(full.watch && full.repaint && !full.sizes);
        assert_eq!((full.cols, full.rows), (Some(80), Some(24)));
    }

    #[test]
    fn malformed_values_are_refused() {
        for query in [
            "pty=x",
            "pty=-1",
            "pty=",
            "pty=+1",
            "resume=1e3",
            "resume=-5",
            "resume=99999999999999999999",
            "repaint=yes",
            "watch=2",
            "watch=",
            "cols=70000",
            "rows=0x10",
        ] {
            assert!(attach("s".to_owned(), query).is_err(), "{query}");
        }
    }

    #[test]
    fn messages_have_a_type() {
        let text = |message: &ServerMessage| serde_json::to_string(message).unwrap();
        assert_eq!(
            text(&ServerMessage::Attached { offset: Offset(5), cols: 80, rows: 24 }),
            r#"{"type":"attached","offset":5,"cols":80,"rows":24}"#
        );
        assert_eq!(text(&ServerMessage::Exited { code: 3 }), r#"{"type":"exited","code":3}"#);
        let client = |text: &str| serde_json::from_str::<ClientMessage>(text).ok();
        let resize = ClientMessage::Resize { cols: 90, rows: 30 };
        assert_eq!(client(r#"{"type":"resize","cols":90,"rows":30}"#), Some(resize));
        assert_eq!(client(r#"{"type":"other","x":1}"#), Some(ClientMessage::Unknown));
        assert_eq!(client(r#"{"type":"resize","cols":"90","rows":30}"#), None);
    }
}
