//! How long it takes from the wish for a session to the first act of its program.

use std::ffi::OsString;
use std::time::Instant;

use anyhow::Result;

use super::{Bench, detached, median};
use crate::peers::{Kind, Peer};
use crate::puppet::Gate;
use crate::report::{Budget, Metric, Unit};

/// Milliseconds that `swb` may add to the cost of a raw spawn.
const EXTRA: f64 = 10.0;

/// How a session is asked for.
type Create = fn(&mut dyn Peer, &str, &[OsString]) -> Result<()>;

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let by_request =
        rows(bench, "create", &[Kind::Raw, Kind::Swb], |peer, session, argv| peer.create(session, argv))?;
    let by_command = rows(bench, "create by command", &Kind::KEEPERS, |peer, session, argv| {
        peer.create_by_command(session, argv)
    })?;
    let budget = Budget::AtMostPlus { extra: EXTRA, of: Kind::Raw };
    let ms = Unit::Milliseconds;
    Ok(vec![
        Metric::new("create", "request for a session until its program runs", ms, by_request).budget(budget),
        Metric::new("create-command", "the same with the command line", ms, by_command)
            .budget(Budget::AtMost { factor: 1.3, of: Kind::Dtach }),
    ])
}

fn rows(bench: &mut Bench, measure: &str, kinds: &[Kind], create: Create) -> Result<super::Values> {
    let mut lineup = bench.lineup(kinds)?;
    // A first session that stays, so that no server starts or ends during the measurement.
    let kept = lineup.stage(bench, |peer, gate| detached(peer, gate, "kept"));
    let gate = &lineup.gate;
    let mut peers: Vec<_> = lineup.peers.iter_mut().map(|(kind, peer)| (*kind, peer.as_mut())).collect();
    peers.retain(|(kind, _)| kept.iter().any(|(k, _)| k == kind));
    let creates = bench.scale.creates;
    let mut count = 0;
    let values = bench.rounds(measure, &mut peers, |peer| {
        let times: Result<Vec<f64>> = (0..creates)
            .map(|_| {
                count += 1;
                time_one(*peer, gate, &format!("s{count}"), create)
            })
            .collect();
        median(&times?)
    });
    drop(kept);
    Ok(values)
}

fn time_one(peer: &mut dyn Peer, gate: &Gate, session: &str, create: Create) -> Result<f64> {
    let argv = gate.argv(session);
    let start = Instant::now();
    create(peer, session, &argv)?;
    let (_puppet, heard) = gate.wait(session)?;
    Ok(heard.duration_since(start).as_secs_f64() * 1e3)
}
