//! Sets up conversations: agents, the store for saved ones, workspaces.

use crate::config::Config;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use swb_backends::config::WorkspaceConfig;
use swb_backends::{AgentList, AgentSocket, BackendContext, Confinement};
use swb_chat::Workspace;
use swb_dialects::scriptschnell::LABEL;
use swb_engine::Engine;
use swb_engine::chat::{ChatOptions, Chats};
use swb_programs::SystemGit;
use swb_store::Store;
use swb_types::{Paths, Timestamp};
use tokio::sync::mpsc;

/// What conversations need from the daemon.
pub(crate) struct ChatContext<'a> {
    pub(crate) config: &'a Config,
    pub(crate) paths: &'a Paths,
    pub(crate) exe: &'a Path,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) umask: u32,
    pub(crate) confinement: Confinement,
    /// Where the connections of agents are served.
    pub(crate) connections: mpsc::Sender<AgentSocket>,
}

/// Opens the conversations that belong to `engine`; also returns a warning about their default agent.
pub(crate) async fn open(engine: &Engine, chat: ChatContext<'_>) -> (Chats, Option<String>) {
    let (config, paths) = (chat.config, chat.paths);
    let allow = config.chat.allow.clone();
    let exe = chat.exe.to_owned();
    let context = BackendContext::new(engine.clone(), exe, chat.env, chat.umask, allow, chat.confinement);
    let context = context.with_connections(chat.connections);
    let agents = AgentList::new(context, &config.chat, config.agents.clone());
    let warning = agents.unknown_backend();
    let archive = Store::new(paths.state_dir());
    let mut options = ChatOptions::new(LABEL, Arc::new(agents), Arc::new(archive), Arc::new(SystemGit));
    options.workspaces = config.chat.workspaces.iter().map(|workspace| known(workspace, paths)).collect();
    (Chats::start(engine, options).await, warning)
}

fn known(config: &WorkspaceConfig, paths: &Paths) -> Workspace {
    let expand = |path: &PathBuf| paths.expand(&path.to_string_lossy());
    let all = |list: &[PathBuf]| list.iter().map(expand).collect();
    let mut workspace = Workspace::new(&expand(&config.path), Timestamp::of(SystemTime::now()));
    workspace.context_dirs = all(&config.context_directories);
    workspace.landlock_read = all(&config.landlock_read);
    workspace.landlock_write = all(&config.landlock_write);
    workspace.commands_approved = config.commands.clone();
    workspace.domains_approved = config.domains.clone();
    workspace.agent = config.agent.clone();
    workspace.unix_sockets = config.unix_sockets;
    workspace.git_writable = config.git_writable;
    workspace
}

/// Warnings about workspaces whose settings let commands out of their confinement.
pub(crate) fn open_workspaces(
    workspaces: &[WorkspaceConfig],
    paths: &Paths,
    confinement: &Confinement,
) -> Vec<String> {
    let warnings = |workspace: &WorkspaceConfig| {
        let path = workspace.path.display().to_string();
        let known = known(workspace, paths);
        let home = confinement.is_home_open([&known.path].into_iter().chain(&known.landlock_write));
        let open = [
            (home, "your home directory is open"),
            (workspace.unix_sockets, "Unix sockets are open"),
            (workspace.git_writable, ".git is writable"),
        ];
        let open = open.into_iter().filter_map(|(open, what)| open.then_some(what));
        open.map(|what| format!("{what} to commands of agents in {path}")).collect::<Vec<_>>()
    };
    workspaces.iter().flat_map(warnings).collect()
}
