//! Edits among the parameters of a tool, shown as a diff.
//!
//! Agents name the texts before and after an edit differently; [`edits`] knows the names that are in use. What is not part
//! of an edit is returned, so that everything that is approved is shown.

use crate::event::text;
use crate::limits;
use crate::text::{Colour, StyledLine, TextStyle};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

/// Names of the text before and of the text after an edit.
const TEXTS: [[&str; 2]; 4] =
    [["old_text", "new_text"], ["old_string", "new_string"], ["oldText", "newText"], ["old_str", "new_str"]];
/// Names of the file that is edited.
const PATHS: [&str; 5] = ["path", "file_path", "filePath", "abs_path", "notebook_path"];
/// Names of lists of edits.
const LISTS: [&str; 2] = ["changes", "edits"];
/// Unchanged lines shown around those that change.
const CONTEXT: usize = 3;

/// An edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    path: Option<String>,
    old: String,
    new: String,
}

/// The edits among the parameters as lines, and the other parameters; `None` if there is no edit.
pub(super) fn edits(parameters: &Value) -> Option<(Vec<StyledLine>, Value)> {
    let mut rest = parameters.as_object().filter(|all| names_one_file(all))?.clone();
    let path = PATHS.iter().find_map(|key| rest.get(*key)).map(text);
    let mut found: Vec<Edit> = taken(&mut rest, path.as_deref()).into_iter().collect();
    for key in LISTS {
        let Some(listed) = rest.get(key).and_then(Value::as_array) else { continue };
        let edits = listed.iter().map(|item| {
            let mut item = item.as_object().filter(|item| names_one_file(item))?.clone();
            let edit = taken(&mut item, path.as_deref())?;
            // A list with more in it than edits is shown as it is.
            item.keys().all(|key| PATHS.contains(&key.as_str())).then_some(edit)
        });
        if let Some(edits) = edits.collect::<Option<Vec<_>>>().filter(|edits| !edits.is_empty()) {
            found.extend(edits);
            rest.remove(key);
        }
    }
    if found.is_empty() {
        return None;
    }
    if found.iter().any(|edit| edit.path == path) {
        PATHS.iter().for_each(|key| drop(rest.remove(*key)));
    }
    Some((found.iter().flat_map(lines).collect(), Value::Object(rest)))
}

/// Whether parameters name no two files under different names: only the tool knows which of them it would change, so both
/// have to be seen.
fn names_one_file(parameters: &Map<String, Value>) -> bool {
    let mut paths = PATHS.iter().filter_map(|key| parameters.get(*key));
    paths.next().is_none_or(|first| paths.all(|other| other == first))
}

/// Takes an edit out of parameters.
fn taken(from: &mut Map<String, Value>, path: Option<&str>) -> Option<Edit> {
    let own = PATHS.iter().find_map(|key| from.get(*key)).map(text);
    let path = own.or_else(|| path.map(str::to_owned));
    for [old, new] in TEXTS {
        let (Some(Value::String(after)), before) = (from.get(new), from.get(old)) else { continue };
        let before = match before {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(_) => continue,
        };
        let edit = Edit { path, old: before, new: after.clone() };
        from.remove(old);
        from.remove(new);
        return Some(edit);
    }
    // A file that is written has no text before, as far as is known here.
    let Some(Value::String(content)) = from.get("content").filter(|_| path.is_some()) else { return None };
    let edit = Edit { path, old: String::new(), new: content.clone() };
    from.remove("content");
    Some(edit)
}

/// An edit with the file's name above it.
fn lines(edit: &Edit) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let diff = TextDiff::configure().timeout(limits::DIFF_TIME).diff_lines(&edit.old, &edit.new);
    let (mut added, mut removed) = (0_usize, 0_usize);
    let mut body = Vec::new();
    for (n, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if n > 0 {
            body.push(StyledLine::new(TextStyle::DIM, "  ⋯"));
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let (mark, style) = match change.tag() {
                ChangeTag::Delete => ("-", TextStyle::of(Colour::Red)),
                ChangeTag::Equal => (" ", TextStyle::PLAIN),
                ChangeTag::Insert => ("+", TextStyle::of(Colour::Green)),
            };
            added += usize::from(change.tag() == ChangeTag::Insert);
            removed += usize::from(change.tag() == ChangeTag::Delete);
            let line = change.value().trim_end_matches('\n');
            body.push(StyledLine::new(style, &format!("  {mark} {line}")).hanging(4).verbatim());
        }
    }
    let path = edit.path.as_deref().unwrap_or("text");
    lines.push(
        StyledLine::new(TextStyle::PLAIN, "  ")
            .with(TextStyle::BOLD, path)
            .with(TextStyle::of(Colour::Green), &format!("  +{added}"))
            .with(TextStyle::of(Colour::Red), &format!(" -{removed}"))
            .hanging(2),
    );
    lines.extend(body);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(parameters: &Value) -> Option<(String, Value)> {
        let (lines, rest) = edits(parameters)?;
        Some((lines.iter().map(StyledLine::plain).collect::<Vec<_>>().join("\n"), rest))
    }

    #[test]
    fn an_edit_is_a_diff_under_the_name_of_its_file() {
        let (text, rest) = shown(&json!({
            "path": "a.rs", "old_text": "one\ntwo\nthree\n", "new_text": "one\n2\nthree\n", "all": true,
        }))
        .unwrap();
        insta::assert_snapshot!(text, @r"
          a.rs  +1 -1
            one
          - two
          + 2
            three
        ");
        assert_eq!(rest, json!({"all": true}), "everything else is shown beside it");
        let (lines, _) = edits(&json!({"file_path": "x", "old_string": "a", "new_string": "b"})).unwrap();
        assert_eq!(lines[1].fold(80)[0].ansi(true), "\x1b[31m  - a\x1b[m");
        assert_eq!(lines[2].fold(80)[0].ansi(true), "\x1b[32m  + b\x1b[m");
    }

    #[test]
    fn several_edits_and_new_files_are_shown() {
        let (text, rest) = shown(&json!({"file_path": "x", "edits": [
            {"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""},
        ]}))
        .unwrap();
        assert_eq!((text.as_str(), rest), ("  x  +1 -1\n  - a\n  + b\n  x  +0 -1\n  - c", json!({})));
        let (text, _) = shown(&json!({"path": "new", "content": "one\ntwo\n"})).unwrap();
        assert_eq!(text, "  new  +2 -0\n  + one\n  + two");
        let (text, _) =
            shown(&json!({"changes": [{"path": "y", "old_text": null, "new_text": "z"}]})).unwrap();
        assert_eq!(text, "  y  +1 -0\n  + z");
    }

    #[test]
    fn other_parameters_are_no_edits() {
        for other in [json!(null), json!({"command": "ls"}), json!({"content": "x"}), json!({"edits": [1]})] {
            assert_eq!(edits(&other), None, "{other}");
        }
        for decoy in [
            json!({"path": "notes", "file_path": ".bashrc", "old_string": "a", "new_string": "b"}),
            json!({"edits": [{"path": "notes", "file_path": ".bashrc", "old_string": "a", "new_string": "b"}]}),
        ] {
            assert_eq!(edits(&decoy), None, "no file is hidden behind another");
        }
        let same = json!({"path": "x", "file_path": "x", "old_string": "a", "new_string": "b"});
        assert_eq!(shown(&same).unwrap().1, json!({}));
        let odd = json!({"path": "x", "edits": [{"old_text": "a", "new_text": "b", "mode": 7}]});
        assert_eq!(edits(&odd), None, "nothing is hidden");
    }

    #[test]
    fn unchanged_lines_far_away_are_left_out() {
        let old: String = (0..40).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 5\n", "LINE 5\n").replace("line 30\n", "");
        let (text, _) = shown(&json!({"path": "x", "old_text": old, "new_text": new})).unwrap();
        assert!(text.contains("\n  ⋯\n") && !text.contains("line 15"), "{text}");
    }
}
