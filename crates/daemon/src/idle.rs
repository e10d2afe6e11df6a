//! When a daemon that nobody asked for explicitly is no longer needed (XS-10).

use std::time::Duration;
use swb_dialects::Fronts;
use swb_engine::Engine;
use swb_engine::chat::Chats;
use tokio::time::Instant;

/// How long there must be neither sessions nor connections.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often connections are counted while there are no sessions.
const LOOK: Duration = Duration::from_secs(1);

/// Returns when there has been nothing to do for a while.
pub(crate) async fn nothing_to_do(engine: &Engine, chats: &Chats, fronts: &Fronts) {
    let mut events = engine.subscribe();
    let mut idle_since = None;
    loop {
        if engine.count() > 0 {
            idle_since = None;
            // Only the end of a session can change this; a missed event is as good as one.
            let _event = events.recv().await;
            continue;
        }
        // A conversation that is not saved would be lost.
        if fronts.connections() > 0 || chats.count() > 0 {
            idle_since = None;
        } else if idle_since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}
