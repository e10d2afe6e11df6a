//! How long the sessions are out of reach when the daemon dies.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{Bench, Values};
use crate::peers::{Kind, Peer, Swb};
use crate::puppet::{Gate, Puppet};
use crate::report::{Budget, Metric, Unit};
use crate::wait;

/// Milliseconds from the end of a daemon until the next one names all sessions.
const LIMIT: f64 = 500.0;
/// How long it may take before it counts as broken.
const BROKEN: Duration = Duration::from_secs(30);
/// Pause between two deaths: the keeper waits longer for a daemon that dies at once.
const LIFE: Duration = Duration::from_secs(6);

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let sessions = bench.scale.adopted;
    let place = bench.place()?;
    let gate = Gate::open(&place.exe, &place.dir)?;
    let mut swb = Swb::start(&place)?;
    let mut puppets = Vec::new();
    for number in 0..sessions {
        puppets.push(super::detached(&mut swb, &gate, &format!("r{number}"))?);
    }
    let mut times = Vec::new();
    for round in 0..bench.scale.restarts {
        if round > 0 {
            wait::pause(LIFE);
        }
        let time = crash(&mut swb, sessions as usize)?;
        eprintln!("restart with {sessions} sessions: {time:.0} ms");
        times.push(time);
    }
    let answers = puppets.iter_mut().filter_map(|puppet: &mut Puppet| puppet.mark().ok()).count();
    if answers != sessions as usize {
        bail!("after restarts of the daemon, {answers} of {sessions} programs answer");
    }
    let values = Values::from([(Kind::Swb, times)]);
    let title = format!("from the end of the daemon until the next one has {sessions} sessions");
    let budget = Budget::Absolute { max: LIMIT };
    Ok(vec![Metric::new("restart", title, Unit::Milliseconds, values).budget(budget)])
}

fn crash(swb: &mut Swb, sessions: usize) -> Result<f64> {
    // Before, so that its own time does not count.
    swb.servers()?;
    let start = Instant::now();
    swb.crash()?;
    wait::until(BROKEN, || swb.sessions().ok().filter(|known| *known == sessions))
        .context("the next daemon does not have all sessions")?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
