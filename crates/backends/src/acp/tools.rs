//! An agent's tool calls, translated to those of conversations.

use super::limits;
use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResourceResource, ToolCallContent, ToolCallId, ToolCallStatus,
    ToolCallUpdateFields, ToolKind as AcpKind,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use swb_chat::{Location, ToolCall, ToolContent, ToolId, ToolKind, ToolResult, ToolStatus};

/// The tool calls of one answer.
#[derive(Debug, Default)]
pub(super) struct AcpTools {
    open: BTreeMap<ToolId, AcpToolUse>,
    ended: EndedTool,
}

/// Ids of ended calls. Agents choose ids of any length, so only a digest is kept.
#[derive(Debug, Default)]
struct EndedTool {
    digests: BTreeSet<u64>,
    state: RandomState,
}

impl EndedTool {
    fn add(&mut self, id: &ToolId) {
        if self.digests.len() < limits::ENDED {
            self.digests.insert(self.state.hash_one(id));
        }
    }

    fn contains(&self, id: &ToolId) -> bool {
        self.digests.contains(&self.state.hash_one(id))
    }
}

#[derive(Debug)]
struct AcpToolUse {
    call: ToolCall,
    output: String,
    content: Vec<ToolContent>,
}

/// What to report after an update of a tool call.
#[derive(Debug, PartialEq)]
pub(super) enum ToolUpdate {
    /// A call began, or more is known about it.
    Called(ToolCall),
    /// Further output.
    Output(ToolId, String),
    /// The call ended.
    Ended(ToolResult),
}

impl AcpTools {
    /// A call that was announced and has not ended.
    pub(super) fn get(&self, id: &ToolCallId) -> Option<&ToolCall> {
        self.open.get(&tool_id(id)).map(|known| &known.call)
    }

    /// Handles an update of a tool call. `begins` if it announces the call. Updates of calls that were not announced or
    /// that have ended are ignored: some agents announce ended calls again.
    pub(super) fn hear(
        &mut self,
        id: &ToolCallId,
        fields: ToolCallUpdateFields,
        begins: bool,
    ) -> Vec<ToolUpdate> {
        let id = tool_id(id);
        let new = begins && !self.open.contains_key(&id) && !self.ended.contains(&id);
        if new && self.open.len() < limits::TOOLS {
            let known =
                AcpToolUse { call: unknown_named(id.clone()), output: String::new(), content: Vec::new() };
            self.open.insert(id.clone(), known);
        }
        let Some(known) = self.open.get_mut(&id) else { return Vec::new() };
        let mut updates = Vec::new();
        let before = known.call.clone();
        merge(&mut known.call, &fields);
        if begins || before != known.call {
            updates.push(ToolUpdate::Called(known.call.clone()));
        }
        if let Some(content) = &fields.content {
            let output = text_of(content);
            // Each update carries the whole content; only what was appended is new.
            let more = output.strip_prefix(known.output.as_str()).unwrap_or(&output);
            if !more.is_empty() && !is_over(fields.status) {
                updates.push(ToolUpdate::Output(id.clone(), more.to_owned()));
            }
            known.output = output;
            known.content = content.iter().filter_map(other_content).collect();
        }
        if is_over(fields.status)
            && let Some(known) = self.open.remove(&id)
        {
            self.ended.add(&id);
            updates.push(ToolUpdate::Ended(known.result(fields.status, fields.raw_output.as_ref())));
        }
        updates
    }
}

impl AcpToolUse {
    fn result(self, status: Option<ToolCallStatus>, raw: Option<&Value>) -> ToolResult {
        let output = match (self.output.is_empty() && self.content.is_empty(), raw) {
            (true, Some(Value::String(text))) => text.clone(),
            (true, Some(raw)) if !raw.is_null() => raw.to_string(),
            _ => self.output,
        };
        let failed = status == Some(ToolCallStatus::Failed);
        let error = failed.then(|| match output.lines().next() {
            Some(line) if !line.trim().is_empty() => super::agent_process::short(line),
            _ => "the agent reports that the tool failed".to_owned(),
        });
        let status = if failed { ToolStatus::Failed } else { ToolStatus::Completed };
        ToolResult { id: self.call.id, status, output, error, content: self.content }
    }
}

fn is_over(status: Option<ToolCallStatus>) -> bool {
    matches!(status, Some(ToolCallStatus::Completed | ToolCallStatus::Failed))
}

fn tool_id(id: &ToolCallId) -> ToolId {
    ToolId(id.to_string())
}

/// A call about which nothing is known.
pub(super) fn unknown(id: &ToolCallId) -> ToolCall {
    unknown_named(tool_id(id))
}

fn unknown_named(id: ToolId) -> ToolCall {
    let name = word(ToolKind::Other).to_owned();
    ToolCall {
        id,
        name,
        description: None,
        kind: ToolKind::Other,
        parameters: Value::Null,
        locations: Vec::new(),
    }
}

/// Merges an update into the call. A tool without a name is named after its kind: titles differ for every call.
pub(super) fn merge(call: &mut ToolCall, fields: &ToolCallUpdateFields) {
    let unnamed = call.name == word(call.kind);
    if let Some(kind) = fields.kind {
        call.kind = kind_of(kind);
    }
    match &fields.name {
        Some(name) => call.name.clone_from(name),
        None if unnamed => call.name = word(call.kind).to_owned(),
        None => {}
    }
    if let Some(title) = &fields.title {
        call.description = Some(title.clone());
    }
    if let Some(input) = fields.raw_input.as_ref().filter(|input| input.is_object()) {
        call.parameters.clone_from(input);
    }
    if let Some(locations) = &fields.locations {
        let location = |at: &agent_client_protocol_schema::v1::ToolCallLocation| Location {
            path: at.path.clone(),
            line: at.line,
        };
        call.locations = locations.iter().map(location).collect();
    }
}

fn kind_of(kind: AcpKind) -> ToolKind {
    match kind {
        AcpKind::Delete => ToolKind::Delete,
        AcpKind::Edit => ToolKind::Edit,
        AcpKind::Execute => ToolKind::Execute,
        AcpKind::Fetch => ToolKind::Fetch,
        AcpKind::Move => ToolKind::Move,
        AcpKind::Read => ToolKind::Read,
        AcpKind::Search => ToolKind::Search,
        AcpKind::Think => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

/// A name for a kind of tool.
pub(super) fn word(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Delete => "delete",
        ToolKind::Edit => "edit",
        ToolKind::Execute => "execute",
        ToolKind::Fetch => "fetch",
        ToolKind::Move => "move",
        ToolKind::Other => "tool",
        ToolKind::Read => "read",
        ToolKind::Search => "search",
        ToolKind::Think => "think",
    }
}

fn text_of(content: &[ToolCallContent]) -> String {
    let text = |content: &ToolCallContent| match content {
        ToolCallContent::Content(content) => Some(block_text(&content.content)),
        _ => None,
    };
    content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

fn other_content(content: &ToolCallContent) -> Option<ToolContent> {
    match content {
        ToolCallContent::Diff(diff) => Some(ToolContent::Diff {
            path: diff.path.clone(),
            old: diff.old_text.clone(),
            new: diff.new_text.clone(),
        }),
        ToolCallContent::Terminal(terminal) => {
            Some(ToolContent::Terminal { id: terminal.terminal_id.to_string() })
        }
        _ => None,
    }
}

/// The edits of files that an agent shows, as parameters of a tool. None if they are too large to be shown.
pub(super) fn diffs(fields: &ToolCallUpdateFields) -> Vec<Value> {
    let contents = fields.content.iter().flatten();
    let edits: Vec<_> = contents
        .filter_map(|content| match content {
            ToolCallContent::Diff(diff) => Some(diff),
            _ => None,
        })
        .collect();
    let bytes = |text: &str| text.len();
    let size: usize =
        edits.iter().map(|edit| bytes(&edit.new_text) + edit.old_text.as_deref().map_or(0, bytes)).sum();
    if size > limits::DIFF_BYTES {
        return Vec::new();
    }
    let edits = edits.iter().map(|edit| {
        serde_json::json!({"path": edit.path.to_string_lossy(), "old_text": edit.old_text, "new_text": edit.new_text})
    });
    edits.collect()
}

/// A content block as text; an image by its name, or its type if it has none.
pub(super) fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Image(image) => {
            let uri = image.uri.as_deref().unwrap_or_default();
            let name = uri.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&image.mime_type);
            format!("![{name}]({uri})")
        }
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::ResourceLink(link) => link.uri.clone(),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => text.text.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> ToolCallUpdateFields {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_tool_call_is_reported_from_begin_to_end() {
        let mut tools = AcpTools::default();
        let id = ToolCallId::new("c1");
        let begun = tools.hear(
            &id,
            fields(json!({"title": "Reading a", "kind": "read", "rawInput": {"path": "a"}})),
            true,
        );
        let [ToolUpdate::Called(call)] = begun.as_slice() else { panic!("{begun:?}") };
        assert_eq!((call.name.as_str(), call.description.as_deref()), ("read", Some("Reading a")));
        assert_eq!(call.parameters, json!({"path": "a"}));
        let text = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        let more = tools.hear(&id, fields(json!({"content": text("on")})), false);
        assert_eq!(more, [ToolUpdate::Output(ToolId("c1".into()), "on".into())]);
        let more = tools.hear(&id, fields(json!({"content": text("one")})), false);
        assert_eq!(more, [ToolUpdate::Output(ToolId("c1".into()), "e".into())]);
        let ended = tools.hear(&id, fields(json!({"status": "completed"})), false);
        assert_eq!(ended, [ToolUpdate::Ended(ToolResult::completed(ToolId("c1".into()), "one"))]);
        assert!(tools.hear(&id, fields(json!({"status": "completed"})), false).is_empty(), "it has ended");
        let again = fields(json!({"title": "Reading a", "kind": "read", "status": "completed"}));
        assert!(tools.hear(&id, again, true).is_empty(), "it does not begin again");
        assert_eq!(tools.hear(&ToolCallId::new("c2"), fields(json!({})), true).len(), 1);
    }

    #[test]
    fn a_tool_call_can_begin_and_end_in_one_update() {
        let mut tools = AcpTools::default();
        let all = json!({"kind": "edit", "name": "Edit", "status": "failed", "content": [
            {"type": "diff", "path": "/a", "oldText": "x", "newText": "y"},
            {"type": "content", "content": {"type": "text", "text": "no such line"}}]});
        let updates = tools.hear(&ToolCallId::new("c"), fields(all), true);
        let [ToolUpdate::Called(call), ToolUpdate::Ended(result)] = updates.as_slice() else {
            panic!("{updates:?}")
        };
        assert_eq!((call.name.as_str(), call.kind), ("Edit", ToolKind::Edit));
        assert_eq!(result.error.as_deref(), Some("no such line"));
        let diff = ToolContent::Diff { path: "/a".into(), old: Some("x".into()), new: "y".into() };
        assert_eq!(result.content, [diff]);
    }

    #[test]
    fn the_number_of_remembered_ended_calls_is_limited() {
        let mut tools = AcpTools::default();
        for number in 0..=limits::ENDED {
            let updates = tools.hear(
                &ToolCallId::new(number.to_string()),
                fields(json!({"status": "completed"})),
                true,
            );
            assert_eq!(updates.len(), 2, "{number}");
        }
        assert_eq!((tools.open.len(), tools.ended.digests.len()), (0, limits::ENDED));
    }

    #[test]
    fn unannounced_and_excess_tool_calls_are_ignored() {
        let mut tools = AcpTools::default();
        assert!(tools.hear(&ToolCallId::new("c"), fields(json!({"status": "completed"})), false).is_empty());
        for number in 0..limits::TOOLS {
            assert_eq!(tools.hear(&ToolCallId::new(number.to_string()), fields(json!({})), true).len(), 1);
        }
        assert!(tools.hear(&ToolCallId::new("one more"), fields(json!({})), true).is_empty());
    }
}
