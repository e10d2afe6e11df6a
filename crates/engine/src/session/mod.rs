//! A session: its handle, the view it publishes, and its clients.
//!
//! [`Session`] is a handle. The state behind it belongs to one task, `task::SessionTask`; handles send it commands and
//! read the [`SessionView`] it publishes.

mod adoption;
mod agent_wait;
mod bracketed_paste;
mod commands;
mod dialog;
mod ending;
mod endpoints;
mod interpreter;
mod processes;
mod pty_state;
mod record;
mod task;
mod transcript;
mod typing;
mod uid;

pub use agent_wait::{AgentBusy, AgentChange, AgentWatch, AskOutcome, MoreLines};
pub use bracketed_paste::{PasteSupport, RelayedText, RunsText, TypedText};
pub use dialog::{DialogError, approval_of, chosen};
pub use interpreter::interpreter_of;
pub use typing::{TypingError, TypingMode, TypingReport};

pub(crate) use adoption::SessionAdoption;
pub(crate) use record::PtyRecord;
pub(crate) use task::{SessionContext, SessionTask, free_slots};
pub use uid::SessionUid;

use crate::error::Error;
use crate::keeper::KEY_ENDPOINT;
use crate::pty::Pty;
use crate::spec::{SessionSpec, ShellSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use swb_turns::{Profile, Profiles, Status};
use swb_types::{ExitStatus, PtyId, SessionName, Size};
use tokio::sync::{mpsc, oneshot, watch};

/// A handle to a session; cheap to clone. Dropping it does nothing to the session.
#[derive(Debug, Clone)]
pub struct Session {
    shared: Arc<SessionShared>,
}

#[derive(Debug)]
struct SessionShared {
    name: SessionName,
    uid: SessionUid,
    spec: Arc<SessionSpec>,
    /// Unix seconds.
    created: u64,
    commands: mpsc::Sender<Box<SessionCommand>>,
    view: watch::Receiver<SessionView>,
    clients: Mutex<Vec<AttachedClient>>,
    /// Locks the agent while a caller types and submits, and while it prompts and waits for the turn.
    typing: tokio::sync::Mutex<()>,
    asking: tokio::sync::Mutex<()>,
}

/// The published state of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionView {
    /// Its PTYs by number: PTY 0 and the live shells.
    pub ptys: Vec<PtyView>,
    /// Its agent's state and the evidence for it.
    pub status: Status,
    /// The session is over: it has no process and will get none.
    pub ended: bool,
}

/// The published state of a PTY.
#[derive(Debug, Clone)]
pub struct PtyView {
    /// The PTY.
    pub pty: Arc<Pty>,
    /// Program and arguments.
    pub argv: Arc<[String]>,
    /// Process id of its latest process, 0 before the first.
    pub pid: i32,
    /// The phase of its process.
    pub phase: ProcessPhase,
}

/// The phase of a PTY's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessPhase {
    /// It starts when the first interactive client attaches.
    Waiting,
    /// It is being started.
    Starting,
    /// It runs.
    Running,
    /// It ended and will be started again.
    Restarting,
    /// It ended for good.
    Exited(ExitStatus),
}

pub(crate) type ReplySender<T> = oneshot::Sender<Result<T, Error>>;

/// Commands from handles to the session's task.
#[derive(Debug)]
pub(crate) enum SessionCommand {
    /// Start PTY 0 if it waits for its first client, with this size if given.
    Start {
        size: Option<Size>,
        reply: ReplySender<()>,
    },
    OpenShell {
        spec: ShellSpec,
        reply: ReplySender<Arc<Pty>>,
    },
    Resize {
        pty: PtyId,
        size: Size,
        only_if_changed: bool,
        reply: ReplySender<()>,
    },
    Nudge {
        pty: PtyId,
    },
    Winch {
        pty: PtyId,
        generation: u32,
    },
    Restart {
        pty: PtyId,
        reply: ReplySender<i32>,
    },
    KillPty {
        pty: PtyId,
        reply: ReplySender<()>,
    },
    /// End all processes; those that live after `grace` are killed.
    Kill {
        grace: Duration,
        done: oneshot::Sender<()>,
    },
}

impl Session {
    /// Its name.
    pub fn name(&self) -> &SessionName {
        &self.shared.name
    }

    /// Unique id: distinguishes it from earlier and later sessions of the same name, also across daemons.
    pub fn uid(&self) -> SessionUid {
        self.shared.uid
    }

    /// Directory it belongs to.
    pub fn workspace(&self) -> &Path {
        &self.shared.spec.workspace
    }

    /// When it was created, in Unix seconds.
    pub fn created(&self) -> u64 {
        self.shared.created
    }

    /// Label of the front that created it.
    pub fn origin(&self) -> &str {
        &self.shared.spec.origin
    }

    /// Program of shells for which a client names none.
    pub fn shell(&self) -> Option<&str> {
        self.shared.spec.shell.as_deref()
    }

    /// Whether its workspace can have no other session of this kind.
    pub fn binds_workspace(&self) -> bool {
        self.shared.spec.bind_workspace
    }

    /// Whether the front of this label offers it.
    pub fn is_offered_to(&self, label: &str) -> bool {
        !self.shared.spec.hidden.iter().any(|hidden| hidden == label)
    }

    /// The detection profile of its agent.
    pub(crate) fn profile_in(&self, profiles: &Profiles) -> Option<Arc<Profile>> {
        self.shared.spec.profile_in(profiles)
    }

    /// Environment of its first process.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.shared.spec.env
    }

    /// Its published state right now.
    pub fn view(&self) -> SessionView {
        self.shared.view.borrow().clone()
    }

    /// Waits until PTY 0 is no longer starting, and returns its state.
    pub async fn settled(&self) -> Result<PtyView, Error> {
        let mut view = self.shared.view.clone();
        let starting =
            |view: &SessionView| view.ptys.first().is_some_and(|agent| agent.phase == ProcessPhase::Starting);
        let _settled = view.wait_for(|view| !starting(view)).await;
        self.pty(PtyId::AGENT)
    }

    /// Waits until the session is over.
    pub async fn ended(&self) {
        // A task that is gone has no process left either.
        let mut view = self.shared.view.clone();
        let _view = view.wait_for(|view| view.ended).await;
    }

    /// One of its PTYs.
    pub fn pty(&self, id: PtyId) -> Result<PtyView, Error> {
        let view = self.shared.view.borrow();
        let found = view.ptys.iter().find(|view| view.pty.id() == id);
        found.cloned().ok_or_else(|| Error::NoPty { session: self.name().clone(), pty: id })
    }

    /// Counts a client of the front `label`, in the process `pid` if it is a local one, until the guard is dropped.
    pub fn join(&self, label: &'static str, pid: Option<u32>) -> ClientGuard {
        let client = AttachedClient { label, pid };
        self.clients_table().push(client);
        ClientGuard { session: self.clone(), client }
    }

    /// Number of attached clients, of one front or of all.
    pub fn clients(&self, label: Option<&str>) -> usize {
        self.clients_table().iter().filter(|client| label.is_none_or(|label| label == client.label)).count()
    }

    /// Process ids of the attached clients on this machine, each once.
    pub fn client_pids(&self) -> Vec<u32> {
        let pids: BTreeSet<u32> = self.clients_table().iter().filter_map(|client| client.pid).collect();
        pids.into_iter().collect()
    }

    fn clients_table(&self) -> std::sync::MutexGuard<'_, Vec<AttachedClient>> {
        self.shared.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts PTY 0 if it waits for its first client; afterwards it runs or is starting.
    pub async fn start(&self, size: Option<Size>) -> Result<(), Error> {
        self.ask(|reply| SessionCommand::Start { size, reply }).await
    }

    /// Opens a further PTY.
    pub async fn open_shell(&self, spec: ShellSpec) -> Result<Arc<Pty>, Error> {
        self.ask(|reply| SessionCommand::OpenShell { spec, reply }).await
    }

    /// Sets a PTY's size and announces it in its output.
    pub async fn resize(&self, pty: PtyId, size: Size) -> Result<(), Error> {
        self.ask(|reply| SessionCommand::Resize { pty, size, only_if_changed: false, reply }).await
    }

    /// Sets a PTY's size for a new client; an unchanged size is not announced.
    pub async fn fit(&self, pty: PtyId, size: Size) -> Result<(), Error> {
        self.ask(|reply| SessionCommand::Resize { pty, size, only_if_changed: true, reply }).await
    }

    /// Makes the program on a PTY redraw, by changing its size for a moment.
    pub async fn nudge(&self, pty: PtyId) {
        let _sent = self.shared.commands.send(Box::new(SessionCommand::Nudge { pty })).await;
    }

    /// Sends SIGWINCH to the program again, unless it was resized since `generation`.
    pub async fn winch(&self, pty: PtyId, generation: u32) {
        let _sent = self.shared.commands.send(Box::new(SessionCommand::Winch { pty, generation })).await;
    }

    /// Ends the process on a PTY and starts it again; returns the new process id.
    pub async fn restart(&self, pty: PtyId) -> Result<i32, Error> {
        self.ask(|reply| SessionCommand::Restart { pty, reply }).await
    }

    /// Ends one PTY and its process.
    pub async fn kill_pty(&self, pty: PtyId) -> Result<(), Error> {
        self.ask(|reply| SessionCommand::KillPty { pty, reply }).await
    }

    /// Ends all its processes with SIGTERM; those that live after `grace` get SIGKILL.
    ///
    /// Its name is free at once. Returns when they have ended; dropping the call stops nothing.
    pub async fn kill(&self, grace: Duration) {
        let (done, ended) = oneshot::channel();
        if self.shared.commands.send(Box::new(SessionCommand::Kill { grace, done })).await.is_ok() {
            let _ended = ended.await;
        }
    }

    async fn ask<T>(&self, command: impl FnOnce(ReplySender<T>) -> SessionCommand) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let gone = || Error::Ended(self.name().clone());
        self.shared.commands.send(Box::new(command(reply))).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Removes the endpoints' descriptors from the keeper, for an orderly stop.
    pub(crate) fn leave_endpoints(&self, context: &SessionContext) {
        if let Ok(agent) = self.pty(PtyId::AGENT) {
            for index in 0..context.endpoints.len() {
                context.keeper.drop_held(agent.pty.slot(), KEY_ENDPOINT + index as u16);
            }
        }
    }

    /// A session without a task behind it.
    #[cfg(test)]
    pub(crate) fn detached(name: SessionName, workspace: &str, bind_workspace: bool) -> Self {
        let spec = SessionSpec {
            name: name.clone(),
            unique: false,
            workspace: workspace.into(),
            bind_workspace,
            origin: String::new(),
            argv: Vec::new(),
            env: BTreeMap::new(),
            umask: 0,
            size: Size::DEFAULT,
            start: crate::spec::Start::Now,
            restart: crate::spec::RestartPolicy::NEVER,
            profile: None,
            shell: None,
            name_variable: None,
            hidden: Vec::new(),
            required: Vec::new(),
            exclusive_name: false,
        };
        let shared = SessionShared {
            name,
            uid: SessionUid::NONE,
            spec: Arc::new(spec),
            created: 0,
            commands: mpsc::channel(1).0,
            view: watch::channel(SessionView::default()).1,
            clients: Mutex::default(),
            typing: tokio::sync::Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Whether both are handles to the same session, not just to one of the same name.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

/// A client that shows a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AttachedClient {
    /// The front it is connected to.
    label: &'static str,
    /// Its process, if it is on this machine.
    pid: Option<u32>,
}

/// Counts one client of a session as long as it lives.
#[derive(Debug)]
pub struct ClientGuard {
    session: Session,
    client: AttachedClient,
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        let mut clients = self.session.clients_table();
        if let Some(at) = clients.iter().position(|client| *client == self.client) {
            clients.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_count_with_their_processes_until_they_leave() {
        let session = Session::detached(SessionName::new("a").unwrap(), "/", false);
        let [first, again, remote] = [("local", Some(7)), ("local", Some(7)), ("web", None)]
            .map(|(label, pid)| session.join(label, pid));
        assert_eq!((session.clients(None), session.clients(Some("local"))), (3, 2));
        assert_eq!(session.client_pids(), [7]);
        drop(first);
        assert_eq!((session.clients(None), session.client_pids()), (2, vec![7]));
        drop((again, remote));
        assert_eq!((session.clients(None), session.client_pids()), (0, vec![]));
    }
}
