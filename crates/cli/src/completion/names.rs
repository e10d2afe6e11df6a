//! The names that a running daemon knows, as candidates for completion.

use super::Takes;
use crate::context::{self, Context};
use crate::control_client::ControlClient;
use crate::limits;
use crate::table::{self, short_path};
use clap_complete::engine::CompletionCandidate;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc;
use swb_vt::printable;
use swb_wire::control::{
    Agents, AgentsReply, Approvals, ApprovalsReply, History, HistoryReply, Ls, LsReply, Operation,
    SessionItem, SessionStatus, Tokens, TokensReply, Tunnels, TunnelsReply, Turns, TurnsReply, Workspaces,
    WorkspacesReply,
};

/// A candidate and its description.
type Named = (String, String);

/// The names of this kind that begin with `current`.
pub(super) fn matching(takes: Takes, current: &str) -> Vec<CompletionCandidate> {
    let text = current.to_owned();
    let all = in_time(move || all(takes, &text)).unwrap_or_default();
    // A name that begins with a hyphen would be an option.
    let is_name = |name: &str| name.starts_with(current) && is_plain(name) && !name.starts_with('-');
    let fitting = all.into_iter().filter(|(name, _)| is_name(name));
    let candidates = fitting.take(limits::CANDIDATES).enumerate().map(|(order, (name, help))| {
        let help = Some(help).filter(|help| !help.is_empty());
        CompletionCandidate::new(name).help(help.map(Into::into)).display_order(Some(order))
    });
    candidates.collect()
}

/// Whether a name can be inserted into a command line as one word of one line.
pub(super) fn is_plain(name: &str) -> bool {
    printable(name) == name && !name.contains('\n')
}

/// The result of `make`, if it is there in time: neither a daemon that hangs nor a file that does not respond keeps the
/// shell waiting.
fn in_time<T: Send + 'static>(make: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    let (sender, made) = mpsc::sync_channel(1);
    // The process ends without the thread if that takes longer.
    let run = move || drop(sender.send(make()));
    std::thread::Builder::new().name("completion".to_owned()).spawn(run).ok()?;
    made.recv_timeout(limits::COMPLETION).ok().flatten()
}

fn all(takes: Takes, current: &str) -> Option<Vec<Named>> {
    match takes {
        Takes::Command => return Some(programs(current)),
        Takes::Profile => return profiles(),
        _ => {}
    }
    let context = Context::from_env("swb", None, false).ok()?;
    let mut daemon = Daemon { control: context.connect_if_running().ok()??, context: &context };
    match takes {
        Takes::Agent => daemon.agents(),
        Takes::Approval => daemon.approvals(),
        Takes::Chat => {
            let mut all = daemon.conversations().unwrap_or_default();
            let sessions = daemon.sessions(true)?;
            all.extend(
                sessions
                    .into_iter()
                    .filter(|(name, _)| !all.iter().any(|(other, _)| other == name))
                    .collect::<Vec<_>>(),
            );
            Some(all)
        }
        Takes::Conversation => daemon.conversations(),
        Takes::Running => daemon.sessions(true),
        Takes::Session => daemon.sessions(false),
        Takes::Token => daemon.tokens(),
        Takes::Tunnel => daemon.tunnels(),
        Takes::Turn => match current.rsplit_once(':') {
            Some((session, _)) => daemon.turns(session),
            None => daemon.sessions(true),
        },
        Takes::Workspace => daemon.workspaces(),
        Takes::Command | Takes::Profile => None,
    }
}

/// A running daemon.
struct Daemon<'a> {
    control: ControlClient,
    context: &'a Context,
}

impl Daemon<'_> {
    fn request<T: DeserializeOwned>(&mut self, operation: &Operation) -> Option<T> {
        self.control.request_within(operation, Some(limits::COMPLETION)).ok()
    }

    fn place(&self, workspace: &str) -> String {
        short_path(workspace, &self.context.paths.home)
    }

    /// Sessions, running ones first; only those if `running`.
    fn sessions(&mut self, running: bool) -> Option<Vec<Named>> {
        let reply: LsReply = self.request(&Operation::Ls(Ls { details: true, all: !running }))?;
        let ended = |session: &SessionItem| context::status(session) == SessionStatus::Exited;
        let mut sessions = reply.sessions;
        sessions.sort_by(|a, b| (ended(a), &a.name).cmp(&(ended(b), &b.name)));
        let mut names = BTreeSet::new();
        sessions.retain(|session| names.insert(session.name.clone()));
        let named = sessions.iter().map(|session| {
            let agent = session.details.as_ref().and_then(|details| details.agent.as_ref());
            let state = match agent {
                _ if ended(session) => "ended",
                Some(agent) if !context::is_no_agent(agent, session.created, table::now()) => {
                    agent.state.as_str()
                }
                _ => "running",
            };
            (session.name.clone(), format!("{state}, {}", self.place(&session.workspace)))
        });
        Some(named.collect())
    }

    fn agents(&mut self) -> Option<Vec<Named>> {
        let reply: AgentsReply = self.request(&Operation::Agents(Agents {}))?;
        Some(
            reply
                .agents
                .into_iter()
                .map(|agent| (agent.name, format!("{}: {}", agent.kind, agent.detail)))
                .collect(),
        )
    }

    fn approvals(&mut self) -> Option<Vec<Named>> {
        let reply: ApprovalsReply = self.request(&Operation::Approvals(Approvals {}))?;
        let approvals = reply.approvals.iter();
        let mut all: Vec<Named> =
            approvals.clone().map(|one| (one.id.clone(), format!("{}: {}", one.session, one.tool))).collect();
        // A session with one approval stands for it.
        let alone = |session: &str| approvals.clone().filter(|other| other.session == session).count() == 1;
        all.extend(
            approvals
                .clone()
                .filter(|one| alone(&one.session))
                .map(|one| (one.session.clone(), one.tool.clone())),
        );
        Some(all)
    }

    fn conversations(&mut self) -> Option<Vec<Named>> {
        let reply: HistoryReply = self.request(&Operation::History(History::default()))?;
        Some(reply.conversations.into_iter().map(|one| (one.session, one.title)).collect())
    }

    fn tokens(&mut self) -> Option<Vec<Named>> {
        let reply: TokensReply = self.request(&Operation::Tokens(Tokens {}))?;
        let names = reply.tokens.into_iter().map(|token| {
            let role = token.role.to_string();
            (token.label.unwrap_or(token.id), role)
        });
        Some(names.collect())
    }

    fn tunnels(&mut self) -> Option<Vec<Named>> {
        let reply: TunnelsReply = self.request(&Operation::Tunnels(Tunnels {}))?;
        Some(reply.tunnels.into_iter().map(|tunnel| (tunnel.tunnel, tunnel.role.to_string())).collect())
    }

    fn turns(&mut self, session: &str) -> Option<Vec<Named>> {
        let request = Turns { session: session.to_owned(), limit: None };
        let reply: TurnsReply = self.request(&Operation::Turns(request))?;
        Some(
            reply
                .turns
                .into_iter()
                .map(|turn| (turn.turn_id, table::count(turn.byte_length, "byte")))
                .collect(),
        )
    }

    fn workspaces(&mut self) -> Option<Vec<Named>> {
        let reply: WorkspacesReply = self.request(&Operation::Workspaces(Workspaces {}))?;
        Some(reply.workspaces.into_iter().map(|one| (one.path, one.agent.unwrap_or_default())).collect())
    }
}

/// Detection profiles: the built-in ones and the user's own.
fn profiles() -> Option<Vec<Named>> {
    let context = Context::from_env("swb", None, false).ok()?;
    let (profiles, _) = swb_daemon::load_profiles(&context.paths.profiles_dir());
    let names = profiles?.names().into_iter().map(|name| (name.to_owned(), String::new())).collect();
    Some(names)
}

/// The programs in the user's PATH that begin so.
fn programs(current: &str) -> Vec<Named> {
    // All of them would be thousands.
    if current.is_empty() {
        return Vec::new();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let files =
        std::env::split_paths(&path).filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    let fitting = files.filter(|file| file.file_name().to_string_lossy().starts_with(current));
    let programs = fitting.filter(|file| {
        let metadata = file.path().metadata();
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    });
    let names: BTreeSet<String> =
        programs.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.into_iter().map(|name| (name, String::new())).collect()
}
