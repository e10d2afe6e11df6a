//! Lists sessions and their PTYs, restarts and kills them.

use crate::errors::{invalid, refused};
use crate::execute::Call;
use crate::items;
use crate::limits;
use crate::reply::{OperationResult, done};
use std::time::Duration;
use swb_engine::Session;
use swb_types::PtyId;
use swb_wire::control::{
    ErrorCode, ErrorReply, Kill, Ls, LsReply, OkReply, Restart, RestartReply, SessionKill, SessionLs,
    SessionLsReply,
};

impl Call<'_> {
    pub(crate) fn list(&self, ls: &Ls) -> OperationResult {
        let mut sessions = self.engine().sessions();
        if ls.all {
            sessions.extend(self.engine().remembered());
        }
        sessions.retain(|session| self.caller.sees(session));
        let listed = |most| {
            let known = |session| ls.details.then(|| (self.agent(session), self.turns_of(session)));
            let sessions =
                sessions.iter().map(|session| items::session(session, known(session), most)).collect();
            done(&LsReply { ok: true, sessions })
        };
        let [whole, cut, short] = limits::COMMAND_LENGTHS;
        listed(whole).or_else(|_| listed(cut)).or_else(|_| listed(short))
    }

    pub(crate) fn session_ls(&self, ls: &SessionLs) -> OperationResult {
        let session = self.session(&ls.session)?;
        let ptys = session.view().ptys.iter().map(|view| items::pty(view, usize::MAX)).collect();
        let reply = SessionLsReply { ok: true, session: session.name().to_string(), ptys };
        done(&reply)
    }

    pub(crate) async fn kill(&self, kill: Kill) -> OperationResult {
        let grace = if kill.force { Duration::ZERO } else { swb_engine::limits::KILL_GRACE };
        let sessions = if kill.all {
            let ended = self.engine().remembered().into_iter().filter(|session| self.caller.sees(session));
            self.end_leftovers(ended.collect(), grace).await;
            self.engine().forget(|session| self.caller.sees(session));
            self.engine().sessions().into_iter().filter(|session| self.caller.sees(session)).collect()
        } else {
            let name = kill.session.as_deref().ok_or_else(|| invalid("kill needs 'session' or 'all'"))?;
            match self.session(name) {
                Ok(session) => vec![session],
                Err(unknown) => {
                    // An ended session is removed from the list.
                    let ended = self.remembered_session(name).map_err(|_| unknown)?;
                    self.end_leftovers(vec![ended], grace).await;
                    self.engine()
                        .forget(|session| session.name().as_str() == name && self.caller.sees(session));
                    vec![]
                }
            }
        };
        self.end(&sessions, grace).await;
        done(&OkReply::default())
    }

    /// Ends what the programs of ended sessions left behind; waits for a while.
    async fn end_leftovers(&self, ended: Vec<Session>, grace: Duration) {
        let all = async move {
            for session in ended {
                session.end_leftovers(grace).await;
            }
        };
        let task = self.operations.tasks.spawn(all);
        let _in_time = tokio::time::timeout(limits::KILL_REPLY, task).await;
    }

    /// Kills sessions; waits for a while, the rest end in the background.
    pub(crate) async fn end(&self, sessions: &[Session], grace: Duration) {
        let tasks: Vec<_> = sessions
            .iter()
            .cloned()
            .map(|session| self.operations.tasks.spawn(async move { session.kill(grace).await }))
            .collect();
        let all = async {
            for task in tasks {
                let _ended = task.await;
            }
        };
        let _in_time = tokio::time::timeout(limits::KILL_REPLY, all).await;
    }

    pub(crate) async fn session_kill(&self, kill: &SessionKill) -> OperationResult {
        let session = self.session(&kill.session)?;
        session.kill_pty(kill.pty).await.map_err(refused)?;
        done(&OkReply::default())
    }

    /// The session to restart. For coop's clients one that has ended does not exist, as in coop.
    fn restartable(&self, name: &str) -> Result<Session, ErrorReply> {
        if self.caller.front().is_some() {
            return self.session(name);
        }
        self.live_session(name).map_err(|error| match error.error {
            ErrorCode::SessionEnded => error.with_hint(format!(
                "`swb run -n {name} -- COMMAND` starts it again; `swb ls` shows the command that it ran"
            )),
            _ => error,
        })
    }

    pub(crate) async fn restart(&self, restart: &Restart) -> OperationResult {
        let session = self.restartable(&restart.session)?;
        let pty = restart.pty.unwrap_or(PtyId::AGENT);
        let pid = session.restart(pty).await.map_err(refused)?;
        done(&RestartReply { ok: true, pid: pid.max(0) as u32, pty })
    }
}
