//! A raw client of the scriptschnell socket, written from its documents: it knows lines and JSON, and nothing of our codec.

use crate::coop::{connect, read_more};
use crate::{LIMIT, QUIET, Swb, is_alive, is_zombie, signal, wait_for};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The script of the test agent; see the head of the file.
const SCRIPTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/support/scripted_acp.py");

/// A connection that sends and shows exactly what is on the wire.
#[derive(Debug)]
pub struct ChatClient {
    stream: UnixStream,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that contain no newline.
    searched: usize,
    /// Messages that arrived while waiting for another one, in order.
    collected: VecDeque<Value>,
    requests: u64,
    /// Whether the connection may end in the middle of a line.
    cut: bool,
}

/// A generation as a client saw it.
#[derive(Debug, Clone)]
pub struct Generation {
    /// The messages before the reply to `chat_send`, in order.
    pub events: Vec<Value>,
    /// The complete reply to `chat_send`.
    pub answer: Value,
}

impl Generation {
    /// The text of the assistant. Checks the protocol's rules for chunks: one stream, indices from 0 on, and exactly one
    /// final chunk, which is the last.
    #[track_caller]
    pub fn text(&self) -> String {
        assistant_text(&self.events)
    }

    /// The data of all events of a type.
    pub fn all(&self, kind: &str) -> Vec<Value> {
        of_kind(&self.events, kind)
    }

    /// How it ended: `completed`, `stopped`, or the code of an error.
    pub fn status(&self) -> &str {
        let code = self.answer["error"]["code"].as_str();
        code.or(self.answer["data"]["status"].as_str()).unwrap_or("?")
    }
}

/// The data of all messages of a type.
pub fn of_kind(messages: &[Value], kind: &str) -> Vec<Value> {
    messages.iter().filter(|message| message["type"] == kind).map(|message| message["data"].clone()).collect()
}

/// The text of one assistant's stream in these messages; see [`Generation::text`].
#[track_caller]
pub fn assistant_text(messages: &[Value]) -> String {
    let mut chunks = of_kind(messages, "chat_message");
    chunks.retain(|chunk| chunk["role"] == "assistant");
    let count = chunks.len();
    for (at, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk["stream_id"], chunks[0]["stream_id"], "one stream: {chunk}");
        assert!(chunk["stream_id"].as_str().is_some_and(|id| !id.is_empty()), "{chunk}");
        assert_eq!(chunk["chunk_index"], at, "chunks in order: {chunk}");
        assert_eq!(chunk["is_final"], at + 1 == count, "the last of {count} is final: {chunk}");
    }
    assert!(count > 0, "an assistant's message in {messages:?}");
    chunks.iter().map(|chunk| chunk["content"].as_str().expect("content")).collect()
}

impl ChatClient {
    /// Connects without sending anything.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Ok(Self {
            stream: connect(path)?,
            buffer: Vec::new(),
            searched: 0,
            collected: VecDeque::new(),
            requests: 0,
            cut: false,
        })
    }

    /// Allows the connection to end in the middle of a line, as for a client that does not read.
    pub fn may_be_cut(&mut self) {
        self.cut = true;
    }

    /// The socket, for operations that this client lacks.
    pub fn socket(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends raw bytes; ignores a closed connection.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _sent = self.stream.write_all(bytes);
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// The next raw line: `None` after a timeout, `Some(None)` at the end of the connection.
    pub fn line(&mut self, limit: Duration) -> Option<Option<String>> {
        let end = Instant::now() + limit;
        loop {
            let found = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(at) = found.map(|at| self.searched + at) {
                let line: Vec<u8> = self.buffer.drain(..=at).collect();
                self.searched = 0;
                return Some(Some(String::from_utf8(line).expect("UTF-8")));
            }
            self.searched = self.buffer.len();
            if read_more(&mut self.stream, &mut self.buffer, end)? == 0 {
                assert!(self.cut || self.buffer.is_empty(), "half a line at the end of the connection");
                return Some(None);
            }
        }
    }

    /// The next message on the wire, as [`ChatClient::line`]; checks the form of the envelope.
    #[track_caller]
    pub fn raw(&mut self, limit: Duration) -> Option<Option<Value>> {
        let Some(line) = self.line(limit)? else { return Some(None) };
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(message["type"].as_str().is_some_and(|kind| !kind.is_empty()), "a type: {line}");
        let at = message["timestamp"].as_str().unwrap_or_else(|| panic!("a timestamp: {line}"));
        assert!(at.len() >= 20 && at.ends_with('Z') && at.as_bytes()[10] == b'T', "RFC 3339 in UTC: {line}");
        Some(Some(message))
    }

    /// The next message that was not collected before, without the daemon's pings, with batches split.
    #[track_caller]
    pub fn message(&mut self, limit: Duration) -> Option<Option<Value>> {
        let end = Instant::now() + limit;
        loop {
            if let Some(message) = self.collected.pop_front() {
                return Some(Some(message));
            }
            let message = match self.raw(end.saturating_duration_since(Instant::now()))? {
                Some(message) => message,
                None => return Some(None),
            };
            match message["type"].as_str() {
                Some("ping") => {}
                Some("batch") => {
                    let parts = message["data"]["messages"].as_array().expect("messages");
                    self.collected.extend(parts.iter().cloned());
                }
                _ => return Some(Some(message)),
            }
        }
    }

    /// The first message that matches; collects all others before it, in order.
    #[track_caller]
    fn first(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut others = VecDeque::new();
        let end = Instant::now() + LIMIT;
        loop {
            let message = match self.message(end.saturating_duration_since(Instant::now())) {
                Some(Some(message)) => message,
                Some(None) => panic!("the connection ended instead of {what}, after {others:?}"),
                None => panic!("timed out waiting for {what}, got {others:?}"),
            };
            if wanted(&message) {
                others.append(&mut self.collected);
                self.collected = others;
                return message;
            }
            others.push_back(message);
        }
    }

    /// Sends a request with an id of its own, which it returns.
    pub fn begin(&mut self, kind: &str, data: Value) -> String {
        self.requests += 1;
        let id = format!("request-{}", self.requests);
        self.send(&json!({"type": kind, "request_id": id, "data": data}));
        id
    }

    /// The reply to a request; collects the messages before it.
    #[track_caller]
    pub fn answer(&mut self, id: &str) -> Value {
        self.first(&format!("the reply to {id}"), |message| message["request_id"] == id)
    }

    /// Sends a request and returns the complete reply.
    #[track_caller]
    pub fn ask(&mut self, kind: &str, data: Value) -> Value {
        let id = self.begin(kind, data);
        self.answer(&id)
    }

    /// Sends a request that must succeed; returns the data of the reply, which must be of this type.
    #[track_caller]
    pub fn ok_as(&mut self, kind: &str, data: Value, answer: &str) -> Value {
        let got = self.ask(kind, data);
        assert!(got["error"].is_null(), "reply to {kind}: {got}");
        assert_eq!(got["type"], answer, "{got}");
        got["data"].clone()
    }

    /// The same for a request whose reply has the type of the request.
    #[track_caller]
    pub fn ok(&mut self, kind: &str, data: Value) -> Value {
        self.ok_as(kind, data, kind)
    }

    /// Sends a request that must be rejected; returns the error code.
    #[track_caller]
    pub fn refused(&mut self, kind: &str, data: Value) -> String {
        let got = self.ask(kind, data);
        refusal(&got)
    }

    /// The data of the next event of a type; collects the messages before it.
    #[track_caller]
    pub fn event(&mut self, kind: &str) -> Value {
        self.first(kind, |message| message["type"] == kind)["data"].take()
    }

    /// Requires that nothing arrives for a while, and that the connection stays open; ignores collected messages.
    #[track_caller]
    pub fn quiet(&mut self) {
        let collected = std::mem::take(&mut self.collected);
        let came = self.message(QUIET);
        assert_eq!(came, None, "nothing should arrive");
        self.collected = collected;
    }

    /// Reads to the end of the connection; returns everything before it, collected messages first.
    #[track_caller]
    pub fn to_end(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(message) = self.message(LIMIT).expect("the end in time") {
            all.push(message);
        }
        all
    }

    /// Everything that has arrived so far: up to the reply to a request without effect.
    #[track_caller]
    pub fn so_far(&mut self) -> Vec<Value> {
        self.ask("ping", json!({}));
        std::mem::take(&mut self.collected).into()
    }

    // ---- conversations ----

    /// Authenticates with these capabilities, which must succeed; returns the data of the reply.
    #[track_caller]
    pub fn auth(&mut self, capabilities: &[&str]) -> Value {
        let data = json!({"client_type": "test", "version": "1.0.0", "capabilities": capabilities});
        self.ok_as("auth_request", data, "auth_response")
    }

    /// Creates a session; returns its name.
    #[track_caller]
    pub fn create(&mut self, data: Value) -> String {
        let created = self.ok_as("session_create", data, "session_create_response");
        created["session_id"].as_str().expect("a name").to_owned()
    }

    /// Begins a generation; returns the id of the request.
    pub fn prompt(&mut self, content: &str) -> String {
        self.begin("chat_send", json!({"content": content}))
    }

    /// Waits for the end of a generation.
    #[track_caller]
    pub fn generation(&mut self, id: &str) -> Generation {
        let answer = self.answer(id);
        Generation { events: std::mem::take(&mut self.collected).into(), answer }
    }

    /// Sends a prompt and waits for the end of the generation; drops earlier messages.
    #[track_caller]
    pub fn chat(&mut self, content: &str) -> Generation {
        self.so_far();
        let id = self.prompt(content);
        self.generation(&id)
    }

    /// Sends a prompt and returns the text of the answer, which must be complete.
    #[track_caller]
    pub fn answer_to(&mut self, content: &str) -> String {
        let generation = self.chat(content);
        assert_eq!(generation.status(), "completed", "{}", generation.answer);
        generation.text()
    }

    /// Reads events until the answer contains `text`; returns the answer up to there.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> String {
        let mut said = String::new();
        while !said.contains(text) {
            let chunk = self.event("chat_message");
            if chunk["role"] == "assistant" {
                said.push_str(chunk["content"].as_str().expect("content"));
                assert!(chunk["is_final"] == false || said.contains(text), "only {said:?} was said");
            }
        }
        said
    }
}

/// The code of an error; checks its form.
#[track_caller]
pub fn refusal(answer: &Value) -> String {
    assert_eq!(answer["type"], "error", "{answer}");
    let error = &answer["error"];
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "it explains itself: {answer}");
    error["code"].as_str().expect("a code").to_owned()
}

/// The configuration of an agent `scripted` for all conversations, which follows the instructions in its prompt.
pub fn scripted_agent(args: &[&str]) -> String {
    let command: Vec<&str> = [&["python3", SCRIPTED], args].concat();
    format!(
        "[chat]\nbackend = \"scripted\"\n[[agents]]\nname = \"scripted\"\nkind = \"acp\"\ncommand = {}\n",
        json!(command)
    )
}

impl Swb {
    /// Writes the configuration file.
    pub fn configure(&self, toml: &str) {
        let path = self.paths().config_file();
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, toml).expect("the configuration");
    }

    /// A daemon whose conversations are answered by the scripted agent; `more` is further configuration.
    pub fn scripted(exe: &str, more: &str) -> Self {
        let mut swb = Self::new(exe);
        swb.configure(&format!("{more}\n{}", scripted_agent(&[])));
        swb.start_daemon();
        swb
    }

    /// Stops the daemon with SIGTERM, as the system does when it shuts down, and waits for its end.
    #[track_caller]
    pub fn stop_daemon(&mut self) {
        let pid = self.daemon_pid();
        signal(pid, Signal::TERM);
        let own = self.daemon().id();
        if i64::from(own) == pid {
            let status = self.daemon().wait().expect("its end");
            assert_eq!(status.code(), Some(0), "{}", self.log());
        }
        wait_for("the daemon's end", || (!is_alive(pid) || is_zombie(pid)).then_some(()));
    }

    /// A connection to the scriptschnell socket before authentication.
    pub fn chat_raw(&self) -> ChatClient {
        ChatClient::connect(&self.paths().scriptschnell_socket()).expect("the scriptschnell socket")
    }

    /// The same, authenticated with the capabilities of the document's example.
    #[track_caller]
    pub fn chat(&self) -> ChatClient {
        let mut client = self.chat_raw();
        client.auth(&["progress", "authorization", "questions"]);
        client
    }

    /// The same with a session of this name of its own.
    #[track_caller]
    pub fn chat_in(&self, name: &str) -> ChatClient {
        let mut client = self.chat();
        client.create(json!({"workspace": self.dir().join("w"), "session_id": name}));
        client
    }

    /// The same, attached to an existing session.
    #[track_caller]
    pub fn chat_at(&self, name: &str) -> ChatClient {
        let mut client = self.chat();
        client.ok("session_attach", json!({"session_id": name}));
        client
    }
}
