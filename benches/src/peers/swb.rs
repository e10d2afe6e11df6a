//! `swb`: a daemon of its own, used through its control socket, with `swb attach` as client.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Peer, Place, run};
use crate::pty::{SIZE, Terminal};
use crate::wait;

/// How long a daemon may take until it answers; the command line gives it as much.
const START: Duration = Duration::from_millis(2500);

/// Longest answer that is read: the protocol's own limit.
const MAX_FRAME: usize = 1 << 20;

/// A web server of `swb`.
pub(crate) struct WebServer {
    pub(crate) port: u16,
    pub(crate) token: String,
}

pub(crate) struct Swb {
    place: Place,
    daemon: Child,
}

impl Swb {
    pub(crate) fn start(place: &Place) -> Result<Self> {
        if !place.swb.is_file() {
            bail!("{} does not exist (cargo build --release -p swb makes it)", place.swb.display());
        }
        let log = place.dir.join("swb.log");
        let mut command = place.command(&place.swb);
        command.arg("daemon").stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?);
        let daemon = command.spawn().context("cannot start swb daemon")?;
        let swb = Self { place: place.clone(), daemon };
        if wait::until(START, || swb.connect().ok()).is_none() {
            let log = fs::read_to_string(log).unwrap_or_default();
            bail!("daemon not ready within {START:?}; its log ends with {:?}", log.lines().last());
        }
        Ok(swb)
    }

    /// Serves the web.
    pub(crate) fn serve(&self) -> Result<WebServer> {
        let reply = self.connect()?.ask(&json!({"cmd": "serve", "port": 0}))?;
        let port = reply["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        let token = reply["token"].as_str().map(str::to_owned);
        let (port, token) = port.zip(token).context("swb serve names no port")?;
        Ok(WebServer { port, token })
    }

    /// Opens a tunnel, with `swb` at its other end.
    pub(crate) fn tunnel(&self) -> Result<Tunnel> {
        self.serve()?;
        let mut host = self.command();
        host.args(["tunnel", "--json", "--no-stun"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut host = host.spawn().context("no swb tunnel")?;
        let mut line = String::new();
        // Open as long as the command runs: it reports there that the peer has connected.
        let mut events = BufReader::new(host.stdout.take().context("no output")?);
        events.read_line(&mut line)?;
        let offer: Value = serde_json::from_str(&line).context("swb tunnel printed no JSON")?;
        let url = offer["short_url"].as_str().context("swb tunnel has no address")?;
        let mut guest = self.command();
        guest.args(["ls", "--watch", "--json", "--via", url]).stdin(Stdio::null()).stdout(Stdio::null());
        let guest = guest.spawn().context("no peer")?;
        let dir = self.place.runtime().join(format!("switchboard/via-{}", guest.id()));
        let socket = dir.join("switchboard/control.sock");
        let tunnel = Tunnel { host, guest, socket, _events: events };
        wait::until(wait::STEP, || Control::open(tunnel.socket.clone()).ok())
            .context("the tunnel did not open")?;
        Ok(tunnel)
    }

    /// A client's connection to a session, on which frames of terminal bytes follow.
    pub(crate) fn stream(&self, session: &str) -> Result<UnixStream> {
        self.connect()?.attach(session)
    }

    /// How many sessions the daemon names; fails while there is none.
    pub(crate) fn sessions(&self) -> Result<usize> {
        let reply = self.connect()?.ask(&json!({"cmd": "ls"}))?;
        Ok(reply["sessions"].as_array().map_or(0, Vec::len))
    }

    /// Kills the daemon; the keeper starts another one.
    pub(crate) fn crash(&mut self) -> Result<()> {
        let [_, daemon] = self.servers()?[..] else { bail!("no daemon") };
        let pid = i32::try_from(daemon).ok().and_then(Pid::from_raw).context("no daemon")?;
        kill_process(pid, Signal::KILL)?;
        if self.daemon.id() == daemon {
            self.daemon.wait()?;
        }
        Ok(())
    }

    fn command(&self) -> Command {
        self.place.command(&self.place.swb)
    }

    fn connect(&self) -> Result<Control> {
        Control::open(self.place.runtime().join("switchboard/control.sock"))
    }
}

/// Both ends of a tunnel.
pub(crate) struct Tunnel {
    host: Child,
    guest: Child,
    /// Where the other end offers what it reaches.
    socket: PathBuf,
    _events: BufReader<ChildStdout>,
}

impl Tunnel {
    /// A client's connection to a session through the tunnel.
    pub(crate) fn stream(&self, session: &str) -> Result<UnixStream> {
        Control::open(self.socket.clone())?.attach(session)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        for end in [&mut self.guest, &mut self.host] {
            end.kill().ok();
            end.wait().ok();
        }
    }
}

impl Peer for Swb {
    fn create(&mut self, session: &str, argv: &[OsString]) -> Result<()> {
        let (cols, rows) = SIZE;
        let argv: Vec<_> = argv.iter().map(|a| a.to_string_lossy()).collect();
        let request = json!({
            "cmd": "create", "name": session, "workspace": self.place.dir, "argv": argv, "cols": cols, "rows": rows,
        });
        self.connect()?.ask(&request).map(drop)
    }

    fn attach(&mut self, session: &str) -> Result<Terminal> {
        let mut command = self.command();
        command.args(["attach", session]);
        Terminal::spawn(command)
    }

    fn listen(&self, session: &str) -> Result<(UnixStream, bool)> {
        let (cols, rows) = SIZE;
        let mut control = self.connect()?;
        let request = json!({"cmd": "attach", "session": session, "cols": cols, "rows": rows, "history": 0});
        control.ask(&request)?;
        Ok((control.stream, true))
    }

    fn servers(&self) -> Result<Vec<u32>> {
        let mut command = self.command();
        command.args(["status", "--json"]);
        let status: Value = serde_json::from_str(&run(command)?).context("swb status printed no JSON")?;
        let pid = |part: &str| status[part]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        let pids = pid("keeper").zip(pid("daemon")).context("swb status names no processes")?;
        Ok(vec![pids.0, pids.1])
    }

    fn create_by_command(&mut self, session: &str, argv: &[OsString]) -> Result<()> {
        let mut command = self.command();
        command.args(["run", "-d", "-n", session, "--"]).args(argv);
        run(command).map(drop)
    }
}

impl Drop for Swb {
    fn drop(&mut self) {
        let mut command = self.command();
        command.args(["shutdown", "--kill"]);
        if let Err(e) = run(command) {
            eprintln!("swb did not shut down: {e:#}");
            self.daemon.kill().ok();
        }
        let ended = || self.daemon.try_wait().ok().flatten();
        if wait::until(Duration::from_secs(5), ended).is_none() {
            eprintln!("swb daemon is still there after its shutdown");
            self.daemon.kill().ok();
            self.daemon.wait().ok();
        }
    }
}

/// A connection that speaks the control protocol: JSON behind a length of 4 bytes, big endian.
struct Control {
    stream: UnixStream,
}

impl Control {
    fn open(socket: PathBuf) -> Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(wait::STEP))?;
        let mut control = Self { stream };
        control.ask(&json!({"version": 1}))?;
        Ok(control)
    }

    /// Turns the connection into that of a client of a session.
    fn attach(mut self, session: &str) -> Result<UnixStream> {
        let (cols, rows) = SIZE;
        self.ask(&json!({"cmd": "attach", "session": session, "cols": cols, "rows": rows}))?;
        Ok(self.stream)
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let body = request.to_string();
        let mut frame = u32::try_from(body.len())?.to_be_bytes().to_vec();
        frame.extend_from_slice(body.as_bytes());
        self.stream.write_all(&frame)?;
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).context("no answer")?;
        let length = usize::try_from(u32::from_be_bytes(length))?;
        if length > MAX_FRAME {
            bail!("an answer of {length} bytes");
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        let reply: Value = serde_json::from_slice(&body)?;
        if reply["ok"] != true {
            bail!("swb refused {request}: {reply}");
        }
        Ok(reply)
    }
}
