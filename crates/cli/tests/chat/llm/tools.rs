//! Tools that a model uses: files, commands and questions.

use super::{EXE, failure, tool, uses};
use crate::support::models::{self, APIS, Canned, Reply, Rig, answer, daemon, decide};
use crate::support::needs;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use swb_testkit::Swb;

// SS-57
#[test]
fn files_are_read_listed_and_searched() {
    for api in APIS {
        let rules: Vec<Value> = [
            uses("read it", "read_file", json!({"path": "notes.txt"}), "read"),
            uses("list it", "list_files", json!({"pattern": "*.txt"}), "listed"),
            uses("find it", "search", json!({"pattern": "gam+a"}), "found"),
        ]
        .concat();
        let mut rig = Rig::new(api, &json!(rules), "");
        fs::write(rig.dir().join("notes.txt"), "alpha\nbeta gamma\n").unwrap();
        for (prompt, name, result, then) in [
            ("read it", "read_file", "alpha\nbeta gamma\n", "read"),
            ("list it", "list_files", "notes.txt\n", "listed"),
            ("find it", "search", "notes.txt:2:beta gamma\n", "found"),
        ] {
            let generation = rig.chat(prompt);
            assert_eq!(generation.text(), format!("I try. \n\n{then}"), "{api}");
            let (call, ended) = tool(&generation);
            assert_eq!(call["tool_name"], name);
            assert!(call["parameters"].is_object() && call["description"].is_string(), "{call}");
            assert_eq!((&ended["result"], &ended["status"]), (&json!(result), &json!("completed")), "{api}");
            assert!(generation.all("authorization_request").is_empty(), "looking needs no approval");
        }
    }
}

// SS-57
#[test]
fn several_tools_in_one_answer_are_used_in_order() {
    for api in APIS {
        let tools = json!([
            {"name": "read_file", "input": {"path": "a"}},
            {"name": "read_file", "input": {"path": "b"}},
            {"name": "no_such_tool", "input": {"path": "b"}},
        ]);
        let rules = json!([
            {"match": "go", "after_tool": false, "tools_use": tools},
            {"match": "go", "after_tool": true, "text": "done"},
        ]);
        let mut rig = Rig::new(api, &rules, "");
        fs::write(rig.dir().join("a"), "A").unwrap();
        fs::write(rig.dir().join("b"), "B").unwrap();
        let generation = rig.chat("go");
        let results = generation.all("tool_result");
        let said: Vec<&Value> = results.iter().map(|result| &result["result"]).collect();
        assert_eq!(said, ["A", "B", ""], "{api}");
        assert_eq!(results[2]["status"], "failed");
        assert!(results[2]["error"].as_str().unwrap().contains("no_such_tool"));
        let calls = generation.all("tool_call");
        let order: Vec<&str> = generation
            .events
            .iter()
            .filter_map(|event| event["type"].as_str())
            .filter(|kind| kind.starts_with("tool_"))
            .collect();
        assert_eq!(order, ["tool_call", "tool_result"].repeat(3));
        assert_ne!(calls[0]["tool_id"], calls[1]["tool_id"]);
    }
}

// SS-60
#[test]
fn writing_needs_approval_and_can_be_denied() {
    for api in APIS {
        let rules: Vec<Value> = [
            uses("write it", "write_file", json!({"path": "new.txt", "content": "text\n"}), "end"),
            uses(
                "edit it",
                "edit_file",
                json!({"path": "new.txt", "old_text": "text", "new_text": "words"}),
                "end",
            ),
        ]
        .concat();
        let mut rig = Rig::new(api, &json!(rules), "");
        let file = rig.dir().join("new.txt");
        let id = rig.client.prompt("write it");
        let asked = rig.client.event("authorization_request");
        assert_eq!(
            (&asked["tool_name"], &asked["parameters"]["path"]),
            (&json!("write_file"), &json!("new.txt"))
        );
        assert!(asked["reason"].as_str().unwrap().contains("new.txt"));
        assert!(!file.exists(), "not before the user has allowed it");
        decide(&mut rig.client, &asked, json!({"approved": false}));
        let generation = rig.client.generation(&id);
        let (_, ended) = tool(&generation);
        assert_eq!(ended["status"], "failed");
        assert!(ended["error"].as_str().unwrap().contains("refused"), "{ended}");
        assert!(generation.text().ends_with("end") && !file.exists(), "{api}: the model goes on without");

        let id = rig.client.prompt("write it");
        let asked = rig.client.event("authorization_request");
        decide(&mut rig.client, &asked, json!({"approved": true}));
        let (_, ended) = tool(&rig.client.generation(&id));
        assert_eq!(ended["status"], "completed", "{ended}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "text\n");

        let id = rig.client.prompt("edit it");
        let asked = rig.client.event("authorization_request");
        decide(&mut rig.client, &asked, json!({"approved": true, "option": "allow_always"}));
        let (_, ended) = tool(&rig.client.generation(&id));
        assert_eq!(ended["content"][0]["old"], "text\n", "{ended}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "words\n");

        fs::write(&file, "text").unwrap();
        let generation = rig.chat("edit it");
        assert!(generation.all("authorization_request").is_empty(), "{api}: once for all");
        assert_eq!(fs::read_to_string(&file).unwrap(), "words");
    }
}

#[test]
fn impossible_edits_fail_without_an_approval() {
    let edit = json!({"path": "missing.txt", "old_text": "a", "new_text": "b"});
    let mut rig = Rig::new("openai", &json!(uses("edit it", "edit_file", edit, "end")), "");
    let generation = rig.chat("edit it");
    assert!(generation.all("authorization_request").is_empty());
    assert_eq!(tool(&generation).1["status"], "failed");
}

#[test]
fn what_the_user_allows_needs_no_approval() {
    for api in APIS {
        let rules: Vec<Value> = [
            uses("write it", "write_file", json!({"path": "x", "content": "1"}), "end"),
            uses("run it", "execute_command", json!({"command": "echo one two"}), "end"),
            uses("run more", "execute_command", json!({"command": "echo one; echo two"}), "end"),
        ]
        .concat();
        let allow = "[chat.allow]\ntools = [\"write_file\"]\ncommands = [\"echo *\"]\n";
        let mut rig = Rig::new(api, &json!(rules), allow);
        for prompt in ["write it", "run it"] {
            let generation = rig.chat(prompt);
            assert!(generation.all("authorization_request").is_empty(), "{api}: {prompt}");
            assert_eq!(tool(&generation).1["status"], "completed");
        }
        let id = rig.client.prompt("run more");
        let asked = rig.client.event("authorization_request");
        decide(&mut rig.client, &asked, json!({"approved": false}));
        assert_eq!(tool(&rig.client.generation(&id)).1["status"], "failed", "{api}");
    }
}

// SS-60
#[test]
fn commands_run_in_the_workspace_and_stream_their_output() {
    for api in APIS {
        let command = "pwd; echo first; until test -e go; do sleep 0.05; done; echo last >&2; exit 3";
        let rules = uses("run it", "execute_command", json!({"command": command}), "end");
        let mut rig = Rig::new(api, &json!(rules), "");
        let id = rig.client.prompt("run it");
        let asked = rig.client.event("authorization_request");
        assert_eq!(asked["parameters"]["command"], command);
        decide(&mut rig.client, &asked, json!({"approved": true}));
        let mut shown = String::new();
        while !shown.contains("first\n") {
            let event = rig.client.event("progress");
            if event["tool_id"].is_string() {
                shown.push_str(event["message"].as_str().unwrap());
            }
        }
        fs::write(rig.dir().join("go"), "").unwrap();
        let generation = rig.client.generation(&id);
        let result = &generation.all("tool_result")[0];
        assert_eq!(
            (&result["status"], &result["error"]),
            (&json!("failed"), &json!("exit status 3")),
            "{result}"
        );
        let dir = rig.dir().canonicalize().unwrap();
        assert_eq!(result["result"], format!("{}\nfirst\nlast\n", dir.display()), "{api}");
        assert!(generation.text().ends_with("end"));
    }
}

#[test]
fn a_command_allowed_always_is_stored_in_the_workspace() {
    let rules: Vec<Value> = [
        uses("run it", "execute_command", json!({"command": "echo hello"}), "end"),
        uses("run other", "execute_command", json!({"command": "echo hello; ls"}), "end"),
    ]
    .concat();
    let mut rig = Rig::new("anthropic", &json!(rules), "");
    let id = rig.client.prompt("run it");
    let asked = rig.client.event("authorization_request");
    let kinds: Vec<&Value> =
        asked["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
    decide(&mut rig.client, &asked, json!({"approved": true, "always": true}));
    assert_eq!(tool(&rig.client.generation(&id)).1["result"], "hello\n");
    let list = rig.client.ok_as("workspace_list", json!({}), "workspace_list_response");
    assert_eq!(list["workspaces"][0]["commands_approved"], json!({"echo hello": true}), "{list}");

    let mut other = rig.swb.chat_in("other");
    let generation = other.chat("run it");
    assert!(generation.all("authorization_request").is_empty(), "another session of the workspace");
    let id = other.prompt("run other");
    let asked = other.event("authorization_request");
    decide(&mut other, &asked, json!({"approved": false}));
    assert_eq!(tool(&other.generation(&id)).1["status"], "failed");
}

#[test]
fn no_path_leads_out_of_the_workspace() {
    for api in APIS {
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        fs::write(&secret, "hidden words").unwrap();
        let mut rules = Vec::new();
        let up = format!("../../..{}", secret.display());
        let paths = [secret.display().to_string(), up, "door/secret".to_owned(), "key".to_owned()];
        for (at, path) in paths.iter().enumerate() {
            rules.extend(uses(&format!("read {at}"), "read_file", json!({"path": path}), "end"));
            let write = json!({"path": path, "content": "overwritten"});
            rules.extend(uses(&format!("write {at}"), "write_file", write, "end"));
        }
        rules.extend(uses("search", "search", json!({"pattern": "hidden", "path": "door"}), "end"));
        let mut rig = Rig::new(api, &json!(rules), "[chat.allow]\ntools = [\"*\"]\n");
        std::os::unix::fs::symlink(outside.path(), rig.dir().join("door")).unwrap();
        std::os::unix::fs::symlink(&secret, rig.dir().join("key")).unwrap();
        for (at, path) in paths.iter().enumerate() {
            for what in ["read", "write"] {
                let (_, ended) = tool(&rig.chat(&format!("{what} {at}")));
                assert_eq!(ended["status"], "failed", "{api}: {what} {path}: {ended}");
                assert!(!ended.to_string().contains("hidden"), "{ended}");
            }
        }
        let (_, ended) = tool(&rig.chat("search"));
        assert!(!ended["result"].to_string().contains("hidden"), "{ended}");
        assert_eq!(fs::read_to_string(&secret).unwrap(), "hidden words", "{api}");
    }
}

// SS-64
#[test]
fn a_question_is_asked_and_the_model_gets_the_answer() {
    for api in APIS {
        let ask = json!({"question": "which colour?", "options": ["red", "blue"]});
        let mut rig = Rig::new(api, &json!(uses("ask me", "ask_user", ask, "thanks")), "");
        let id = rig.client.prompt("ask me");
        let asked = rig.client.event("question_request");
        assert_eq!((&asked["question"], &asked["multi_mode"]), (&json!("which colour?"), &json!(false)));
        assert_eq!(asked["options"], json!(["red", "blue"]));
        let data = json!({"question_id": asked["question_id"], "answer": "blue"});
        rig.client.send(&json!({"type": "question_response", "data": data}));
        let generation = rig.client.generation(&id);
        assert_eq!(tool(&generation).1["result"], "blue", "{api}");
        assert_eq!(generation.text(), "I try. \n\nthanks");
    }
}

#[test]
fn an_open_question_is_listed_and_reported() {
    let ask = json!({"question": "which colour?"});
    let mut rig = Rig::new("openai", &json!(uses("ask me", "ask_user", ask, "thanks")), "");
    let mut events = rig.swb.control();
    events.ok(&json!({"cmd": "events"}));
    let mut state = || {
        let (_, event) = events.event("status");
        assert_eq!(event["session"], "talk", "{event}");
        event["state"].clone()
    };
    let listed = |rig: &Rig| rig.swb.control().ok(&json!({"cmd": "history"}))["conversations"][0].clone();
    let id = rig.client.prompt("ask me");
    let asked = rig.client.event("question_request");
    assert_eq!([state(), state()], ["working", "asking"]);
    let waits = listed(&rig);
    assert!(waits["running"] == true && waits["asking_since"].is_u64(), "{waits}");
    let data = json!({"question_id": asked["question_id"], "answer": "blue"});
    rig.client.send(&json!({"type": "question_response", "data": data}));
    assert_eq!(rig.client.generation(&id).text(), "I try. \n\nthanks");
    assert_eq!([state(), state()], ["working", "ready"]);
    let waits = listed(&rig);
    assert!(waits["running"] == false && waits["asking_since"].is_null(), "{waits}");
}

// SS-64, SS-65
#[test]
fn several_questions_are_asked_at_once() {
    for api in APIS {
        let questions = json!([{"question": "size?", "options": ["s", "m"]}, {"question": "name?"}]);
        let mut rig =
            Rig::new(api, &json!(uses("ask me", "ask_user", json!({"questions": questions}), "thanks")), "");
        let id = rig.client.prompt("ask me");
        let asked = rig.client.event("question_request");
        assert_eq!(asked["multi_mode"], true);
        assert_eq!(asked["questions"][0], json!({"question": "size?", "options": ["s", "m"]}));
        let data = json!({"question_id": asked["question_id"], "answers_map": {"q_1": "m", "q_2": "Ada"}});
        rig.client.send(&json!({"type": "question_response", "data": data}));
        let generation = rig.client.generation(&id);
        assert_eq!(tool(&generation).1["result"], "size?\n> m\nname?\n> Ada\n", "{api}");
    }
}

#[test]
fn commands_get_no_secrets() {
    let command =
        "echo key=$STUB_KEY$GITHUB_TOKEN$SCRIPTSCHNELL_SOCKET_TOKEN other=$STUB_OTHER lang=$LC_TIME";
    let rules = json!(uses("run it", "execute_command", json!({"command": command}), "end"));
    let stub = models::Stub::start(&json!({"rules": rules}));
    let mut swb = Swb::new(EXE);
    let agent = models::configuration("openai", stub.url()) + "api_key_env = \"STUB_KEY\"\n";
    let confinement = "[chat.confinement]\nenvironment = [\"STUB_O*\"]\n";
    swb.configure(&format!("{confinement}[chat.allow]\ntools = [\"*\"]\n{agent}"));
    swb.start_daemon_with(|command| {
        command.env("STUB_KEY", "secret").env("GITHUB_TOKEN", "secret").env("STUB_OTHER", "here");
        command.env("SCRIPTSCHNELL_SOCKET_TOKEN", "secret").env("LC_TIME", "C");
    });
    let generation = swb.chat_in("talk").chat("run it");
    assert_eq!(tool(&generation).1["result"], "key= other=here lang=C\n");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn commands_reach_unix_sockets_only_where_the_workspace_opens_them() {
    needs::landlock();
    let command =
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX); print(1)' 2>&1 | tail -n 1";
    let rules = json!(uses("run it", "execute_command", json!({"command": command}), "end"));
    let mut closed = Rig::new("openai", &rules, "[chat.allow]\ntools = [\"execute_command\"]\n");
    let result = tool(&closed.chat("run it")).1["result"].as_str().unwrap().to_owned();
    assert!(result.starts_with("PermissionError"), "{result}");
    assert!(!closed.swb.ok(&["status"]).contains("Unix sockets"));

    let stub = models::Stub::start(&json!({"rules": rules}));
    let mut swb = Swb::new(EXE);
    let workspace = format!("[[chat.workspaces]]\npath = {:?}\nunix_sockets = true\n", swb.workspace(""));
    swb.configure(&format!("{workspace}{}", models::configuration("openai", stub.url())));
    swb.start_daemon();
    assert!(swb.ok(&["status"]).contains("Unix sockets are open to commands of agents in"));
    let mut client = swb.chat_in("talk");
    let id = client.prompt("run it");
    let asked = client.event("authorization_request");
    assert!(asked["reason"].as_str().unwrap().contains("Unix sockets are open in this workspace"), "{asked}");
    decide(&mut client, &asked, json!({"approved": true}));
    assert_eq!(tool(&client.generation(&id)).1["result"], "1\n");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn commands_change_no_settings_of_ours_even_if_the_workspace_is_the_home() {
    needs::landlock();
    needs::user_namespaces();
    let mut swb = Swb::new(EXE);
    let paths = swb.paths();
    let file = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let command = format!(
        "for f in {:?} {:?} {:?}; do echo x 2>/dev/null >> $f || echo no; done; echo x > {:?} && echo yes",
        file(paths.config_file()),
        file(paths.trust_list()),
        file(paths.run_dir().join("new")),
        file(paths.home.join("new")),
    );
    let rules = json!(uses("run it", "execute_command", json!({"command": command}), "end"));
    let stub = models::Stub::start(&json!({"rules": rules}));
    // All directories of the test are in it.
    let workspace = format!("[[chat.workspaces]]\npath = {:?}\n", swb.dir());
    swb.configure(&format!("{workspace}{}", models::configuration("openai", stub.url())));
    swb.start_daemon();
    assert!(swb.ok(&["status"]).contains("your home directory is open to commands of agents in"));
    let mut client = swb.chat();
    client.create(json!({"workspace": swb.dir(), "session_id": "talk"}));
    let id = client.prompt("run it");
    let asked = client.event("authorization_request");
    assert!(
        asked["reason"].as_str().unwrap().contains("Your home directory is in this workspace"),
        "{asked}"
    );
    decide(&mut client, &asked, json!({"approved": true}));
    assert_eq!(tool(&client.generation(&id)).1["result"], "no\nno\nno\nyes\n");
}

#[test]
fn a_workspace_that_another_ones_agent_may_have_replaced_by_a_link_is_refused() {
    let write = uses("write it", "write_file", json!({"path": "new", "content": "x"}), "end");
    let run = uses("run it", "execute_command", json!({"command": "echo x > new"}), "end");
    let rules = [write, run].concat();
    let stub = models::Stub::start(&json!({"rules": rules}));
    let mut swb = Swb::new(EXE);
    let allow = "[chat.allow]\ntools = [\"*\"]\n";
    swb.configure(&format!("{allow}{}", models::configuration("openai", stub.url())));
    swb.start_daemon();
    let (inner, home) = (swb.workspace("mono/inner/x"), swb.workspace("home/x"));
    let client = |name: &str, dir: &std::path::Path| {
        let mut client = swb.chat();
        client.create(json!({"workspace": dir, "session_id": name}));
        client
    };
    let mono = client("outer", &swb.workspace("mono"));
    let mut nested = client("nested", &inner);
    assert_eq!(tool(&nested.chat("write it")).1["error"], Value::Null);
    fs::rename(swb.workspace("mono/inner"), swb.dir().join("w/mono/old")).unwrap();
    std::os::unix::fs::symlink(swb.workspace("home"), swb.dir().join("w/mono/inner")).unwrap();
    for prompt in ["write it", "run it"] {
        let result = tool(&nested.chat(prompt)).1;
        let error = result["error"].as_str().unwrap_or_default();
        assert!(
            error.contains("leads through a symbolic link in a directory that agents can write"),
            "{result}"
        );
    }
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    drop(mono);
}

#[test]
fn an_agent_that_runs_in_circles_is_ended() {
    let rules = json!([{"match": "go", "tool": {"name": "list_files", "input": {}}}]);
    let mut rig = Rig::new("anthropic", &rules, "");
    let generation = rig.client.chat("go");
    assert!(failure(&generation).contains("100 times"), "{}", generation.answer);
    assert_eq!((rig.stub.requests(), generation.all("tool_result").len()), (100, 100));
}

// The server numbers the tools of each of its answers from 0 on.
#[test]
fn tool_calls_get_unique_ids() {
    for api in APIS {
        let tools = [("read_file", r#"{"path": "a"}"#), ("read_file", r#"{"path": "b"}"#)];
        let server = Canned::start(vec![
            Reply::Stream(answer(api, "One.", &tools)),
            Reply::Stream(answer(api, "Two.", &tools)),
            Reply::Stream(answer(api, "Done.", &[])),
        ]);
        let swb = daemon(api, server.url(), "");
        let generation = swb.chat_in("talk").chat("go");
        let ids = |kind: &str| -> BTreeSet<String> {
            generation.all(kind).iter().map(|event| event["tool_id"].to_string()).collect()
        };
        assert_eq!((ids("tool_call").len(), generation.all("tool_result").len()), (4, 4), "{api}");
        assert_eq!(ids("tool_call"), ids("tool_result"), "{api}");
    }
}

#[test]
fn invalid_json_arguments_are_reported_to_the_model() {
    for api in APIS {
        let server = Canned::start(vec![
            Reply::Stream(answer(api, "I try.", &[("read_file", "{\"path\": "), ("read_file", "[1]")])),
            Reply::Stream(answer(api, "I gave up.", &[])),
        ]);
        let swb = daemon(api, server.url(), "");
        let mut client = swb.chat_in("talk");
        let generation = client.chat("go");
        assert_eq!(generation.status(), "completed", "{api}");
        assert_eq!(generation.text(), "I try.\n\nI gave up.");
        let results = generation.all("tool_result");
        assert!(
            results.iter().all(|result| result["status"] == "failed") && results.len() == 2,
            "{results:?}"
        );
        assert!(results[0]["error"].as_str().unwrap().contains("not valid JSON"), "{results:?}");
        let again = server.bodies()[1].to_string();
        assert!(again.contains("not valid JSON") && again.contains("call_0"), "{again}");
    }
}
