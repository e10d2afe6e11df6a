//! How soon a client that comes back sees the screen, after output that no client received.

use std::time::Instant;

use anyhow::Result;

use super::{Bench, detached};
use crate::peers::Kind;
use crate::report::{Budget, Metric, Unit};
use crate::wait;

/// Output before the client comes: four times what the ideal relay and `swb` keep of it.
const OUTPUT: u64 = 4 << 20;

/// Those that show a newcomer anything.
const CONTENDERS: [Kind; 5] = [Kind::Relay, Kind::Swb, Kind::Tmux, Kind::Screen, Kind::Shpool];

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let mut lineup = bench.lineup(&CONTENDERS)?;
    let puppets = lineup.stage(bench, |peer, gate| detached(peer, gate, "main"));
    let mut stages: Vec<_> = puppets
        .into_iter()
        .zip(lineup.peers)
        .map(|((kind, puppet), (_, peer))| (kind, (puppet, peer)))
        .collect();
    let values = bench.rounds("reattach", &mut stages, |(puppet, peer)| {
        let mark = puppet.flood(OUTPUT)?;
        puppet.flood_time()?;
        let start = Instant::now();
        let mut terminal = peer.attach("main")?;
        terminal.wait_for(&mark, wait::step())?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    });
    let title = format!("attaching after {} MiB of output, until the end of it is shown", OUTPUT >> 20);
    let budget = Budget::AtMost { factor: 1.0, of: Kind::Tmux };
    Ok(vec![Metric::new("reattach", title, Unit::Milliseconds, values).budget(budget)])
}
