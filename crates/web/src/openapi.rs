//! The OpenAPI document of the REST interface, generated from the types that its functions read and write.

use crate::rest::{ShellFields, SizeFields};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use swb_wire::control::{Attached, Create, Created, ErrorReply, OkReply, SessionItem, schema};

/// The document as `/api/openapi.json` serves it.
const COMMITTED: &str = "../../../docs/protocols/openapi.json";

#[test]
fn document_is_generated_from_the_types() {
    let text = serde_json::to_string_pretty(&document()).unwrap() + "\n";
    // UPDATE_EXPECT=1 writes it.
    expect_test::expect_file![COMMITTED].assert_eq(&text);
}

type Object = BTreeMap<&'static str, Value>;

fn document() -> Value {
    let mut types = Types::new();
    let paths = paths(&mut types);
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Switchboard",
            "version": "1",
            "description": "Sessions over HTTP, as coop's web server offers them. /ws carries a terminal, /api/control \
                every operation (see /api/schema.json), /api/chat a conversation; all three are WebSockets.",
        },
        "security": [{"bearer": []}, {"query": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": types.definitions(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "query": {"type": "apiKey", "in": "query", "name": "token"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "swb-PORT"},
            },
        },
    });
    schema::readable(document)
}

fn paths(types: &mut Types) -> Value {
    let name = parameter("path", "name", "Name of the session.", json!({"type": "string"}));
    let pty =
        |place| parameter(place, "pty", "Number of the PTY; 0 is the agent.", json!({"type": "integer"}));
    let flag = |name, about| parameter("query", name, about, json!({"enum": ["0", "1"]}));
    let session = parameter("query", "session", "Name of the session.", json!({"type": "string"}));
    let resume =
        parameter("query", "resume", "Offset of the first byte to send.", json!({"type": "integer"}));
    let cols = parameter("query", "cols", "Columns of the client's terminal.", json!({"type": "integer"}));
    let rows = parameter("query", "rows", "Rows of the client's terminal.", json!({"type": "integer"}));
    let stream = [
        resume,
        flag("repaint", "Begin with a picture of the screen, and repaint after a gap."),
        flag("watch", "Watch without input."),
    ];
    let terminal = |parameters: Vec<Value>| {
        json!({
            "summary": "Opens a terminal as a WebSocket: binary messages are terminal bytes, text messages JSON.",
            "parameters": parameters,
            "responses": {"101": {"description": "The connection is a WebSocket."}},
        })
    };
    json!({
        "/healthz": {"get": {
            "summary": "Reports that the server runs; needs no token.",
            "security": [],
            "responses": {"200": {"description": "It runs."}},
        }},
        "/api/sessions": {
            "get": operation("Lists sessions.", &[], None, types.reply::<Vec<SessionItem>>()),
            "post": operation("Creates a session.", &[], Some((types.request::<Create>(), true)), types.reply::<Created>()),
        },
        "/api/sessions/{name}": {
            "delete": operation("Kills a session.", &[&name], None, types.reply::<OkReply>()),
        },
        "/api/sessions/{name}/shell": {
            "post": operation(
                "Starts a shell in a session; /ws opens its terminal.",
                &[&name],
                Some((types.request::<ShellFields>(), false)),
                types.reply::<Attached>(),
            ),
        },
        "/api/sessions/{name}/pty/{pty}/resize": {
            "post": operation(
                "Resizes a terminal.",
                &[&name, &pty("path")],
                Some((types.request::<SizeFields>(), true)),
                types.reply::<OkReply>(),
            ),
        },
        "/api/sessions/{name}/pty": {
            "get": terminal([vec![name.clone(), pty("query"), cols, rows], stream.to_vec()].concat()),
        },
        "/ws": {"get": terminal([vec![session, pty("query")], stream.to_vec()].concat())},
        "/api/openapi.json": {"get": operation("Returns this document.", &[], None, json!({"type": "object"}))},
        "/api/schema.json": {
            "get": operation("Returns the JSON Schema of the operations.", &[], None, json!({"type": "object"})),
        },
    })
}

/// An operation whose errors have the body that all errors have (CO-18).
fn operation(summary: &str, parameters: &[&Value], body: Option<(Value, bool)>, reply: Value) -> Value {
    let content = |schema: Value| json!({"application/json": {"schema": schema}});
    let error = |about: &str| json!({"description": about, "content": content(json!({"$ref": "#/components/schemas/ErrorReply"}))});
    let mut responses = json!({
        "200": {"description": "Success.", "content": content(reply)},
        "400": error("The request is invalid."),
        "403": error("The token is missing or wrong, or its role does not allow this."),
    });
    if !parameters.is_empty() {
        responses["404"] = error("There is no such session or PTY.");
    }
    let mut operation = Object::from([("summary", summary.into()), ("parameters", json!(parameters))]);
    if let Some((schema, required)) = body {
        responses["409"] = error("The name or the workspace is in use, or the agent is busy.");
        responses["413"] = error("The body is too long.");
        operation.insert("requestBody", json!({"required": required, "content": content(schema)}));
    }
    operation.insert("responses", responses);
    json!(operation)
}

fn parameter(place: &str, name: &str, about: &str, schema: Value) -> Value {
    json!({"in": place, "name": name, "description": about, "required": place == "path", "schema": schema})
}

/// Collects the schemas of the types that requests and replies have.
struct Types {
    requests: SchemaGenerator,
    replies: SchemaGenerator,
}

impl Types {
    fn new() -> Self {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = "/components/schemas".into();
        let mut replies = settings.clone().for_serialize().into_generator();
        replies.subschema_for::<ErrorReply>();
        Self { requests: settings.for_deserialize().into_generator(), replies }
    }

    fn request<T: JsonSchema>(&mut self) -> Value {
        Schema::to_value(self.requests.subschema_for::<T>())
    }

    fn reply<T: JsonSchema>(&mut self) -> Value {
        Schema::to_value(self.replies.subschema_for::<T>())
    }

    fn definitions(mut self) -> BTreeMap<String, Value> {
        let of_requests = self.requests.take_definitions(true);
        self.replies.take_definitions(true).into_iter().chain(of_requests).collect()
    }
}
