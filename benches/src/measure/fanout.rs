//! How fast a child's output reaches many clients at once, and whether one that does not read harms the others.
//!
//! The clients are bare connections that one thread reads and counts: what a terminal costs is not measured here.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Bench, Values, detached};
use crate::flood::{Style, Text};
use crate::peers::{Kind, Peer};
use crate::puppet::{Gate, Puppet};
use crate::report::{Budget, Metric, Unit};

/// Numbers of clients.
const CROWDS: [usize; 4] = [1, 8, 32, 100];
/// Those with a budget.
const JUDGED: [usize; 2] = [8, 32];
/// How long nothing may arrive before a round ends.
const SILENCE: Duration = Duration::from_secs(3);
/// How long nothing may arrive before old output is complete.
const SETTLED: Duration = Duration::from_millis(100);
const READ: usize = 256 * 1024;

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    // The more clients, the less output: each gets all of it.
    let total = bench.scale.flood * 4;
    let mut metrics = Vec::new();
    for clients in CROWDS {
        let flood = (total / clients as u64).clamp(1 << 20, bench.scale.flood);
        let (rates, shares) = rows(bench, &[Kind::Relay, Kind::Swb], clients, false, flood)?;
        let title = format!("output that reaches {clients} clients at once");
        let rate = Metric::new(format!("fanout-{clients}"), title, Unit::MegabytesPerSecond, rates);
        let judged = JUDGED.contains(&clients);
        metrics.push(if judged {
            rate.budget(Budget::AtLeast { factor: 1.2, of: Kind::Relay })
        } else {
            rate
        });
        let title = format!("share of it that reaches each of {clients}, worst client");
        let share = Metric::new(format!("fanout-{clients}-delivered"), title, Unit::Percent, shares);
        metrics.push(if judged { share.budget(Budget::AtLeastAbsolute { min: 100.0 }) } else { share });
    }
    let flood = (total / 8).clamp(1 << 20, bench.scale.flood);
    // The relay waits for such a client for ever.
    let (rates, shares) = rows(bench, &[Kind::Swb], 8, true, flood)?;
    let rate = Unit::MegabytesPerSecond;
    metrics.push(Metric::new(
        "fanout-stopped",
        "output that reaches 8 clients beside one that stopped",
        rate,
        rates,
    ));
    metrics.push(
        Metric::new("fanout-stopped-delivered", "share of it, worst of the 8", Unit::Percent, shares)
            .budget(Budget::AtLeastAbsolute { min: 100.0 }),
    );
    Ok(metrics)
}

fn rows(
    bench: &mut Bench,
    kinds: &[Kind],
    clients: usize,
    stopped: bool,
    flood: u64,
) -> Result<(Values, Values)> {
    let mut lineup = bench.lineup(kinds)?;
    let mut stages = lineup.stage(bench, |peer, gate| Crowd::new(peer, gate, clients, stopped));
    // The mark stands on a line of its own: its bytes and two line ends.
    let shown = Text::new(Style::Text).shown_length(flood);
    let name = format!("output to {clients} clients{}", if stopped { ", one more stopped" } else { "" });
    let rates = bench.rounds(&name, &mut stages, |crowd| crowd.round(flood, shown));
    let shares = stages.into_iter().map(|(kind, crowd)| (kind, crowd.shares)).collect();
    Ok((rates, shares))
}

/// A session with many clients.
struct Crowd {
    puppet: Puppet,
    clients: Vec<Listener>,
    _stopped: Option<UnixStream>,
    buffer: Vec<u8>,
    shares: Vec<f64>,
}

impl Crowd {
    fn new(peer: &mut dyn Peer, gate: &Gate, clients: usize, stopped: bool) -> Result<Self> {
        let puppet = detached(peer, gate, "main")?;
        let clients: Result<Vec<Listener>> =
            (0..clients).map(|_| peer.listen("main").and_then(Listener::new)).collect();
        let stopped = stopped.then(|| peer.listen("main")).transpose()?;
        let stopped = stopped.map(|(stream, _)| stream);
        let buffer = vec![0; READ];
        let mut crowd = Self { puppet, clients: clients?, _stopped: stopped, buffer, shares: Vec::new() };
        crowd.read(u64::MAX, SETTLED)?;
        Ok(crowd)
    }

    /// Floods all clients once; the rate is that of the last one.
    fn round(&mut self, flood: u64, shown: u64) -> Result<f64> {
        for client in &mut self.clients {
            client.output = 0;
        }
        let start = Instant::now();
        self.puppet.flood(flood)?;
        let last = self.read(shown, SILENCE)?;
        let time = last.saturating_duration_since(start).as_secs_f64();
        self.puppet.flood_time()?;
        // What is left of the mark.
        self.read(u64::MAX, SETTLED)?;
        let least = self.clients.iter().map(|client| client.output.min(shown)).min().unwrap_or(0);
        let share = least as f64 / shown as f64;
        self.shares.push(100.0 * share);
        Ok(flood as f64 * share / time.max(1e-9) / 1e6)
    }

    /// Reads until each client has that much output, or nothing arrives for some time. Returns when something arrived last.
    fn read(&mut self, enough: u64, silence: Duration) -> Result<Instant> {
        let mut last = Instant::now();
        let limit = Timespec::try_from(silence).map_err(std::io::Error::other)?;
        while self.clients.iter().any(|client| client.output < enough) {
            let mut polls: Vec<PollFd<'_>> =
                self.clients.iter().map(|client| PollFd::new(&client.stream, PollFlags::IN)).collect();
            if poll(&mut polls, Some(&limit))? == 0 {
                break;
            }
            let ready: Vec<bool> = polls.iter().map(|poll| !poll.revents().is_empty()).collect();
            for (client, _) in self.clients.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
                client.read(&mut self.buffer)?;
            }
            last = Instant::now();
        }
        Ok(last)
    }
}

/// A client that only counts.
struct Listener {
    stream: UnixStream,
    /// Whether output comes in frames: a length of four bytes, a tag, and the rest.
    framed: bool,
    head: Vec<u8>,
    /// Bytes left of the frame.
    left: usize,
    /// Bytes of output so far.
    output: u64,
}

impl Listener {
    fn new((stream, framed): (UnixStream, bool)) -> Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, framed, head: Vec::new(), left: 0, output: 0 })
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<()> {
        match self.stream.read(buffer) {
            Ok(0) => anyhow::bail!("the connection of a client ended"),
            Ok(count) => self.count(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn count(&mut self, mut bytes: &[u8]) {
        if !self.framed {
            self.output += bytes.len() as u64;
            return;
        }
        while !bytes.is_empty() {
            if self.left == 0 {
                let take = bytes.len().min(5 - self.head.len());
                self.head.extend_from_slice(&bytes[..take]);
                bytes = &bytes[take..];
                if let [a, b, c, d, _] = self.head[..] {
                    self.left = (u32::from_be_bytes([a, b, c, d]) as usize).saturating_sub(1);
                    if self.left == 0 {
                        self.head.clear();
                    }
                }
                continue;
            }
            let take = bytes.len().min(self.left);
            if self.head.last() == Some(&0) {
                self.output += take as u64;
            }
            self.left -= take;
            bytes = &bytes[take..];
            if self.left == 0 {
                self.head.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_output_is_counted_however_frames_are_cut() {
        let frames = [&[0, 0, 0, 4, 0][..], b"abc", &[0, 0, 0, 3, 1], b"{}", &[0, 0, 0, 2, 0], b"d"].concat();
        for size in 1..=frames.len() {
            let (stream, _other) = UnixStream::pair().unwrap();
            let mut listener = Listener::new((stream, true)).unwrap();
            frames.chunks(size).for_each(|chunk| listener.count(chunk));
            assert_eq!(listener.output, 4, "in pieces of {size}");
        }
    }
}
