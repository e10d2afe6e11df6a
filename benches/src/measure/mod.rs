//! The measures, and what they share: a fresh line-up of contenders each, and rounds in which they alternate.

mod chat;
mod create;
mod detached;
mod echo;
mod fanout;
mod idle;
mod memory;
mod reattach;
mod restart;
pub(crate) mod screen_model;
mod throughput;
mod tunnel;
mod web;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::janitor::Scratch;
use crate::peers::{Kind, Peer, Place};
use crate::pty::Terminal;
use crate::puppet::{Gate, Puppet};
use crate::report::Metric;
use crate::{stats, wait};

/// What can be measured; the names are those of `--only`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Measure {
    /// Output to one attached client
    Throughput,
    /// Output while no client is attached
    Detached,
    /// Output to many clients
    Fanout,
    /// From key to echo, alone and beside a flooding session
    Echo,
    /// From the request for a session to its program's first act
    Create,
    /// From coming back to the screen
    Reattach,
    /// Memory per further idle session, and per session that has put something out
    Memory,
    /// CPU time of many idle sessions
    Idle,
    /// From the end of a daemon until the next one has all sessions
    Restart,
    /// From a model's server to the client of a conversation
    Chat,
    /// The screen model and the detection of turns alone
    Model,
    /// Terminals over WebSockets
    Web,
    /// Terminals through a tunnel
    Tunnel,
}

impl Measure {
    /// Takes the measure; each gives one or more rows of the table.
    pub(crate) fn take(self, bench: &mut Bench) -> Result<Vec<Metric>> {
        match self {
            Self::Throughput => throughput::take(bench),
            Self::Detached => detached::take(bench),
            Self::Fanout => fanout::take(bench),
            Self::Echo => echo::take(bench),
            Self::Create => create::take(bench),
            Self::Reattach => reattach::take(bench),
            Self::Memory => memory::take(bench),
            Self::Idle => idle::take(bench),
            Self::Restart => restart::take(bench),
            Self::Chat => chat::take(bench),
            Self::Model => screen_model::take(bench),
            Self::Web => web::take(bench),
            Self::Tunnel => tunnel::take(bench),
        }
    }
}

/// How much of everything.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    /// Times that the contenders alternate.
    pub(crate) rounds: u32,
    /// Bytes of one flood.
    pub(crate) flood: u64,
    /// Keys typed per round.
    pub(crate) keys: u32,
    /// Sessions created per round.
    pub(crate) creates: u32,
    /// Idle sessions for the CPU measure.
    pub(crate) idle: u32,
    /// The same for `swb` alone.
    pub(crate) many: u32,
    /// Sessions that a new daemon adopts.
    pub(crate) adopted: u32,
    /// How often the daemon dies.
    pub(crate) restarts: u32,
    /// How long they are watched.
    pub(crate) window: Duration,
}

impl Scale {
    /// For tables that are kept: a few minutes.
    pub(crate) fn full() -> Self {
        Self {
            rounds: 7,
            flood: 64 << 20,
            keys: 300,
            creates: 20,
            idle: 500,
            many: 2000,
            adopted: 500,
            restarts: 3,
            window: Duration::from_secs(10),
        }
    }

    /// For a look in between: well under a minute.
    pub(crate) fn quick() -> Self {
        Self {
            rounds: 2,
            flood: 4 << 20,
            keys: 60,
            creates: 3,
            idle: 50,
            many: 200,
            adopted: 100,
            restarts: 1,
            window: Duration::from_secs(1),
        }
    }
}

/// One run of the benchmark.
pub(crate) struct Bench {
    scratch: Scratch,
    exe: PathBuf,
    swb: PathBuf,
    lineups: u32,
    pub(crate) scale: Scale,
    pub(crate) notes: Vec<String>,
}

impl Bench {
    /// Prepares a run that measures this `swb`.
    pub(crate) fn new(exe: PathBuf, swb: PathBuf, scale: Scale) -> Result<Self> {
        let scratch = Scratch::new(&exe)?;
        eprintln!("scratch directory: {}", scratch.dir().display());
        Ok(Self { scratch, exe, swb, lineups: 0, scale, notes: Vec::new() })
    }

    /// Adds a remark below the table, once.
    pub(crate) fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            eprintln!("note: {text}");
            self.notes.push(text);
        }
    }

    /// A fresh place.
    fn place(&mut self) -> Result<Place> {
        self.lineups += 1;
        let dir = self.scratch.dir().join(self.lineups.to_string());
        Place::new(dir, self.exe.clone(), self.swb.clone())
    }

    /// Starts those of the contenders that can be started.
    fn lineup(&mut self, kinds: &[Kind]) -> Result<Lineup> {
        let place = self.place()?;
        let gate = Gate::open(&self.exe, &place.dir)?;
        let mut peers = Vec::new();
        for kind in kinds {
            match kind.start(&place) {
                Ok(peer) => peers.push((*kind, peer)),
                Err(e) => self.note(format!("{}: {e:#}", kind.label())),
            }
        }
        Ok(Lineup { place, gate, peers })
    }

    /// Runs the rounds: each contender once per round, a different one first each time.
    ///
    /// A contender that fails leaves the measure with a note and without values.
    fn rounds<T>(
        &mut self,
        measure: &str,
        stages: &mut Vec<(Kind, T)>,
        mut take: impl FnMut(&mut T) -> Result<f64>,
    ) -> Values {
        let mut values = Values::new();
        for round in 1..=self.scale.rounds {
            if !stages.is_empty() {
                stages.rotate_left(1);
            }
            let before = std::mem::take(stages);
            for (kind, mut stage) in before {
                match take(&mut stage) {
                    Ok(value) => {
                        eprintln!(
                            "{measure}, round {round} of {}, {}: {value:.1}",
                            self.scale.rounds,
                            kind.label()
                        );
                        values.entry(kind).or_default().push(value);
                        stages.push((kind, stage));
                    }
                    Err(e) => {
                        values.remove(&kind);
                        self.note(format!("{}, {measure}: {e:#}", kind.label()));
                    }
                }
            }
        }
        values
    }
}

/// What each contender reached, one value per round.
pub(crate) type Values = BTreeMap<Kind, Vec<f64>>;

/// The contenders of one measure, running.
struct Lineup {
    place: Place,
    gate: Gate,
    peers: Vec<(Kind, Box<dyn Peer>)>,
}

impl Lineup {
    /// Prepares each contender; one that cannot be prepared is left out with a note.
    fn stage<T>(
        &mut self,
        bench: &mut Bench,
        mut prepare: impl FnMut(&mut dyn Peer, &Gate) -> Result<T>,
    ) -> Vec<(Kind, T)> {
        let mut stages = Vec::new();
        for (kind, peer) in &mut self.peers {
            match prepare(peer.as_mut(), &self.gate) {
                Ok(stage) => stages.push((*kind, stage)),
                Err(e) => bench.note(format!("{}: {e:#}", kind.label())),
            }
        }
        stages
    }
}

/// Creates a session to which no client is attached.
fn detached(peer: &mut dyn Peer, gate: &Gate, session: &str) -> Result<Puppet> {
    peer.create(session, &gate.argv(session))?;
    Ok(gate.wait(session)?.0)
}

/// A session with one client.
struct Attached {
    terminal: Terminal,
    puppet: Puppet,
}

impl Attached {
    /// Creates the session and returns when its output reaches the client.
    fn new(peer: &mut dyn Peer, gate: &Gate, session: &str) -> Result<Self> {
        let mut puppet = detached(peer, gate, session)?;
        let mut terminal = peer.attach(session)?;
        let limit = wait::STEP / 4;
        let end = Instant::now() + limit;
        // Without history, a mark written before the client was there is lost; hence more than one.
        while Instant::now() < end {
            let mark = puppet.mark()?;
            if terminal.wait_for(&mark, Instant::now() + Duration::from_millis(100)).is_ok() {
                return Ok(Self { terminal, puppet });
            }
        }
        anyhow::bail!("nothing reached the attached client within {limit:?}")
    }
}

/// The median, for values that were just taken.
fn median(samples: &[f64]) -> Result<f64> {
    stats::median(samples).context("no samples")
}
