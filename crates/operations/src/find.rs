//! Looks up sessions and turns within a caller's scope. Anything outside the scope does not exist for the caller.

use crate::errors::{engine_error, file_access_error, relay_error};
use crate::execute::Call;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use swb_engine::{Engine, Error, Pty, Relay, RelayError, Session, StoredTurn, TurnId, file_access};
use swb_types::{PtyId, did_you_mean};
use swb_wire::control::{ErrorReply, Operation};

/// Real paths of workspaces, by the text that names them.
pub(crate) type NamedWorkspaces = BTreeMap<String, PathBuf>;

/// Resolves the workspaces that an operation names in place of sessions (CO-30). Later lookups need no disk.
pub(crate) async fn named_workspaces(
    engine: &Engine,
    operation: &Operation,
) -> Result<NamedWorkspaces, ErrorReply> {
    let mut found = NamedWorkspaces::new();
    for text in named_sessions(operation).into_iter().flatten() {
        if is_path(text) && engine.find(text).is_err() {
            let real = file_access::run(Path::new(text), file_access::real_path).await;
            // A path that leads nowhere names no session.
            if let Ok(real) = real.map_err(|error| file_access_error(&error))? {
                found.insert(text.to_owned(), real);
            }
        }
    }
    Ok(found)
}

/// Whether a text that names a session is the path of its workspace (CO-30).
pub(crate) fn is_path(text: &str) -> bool {
    text.contains('/')
}

/// The sessions that an operation names.
pub(crate) fn named_sessions(operation: &Operation) -> [Option<&str>; 2] {
    use Operation as Op;
    let one = match operation {
        Op::Relay(relay) => return [Some(&relay.from), Some(&relay.to)],
        Op::Ask(ask) => &ask.session,
        Op::Attach(attach) => &attach.session,
        Op::Explain(explain) => &explain.session,
        Op::Filter(filter) => &filter.session,
        Op::Hook(hook) => &hook.session,
        Op::Keys(keys) => &keys.session,
        Op::Logs(logs) => &logs.session,
        Op::Mute(mute) => &mute.session,
        Op::Paste(paste) => &paste.session,
        Op::Restart(restart) => &restart.session,
        Op::Screen(screen) => &screen.session,
        Op::Send(send) => &send.session,
        Op::SessionKill(kill) => &kill.session,
        Op::SessionLs(ls) => &ls.session,
        Op::Shell(shell) => &shell.session,
        Op::Turns(turns) => &turns.session,
        Op::Wait(wait) => &wait.session,
        Op::Capture(capture) => return [capture.session.as_deref(), None],
        Op::Kill(kill) => return [kill.session.as_deref(), None],
        Op::Tunnel(tunnel) => return [tunnel.session.as_deref(), None],
        Op::Turn(turn) => return [turn.session.as_deref(), None],
        // These name conversations, workspaces or none.
        Op::Agents(_)
        | Op::Approval(_)
        | Op::Approvals(_)
        | Op::Chat
        | Op::Conversation(_)
        | Op::Create(_)
        | Op::Detach
        | Op::Events(_)
        | Op::Forget(_)
        | Op::History(_)
        | Op::Ls(_)
        | Op::Notifications(_)
        | Op::NotifyTest(_)
        | Op::Revoke(_)
        | Op::Serve(_)
        | Op::Shutdown(_)
        | Op::Status
        | Op::Token(_)
        | Op::Tokens(_)
        | Op::TunnelAnswer(_)
        | Op::TunnelRevoke(_)
        | Op::Tunnels(_)
        | Op::Upgrade(_)
        | Op::Whoami(_)
        | Op::Workspace(_)
        | Op::Workspaces(_) => return [None, None],
    };
    [Some(one), None]
}

impl Call<'_> {
    /// A live session by name or, if the text has a slash, by workspace (CO-30).
    pub(crate) fn session(&self, text: &str) -> Result<Session, ErrorReply> {
        let found = self.engine().find(text).ok().or_else(|| {
            let path = self.workspaces.get(text)?;
            self.engine().of_workspace(path, |session| self.caller.sees(session))
        });
        let seen = found.filter(|session| self.caller.sees(session));
        seen.ok_or_else(|| self.no_session(text))
    }

    /// The error that no session of this name exists, with the names that resemble it.
    fn no_session(&self, text: &str) -> ErrorReply {
        let sessions = self.engine().sessions().into_iter().chain(self.engine().remembered());
        let seen: Vec<Session> = sessions.filter(|session| self.caller.sees(session)).collect();
        let unknown = engine_error(&Error::NoSession(text.to_owned()));
        match did_you_mean(text, seen.iter().map(|session| session.name().as_str())) {
            Some(question) => unknown.with_hint(format!("{question} `swb ls` lists the sessions")),
            None => unknown,
        }
    }

    /// A live session, or the newest ended one of that name that is still remembered.
    pub(crate) fn remembered_session(&self, text: &str) -> Result<Session, ErrorReply> {
        self.session(text).or_else(|unknown| {
            let remembered = self.engine().find_remembered(text).ok();
            remembered.filter(|session| self.caller.sees(session)).ok_or(unknown)
        })
    }

    /// A live session; for an ended one the error states that.
    pub(crate) fn live_session(&self, text: &str) -> Result<Session, ErrorReply> {
        self.session(text).map_err(|unknown| {
            let ended = self.remembered_session(text).map(|session| session.name().clone());
            ended.map_or(unknown, |name| engine_error(&Error::Ended(name)))
        })
    }

    /// A live session and one of its PTYs.
    pub(crate) fn pty(&self, text: &str, pty: PtyId) -> Result<(Session, Arc<Pty>), ErrorReply> {
        with_pty(self.session(text)?, pty)
    }

    /// A session, live or ended, and one of its PTYs.
    pub(crate) fn remembered_pty(&self, text: &str, pty: PtyId) -> Result<(Session, Arc<Pty>), ErrorReply> {
        with_pty(self.remembered_session(text)?, pty)
    }

    /// The turns that the caller can see.
    pub(crate) fn relay(&self) -> Relay {
        match self.caller.front() {
            Some(front) => self.engine().relay().seen_by(front),
            None => self.engine().relay().clone(),
        }
    }

    /// The name under which a session's turns are stored; it may be the name of a wrapper's session.
    pub(crate) fn turn_owner(&self, text: &str) -> Result<String, ErrorReply> {
        match self.session(text) {
            Ok(session) => Ok(session.name().to_string()),
            Err(_) if self.caller.covers(text, None) => Ok(text.to_owned()),
            Err(unknown) => Err(unknown),
        }
    }

    /// A turn by its id.
    pub(crate) fn turn_by_id(&self, text: &str) -> Result<StoredTurn, ErrorReply> {
        let id = self.turn_id(text)?;
        self.relay().turn(&id).map_err(|error| relay_error(&error, text))
    }

    /// The id of a turn within the caller's scope.
    pub(crate) fn turn_id(&self, text: &str) -> Result<TurnId, ErrorReply> {
        let unknown = || relay_error(&RelayError::NoSuchTurn, text);
        let id: TurnId = text.parse().map_err(|_| unknown())?;
        self.turn_owner(id.session()).map_err(|_| unknown())?;
        Ok(id)
    }

    /// The newest turn of a session.
    pub(crate) fn latest_turn(&self, session: &str) -> Result<StoredTurn, ErrorReply> {
        let session = self.turn_owner(session)?;
        self.relay().latest(&session).map_err(|error| self.no_turns(&error, &session))
    }

    /// Why there are no turns; those of a session are removed when it ends (CB-35).
    pub(crate) fn no_turns(&self, error: &RelayError, session: &str) -> ErrorReply {
        match self.remembered_session(session) {
            Ok(ended) if *error == RelayError::NoSession => engine_error(&Error::Ended(ended.name().clone())),
            _ => relay_error(error, session),
        }
    }
}

fn with_pty(session: Session, pty: PtyId) -> Result<(Session, Arc<Pty>), ErrorReply> {
    let view = session.pty(pty).map_err(|error| engine_error(&error))?;
    Ok((session, view.pty))
}
