//! Terminals over WebSockets, beside the same over the daemon's Unix socket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use memchr::memmem;
use rustix::net::{RecvFlags, recv};
use tungstenite::handshake::client::{Request, generate_key};
use tungstenite::{Message, WebSocket};

use super::{Bench, detached, median};
use crate::peers::{Kind, Swb, WebServer};
use crate::puppet::{Gate, Puppet};
use crate::report::{Budget, Metric, Unit};
use crate::wait;

/// Keys that occur in no message around the echo.
const KEYS: &[u8] = b"jovwyz";
/// Microseconds that a key may take over a WebSocket beyond the Unix socket.
const EXTRA: f64 = 1_000.0;
/// Pause between two looks at what has arrived at all clients: they could take 200 MB/s each.
const GLANCE: Duration = Duration::from_millis(5);
/// WebSockets on one session.
const AUDIENCE: usize = 100;

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let place = bench.place()?;
    let gate = Gate::open(&place.exe, &place.dir)?;
    let mut swb = Swb::start(&place)?;
    let server = swb.serve()?;
    let mut clients = vec![
        (Kind::Swb, Client::new(&mut swb, &gate, "web", |_, name| Stream::over_web(&server, name))?),
        (Kind::Socket, Client::new(&mut swb, &gate, "unix", Stream::over_socket)?),
    ];
    let (keys, flood) = (bench.scale.keys, bench.scale.flood);
    let rate = bench.rounds("output over the web", &mut clients, |client| client.flood(flood));
    for (_, client) in &mut clients {
        client.puppet.echo()?;
    }
    let echo = bench.rounds("echo over the web", &mut clients, |client| client.echo(keys));
    let mut stages = vec![
        (Kind::Swb, Watched { puppet: detached(&mut swb, &gate, "watched")?, audience: Some(&server) }),
        (Kind::Alone, Watched { puppet: detached(&mut swb, &gate, "alone")?, audience: None }),
    ];
    let watched = bench.rounds("output before an audience", &mut stages, |stage| stage.flood(flood));
    let mb = Unit::MegabytesPerSecond;
    let title = "key to echo over a WebSocket, compared with the daemon's Unix socket, median";
    let crowd = format!("output the child writes with {AUDIENCE} WebSockets on its session");
    Ok(vec![
        Metric::new("web-echo", title, Unit::Microseconds, echo)
            .budget(Budget::AtMostPlus { extra: EXTRA, of: Kind::Socket }),
        Metric::new("web-throughput", "output that reaches one WebSocket", mb, rate)
            .budget(Budget::AtLeast { factor: 0.5, of: Kind::Socket }),
        Metric::new("web-audience", crowd, mb, watched)
            .budget(Budget::AtLeast { factor: 0.3, of: Kind::Alone }),
    ])
}

/// A session with one client.
pub(super) struct Client {
    pub(super) puppet: Puppet,
    stream: Stream,
}

impl Client {
    pub(super) fn new(
        swb: &mut Swb,
        gate: &Gate,
        name: &str,
        open: impl FnOnce(&Swb, &str) -> Result<Stream>,
    ) -> Result<Self> {
        let mut puppet = detached(swb, gate, name)?;
        let mut stream = open(swb, name)?;
        let mark = puppet.mark()?;
        stream.wait_for(&mark)?;
        Ok(Self { puppet, stream })
    }

    pub(super) fn echo(&mut self, keys: u32) -> Result<f64> {
        let mut samples = Vec::new();
        for key in (0..keys).map(|i| KEYS[i as usize % KEYS.len()]) {
            // Uneven, so that the keys cannot fall into step with any timer.
            wait::pause(Duration::from_micros(1500 + u64::from(key) * 37 % 2000));
            let start = Instant::now();
            self.stream.send(&[key])?;
            self.stream.wait_for(&[key])?;
            samples.push(start.elapsed().as_secs_f64() * 1e6);
        }
        median(&samples)
    }

    pub(super) fn flood(&mut self, bytes: u64) -> Result<f64> {
        let start = Instant::now();
        let mark = self.puppet.flood(bytes)?;
        self.stream.wait_for(&mark)?;
        let rate = bytes as f64 / start.elapsed().as_secs_f64() / 1e6;
        self.puppet.flood_time()?;
        Ok(rate)
    }
}

/// A session with a hundred watchers, or none.
struct Watched<'a> {
    puppet: Puppet,
    audience: Option<&'a WebServer>,
}

impl Watched<'_> {
    /// How fast the child writes.
    fn flood(&mut self, bytes: u64) -> Result<f64> {
        let audience = self.audience.map(|server| Audience::new(server, "watched")).transpose()?;
        self.puppet.flood(bytes)?;
        let rate = bytes as f64 / self.puppet.flood_time()?.as_secs_f64() / 1e6;
        drop(audience);
        Ok(rate)
    }
}

/// Clients that read everything and look at nothing, at as little expense as possible: what they cost is not the daemon's.
struct Audience {
    leave: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Audience {
    fn new(server: &WebServer, session: &str) -> Result<Self> {
        let mut streams = Vec::new();
        for _ in 0..AUDIENCE {
            let stream = connect(server, session)?;
            stream.get_ref().set_nonblocking(true)?;
            streams.push(stream);
        }
        let leave = Arc::new(AtomicBool::new(false));
        let left = Arc::clone(&leave);
        let reader = std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 20];
            while !left.load(Ordering::Relaxed) {
                for stream in &streams {
                    // Without a copy: TCP discards what is asked for in this way.
                    let _taken = recv(stream.get_ref(), &mut buffer, RecvFlags::TRUNC);
                }
                wait::pause(GLANCE);
            }
        });
        Ok(Self { leave, reader: Some(reader) })
    }
}

impl Drop for Audience {
    fn drop(&mut self) {
        self.leave.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.join().ok();
        }
    }
}

/// A terminal of the daemon, over either transport.
pub(super) enum Stream {
    Web(Box<WebSocket<TcpStream>>),
    Socket { stream: UnixStream, buffer: Vec<u8> },
}

impl Stream {
    fn over_web(server: &WebServer, session: &str) -> Result<Self> {
        let stream = connect(server, session)?;
        stream.get_ref().set_read_timeout(Some(wait::STEP))?;
        Ok(Self::Web(Box::new(stream)))
    }

    pub(super) fn over_socket(swb: &Swb, session: &str) -> Result<Self> {
        Ok(Self::new(swb.stream(session)?))
    }

    /// A connection on which frames of terminal bytes follow.
    pub(super) fn new(stream: UnixStream) -> Self {
        Self::Socket { stream, buffer: Vec::new() }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Web(socket) => socket.send(Message::binary(bytes.to_vec()))?,
            Self::Socket { stream, .. } => {
                let length = u32::try_from(bytes.len() + 1)?.to_be_bytes();
                stream.write_all(&[&length[..], &[0], bytes].concat())?;
            }
        }
        Ok(())
    }

    /// Waits until the output contains `mark`.
    fn wait_for(&mut self, mark: &[u8]) -> Result<()> {
        let end = wait::step();
        // A mark may be cut in two.
        let mut seen = Vec::new();
        while Instant::now() < end {
            let overlap = seen.len().saturating_sub(mark.len());
            seen.drain(..overlap);
            self.receive(&mut seen)?;
            if memmem::find(&seen, mark).is_some() {
                return Ok(());
            }
        }
        bail!("the output did not arrive in time")
    }

    /// Appends the next piece of output.
    fn receive(&mut self, output: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Web(socket) => {
                if let Message::Binary(bytes) = socket.read()? {
                    output.extend_from_slice(&bytes);
                }
            }
            Self::Socket { stream, buffer } => {
                let mut head = [0; 5];
                stream.read_exact(&mut head)?;
                let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
                buffer.resize(usize::try_from(length)?.saturating_sub(1), 0);
                stream.read_exact(buffer)?;
                if head[4] == 0 {
                    output.extend_from_slice(buffer);
                }
            }
        }
        Ok(())
    }
}

fn connect(server: &WebServer, session: &str) -> Result<WebSocket<TcpStream>> {
    let host = format!("127.0.0.1:{}", server.port);
    let stream = TcpStream::connect(&host)?;
    stream.set_nodelay(true)?;
    let request = Request::get(format!("ws://{host}/ws?session={session}"))
        .header("Host", &host)
        .header("Authorization", format!("Bearer {}", server.token))
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", generate_key())
        .body(())?;
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(error) => Err(anyhow::anyhow!("{error}")).context("no WebSocket"),
    }
}
