//! A scriptschnell connection: reading, writing and timeouts, independent of each other (SS-51).

use super::ScriptSchnell;
use super::errors::invalid;
use super::idle::Due;
use super::outbound::Outbound;
use super::request_handler::{Next, RequestHandler};
use crate::incomplete_frames::{FrameReader, ReadOutcome};
use crate::places::{ConnectionPermit, displaced};
use crate::{limits, peer};
use std::sync::Arc;
use std::time::SystemTime;
use swb_types::Timestamp;
use swb_wire::scriptschnell::{Closed, LineError, Lines, ServerMessage, encode};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Why a connection is closed for which there is no place (SS-22).
const FULL: &str = "max_connections";

/// The message to a connection for which there is no place.
pub(super) fn refusal() -> Vec<u8> {
    let closed = Closed { reason: FULL.to_owned(), reconnect: true };
    let mut line = Vec::new();
    encode(&ServerMessage::Closed(closed), None, Timestamp::of(SystemTime::now()), &mut line);
    line
}

pub(super) struct ScriptschnellConnection {
    front: ScriptSchnell,
    stream: Arc<UnixStream>,
    outbound: Arc<Outbound>,
    room: ConnectionPermit,
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The client requested it, or has left.
    Client,
    /// The client does not read what is sent.
    NotReading,
    /// Its place is needed for another client, and it is not authenticated.
    Displaced,
    /// The memory of its half-sent line is needed for others.
    Evicted,
    /// The daemon stops.
    Shutdown,
    /// The client was silent for too long.
    Timeout,
}

impl ScriptschnellConnection {
    pub(super) fn new(front: ScriptSchnell, stream: UnixStream, room: ConnectionPermit) -> Self {
        // SS-14: connection ids are unique, and cannot be guessed from those of an earlier daemon.
        let number = front.chats.client().0;
        let started = std::process::id();
        let outbound = Arc::new(Outbound::new(format!("conn_{started:x}_{number:x}")));
        Self { front, stream: Arc::new(stream), outbound, room }
    }

    pub(super) async fn run(self) {
        let connection = self.outbound.id.as_str();
        tracing::info!(connection, "connected");
        // The client is detached from its sessions when this is dropped, however the connection ends.
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let handler =
            RequestHandler::new(self.front.clone(), Arc::clone(&self.outbound), &self.stream, ended);
        let sending = async {
            self.outbound.queue.serve(&self.stream).await;
            // The requests of a client that left without waiting for replies are handled all the same.
            std::future::pending::<()>().await;
        };
        let end = tokio::select! {
            end = self.handle_requests(handler) => end,
            () = sending => End::Client,
            () = self.outbound.queue.given_up() => End::NotReading,
            () = self.keep_time() => End::Timeout,
            () = self.front.fronts.stop.cancelled() => End::Shutdown,
        };
        drop(guard);
        tracing::info!(connection, ?end, "disconnected");
        let (reason, reconnect) = match end {
            End::Client => ("", false),
            End::NotReading => return,
            // SS-28, SS-23
            End::Shutdown => ("server_shutdown", false),
            End::Timeout => ("timeout", true),
            // SS-22
            End::Displaced => (FULL, true),
            End::Evicted => ("incomplete_message", true),
        };
        if !reason.is_empty() {
            let closed = Closed { reason: reason.to_owned(), reconnect };
            self.outbound.send(&ServerMessage::Closed(closed), None);
        }
        // Replies to earlier requests are sent, if the client still reads.
        let _sent = tokio::time::timeout(limits::GOODBYE, self.outbound.queue.drain(&self.stream)).await;
    }

    /// Handles requests until the client leaves, requests the end, or sends an invalid line.
    async fn handle_requests(&self, mut handler: RequestHandler) -> End {
        let mut lines = Lines::default();
        let mut reader = FrameReader::new(&self.front.incomplete);
        let mut unauthenticated = Some(self.room.idle());
        loop {
            match lines.next() {
                Ok(Some(line)) => {
                    reader.complete();
                    let next = tokio::select! {
                        next = handler.handle(&line) => next,
                        // One that waits because of failed attempts is idle, too.
                        () = displaced(unauthenticated.as_ref()) => return End::Displaced,
                    };
                    if next == Next::Close {
                        return End::Client;
                    }
                    if handler.is_authenticated() {
                        unauthenticated = None;
                    }
                    // Bounded work: one request, then the other connections are served.
                    tokio::task::yield_now().await;
                    continue;
                }
                Ok(None) => {}
                // SS-8
                Err(error @ LineError::NotUtf8) => {
                    self.outbound.send_error(invalid(error.to_string()), None);
                    continue;
                }
                // SS-7
                Err(error) => {
                    self.outbound.send_error(invalid(error.to_string()), None);
                    return End::Client;
                }
            }
            let held = lines.capacity();
            let read = tokio::select! {
                read = reader.read(&self.stream, held, |bytes| lines.push(bytes)) => read,
                () = displaced(unauthenticated.as_ref()) => return End::Displaced,
            };
            match read {
                ReadOutcome::More => self.outbound.received(),
                ReadOutcome::End => {
                    self.answer_still().await;
                    return End::Client;
                }
                ReadOutcome::Evicted => return End::Evicted,
            }
        }
    }

    /// A client that has stopped sending may still wait for the end of its generations: a script at the end of a pipe.
    async fn answer_still(&self) {
        tokio::select! {
            () = self.outbound.generations_end() => {}
            () = peer::closes(&self.stream) => {}
        }
    }

    /// Sends pings (SS-24) until the client has been silent for too long (SS-23).
    async fn keep_time(&self) {
        let timeout = self.front.settings.connection_timeout;
        loop {
            if self.outbound.running() > 0 {
                // A client that waits for an agent counts as active, however long the agent is silent.
                self.outbound.received();
            }
            let due = self.outbound.clock().due(Instant::now(), timeout);
            match due {
                Due::Ping => self.outbound.send(&ServerMessage::Ping, None),
                Due::Timeout => return,
                Due::Wait(until) => tokio::time::sleep_until(until).await,
            }
        }
    }
}
