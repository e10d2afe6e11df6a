//! `swb rendezvous`: helps tunnels between other machines to begin.

use crate::args::RendezvousArgs;
use crate::console::{print_json_text, print_text};
use crate::error::{Failure, Outcome};
use std::net::TcpListener;
use swb_daemon::rendezvous;
use tokio::runtime::Builder;

/// Serves in the foreground until a signal ends the process; there is nothing to be saved.
pub(super) fn run(json: bool, args: &RendezvousArgs) -> Outcome {
    let RendezvousArgs { host, port } = args;
    let cannot = |error: &std::io::Error| Failure::io(format!("cannot listen on {host} port {port}"), error);
    let listener = TcpListener::bind((host.as_str(), *port)).map_err(|error| cannot(&error))?;
    let url = format!("http://{}", listener.local_addr().map_err(|error| cannot(&error))?);
    if json {
        print_json_text(&format!("{}\n", serde_json::json!({ "url": url })))?;
    } else {
        print_text(&format!("Serving at {url}. Ctrl+C ends it.\n"))?;
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(rendezvous::serve(listener)).map_err(|error| cannot(&error))?;
    Ok(0)
}
