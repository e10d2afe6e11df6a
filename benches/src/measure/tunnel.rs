//! Terminals through a tunnel, beside the same over the daemon's Unix socket.
//!
//! The other end is `swb` itself: `--via` offers a socket like the daemon's own, so both clients are the same. Both ends of the
//! tunnel share this machine's cores.

use anyhow::Result;

use super::Bench;
use super::web::{Client, Stream};
use crate::peers::{Kind, Swb};
use crate::puppet::Gate;
use crate::report::{Budget, Metric, Unit};

/// Microseconds that a key may take through a tunnel beyond the Unix socket.
const EXTRA: f64 = 5_000.0;

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let place = bench.place()?;
    let gate = Gate::open(&place.exe, &place.dir)?;
    let mut swb = Swb::start(&place)?;
    let tunnel = swb.tunnel()?;
    let mut clients = vec![
        (Kind::Swb, Client::new(&mut swb, &gate, "tunnel", |_, name| Ok(Stream::new(tunnel.stream(name)?)))?),
        (Kind::Socket, Client::new(&mut swb, &gate, "unix", Stream::over_socket)?),
    ];
    let (keys, flood) = (bench.scale.keys, bench.scale.flood);
    let rate = bench.rounds("output through a tunnel", &mut clients, |client| client.flood(flood));
    for (_, client) in &mut clients {
        client.puppet.echo()?;
    }
    let echo = bench.rounds("echo through a tunnel", &mut clients, |client| client.echo(keys));
    let title = "key to echo through a tunnel, compared with the daemon's Unix socket, median";
    Ok(vec![
        Metric::new("tunnel-echo", title, Unit::Microseconds, echo)
            .budget(Budget::AtMostPlus { extra: EXTRA, of: Kind::Socket }),
        Metric::new(
            "tunnel-throughput",
            "output that arrives through a tunnel",
            Unit::MegabytesPerSecond,
            rate,
        )
        .budget(Budget::AtLeast { factor: 0.1, of: Kind::Socket }),
    ])
}
