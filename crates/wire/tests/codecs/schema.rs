//! The JSON Schema of the operations, which scripts and the page are written against.

use crate::typescript;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use swb_wire::control::*;
use swb_wire::web::terminal::{ClientMessage, ServerMessage};

/// The schema as `/api/schema.json` serves it.
const COMMITTED: &str = "../../../../docs/protocols/operations.schema.json";

/// The types that the page is written with.
const TYPES: &str = "../../../../web/src/protocol/generated.ts";

/// Describes in the schema itself how it is to be read.
const ABOUT: &str = "A message to the WebSocket /api/control: an operation with an id of the client's choice. Replies and \
    events carry the same id. 'x-reply' is the schema of the reply, 'x-event' that of the events that follow it; every \
    operation may reply with 'x-error' instead. 'x-terminal' has the text messages of the WebSocket /ws. On the control socket the same objects are sent without an id.";

#[test]
fn schema_is_generated_from_the_operations() {
    let text = serde_json::to_string_pretty(&schema::readable(generated())).unwrap() + "\n";
    // UPDATE_EXPECT=1 writes it.
    expect_test::expect_file![COMMITTED].assert_eq(&text);
}

#[test]
fn types_of_the_page_are_generated_from_the_schema() {
    let module = typescript::module(&schema::readable(generated()));
    expect_test::expect_file![TYPES].assert_eq(&module);
}

#[test]
fn every_operation_of_the_schema_is_one_that_is_read() {
    let schema = generated();
    let variants = schema["oneOf"].as_array().unwrap();
    let names = variants.iter().map(|variant| variant["properties"]["cmd"]["const"].as_str().unwrap());
    for name in names.filter(|name| *name != "cancel") {
        let message = json!({"cmd": name}).to_string();
        // Fields may be missing, but the name is known.
        let known = match parse_operation(message.as_bytes()) {
            Ok(operation) => operation.name() == name,
            Err(error) => error != BadMessage::unknown_command(name),
        };
        assert!(known, "{name}");
    }
}

fn generated() -> Value {
    let mut requests = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let mut replies = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let operations = requests.root_schema_for::<Operation>();
    let mut parts = operations.as_value().clone();
    let mut defs = parts["$defs"].as_object().cloned().unwrap();
    let variants = parts["oneOf"].as_array_mut().unwrap();
    let mut schemas: Vec<Value> = variants.iter().map(|variant| request(variant, &mut defs)).collect();
    for schema in &mut schemas {
        let name = schema["title"].as_str().unwrap().to_owned();
        for (key, answer) in answers(&name, &mut replies) {
            schema[key] = answer.to_value();
        }
    }
    schemas.push(cancel(&mut replies));
    let error = replies.subschema_for::<ErrorReply>().to_value();
    // Text messages of /ws.
    let terminal = json!({
        "server": replies.subschema_for::<ServerMessage>(),
        "client": requests.subschema_for::<ClientMessage>(),
    });
    defs.extend(requests.take_definitions(true).into_iter().filter(|(name, _)| name == "ClientMessage"));
    for (name, of_reply) in replies.take_definitions(true) {
        let of_request = defs.insert(name.clone(), of_reply.clone());
        assert!(
            of_request.is_none_or(|same| same == of_reply),
            "{name} differs between requests and replies: give one of them another name"
        );
    }
    json!({
        "$schema": parts["$schema"],
        "title": "Operations of Switchboard",
        "description": ABOUT,
        "oneOf": schemas,
        "x-error": error,
        "x-terminal": terminal,
        "$defs": defs,
    })
}

/// An operation as one flat object: the fields of its type beside `id` and `cmd`.
fn request(variant: &Value, defs: &mut Map<String, Value>) -> Value {
    let name = variant["properties"]["cmd"]["const"].as_str().unwrap();
    let of_type = variant["$ref"].as_str().map(|path| path.trim_start_matches("#/$defs/"));
    let fields = of_type.and_then(|of_type| defs.remove(of_type)).unwrap_or_else(|| json!({}));
    let mut properties = json!({"id": id(), "cmd": {"const": name}});
    for (field, schema) in fields["properties"].as_object().into_iter().flatten() {
        properties[field] = schema.clone();
    }
    let mut required = vec![json!("id"), json!("cmd")];
    required.extend(fields["required"].as_array().into_iter().flatten().cloned());
    json!({
        "title": name,
        "description": variant["description"],
        "type": "object",
        "properties": properties,
        "required": required,
    })
}

/// Ends another request of the same connection; only `/api/control` knows it.
fn cancel(replies: &mut SchemaGenerator) -> Value {
    json!({
        "title": "cancel",
        "description": "Ends a wait or a stream of events of the same connection.",
        "type": "object",
        "properties": {"id": id(), "cmd": {"const": "cancel"}, "request": id()},
        "required": ["id", "cmd", "request"],
        "x-reply": replies.subschema_for::<OkReply>(),
    })
}

fn id() -> Value {
    json!({"type": ["number", "string"]})
}

/// The schemas of what an operation is answered with.
fn answers(name: &str, replies: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
    fn of<T: JsonSchema>(replies: &mut SchemaGenerator) -> Schema {
        replies.subschema_for::<T>()
    }
    let reply = match name {
        "agents" => of::<AgentsReply>(replies),
        "approval" => of::<ApprovalReply>(replies),
        "approvals" => of::<ApprovalsReply>(replies),
        "ask" => of::<AskReply>(replies),
        "attach" | "shell" => of::<Attached>(replies),
        "capture" => of::<CaptureReply>(replies),
        "conversation" => of::<ConversationReply>(replies),
        "create" => of::<Created>(replies),
        "events" => of::<EventsReply>(replies),
        "explain" => of::<ExplainReply>(replies),
        "filter" => of::<FilterReply>(replies),
        "history" => of::<HistoryReply>(replies),
        "keys" => of::<KeysReply>(replies),
        "logs" => of::<LogsReply>(replies),
        "ls" => of::<LsReply>(replies),
        "mute" => of::<MuteReply>(replies),
        "notifications" => of::<NotificationsReply>(replies),
        "notify_test" => of::<NotifyTestReply>(replies),
        "relay" => of::<RelayReply>(replies),
        "restart" => of::<RestartReply>(replies),
        "screen" => of::<ScreenReply>(replies),
        "send" => of::<SendReply>(replies),
        "serve" => of::<ServeReply>(replies),
        "sessionls" => of::<SessionLsReply>(replies),
        "status" => of::<StatusReply>(replies),
        "token" => of::<TokenReply>(replies),
        "tokens" => of::<TokensReply>(replies),
        "tunnel" => of::<TunnelReply>(replies),
        "tunnels" => of::<TunnelsReply>(replies),
        "turn" => of::<TurnReply>(replies),
        "turns" => of::<TurnsReply>(replies),
        "wait" => of::<WaitReply>(replies),
        "whoami" => of::<WhoamiReply>(replies),
        "workspace" => of::<WorkspaceReply>(replies),
        "workspaces" => of::<WorkspacesReply>(replies),
        "chat" | "detach" | "forget" | "hook" | "kill" | "paste" | "revoke" | "sessionkill" | "shutdown"
        | "tunnel_answer" | "tunnel_revoke" | "upgrade" => of::<OkReply>(replies),
        other => panic!("what does '{other}' reply?"),
    };
    let mut answers = vec![("x-reply", reply)];
    if name == "events" {
        answers.push(("x-event", of::<EventItem>(replies)));
    }
    if name == "tunnel" {
        answers.push(("x-event", of::<TunnelEvent>(replies)));
    }
    answers
}
