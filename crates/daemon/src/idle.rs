//! When a daemon that a command started is no longer needed (XS-10).

use crate::host::DaemonHost;
use crate::limits;
use swb_dialects::Fronts;
use swb_engine::Engine;
use swb_engine::chat::Chats;
use tokio::time::Instant;

/// Returns when the daemon has been idle for [`limits::IDLE_EXIT`].
pub(crate) async fn nothing_to_do(engine: &Engine, chats: &Chats, fronts: &Fronts, host: &DaemonHost) {
    let mut events = engine.subscribe();
    let mut idle_since = None;
    loop {
        if engine.count() > 0 {
            idle_since = None;
            // Only the end of a session can change this; a missed event counts as one.
            let _event = events.recv().await;
            continue;
        }
        // A conversation that was not saved would be lost.
        // A web server or a tunnel waits for clients.
        let serves = host.web.get().is_some_and(|servers| !servers.status().is_empty())
            || host.tunnels.get().is_some_and(|tunnels| tunnels.count() > 0);
        if fronts.connections() > 0 || chats.count() > 0 || serves {
            idle_since = None;
        } else if idle_since.get_or_insert_with(Instant::now).elapsed() >= limits::IDLE_EXIT {
            return;
        }
        tokio::time::sleep(limits::IDLE_CHECK).await;
    }
}
