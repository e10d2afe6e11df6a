//! The clippy dialect on a socket, without a daemon around it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests have threads of their own")]

mod broker;
mod registry;

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use swb_dialects::Fronts;
use swb_dialects::clippy::Clippy;
use swb_engine::{Relay, TurnLimits};
use swb_testkit::ClippyClient;
use swb_wire::clippy::PeerRole;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A broker in this process.
struct Broker {
    dir: TempDir,
    socket: PathBuf,
    /// Connections are served on its threads, until it is dropped.
    _runtime: Runtime,
}

impl Broker {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("broker.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let runtime = Runtime::new().unwrap();
        let _entered = runtime.enter();
        let front = Clippy::new(&Relay::detached(TurnLimits::default()), Fronts::default());
        front.listen(listener.into()).unwrap();
        Self { dir, socket, _runtime: runtime }
    }

    /// A connection that has sent nothing.
    fn clippy_raw(&self) -> ClippyClient {
        ClippyClient::connect(&self.socket).unwrap()
    }

    /// A connection after the handshake.
    #[track_caller]
    fn clippy(&self, role: PeerRole) -> ClippyClient {
        let mut client = self.clippy_raw();
        client.hello(role);
        client
    }

    /// A directory for files, which is removed with the broker.
    fn workspace(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    }
}
