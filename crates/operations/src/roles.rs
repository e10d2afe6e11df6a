//! The table of roles: which operation needs which role and scope.
//!
//! `execute.rs` checks it before anything else happens, and nothing outside this crate does. Some rules depend on the
//! fields of an operation rather than on its name: raw bytes can press keys, and forced text can answer a dialog, so
//! both need `drive`; viewing an approval needs `watch`, deciding it or asking for time needs `approve`. `attach` is open
//! to every role but `agent`: a caller that may not send input only watches.
//!
//! `agent` is the role of programs that an agent starts. It is no step between the others: the operations that are
//! open to agents are marked one by one, and an agent is always limited to one workspace.

use crate::caller::Caller;
use swb_types::{Role, Scope};
use swb_wire::control::{ErrorCode, ErrorReply, Operation};

/// The scope that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Any scope: the operation concerns one session, or shows only what is within the scope.
    Session,
    /// A workspace, or everything.
    Workspace,
    /// Everything.
    All,
}

/// What an operation needs.
#[derive(Debug, Clone, Copy)]
struct Needs {
    role: Role,
    reach: Reach,
    /// Whether it is open to the role `agent`, too.
    open_to_agents: bool,
}

impl Needs {
    fn new(role: Role, reach: Reach) -> Self {
        Self { role, reach, open_to_agents: false }
    }

    /// The needs of an operation that is open to agents, too.
    fn or_agent(role: Role) -> Self {
        Self { role, reach: Reach::Session, open_to_agents: true }
    }

    fn allows(self, role: Role) -> bool {
        role.includes(self.role) || (self.open_to_agents && role == Role::Agent)
    }
}

/// The table.
fn needs(operation: &Operation) -> Needs {
    use Operation as Op;
    match operation {
        Op::Detach | Op::Ls(_) | Op::Screen(_) | Op::Turn(_) | Op::Turns(_) | Op::Wait(_) | Op::Whoami(_) => {
            Needs::or_agent(Role::Watch)
        }
        Op::Filter(filter) if filter.on.is_some() => Needs::new(Role::Owner, Reach::Session),
        Op::Filter(_) => Needs::new(Role::Watch, Reach::Session),
        Op::Agents(_)
        | Op::Approvals(_)
        | Op::Attach(_)
        | Op::Conversation(_)
        | Op::Events(_)
        | Op::Explain(_)
        | Op::History(_)
        | Op::Logs(_)
        | Op::Notifications(_)
        | Op::SessionLs(_)
        | Op::Status
        | Op::Workspaces(_) => Needs::new(Role::Watch, Reach::Session),
        // Sent even if the agent is waiting for an answer: its Enter could decide a dialog.
        Op::Ask(ask) if ask.force => Needs::new(Role::Drive, Reach::Session),
        Op::Ask(_) => Needs::or_agent(Role::Prompt),
        // One relay buffer serves all workspaces.
        Op::Paste(paste) if paste.raw || paste.force => Needs::new(Role::Drive, Reach::Session),
        Op::Capture(_) | Op::Paste(_) => Needs::new(Role::Prompt, Reach::Session),
        Op::Relay(relay) if relay.raw || relay.force => Needs::new(Role::Drive, Reach::Session),
        Op::Relay(_) => Needs::or_agent(Role::Prompt),
        Op::Approval(approval) if approval.decides() => Needs::new(Role::Approve, Reach::Session),
        Op::Approval(_) => Needs::new(Role::Watch, Reach::Session),
        Op::Create(_) => Needs::new(Role::Drive, Reach::Workspace),
        Op::Kill(kill) if kill.all => Needs::new(Role::Drive, Reach::All),
        Op::Hook(_)
        | Op::Keys(_)
        | Op::Kill(_)
        | Op::Mute(_)
        | Op::Restart(_)
        | Op::Send(_)
        | Op::SessionKill(_)
        | Op::Shell(_) => Needs::new(Role::Drive, Reach::Session),
        Op::Forget(_) => Needs::new(Role::Owner, Reach::Session),
        // Its protocol has prompts, decisions and settings, and no roles.
        Op::Chat
        | Op::NotifyTest(_)
        | Op::Revoke(_)
        | Op::Serve(_)
        | Op::Shutdown(_)
        | Op::Token(_)
        | Op::Tokens(_)
        | Op::Tunnel(_)
        | Op::TunnelAnswer(_)
        | Op::TunnelRevoke(_)
        | Op::Tunnels(_)
        | Op::Upgrade(_)
        | Op::Workspace(_) => Needs::new(Role::Owner, Reach::All),
    }
}

/// Rejects an operation that the caller may not request; the error names what it needs.
pub(crate) fn check(caller: &Caller, operation: &Operation) -> Result<(), ErrorReply> {
    let needs = needs(operation);
    let (reach, name) = (needs.reach, operation.name());
    if !needs.allows(caller.role()) {
        let text =
            format!("'{name}' needs the role '{}'; this connection has '{}'", needs.role, caller.role());
        return Err(forbidden(text));
    }
    if caller.role() == Role::Agent && !matches!(caller.scope(), Scope::Workspace(_)) {
        return Err(forbidden("the role 'agent' needs a workspace that it is limited to"));
    }
    let reaches = match (reach, caller.scope()) {
        (Reach::Session, _) | (_, Scope::All) => true,
        (Reach::Workspace, Scope::Workspace(_)) => true,
        (Reach::Workspace, Scope::Session(_)) | (Reach::All, _) => false,
    };
    if !reaches {
        let needed = if reach == Reach::All { "all sessions" } else { "a workspace" };
        let text =
            format!("'{name}' needs access to {needed}; this connection is limited to {}", caller.scope());
        return Err(forbidden(text));
    }
    Ok(())
}

/// The error for an operation that a role or a scope does not allow.
pub(crate) fn forbidden(text: impl AsRef<str>) -> ErrorReply {
    ErrorReply::new(ErrorCode::Forbidden, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use swb_types::SessionName;
    use swb_wire::control::parse_operation;

    fn operation(value: &Value) -> Operation {
        parse_operation(value.to_string().as_bytes()).unwrap_or_else(|bad| panic!("{value}: {bad}"))
    }

    fn allowed(role: Role, scope: Scope, value: &Value) -> Result<(), String> {
        check(&Caller::new(role, scope), &operation(value)).map_err(|error| {
            assert_eq!(error.error, ErrorCode::Forbidden);
            error.message
        })
    }

    /// One operation of each kind, with the role that it needs.
    fn table() -> Vec<(Value, Role)> {
        let s = "s";
        vec![
            (json!({"cmd": "ls"}), Role::Watch),
            (json!({"cmd": "attach", "session": s}), Role::Watch),
            (json!({"cmd": "screen", "session": s}), Role::Watch),
            (json!({"cmd": "logs", "session": s}), Role::Watch),
            (json!({"cmd": "turns", "session": s}), Role::Watch),
            (json!({"cmd": "events"}), Role::Watch),
            (json!({"cmd": "history"}), Role::Watch),
            (json!({"cmd": "approvals"}), Role::Watch),
            (json!({"cmd": "approval", "approval": "a"}), Role::Watch),
            (json!({"cmd": "approval", "approval": "a", "approved": true}), Role::Approve),
            (json!({"cmd": "approval", "approval": "a", "option": "1"}), Role::Approve),
            (json!({"cmd": "agents"}), Role::Watch),
            (json!({"cmd": "conversation", "session": s}), Role::Watch),
            (json!({"cmd": "detach"}), Role::Watch),
            (json!({"cmd": "explain", "session": s}), Role::Watch),
            (json!({"cmd": "sessionls", "session": s}), Role::Watch),
            (json!({"cmd": "notifications"}), Role::Watch),
            (json!({"cmd": "mute", "session": s}), Role::Drive),
            (json!({"cmd": "notify_test"}), Role::Owner),
            (json!({"cmd": "status"}), Role::Watch),
            (json!({"cmd": "turn", "session": s}), Role::Watch),
            (json!({"cmd": "wait", "session": s, "exit": true}), Role::Watch),
            (json!({"cmd": "workspaces"}), Role::Watch),
            (json!({"cmd": "approval", "approval": "a", "ack": true}), Role::Approve),
            (json!({"cmd": "capture", "session": s}), Role::Prompt),
            (json!({"cmd": "ask", "session": s, "text": "t", "force": true}), Role::Drive),
            (json!({"cmd": "hook", "session": s, "state": "ready"}), Role::Drive),
            (json!({"cmd": "sessionkill", "session": s, "pty": 1}), Role::Drive),
            (json!({"cmd": "serve"}), Role::Owner),
            (json!({"cmd": "tunnel", "session": s}), Role::Owner),
            (json!({"cmd": "ask", "session": s, "text": "t"}), Role::Prompt),
            (json!({"cmd": "relay", "from": "a", "to": "b"}), Role::Prompt),
            (json!({"cmd": "relay", "from": "a", "to": "b", "raw": true}), Role::Drive),
            (json!({"cmd": "relay", "from": "a", "to": "b", "force": true}), Role::Drive),
            (json!({"cmd": "paste", "session": s, "force": true}), Role::Drive),
            (json!({"cmd": "paste", "session": s}), Role::Prompt),
            (json!({"cmd": "send", "session": s, "text": "t"}), Role::Drive),
            (json!({"cmd": "keys", "session": s, "keys": ["Enter"]}), Role::Drive),
            (json!({"cmd": "create", "workspace": "/w"}), Role::Drive),
            (json!({"cmd": "shell", "session": s}), Role::Drive),
            (json!({"cmd": "restart", "session": s}), Role::Drive),
            (json!({"cmd": "kill", "session": s}), Role::Drive),
            (json!({"cmd": "kill", "all": true}), Role::Drive),
            (json!({"cmd": "forget", "session": s}), Role::Owner),
            (json!({"cmd": "workspace", "path": "/w"}), Role::Owner),
            (json!({"cmd": "upgrade"}), Role::Owner),
            (json!({"cmd": "chat"}), Role::Owner),
            (json!({"cmd": "shutdown"}), Role::Owner),
        ]
    }

    #[test]
    fn each_role_may_do_what_it_includes_and_nothing_else() {
        for (value, needed) in table() {
            for role in [Role::Watch, Role::Prompt, Role::Approve, Role::Drive, Role::Owner] {
                let result = allowed(role, Scope::All, &value);
                assert_eq!(result.is_ok(), role.includes(needed), "{role} {value}: {result:?}");
            }
        }
    }

    #[test]
    fn an_agent_may_list_read_wait_ask_and_relay_and_nothing_else() {
        let open = ["ls", "screen", "turns", "turn", "wait", "detach", "ask", "relay"];
        for (value, _) in table() {
            let bytes_or_forced = value["raw"] == true || value["force"] == true;
            let expected = open.contains(&value["cmd"].as_str().unwrap()) && !bytes_or_forced;
            let result = allowed(Role::Agent, Scope::Workspace("/w".into()), &value);
            assert_eq!(result.is_ok(), expected, "{value}: {result:?}");
            let session = Scope::Session(SessionName::new("s").unwrap());
            for scope in [Scope::All, session] {
                assert!(allowed(Role::Agent, scope, &value).is_err(), "{value}");
            }
        }
        let refused = allowed(Role::Agent, Scope::Workspace("/w".into()), &json!({"cmd": "approvals"}));
        assert_eq!(
            refused,
            Err("'approvals' needs the role 'watch'; this connection has 'agent'".to_owned())
        );
    }

    #[test]
    fn an_error_names_the_required_role() {
        let refused = allowed(Role::Prompt, Scope::All, &json!({"cmd": "keys", "session": "s", "keys": []}));
        assert_eq!(refused, Err("'keys' needs the role 'drive'; this connection has 'prompt'".to_owned()));
    }

    #[test]
    fn a_scope_forbids_operations_on_everything() {
        let session = || Scope::Session(SessionName::new("s").unwrap());
        let workspace = || Scope::Workspace("/w".into());
        let (create, kill_all) =
            (json!({"cmd": "create", "workspace": "/w"}), json!({"cmd": "kill", "all": true}));
        assert!(allowed(Role::Owner, session(), &create).is_err());
        assert!(allowed(Role::Owner, workspace(), &create).is_ok());
        for scope in [session(), workspace()] {
            assert!(allowed(Role::Owner, scope.clone(), &kill_all).is_err());
            assert!(allowed(Role::Owner, scope.clone(), &json!({"cmd": "shutdown"})).is_err());
            assert!(allowed(Role::Owner, scope, &json!({"cmd": "kill", "session": "s"})).is_ok());
        }
    }
}
