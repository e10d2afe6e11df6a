//! Settings and workspaces on the scriptschnell socket.

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use swb_testkit::{ChatClient, Swb, scripted_agent};
use swb_types::Timestamp;

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// A model that is never asked.
const MODEL: &str = "[chat]\nbackend = \"m\"\n[[agents]]\nname = \"m\"\nkind = \"llm\"\nmodel = \"small\"\n\
    base_url = \"http://127.0.0.1:1\"\ntemperature = 0.5\nmax_tokens = 100\n[[agents]]\nname = \"other\"\n\
    kind = \"llm\"\nmodel = \"large\"\nbase_url = \"http://127.0.0.1:1\"\n";

fn configured(toml: &str) -> Swb {
    let mut swb = Swb::new(EXE);
    swb.configure(toml);
    swb.start_daemon();
    swb
}

/// The settings of the session, or of all.
#[track_caller]
fn config(client: &mut ChatClient, keys: &[&str]) -> Value {
    let answer = client.ok("config_get", json!({"keys": keys}));
    let config = answer["config"].as_object().unwrap();
    for (key, value) in config {
        assert_eq!(answer[key]["value"], *value, "both forms say the same: {answer}");
        let kind = match value {
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) => "bool",
            Value::Object(_) => "object",
            other => panic!("{key} is {other}"),
        };
        assert_eq!(answer[key]["type"], kind, "{answer}");
    }
    answer["config"].clone()
}

// SS-67
#[test]
fn settings_can_be_read() {
    let swb = configured(MODEL);
    let mut client = swb.chat_in("talk");
    let dir = swb.dir().join("w");
    let all = json!({"model": "small", "working_dir": dir, "temperature": 0.5, "max_tokens": 100});
    let answer = client.ok("config_get", json!({}));
    assert_eq!(answer["config"], all);
    assert_eq!(client.ok("config_get", json!({"keys": null}))["config"], all);
    assert_eq!(answer["model"], json!({"value": "small", "type": "string"}));
    assert_eq!(answer["temperature"], json!({"value": 0.5, "type": "number"}));
    assert_eq!(config(&mut client, &["model", "working_dir", "temperature", "max_tokens"]), all);
    assert_eq!(config(&mut client, &["model"]), json!({"model": "small"}));
    assert_eq!(config(&mut client, &["nonsense", "max_tokens", ""]), json!({"max_tokens": 100}));
    assert_eq!(config(&mut client, &[]), all, "no key is no choice");
}

// SS-67, Q-63: outside of a session they are those of all.
#[test]
fn settings_can_be_read_outside_of_sessions() {
    let swb = configured(MODEL);
    let mut client = swb.chat();
    assert_eq!(config(&mut client, &["model", "max_tokens"]), json!({"model": "small", "max_tokens": 100}));
    assert_eq!(client.refused("config_set", json!({"model": "x"})), "OPERATION_NOT_ALLOWED");
}

// SS-68
#[test]
fn settings_can_be_sent_in_two_forms() {
    let swb = configured(MODEL);
    let mut client = swb.chat_in("talk");
    let set = client.ok("config_set", json!({"model": "huge", "temperature": 1}));
    assert_eq!((&set["status"], &set["updated"]["model"]), (&json!("updated"), &json!("huge")));
    assert_eq!(set["updated"]["temperature"].as_f64(), Some(1.0));
    let set = client.ok("config_set", json!({"values": {"max_tokens": 5}}));
    assert_eq!(set["updated"], json!({"max_tokens": 5}));
    let now = config(&mut client, &["model", "temperature", "max_tokens"]);
    assert_eq!((&now["model"], &now["max_tokens"]), (&json!("huge"), &json!(5)));
    assert_eq!(now["temperature"].as_f64(), Some(1.0));
}

// SS-68: invalid values are left out, and the rest is done.
#[test]
fn invalid_settings_are_ignored() {
    let swb = configured(MODEL);
    let mut client = swb.chat_in("talk");
    for wrong in [
        json!({"temperature": "hot"}),
        json!({"temperature": -0.1}),
        json!({"temperature": 2.1}),
        json!({"max_tokens": -1}),
        json!({"max_tokens": 0}),
        json!({"max_tokens": 1.5}),
        json!({"max_tokens": 1e300}),
        json!({"max_tokens": "many"}),
        json!({"model": 5}),
        json!({"model": ""}),
        json!({"model": {}}),
        json!({"agent": "nobody"}),
        json!({"nonsense": true}),
        json!({}),
        json!({"values": {}}),
    ] {
        let set = client.ok("config_set", wrong.clone());
        assert_eq!(set, json!({"updated": {}, "status": "updated"}), "{wrong}");
    }
    let set = client.ok("config_set", json!({"temperature": "hot", "max_tokens": 7, "nonsense": 1}));
    assert_eq!(set["updated"], json!({"max_tokens": 7}));
    let now = config(&mut client, &["model", "temperature", "max_tokens"]);
    assert_eq!(now, json!({"model": "small", "temperature": 0.5, "max_tokens": 7}));
    assert_eq!(client.refused("config_set", json!({"values": 5})), "INVALID_REQUEST");
}

// SS-69
#[test]
fn settings_belong_to_their_session() {
    let swb = configured(MODEL);
    let (mut one, mut two) = (swb.chat_in("one"), swb.chat_in("two"));
    one.ok("config_set", json!({"model": "huge", "max_tokens": 5}));
    assert_eq!(config(&mut two, &["model", "max_tokens"]), json!({"model": "small", "max_tokens": 100}));
    assert_eq!(config(&mut swb.chat_at("one"), &["model"]), json!({"model": "huge"}));
    two.ok("session_detach", json!({}));
    assert_eq!(config(&mut two, &["model"]), json!({"model": "small"}));
    let mut again = swb.chat_in("three");
    assert_eq!(config(&mut again, &["model"]), json!({"model": "small"}));
}

// SS-68: another agent can be chosen, and answers from then on.
#[test]
fn another_agent_can_be_chosen() {
    let swb =
        configured(&format!("{}{}", scripted_agent(&[]), MODEL.replace("[chat]\nbackend = \"m\"\n", "")));
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to("say:hello"), "hello");
    let set = client.ok("config_set", json!({"agent": "other"}));
    assert_eq!(set["updated"], json!({"agent": "other"}));
    assert_eq!(config(&mut client, &["model"]), json!({"model": "large"}));
    client.ok("config_set", json!({"agent": "scripted"}));
    assert_eq!(client.answer_to("say:again"), "again");
}

// ---- workspaces ----

fn workspaces(client: &mut ChatClient) -> Vec<Value> {
    let answer = client.ok_as("workspace_list", json!({}), "workspace_list_response");
    answer["workspaces"].as_array().unwrap().clone()
}

#[track_caller]
fn workspace(client: &mut ChatClient, path: &Path) -> Value {
    let all = workspaces(client);
    let found: Vec<&Value> = all.iter().filter(|item| item["path"] == json!(path)).collect();
    assert_eq!(found.len(), 1, "{path:?} in {all:?}");
    found[0].clone()
}

/// The first 16 hexadecimal digits of SHA-256, by an implementation that is not ours.
fn hash(path: &Path) -> String {
    let script = "import hashlib, os, sys; print(hashlib.sha256(os.fsencode(sys.argv[1])).hexdigest()[:16])";
    let output = Command::new("python3").args(["-c", script]).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["-c", "user.name=x", "-c", "user.email=x@example.org"]).args(args);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn repository(swb: &Swb, name: &str) -> std::path::PathBuf {
    let dir = swb.workspace(name);
    git(&dir, &["init", "-q", "-b", "trunk"]);
    git(&dir, &["commit", "-q", "--allow-empty", "-m", "first"]);
    dir
}

// SS-70
#[test]
fn a_workspace_is_described() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat_in("talk");
    let dir = swb.dir().join("w");
    let item = workspace(&mut client, &dir);
    let id = hash(&dir);
    assert_eq!((&item["hash"], &item["id"]), (&json!(id), &json!(id)));
    assert_eq!(item["name"], json!(dir.file_name().unwrap().to_str().unwrap()));
    assert_eq!((&item["session_count"], &item["is_worktree"]), (&json!(1), &json!(false)));
    for list in ["context_directories", "context_dirs", "landlock_read", "landlock_write"] {
        assert_eq!(item[list], json!([]), "{list}: {item}");
    }
    for approved in ["domains_approved", "commands_approved"] {
        assert_eq!(item[approved], json!({}), "{approved}: {item}");
    }
    for text in ["repository_root", "current_branch", "worktree_name"] {
        assert!(item.as_object().unwrap().contains_key(text), "{text}: {item}");
    }
    for time in ["last_accessed", "created_at"] {
        Timestamp::parse(item[time].as_str().unwrap()).unwrap();
    }
}

// SS-71
#[test]
fn workspaces_are_registered_by_use() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    assert_eq!(workspaces(&mut client), [] as [Value; 0]);
    let (a, b) = (swb.workspace("a"), swb.workspace("b"));
    client.ok("workspace_set", json!({"workspace": a}));
    client.create(json!({"workspace": b}));
    client.create(json!({"workspace": b}));
    assert_eq!(workspaces(&mut client).len(), 2);
    assert_eq!(workspace(&mut swb.chat(), &a)["session_count"], 0);
    assert_eq!(workspace(&mut client, &b)["session_count"], 2);
    client.refused("workspace_set", json!({"workspace": "/no/such/dir"}));
    client.refused("session_create", json!({"workspace": "/no/such/dir"}));
    assert_eq!(workspaces(&mut client).len(), 2);
}

// SS-70, SS-71
#[test]
fn workspaces_are_configured() {
    let mut swb = Swb::new(EXE);
    let (dir, docs) = (swb.workspace("project"), swb.workspace("docs"));
    swb.configure(&format!(
        "[[chat.workspaces]]\npath = {}\ncontext_directories = [{}]\nlandlock_read = [\"/usr/share\"]\n\
         landlock_write = [\"/var/tmp\"]\ncommands = [\"cargo test\"]\ndomains = [\"example.org\"]\n",
        json!(dir),
        json!(docs)
    ));
    swb.start_daemon();
    let item = workspace(&mut swb.chat(), &dir);
    assert_eq!((&item["context_directories"], &item["context_dirs"]), (&json!([docs]), &json!([docs])));
    assert_eq!(item["landlock_read"], json!(["/usr/share"]));
    assert_eq!(item["landlock_write"], json!(["/var/tmp"]));
    assert_eq!(item["commands_approved"], json!({"cargo test": true}));
    assert_eq!(item["domains_approved"], json!({"example.org": true}));
}

// SS-70: what git knows.
#[test]
fn a_workspace_has_its_git_state() {
    let swb = Swb::start(EXE);
    let main = repository(&swb, "main");
    let further = swb.dir().join("w/further");
    git(&main, &["worktree", "add", "-q", "-b", "side", further.to_str().unwrap()]);
    let mut client = swb.chat();
    for dir in [&main, &further] {
        client.ok("workspace_set", json!({"workspace": dir}));
    }
    let item = workspace(&mut client, &main);
    assert_eq!((&item["repository_root"], &item["current_branch"]), (&json!(main), &json!("trunk")));
    assert_eq!(item["is_worktree"], false);
    let item = workspace(&mut client, &further);
    assert_eq!((&item["current_branch"], &item["is_worktree"]), (&json!("side"), &json!(true)));
    assert_eq!(item["worktree_name"], "further");
}

// SS-72, Q-65
#[test]
fn a_workspace_is_set_for_the_connection() {
    let swb = Swb::start(EXE);
    let (a, b) = (swb.workspace("a"), swb.workspace("b"));
    std::fs::write(a.join("file"), "").unwrap();
    let mut client = swb.chat();
    assert_eq!(client.refused("workspace_set", json!({})), "INVALID_REQUEST");
    assert_eq!(client.refused("workspace_set", json!({"workspace": ""})), "INVALID_REQUEST");
    assert_eq!(client.refused("workspace_set", json!({"workspace": "/no/such/dir"})), "WORKSPACE_INVALID");
    assert_eq!(client.refused("workspace_set", json!({"workspace": a.join("file")})), "WORKSPACE_INVALID");
    let set = client.ok("workspace_set", json!({"workspace": a}));
    assert_eq!(set, json!({"workspace_id": hash(&a), "path": a, "name": "a", "status": "set"}));
    client.create(json!({}));
    assert_eq!(client.refused("workspace_set", json!({"workspace": b})), "OPERATION_NOT_ALLOWED");
    assert_eq!(
        client.ok("workspace_set", json!({"workspace": a}))["status"],
        "set",
        "the same as the session's"
    );
    client.ok("session_detach", json!({}));
    assert_eq!(client.ok("workspace_set", json!({"workspace": b}))["path"], json!(b));
}

// SS-73
#[test]
fn a_git_worktree_can_be_created() {
    let swb = Swb::start(EXE);
    let main = repository(&swb, "main");
    let mut client = swb.chat();
    let made = client.ok("workspace_create", json!({"base_workspace": main, "name": "feature"}));
    assert_eq!(made["is_worktree"], true);
    let path = Path::new(made["path"].as_str().unwrap()).to_owned();
    assert_eq!(made["workspace_id"], json!(hash(&path)));
    assert!(path.join(".git").is_file());
    let item = workspace(&mut client, &path);
    assert_eq!((&item["current_branch"], &item["is_worktree"]), (&json!("feature"), &json!(true)));
    client.create(json!({"workspace": path}));
    let plain = swb.workspace("plain");
    for wrong in [
        json!({"base_workspace": main, "name": "feature"}),
        json!({"base_workspace": main, "name": "../../escape"}),
        json!({"base_workspace": main, "name": "-x"}),
        json!({"base_workspace": main, "name": ""}),
        json!({"base_workspace": main}),
        json!({"base_workspace": plain, "name": "x"}),
        json!({"base_workspace": "/no/such/dir", "name": "x"}),
        json!({"name": "x"}),
    ] {
        let code = client.refused("workspace_create", wrong.clone());
        let codes = ["INVALID_REQUEST", "OPERATION_NOT_ALLOWED", "WORKSPACE_INVALID"];
        assert!(codes.contains(&code.as_str()), "{wrong}: {code}");
    }
    assert!(!swb.dir().join("escape").exists());
}
