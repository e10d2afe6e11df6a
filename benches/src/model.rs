//! A model that answers at once: the server that chat is measured with, and the client that asks it directly.
//!
//! Each answer has one piece. The server notes when it begins to send it; the rest of the answer comes before and after,
//! so that what is measured is the way of the piece alone.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::wait;

/// The piece; it occurs nowhere else.
pub(crate) const PIECE: &str = "jovwyz";

/// How long the server rests between the parts of an answer, so that no two arrive together.
const REST: Duration = Duration::from_millis(3);

/// The server; it ends with the benchmark.
pub(crate) struct Model {
    address: SocketAddr,
    sent: Arc<Mutex<Option<Instant>>>,
}

impl Model {
    /// Starts the server on a port of its own.
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let sent: Arc<Mutex<Option<Instant>>> = Arc::default();
        let note = Arc::clone(&sent);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let note = Arc::clone(&note);
                // A client that leaves ends its own connection only.
                std::thread::spawn(move || serve(stream, &note));
            }
        });
        Ok(Self { address, sent })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How long ago the newest piece was sent, in microseconds.
    pub(crate) fn since_sent(&self, heard: Instant) -> Result<f64> {
        let sent = self.sent.lock().expect("no holder panics").take().context("nothing was sent")?;
        Ok(heard.duration_since(sent).as_secs_f64() * 1e6)
    }

    /// A client that asks it directly.
    pub(crate) fn direct(&self) -> Result<Direct> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(wait::STEP))?;
        Ok(Direct { reader: BufReader::new(stream) })
    }
}

/// A connection to the server with nothing in between.
pub(crate) struct Direct {
    reader: BufReader<TcpStream>,
}

impl Direct {
    /// Asks once and reads the answer to its end; when the piece came.
    pub(crate) fn ask(&mut self) -> Result<Instant> {
        let request = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
        self.reader.get_mut().write_all(request.as_bytes())?;
        let (mut heard, mut line) = (None, String::new());
        while line != "0\r\n" {
            line.clear();
            anyhow::ensure!(self.reader.read_line(&mut line)? > 0, "the server is gone");
            if line.contains(PIECE) {
                heard = Some(Instant::now());
            }
        }
        // The empty line behind the last chunk.
        self.reader.read_line(&mut line)?;
        heard.context("an answer without its piece")
    }
}

fn serve(stream: TcpStream, note: &Mutex<Option<Instant>>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while skip_request(&mut reader)? {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(
            format!("{head}{}", chunk(r#"{"role":"assistant","content":""}"#, "null")).as_bytes(),
        )?;
        wait::pause(REST);
        let piece = chunk(&format!(r#"{{"content":"{PIECE}"}}"#), "null");
        *note.lock().expect("no holder panics") = Some(Instant::now());
        stream.write_all(piece.as_bytes())?;
        wait::pause(REST);
        let end = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
        stream.write_all(format!("{}{end}", chunk("{}", "\"stop\"")).as_bytes())?;
    }
    Ok(())
}

/// Reads a request and forgets it; whether there was one.
fn skip_request(reader: &mut impl BufRead) -> Result<bool> {
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if line == "\r\n" {
            std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
            return Ok(true);
        }
    }
}

/// An event of a streamed answer in a chunk of HTTP.
fn chunk(delta: &str, reason: &str) -> String {
    let event =
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}
