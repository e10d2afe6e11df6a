//! A scriptschnell connection: reading, writing and keeping time, each on its own (SS-51).

use super::ScriptSchnell;
use super::clock::Due;
use super::errors::invalid;
use super::peer::{Next, Peer};
use super::voice::Voice;
use crate::conn::read_some;
use crate::{limits, peer};
use std::sync::Arc;
use swb_wire::scriptschnell::{Closed, LineError, Lines, ServerMessage};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(super) struct Connection {
    front: ScriptSchnell,
    stream: Arc<UnixStream>,
    voice: Arc<Voice>,
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The client wants it, or is gone.
    Client,
    /// It does not read what it is told.
    Deaf,
    /// The daemon stops.
    Shutdown,
    /// Nothing was heard of it.
    Timeout,
}

impl Connection {
    pub(super) fn new(front: ScriptSchnell, stream: UnixStream) -> Self {
        // SS-14: no client has the number of another, and nobody guesses one of an earlier daemon.
        let number = front.chats.client().0;
        let started = std::process::id();
        let voice = Arc::new(Voice::new(format!("conn_{started:x}_{number:x}")));
        Self { front, stream: Arc::new(stream), voice }
    }

    pub(super) async fn run(self) {
        let connection = self.voice.id.as_str();
        tracing::info!(connection, "connected");
        // Places at sessions are given up when this ends, however it does.
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let peer = Peer::new(self.front.clone(), Arc::clone(&self.voice), &self.stream, ended);
        let sending = async {
            self.voice.outbox.serve(&self.stream).await;
            // A client that left without waiting for answers has still said what it said.
            std::future::pending::<()>().await;
        };
        let end = tokio::select! {
            () = self.converse(peer) => End::Client,
            () = sending => End::Client,
            () = self.voice.outbox.given_up() => End::Deaf,
            () = self.keep_time() => End::Timeout,
            () = self.front.fronts.stop.cancelled() => End::Shutdown,
        };
        drop(guard);
        tracing::info!(connection, ?end, "disconnected");
        let (reason, reconnect) = match end {
            End::Client => ("", false),
            End::Deaf => return,
            // SS-28, SS-23
            End::Shutdown => ("server_shutdown", false),
            End::Timeout => ("timeout", true),
        };
        if !reason.is_empty() {
            let closed = Closed { reason: reason.to_owned(), reconnect };
            self.voice.say(&ServerMessage::Closed(closed), None);
        }
        // Whatever was asked before the end is answered, if the client still listens.
        let _sent = tokio::time::timeout(limits::GOODBYE, self.voice.outbox.drain(&self.stream)).await;
    }

    /// Obeys until the client goes away, wants to, or says something impossible.
    async fn converse(&self, mut peer: Peer) {
        let mut lines = Lines::default();
        loop {
            match lines.next() {
                Ok(Some(line)) => {
                    if peer.obey(&line).await == Next::Close {
                        return;
                    }
                    // Who sends much at once leaves the others their turn.
                    tokio::task::yield_now().await;
                    continue;
                }
                Ok(None) => {}
                // SS-8
                Err(error @ LineError::NotUtf8) => {
                    self.voice.refuse(invalid(error.to_string()), None);
                    continue;
                }
                // SS-7
                Err(error) => return self.voice.refuse(invalid(error.to_string()), None),
            }
            if !read_some(&self.stream, |bytes| lines.push(bytes)).await {
                return self.answer_still().await;
            }
            self.voice.heard();
        }
    }

    /// A client that has stopped sending may still wait for the end of what it began: a script at the end of a pipe.
    async fn answer_still(&self) {
        tokio::select! {
            () = self.voice.generations_end() => {}
            () = peer::closes(&self.stream) => {}
        }
    }

    /// Says now and then that we are there (SS-24), until the client has been silent for too long (SS-23).
    async fn keep_time(&self) {
        let timeout = self.front.settings.connection_timeout;
        loop {
            if self.voice.running() > 0 {
                // Whoever waits for an answer is there, however long the agent is silent.
                self.voice.heard();
            }
            let due = self.voice.clock().due(Instant::now(), timeout);
            match due {
                Due::Ping => self.voice.say(&ServerMessage::Ping, None),
                Due::Timeout => return,
                Due::Wait(until) => tokio::time::sleep_until(until).await,
            }
        }
    }
}
