//! How long a key takes to come back, in an idle system and beside a session that floods its own terminal.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Attached, Bench, Values, detached, median};
use crate::peers::{Kind, Peer};
use crate::puppet::{Gate, Puppet};
use crate::report::{Budget, Metric, Unit};
use crate::{stats, wait};

/// Keys that occur in no escape sequence a contender might add around the echo.
const KEYS: &[u8] = b"jovwyz";

/// How long a flood runs before the first key, so that all queues on its way are filled.
const WARM_UP: Duration = Duration::from_millis(200);

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let mut lineup = bench.lineup(&Kind::ALL)?;
    let mut stages = lineup.stage(bench, Stage::new);
    let keys = bench.scale.keys;
    let alone = bench.rounds("echo", &mut stages, |stage| stage.round(keys));
    let alone_tail = tails(&mut stages);
    let beside = bench.rounds("echo beside a flood", &mut stages, |stage| stage.round_beside_flood(keys));
    let beside_tail = tails(&mut stages);
    let best = |factor| Budget::AtMostBestPeer { factor };
    let us = Unit::Microseconds;
    Ok(vec![
        Metric::new("echo", "key to echo, median", us, alone).budget(best(1.0)),
        Metric::new("echo-p99", "key to echo, 99th percentile", us, alone_tail).budget(best(1.5)),
        Metric::new("echo-flood", "key to echo beside a flooding session, median", us, beside)
            .budget(Budget::AtMost { factor: 2.0, of: Kind::Raw }),
        Metric::new(
            "echo-flood-p99",
            "key to echo beside a flooding session, 99th percentile",
            us,
            beside_tail,
        )
        .budget(best(2.0)),
    ])
}

struct Stage {
    main: Attached,
    other: Puppet,
    samples: Vec<f64>,
}

impl Stage {
    fn new(peer: &mut dyn Peer, gate: &Gate) -> Result<Self> {
        let mut main = Attached::new(peer, gate, "main")?;
        let other = detached(peer, gate, "other")?;
        main.puppet.echo()?;
        main.terminal.wait_raw()?;
        Ok(Self { main, other, samples: Vec::new() })
    }

    fn round(&mut self, keys: u32) -> Result<f64> {
        let first = self.samples.len();
        for key in (0..keys).map(|i| KEYS[i as usize % KEYS.len()]) {
            // Uneven, so that the keys cannot fall into step with anyone's timer.
            let gap = Duration::from_micros(1500 + u64::from(key) * 37 % 2000);
            self.main.terminal.discard(gap)?;
            let start = Instant::now();
            self.main.terminal.write(&[key])?;
            self.main.terminal.wait_for(&[key], wait::step())?;
            self.samples.push(start.elapsed().as_secs_f64() * 1e6);
        }
        median(&self.samples[first..])
    }

    fn round_beside_flood(&mut self, keys: u32) -> Result<f64> {
        self.other.flood_on()?;
        wait::pause(WARM_UP);
        let result = self.round(keys);
        self.other.stop()?;
        result
    }
}

/// The 99th percentile over all rounds, whose single rounds have too few keys for it.
fn tails(stages: &mut [(Kind, Stage)]) -> Values {
    let tail = |stage: &mut Stage| stats::quantile(&std::mem::take(&mut stage.samples), 0.99);
    stages.iter_mut().filter_map(|(kind, stage)| Some((*kind, vec![tail(stage)?]))).collect()
}
