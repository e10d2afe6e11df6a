//! Connects to the keeper, and starts one if needed.

use crate::config::Config;
use crate::limits;
use crate::service_manager;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};
use swb_dialects::private_socket;
use swb_engine::{Engine, EngineOptions, Error, SessionEndpoint};
use swb_programs::SystemClipboard;
use swb_turns::Profiles;
use swb_types::Paths;

/// Connects the engine to the keeper of this user, and starts a keeper if none is running; returns whether it did.
pub(crate) async fn connect(
    paths: &Paths,
    exe: &Path,
    config: &Config,
    profiles: Option<Profiles>,
    endpoints: Vec<std::sync::Arc<dyn SessionEndpoint>>,
) -> Result<(Engine, bool)> {
    private_socket::private_dir(&paths.run_dir())?;
    let socket = paths.keeper_socket();
    let mut options = EngineOptions::new(socket.clone());
    options.ring = config.daemon.ring_bytes;
    options.scrollback = config.screen.scrollback;
    options.follow = config.screen.follow;
    options.size_policy = config.screen.window_size;
    options.profiles = profiles.filter(|_| config.turns.detect).map(std::sync::Arc::new);
    options.turns.depth = config.turns.keep;
    options.turns.turn_bytes = config.turns.turn_bytes;
    options.clipboard = Some(std::sync::Arc::new(SystemClipboard));
    let (mut last, mut started) = (None, false);
    for try_number in 0..limits::KEEPER_TRIES {
        match Engine::connect(options.clone(), endpoints.clone()).await {
            Ok(engine) => return Ok((engine, started)),
            Err(error @ Error::AnotherDaemon(_)) => bail!(error),
            Err(error) => last = Some(error),
        }
        if try_number % 4 == 0 {
            started |= start(exe, &socket)?;
        } else {
            tokio::time::sleep(limits::KEEPER_PAUSE).await;
        }
    }
    let reason = last.map_or_else(String::new, |error| error.to_string());
    bail!("cannot connect to the keeper at {}: {reason}", socket.display())
}

/// Starts a keeper; when this returns, it or another keeper is listening. Returns whether it is this one.
fn start(exe: &Path, socket: &Path) -> Result<bool> {
    let mut command = Command::new(exe);
    command.arg("keeper").arg("--socket").arg(socket);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = service_manager::hide_from(&mut command)
        .output()
        .with_context(|| format!("cannot start {} keeper", exe.display()))?;
    match output.status.code() {
        Some(code @ (0 | 3)) => Ok(code == 0),
        _ => {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("cannot start the keeper: {}", error.trim().trim_start_matches("swb keeper: "))
        }
    }
}
