//! A client of the web server that sends exactly what a test gives it.

use crate::{LIMIT, Swb};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tungstenite::handshake::client::generate_key;
use tungstenite::{Message, WebSocket};

/// A running web server.
#[derive(Debug, Clone)]
pub struct Web {
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// The owner's token.
    pub token: String,
}

/// A response.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    /// Status code.
    pub status: u16,
    /// Everything before the body.
    pub head: String,
    /// The body.
    pub body: String,
}

impl HttpResponse {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

impl Swb {
    /// Starts a web server on a free port.
    pub fn web(&self) -> Web {
        let served = self.json(&["serve", "--port", "0"]);
        let port = served["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
        Web { port, token: served["token"].as_str().expect("a token").to_owned() }
    }

    /// Creates a token with these further arguments.
    pub fn token(&self, args: &[&str]) -> String {
        let added = self.json(&[&["token", "add"], args].concat());
        added["token"].as_str().expect("a token").to_owned()
    }
}

impl Web {
    /// The same server for the holder of another token.
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    /// Sends bytes on a new connection and returns the response.
    #[track_caller]
    pub fn raw(&self, request: &str) -> HttpResponse {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("a request");
        read_response(&mut stream)
    }

    /// Sends a request without a token, with these headers besides `Host`.
    #[track_caller]
    pub fn bare(&self, method: &str, path: &str, headers: &[&str], body: &str) -> HttpResponse {
        let port = self.port;
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        self.raw(&format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ))
    }

    /// Sends a request with the token.
    #[track_caller]
    pub fn request(&self, method: &str, path: &str, body: &str) -> HttpResponse {
        self.bare(method, path, &[&format!("Authorization: Bearer {}", self.token)], body)
    }

    /// Opens a WebSocket with the token.
    #[track_caller]
    pub fn socket(&self, path: &str) -> WebClient {
        self.try_socket(path, &[]).unwrap_or_else(|refused| panic!("{path}: {refused:?}"))
    }

    /// Opens a WebSocket with the token and further headers, or returns the refusal.
    pub fn try_socket(&self, path: &str, headers: &[&str]) -> Result<WebClient, HttpResponse> {
        let bearer = format!("Authorization: Bearer {}", self.token);
        self.bare_socket(path, &[&[bearer.as_str()], headers].concat())
    }

    /// Opens a WebSocket with these headers only, or returns the refusal.
    pub fn bare_socket(&self, path: &str, headers: &[&str]) -> Result<WebClient, HttpResponse> {
        let mut stream = self.connect();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let (port, key) = (self.port, generate_key());
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).expect("a request");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).expect("a response") == 0 {
                break;
            }
            head.extend_from_slice(&byte);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        if !head.starts_with("HTTP/1.1 101") {
            return Err(rest_of_response(head, &mut stream));
        }
        let role = tungstenite::protocol::Role::Client;
        Ok(WebClient {
            socket: WebSocket::from_raw_socket(stream, role, None),
            output: Vec::new(),
            texts: Vec::new(),
            close_code: None,
        })
    }

    /// Opens a connection to the server.
    #[track_caller]
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        stream
    }
}

/// Reads a response to the end of its connection.
#[track_caller]
pub fn read_response(stream: &mut TcpStream) -> HttpResponse {
    rest_of_response(String::new(), stream)
}

fn rest_of_response(mut text: String, stream: &mut TcpStream) -> HttpResponse {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let whole = text.clone() + &String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = whole.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if length.is_some_and(|length| body.len() >= length) {
                break;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("no response: {error}"),
        }
    }
    text.push_str(&String::from_utf8_lossy(&bytes));
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    HttpResponse { status, head: head.to_owned(), body: body.to_owned() }
}

/// A WebSocket of the server.
pub struct WebClient {
    socket: WebSocket<TcpStream>,
    /// All binary data so far.
    output: Vec<u8>,
    /// All text messages so far that no test has taken.
    texts: Vec<Value>,
    /// What the server has closed the connection with.
    close_code: Option<u16>,
}

impl WebClient {
    /// Sends terminal input.
    pub fn input(&mut self, bytes: &[u8]) {
        self.socket.send(Message::binary(bytes.to_vec())).expect("input is sent");
    }

    /// Sends a JSON message.
    pub fn text(&mut self, value: &Value) {
        self.raw_text(&value.to_string());
    }

    /// Sends a text that the server may refuse while it is still being sent.
    pub fn raw_text_until_refused(&mut self, text: &str) {
        let _refused = self.socket.send(Message::text(text));
    }

    /// Sends a text message as it is.
    pub fn raw_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).expect("a message is sent");
    }

    /// Receives one message; `false` when the connection has ended.
    fn receive(&mut self) -> bool {
        match self.socket.read() {
            Ok(Message::Binary(bytes)) => self.output.extend_from_slice(&bytes),
            Ok(Message::Text(text)) => {
                self.texts
                    .push(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")));
            }
            Ok(Message::Close(frame)) => self.close_code = frame.map(|frame| frame.code.into()),
            Ok(_) => {}
            Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        true
    }

    /// Waits for the next text message for which `wanted` holds, and takes it; others stay.
    #[track_caller]
    pub fn take(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            if let Some(at) = self.texts.iter().position(&wanted) {
                return self.texts.remove(at);
            }
            assert!(begin.elapsed() < LIMIT, "no such message; got {:?}", self.texts);
            assert!(self.receive(), "the connection has ended; got {:?}", self.texts);
        }
    }

    /// Waits for the next message of this type.
    #[track_caller]
    pub fn message(&mut self, kind: &str) -> Value {
        self.take(|message| message["type"] == kind)
    }

    /// Requests an operation and waits for its reply.
    #[track_caller]
    pub fn ask(&mut self, id: &Value, mut operation: Value) -> Value {
        operation["id"] = id.clone();
        self.text(&operation);
        self.take(|message| message["id"] == *id)
    }

    /// Waits until the output contains a text; returns all output.
    #[track_caller]
    pub fn shows(&mut self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let output = String::from_utf8_lossy(&self.output).into_owned();
            if output.contains(text) {
                return output;
            }
            assert!(begin.elapsed() < LIMIT, "no {text:?} in {output:?}");
            assert!(self.receive(), "the connection has ended; no {text:?} in {output:?}");
        }
    }

    /// All output so far.
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// Waits until the server closes the connection; returns its close code, if it sent one.
    #[track_caller]
    pub fn closed(&mut self) -> Option<u16> {
        let begin = Instant::now();
        while self.receive() {
            assert!(begin.elapsed() < LIMIT, "the connection stays open");
        }
        self.close_code
    }

    /// Whether nothing but what has arrived arrives for a while.
    pub fn is_quiet_for(&mut self, time: Duration) -> bool {
        let before = (self.output.len(), self.texts.len());
        self.socket.get_ref().set_read_timeout(Some(time)).expect("a limit");
        let open = self.receive();
        self.socket.get_ref().set_read_timeout(Some(LIMIT)).expect("a limit");
        open && before == (self.output.len(), self.texts.len())
    }

    /// The text messages that no test has taken.
    pub fn texts(&self) -> &[Value] {
        &self.texts
    }
}

/// The names of an object's fields, in the order of the alphabet.
pub fn sorted_keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys
}

/// The message that resizes a terminal.
pub fn resize(cols: u16, rows: u16) -> Value {
    json!({"type": "resize", "cols": cols, "rows": rows})
}
