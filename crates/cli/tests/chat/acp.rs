//! Agents that speak the Agent Client Protocol: the requests we serve, resuming after an exit, and misbehaving agents.
//! What all agents have in common is tested on the socket (`scriptschnell/`).

use crate::support::needs;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use swb_testkit::{ChatClient, Swb, is_alive, scripted_agent, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// How long a stop may take.
const STOP: Duration = Duration::from_secs(2);
/// Errors of JSON-RPC: there is no such method, the parameters are wrong; and of the protocol: there is no such file.
const NO_METHOD: i32 = -32601;
const BAD_PARAMS: i32 = -32602;
const NOT_FOUND: i32 = -32002;
/// Error of JSON-RPC for what cannot be sent: the line would be too long.
const TOO_LONG: i32 = -32603;

/// A daemon with a scripted agent that has these arguments.
fn scripted_with(args: &[&str]) -> Swb {
    configured(&scripted_agent(args))
}

fn configured(config: &str) -> Swb {
    let mut swb = Swb::new(EXE);
    swb.configure(config);
    swb.start_daemon();
    swb
}

fn work(swb: &Swb) -> PathBuf {
    swb.dir().join("w")
}

/// Who has started a process.
fn parent(pid: i64) -> i64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

/// The words of an error that ended a generation.
#[track_caller]
fn failure(client: &mut ChatClient, prompt: &str) -> String {
    let generation = client.chat(prompt);
    assert!(generation.answer["error"].is_object(), "{}", generation.answer);
    generation.answer["error"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn files_of_the_workspace_are_served() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    fs::write(work(&swb).join("a.txt"), "hello").unwrap();
    assert_eq!(client.answer_to("read:a.txt"), "read: hello");
    assert_eq!(client.answer_to("write:new/b.txt=words"), "written");
    assert_eq!(fs::read_to_string(work(&swb).join("new/b.txt")).unwrap(), "words");
    assert_eq!(client.answer_to("read:missing"), format!("read error: {NOT_FOUND}"));
}

// The daemon's own mask keeps its files private; an agent's files are the user's.
#[test]
fn new_files_of_an_agent_have_the_users_umask() {
    let mut swb = Swb::new(EXE);
    swb.configure(&scripted_agent(&[]));
    swb.start_daemon_with(|command| {
        use std::os::unix::process::CommandExt;
        let shell = format!("umask 0027; exec {EXE} daemon");
        *command = {
            let mut changed = std::process::Command::new("/bin/sh");
            changed
                .args(["-c", &shell])
                .envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
            changed.process_group(0);
            changed
        };
    });
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to("umask"), "0027");
    assert_eq!(client.answer_to("write:deep/file=x"), "written");
    let mode = |path: &str| fs::metadata(work(&swb).join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("deep"), mode("deep/file")), (0o750, 0o640));
    assert_eq!(client.answer_to("term:touch made\\s umask"), "term 0: 0027\n");
    assert_eq!(mode("made"), 0o640);
}

#[test]
fn nothing_outside_the_workspace_is_served() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let out = swb.dir().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("secret"), "secret words").unwrap();
    symlink(&out, work(&swb).join("absolute")).unwrap();
    symlink("../out", work(&swb).join("relative")).unwrap();
    let direct = out.join("secret");
    for path in [
        "../out/secret",
        "x/../../out/secret",
        "absolute/secret",
        "relative/secret",
        direct.to_str().unwrap(),
        "/etc/passwd",
    ] {
        assert_eq!(client.answer_to(&format!("read:{path}")), format!("read error: {BAD_PARAMS}"), "{path}");
        assert_eq!(
            client.answer_to(&format!("write:{path}=x")),
            format!("write error: {BAD_PARAMS}"),
            "{path}"
        );
    }
    assert_eq!(client.answer_to("write:relative/new=x"), format!("write error: {BAD_PARAMS}"));
    assert_eq!(fs::read_to_string(&direct).unwrap(), "secret words");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
}

/// A daemon with a context directory, and a file in that.
fn with_context_directory() -> (Swb, PathBuf) {
    let swb = Swb::new(EXE);
    let context = swb.dir().join("context");
    fs::create_dir(&context).unwrap();
    fs::write(context.join("notes"), "notes").unwrap();
    let workspaces = json!([work(&swb), context]);
    let config = format!(
        "{}\n[[chat.workspaces]]\npath = {}\ncontext_directories = [{}]\n",
        scripted_agent(&[]).replace("[[agents]]", "\n[[agents]]"),
        workspaces[0],
        workspaces[1]
    );
    let mut swb = swb;
    swb.configure(&config);
    swb.start_daemon();
    (swb, context.join("notes"))
}

#[test]
fn context_directories_are_read_only() {
    let (swb, notes) = with_context_directory();
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to(&format!("read:{}", notes.display())), "read: notes");
    assert_eq!(
        client.answer_to(&format!("write:{}=x", notes.display())),
        format!("write error: {BAD_PARAMS}")
    );
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn context_directories_are_read_only_in_terminals() {
    needs::landlock();
    let (swb, notes) = with_context_directory();
    let mut client = swb.chat_in("talk");
    let said = client.answer_to(&format!("term:cat {0}\\s echo x > {0} || echo refused", notes.display()));
    assert!(said.starts_with("term 0: notes") && said.ends_with("refused\n"), "{said}");
}

#[test]
fn terminals_run_commands_in_the_workspace() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let dir = work(&swb).canonicalize().unwrap();
    assert_eq!(
        client.answer_to("term:pwd; exit 3".replace(';', "\\s").as_str()),
        format!("term 3: {}\n", dir.display())
    );
    assert_eq!(client.answer_to("term:echo out\\s echo err >&2"), "term 0: out\nerr\n");
    let killed = client.answer_to("termkill:sleep 1000");
    assert!(killed.starts_with("term 143") || killed.starts_with("term 137"), "{killed}");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn terminals_cannot_write_outside() {
    needs::landlock();
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let out = swb.dir().join("out");
    fs::create_dir(&out).unwrap();
    let said = client.answer_to(&format!("term:echo x > {}/new || echo refused", out.display()));
    assert!(said.starts_with("term 0: ") && said.ends_with("refused\n"), "{said}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    assert_eq!(client.answer_to("term:echo x > inside && cat inside"), "term 0: x\n");
}

#[test]
fn terminal_commands_end_with_the_prompt_or_the_session() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    for end in ["chat_stop", "session_delete"] {
        let id = client.prompt("term:echo $$ > pid\\s exec sleep 1000");
        let file = work(&swb).join("pid");
        let pid: i64 =
            wait_for("a process id", || fs::read_to_string(&file).ok()?.strip_suffix('\n')?.parse().ok());
        assert!(is_alive(pid));
        client.ok(end, json!({"session_id": "talk"}));
        client.generation(&id);
        wait_for("its end", || (!is_alive(pid)).then_some(()));
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn unknown_requests_are_rejected() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to("call:elicitation/create"), format!("call error: {NO_METHOD}"));
    assert_eq!(client.answer_to("call:fs/read_text_file"), format!("call error: {BAD_PARAMS}"));
    assert_eq!(client.answer_to("call:terminal/output"), format!("call error: {BAD_PARAMS}"));
}

#[test]
fn an_agent_runs_in_the_directory_of_its_conversation() {
    let swb = scripted_with(&[]);
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to("cwd"), work(&swb).to_str().unwrap());
    assert_eq!(client.answer_to("env:HOME"), swb.paths().home.to_str().unwrap());
}

#[test]
fn every_kind_of_option_can_be_chosen() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let prompt = "choose:allow_once=This once,allow_always=Always,reject_once=No,reject_always=Never";
    for (answer, option) in [
        (json!({"approved": true}), "o1"),
        (json!({"approved": true, "always": true}), "o2"),
        (json!({"approved": false}), "o3"),
        (json!({"approved": false, "always": true}), "o4"),
        (json!({"approved": false, "option": "o4"}), "o4"),
    ] {
        let id = client.prompt(prompt);
        let asked = client.event("authorization_request");
        let labels: Vec<&str> = asked["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|option| option["label"].as_str().unwrap())
            .collect();
        assert_eq!(labels, ["This once", "Always", "No", "Never"], "{asked}");
        let mut data = answer.clone();
        data["auth_id"] = asked["auth_id"].clone();
        client.send(&json!({"type": "authorization_response", "data": data}));
        let generation = client.generation(&id);
        assert_eq!(generation.text(), format!("permit: {option}\n"), "{answer}");
        // The tool was announced in the request only.
        assert_eq!(generation.all("tool_call").len(), 1, "{answer}");
    }
}

#[test]
fn what_the_policy_allows_needs_no_approval() {
    let config = scripted_agent(&[])
        .replace("[[agents]]", "[chat.allow]\ntools = [\"fetch\"]\ncommands = [\"cargo test\"]\n[[agents]]");
    let swb = configured(&config);
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to("permit:cargo test"), "permit: yes\n");
    let id = client.prompt("permit:cargo test --all");
    let asked = client.event("authorization_request");
    client.send(
        &json!({"type": "authorization_response", "data": {"auth_id": asked["auth_id"], "approved": false}}),
    );
    assert_eq!(client.generation(&id).text(), "permit: no\n");
}

// An agent that cannot remember by itself what is allowed for good does not have to.
#[test]
fn a_domain_allowed_always_is_stored_in_the_workspace() {
    let mut swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let fetch = |client: &mut ChatClient, url: &str, always: bool| {
        let id = client.prompt(&format!("fetch:{url}"));
        let asked = client.event("authorization_request");
        let data = json!({"auth_id": asked["auth_id"], "approved": always, "always": always});
        client.send(&json!({"type": "authorization_response", "data": data}));
        client.generation(&id).text()
    };
    assert_eq!(fetch(&mut client, "https://docs.example/a", true), "permit: yes\n");
    assert_eq!(client.answer_to("fetch:https://docs.example/b"), "permit: yes\n", "it is not asked again");
    assert_eq!(fetch(&mut client, "https://other.example/a", false), "permit: no\n");
    let list = client.ok_as("workspace_list", json!({}), "workspace_list_response");
    assert_eq!(list["workspaces"][0]["domains_approved"], json!({"docs.example": true}), "{list}");
    swb.stop_daemon();
    swb.start_daemon();
    let mut client = swb.chat_in("later");
    assert_eq!(client.answer_to("fetch:https://docs.example/c"), "permit: yes\n", "nor of the next daemon");
}

#[test]
fn changes_of_files_are_shown() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let generation = client.chat("diff:a.rs:old:new");
    let results = generation.all("tool_result");
    assert_eq!(results.len(), 1, "{:?}", generation.events);
    assert_eq!(results[0]["status"], "completed");
    assert_eq!(generation.all("tool_call").last().unwrap()["kind"], "edit");
    let path = work(&swb).join("a.rs");
    assert_eq!(results[0]["content"], json!([{"type": "diff", "path": path, "old": "old", "new": "new"}]));
}

#[test]
fn a_crashed_agent_is_restarted_and_continues() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let first = client.answer_to("session");
    let (name, count) = first.split_once(' ').unwrap();
    assert_eq!(count, "1");
    let said = failure(&mut client, "stderr:the disk is full;say:half;crash:7");
    assert!(said.contains('7') && said.contains("the disk is full"), "{said}");
    // It counts from 100 on in a session that it was asked to load. What it repeats of it is not passed on.
    assert_eq!(client.answer_to("session"), format!("{name} 101"));
    let pid: i64 = client.answer_to("pid").trim().parse().unwrap();
    let guard = parent(pid);
    swb_testkit::signal(pid, rustix::process::Signal::KILL);
    // An agent is gone when its guard has seen to it that nothing is left.
    wait_for("its end", || (!is_alive(pid) && !is_alive(guard)).then_some(()));
    assert_eq!(client.answer_to("session"), format!("{name} 101"), "also when it has ended between prompts");
}

#[test]
fn a_stop_during_session_load_keeps_the_session() {
    let swb = scripted_with(&["--hold-load", "hold", "--log", "log"]);
    let mut client = swb.chat_in("talk");
    let first = client.answer_to("session");
    let (name, _) = first.split_once(' ').unwrap();
    failure(&mut client, "crash");
    fs::write(work(&swb).join("hold"), "").unwrap();
    let id = client.prompt("say:hello");
    wait_for("the load", || {
        fs::read_to_string(work(&swb).join("log")).unwrap().contains("session/load").then_some(())
    });
    client.ok("chat_stop", json!({}));
    assert_eq!(client.generation(&id).status(), "stopped");
    fs::remove_file(work(&swb).join("hold")).unwrap();
    assert_eq!(client.answer_to("session"), format!("{name} 101"));
}

#[test]
fn an_agent_that_cannot_load_gets_a_transcript() {
    let swb = scripted_with(&["--no-load"]);
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to("my name is Ada"), "you said: my name is Ada");
    assert_eq!(client.answer_to("prompt"), "prompt", "an agent that remembers gets nothing twice");
    failure(&mut client, "crash");
    let prompt = client.answer_to("prompt");
    assert!(
        prompt.contains("User: my name is Ada") && prompt.contains("Assistant: you said: my name"),
        "{prompt}"
    );
    assert_eq!(client.answer_to("prompt"), "prompt");
}

#[test]
fn a_conversation_continues_after_the_daemon_is_killed() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let first = client.answer_to("session");
    let (name, _) = first.split_once(' ').unwrap();
    swb.kill_daemon();
    let mut client = swb.chat_at("talk");
    assert_eq!(client.answer_to("session"), format!("{name} 101"));
}

#[test]
fn a_cleared_conversation_gets_a_new_session() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let first = client.answer_to("session");
    client.ok("chat_clear", json!({}));
    let second = client.answer_to("session");
    assert!(second.ends_with(" 1") && second != first, "{first}, {second}");
}

#[test]
fn stray_output_is_ignored_up_to_a_limit() {
    let swb = scripted_with(&["--garbage"]);
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to("garbage:50;wrong;say:well"), "well");
    let said = failure(&mut client, "garbage:500;stall");
    assert!(said.contains("Agent Client Protocol"), "{said}");
    assert!(!said.contains("no JSON"), "its words are not repeated: {said}");
    assert_eq!(client.answer_to("say:again"), "again");
    let said = failure(&mut client, "partial");
    assert!(said.contains("ended"), "{said}");
}

#[test]
fn the_length_of_a_line_is_limited() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to("big:4000000").len(), 4_000_000);
    assert_eq!(client.answer_to("big:16000000").len(), 16_000_000);
    let said = failure(&mut client, "big:17000000");
    assert!(said.contains("too long"), "{said}");
    assert_eq!(client.answer_to("say:again"), "again");
}

/// An agent that reads a file as often at the same time as a prompt names before it takes any reply, and reports each
/// how long it is or with which error it was refused.
const READER: &str = r#"
import json, sys
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    ask = json.loads(line)
    result = {"protocolVersion": 1, "sessionId": "s"}
    if ask["method"] == "session/prompt":
        count, path = ask["params"]["prompt"][-1]["text"].split()
        for n in range(int(count)):
            send(id=n, method="fs/read_text_file", params={"sessionId": "s", "path": path})
        answers = [json.loads(sys.stdin.readline()) for n in range(int(count))]
        told = [str(len(a["result"]["content"]) if "result" in a else a["error"]["code"]) for a in answers]
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": " ".join(told)}}
        send(method="session/update", params={"sessionId": "s", "update": chunk})
        result = {"stopReason": "end_turn"}
    send(id=ask["id"], result=result)
"#;

#[test]
fn an_agent_may_read_many_files_concurrently() {
    let config = "[chat]\nbackend = \"reader\"\n[[agents]]\nname = \"reader\"\nkind = \"acp\"\n";
    let swb = configured(&format!("{config}command = {}\n", json!(["python3", "-c", READER])));
    let mut client = swb.chat_in("talk");
    fs::write(work(&swb).join("large"), "x".repeat(8 << 20)).unwrap();
    assert_eq!(client.answer_to("6 large"), ["8388608"; 6].join(" "));
    fs::write(work(&swb).join("medium"), "x".repeat(256 << 10)).unwrap();
    assert_eq!(
        client.answer_to("200 medium"),
        ["262144"; 200].join(" "),
        "more than are served at the same time"
    );
    // Spelled out, it is longer than a line.
    fs::write(work(&swb).join("escapes"), "\u{1b}".repeat(8 << 20)).unwrap();
    assert_eq!(client.answer_to("2 escapes"), format!("{TOO_LONG} {TOO_LONG}"));
    assert_eq!(client.answer_to("1 large"), "8388608", "and it goes on");
}

#[test]
fn errors_of_an_agent_are_reported() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    assert!(failure(&mut client, "fail:no credit left").contains("no credit left"));
    assert!(failure(&mut client, "say:half;refuse").contains("refuses"));
    assert_eq!(client.answer_to("session").split(' ').nth(1), Some("3"), "it is still the same agent");
}

#[test]
fn agents_that_cannot_start_report_why() {
    for (args, words) in [
        (&["--auth"][..], &["'Log in with a key'", "[[agents]]"][..]),
        (&["--crash"], &["7", "it cannot start"]),
        (&["--old"], &["version 9999"]),
    ] {
        let swb = scripted_with(args);
        let mut client = swb.chat_in("talk");
        let said = failure(&mut client, "say:hello");
        assert!(words.iter().all(|word| said.contains(word)), "{args:?}: {said}");
    }
}

// SS-55
#[test]
fn a_stop_works_in_every_state_of_an_agent() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    for prompt in
        ["say:go;stall", "say:go;hang", "say:go;deaf", "say:go;flood:1000000", "say:go;term:sleep 1000"]
    {
        let id = client.prompt(prompt);
        client.until("go");
        let began = Instant::now();
        client.ok("chat_stop", json!({}));
        let generation = client.generation(&id);
        println!("{prompt}: {:?}", began.elapsed());
        assert!(began.elapsed() < STOP, "{prompt}: {:?}", began.elapsed());
        assert_eq!(generation.status(), "stopped", "{prompt}");
        assert_eq!(client.answer_to("say:again"), "again", "after {prompt}");
    }
}

// SS-55: also before it has sent anything. No agent receives a stop while it is opened for the first time: the
// engine itself times out.
#[test]
fn a_stop_works_while_an_agent_starts() {
    let swb = scripted_with(&["--mute", "--pid", "pid"]);
    let mut client = swb.chat_in("talk");
    for _ in 0..2 {
        let id = client.prompt("say:hello");
        let pid: i64 = wait_for("the agent", || {
            let text = fs::read_to_string(work(&swb).join("pid")).ok()?;
            text.strip_suffix('\n')?.parse().ok()
        });
        client.ok("chat_stop", json!({}));
        let began = Instant::now();
        assert_eq!(client.generation(&id).status(), "stopped");
        assert!(began.elapsed() < STOP);
        wait_for("its end", || (!is_alive(pid)).then_some(()));
        fs::remove_file(work(&swb).join("pid")).unwrap();
    }
}

// SS-55
#[test]
fn a_stop_works_while_a_model_is_selected() {
    let swb = scripted_with(&["--hold-model", "--log", "log"]);
    let mut client = swb.chat_in("talk");
    client.ok("config_set", json!({"model": "two"}));
    let id = client.prompt("say:hello");
    wait_for("the choice", || {
        let log = fs::read_to_string(work(&swb).join("log")).unwrap_or_default();
        log.contains("session/set_config_option").then_some(())
    });
    client.ok("chat_stop", json!({}));
    let began = Instant::now();
    assert_eq!(client.generation(&id).status(), "stopped");
    assert!(began.elapsed() < STOP);
    client.ok("config_set", json!({"model": "one of another agent"}));
    assert_eq!(
        client.answer_to("session").split(' ').nth(1),
        Some("1"),
        "a session in which nothing was said is not kept"
    );
}

#[test]
fn costs_are_reported() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let generation = client.chat("usage:50,200;cost:100,20");
    let usage: &Value = &generation.answer["data"]["usage"];
    assert_eq!(usage["total_tokens"], 120, "{}", generation.answer);
    assert_eq!(generation.answer["data"]["context_usage"], 25, "{}", generation.answer);
}

#[test]
fn the_cost_of_a_session_is_counted_once() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let cost = |client: &mut ChatClient, prompt: &str| {
        let generation = client.chat(prompt);
        generation.answer["data"]["usage"]["total_cost"].as_f64().unwrap()
    };
    assert_eq!(cost(&mut client, "bill:0.5;bill:1.5"), 1.5);
    assert_eq!(cost(&mut client, "bill:2"), 2.0);
    failure(&mut client, "crash");
    assert_eq!(cost(&mut client, "bill:2.5"), 2.5, "an agent that remembers");
    assert_eq!(cost(&mut client, "bill:0.25"), 2.75, "an agent that counts anew");
    swb.kill_daemon();
    let mut client = swb.chat_at("talk");
    assert_eq!(cost(&mut client, "bill:0.5"), 3.0, "also when the daemon was started anew");
}

#[test]
fn excess_permission_requests_are_queued() {
    const ALL: usize = 150;
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let id = client.prompt(&format!("permits:{ALL}"));
    for _ in 0..ALL {
        let asked = client.event("authorization_request");
        let data = json!({"auth_id": asked["auth_id"], "approved": true});
        client.send(&json!({"type": "authorization_response", "data": data}));
    }
    assert_eq!(client.generation(&id).text(), "permit: yes\n".repeat(ALL));
    let id = client.prompt(&format!("permits:{ALL}"));
    client.event("authorization_request");
    client.ok("chat_stop", json!({}));
    let began = Instant::now();
    assert_eq!(client.generation(&id).status(), "stopped");
    assert!(began.elapsed() < STOP);
}
