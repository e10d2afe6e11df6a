//! Hooks in a JSON file, as claude and gemini have them: `hooks`, by event, in groups. Comments, order and indentation of
//! the rest stay.

use super::is_ours;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};

/// Adds a hook for each event; replaces ours, if there are any.
pub(super) fn add(text: &str, events: &[&str], command: &str, timeout: u32) -> Result<String, String> {
    let rest = remove(text)?;
    let text = if rest.trim().is_empty() { "{}\n" } else { &rest };
    let root = parse(text)?;
    let settings = root.object_value().ok_or("it is not a JSON object")?;
    if settings.get("hooks").is_none() {
        settings.append("hooks", CstInputValue::Object(Vec::new()));
    }
    let hooks = hooks_of(&settings)?.ok_or("'hooks' cannot be added")?;
    for event in events {
        let group = group(command, timeout);
        match hooks.get(event) {
            None => {
                hooks.append(event, CstInputValue::Array(vec![group]));
            }
            Some(property) => {
                let groups =
                    property.array_value().ok_or_else(|| format!("'hooks.{event}' is not a list"))?;
                groups.append(group);
            }
        }
    }
    Ok(root.to_string())
}

fn group(command: &str, timeout: u32) -> CstInputValue {
    let string = |text: &str| CstInputValue::String(text.to_owned());
    let hook = CstInputValue::Object(vec![
        ("type".to_owned(), string("command")),
        ("command".to_owned(), string(command)),
        ("timeout".to_owned(), CstInputValue::Number(timeout.to_string())),
    ]);
    CstInputValue::Object(vec![("hooks".to_owned(), CstInputValue::Array(vec![hook]))])
}

/// Removes our hooks, and what only contained them. Empty if nothing is left.
pub(super) fn remove(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(String::new());
    }
    let root = parse(text)?;
    let settings = root.object_value().ok_or("it is not a JSON object")?;
    let Some(hooks) = hooks_of(&settings)? else { return Ok(text.to_owned()) };
    let mut removed = false;
    for property in hooks.properties() {
        let Some(groups) = property.array_value() else { continue };
        if remove_from(&groups) {
            removed = true;
            if groups.elements().is_empty() {
                property.remove();
            }
        }
    }
    if !removed {
        return Ok(text.to_owned());
    }
    if hooks.properties().is_empty()
        && let Some(property) = settings.get("hooks")
    {
        property.remove();
    }
    let rest = root.to_string();
    // Such a file was ours alone, or empty.
    Ok(if settings.properties().is_empty() && is_bare(&rest) { String::new() } else { rest })
}

/// Removes our hooks from the groups of an event; true if there were any.
fn remove_from(groups: &CstArray) -> bool {
    let mut removed = false;
    for group in groups.elements() {
        let Some(list) = hooks_in(&group) else { continue };
        let ours: Vec<CstNode> =
            list.elements().into_iter().filter(|hook| our_command(hook).is_some()).collect();
        if ours.is_empty() {
            continue;
        }
        removed = true;
        match ours.len() == list.elements().len() {
            true => group.remove(),
            false => ours.into_iter().for_each(CstNode::remove),
        }
    }
    removed
}

/// Our hooks: event and command.
pub(super) fn installed(text: &str) -> Result<Vec<(String, String)>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let settings = parse(text)?.object_value().ok_or("it is not a JSON object")?;
    let mut found = Vec::new();
    for property in hooks_of(&settings)?.iter().flat_map(CstObject::properties) {
        let event = property.name().and_then(|name| name.decoded_value().ok()).unwrap_or_default();
        let groups = property.array_value().map(|groups| groups.elements()).unwrap_or_default();
        let lists = groups.iter().filter_map(hooks_in);
        let commands = lists.flat_map(|list| list.elements()).filter_map(|hook| our_command(&hook));
        found.extend(commands.map(|command| (event.clone(), command)));
    }
    Ok(found)
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    // Byte order marks are not part of JSON, but some editors write them; the agents reject them.
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

fn hooks_of(settings: &CstObject) -> Result<Option<CstObject>, String> {
    let Some(property) = settings.get("hooks") else { return Ok(None) };
    property.object_value().map(Some).ok_or_else(|| "'hooks' is not a JSON object".to_owned())
}

fn hooks_in(group: &CstNode) -> Option<CstArray> {
    group.as_object()?.get("hooks")?.array_value()
}

fn our_command(hook: &CstNode) -> Option<String> {
    let command = hook.as_object()?.get("command")?.value()?.as_string_lit()?.decoded_value().ok()?;
    is_ours(&command).then_some(command)
}

fn is_bare(text: &str) -> bool {
    text.chars().all(|char| char.is_whitespace() || char == '{' || char == '}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        let text = "{\n    // mine\n    \"b\": 1,\n    \"hooks\": {\n        \"Stop\": [\n            {\n                \"hooks\": [\n                    { \"type\": \"command\", \"command\": \"say done\" }\n                ]\n            }\n        ]\n    },\n    \"a\": [1,2]\n}\n";
        insta::assert_snapshot!(add(text, &["Stop", "Start"], "swb hook --event", 5).unwrap(), @r#"
        {
            // mine
            "b": 1,
            "hooks": {
                "Stop": [
                    {
                        "hooks": [
                            { "type": "command", "command": "say done" }
                        ]
                    },
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "command": "swb hook --event",
                                "timeout": 5
                            }
                        ]
                    }
                ],
                "Start": [
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "command": "swb hook --event",
                                "timeout": 5
                            }
                        ]
                    }
                ]
            },
            "a": [1,2]
        }
        "#);
    }

    #[test]
    fn a_new_file_is_indented() {
        insta::assert_snapshot!(add("", &["Stop"], "swb hook --event", 5).unwrap(), @r#"
        {
          "hooks": {
            "Stop": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "swb hook --event",
                    "timeout": 5
                  }
                ]
              }
            ]
          }
        }
        "#);
    }

    #[test]
    fn a_hook_in_a_group_of_the_user_is_removed_alone() {
        let text = "{\"hooks\": {\"Stop\": [{\"matcher\": \"x\", \"hooks\": [{\"command\": \"mine\"}, {\"command\": \"swb hook --event\"}]}]}}";
        let rest = remove(text).unwrap();
        assert!(rest.contains("mine") && !rest.contains("swb"), "{rest}");
    }
}
