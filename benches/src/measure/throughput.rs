//! How fast a child's output reaches one attached client, and what that costs.

use std::time::Instant;

use anyhow::Result;

use super::{Attached, Bench, Values};
use crate::flood::{Style, Text};
use crate::peers::{Kind, Peer};
use crate::puppet::Gate;
use crate::report::{Budget, Metric, Unit};
use crate::{proc, wait};

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let mut contenders = Kind::ALL.to_vec();
    contenders.push(Kind::Blind);
    let mut lineup = bench.lineup(&contenders)?;
    let mut metrics = Vec::new();
    for style in Style::ALL {
        let session = format!("main-{}", style.name());
        let stages = lineup.stage(bench, |peer, gate| Stage::new(peer, gate, &session));
        metrics.extend(of_style(bench, style, stages));
    }
    Ok(metrics)
}

fn of_style(bench: &mut Bench, style: Style, mut stages: Vec<(Kind, Stage)>) -> Vec<Metric> {
    let flood = bench.scale.flood;
    let shown = Text::new(style).shown_length(flood);
    let name = style.name();
    let values =
        bench.rounds(&format!("throughput, {name}"), &mut stages, |stage| stage.round(style, flood, shown));
    let (mut paces, mut shares, mut costs) = (Values::new(), Values::new(), Values::new());
    for (kind, stage) in stages {
        paces.insert(kind, stage.paces);
        costs.extend((!stage.costs.is_empty()).then_some((kind, stage.costs)));
        // The worst round: a contender that drops output does so only now and then.
        shares.insert(kind, vec![stage.shares.into_iter().fold(100.0, f64::min)]);
    }
    let both = [Kind::Swb, Kind::Blind].iter().filter_map(|kind| Some((*kind, values.get(kind)?.clone())));
    let both = both.collect();
    let (rate, of) = (Unit::MegabytesPerSecond, Kind::Relay);
    let factor = if style == Style::Text { 1.3 } else { 2.0 };
    let key = |what: &str| format!("{what}-{name}");
    vec![
        Metric::new(key("throughput"), format!("{name} that reaches one attached client"), rate, values)
            .budget(Budget::AtLeast { factor: 0.95, of }),
        Metric::new(
            key("screens"),
            format!("{name}: the same, for what following the screen costs"),
            rate,
            both,
        )
        .budget(Budget::AtLeast { factor: 0.9, of: Kind::Blind }),
        Metric::new(key("pace"), format!("{name} the child writes meanwhile"), rate, paces),
        Metric::new(
            key("delivered"),
            format!("share of the {name} that reaches the client, worst round"),
            Unit::Percent,
            shares,
        )
        .budget(Budget::AtLeastAbsolute { min: 100.0 }),
        Metric::new(
            key("cpu"),
            format!("CPU time of servers and client per GiB of {name}"),
            Unit::SecondsPerGibibyte,
            costs,
        )
        .budget(Budget::AtMost { factor, of }),
    ]
}

struct Stage {
    session: Attached,
    /// The servers and the client; none if the contender is no process of its own.
    processes: Vec<u32>,
    paces: Vec<f64>,
    shares: Vec<f64>,
    costs: Vec<f64>,
}

impl Stage {
    fn new(peer: &mut dyn Peer, gate: &Gate, session: &str) -> Result<Self> {
        let session = Attached::new(peer, gate, session)?;
        let mut processes = peer.servers()?;
        if !processes.is_empty() {
            processes.push(session.terminal.client());
        }
        Ok(Self { session, processes, paces: Vec::new(), shares: Vec::new(), costs: Vec::new() })
    }

    /// Floods the client once. Bytes that never reached it do not count.
    fn round(&mut self, style: Style, flood: u64, shown: u64) -> Result<f64> {
        let before = self.used()?;
        let Attached { terminal, puppet } = &mut self.session;
        let start = Instant::now();
        let mark = puppet.flood_in(style, flood)?;
        let bytes = terminal.wait_for(&mark, wait::step())?;
        let pace = flood as f64 / start.elapsed().as_secs_f64() / 1e6;
        puppet.flood_time()?;
        // A contender that renders anew may send more than it got; that is no merit.
        let share = (bytes as f64 / shown as f64).min(1.0);
        self.paces.push(pace);
        self.shares.push(100.0 * share);
        if !self.processes.is_empty() {
            let seconds = (self.used()? - before) / 1e6;
            self.costs.push(seconds / (flood as f64 / f64::from(1 << 30)));
        }
        Ok(pace * share)
    }

    /// Microseconds of processor time used so far.
    fn used(&self) -> Result<f64> {
        self.processes.iter().map(|pid| proc::cpu_micros(*pid)).sum()
    }
}
