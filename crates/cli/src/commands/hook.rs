//! `swb hook`: reports the state of an agent; called by the agent's hooks.
//!
//! A hook must never disturb the agent that calls it: it prints nothing, always succeeds and never takes long.

use crate::args;
use crate::context::Context;
use crate::error::Failure;
use crate::limits;
use serde::Deserialize;
use std::io::Read;
use std::sync::mpsc::sync_channel;
use swb_wire::control::{Hook, HookState, OkReply, Operation};

/// Environment variable with the name of the session.
const SESSION: &str = "SWB_SESSION";

/// Reports the state to the daemon and ignores failures.
pub(super) fn run(args: &args::HookArgs) -> u8 {
    let Some(session) = std::env::var(SESSION).ok().filter(|session| !session.is_empty()) else { return 0 };
    let state = args.state.map(state);
    let (done, finished) = sync_channel(1);
    std::thread::spawn(move || {
        if let Some(state) = state.or_else(claude) {
            drop(tell(session, state));
        }
        let _told = done.send(());
    });
    let _finished = finished.recv_timeout(limits::HOOK);
    0
}

fn tell(session: String, state: HookState) -> Result<(), Failure> {
    let context = Context::from_env("swb", None, false)?;
    if let Some(mut control) = context.connect_if_running()? {
        let request = Operation::Hook(Hook { session, state });
        let _: OkReply = control.request_within(&request, Some(limits::HOOK))?;
    }
    Ok(())
}

fn state(state: args::HookState) -> HookState {
    match state {
        args::HookState::Working => HookState::Working,
        args::HookState::Ready => HookState::Ready,
        args::HookState::Asking => HookState::Asking,
        args::HookState::Done => HookState::Done,
        args::HookState::Error => HookState::Error,
    }
}

/// The state that claude's event on standard input reports.
fn claude() -> Option<HookState> {
    let mut text = String::new();
    std::io::stdin().lock().take(limits::HOOK_EVENT).read_to_string(&mut text).ok()?;
    event(&text)
}

/// The part of claude's events that is used here.
#[derive(Debug, Deserialize)]
struct ClaudeEvent {
    hook_event_name: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    notification_type: String,
}

fn event(text: &str) -> Option<HookState> {
    let event: ClaudeEvent = serde_json::from_str(text).ok()?;
    match event.hook_event_name.as_str() {
        "UserPromptSubmit" | "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PreCompact"
        | "SubagentStart" | "SubagentStop" => Some(HookState::Working),
        "Stop" => Some(HookState::Done),
        "StopFailure" => Some(HookState::Error),
        "SessionStart" => Some(HookState::Ready),
        "PermissionRequest" | "Elicitation" => Some(HookState::Asking),
        "Notification" => {
            let says = |word: &str| event.message.contains(word) || event.notification_type.contains(word);
            let asks = says("permission") || says("elicitation") || says("approval");
            asks.then_some(HookState::Asking)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_claude_are_understood() {
        let says = |name: &str, message: &str| {
            event(
                &serde_json::json!({"hook_event_name": name, "message": message, "tool_input": {}})
                    .to_string(),
            )
        };
        assert_eq!(says("Stop", ""), Some(HookState::Done));
        assert_eq!(says("UserPromptSubmit", ""), Some(HookState::Working));
        assert_eq!(says("PreToolUse", ""), Some(HookState::Working));
        assert_eq!(says("Notification", "Claude needs your permission to use Bash"), Some(HookState::Asking));
        assert_eq!(says("Notification", "Claude is waiting for your input"), None);
        assert_eq!(says("SessionEnd", ""), None);
        assert_eq!(event("not JSON"), None);
        assert_eq!(event("{}"), None);
    }
}
