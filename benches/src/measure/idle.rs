//! How much CPU time the servers of many idle sessions use.

use std::time::Duration;

use anyhow::Result;

use super::{Bench, Values, detached};
use crate::peers::{Kind, Peer};
use crate::puppet::{Gate, Puppet};
use crate::report::{Budget, Metric, Unit};
use crate::{proc, wait};

/// Clock ticks that still count as nothing: a process that wakes for the reading itself may be charged one.
const LIMIT: f64 = 1.0;

/// How long the servers may still be busy with the last session.
const SETTLE: Duration = Duration::from_secs(2);

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let (sessions, window) = (bench.scale.idle, bench.scale.window);
    let (mut ticks, mut micros) = (Values::new(), Values::new());
    for kind in Kind::KEEPERS {
        // One after the other: 500 sessions of each at once would ask for thousands of processes.
        let mut lineup = bench.lineup(&[kind])?;
        for (kind, used) in lineup.stage(bench, |peer, gate| watch(peer, gate, sessions, window)) {
            ticks.insert(kind, vec![used.ticks as f64]);
            micros.insert(kind, vec![used.micros]);
        }
    }
    let many = bench.scale.many;
    let mut lineup = bench.lineup(&[Kind::Swb])?;
    let crowd: Vec<(Kind, Used)> = lineup.stage(bench, |peer, gate| watch(peer, gate, many, window));
    drop(lineup);
    let crowd_ticks: Values = crowd.iter().map(|(kind, used)| (*kind, vec![used.ticks as f64])).collect();
    let created = crowd.iter().map(|(kind, used)| (*kind, vec![used.reached])).collect();
    let title = format!("CPU of {sessions} idle sessions in {} s", window.as_secs());
    let exact = format!("{title}, by the scheduler's clock");
    Ok(vec![
        Metric::new("idle", title, Unit::Ticks, ticks).budget(Budget::Absolute { max: LIMIT }),
        Metric::new("idle-exact", exact, Unit::Microseconds, micros),
        Metric::new(
            "idle-many",
            format!("CPU of {many} idle sessions in {} s", window.as_secs()),
            Unit::Ticks,
            crowd_ticks,
        )
        .budget(Budget::Absolute { max: LIMIT }),
        Metric::new("idle-reached", format!("share of {many} sessions that answer"), Unit::Percent, created)
            .budget(Budget::AtLeastAbsolute { min: 100.0 }),
    ])
}

/// CPU time of a contender's servers.
struct Used {
    ticks: u64,
    /// A process can use up to a tick without being charged one; this shows it.
    micros: f64,
    /// Share of the sessions whose programs answered afterwards.
    reached: f64,
}

impl Used {
    fn so_far(servers: &[u32]) -> Result<Self> {
        let ticks = servers.iter().map(|pid| proc::cpu_ticks(*pid)).sum::<Result<u64>>()?;
        let micros = servers.iter().map(|pid| proc::cpu_micros(*pid)).sum::<Result<f64>>()?;
        Ok(Self { ticks, micros, reached: 0.0 })
    }
}

fn watch(peer: &mut dyn Peer, gate: &Gate, sessions: u32, window: Duration) -> Result<Used> {
    let puppets: Result<Vec<Puppet>> =
        (0..sessions).map(|n| detached(peer, gate, &format!("i{n}"))).collect();
    let mut puppets = puppets?;
    let servers = peer.servers()?;
    wait::pause(SETTLE.min(window));
    let before = Used::so_far(&servers)?;
    wait::pause(window);
    let after = Used::so_far(&servers)?;
    let answers = puppets.iter_mut().filter_map(|puppet| puppet.mark().ok()).count();
    let reached = 100.0 * answers as f64 / f64::from(sessions);
    let used = Used { ticks: after.ticks - before.ticks, micros: after.micros - before.micros, reached };
    eprintln!("idle: {} ticks, {:.0} µs with {} sessions", used.ticks, used.micros, puppets.len());
    Ok(used)
}
