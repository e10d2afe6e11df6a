//! `swb logs`: show the output of a session.

use crate::args;
use crate::attach::Position;
use crate::attach::inbox::Inbox;
use crate::attach::stream_protocol::{ControlStream, StreamNotice, StreamProtocol};
use crate::console::print_bytes;
use crate::context::Context;
use crate::error::{Failure, FailureKind, Outcome};
use crate::session;
use rustix::stdio::stdout;
use rustix::termios::isatty;
use serde::Serialize;
use std::os::unix::net::UnixStream;
use swb_types::{Offset, PtyId};
use swb_vt::ColourFilter;
use swb_wire::control::{Attach, Operation, Until};

/// Bytes of old output requested: more than any ring holds, so always everything.
const EVERYTHING: u64 = 1 << 40;

/// The output of `logs --json`.
#[derive(Debug, Serialize)]
struct LogPrinter {
    session: String,
    pty: PtyId,
    /// Position of the end of `text` in the session's output.
    offset: Offset,
    /// The output; bytes that are not valid UTF-8 are replaced.
    text: String,
}

/// Prints old output, and then new output with `--follow`.
pub(crate) fn run(context: &Context, args: args::LogsArgs) -> Outcome {
    if args.follow && context.json {
        return Err(Failure::usage("--follow and --json cannot be combined"));
    }
    let session = context.session_or_reported(args.name)?;
    if args.raw && context.json {
        return Err(Failure::usage("--raw and --json cannot be combined"));
    }
    let (mut bytes, end) = fetch(context, &session, args.pty)?;
    let mut filter = (!args.raw && !context.json && isatty(stdout())).then(ColourFilter::new);
    if let Some(filter) = &mut filter {
        let mut shown = Vec::with_capacity(bytes.len());
        filter.feed(&bytes, &mut shown);
        bytes = shown;
    }
    let shown = args.tail.map_or(bytes.as_slice(), |lines| tail(&bytes, lines));
    if context.json {
        let text = String::from_utf8_lossy(shown).into_owned();
        context.print_result(&LogPrinter { session, pty: args.pty, offset: end, text }, |_| String::new())?;
        return Ok(0);
    }
    print_bytes(shown)?;
    if args.follow {
        return session::follow(context, &session, args.pty, end, filter);
    }
    if let Some(mut filter) = filter {
        let mut rest = Vec::new();
        filter.finish(&mut rest);
        print_bytes(&rest)?;
    }
    Ok(0)
}

/// Fetches all available output and the position of its end.
fn fetch(context: &Context, session: &str, pty: PtyId) -> Result<(Vec<u8>, Offset), Failure> {
    let request = Operation::Attach(Attach {
        session: session.to_owned(),
        pty: Some(pty),
        watch: true,
        history: Some(EVERYTHING),
        offsets: true,
        until: Some(Until::Head),
        ..Attach::default()
    });
    let (socket, attached) = session::open_stream(context, &request, None)?;
    read_to_end(&socket, attached.offset.unwrap_or_default())
}

fn read_to_end(socket: &UnixStream, begin: Offset) -> Result<(Vec<u8>, Offset), Failure> {
    let mut inbox = Inbox::new(ControlStream.layout());
    let mut bytes = Vec::new();
    let mut position = Position::new(begin, false);
    let odd = |error: crate::attach::inbox::BadFrame| Failure::general(error.to_string());
    loop {
        while let Some(range) = inbox.next_data().map_err(odd)? {
            position.advance(range.len() as u64);
            bytes.extend_from_slice(inbox.bytes(range));
        }
        if let Some(message) = inbox.next_message().map_err(odd)? {
            match ControlStream.understand(&message) {
                StreamNotice::End | StreamNotice::Exited(..) | StreamNotice::Detached => {
                    return Ok((bytes, position.offset()));
                }
                StreamNotice::Lagged(Some(offset)) => position.lagged(offset, false),
                _ => {}
            }
            continue;
        }
        if inbox.fill(socket)? == 0 {
            return Err(Failure::new(
                FailureKind::Disconnected,
                "the connection to the daemon was lost in the middle of the output",
            )
            .hint("try again; sessions are not affected"));
        }
    }
}

/// The last lines of a text; an incomplete last line counts.
fn tail(bytes: &[u8], lines: usize) -> &[u8] {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let begin = match lines.checked_sub(1) {
        None => bytes.len(),
        Some(skip) => memchr::memrchr_iter(b'\n', body).nth(skip).map_or(0, |at| at + 1),
    };
    bytes.get(begin..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use swb_wire::control::{self, StreamEvent};

    #[test]
    fn a_gap_in_the_output_counts() {
        let (mut daemon, socket) = UnixStream::pair().unwrap();
        let mut stream = Vec::new();
        control::encode_data(b"abc", &mut stream);
        control::encode_control(&StreamEvent::Lagged { dropped: 9, offset: Some(Offset(103)) }, &mut stream)
            .unwrap();
        control::encode_data(b"de", &mut stream);
        control::encode_control(&StreamEvent::End { offset: Offset(105) }, &mut stream).unwrap();
        daemon.write_all(&stream).unwrap();
        let (bytes, end) = read_to_end(&socket, Offset(10)).unwrap();
        assert_eq!((bytes.as_slice(), end), (&b"abcde"[..], Offset(105)), "following starts there");
    }

    #[test]
    fn the_tail_has_whole_lines() {
        assert_eq!(tail(b"a\nb\nc\n", 2), b"b\nc\n");
        assert_eq!(tail(b"a\nb\nc", 2), b"b\nc");
        assert_eq!(tail(b"a\nb\n", 9), b"a\nb\n");
        assert_eq!(tail(b"a\nb\n", 0), b"");
        assert_eq!(tail(b"", 3), b"");
        assert_eq!(tail(b"\n\n", 1), b"\n");
    }
}
