//! Passes the connections that agents' programs inherit from the backends to the transport that serves them.

use crate::limits;
use swb_backends::AgentSocket;
use swb_dialects::Fronts;
use swb_dialects::control::Control;
use tokio::sync::mpsc;

/// The two ends of the way from the backends to the transport. The backends are created first.
pub(crate) fn channel() -> (mpsc::Sender<AgentSocket>, mpsc::Receiver<AgentSocket>) {
    mpsc::channel(limits::AGENT_SOCKETS)
}

/// Serves the connections of all agents until the daemon stops.
pub(crate) fn serve(control: Control, fronts: &Fronts, mut sockets: mpsc::Receiver<AgentSocket>) {
    let stop = fronts.stop.clone();
    fronts.tasks.spawn(async move {
        loop {
            let agent = tokio::select! {
                agent = sockets.recv() => agent,
                () = stop.cancelled() => return,
            };
            let Some(AgentSocket { socket, workspace, ended, .. }) = agent else { return };
            control.serve_agent(socket, workspace, ended);
        }
    });
}
