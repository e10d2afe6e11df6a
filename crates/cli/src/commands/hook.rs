//! `swb hook`: reports the state of an agent; called by the agent's hooks.
//!
//! A hook must never disturb the agent that calls it: it prints nothing, always succeeds and never takes long.

use crate::args;
use crate::context::Context;
use crate::control_client::ControlClient;
use crate::error::Failure;
use crate::limits;
use crate::start_daemon;
use serde::Deserialize;
use std::io::{BufReader, Read};
use std::sync::mpsc::sync_channel;
use swb_wire::control::{Hook, HookState, OkReply, Operation};

/// Environment variable with the name of the session.
const SESSION: &str = "SWB_SESSION";

/// Reports the state to the daemon and ignores failures.
pub(super) fn run(args: &args::HookArgs) -> u8 {
    let Some(session) = std::env::var(SESSION).ok().filter(|session| !session.is_empty()) else { return 0 };
    let state = args.state.map(state);
    let given = args.event.clone().flatten();
    let (done, finished) = sync_channel(1);
    std::thread::spawn(move || {
        let from_event = || given.map_or_else(from_stdin, |text| event(&text));
        if let Some(state) = state.or_else(from_event) {
            drop(report_state(session, state));
        }
        let _told = done.send(());
    });
    let _finished = finished.recv_timeout(limits::HOOK);
    0
}

fn report_state(session: String, state: HookState) -> Result<(), Failure> {
    let context = Context::from_env("swb", None, false)?;
    // Not by way of the context, which has something to say to root.
    let found = match ControlClient::inherited()? {
        None => start_daemon::find(&context.paths)?,
        inherited => inherited,
    };
    if let Some(mut control) = found {
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

/// The state that an event on standard input reports.
fn from_stdin() -> Option<HookState> {
    reported(std::io::stdin().lock().take(limits::HOOK_EVENT))
}

/// The part of agents' events that is used here. Claude, codex and gemini send a name of their own; codex also calls
/// programs with a type.
#[derive(Debug, Deserialize)]
struct AgentEvent {
    #[serde(default)]
    hook_event_name: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    notification_type: String,
}

fn event(text: &str) -> Option<HookState> {
    reported(text.as_bytes())
}

/// Reads an event without storing what is not used here: the parameters and results of tools can be long.
fn reported(event: impl Read) -> Option<HookState> {
    let event: AgentEvent = serde_json::from_reader(BufReader::new(event)).ok()?;
    match event.hook_event_name.as_str() {
        "UserPromptSubmit" | "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PreCompact"
        | "SubagentStart" | "SubagentStop" => Some(HookState::Working),
        "BeforeAgent" | "BeforeTool" | "AfterTool" | "PreCompress" => Some(HookState::Working),
        "Stop" | "AfterAgent" => Some(HookState::Done),
        "StopFailure" => Some(HookState::Error),
        "SessionStart" | "Interrupt" => Some(HookState::Ready),
        "PermissionRequest" | "Elicitation" => Some(HookState::Asking),
        "Notification" => {
            let text = format!("{} {}", event.message, event.notification_type).to_lowercase();
            let asks = ["permission", "elicitation", "approval"].iter().any(|word| text.contains(word));
            asks.then_some(HookState::Asking)
        }
        _ => match event.kind.as_str() {
            "agent-turn-complete" => Some(HookState::Done),
            "approval-requested" => Some(HookState::Asking),
            _ => None,
        },
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
        assert_eq!(event("[1]"), None);
    }

    /// As claude 2.1.325, codex 0.166.0 and gemini 0.61.0 sent them, with shorter paths and texts.
    #[test]
    fn recorded_events_are_understood() {
        let recorded = [
            r#"{"session_id":"db1b","transcript_path":"/h/.claude/projects/-w/db1b.jsonl","cwd":"/w","hook_event_name":"SessionStart","source":"startup","model":"m"}"#,
            r#"{"session_id":"db1b","cwd":"/w","prompt_id":"86ba","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"a permission?"}"#,
            r#"{"session_id":"db1b","cwd":"/w","prompt_id":"39c6","permission_mode":"default","effort":{"level":"medium"},"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"touch a","description":"Make a file"}}"#,
            r#"{"session_id":"db1b","cwd":"/w","effort":{"level":"medium"},"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"touch a"},"tool_response":{"stdout":"","stderr":"","interrupted":false,"isImage":false},"tool_use_id":"t1"}"#,
            r#"{"session_id":"db1b","cwd":"/w","hook_event_name":"Notification","message":"Claude is waiting for your input","notification_type":"idle_prompt"}"#,
            r#"{"session_id":"db1b","cwd":"/w","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"Done."}"#,
            r#"{"session_id":"01a1","turn_id":"01a2","transcript_path":"/h/.codex/sessions/r.jsonl","cwd":"/w","hook_event_name":"UserPromptSubmit","model":"m","permission_mode":"default","prompt":"x"}"#,
            r#"{"session_id":"01a1","turn_id":"01a2","cwd":"/w","hook_event_name":"PermissionRequest","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"touch a","description":"May I?"}}"#,
            r#"{"session_id":"01a1","turn_id":"01a2","cwd":"/w","hook_event_name":"PostToolUse","model":"m","tool_name":"Bash","tool_input":{"command":"touch a"},"tool_response":"","tool_use_id":"c1"}"#,
            r#"{"session_id":"01a1","turn_id":"01a2","cwd":"/w","hook_event_name":"Stop","model":"m","stop_hook_active":false,"last_assistant_message":"Done."}"#,
            r#"{"session_id":"99a0","cwd":"/w","hook_event_name":"BeforeAgent","timestamp":"2026-11-18T21:57:46.526Z","prompt":"x"}"#,
            r#"{"session_id":"99a0","cwd":"/w","hook_event_name":"Notification","timestamp":"2026-11-18T21:57:54.572Z","notification_type":"ToolPermission","message":"Tool Confirm Shell Command requires execution","details":{"type":"exec","title":"Confirm Shell Command","command":"touch a","rootCommand":"touch"}}"#,
            r#"{"session_id":"99a0","cwd":"/w","hook_event_name":"AfterTool","timestamp":"2026-11-18T21:57:58.778Z","tool_name":"run_shell_command","tool_input":{"command":"touch a"},"tool_response":{"llmContent":"x"}}"#,
            r#"{"session_id":"99a0","cwd":"/w","hook_event_name":"AfterAgent","timestamp":"2026-11-18T21:57:49.608Z","prompt":"x","prompt_response":"Done."}"#,
        ];
        use HookState::{Asking, Done, Ready, Working};
        let claude = [Some(Ready), Some(Working), Some(Asking), Some(Working), None, Some(Done)];
        let codex = [Some(Working), Some(Asking), Some(Working), Some(Done)];
        let gemini = [Some(Working), Some(Asking), Some(Working), Some(Done)];
        assert_eq!(recorded.map(event)[..], [&claude[..], &codex, &gemini].concat());
    }

    #[test]
    fn the_result_of_a_tool_may_be_long() {
        let result = "x".repeat(3 << 20);
        let text = format!(r#"{{"tool_response":"{result}","hook_event_name":"PostToolUse"}}"#);
        assert_eq!(reported(text.as_bytes().take(limits::HOOK_EVENT)), Some(HookState::Working));
    }

    #[test]
    fn events_of_codex_are_understood() {
        let turn = r#"{"type":"agent-turn-complete","thread-id":"t","turn-id":"1","input-messages":["a"]}"#;
        assert_eq!(event(turn), Some(HookState::Done));
        assert_eq!(event(r#"{"type":"approval-requested"}"#), Some(HookState::Asking));
        assert_eq!(event(r#"{"type":"other"}"#), None);
    }
}
