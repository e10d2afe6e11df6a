//! Programs under a guard.

use super::bounded_output::Utf8Decoder;
use super::guard_exit;
use crate::agent_connection::AgentConnection;
use crate::command::limits;
use crate::workspace_fs::{WorkspaceFsError, is_beneath, resolve};
use crate::{BackendContext, Confinement, guard, sys};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Once;
use swb_chat::Workspace;
use swb_engine::{CONFINING_GUARD, file_access};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio_util::sync::DropGuard;

/// A program to start.
#[derive(Debug)]
pub(crate) struct Launch {
    program: Vec<OsString>,
    directory: PathBuf,
    env: BTreeMap<String, String>,
    confinement: Option<Vec<OsString>>,
    connection: Option<AgentConnection>,
}

impl Launch {
    /// A program with arguments.
    pub(crate) fn new(program: impl IntoIterator<Item = impl Into<OsString>>, directory: &Path) -> Self {
        let program = program.into_iter().map(Into::into).collect();
        let directory = directory.to_owned();
        Self { program, directory, env: BTreeMap::new(), confinement: None, connection: None }
    }

    /// A shell command, trimmed: the approval was for exactly this text.
    pub(crate) fn shell(command: &str, directory: &Path) -> Self {
        Self::new(["/bin/sh", "-c", command.trim_ascii()], directory)
    }

    /// Adds environment variables.
    pub(crate) fn with_env(mut self, env: impl IntoIterator<Item = (String, String)>) -> Self {
        self.env.extend(env);
        self
    }

    /// Lets it inherit a connection to the daemon.
    pub(crate) fn with_connection(mut self, connection: Option<AgentConnection>) -> Self {
        self.connection = connection;
        self
    }

    /// Confines it to what the workspace allows. `agents` are the directories that agents of any workspace can write.
    pub(crate) async fn confined(
        mut self,
        workspace: &Workspace,
        agents: Vec<PathBuf>,
        possible: &Confinement,
    ) -> io::Result<Self> {
        let owned = workspace.clone();
        let mut arguments =
            file_access::run(&workspace.path, move |_| confinement(&owned, &agents)).await??;
        for dir in possible.protected() {
            arguments.extend([guard::PROTECT.into(), dir.into()]);
        }
        if possible.lacks_namespaces().await {
            arguments.push(guard::WITHOUT_NAMESPACES.into());
        }
        self.confinement = Some(arguments);
        Ok(self)
    }

    /// The command line of the guard.
    fn command(&self, host: &GuardHost<'_>) -> Command {
        let mut command = Command::new(host.exe);
        command.arg0("swb");
        match &self.confinement {
            // The mode of the guard comes first on its command line.
            Some(confinement) => {
                command.args(CONFINING_GUARD).args(confinement);
                if host.confinement.runs_without_landlock() {
                    command.arg("--without-landlock");
                }
            }
            None => {
                command.arg("guard");
            }
        }
        command.arg("--parent").arg(std::process::id().to_string());
        command.arg("--umask").arg(format!("{:o}", host.umask));
        // The guard enters the directory: a child of ours that cannot would keep us waiting for its start.
        command.arg("--directory").arg(&self.directory).current_dir("/");
        command.arg("--").args(&self.program);
        // In a process group of its own, so that the kernel continues a stopped guard when the daemon dies.
        command.process_group(0);
        command.env_clear();
        match self.confinement {
            Some(_) => command.envs(host.confinement.environment(host.env)),
            None => command.envs(host.env),
        };
        let own = self.env.iter().map(|(key, value)| (format!("{}{key}", guard::VARIABLE), value));
        command.envs(own).env("PWD", &self.directory);
        command
    }

    /// Starts it without input, and with both outputs in one pipe.
    pub(crate) fn start(self, host: &GuardHost<'_>) -> io::Result<(Guarded, GuardedOutput)> {
        let (reader, writer) = std::io::pipe()?;
        let mut command = self.command(host);
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        // This drops our copies of the writing end: with them the output would never end.
        let guarded = self.spawn(command)?;
        let pipe = pipe::Receiver::from_owned_fd(reader.into())?;
        Ok((guarded, GuardedOutput { pipe, decoder: Utf8Decoder::default() }))
    }

    /// Starts it with three pipes.
    pub(crate) fn start_piped(self, host: &GuardHost<'_>) -> io::Result<Guarded> {
        let mut command = self.command(host);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.spawn(command)
    }

    fn spawn(self, mut command: Command) -> io::Result<Guarded> {
        let connection = self.connection.map(|connection| {
            command.env(swb_types::CONNECTION_VARIABLE, connection.number().to_string());
            sys::inherit(&mut command, connection.descriptor);
            connection.open
        });
        Ok(Guarded { child: command.spawn()?, ended: Once::new(), _connection: connection })
    }
}

/// The arguments that make the guard confine a program to what a workspace allows. Reads directories. Fails if an agent
/// may have replaced one of them by a link.
fn confinement(workspace: &Workspace, agents: &[PathBuf]) -> io::Result<Vec<OsString>> {
    let write = written(workspace);
    let known: Vec<PathBuf> = write.iter().filter_map(|dir| file_access::real_path(dir).ok()).collect();
    let read = workspace.context_dirs.iter().chain(&workspace.landlock_read);
    // Directories below a writable one are readable anyway, and may have been replaced by a link.
    let read = read.filter(|dir| !is_beneath(dir, &known));
    let read = read.map(|dir| ("--read", dir.as_path()));
    let write = write.into_iter().map(|dir| ("--write", dir));
    let open = [(workspace.unix_sockets, "--unix-sockets"), (workspace.git_writable, "--git-writable")];
    let open = open.into_iter().filter_map(|(open, option)| open.then_some(OsString::from(option)));
    let mut arguments: Vec<OsString> = open.collect();
    arguments.extend(agents.iter().flat_map(|dir| [guard::AGENTS.into(), dir.into()]));
    for (option, dir) in read.chain(write) {
        let real = resolve(dir, agents).ok_or_else(|| WorkspaceFsError::Moved(dir.to_owned()));
        arguments.extend([option.into(), real.map_err(io::Error::other)?.into()]);
    }
    Ok(arguments)
}

/// The directories that a confined program may write, without those below others: a program could replace them with
/// links to anywhere, and the next one would be allowed to write there.
fn written(workspace: &Workspace) -> Vec<&Path> {
    let mut all: Vec<&Path> =
        [&workspace.path].into_iter().chain(&workspace.landlock_write).map(|dir| dir.as_path()).collect();
    all.sort_by_key(|dir| dir.components().count());
    let (mut written, mut known) = (Vec::new(), Vec::new());
    for dir in all {
        if !is_beneath(dir, &known) {
            known.extend(file_access::real_path(dir));
            written.push(dir);
        }
    }
    written
}

/// What is needed to start programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GuardHost<'a> {
    /// Our own executable, which contains the guard.
    pub(crate) exe: &'a Path,
    /// The environment of the programs.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// The umask of the programs.
    pub(crate) umask: u32,
    /// How far programs are confined.
    pub(crate) confinement: &'a Confinement,
}

impl<'a> From<&'a BackendContext> for GuardHost<'a> {
    fn from(context: &'a BackendContext) -> Self {
        let BackendContext { exe, env, umask, confinement, .. } = context;
        Self { exe, env, umask: *umask, confinement }
    }
}

/// A program under its guard; dropping it kills it with everything it has started.
#[derive(Debug)]
pub(crate) struct Guarded {
    child: Child,
    ended: Once,
    /// Ends the program's connection to the daemon.
    _connection: Option<DropGuard>,
}

impl Guarded {
    /// Our ends of its pipes, if it has any.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Kills it and everything it has started.
    pub(crate) fn kill(&self) {
        // Only the guard gets the signal, as it alone knows all processes; after it was waited for it has no id.
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            self.ended.call_once(|| guard_exit::end(pid));
        }
    }

    /// Its exit status, 128 + N if signal N killed it.
    pub(crate) async fn wait(&mut self) -> Option<i32> {
        let status = self.child.wait().await.ok()?;
        // A guard that gets the signal before it handles signals is killed by it.
        status.code().or(status.signal().map(|signal| 128 + signal))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The output of a program.
#[derive(Debug)]
pub(crate) struct GuardedOutput {
    pipe: pipe::Receiver,
    decoder: Utf8Decoder,
}

impl GuardedOutput {
    /// The next output; `None` when it has ended. Cancel-safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<String>> {
        let mut chunk = [0; limits::CHUNK];
        loop {
            let count = self.pipe.read(&mut chunk).await?;
            let text = match count {
                0 => self.decoder.finish(),
                count => self.decoder.push(&chunk[..count]),
            };
            match (count, text.is_empty()) {
                (0, true) => return Ok(None),
                (_, true) => {}
                _ => return Ok(Some(text)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn directories_below_a_writable_one_are_not_allowed_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().canonicalize().unwrap().join(path);
        for name in ["ws/docs", "data", "home", "ctx"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for link in ["ws/context", "ws/build"] {
            symlink(at("home"), at(link)).unwrap();
        }
        let mut workspace = Workspace::new(&at("ws"), swb_types::Timestamp(0));
        workspace.context_dirs = vec![at("ws/docs"), at("ws/context"), at("ctx")];
        workspace.landlock_read = vec![at("ws/context/x")];
        workspace.landlock_write = vec![at("ws/build"), at("data")];
        let args = confinement(&workspace, &[]).unwrap();
        let [ws, data, ctx] = ["ws", "data", "ctx"].map(|name| at(name).into_os_string());
        let [read, write] = ["--read", "--write"].map(OsString::from);
        assert_eq!(args, [read, ctx, write.clone(), ws, write, data]);
        workspace.landlock_write = vec![at("")];
        assert_eq!(written(&workspace), [at("")]);
    }

    #[test]
    fn directories_that_agents_of_other_workspaces_have_replaced_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().canonicalize().unwrap().join(path);
        for name in ["mono/inner/x", "mono/docs", "home/x", "ws"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let inner = Workspace::new(&at("mono/inner/x"), swb_types::Timestamp(0));
        let mut reader = Workspace::new(&at("ws"), swb_types::Timestamp(0));
        reader.context_dirs = vec![at("mono/docs")];
        let agents = ["mono", "mono/inner/x", "ws"].map(at);
        for workspace in [&inner, &reader] {
            confinement(workspace, &agents).unwrap();
        }
        for link in ["mono/inner", "mono/docs"] {
            fs::rename(at(link), at(link).with_extension("old")).unwrap();
            symlink(at("home"), at(link)).unwrap();
        }
        for workspace in [&inner, &reader] {
            let error = confinement(workspace, &agents).unwrap_err().to_string();
            assert!(error.contains("leads through a symbolic link"), "{error}");
        }
        // A link elsewhere is the user's own.
        assert_eq!(confinement(&inner, &[]).unwrap().last(), Some(&at("home/x").into_os_string()));
    }
}
