//! How fast a child's output reaches one attached client.

use std::time::Instant;

use anyhow::Result;

use super::{Attached, Bench, Values};
use crate::flood::Text;
use crate::peers::{Kind, Peer};
use crate::puppet::Gate;
use crate::report::{Budget, Metric, Unit};
use crate::wait;

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let mut contenders = Kind::ALL.to_vec();
    contenders.push(Kind::Blind);
    let mut lineup = bench.lineup(&contenders)?;
    let mut stages = lineup.stage(bench, Stage::new);
    let flood = bench.scale.flood;
    let shown = Text::new().shown_length(flood);
    let values = bench.rounds("throughput", &mut stages, |stage| stage.round(flood, shown));
    let (mut paces, mut shares) = (Values::new(), Values::new());
    for (kind, stage) in stages {
        paces.insert(kind, stage.paces);
        // The worst round: a contender that drops output does so only now and then.
        shares.insert(kind, vec![stage.shares.into_iter().fold(100.0, f64::min)]);
    }
    let budget = Budget::AtLeast { factor: 0.8, of: Kind::Relay };
    let screens = Budget::AtLeast { factor: 0.95, of: Kind::Blind };
    let both = [Kind::Swb, Kind::Blind].iter().filter_map(|kind| Some((*kind, values.get(kind)?.clone())));
    let both = both.collect();
    let rate = Unit::MegabytesPerSecond;
    Ok(vec![
        Metric::new("throughput", "output that reaches one attached client", rate, values).budget(budget),
        Metric::new("screens", "the same, for what following the screen costs", rate, both).budget(screens),
        Metric::new("pace", "output the child writes meanwhile", rate, paces),
        Metric::new("delivered", "share of it that reaches the client, worst round", Unit::Percent, shares),
    ])
}

struct Stage {
    session: Attached,
    paces: Vec<f64>,
    shares: Vec<f64>,
}

impl Stage {
    fn new(peer: &mut dyn Peer, gate: &Gate) -> Result<Self> {
        let session = Attached::new(peer, gate, "main")?;
        Ok(Self { session, paces: Vec::new(), shares: Vec::new() })
    }

    /// Floods the client once. Bytes that never reached it do not count.
    fn round(&mut self, flood: u64, shown: u64) -> Result<f64> {
        let Attached { terminal, puppet } = &mut self.session;
        let start = Instant::now();
        let mark = puppet.flood(flood)?;
        let bytes = terminal.wait_for(&mark, wait::step())?;
        let pace = flood as f64 / start.elapsed().as_secs_f64() / 1e6;
        puppet.flood_time()?;
        // A contender that renders anew may send more than it got; that is no merit.
        let share = (bytes as f64 / shown as f64).min(1.0);
        self.paces.push(pace);
        self.shares.push(100.0 * share);
        Ok(pace * share)
    }
}
