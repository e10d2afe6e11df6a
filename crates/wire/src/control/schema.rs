//! Schemas of the protocol's types as files that people and programs read.

use serde_json::Value;
use std::collections::BTreeMap;

/// Puts the fields of all objects into the order of the alphabet, independent of the order that a build keeps, and makes descriptions
/// readable for those who do not know coop's protocol and what has been added to it.
pub fn readable(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<String, Value> = fields.into_iter().collect();
            let fields = sorted.into_iter().map(|(name, value)| match (name.as_str(), value) {
                ("description", Value::String(text)) => (name, description(&text).into()),
                (_, value) => (name, readable(value)),
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.into_iter().map(readable).collect(),
        other => other,
    }
}

fn description(text: &str) -> String {
    let Some(text) = text.strip_prefix("*Addition*: ") else { return text.to_owned() };
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
