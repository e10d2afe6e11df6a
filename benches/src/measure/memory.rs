//! How much memory a further idle session costs, and how much one that was busy and is quiet again.

use std::process::Child;
use std::time::Duration;

use anyhow::Result;

use super::{Bench, Lineup, Values, detached};
use crate::peers::{Kind, Peer};
use crate::puppet::{Gate, Puppet};
use crate::report::{Budget, Metric, Unit};
use crate::{proc, wait};

/// Sessions at the first and at the second reading.
const FEW: u32 = 10;
const MANY: u32 = 100;

/// KiB that the first session of `swb` may cost, and a further idle one.
const FIRST_LIMIT: f64 = 8.0 * 1024.0;
const LIMIT: f64 = 12.0;

/// Sessions that put something out, how much, how long they are quiet afterwards, and how many KiB more than an
/// idle one each of them may cost `swb`, all that is kept of the output included.
const BUSY: u32 = 10;
const OUTPUT: u64 = 4 << 20;
const QUIET: Duration = Duration::from_secs(6);
const FRESH_LIMIT: f64 = 1.6 * 1024.0;
const OUTPUT_LIMIT: f64 = 1.15 * 1024.0;

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let mut lineup = bench.lineup(&Kind::KEEPERS)?;
    let ballast = Ballast::new(&lineup)?;
    let stages = lineup.stage(bench, growth);
    drop(ballast);
    let [mut first, mut idle, mut fresh, mut busy] = [(); 4].map(|()| Values::new());
    for (kind, growth) in stages {
        first.insert(kind, vec![growth.first]);
        idle.insert(kind, vec![growth.further]);
        fresh.insert(kind, vec![growth.right_after]);
        busy.insert(kind, vec![growth.quiet]);
    }
    let title = format!("memory (PSS) per further idle session, {FEW} to {MANY}");
    let after = format!("the same per session that put out {} MiB and is quiet again", OUTPUT >> 20);
    let right_after = format!("the same per session right after {} MiB of output", OUTPUT >> 20);
    Ok(vec![
        Metric::new("memory-first", "memory (PSS) of the first session", Unit::Kibibytes, first)
            .budget(Budget::Absolute { max: FIRST_LIMIT }),
        Metric::new("memory-after", right_after, Unit::Kibibytes, fresh)
            .budget(Budget::Absolute { max: FRESH_LIMIT }),
        Metric::new("memory", title, Unit::Kibibytes, idle).budget(Budget::Absolute { max: LIMIT }),
        Metric::new("memory-quiet", after, Unit::Kibibytes, busy)
            .budget(Budget::Absolute { max: OUTPUT_LIMIT }),
    ])
}

/// What sessions cost, in KiB.
struct Growth {
    first: f64,
    further: f64,
    right_after: f64,
    quiet: f64,
}

fn growth(peer: &mut dyn Peer, gate: &Gate) -> Result<Growth> {
    let mut sessions = Vec::new();
    let first = grow(peer, gate, &mut sessions, 1)?;
    let few = grow(peer, gate, &mut sessions, FEW)?;
    let many = grow(peer, gate, &mut sessions, MANY)?;
    for puppet in sessions.iter_mut().take(BUSY as usize) {
        puppet.flood(OUTPUT)?;
        puppet.flood_time()?;
    }
    let busy = pss(peer)?;
    wait::pause(QUIET);
    let after = settled(peer)?;
    eprintln!(
        "memory: {first} KiB with 1, {few} KiB with {FEW}, {many} KiB with {MANY} sessions, {after} KiB after output of {BUSY}"
    );
    let per = |more: u64, less: u64, sessions: u32| (more as f64 - less as f64) / f64::from(sessions);
    Ok(Growth {
        first: first as f64,
        further: per(many, few, MANY - FEW),
        right_after: per(busy, many, BUSY),
        quiet: per(after, many, BUSY),
    })
}

fn grow(peer: &mut dyn Peer, gate: &Gate, sessions: &mut Vec<Puppet>, to: u32) -> Result<u64> {
    for number in sessions.len()..to as usize {
        sessions.push(detached(peer, gate, &format!("m{number}"))?);
    }
    settled(peer)
}

/// The servers' memory once it no longer changes, or after a few seconds.
fn settled(peer: &dyn Peer) -> Result<u64> {
    let mut last = pss(peer)?;
    for _ in 0..10 {
        wait::pause(Duration::from_millis(300));
        let now = pss(peer)?;
        if now == last {
            break;
        }
        last = now;
    }
    Ok(last)
}

fn pss(peer: &dyn Peer) -> Result<u64> {
    peer.servers()?.into_iter().map(proc::pss_kib).sum()
}

/// Idle processes beside the sessions.
///
/// PSS divides a shared page by its users. The programs in the sessions share the C library with the servers,
/// which would thus seem to shrink with every session; with many other users from the start they hardly do.
struct Ballast {
    children: Vec<Child>,
    puppets: Vec<Puppet>,
}

impl Ballast {
    fn new(lineup: &Lineup) -> Result<Self> {
        let mut ballast = Self { children: Vec::new(), puppets: Vec::new() };
        for number in 0..MANY {
            let name = format!("b{number}");
            let argv = lineup.gate.argv(&name);
            ballast.children.push(lineup.place.command(&argv[0]).args(&argv[1..]).spawn()?);
            ballast.puppets.push(lineup.gate.wait(&name)?.0);
        }
        Ok(ballast)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        self.puppets.clear();
        for child in &mut self.children {
            child.wait().ok();
        }
    }
}
