//! The web servers of the daemon: those of the configuration, those that a command started, and those that an earlier
//! daemon left with the keeper.

use crate::config::WebConfig;
use crate::host::DaemonHost;
use crate::limits;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::sync::Arc;
use swb_dialects::Fronts;
use swb_dialects::scriptschnell::ScriptSchnell;
use swb_engine::{Engine, SessionUid};
use swb_operations::notify::StoredMute;
use swb_operations::tokens::{StoredToken, TokenRegistry, expire_tokens};
use swb_operations::{AnswerError, Later, Operations};
use swb_types::Paths;
use swb_web::{KeptServers, Servers, Signalling, WebContext, WebKeeping};
use swb_wire::control::Serve;
use tokio::runtime::Handle;

/// Keeper key of what a later daemon has to know; those of the listening sockets follow.
const FRONT_WEB: u16 = 4;

/// What a later daemon has to know. It is in memory of the keeper, never on disk: it contains tokens.
#[derive(Debug, Default, Serialize, Deserialize)]
struct WebMemory {
    servers: KeptServers,
    tokens: Vec<StoredToken>,
    /// Sessions whose input is not filtered.
    #[serde(default)]
    unfiltered: Vec<SessionUid>,
    /// Sessions about which the user gets no notifications.
    #[serde(default)]
    muted: Vec<StoredMute>,
}

/// Leaves the listening sockets of web servers with the keeper.
struct KeeperHolds {
    engine: Engine,
    host: std::sync::Weak<DaemonHost>,
}

impl WebKeeping for KeeperHolds {
    fn keep(&self, number: u16, listener: OwnedFd) {
        self.engine.keep_front(listener_key(number), listener);
    }

    fn release(&self, number: u16) {
        self.engine.drop_front(listener_key(number));
    }

    fn changed(&self) {
        if let Some(host) = self.host.upgrade() {
            host.keep_web();
        }
    }
}

/// Lets the peers of tunnels reach them through the web servers.
struct TunnelSignalling(std::sync::Weak<DaemonHost>);

impl Signalling for TunnelSignalling {
    fn offer(&self, tunnel: &str, code: &str) -> Option<Vec<u8>> {
        let envelope = self.0.upgrade()?.tunnels.get()?.offer(tunnel, code)?;
        serde_json::to_vec(&envelope).ok()
    }

    fn answer<'a>(
        &'a self,
        tunnel: &'a str,
        code: &'a str,
        answer: &'a str,
    ) -> Later<'a, Option<Result<(), AnswerError>>> {
        Box::pin(async move { self.0.upgrade()?.tunnels.get()?.answer_with_code(tunnel, code, answer).await })
    }
}

fn listener_key(number: u16) -> u16 {
    FRONT_WEB + 1 + number
}

/// What the web servers are opened with.
pub(crate) struct WebSetup<'a> {
    pub(crate) config: &'a WebConfig,
    pub(crate) paths: &'a Paths,
    pub(crate) fronts: &'a Fronts,
    pub(crate) operations: Operations,
    pub(crate) tokens: Arc<TokenRegistry>,
    pub(crate) conversations: Option<ScriptSchnell>,
}

/// Opens the web transport and serves what is to be served from the start; returns warnings for the user.
pub(crate) async fn open(setup: WebSetup<'_>, engine: &Engine, host: &Arc<DaemonHost>) -> Vec<String> {
    let (daemon, fronts) = (Handle::current(), setup.fronts.clone());
    let act = {
        let host = Arc::downgrade(host);
        move |action| {
            if let Some(host) = host.upgrade() {
                host.act_for_web(action);
            }
        }
    };
    let (runtime, tasks) = (daemon.clone(), fronts.tasks.clone());
    let converse = setup.conversations.map(|conversations| -> Box<swb_web::Converse> {
        Box::new(move |stream, place| {
            tasks.spawn_on(conversations.converse(stream, place), &runtime);
        })
    });
    let context = WebContext {
        operations: setup.operations,
        tokens: Arc::clone(&setup.tokens),
        daemon,
        tasks: fronts.tasks.clone(),
        stop: fronts.stop.clone(),
        act: Box::new(act),
        converse,
        signalling: Box::new(TunnelSignalling(Arc::downgrade(host))),
        hosts: setup.config.hosts.clone(),
        certificates: setup.paths.state_dir(),
    };
    let keeping = KeeperHolds { engine: engine.clone(), host: Arc::downgrade(host) };
    let servers = host.web.get_or_init(|| Servers::new(context, Box::new(keeping)));
    resume(servers, &setup.tokens, engine).await;
    let (tokens, owner) = (Arc::clone(&setup.tokens), Arc::downgrade(host));
    let stop = fronts.stop.clone();
    fronts.tasks.spawn(async move {
        let changed = || {
            if let Some(host) = owner.upgrade() {
                host.keep_web();
            }
        };
        tokio::select! {
            () = expire_tokens(tokens, changed) => {}
            () = stop.cancelled() => {}
        }
    });
    let mut warnings = Vec::new();
    for address in &setup.config.listen {
        let serve = Serve {
            host: Some(address.host.clone()),
            port: Some(address.port),
            tls: setup.config.tls,
            ..Serve::default()
        };
        if let Err(error) = servers.serve(serve).await {
            tracing::error!(%error, "cannot serve the web");
            warnings.push(format!("the web server of [web] listen does not run: {error}"));
        }
    }
    warnings
}

/// Continues to serve what an earlier daemon served.
async fn resume(servers: &Servers, tokens: &TokenRegistry, engine: &Engine) {
    let Some(memory) = engine.take_front(FRONT_WEB) else { return };
    let memory = match read(memory) {
        Ok(memory) => memory,
        Err(error) => {
            tracing::error!(%error, "cannot read which addresses were served on the web");
            return;
        }
    };
    tokens.restore(memory.tokens);
    servers.operations().restore_unfiltered(memory.unfiltered);
    servers.operations().notifications().restore_muted(memory.muted);
    for server in memory.servers.servers {
        let Some(listener) = engine.take_front(listener_key(server.number)) else { continue };
        if let Err(error) = servers.resume(server, listener).await {
            tracing::error!(%error, "cannot continue to serve the web");
        }
    }
}

/// Leaves with the keeper what a later daemon has to know.
pub(crate) fn keep(servers: &Servers, tokens: &TokenRegistry, engine: &Engine) {
    let unfiltered = servers.operations().unfiltered();
    let muted = servers.operations().notifications().muted();
    let memory = WebMemory { servers: servers.kept(), tokens: tokens.stored(), unfiltered, muted };
    let is_empty = memory.servers.servers.is_empty() && memory.tokens.is_empty();
    if is_empty && memory.unfiltered.is_empty() && memory.muted.is_empty() {
        return engine.drop_front(FRONT_WEB);
    }
    match write(&memory) {
        Ok(memory) => engine.keep_front(FRONT_WEB, memory),
        Err(error) => tracing::error!(%error, "the web servers will not survive a crash of the daemon"),
    }
}

/// An orderly stop forgets servers and tokens.
pub(crate) fn forget(servers: &Servers, tokens: &TokenRegistry) {
    tokens.clear();
    servers.stop();
}

fn read(memory: OwnedFd) -> std::io::Result<WebMemory> {
    let mut file = File::from(memory);
    file.rewind()?;
    let mut text = Vec::new();
    file.take(limits::WEB_MEMORY).read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(std::io::Error::other)
}

fn write(memory: &WebMemory) -> std::io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("swb-web", MemfdFlags::CLOEXEC)?);
    file.write_all(&serde_json::to_vec(memory)?)?;
    Ok(file.into())
}
