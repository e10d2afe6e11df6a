//! Creates sessions: from a command line, or from Coopfiles.

use crate::coopfile::{Coopfile, env_value};
use crate::errors::{file_access_error, invalid, refused};
use crate::execute::Call;
use crate::reply::{OperationResult, done};
use crate::trust::COOPFILE;
use crate::{COOP, RUN, limits, roles};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use swb_engine::{RestartPolicy, SessionSpec, Start, file_access};
use swb_types::{PtyId, Scope, SessionName, Size, did_you_mean};
use swb_wire::control::{
    Create, Created, DialectState, DialectStatus, ErrorCode, ErrorReply, Start as WireStart,
};

/// Size of an agent's terminal until a client attaches: the default of `attach` (CO-29).
const AGENT_SIZE: (u16, u16) = (120, 40);

/// Environment variable that contains the name of a process's session.
const NAME_VARIABLE: &str = "SWB_SESSION";

impl Call<'_> {
    pub(crate) async fn create(&self, create: Create) -> OperationResult {
        let spec = self.spec(create).await?;
        let session = self.engine().create(spec).await.map_err(refused)?;
        let pid = session.pty(PtyId::AGENT).map_or(0, |agent| agent.pid);
        let created = Created { ok: true, session: session.name().to_string(), pid: pid.max(0) as u32 };
        // CO-25: no stream follows, with any value of `detach`.
        done(&created)
    }

    async fn spec(&self, mut create: Create) -> Result<SessionSpec, ErrorReply> {
        create.workspace = self.below_home(create.workspace);
        let workspace = workspace(&create.workspace).await?;
        if let Scope::Workspace(scope) = self.caller.scope()
            && *scope != workspace
        {
            return Err(roles::forbidden(format!("'create' is limited to {}", self.caller.scope())));
        }
        let name = match &create.name {
            Some(name) => SessionName::new(name),
            // CO-20: the path as given, which may be a link; the name of a directory need not be a valid session name.
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
            umask: create.umask.unwrap_or(self.operations.settings.umask) & 0o777,
            size: size.unwrap_or(Size::DEFAULT),
            start: match create.start.unwrap_or_default() {
                WireStart::Now => Start::Now,
                WireStart::Writer => Start::FirstClient,
            },
            restart: RestartPolicy::NEVER,
            profile,
            shell: None,
            // XS-9: the only variable we set, and only for processes that we start.
            name_variable: (create.announce || create.argv.is_none()).then(|| NAME_VARIABLE.to_owned()),
            hidden: create.hide,
            required,
            // Clients of another front do not know what the others offer.
            exclusive_name: self.caller.front().is_none() && create.name.is_some() && !create.unique,
        };
        match create.argv {
            Some(argv) if argv.is_empty() => {
                return Err(invalid("argv is empty; it needs at least a program"));
            }
            Some(argv) => {
                spec.argv = argv;
                spec.env = create.env.unwrap_or_else(|| self.operations.settings.env.clone());
            }
            None => self.apply_coopfiles(&mut spec, create.coopfile.as_deref(), create.env).await?,
        }
        if let Some(auto) = create.restart {
            spec.restart = RestartPolicy { auto, ..RestartPolicy::ALWAYS };
        }
        Ok(spec)
    }

    /// The fronts that have to offer the session. Coop is checked here: it is no endpoint that the engine could ask.
    fn required(&self, create: &Create) -> Result<Vec<String>, ErrorReply> {
        let (own, others): (Vec<String>, Vec<String>) =
            create.require.iter().cloned().partition(|front| front == COOP);
        let listening =
            |dialect: &DialectStatus| dialect.name == COOP && dialect.state == DialectState::Listening;
        let offered = || {
            !create.hide.iter().any(|front| front == COOP)
                && self.operations.host.status().dialects.iter().any(listening)
        };
        if own.is_empty() || offered() {
            return Ok(others);
        }
        let text = format!(
            "the {COOP} front does not offer this session: it is hidden, or the front is not listening"
        );
        Err(ErrorReply::new(ErrorCode::FrontFailed, text))
    }

    /// Sets what the Coopfiles decide (CO-26 to CO-28).
    async fn apply_coopfiles(
        &self,
        spec: &mut SessionSpec,
        text: Option<&str>,
        env: Option<BTreeMap<String, String>>,
    ) -> Result<(), ErrorReply> {
        let settings = &self.operations.settings;
        let mut coopfile = Coopfile::default();
        coopfile.merge_file(&settings.default_coopfile, limits::COOPFILE).await?;
        let mut without = coopfile.clone();
        let own = coopfile.merge_file(&spec.workspace.join(COOPFILE), limits::COOPFILE).await?;
        for layers in [&mut coopfile, &mut without] {
            let given = layers.merge(text.unwrap_or_default());
            given.map_err(|error| invalid(format!("invalid Coopfile in the request: {error}")))?;
        }
        self.check_trust(&spec.workspace, own, [&coopfile, &without]).await?;
        if !coopfile.unused.is_empty() {
            let sections = coopfile.unused.join(", ");
            tracing::info!(session = %spec.name, sections, "ignoring unsupported sections of the Coopfiles");
        }
        let daemon = env.unwrap_or_else(|| settings.env.clone());
        let shell = daemon.get("SHELL").filter(|shell| !shell.is_empty());
        let fallback = || shell.cloned().unwrap_or_else(|| "/bin/sh".to_owned());
        spec.restart = coopfile.restart();
        spec.shell = coopfile.shell;
        spec.origin = COOP.to_owned();
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

    /// Checks that the detection profile of a new session exists.
    fn checked_profile(&self, name: Option<String>) -> Result<Option<String>, ErrorReply> {
        let Some(name) = name else { return Ok(None) };
        let Some(profiles) = self.engine().profiles() else {
            return Err(invalid("turn detection is off, so there are no detection profiles"));
        };
        if profiles.named(&name).is_some() {
            return Ok(Some(name));
        }
        let known = profiles.names();
        let unknown = invalid(format!("no detection profile '{name}'; available: {}", known.join(", ")));
        Err(did_you_mean(&name, known.iter().copied()).into_iter().fold(unknown, ErrorReply::with_hint))
    }
}

impl Call<'_> {
    /// A path that begins with `~/`, below the home directory: a client on another machine does not know where that is.
    fn below_home(&self, path: String) -> String {
        let below = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match (below, self.operations.settings.env.get("HOME")) {
            (Some(rest), Some(home)) => format!("{home}{rest}"),
            _ => path,
        }
    }
}

async fn workspace(text: &str) -> Result<PathBuf, ErrorReply> {
    let path = Path::new(text);
    if !path.is_absolute() {
        return Err(invalid(format!("the workspace '{text}' is not an absolute path")));
    }
    // CO-24
    let real = file_access::run(path, file_access::real_directory).await;
    let real = real.map_err(|error| file_access_error(&error))?;
    real.map_err(|_| invalid(format!("the workspace '{text}' is not a directory")))
}

/// The variables by which processes detect that coop started them (CO-28).
pub(crate) fn markers(session: &str, workspace: &Path, created: u64) -> [(String, String); 3] {
    [
        ("COOP_SESSION".to_owned(), session.to_owned()),
        ("COOP_WORKSPACE".to_owned(), workspace.to_string_lossy().into_owned()),
        ("COOP_CREATED".to_owned(), created.to_string()),
    ]
}

fn unix_now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs())
}
