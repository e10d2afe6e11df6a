//! A server of the scriptschnell socket that sends exactly what a test specifies.

use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use swb_testkit::{LIMIT, wait_for};

/// One that serves a single client.
pub(crate) struct Server {
    path: String,
    listener: UnixListener,
    client: RefCell<Option<BufReader<UnixStream>>>,
}

impl Server {
    /// Listens.
    pub(crate) fn start(path: &Path) -> Self {
        let listener = UnixListener::bind(path).expect("a socket");
        listener.set_nonblocking(true).expect("a socket");
        Self { path: path.to_str().expect("UTF-8").to_owned(), listener, client: RefCell::default() }
    }

    /// Where it listens.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Takes a client up to a session of its own.
    #[track_caller]
    pub(crate) fn greet(&self) {
        let (client, _) = wait_for("a client", || self.listener.accept().ok());
        client.set_nonblocking(false).expect("a client");
        client.set_read_timeout(Some(LIMIT)).expect("a client");
        *self.client.borrow_mut() = Some(BufReader::new(client));
        let welcome = json!({"success": true, "connection_id": "conn_1", "server_version": "1.0.0",
            "server_capabilities": ["chat"]});
        self.answer("auth_request", "auth_response", &welcome);
        self.answer("session_list", "session_list_response", &json!({"sessions": []}));
        let created = json!({"session_id": "s", "status": "created", "workspace": "/w", "working_dir": "/w",
            "created_at": "2026-01-01T00:00:00Z", "owner": true});
        self.answer("session_create", "session_create_response", &created);
        self.answer("config_get", "config_get", &json!({"config": {"agent": "fake"}}));
    }

    #[track_caller]
    fn answer(&self, request: &str, kind: &str, data: &Value) {
        let asked = self.request(request);
        self.send(&json!({"type": kind, "request_id": asked["request_id"], "data": data}));
    }

    /// The next message of the client, which must be of this type.
    #[track_caller]
    pub(crate) fn request(&self, kind: &str) -> Value {
        let mut line = String::new();
        self.client.borrow_mut().as_mut().expect("a client").read_line(&mut line).expect("a line");
        let message: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(message["type"], kind, "{message}");
        message
    }

    /// Sends a prompt.
    pub(crate) fn send(&self, message: &Value) {
        let mut client = self.client.borrow_mut();
        let client = client.as_mut().expect("a client").get_mut();
        client.write_all(format!("{message}\n").as_bytes()).expect("it is taken");
    }

    /// Sends a piece of an answer.
    pub(crate) fn chunk(&self, index: u32, text: &str, last: bool) {
        self.send(
            &json!({"type": "chat_message", "data": {"role": "assistant", "content": text, "session_id": "s",
            "stream_id": "stream", "chunk_index": index, "is_final": last}}),
        );
    }
}
