//! The tunnels of the daemon.

use crate::config::TunnelConfig;
use crate::host::DaemonHost;
use std::sync::Arc;
use swb_dialects::Fronts;
use swb_operations::requests::Executor;
use swb_operations::{Host, Operations};
use swb_tunnel::{TunnelContext, Tunnels};
use swb_types::Paths;
use swb_web::Servers;
use tokio::runtime::Handle;

/// Opens the tunnel transport; there are no tunnels yet.
pub(crate) fn open(
    config: &TunnelConfig,
    paths: &Paths,
    fronts: &Fronts,
    operations: &Operations,
    host: &Arc<DaemonHost>,
) {
    let executor =
        Executor { operations: operations.clone(), daemon: Handle::current(), tasks: fronts.tasks.clone() };
    let owner = Arc::downgrade(host);
    let web = move || owner.upgrade()?.web.get().and_then(Servers::address);
    let context = TunnelContext {
        executor,
        stop: fronts.stop.clone(),
        hostname: host.machine(),
        machine_id: paths.coop_dir().join("machine_id"),
        web: Box::new(web),
        stun: config.stun.clone(),
        turn: config.turn.clone(),
        page: config.page.clone(),
        rendezvous: config.rendezvous.clone(),
    };
    // Set once, here.
    let _set = host.tunnels.set(Tunnels::new(context));
}
