//! Desktop notifications (CH-9): best effort, in a thread of their own, so that a bus that hangs or is gone does no harm.

mod message;

use crate::limits;
use message::{BusAddress, HEAD, auth_line, hello_call, notify_call, parse_addresses, parse_head};
use rustix::process::geteuid;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Shows errors on the user's desktop.
pub(super) struct Notifier {
    texts: SyncSender<String>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl Notifier {
    /// A notifier for the session bus; `None` without one.
    pub(super) fn from_env() -> Option<Self> {
        let addresses = parse_addresses(&std::env::var("DBUS_SESSION_BUS_ADDRESS").ok()?);
        if addresses.is_empty() {
            return None;
        }
        let (texts, waiting) = sync_channel::<String>(limits::NOTIFICATIONS);
        let (running, ended) = sync_channel::<()>(0);
        let show = move || {
            let _running = running;
            for text in waiting {
                // Standard error has the text, too.
                let _shown = addresses.iter().find_map(|address| notify(address, &text).ok());
            }
        };
        std::thread::Builder::new().name("swb-notify".to_owned()).spawn(show).ok()?;
        Some(Self { texts, ended })
    }

    /// Shows a text, soon. Dropped if too many are waiting.
    pub(super) fn show(&self, text: &str) {
        let text = text.chars().take(limits::NOTIFICATION_TEXT).collect();
        let _queued = self.texts.try_send(text);
    }

    /// Waits a little until everything is shown.
    pub(super) fn finish(self) {
        drop(self.texts);
        let _ended = self.ended.recv_timeout(limits::NOTIFICATIONS_END);
    }
}

/// Shows one notification over a connection of its own: the bus may have been restarted since the last one.
fn notify(address: &BusAddress, text: &str) -> io::Result<()> {
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(limits::NOTIFICATION))?;
    stream.set_write_timeout(Some(limits::NOTIFICATION))?;
    stream.write_all(auth_line(geteuid().as_raw()).as_bytes())?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut reply = String::new();
    reader.by_ref().take(limits::BUS_LINE).read_line(&mut reply)?;
    if !reply.starts_with("OK ") {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.write_all(b"BEGIN\r\n")?;
    stream.write_all(&[hello_call(1), notify_call(2, text)].concat())?;
    // The bus may have to start the notification service first: it drops calls of clients that have left.
    for _call in 0..2 {
        await_reply(&mut reader)?;
    }
    Ok(())
}

fn connect(address: &BusAddress) -> io::Result<UnixStream> {
    match address {
        BusAddress::Path(path) => UnixStream::connect(Path::new(std::ffi::OsStr::from_bytes(path))),
        BusAddress::Abstract(name) => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?),
    }
}

/// Reads up to the next reply. Replies come in the order of the calls, with signals in between.
fn await_reply(reader: &mut impl Read) -> io::Result<()> {
    for _message in 0..limits::BUS_MESSAGES {
        let mut head = [0; HEAD];
        reader.read_exact(&mut head)?;
        let (is_reply, rest) = parse_head(&head)
            .filter(|(_, rest)| *rest <= limits::BUS_MESSAGE)
            .ok_or(io::ErrorKind::InvalidData)?;
        io::copy(&mut reader.by_ref().take(rest as u64), &mut io::sink())?;
        if is_reply {
            return Ok(());
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
