//! The life cycle of connections, agents and the daemon on the scriptschnell front: ends, crashes, leftovers, logs.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use swb_testkit::{ChatClient, Swb, is_alive, is_zombie, of_kind, scripted_agent, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

fn ended(pid: i64) -> bool {
    !is_alive(pid) || is_zombie(pid)
}

/// Process ids that the agent has sent, separated by blanks.
fn pids(said: &str) -> Vec<i64> {
    said.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Begins a generation that starts an agent with a child and a process that has left it; gives all three.
#[track_caller]
fn family(client: &mut ChatClient, then: &str) -> (String, Vec<i64>) {
    let id = client.prompt(&format!("pid;child;daemon;say:.;{then}"));
    let said = client.until(".");
    let pids = pids(said.trim_end_matches('.'));
    assert_eq!(pids.len(), 3, "{said}");
    if then != "crash:3" {
        assert!(pids.iter().all(|pid| !ended(*pid)), "{pids:?}");
    }
    (id, pids)
}

#[track_caller]
fn all_end(pids: &[i64]) {
    for pid in pids {
        wait_for(&format!("the end of {pid}"), || ended(*pid).then_some(()));
    }
}

fn names(client: &mut ChatClient) -> Vec<String> {
    let listed = client.ok_as("session_list", json!({}), "session_list_response");
    let name = |item: &Value| item["session_id"].as_str().unwrap().to_owned();
    listed["sessions"].as_array().unwrap().iter().map(name).collect()
}

// SS-27, Q-49
#[test]
fn a_close_gets_a_reply_and_ends_the_connection() {
    let swb = Swb::start(EXE);
    for data in [json!({}), json!({"reason": "client_shutdown", "preserve_session": true}), Value::Null] {
        let mut client = swb.chat();
        let id = client.begin("close", data);
        let said = client.to_end();
        let closed = json!({"reason": "client_request", "reconnect": false});
        assert_eq!(
            (said.len(), &said[0]["type"], &said[0]["data"]),
            (1, &json!("closed"), &closed),
            "{said:?}"
        );
        assert_eq!(said[0]["request_id"], *id);
    }
}

// SS-27: the session stays unless its owner deletes it.
#[test]
fn a_close_keeps_the_session_by_default() {
    let swb = Swb::scripted(EXE, "");
    for (name, preserve, kept) in
        [("a", json!(null), true), ("b", json!(true), true), ("c", json!(false), false)]
    {
        let mut client = swb.chat_in(name);
        client.answer_to("say:hello");
        client.begin("close", json!({"preserve_session": preserve}));
        client.to_end();
        let mut other = swb.chat();
        if kept {
            let loaded = other.ok("session_load", json!({"session_id": name}));
            assert_eq!(loaded["messages"].as_array().unwrap().len(), 2);
        } else {
            wait_for("the session's end", || (!names(&mut other).contains(&name.to_owned())).then_some(()));
            assert_eq!(other.refused("session_attach", json!({"session_id": name})), "SESSION_NOT_FOUND");
        }
    }
}

// SS-27: removed from memory, not from disk; and an observer removes nothing.
#[test]
fn a_close_removes_no_saved_and_no_shared_session() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    owner.answer_to("say:hello");
    owner.ok("session_save", json!({}));
    let mut observer = swb.chat_at("talk");
    observer.begin("close", json!({"preserve_session": false}));
    observer.to_end();
    assert_eq!(owner.answer_to("say:still here"), "still here");
    owner.begin("close", json!({"preserve_session": false}));
    owner.to_end();
    let mut other = swb.chat();
    let loaded = wait_for("the saved one", || {
        let loaded = other.ask("session_load", json!({"session_id": "talk"}));
        (loaded["data"]["messages"].as_array()?.len() == 2).then_some(loaded)
    });
    assert_eq!(loaded["data"]["messages"][1]["content"], "hello", "as it was saved");
}

// SS-28, XS-7
#[test]
fn a_shutdown_notifies_clients() {
    let mut swb = Swb::scripted(EXE, "");
    let mut clients = vec![swb.chat_raw(), swb.chat(), swb.chat_in("idle"), swb.chat_in("busy")];
    let id = clients[3].prompt("say:begun;stall");
    clients[3].until("begun");
    clients.push(swb.chat_at("busy"));
    let began = Instant::now();
    swb.stop_daemon();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(!swb.paths().scriptschnell_socket().exists());
    for (n, client) in clients.iter_mut().enumerate() {
        let said = client.to_end();
        let closed = json!({"reason": "server_shutdown", "reconnect": false});
        assert_eq!(of_kind(&said, "closed"), [closed], "{n}: {said:?}");
        assert_eq!(said.last().unwrap()["type"], "closed", "it is the last: {said:?}");
        if n == 3 {
            let answered = said.iter().filter(|message| message["request_id"] == *id).count();
            assert!(answered <= 1);
        }
    }
}

// SS-28: agents end with the daemon, in order or not.
#[test]
fn agents_end_with_an_orderly_stop() {
    let mut swb = Swb::scripted(EXE, "");
    let (mut busy, mut idle) = (swb.chat_in("busy"), swb.chat_in("idle"));
    let (_, mut all) = family(&mut busy, "hang");
    let (id, more) = family(&mut idle, "say:done");
    idle.generation(&id);
    all.extend(more);
    swb.stop_daemon();
    all_end(&all);
}

// A kill of the daemon during an answer: nothing that it started is left.
#[test]
fn agents_end_when_the_daemon_is_killed() {
    let swb = Swb::scripted(EXE, "");
    let (mut busy, mut idle) = (swb.chat_in("busy"), swb.chat_in("idle"));
    let (_, mut all) = family(&mut busy, "hang");
    let (id, more) = family(&mut idle, "say:done");
    idle.generation(&id);
    all.extend(more);
    swb.kill_daemon();
    all_end(&all);
}

/// Begins a generation in which the agent has a command run for it; gives the process ids of the command's shell and of
/// what that has left behind.
#[track_caller]
fn command(swb: &Swb, client: &mut ChatClient) -> (String, Vec<i64>) {
    let file = swb.dir().join("w/pids");
    let _gone = std::fs::remove_file(&file);
    let script = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! $$ end > pids\\s sleep 1000";
    let id = client.prompt(&format!("term:{script}"));
    let read = || std::fs::read_to_string(&file).ok().filter(|text| text.ends_with("end\n"));
    let text = wait_for("the command", read);
    (id, pids(text.trim_end().trim_end_matches("end")))
}

// What runs for an agent in a terminal of ours ends with the daemon as well, and with a stop.
#[test]
fn commands_of_agents_leave_no_process() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let (id, all) = command(&swb, &mut client);
    client.ok("chat_stop", json!({}));
    assert_eq!(client.generation(&id).status(), "stopped");
    all_end(&all);
    let (_, all) = command(&swb, &mut client);
    assert!(all.iter().all(|pid| !ended(*pid)));
    swb.kill_daemon();
    all_end(&all);
}

// An agent that crashes leaves nothing either.
#[test]
fn a_crashed_agent_leaves_no_process() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let (id, all) = family(&mut client, "crash:3");
    assert_eq!(client.generation(&id).status(), "INTERNAL_ERROR");
    all_end(&all);
    assert_eq!(client.answer_to("say:and on"), "and on");
}

// SS-55: one that ignores the wish to stop is ended with all it has started.
#[test]
fn an_agent_that_hangs_is_ended_by_a_stop() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let (id, all) = family(&mut client, "hang");
    let began = Instant::now();
    client.ok("chat_stop", json!({}));
    assert_eq!(client.generation(&id).status(), "stopped");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    all_end(&all);
    assert_eq!(client.answer_to("say:and on"), "and on");
}

// SS-42: a session that is deleted takes its agent along.
#[test]
fn a_deleted_session_leaves_no_agent() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let (id, all) = family(&mut client, "say:done");
    client.generation(&id);
    client.ok("session_delete", json!({"session_id": "talk"}));
    all_end(&all);
}

// XS-14: after a kill the conversation is there up to the last piece, what was cut off is marked, and it goes on.
#[test]
fn a_conversation_outlives_the_daemons_death() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    client.ok("config_set", json!({"max_tokens": 77}));
    client.answer_to("say:hello");
    client.prompt("say:half of;say:it;hang");
    client.until("it");
    let took = swb.kill_daemon();
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(of_kind(&client.to_end(), "chat_send"), [] as [Value; 0], "the connection is gone");
    let mut client = wait_for("the socket", || ChatClient::connect(&swb.paths().scriptschnell_socket()).ok());
    client.auth(&[]);
    assert_eq!(names(&mut client), ["talk"]);
    let loaded = client.ok("session_load", json!({"session_id": "talk"}));
    let messages = loaded["messages"].as_array().unwrap();
    let said: Vec<&str> = messages.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["say:hello", "hello", "say:half of;say:it;hang", "half ofit"]);
    let marks: Vec<bool> = messages.iter().map(|message| message["ending"] == "interrupted").collect();
    assert_eq!(marks, [false, false, false, true], "{messages:?}");
    assert_eq!(client.ok("config_get", json!({"keys": ["max_tokens"]}))["config"]["max_tokens"], 77);
    assert_eq!(client.answer_to("say:and on"), "and on");
    // Nothing of it was written to disk: an orderly stop forgets it.
}

// XS-14: again and again, at any moment of an answer.
#[test]
fn complete_answers_are_never_lost() {
    let swb = Swb::scripted(EXE, "");
    swb.chat_in("talk");
    let mut complete = 0;
    for round in 0..5_u64 {
        let mut client =
            wait_for("the socket", || ChatClient::connect(&swb.paths().scriptschnell_socket()).ok());
        client.auth(&[]);
        client.ok("session_attach", json!({"session_id": "talk"}));
        assert_eq!(client.answer_to("chunks:50").split_whitespace().count(), 50);
        complete += 1;
        client.prompt("stamp:100000,1");
        for _ in 0..=round * 7 {
            client.event("chat_message");
        }
        swb.kill_daemon();
        let mut client =
            wait_for("the socket", || ChatClient::connect(&swb.paths().scriptschnell_socket()).ok());
        client.auth(&[]);
        let loaded = client.ok("session_load", json!({"session_id": "talk"}));
        let messages = loaded["messages"].as_array().unwrap();
        let whole = messages.iter().filter(|m| m["content"].as_str().unwrap().ends_with(" 48 49 ")).count();
        assert_eq!((messages.len(), whole), (complete * 4, complete), "round {round}");
    }
}

// Something that waits for a decision when the daemon dies is not done.
#[test]
fn pending_operations_are_not_executed_after_a_kill() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let file = swb.dir().join("done");
    client.prompt(&format!("permit:ls;touch:{}", file.display()));
    client.event("authorization_request");
    swb.kill_daemon();
    let mut client = wait_for("the socket", || ChatClient::connect(&swb.paths().scriptschnell_socket()).ok());
    client.auth(&[]);
    client.ok("session_attach", json!({"session_id": "talk"}));
    assert_eq!(client.answer_to("say:and on"), "and on");
    assert!(!file.exists());
}

// An agent that does not greet, greets with garbage, or ends at once: a word to the client, and stops work.
#[test]
fn agents_that_cannot_start_are_an_error() {
    for (args, words) in
        [(&["--crash"][..], "it cannot start"), (&["--auth"], "Log in with a key"), (&["--old"], "")]
    {
        let mut swb = Swb::new(EXE);
        swb.configure(&scripted_agent(args));
        swb.start_daemon();
        let mut client = swb.chat_in("talk");
        let generation = client.chat("say:hello");
        let error = &generation.answer["error"];
        assert!(
            ["INTERNAL_ERROR", "NOT_IMPLEMENTED"].contains(&error["code"].as_str().unwrap()),
            "{args:?}: {error}"
        );
        assert!(error["message"].as_str().unwrap().contains(words), "{args:?}: {error}");
    }
    let mut swb = Swb::new(EXE);
    swb.configure(&scripted_agent(&["--garbage"]));
    swb.start_daemon();
    assert_eq!(swb.chat_in("talk").answer_to("say:hello"), "hello");
    let mut swb = Swb::new(EXE);
    swb.configure(&scripted_agent(&["--mute"]));
    swb.start_daemon();
    let mut client = swb.chat_in("talk");
    let id = client.prompt("say:hello");
    let began = Instant::now();
    client.ok("chat_stop", json!({}));
    assert_eq!(client.generation(&id).status(), "stopped");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

// SS-79, XS-13
#[test]
fn events_are_logged_and_content_is_not() {
    let mut swb = Swb::new(EXE);
    swb.configure(&format!(
        "[scriptschnell]\nrequire_auth = true\nauth_method = \"token\"\ntoken = \"tell-nobody\"\nlog_level = \"info\"\n{}",
        scripted_agent(&[])
    ));
    swb.start_daemon();
    let mut client = swb.chat_raw();
    client.refused("auth_request", json!({"token": "wrong-guess"}));
    let welcome = client.ok_as("auth_request", json!({"token": "tell-nobody"}), "auth_response");
    let connection = welcome["connection_id"].as_str().unwrap().to_owned();
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "logged-session"}));
    client.answer_to("say:secret-words;think:secret-words;tool:read:secret-words");
    client.refused("session_attach", json!({"session_id": "secret-words"}));
    client.chat("fail:secret-words");
    client.ok("session_delete", json!({"session_id": "logged-session"}));
    drop(client);
    wait_for("the end in the log", || (swb.log().matches(connection.as_str()).count() >= 5).then_some(()));
    let log = swb.log();
    assert!(log.contains("logged-session"), "{log}");
    for secret in ["secret-words", "tell-nobody", "wrong-guess"] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

// XS-7: the daemon stops also while a client does not read.
#[test]
fn a_client_that_does_not_read_does_not_delay_shutdown() {
    let mut swb = Swb::scripted(EXE, "");
    let mut lazy = swb.chat_in("talk");
    let said = swb.dir().join("said");
    lazy.prompt(&format!("flood:600;touch:{};stall", said.display()));
    wait_for("more than the system holds", || said.exists().then_some(()));
    let began = Instant::now();
    let pid = swb.daemon_pid();
    signal(pid, Signal::TERM);
    swb.daemon().wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
