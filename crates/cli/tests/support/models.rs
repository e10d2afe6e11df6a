//! Model servers for tests: one that follows a script, and one that sends exactly the given bytes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use swb_testkit::{ChatClient, Generation, Swb};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
const STUB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/agents/stub_llm.py");

/// Both APIs, as the configuration calls them.
pub(crate) const APIS: [&str; 2] = ["anthropic", "openai"];

/// The agent that answers in all conversations.
pub(crate) fn configuration(api: &str, url: &str) -> String {
    format!(
        "[chat]\nbackend = \"model\"\n[[agents]]\nname = \"model\"\nkind = \"llm\"\napi = \"{api}\"\nbase_url = \"{url}\"\n\
         model = \"stub\"\ncontext_tokens = 100\nmax_tokens = 20\nprice = {{ input = 1000000, output = 2000000 }}\n"
    )
}

/// A daemon whose conversations are answered by a model there; `more` comes before its configuration.
pub(crate) fn daemon(api: &str, url: &str, more: &str) -> Swb {
    let mut swb = Swb::new(EXE);
    swb.configure(&format!("{more}\n{}", configuration(api, url)));
    swb.start_daemon();
    swb
}

/// A server that answers by a script; see the head of its file.
pub(crate) struct Stub {
    child: Child,
    url: String,
    dir: tempfile::TempDir,
}

impl Stub {
    pub(crate) fn start(script: &Value) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("script.json");
        std::fs::write(&path, script.to_string()).expect("the script");
        let mut command = Command::new("python3");
        command.args([STUB, "--port", "0", "--script"]).arg(path).arg("--log").arg(dir.path().join("log"));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("its address");
        let url = line.trim().strip_prefix("listening on ").expect("its address").to_owned();
        Self { child, url, dir }
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What it has noted.
    pub(crate) fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// How many requests it has got.
    pub(crate) fn requests(&self) -> usize {
        self.log().iter().filter(|event| event["event"] == "request").count()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        let _ended = (self.child.kill(), self.child.wait());
    }
}

/// A daemon with a scripted model, and a client in a session named `talk`.
pub(crate) struct Rig {
    pub(crate) client: ChatClient,
    pub(crate) stub: Stub,
    pub(crate) swb: Swb,
}

impl Rig {
    /// Starts all of it; rules that say nothing else answer fast.
    pub(crate) fn new(api: &str, rules: &Value, more: &str) -> Self {
        let mut rules = rules.clone();
        for rule in rules.as_array_mut().expect("rules") {
            for (key, value) in [("first_delay_ms", 0), ("delay_ms", 0)] {
                rule.as_object_mut().expect("a rule").entry(key).or_insert(json!(value));
            }
        }
        let stub = Stub::start(&json!({"rules": rules, "default": {"text": "no rule", "first_delay_ms": 0}}));
        let swb = daemon(api, stub.url(), more);
        let client = swb.chat_in("talk");
        Self { client, stub, swb }
    }

    /// The directory of the session.
    pub(crate) fn dir(&self) -> PathBuf {
        self.swb.workspace("")
    }

    /// Sends a prompt and requires a complete answer.
    #[track_caller]
    pub(crate) fn chat(&mut self, text: &str) -> Generation {
        let generation = self.client.chat(text);
        assert_eq!(generation.status(), "completed", "{}{}", generation.answer, self.swb.log());
        generation
    }
}

/// Answers to an approval.
pub(crate) fn decide(client: &mut ChatClient, asked: &Value, decision: Value) {
    let mut data = decision;
    data["auth_id"] = asked["auth_id"].clone();
    client.send(&json!({"type": "authorization_response", "data": data}));
}

/// One answer of a [`Canned`] server.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Closes the connection without a word.
    Hang,
    /// A status, headers and a body, as they are.
    Status(u16, &'static str, String),
    /// A stream of events as it is, ended in order.
    Stream(String),
    /// The same, cut off.
    Cut(String),
}

/// A server that gives these answers in order, the last one for ever, and keeps what it was sent.
pub(crate) struct Canned {
    url: String,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Canned {
    pub(crate) fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let bodies: Arc<Mutex<Vec<Value>>> = Arc::default();
        let kept = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let reply = replies[at.min(replies.len() - 1)].clone();
                // A client that leaves is its own business.
                let _served = stream.and_then(|stream| serve(stream, &reply, &kept));
            }
        });
        Self { url, bodies }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The bodies of all requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.bodies.lock().expect("no panic").clone()
    }
}

/// One request, one answer, one connection.
fn serve(stream: TcpStream, reply: &Reply, kept: &Mutex<Vec<Value>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    kept.lock().expect("no panic").push(serde_json::from_slice(&body).expect("JSON"));
    let mut stream = stream;
    match reply {
        Reply::Hang => Ok(()),
        Reply::Status(status, headers, body) => {
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status} x\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            )
        }
        Reply::Stream(text) | Reply::Cut(text) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n";
            let end = if matches!(reply, Reply::Stream(_)) { "0\r\n\r\n" } else { "" };
            let (size, newline) = (text.len(), if text.is_empty() { "" } else { "\r\n" });
            match size {
                0 => write!(stream, "{head}connection: close\r\n\r\n{end}"),
                _ => write!(stream, "{head}connection: close\r\n\r\n{size:x}\r\n{text}{newline}{end}"),
            }
        }
    }
}

/// Events of a stream, each with its data.
pub(crate) fn events(data: &[Value]) -> String {
    data.iter().map(|value| format!("data: {value}\n\n")).collect()
}

/// A whole answer in the form of an API: text, and uses of tools with their arguments as the model wrote them.
pub(crate) fn answer(api: &str, text: &str, tools: &[(&str, &str)]) -> String {
    let stop = |done: &str, tool: &str| if tools.is_empty() { done.to_owned() } else { tool.to_owned() };
    if api == "openai" {
        let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        let mut all = vec![delta(json!({"role": "assistant", "content": text}))];
        for (at, (name, arguments)) in tools.iter().enumerate() {
            let function = json!({"name": name, "arguments": arguments});
            all.push(delta(
                json!({"tool_calls": [{"index": at, "id": format!("call_{at}"), "function": function}]}),
            ));
        }
        let reason = stop("stop", "tool_calls");
        all.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
        return events(&all) + "data: [DONE]\n\n";
    }
    let mut all = vec![
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
    ];
    for (at, (name, arguments)) in tools.iter().enumerate() {
        let block = json!({"type": "tool_use", "id": format!("call_{at}"), "name": name, "input": {}});
        all.push(json!({"type": "content_block_start", "index": at + 1, "content_block": block}));
        let delta = json!({"type": "input_json_delta", "partial_json": arguments});
        all.push(json!({"type": "content_block_delta", "index": at + 1, "delta": delta}));
    }
    let reason = stop("end_turn", "tool_use");
    all.push(
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
    );
    all.push(json!({"type": "message_stop"}));
    events(&all)
}
