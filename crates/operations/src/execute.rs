//! The one place where operations are executed.

use crate::find::{self, NamedWorkspaces};
use crate::reply::{OperationResult, Then, follow};
use crate::{Caller, Operations, roles};
use std::pin::Pin;
use swb_engine::Engine;
use swb_wire::control::{OkReply, Operation};

/// The execution of an operation.
pub(crate) type Executing<'a> = Pin<Box<dyn Future<Output = OperationResult> + Send + 'a>>;

/// One operation that is being executed for a caller.
pub(crate) struct Call<'a> {
    pub(crate) operations: &'a Operations,
    pub(crate) caller: &'a Caller,
    /// The real paths of the workspaces that the operation names in place of sessions (CO-30).
    pub(crate) workspaces: NamedWorkspaces,
}

impl Operations {
    /// Executes an operation for a caller, if its role and scope allow that.
    ///
    /// Dropping the future cancels a wait ([`waits`]); any other operation has to be awaited to its end even if
    /// the caller has left, since its request counts although it did not wait for the reply (CO-54, CO-60).
    // Boxed here, so that each transport calls the same code: the body of an asynchronous function is compiled anew in every
    // crate that awaits it.
    pub fn execute<'a>(&'a self, caller: &'a Caller, operation: Operation) -> Executing<'a> {
        Box::pin(async move {
            roles::check(caller, &operation)?;
            let workspaces = find::named_workspaces(&self.engine, &operation).await?;
            Call { operations: self, caller, workspaces }.run(operation).await
        })
    }
}

/// Whether an operation waits for an agent or a terminal, possibly forever, and is cancelled when its caller leaves.
pub fn waits(operation: &Operation) -> bool {
    matches!(operation, Operation::Ask(_) | Operation::NotifyTest(_) | Operation::Wait(_))
}

/// Whether an operation waits for a disk, which may not respond for a while.
pub fn accesses_files(operation: &Operation) -> bool {
    let stored = matches!(
        operation,
        Operation::Conversation(_)
            | Operation::Create(_)
            | Operation::Forget(_)
            | Operation::History(_)
            | Operation::Workspace(_)
            | Operation::Workspaces(_)
    );
    stored || find::named_sessions(operation).into_iter().flatten().any(find::is_path)
}

impl Call<'_> {
    pub(crate) fn engine(&self) -> &Engine {
        &self.operations.engine
    }

    async fn run(&self, operation: Operation) -> OperationResult {
        match operation {
            Operation::Agents(_) => self.agents(),
            Operation::Approval(approval) => self.approval(approval).await,
            Operation::Approvals(_) => self.approvals().await,
            Operation::Ask(ask) => self.ask(ask).await,
            Operation::Attach(attach) => self.attach(attach).await,
            Operation::Capture(capture) => self.capture(&capture),
            Operation::Chat => follow(&OkReply::default(), Then::Chat),
            Operation::Conversation(conversation) => self.conversation(conversation).await,
            Operation::Create(create) => self.create(create).await,
            // CO-50
            Operation::Detach => follow(&OkReply::default(), Then::Close),
            Operation::Events(events) => self.events(events),
            Operation::Explain(explain) => self.explain(&explain).await,
            Operation::Filter(filter) => self.filter(&filter),
            Operation::Forget(forget) => self.forget(forget).await,
            Operation::History(history) => self.history(history).await,
            Operation::Hook(hook) => self.hook(&hook).await,
            Operation::Keys(keys) => self.keys(keys).await,
            Operation::Kill(kill) => self.kill(kill).await,
            Operation::Logs(logs) => self.logs(&logs),
            Operation::Ls(ls) => self.list(&ls),
            Operation::Mute(mute) => self.mute(&mute),
            Operation::Notifications(_) => self.notifications().await,
            Operation::NotifyTest(_) => self.notify_test().await,
            Operation::Paste(paste) => self.paste(&paste).await,
            Operation::Relay(relay) => self.relay_turn(relay).await,
            Operation::Restart(restart) => self.restart(&restart).await,
            Operation::Revoke(revoke) => self.revoke(&revoke),
            Operation::Screen(screen) => self.screen(screen).await,
            Operation::Send(send) => self.send(send).await,
            Operation::Serve(serve) => self.serve(serve).await,
            Operation::SessionKill(kill) => self.session_kill(&kill).await,
            Operation::SessionLs(ls) => self.session_ls(&ls),
            Operation::Shell(shell) => self.shell(shell).await,
            Operation::Shutdown(shutdown) => self.shut_down(&shutdown).await,
            Operation::Status => self.status().await,
            Operation::Token(token) => self.token(token).await,
            Operation::Tokens(_) => self.tokens(),
            Operation::Tunnel(tunnel) => self.tunnel(tunnel).await,
            Operation::TunnelAnswer(answer) => self.tunnel_answer(answer).await,
            Operation::TunnelRevoke(revoke) => self.tunnel_revoke(&revoke),
            Operation::Tunnels(_) => self.tunnels(),
            Operation::Turn(turn) => self.turn(&turn),
            Operation::Turns(turns) => self.turns(&turns),
            Operation::Upgrade(upgrade) => self.upgrade(upgrade).await,
            Operation::Wait(wait) => self.wait(wait).await,
            Operation::Whoami(_) => self.whoami(),
            Operation::Workspace(workspace) => self.workspace(workspace).await,
            Operation::Workspaces(_) => self.workspaces().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use swb_wire::control::parse_operation;

    #[test]
    fn operations_that_name_paths_or_saved_conversations_access_files() {
        let accesses = |value: serde_json::Value| {
            accesses_files(&parse_operation(value.to_string().as_bytes()).expect("an operation"))
        };
        assert!(accesses(json!({"cmd": "create", "workspace": "/w"})));
        assert!(accesses(json!({"cmd": "history"})));
        assert!(accesses(json!({"cmd": "kill", "session": "/w"})));
        assert!(accesses(json!({"cmd": "relay", "from": "a", "to": "/w"})));
        assert!(!accesses(json!({"cmd": "kill", "session": "a"})));
        assert!(!accesses(json!({"cmd": "ls"})) && !accesses(json!({"cmd": "status"})));
    }
}
