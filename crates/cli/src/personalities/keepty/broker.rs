//! `keepty broker`: a session in the foreground (KP-53).
//!
//! The session itself lives in our daemon like any other. This process only watches, exits with the child's
//! exit code, and passes SIGTERM and SIGINT on as a request to end (KP-48).

use super::connection::KeeptyConnection;
use super::{BrokerArgs, create};
use crate::attach::AttachEnd;
use crate::attach::inbox::Inbox;
use crate::attach::stream_protocol::{KeeptyStream, StreamNotice, StreamProtocol};
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::limits;
use crate::terminal::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::time::Instant;
use swb_types::Size;
use swb_wire::keepty::{KeeptyRole, Message};

/// Starts the session and watches it until it ends.
pub(super) fn run(context: &Context, args: BrokerArgs) -> Outcome {
    // KP-47: closing the terminal does not end the session.
    let mut signals = Signals::catch(&[SIGTERM, SIGINT, SIGHUP])?;
    create(context, &args.session_id, args.what)?;
    let mut asked = false;
    let mut lost: Option<Instant> = None;
    loop {
        match KeeptyConnection::open(context, &args.session_id, KeeptyRole::Monitor, Size::DEFAULT) {
            Ok((link, _)) => {
                lost = None;
                if let Some(code) = watch(link, &mut signals, &mut asked)? {
                    return Ok(AttachEnd::Exited(code).exit_code());
                }
            }
            Err(failure) if lost.is_some_and(|since| since.elapsed() > limits::KEEPTY_RETURN) => {
                return Err(failure);
            }
            Err(_) => {}
        }
        lost.get_or_insert_with(Instant::now);
        let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(limits::KEEPTY_RETURN_PAUSE.subsec_nanos()) };
        let _ = poll(&mut [], Some(&pause));
    }
}

/// Watches until the session ends, then returns its exit code, or until the connection is lost.
fn watch(
    mut link: KeeptyConnection,
    signals: &mut Signals,
    asked: &mut bool,
) -> Result<Option<i32>, Failure> {
    let mut inbox = Inbox::new(KeeptyStream.layout());
    if *asked {
        ask_to_end(&mut link);
    }
    loop {
        let (signal, readable) = {
            let mut fds = [PollFd::new(&*signals, PollFlags::IN), PollFd::new(&link, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            (!fds[0].revents().is_empty(), !fds[1].revents().is_empty())
        };
        if signal && signals.take().iter().any(|number| *number != SIGHUP) {
            *asked = true;
            ask_to_end(&mut link);
        }
        if !readable {
            continue;
        }
        if !matches!(inbox.fill(&link), Ok(count) if count > 0) {
            return Ok(None);
        }
        if let Some(code) = take_all(&mut inbox, &mut link)? {
            return Ok(Some(code));
        }
    }
}

fn ask_to_end(link: &mut KeeptyConnection) {
    // If sending fails, the session has ended and its last message holds the exit code; or its daemon has ended,
    // and the next one gets the request again.
    let _sent = link.send(&Message::Shutdown);
}

/// Handles everything that has arrived; ignores output.
fn take_all(inbox: &mut Inbox, link: &mut KeeptyConnection) -> Result<Option<i32>, Failure> {
    let odd = |error: crate::attach::inbox::BadFrame| Failure::general(error.to_string());
    loop {
        while inbox.next_data().map_err(odd)?.is_some() {}
        let Some(message) = inbox.next_message().map_err(odd)? else {
            return Ok(None);
        };
        match KeeptyStream.understand(&message) {
            StreamNotice::Exited(code, _) => return Ok(Some(code)),
            // If the peer is gone, the end of its stream shows that, and may hold the exit code before.
            StreamNotice::Ping => drop(link.send(&Message::Pong)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use swb_wire::keepty::encode;

    #[test]
    fn a_daemon_that_dies_during_a_request_is_reconnected() {
        let (mut daemon, socket) = UnixStream::pair().unwrap();
        let mut sent = Vec::new();
        encode(&Message::Ping, &mut sent);
        daemon.write_all(&sent).unwrap();
        drop(daemon);
        let mut link = KeeptyConnection::over(socket);
        let mut inbox = Inbox::new(KeeptyStream.layout());
        inbox.fill(&link).unwrap();
        assert_eq!(take_all(&mut inbox, &mut link).unwrap(), None);
    }
}
