//! The types of the page, generated from the schema of the operations: it has few of the constructs that JSON Schema has.

use serde_json::{Map, Value};
use std::fmt::Write as _;

const HEAD: &str = "// Generated from the Rust types by `cargo xtask docs`: do not edit. One file, as long as there are operations.\n";

/// A TypeScript module with the types of requests, replies and events.
pub(crate) fn module(schema: &Value) -> String {
    let mut out = HEAD.to_owned();
    for (name, definition) in object(&schema["$defs"]) {
        declare(&mut out, name, definition);
    }
    let operations = schema["oneOf"].as_array().unwrap();
    let mut requests = String::new();
    let mut replies = String::new();
    for operation in operations {
        let name = operation["title"].as_str().unwrap();
        let mut fields = operation.clone();
        fields["properties"].as_object_mut().unwrap().retain(|field, _| field != "id" && field != "cmd");
        writeln!(requests, "  {name}: {};", structure(&fields, 1)).unwrap();
        writeln!(replies, "  {name}: {};", of(&operation["x-reply"], 1)).unwrap();
    }
    write!(out, "\n/** The fields of each operation, beside `id` and `cmd`. */\nexport interface Requests {{\n{requests}}}\n").unwrap();
    write!(out, "\n/** What each operation replies. */\nexport interface Replies {{\n{replies}}}\n").unwrap();
    out
}

fn declare(out: &mut String, name: &str, definition: &Value) {
    let about = definition["description"].as_str().unwrap_or_default();
    let about = about.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    writeln!(out, "\n/** {about} */").unwrap();
    let alternatives = definition.get("oneOf").is_some();
    match (definition["type"].as_str(), alternatives) {
        (Some("object"), false) => writeln!(out, "export interface {name} {}", structure(definition, 0)),
        _ => writeln!(out, "export type {name} = {};", of(definition, 0)),
    }
    .unwrap();
}

/// The type that a schema describes.
fn of(schema: &Value, depth: usize) -> String {
    if let Some(path) = schema["$ref"].as_str() {
        return path.trim_start_matches("#/$defs/").to_owned();
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(alternatives) = schema[key].as_array() {
            let union: Vec<String> = alternatives.iter().map(|one| of(one, depth)).collect();
            let union = union.join(" | ");
            // Fields that all alternatives have in common.
            let common = schema.get("properties").map(|_| structure(schema, depth));
            return common.map_or(union.clone(), |common| format!("{common} & ({union})"));
        }
    }
    if let Some(value) = schema.get("const") {
        return literal(value);
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(literal).collect::<Vec<_>>().join(" | ");
    }
    match &schema["type"] {
        Value::String(name) => named(name, schema, depth),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            names.map(|name| named(name, schema, depth)).collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

fn named(name: &str, schema: &Value, depth: usize) -> String {
    match name {
        "integer" | "number" => "number".to_owned(),
        "array" => match of(&schema["items"], depth) {
            item if item.contains(' ') => format!("({item})[]"),
            item => format!("{item}[]"),
        },
        "object" if schema.get("properties").is_some() => structure(schema, depth),
        "object" => format!("Record<string, {}>", of(&schema["additionalProperties"], depth)),
        other => other.to_owned(),
    }
}

fn structure(schema: &Value, depth: usize) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let indent = "  ".repeat(depth + 1);
    let mut out = "{".to_owned();
    for (field, schema) in object(&schema["properties"]) {
        let of_field = of(schema, depth + 1);
        if required.contains(&field.as_str()) {
            write!(out, "\n{indent}{field}: {of_field};").unwrap();
        } else {
            // An optional field is left out rather than null.
            let present = of_field.trim_end_matches(" | null");
            write!(out, "\n{indent}{field}?: {present};").unwrap();
        }
    }
    if out.len() > 1 {
        write!(out, "\n{}", "  ".repeat(depth)).unwrap();
    }
    out + "}"
}

fn literal(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| format!("'{text}'"))
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}
