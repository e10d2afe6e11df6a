//! The commands, each from request to answer.

use super::connection::{Answer, Connection, Next, invalid, ok, refused};
use super::coopfile::{Coopfile, env_value};
use super::stream::{Opening, Stream, is_terminal};
use super::{Door, LABEL, RUN, errors, items};
use crate::limits;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use swb_engine::{ProcessPhase, Pty, RestartPolicy, Session, SessionSpec, ShellSpec, Start};
use swb_types::{Offset, PtyId, SessionName, Size};
use swb_wire::control::{
    Attach, Attached, Base64, Create, Created, DialectState, DialectStatus, ErrorCode, ErrorReply, Kill,
    Logs, LogsReply, Ls, LsReply, OkReply, Restart, RestartReply, Send, SessionKill, SessionLs,
    SessionLsReply, Shell, Shutdown, Start as WireStart, StreamOptions, Upgrade,
};

/// Size of an agent's terminal until a client attaches: what `attach` defaults to (CO-29).
const AGENT_SIZE: (u16, u16) = (120, 40);

/// Variable in which a process finds the name of its session.
const NAME_VARIABLE: &str = "SWB_SESSION";

/// Bytes of each command line in a list. A list has to fit one frame, so long ones are cut when they would
/// take the room of other sessions.
const COMMAND_LENGTHS: [usize; 3] = [usize::MAX, 1024, 64];

impl Connection {
    // ---- finding ----

    /// A live session by name or, if it has a slash, by workspace (CO-30).
    pub(super) fn resolve(&self, text: &str) -> Result<Session, ErrorReply> {
        let found = self.coop.engine.find(text).ok().or_else(|| {
            let path = Path::new(text).canonicalize().ok().filter(|_| text.contains('/'))?;
            self.coop.engine.of_workspace(&path, |session| self.offers(session))
        });
        let offered = found.filter(|session| self.offers(session));
        offered.ok_or_else(|| refused(swb_engine::Error::NoSession(text.to_owned())))
    }

    /// A session as [`Connection::resolve`] finds it, or the newest ended one that is still remembered.
    pub(super) fn resolve_remembered(&self, text: &str) -> Result<Session, ErrorReply> {
        self.resolve(text).or_else(|unknown| {
            let remembered = self.coop.engine.find_remembered(text).ok();
            remembered.filter(|session| self.offers(session)).ok_or(unknown)
        })
    }

    /// A live session, for commands of our own that may say that there was one.
    pub(super) fn resolve_live(&self, text: &str) -> Result<Session, ErrorReply> {
        self.resolve(text).map_err(|unknown| {
            let ended = self.resolve_remembered(text).map(|session| session.name().clone());
            ended.map_or(unknown, |name| refused(swb_engine::Error::Ended(name)))
        })
    }

    /// Whether a session is there for whoever asks.
    fn offers(&self, session: &Session) -> bool {
        self.door == Door::Control || session.is_offered_to(LABEL)
    }

    fn resolve_pty(&self, text: &str, pty: PtyId) -> Result<(Session, Arc<Pty>), ErrorReply> {
        let session = self.resolve(text)?;
        let view = session.pty(pty).map_err(refused)?;
        Ok((session, view.pty))
    }

    // ---- making ----

    pub(super) async fn create(&self, create: Create) -> Answer {
        let spec = self.spec(create).await?;
        let session = self.coop.engine.create(spec).await.map_err(refused)?;
        let pid = session.pty(PtyId::AGENT).map_or(0, |agent| agent.pid);
        let created = Created { ok: true, session: session.name().to_string(), pid: pid.max(0) as u32 };
        // CO-25: no stream follows, whatever `detach` says.
        Ok((ok(&created)?, Next::Request))
    }

    async fn spec(&self, create: Create) -> Result<SessionSpec, ErrorReply> {
        let workspace = workspace(&create.workspace)?;
        let name = match &create.name {
            Some(name) => SessionName::new(name),
            // CO-20: as it was given, which may be a link; what people call a directory need not be a name.
            None => {
                let given = Path::new(&create.workspace).file_name();
                let base = given.or(workspace.file_name()).map(|base| base.to_string_lossy());
                SessionName::new(base.as_deref().unwrap_or("root"))
            }
        };
        let name = name.map_err(|error| invalid(error.to_string()))?;
        let (cols, rows) = if create.argv.is_some() { (80, 24) } else { AGENT_SIZE };
        let size = Size::new(create.cols.unwrap_or(cols), create.rows.unwrap_or(rows));
        let required = self.required(&create)?;
        let profile = self.checked_profile(create.profile)?;
        let mut spec = SessionSpec {
            name,
            unique: create.unique,
            workspace,
            bind_workspace: false,
            origin: RUN.to_owned(),
            argv: Vec::new(),
            env: BTreeMap::new(),
            umask: create.umask.unwrap_or(self.coop.settings.umask) & 0o777,
            size: size.unwrap_or(Size::DEFAULT),
            start: match create.start.unwrap_or_default() {
                WireStart::Now => Start::Now,
                WireStart::Writer => Start::FirstClient,
            },
            restart: RestartPolicy::NEVER,
            profile,
            // XS-9: the only variable of ours, and only for processes made here.
            name_variable: (create.announce || create.argv.is_none()).then(|| NAME_VARIABLE.to_owned()),
            hidden: create.hide,
            required,
        };
        match create.argv {
            Some(argv) if argv.is_empty() => return Err(invalid("argv is empty")),
            Some(argv) => {
                spec.argv = argv;
                spec.env = create.env.unwrap_or_else(|| self.coop.settings.env.clone());
            }
            None => self.apply_coopfiles(&mut spec, create.coopfile.as_deref(), create.env)?,
        }
        if let Some(auto) = create.restart {
            spec.restart = RestartPolicy { auto, ..RestartPolicy::ALWAYS };
        }
        Ok(spec)
    }

    /// Fronts without which there is to be no session. This one is no endpoint the engine could ask.
    fn required(&self, create: &Create) -> Result<Vec<String>, ErrorReply> {
        let (own, others): (Vec<String>, Vec<String>) =
            create.require.iter().cloned().partition(|front| front == LABEL);
        let listening =
            |dialect: &DialectStatus| dialect.name == LABEL && dialect.state == DialectState::Listening;
        let offered = || {
            !create.hide.iter().any(|front| front == LABEL)
                && self.coop.host.status().dialects.iter().any(listening)
        };
        if own.is_empty() || offered() {
            return Ok(others);
        }
        let text = format!("the {LABEL} front does not offer this session");
        Err(ErrorReply::new(ErrorCode::FrontFailed, text))
    }

    /// Fills in what Coopfiles decide (CO-26 to CO-28).
    fn apply_coopfiles(
        &self,
        spec: &mut SessionSpec,
        text: Option<&str>,
        env: Option<BTreeMap<String, String>>,
    ) -> Result<(), ErrorReply> {
        let settings = &self.coop.settings;
        let mut coopfile = Coopfile::default();
        let merge = |coopfile: &mut Coopfile| -> Result<(), String> {
            coopfile.merge_file(&settings.default_coopfile, limits::COOPFILE)?;
            coopfile.merge_file(&spec.workspace.join("coop.toml"), limits::COOPFILE)?;
            coopfile.merge(text.unwrap_or_default()).map_err(|error| format!("coopfile: {error}"))
        };
        merge(&mut coopfile).map_err(invalid)?;
        if !coopfile.unused.is_empty() {
            let sections = coopfile.unused.join(", ");
            tracing::info!(session = %spec.name, sections, "sections of its Coopfiles are not used");
        }
        let daemon = env.unwrap_or_else(|| settings.env.clone());
        let shell = daemon.get("SHELL").filter(|shell| !shell.is_empty());
        let fallback = || shell.cloned().unwrap_or_else(|| "/bin/sh".to_owned());
        spec.restart = coopfile.restart();
        spec.origin = LABEL.to_owned();
        spec.bind_workspace = true;
        spec.argv = vec![coopfile.command.unwrap_or_else(fallback)];
        spec.argv.extend(coopfile.args);
        let configured = coopfile.env.iter().map(|(key, value)| (key.clone(), env_value(value, &daemon)));
        let configured: Vec<_> = configured.collect();
        spec.env = daemon;
        spec.env.extend(markers(spec.name.as_str(), &spec.workspace, unix_now()));
        spec.env.extend(configured);
        Ok(())
    }

    // ---- looking ----

    pub(super) fn list(&self, ls: &Ls) -> Answer {
        let mut sessions = self.coop.engine.sessions();
        if ls.all {
            sessions.extend(self.coop.engine.remembered());
        }
        sessions.retain(|session| self.offers(session));
        let listed = |most| {
            let agent = |session| ls.details.then(|| self.agent(session));
            let sessions =
                sessions.iter().map(|session| items::session(session, agent(session), most)).collect();
            ok(&LsReply { ok: true, sessions })
        };
        let [whole, cut, short] = COMMAND_LENGTHS;
        let list = listed(whole).or_else(|_| listed(cut)).or_else(|_| listed(short))?;
        Ok((list, Next::Request))
    }

    pub(super) fn session_ls(&self, ls: &SessionLs) -> Answer {
        let session = self.resolve(&ls.session)?;
        let ptys = session.view().ptys.iter().map(|view| items::pty(view, usize::MAX)).collect();
        let reply = SessionLsReply { ok: true, session: session.name().to_string(), ptys };
        Ok((ok(&reply)?, Next::Request))
    }

    pub(super) fn logs(&self, logs: &Logs) -> Answer {
        let (session, pty) = self.resolve_pty(&logs.session, logs.pty.unwrap_or(PtyId::AGENT))?;
        let head = pty.head();
        let (mut data, end) = pty.history(head.saturating_sub(LogsReply::MAX_DATA as u64));
        // From here on the output waits for this reader, however long the answer takes to be made.
        let options = StreamOptions { watch: true, ..StreamOptions::default() };
        let opening = Opening::Output(pty.cursor(end));
        let stream = logs.follow.then(|| Stream::new(session, &pty, opening, end, pty.size(), options));
        // What came while we copied may have made it longer than an answer can be.
        let surplus = data.len().saturating_sub(LogsReply::MAX_DATA);
        data.drain(..surplus);
        if let Some(lines) = logs.tail_lines {
            let from = tail(&data, lines);
            data.drain(..from);
        }
        let reply = ok(&LogsReply { ok: true, log_data: Base64(data) })?;
        Ok((reply, stream.map_or(Next::Request, |stream| Next::Stream(Box::new(stream)))))
    }

    // ---- attaching ----

    pub(super) async fn attach(&self, attach: Attach) -> Answer {
        let options = attach.stream_options();
        let session = match options.wants_offsets() || options.repaint {
            // Our own clients may look at what an ended session has left.
            true => self.resolve_remembered(&attach.session)?,
            false => self.resolve(&attach.session)?,
        };
        let pty = session.pty(attach.pty()).map_err(refused)?.pty;
        let (cols, rows) = attach.size();
        let size = Size::or_current(cols, rows, pty.size());
        if !options.watch {
            if pty.id() == PtyId::AGENT {
                session.start(Some(size)).await.ok();
            }
            // CO-32; an ended session has no size to set.
            session.fit(pty.id(), size).await.ok();
        }
        self.stream(session, &pty, size, options, None).await
    }

    pub(super) async fn shell(&self, shell: Shell) -> Answer {
        let session = self.resolve(&shell.session)?;
        let options = shell.stream_options();
        let (cols, rows) = shell.size();
        let size = Size::or_current(cols, rows, Size::DEFAULT);
        let argv = match (shell.argv, &shell.command) {
            (Some(argv), _) if !argv.is_empty() => argv,
            (_, Some(command)) => command.split_whitespace().map(str::to_owned).collect(),
            (_, None) => vec!["/bin/sh".to_owned()],
        };
        if argv.is_empty() {
            return Err(invalid("command is empty"));
        }
        // CO-36
        if shell.force_new == Some(false)
            && let Some(pty) = running_shell(&session, &argv)
        {
            session.fit(pty.id(), size).await.map_err(refused)?;
            let id = Some(pty.id());
            return self.stream(session, &pty, size, options, id).await;
        }
        let env = shell.env.or_else(|| {
            let mut env = session.env().clone();
            env.extend(markers(session.name().as_str(), session.workspace(), session.created()));
            Some(env)
        });
        let pty = session.open_shell(ShellSpec { argv, env, size }).await.map_err(refused)?;
        let id = Some(pty.id());
        self.stream(session, &pty, size, options, id).await
    }

    /// Switches to stream mode; `window` is the size of the client's terminal, `pty_id` is told to clients of
    /// `shell` (CO-34).
    async fn stream(
        &self,
        session: Session,
        pty: &Arc<Pty>,
        window: Size,
        options: StreamOptions,
        pty_id: Option<PtyId>,
    ) -> Answer {
        let head = pty.head();
        let kept =
            |offset: &Offset| (pty.oldest()..=head).contains(&offset.0) && !pty.has_answered_behind(offset.0);
        let opening = match options.resume.filter(|offset| kept(offset) || !options.repaint) {
            Some(Offset(resume)) => Opening::Output(pty.cursor(resume.min(head))),
            None if options.repaint => {
                let lines =
                    options.scrollback.map_or(usize::MAX, |lines| lines.try_into().unwrap_or(usize::MAX));
                Opening::Picture(pty.picture(lines, is_terminal(&options)).await.map_err(refused)?)
            }
            None => {
                let from = pty.oldest().max(head.saturating_sub(options.history()));
                Opening::Output(pty.cursor(from))
            }
        };
        let from = opening.offset();
        let mut reply = Attached { pty: pty_id, ..Attached::default() };
        if options.wants_offsets() {
            let pid = session.pty(pty.id()).map_or(0, |view| view.pid);
            let size = pty.size();
            reply.pty = Some(pty.id());
            reply.offset = Some(Offset(from));
            reply.head = Some(Offset(head.max(from)));
            reply.pid = Some(pid.max(0) as u32);
            (reply.cols, reply.rows) = (Some(size.cols()), Some(size.rows()));
        }
        let stream = Stream::new(session, pty, opening, head, window, options);
        Ok((ok(&reply)?, Next::Stream(Box::new(stream))))
    }

    // ---- acting ----

    pub(super) async fn send_input(&self, send: Send) -> Answer {
        let session = self.resolve_live(&send.session)?;
        let pty = session.pty(send.pty.unwrap_or(PtyId::AGENT)).map_err(refused)?.pty;
        let bytes = match (send.text, send.data) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(Base64(data))) => data,
            _ => return Err(invalid("send takes either text or data")),
        };
        session.start(None).await.ok();
        pty.input(&bytes).await.map_err(errors::input)?;
        Ok((ok(&OkReply::default())?, Next::Request))
    }

    pub(super) async fn kill(&self, kill: Kill) -> Answer {
        let grace = if kill.force { std::time::Duration::ZERO } else { swb_engine::limits::KILL_GRACE };
        let sessions = if kill.all {
            self.coop.engine.forget(None);
            self.coop.engine.sessions().into_iter().filter(|session| self.offers(session)).collect()
        } else {
            let name = kill.session.as_deref().ok_or_else(|| invalid("kill needs a session"))?;
            match self.resolve(name) {
                Ok(session) => vec![session],
                Err(_) if self.coop.engine.forget(Some(name)) > 0 => vec![],
                Err(unknown) => return Err(unknown),
            }
        };
        self.end(&sessions, grace).await;
        Ok((ok(&OkReply::default())?, Next::Request))
    }

    /// Ends sessions; waits for a while, and what is left ends by itself.
    async fn end(&self, sessions: &[Session], grace: std::time::Duration) {
        let tasks: Vec<_> = sessions
            .iter()
            .cloned()
            .map(|session| self.coop.fronts.tasks.spawn(async move { session.kill(grace).await }))
            .collect();
        let all = async {
            for task in tasks {
                let _ended = task.await;
            }
        };
        let _in_time = tokio::time::timeout(limits::COOP_KILL_ANSWER, all).await;
    }

    pub(super) async fn session_kill(&self, kill: &SessionKill) -> Answer {
        let session = self.resolve(&kill.session)?;
        session.kill_pty(kill.pty).await.map_err(refused)?;
        Ok((ok(&OkReply::default())?, Next::Request))
    }

    pub(super) async fn restart(&self, restart: &Restart) -> Answer {
        let session = self.resolve(&restart.session)?;
        let pty = restart.pty.unwrap_or(PtyId::AGENT);
        let pid = session.restart(pty).await.map_err(refused)?;
        Ok((ok(&RestartReply { ok: true, pid: pid.max(0) as u32, pty })?, Next::Request))
    }

    pub(super) async fn shut_down(&self, shutdown: &Shutdown) -> Answer {
        if shutdown.kill {
            let sessions = self.coop.engine.sessions();
            let kills = self.end(&sessions, swb_engine::limits::KILL_GRACE);
            kills.await;
            for session in &sessions {
                session.ended().await;
            }
        }
        Ok((ok(&OkReply::default())?, Next::ShutDown))
    }

    pub(super) async fn upgrade(&self, upgrade: Upgrade) -> Answer {
        let exe = upgrade.exe.map(PathBuf::from);
        self.coop.host.prepare_upgrade(exe, upgrade.keeper).await.map_err(invalid)?;
        Ok((ok(&OkReply::default())?, Next::Upgrade))
    }
}

fn workspace(text: &str) -> Result<PathBuf, ErrorReply> {
    let path = Path::new(text);
    if !path.is_absolute() {
        return Err(invalid(format!("the workspace '{text}' is not an absolute path")));
    }
    // CO-24
    let path = path.canonicalize().ok().filter(|path| path.is_dir());
    path.ok_or_else(|| invalid(format!("the workspace '{text}' is not a directory")))
}

/// The variables by which processes know that coop made them (CO-28).
fn markers(session: &str, workspace: &Path, created: u64) -> [(String, String); 3] {
    [
        ("COOP_SESSION".to_owned(), session.to_owned()),
        ("COOP_WORKSPACE".to_owned(), workspace.to_string_lossy().into_owned()),
        ("COOP_CREATED".to_owned(), created.to_string()),
    ]
}

fn unix_now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs())
}

fn running_shell(session: &Session, argv: &[String]) -> Option<Arc<Pty>> {
    let view = session.view();
    let shells =
        view.ptys.iter().filter(|view| view.pty.id() != PtyId::AGENT && view.phase == ProcessPhase::Running);
    shells.filter(|view| *view.argv == *argv).map(|view| Arc::clone(&view.pty)).next()
}

/// Where the last `lines` lines of `data` begin; a line break at the very end begins no line.
fn tail(data: &[u8], lines: u64) -> usize {
    let body = data.strip_suffix(b"\n").unwrap_or(data);
    let breaks = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    match usize::try_from(lines).ok().and_then(|lines| lines.checked_sub(1)) {
        None => data.len(),
        Some(skip) => breaks.map(|(at, _)| at + 1).nth(skip).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_counts_lines_from_the_end() {
        let data = b"one\r\ntwo\r\nthree\r\n";
        assert_eq!(&data[tail(data, 1)..], b"three\r\n");
        assert_eq!(&data[tail(data, 2)..], b"two\r\nthree\r\n");
        assert_eq!(tail(data, 9), 0);
        assert_eq!(tail(data, 0), data.len());
        assert_eq!(tail(b"", 3), 0);
        assert_eq!(&b"a\nb"[tail(b"a\nb", 1)..], b"b");
    }
}
