//! Hooks in a TOML file, as codex has them: `[[hooks.EVENT]]` with `[[hooks.EVENT.hooks]]`, or the same as inline lists.
//! Comments and formatting of the rest stay.

use super::is_ours;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

/// Adds a hook for each event; replaces ours, if there are any.
pub(super) fn add(text: &str, events: &[&str], command: &str) -> Result<String, String> {
    let mut document = parse(&remove(text)?)?;
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let hooks = document.entry("hooks").or_insert(Item::Table(implicit));
    let hooks = hooks.as_table_like_mut().ok_or("'hooks' is not a table")?;
    let is_inline = hooks.get("hooks").is_none() && inline(hooks);
    for event in events {
        let empty = match is_inline {
            true => Item::Value(Value::Array(Array::new())),
            false => Item::ArrayOfTables(ArrayOfTables::new()),
        };
        match hooks.entry(event).or_insert(empty) {
            Item::ArrayOfTables(groups) => {
                let mut list = ArrayOfTables::new();
                list.push(hook(command));
                let mut group = Table::new();
                group.insert("hooks", Item::ArrayOfTables(list));
                groups.push(group);
            }
            Item::Value(Value::Array(groups)) => {
                let list = Array::from_iter([hook(command).into_inline_table()]);
                let mut group = InlineTable::new();
                group.insert("hooks", Value::Array(list));
                groups.push(Value::InlineTable(group));
            }
            _ => return Err(format!("'hooks.{event}' is not a list of tables")),
        }
    }
    Ok(document.to_string())
}

/// Whether `hooks` is written in a line, in which no tables can follow.
fn inline(hooks: &dyn TableLike) -> bool {
    hooks.iter().any(|(_, item)| item.is_value())
        || hooks.get_values().len() == hooks.len() && !hooks.is_empty()
}

fn hook(command: &str) -> Table {
    let mut hook = Table::new();
    hook.insert("type", value("command"));
    hook.insert("command", value(command));
    // In seconds.
    hook.insert("timeout", value(5));
    hook
}

/// Removes our hooks, and what only contained them.
pub(super) fn remove(text: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(item) = document.get_mut("hooks") else { return Ok(text.to_owned()) };
    let hooks = item.as_table_like_mut().ok_or("'hooks' is not a table")?;
    let events: Vec<String> = hooks.iter().map(|(event, _)| event.to_owned()).collect();
    let mut removed = false;
    for event in events {
        let Some(groups) = hooks.get_mut(&event) else { continue };
        if remove_from(groups) {
            removed = true;
            if length(groups) == Some(0) {
                hooks.remove(&event);
            }
        }
    }
    if !removed {
        return Ok(text.to_owned());
    }
    if hooks.is_empty() {
        document.remove("hooks");
    }
    Ok(document.to_string())
}

/// Removes our hooks from the groups of an event; true if there were any.
fn remove_from(groups: &mut Item) -> bool {
    let mut removed = false;
    let mut stays = |group: &mut dyn TableLike| {
        let Some(list) = group.get_mut("hooks") else { return true };
        let before = length(list);
        match list {
            Item::ArrayOfTables(list) => list.retain(|hook| !ours(hook)),
            Item::Value(Value::Array(list)) => {
                list.retain(|hook| !hook.as_inline_table().is_some_and(|hook| ours(hook)))
            }
            _ => {}
        }
        let changed = length(list) != before;
        removed |= changed;
        !(changed && length(list) == Some(0))
    };
    match groups {
        Item::ArrayOfTables(groups) => {
            let mut kept = ArrayOfTables::new();
            for mut group in std::mem::take(groups) {
                if stays(&mut group) {
                    kept.push(group);
                }
            }
            *groups = kept;
        }
        Item::Value(Value::Array(groups)) => {
            let mut at = 0;
            while let Some(group) = groups.get_mut(at) {
                match group.as_inline_table_mut().is_none_or(|group| stays(group)) {
                    true => at += 1,
                    false => drop(groups.remove(at)),
                }
            }
        }
        _ => {}
    }
    removed
}

fn length(list: &Item) -> Option<usize> {
    match list {
        Item::ArrayOfTables(tables) => Some(tables.len()),
        Item::Value(Value::Array(array)) => Some(array.len()),
        _ => None,
    }
}

fn ours(hook: &dyn TableLike) -> bool {
    hook.get("command").and_then(Item::as_str).is_some_and(is_ours)
}

/// Our hooks: event and command.
pub(super) fn installed(text: &str) -> Result<Vec<(String, String)>, String> {
    let document = parse(text)?;
    let Some(hooks) = document.get("hooks") else { return Ok(Vec::new()) };
    let hooks = hooks.as_table_like().ok_or("'hooks' is not a table")?;
    let mut found = Vec::new();
    for (event, groups) in hooks.iter() {
        for group in tables(groups) {
            for hook in group.get("hooks").into_iter().flat_map(tables) {
                let command = hook.get("command").and_then(Item::as_str).unwrap_or_default();
                if is_ours(command) {
                    found.push((event.to_owned(), command.to_owned()));
                }
            }
        }
    }
    Ok(found)
}

/// The tables of a list, however it is written.
fn tables(list: &Item) -> Vec<&dyn TableLike> {
    match list {
        Item::ArrayOfTables(tables) => tables.iter().map(|table| -> &dyn TableLike { table }).collect(),
        Item::Value(Value::Array(array)) => {
            let tables = array.iter().filter_map(Value::as_inline_table);
            tables.map(|table| -> &dyn TableLike { table }).collect()
        }
        _ => Vec::new(),
    }
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        let text = "# mine\nmodel = \"x\"   # best\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\"\n\n[projects.\"/w\"]\ntrust_level = \"trusted\"\n";
        insta::assert_snapshot!(add(text, &["Stop", "Start"], "swb hook --event").unwrap(), @r#"
        # mine
        model = "x"   # best

        [[hooks.Stop]]
        [[hooks.Stop.hooks]]
        type = "command"
        command = "say done"

        [[hooks.Stop]]

        [[hooks.Stop.hooks]]
        type = "command"
        command = "swb hook --event"
        timeout = 5

        [[hooks.Start]]

        [[hooks.Start.hooks]]
        type = "command"
        command = "swb hook --event"
        timeout = 5

        [projects."/w"]
        trust_level = "trusted"
        "#);
    }

    #[test]
    fn inline_lists_stay_inline() {
        let text = "hooks = { Stop = [{ hooks = [{ type = \"command\", command = \"say done\" }] }] }\n";
        insta::assert_snapshot!(add(text, &["Stop", "Start"], "swb hook --event").unwrap(), @r#"
        hooks = { Stop = [{ hooks = [{ type = "command", command = "say done" }] }, { hooks = [{ type = "command", command = "swb hook --event", timeout = 5 }] }] , Start = [{ hooks = [{ type = "command", command = "swb hook --event", timeout = 5 }] }] }
        "#);
    }
}
