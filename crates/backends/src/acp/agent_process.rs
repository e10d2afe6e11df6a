//! The process of an agent, and the lines we exchange with it.
//!
//! Nothing here blocks on an agent that does not read: output to it waits in a buffer, which is written while we read.
//! Every wait is cancel-safe.

use super::limits;
use super::lines::LineSplitter;
use super::rpc::{self, RpcMessage};
use crate::BackendContext;
use crate::command::{Guarded, Launch};
use crate::config::AgentConfig;
use agent_client_protocol_schema::v1::{Error, ErrorCode, RequestId};
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::Path;
use swb_engine::chat::Failure;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// Exit codes of the guard for a program that does not exist or cannot be started.
const NOT_STARTED: [i32; 2] = [126, 127];

/// A running agent.
#[derive(Debug)]
pub(super) struct AgentProcess {
    name: String,
    guarded: Guarded,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    lines: LineSplitter,
    /// Bytes that it has not read yet.
    unread: VecDeque<u8>,
    /// The end of its standard error.
    last_words: VecDeque<u8>,
    next_id: i64,
    garbage: usize,
}

impl AgentProcess {
    /// Starts an agent.
    pub(super) fn start(
        context: &BackendContext,
        agent: &AgentConfig,
        workspace: &Path,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let name = agent.name.clone();
        let failed =
            |error: std::io::Error| Failure::Agent(format!("the agent '{name}' cannot be started: {error}"));
        let connection = context.connection(workspace).map_err(failed)?;
        let launch = Launch::new(agent.command.iter(), directory).with_env(agent.env.clone());
        let launch = launch.with_connection(connection);
        let mut guarded = launch.start_piped(&context.into()).map_err(failed)?;
        let child = guarded.child();
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), stderr) = pipes else {
            return Err(failed(std::io::Error::other("the process has no pipes")));
        };
        Ok(Self {
            name,
            guarded,
            stdin,
            stdout,
            stderr,
            lines: LineSplitter::default(),
            unread: VecDeque::new(),
            last_words: VecDeque::new(),
            next_id: 1,
            garbage: 0,
        })
    }

    /// Whether the process still runs, as far as is known.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.guarded.child().try_wait(), Ok(None))
    }

    /// Called when an answer begins: stray lines are counted per answer.
    pub(super) fn forgive(&mut self) {
        self.garbage = 0;
    }

    /// Sends a request; returns the id of its reply.
    pub(super) fn request(&mut self, method: &str, params: &impl Serialize) -> Result<i64, Failure> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&rpc::request(id, method, params))?;
        Ok(id)
    }

    /// Sends a notification.
    pub(super) fn notify(&mut self, method: &str, params: &impl Serialize) -> Result<(), Failure> {
        self.send(&rpc::notification(method, params))
    }

    /// Sends a reply. One that exceeds the maximum line length is replaced by an error.
    pub(super) fn respond(&mut self, id: &RequestId, answer: Result<Value, Error>) -> Result<(), Failure> {
        let mut line = rpc::response(id, answer);
        if line.len() > limits::LINE {
            let error = Error::new(ErrorCode::InternalError.into(), "the reply is too long for a line");
            line = rpc::response(id, Err(error));
        }
        self.send(&line)
    }

    /// Whether the buffer has room for another reply.
    pub(super) fn takes_answers(&self) -> bool {
        self.unread.len() + limits::LINE <= limits::UNREAD
    }

    /// The error for an agent that sends requests and does not read the replies.
    pub(super) fn does_not_read(&self) -> Failure {
        self.failure("does not read its input")
    }

    fn send(&mut self, line: &str) -> Result<(), Failure> {
        if self.unread.len() + line.len() > limits::UNREAD {
            return Err(self.does_not_read());
        }
        self.unread.extend(line.as_bytes());
        Ok(())
    }

    /// The agent's next message; `None` when the buffer has room for replies again. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Option<RpcMessage>, Failure> {
        let mut chunk = [0; limits::CHUNK];
        let mut words = [0; 1024];
        let choked = !self.takes_answers();
        loop {
            if let Some(incoming) = self.buffered()? {
                return Ok(Some(incoming));
            }
            if choked && self.takes_answers() {
                return Ok(None);
            }
            let (unread, _) = self.unread.as_slices();
            tokio::select! {
                count = self.stdout.read(&mut chunk) => match count {
                    Ok(count) if count > 0 => self.lines.push(&chunk[..count]),
                    _ => return Err(self.gone().await),
                },
                count = self.stdin.write(unread), if !unread.is_empty() => match count {
                    Ok(count) => drop(self.unread.drain(..count)),
                    // It has closed its standard input. Its output may say why, so keep reading that.
                    Err(_) => self.unread.clear(),
                },
                count = read_some(&mut self.stderr, &mut words) => match count {
                    0 => self.stderr = None,
                    count => self.overhear(&words[..count]),
                },
            }
        }
    }

    /// The next message that has already arrived.
    fn buffered(&mut self) -> Result<Option<RpcMessage>, Failure> {
        loop {
            let line = match self.lines.next() {
                Ok(Some([])) => continue,
                Ok(Some(line)) => line,
                Ok(None) => return Ok(None),
                Err(_) => return Err(self.failure("sent a line that is too long")),
            };
            if let Some(incoming) = rpc::read(line) {
                return Ok(Some(incoming));
            }
            self.garbage += 1;
            tracing::debug!(
                agent = self.name,
                bytes = line.len(),
                "ignoring a line from an agent that is not a protocol message"
            );
            if self.garbage > limits::GARBAGE {
                return Err(self.failure(
                    "does not speak the Agent Client Protocol; check its command under [[agents]]",
                ));
            }
        }
    }

    fn overhear(&mut self, words: &[u8]) {
        self.last_words.extend(words);
        let excess = self.last_words.len().saturating_sub(limits::STDERR);
        self.last_words.drain(..excess);
    }

    /// Why the agent's output has ended.
    async fn gone(&mut self) -> Failure {
        let rest = async {
            let mut words = [0; 1024];
            while self.stderr.is_some() {
                match read_some(&mut self.stderr, &mut words).await {
                    0 => self.stderr = None,
                    count => self.overhear(&words[..count]),
                }
            }
            self.guarded.wait().await
        };
        let status = tokio::time::timeout(limits::EXIT, rest).await.ok().flatten();
        match status {
            Some(code) if self.next_id == 2 && NOT_STARTED.contains(&code) => {
                Failure::NotConfigured(format!(
                    "the program of the agent '{}' cannot be started; install it, or change its command under [[agents]]{}",
                    self.name,
                    self.said()
                ))
            }
            Some(code) => self.failure(&format!("ended with status {code}{}", self.said())),
            None => self.failure(&format!("closed its output{}", self.said())),
        }
    }

    /// The last line of its standard error, for error messages.
    fn said(&self) -> String {
        let words: Vec<u8> = self.last_words.iter().copied().collect();
        let words = String::from_utf8_lossy(&words);
        let last = words.lines().rev().map(str::trim).find(|line| !line.is_empty());
        last.map(|line| format!(": {}", short(line))).unwrap_or_default()
    }

    fn failure(&self, what: &str) -> Failure {
        Failure::Agent(format!("the agent '{}' {what}", self.name))
    }
}

async fn read_some(stderr: &mut Option<ChildStderr>, into: &mut [u8]) -> usize {
    match stderr {
        Some(stderr) => stderr.read(into).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Text of an agent, of limited length and without control characters.
pub(super) fn short(words: &str) -> String {
    words.chars().filter(|c| !c.is_control()).take(limits::WORDS).collect()
}
