//! Requests that an agent sends while it answers: permissions, files, terminals.

use super::limits;
use super::permission::{self, Subject};
use super::terminals::AcpTerminals;
use super::tools::AcpTools;
use crate::BackendContext;
use crate::command::{Guarded, GuardedOutput, Launch};
use crate::confinement::one_line;
use crate::policy;
use crate::workspace_fs::{WorkspaceFs, WorkspaceFsError, limits as fs_limits};
use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, Error, ErrorCode, KillTerminalRequest,
    ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalRequest, RequestId, RequestPermissionRequest,
    RequestPermissionResponse, TerminalOutputRequest, WaitForTerminalExitRequest, WriteTextFileRequest,
    WriteTextFileResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use swb_chat::{ApprovalAnswer, Decision, ToolKind, Workspace};
use swb_engine::chat::{Boxed, Exchange};
use swb_engine::file_access;
use tokio::sync::Semaphore;

/// The reply to the agent.
pub(super) type RpcResult = Result<Value, Error>;

/// Requests being served, all concurrently.
#[derive(Default)]
pub(super) struct PendingReplies<'a>(Vec<(RequestId, Boxed<'a, RpcResult>)>);

impl<'a> PendingReplies<'a> {
    /// Whether another request can be accepted.
    pub(super) fn has_room(&self) -> bool {
        self.0.len() < limits::SERVED
    }

    /// Whether there are more requests than an agent can be waiting for.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= 2 * limits::SERVED
    }

    pub(super) fn add(&mut self, id: RequestId, answer: Boxed<'a, RpcResult>) {
        self.0.push((id, answer));
    }

    /// Waits for the next request that is done; forever if there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> (RequestId, RpcResult) {
        poll_fn(|context| {
            for at in 0..self.0.len() {
                if let Poll::Ready(answer) = self.0[at].1.as_mut().poll(context) {
                    return Poll::Ready((self.0.swap_remove(at).0, answer));
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// What is needed to serve requests.
pub(super) struct AgentRequests<'a> {
    context: &'a BackendContext,
    exchange: &'a Exchange,
    /// Limits the permissions that users are asked for concurrently.
    turns: Arc<Semaphore>,
    /// Limits the files read and written concurrently.
    files: Arc<Semaphore>,
}

impl<'a> AgentRequests<'a> {
    pub(super) fn new(context: &'a BackendContext, exchange: &'a Exchange) -> Self {
        let [turns, files] = [limits::ASKED, limits::FILES].map(|most| Arc::new(Semaphore::new(most)));
        Self { context, exchange, turns, files }
    }

    /// Starts to serve a request.
    pub(super) fn serve(
        &self,
        method: &str,
        params: Value,
        tools: &AcpTools,
        terminals: &mut AcpTerminals,
    ) -> Boxed<'a, RpcResult> {
        let begun = match method {
            "session/request_permission" => read(params).map(|request| self.permission(request, tools)),
            "fs/read_text_file" => read(params).map(|request| self.read_file(request)),
            "fs/write_text_file" => read(params).map(|request| self.write_file(request)),
            "terminal/create" => read(params).map(|request| self.create_terminal(request, terminals)),
            "terminal/output" => read(params).and_then(|request: TerminalOutputRequest| {
                let output = terminals.output(&request.terminal_id.0).ok_or_else(no_terminal)?;
                Ok(now(answer(&output)))
            }),
            "terminal/wait_for_exit" => read(params).and_then(|request: WaitForTerminalExitRequest| {
                let ended = terminals.wait(&request.terminal_id.0).ok_or_else(no_terminal)?;
                let boxed: Boxed<'a, RpcResult> = Box::pin(async move { answer(&ended.await) });
                Ok(boxed)
            }),
            "terminal/kill" => read(params).and_then(|request: KillTerminalRequest| {
                terminals.kill(&request.terminal_id.0).ok_or_else(no_terminal)?;
                Ok(now(Ok(json!({}))))
            }),
            "terminal/release" => read(params).and_then(|request: ReleaseTerminalRequest| {
                terminals.release(&request.terminal_id.0).ok_or_else(no_terminal)?;
                Ok(now(Ok(json!({}))))
            }),
            _ => Err(unknown_method()),
        };
        begun.unwrap_or_else(|error| now(Err(error)))
    }

    fn permission(&self, request: RequestPermissionRequest, tools: &AcpTools) -> Boxed<'a, RpcResult> {
        let (mut approval, kind) = permission::approval(&request, tools.get(&request.tool_call.tool_call_id));
        approval.reason = match kind {
            ToolKind::Execute => {
                self.context.confinement.explain(&approval.reason, &self.exchange.workspace())
            }
            _ => one_line(&approval.reason),
        };
        let (context, exchange, turns) = (self.context, self.exchange, Arc::clone(&self.turns));
        Box::pin(async move {
            let allowed = permission::is_allowed(&approval, kind, &context.allow, &exchange.workspace());
            let (options, subject) = (approval.options.clone(), permission::subject(&approval, kind));
            let decision = match allowed {
                true => Decision::Decided(ApprovalAnswer { approved: true, ..ApprovalAnswer::default() }),
                false => {
                    // The semaphore is never closed, so a permit comes.
                    let _turn = turns.acquire().await;
                    exchange.approve(approval).await
                }
            };
            if permission::is_ours_to_keep(&options, &decision) {
                keep(exchange, subject).await;
            }
            answer(&RequestPermissionResponse::new(permission::outcome(&options, &decision)))
        })
    }

    /// Opens the agent's files; the call blocks on the disk.
    fn fs(&self) -> impl FnOnce() -> WorkspaceFs + Send + 'static {
        let (workspace, umask) = (self.exchange.workspace(), self.context.umask);
        let (working_dir, agents) = (self.exchange.working_dir().to_owned(), self.exchange.written());
        let own = self.context.confinement.protected().to_vec();
        move || WorkspaceFs::new(&workspace, &working_dir, umask, &agents).with_protected(&own)
    }

    fn read_file(&self, request: ReadTextFileRequest) -> Boxed<'a, RpcResult> {
        let fs = self.fs();
        Box::pin(on_disk(Arc::clone(&self.files), request.path, move |path| {
            let text = fs().read(path)?;
            Ok(json!(ReadTextFileResponse::new(part(text, request.line, request.limit))))
        }))
    }

    fn write_file(&self, request: WriteTextFileRequest) -> Boxed<'a, RpcResult> {
        let fs = self.fs();
        Box::pin(on_disk(Arc::clone(&self.files), request.path, move |path| {
            fs().write(path, &request.content)?;
            Ok(json!(WriteTextFileResponse::new()))
        }))
    }

    fn create_terminal(
        &self,
        request: CreateTerminalRequest,
        terminals: &mut AcpTerminals,
    ) -> Boxed<'a, RpcResult> {
        if !terminals.has_room() {
            return now(Err(error(ErrorCode::InvalidRequest, "too many terminals; release some first")));
        }
        let (context, workspace) = (self.context.clone(), self.exchange.workspace());
        let agents = self.exchange.written();
        let (directory, fs) = (self.exchange.working_dir().to_owned(), self.fs());
        let output_limit = request.output_byte_limit;
        let (name, started) = terminals.create(output_limit, async move {
            let directory = match request.cwd.clone() {
                None => directory,
                Some(wanted) => resolved(wanted, fs).await?,
            };
            let started = start_terminal(&context, &workspace, agents, &directory, request).await;
            started.map_err(|why| {
                error(ErrorCode::InternalError, &format!("the command cannot be started: {why}"))
            })
        });
        Box::pin(async move {
            let ended = || error(ErrorCode::InternalError, "the terminal was released");
            started.await.map_err(|_| ended())??;
            answer(&CreateTerminalResponse::new(name))
        })
    }
}
/// The path of a directory in the workspace or its context: the guard limits what the command may write there.
async fn resolved(
    directory: PathBuf,
    fs: impl FnOnce() -> WorkspaceFs + Send + 'static,
) -> Result<PathBuf, Error> {
    let path = directory.to_str().ok_or_else(bad_path)?.to_owned();
    let found = file_access::run(&directory, move |_| fs().resolve_read(&path)).await;
    let found = found.map_err(|why| error(ErrorCode::InternalError, &why.to_string()))?;
    found.map_err(|why| fs_error(&why))
}

async fn start_terminal(
    context: &BackendContext,
    workspace: &Workspace,
    agents: Vec<PathBuf>,
    directory: &Path,
    request: CreateTerminalRequest,
) -> io::Result<(Guarded, GuardedOutput)> {
    let env = request.env.into_iter().map(|variable| (variable.name, variable.value));
    let launch = match request.args.is_empty() {
        // Most agents send a whole command line here.
        true => Launch::shell(&request.command, directory),
        false => Launch::new([request.command].into_iter().chain(request.args), directory),
    };
    let launch = launch.with_env(env).confined(workspace, agents, &context.confinement).await?;
    launch.with_connection(context.connection(&workspace.path)?).start(&context.into())
}

/// Records in the workspace what the user allowed permanently.
async fn keep(exchange: &Exchange, subject: Option<Subject>) {
    match subject {
        Some(Subject::Command(command)) => {
            if let Some(rule) = policy::rule_for(&command) {
                exchange.approve_command(rule).await;
            }
        }
        Some(Subject::Domain(domain)) => exchange.approve_domain(&domain).await,
        None => {}
    }
}

/// Runs blocking file work on a thread of its own, within the limit on concurrent files.
async fn on_disk(
    turns: Arc<Semaphore>,
    path: PathBuf,
    work: impl FnOnce(&str) -> Result<Value, WorkspaceFsError> + Send + 'static,
) -> RpcResult {
    let text = Path::to_str(&path).ok_or_else(bad_path)?.to_owned();
    // The semaphore is never closed, so a permit comes.
    let _turn = turns.acquire().await;
    let done = file_access::run_within(fs_limits::TOOL, &path, move |_| work(&text)).await;
    let done = done.map_err(|why| error(ErrorCode::InternalError, &why.to_string()))?;
    done.map_err(|error| fs_error(&error))
}

/// Lines of a text: at most `limit`, starting at `line`, which counts from 1.
fn part(text: String, line: Option<u32>, limit: Option<u32>) -> String {
    if line.is_none() && limit.is_none() {
        return text;
    }
    let skip = line.map_or(0, |line| line.saturating_sub(1)) as usize;
    let take = limit.map_or(usize::MAX, |limit| limit as usize);
    text.split_inclusive('\n').skip(skip).take(take).collect()
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params)
        .map_err(|why| error(ErrorCode::InvalidParams, &format!("invalid parameters: {why}")))
}

fn answer(value: &impl Serialize) -> RpcResult {
    serde_json::to_value(value).map_err(|why| error(ErrorCode::InternalError, &why.to_string()))
}

fn now<'a>(answer: RpcResult) -> Boxed<'a, RpcResult> {
    Box::pin(std::future::ready(answer))
}

fn error(code: ErrorCode, message: &str) -> Error {
    Error::new(code.into(), message)
}

/// The reply to an unknown method.
pub(super) fn unknown_method() -> Error {
    error(ErrorCode::MethodNotFound, "unknown method")
}

fn no_terminal() -> Error {
    error(ErrorCode::ResourceNotFound, "unknown terminal")
}

fn bad_path() -> Error {
    error(ErrorCode::InvalidParams, "the path is not valid UTF-8")
}

fn fs_error(why: &WorkspaceFsError) -> Error {
    let code = match why {
        WorkspaceFsError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
            ErrorCode::ResourceNotFound
        }
        WorkspaceFsError::Io { .. } => ErrorCode::InternalError,
        _ => ErrorCode::InvalidParams,
    };
    error(code, &why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_files_count_from_one() {
        let part = |line, limit| part("a\nb\nc".to_owned(), line, limit);
        assert_eq!(part(None, None), "a\nb\nc");
        assert_eq!(part(Some(2), None), "b\nc");
        assert_eq!(part(Some(1), Some(1)), "a\n");
        assert_eq!(part(Some(0), Some(2)), "a\nb\n");
        assert_eq!(part(Some(9), Some(9)), "");
    }

    #[tokio::test]
    async fn requests_are_answered_as_they_are_done() {
        let (tell, answered) = tokio::sync::oneshot::channel::<()>();
        let mut serving = PendingReplies::default();
        serving.add(
            RequestId::Number(1),
            Box::pin(async move { answered.await.map(|()| Value::Null).map_err(|_| bad_path()) }),
        );
        serving.add(RequestId::Number(2), now(Ok(Value::Null)));
        assert_eq!(serving.next().await.0, RequestId::Number(2));
        tell.send(()).unwrap();
        assert_eq!(serving.next().await.0, RequestId::Number(1));
    }
}
