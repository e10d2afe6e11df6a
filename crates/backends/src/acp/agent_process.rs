//! The process of an agent, and the lines it reads and writes.
//!
//! Nothing here blocks on an agent that does not read: what is for it waits in a buffer, which is written while we
//! listen. Every wait can be given up at any time without losing anything.

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

/// What the guard ends with when there is no such program, or it cannot be started.
const NOT_STARTED: [i32; 2] = [126, 127];

/// An agent that runs.
#[derive(Debug)]
pub(super) struct AgentProcess {
    name: String,
    guarded: Guarded,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    lines: LineSplitter,
    /// What it has not read yet.
    unread: VecDeque<u8>,
    /// The end of what it wrote to its standard error.
    last_words: VecDeque<u8>,
    next_id: i64,
    garbage: usize,
}

impl AgentProcess {
    /// Starts an agent.
    pub(super) fn start(
        context: &BackendContext,
        agent: &AgentConfig,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let name = agent.name.clone();
        let failed =
            |error: std::io::Error| Failure::Agent(format!("the agent '{name}' cannot be started: {error}"));
        let launch = Launch::new(agent.command.iter(), directory).with_env(agent.env.clone());
        let mut guarded = launch.start_piped(&context.into()).map_err(failed)?;
        let child = guarded.child();
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), stderr) = pipes else {
            return Err(failed(std::io::Error::other("it has no pipes")));
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

    /// Whether it still runs, as far as is known.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.guarded.child().try_wait(), Ok(None))
    }

    /// A new answer begins: what was forgiven before does not count.
    pub(super) fn forgive(&mut self) {
        self.garbage = 0;
    }

    /// Asks the agent for something; the number of its answer.
    pub(super) fn request(&mut self, method: &str, params: &impl Serialize) -> Result<i64, Failure> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&rpc::request(id, method, params))?;
        Ok(id)
    }

    /// Tells the agent something.
    pub(super) fn notify(&mut self, method: &str, params: &impl Serialize) -> Result<(), Failure> {
        self.send(&rpc::notification(method, params))
    }

    /// Answers the agent. What is longer than a line may be is answered with an error.
    pub(super) fn respond(&mut self, id: &RequestId, answer: Result<Value, Error>) -> Result<(), Failure> {
        let mut line = rpc::response(id, answer);
        if line.len() > limits::LINE {
            let error = Error::new(ErrorCode::InternalError.into(), "the answer is too long for a line");
            line = rpc::response(id, Err(error));
        }
        self.send(&line)
    }

    /// Whether it has read so much that there is room for another answer.
    pub(super) fn takes_answers(&self) -> bool {
        self.unread.len() + limits::LINE <= limits::UNREAD
    }

    /// The agent is given up: it asks and does not take the answers.
    pub(super) fn does_not_read(&self) -> Failure {
        self.failure("does not read what it is told")
    }

    fn send(&mut self, line: &str) -> Result<(), Failure> {
        if self.unread.len() + line.len() > limits::UNREAD {
            return Err(self.does_not_read());
        }
        self.unread.extend(line.as_bytes());
        Ok(())
    }

    /// What the agent sends next; nothing when it takes answers again after it did not. Cancel-safe.
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
                    // Its output tells more: it goes on until that ends.
                    Err(_) => self.unread.clear(),
                },
                count = read_some(&mut self.stderr, &mut words) => match count {
                    0 => self.stderr = None,
                    count => self.overhear(&words[..count]),
                },
            }
        }
    }

    /// What has arrived already.
    fn buffered(&mut self) -> Result<Option<RpcMessage>, Failure> {
        loop {
            let line = match self.lines.next() {
                Ok(Some([])) => continue,
                Ok(Some(line)) => line,
                Ok(None) => return Ok(None),
                Err(_) => return Err(self.failure("has sent a line that is too long")),
            };
            if let Some(incoming) = rpc::read(line) {
                return Ok(Some(incoming));
            }
            self.garbage += 1;
            tracing::debug!(
                agent = self.name,
                bytes = line.len(),
                "an agent wrote a line that is no message"
            );
            if self.garbage > limits::GARBAGE {
                return Err(
                    self.failure("does not speak the Agent Client Protocol: it writes something else")
                );
            }
        }
    }

    fn overhear(&mut self, words: &[u8]) {
        self.last_words.extend(words);
        let excess = self.last_words.len().saturating_sub(limits::STDERR);
        self.last_words.drain(..excess);
    }

    /// Why there is nothing more to come.
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
            Some(code) => self.failure(&format!("has ended with status {code}{}", self.said())),
            None => self.failure(&format!("has closed its output{}", self.said())),
        }
    }

    /// The last line of its standard error, for people.
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

/// An agent's own words, in bounds and without anything a terminal would obey.
pub(super) fn short(words: &str) -> String {
    words.chars().filter(|c| !c.is_control()).take(limits::WORDS).collect()
}
