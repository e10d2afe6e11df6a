//! How fast a child can write while no client is attached.

use anyhow::Result;

use super::{Bench, detached};
use crate::flood::Style;
use crate::peers::Kind;
use crate::report::{Budget, Metric, Unit};

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let mut lineup = bench.lineup(&Kind::ALL)?;
    let mut stages = lineup.stage(bench, |peer, gate| detached(peer, gate, "main"));
    let flood = bench.scale.flood;
    let mut metrics = Vec::new();
    for (style, factor) in [(Style::Text, 0.95), (Style::Ansi, 0.9)] {
        let name = style.name();
        let values = bench.rounds(&format!("detached, {name}"), &mut stages, |puppet| {
            puppet.flood_in(style, flood)?;
            Ok(flood as f64 / puppet.flood_time()?.as_secs_f64() / 1e6)
        });
        let title = format!("{name} with no client");
        let budget = Budget::AtLeast { factor, of: Kind::Raw };
        let metric = Metric::new(format!("detached-{name}"), title, Unit::MegabytesPerSecond, values);
        metrics.push(metric.budget(budget));
    }
    Ok(metrics)
}
