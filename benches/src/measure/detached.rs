//! How fast a child can write while nobody watches.

use anyhow::Result;

use super::{Bench, detached};
use crate::peers::Kind;
use crate::report::{Budget, Metric, Unit};

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let mut lineup = bench.lineup(&Kind::ALL)?;
    let mut stages = lineup.stage(bench, |peer, gate| detached(peer, gate, "main"));
    let flood = bench.scale.flood;
    let values = bench.rounds("detached", &mut stages, |puppet| {
        puppet.flood(flood)?;
        Ok(flood as f64 / puppet.flood_time()?.as_secs_f64() / 1e6)
    });
    let budget = Budget::AtLeast { factor: 0.9, of: Kind::Raw };
    Ok(vec![
        Metric::new("detached", "output with no client", Unit::MegabytesPerSecond, values).budget(budget),
    ])
}
