//! Desktop notifications, over the session bus. Best effort: a bus that hangs or is gone does no harm.

mod message;

use crate::limits;
use message::{BusAddress, ERROR, HEAD, auth_line, hello_call, notify_call, parse_addresses, parse_head};
use rustix::process::geteuid;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The session bus of the user's desktop.
#[derive(Debug, Clone)]
pub struct Desktop {
    addresses: Vec<BusAddress>,
}

impl Desktop {
    /// The bus that the environment names, or the usual one; `None` if there can be none.
    pub fn from_env() -> Option<Self> {
        let named = std::env::var("DBUS_SESSION_BUS_ADDRESS").ok().filter(|named| !named.is_empty());
        let addresses = match (named, std::env::var_os("XDG_RUNTIME_DIR")) {
            (Some(named), _) => parse_addresses(&named),
            (None, Some(dir)) => {
                vec![BusAddress::Path(Path::new(&dir).join("bus").into_os_string().into_encoded_bytes())]
            }
            (None, None) => Vec::new(),
        };
        (!addresses.is_empty()).then_some(Self { addresses })
    }

    /// Shows a text. Blocks until the desktop has it, for some seconds at most: call it on a thread of its own.
    pub fn show(&self, text: &str) -> io::Result<()> {
        let text: String = text.chars().take(limits::NOTIFICATION_TEXT).collect();
        let mut result = Err(io::ErrorKind::NotFound.into());
        for address in &self.addresses {
            result = notify(address, &text);
            if result.is_ok() {
                break;
            }
        }
        result
    }
}

/// Shows texts on the user's desktop, in a thread of its own (CH-9).
pub struct Notifier {
    texts: SyncSender<String>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl Notifier {
    /// A notifier for the session bus; `None` without one.
    pub fn from_env() -> Option<Self> {
        let desktop = Desktop::from_env()?;
        let (texts, waiting) = sync_channel::<String>(limits::NOTIFICATIONS);
        let (running, ended) = sync_channel::<()>(0);
        let show = move || {
            let _running = running;
            for text in waiting {
                // Standard error has the text, too.
                let _shown = desktop.show(&text);
            }
        };
        std::thread::Builder::new().name("swb-notify".to_owned()).spawn(show).ok()?;
        Some(Self { texts, ended })
    }

    /// Shows a text, soon. Dropped if too many are waiting.
    pub fn show(&self, text: &str) {
        let _queued = self.texts.try_send(text.to_owned());
    }

    /// Waits a little until everything is shown.
    pub fn finish(self) {
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

#[allow(clippy::disallowed_methods, reason = "on a thread of its own")]
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
        match (is_reply, head) {
            (true, [_, ERROR, ..]) => return Err(io::Error::other("the desktop shows no notifications")),
            (true, _) => return Ok(()),
            (false, _) => {}
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
