//! Splits conversations into pages that fit into a reply.

use super::items::{clipped, shortened};
use crate::limits;
use std::fmt;
use swb_chat::{Ending, Message, Part, ToolCall, ToolResult, ToolStatus};
use swb_wire::control::{MessageItem, PartItem};

/// A position in a conversation: the number of a message, a part of it, a byte of the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PageCursor {
    number: u64,
    part: usize,
    byte: usize,
}

impl PageCursor {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.');
        let cursor = Self {
            number: numbers.next()?.parse().ok()?,
            part: numbers.next()?.parse().ok()?,
            byte: numbers.next()?.parse().ok()?,
        };
        numbers.next().is_none().then_some(cursor)
    }
}

impl fmt::Display for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.number, self.part, self.byte)
    }
}

/// The messages from a position on that fit into the room, and the position of the rest.
pub(super) fn page(
    messages: &[Message],
    from: PageCursor,
    room: usize,
) -> (Vec<MessageItem>, Option<PageCursor>) {
    let mut left = room;
    let mut page = Vec::new();
    for message in messages.iter().filter(|message| message.number >= from.number) {
        let start = match message.number == from.number {
            true => from,
            false => PageCursor { number: message.number, ..PageCursor::default() },
        };
        if left < limits::PAGE_OVERHEAD * 2 && !page.is_empty() {
            return (page, Some(start));
        }
        left = left.saturating_sub(limits::PAGE_OVERHEAD);
        let (item, next) = piece(message, start, &mut left, room);
        page.push(item);
        if next.is_some() {
            return (page, next);
        }
    }
    (page, None)
}

/// As much of a message as fits, at least a piece of it.
fn piece(
    message: &Message,
    from: PageCursor,
    left: &mut usize,
    room: usize,
) -> (MessageItem, Option<PageCursor>) {
    let (ending, error) = ending(&message.ending);
    let mut item = MessageItem {
        number: message.number,
        role: message.role.as_str().to_owned(),
        at: message.at.0,
        ending: ending.to_owned(),
        error,
        parts: Vec::new(),
        continued: from.part > 0 || from.byte > 0,
        part_continued: from.byte > 0,
    };
    for (number, part) in message.parts.iter().enumerate().skip(from.part) {
        let byte = if number == from.part { from.byte } else { 0 };
        let here = PageCursor { number: message.number, part: number, byte };
        if *left < limits::PAGE_OVERHEAD && !item.parts.is_empty() {
            return (item, Some(here));
        }
        let (shown, end) = match part {
            Part::Text(text) => cut_text(text, byte, *left, |text| PartItem::Text { text }),
            Part::Thought(text) => cut_text(text, byte, *left, |text| PartItem::Thought { text }),
            Part::Tool { call, result } => (tool(call, result.as_ref(), room / 4), None),
            Part::Attachment(attachment) => {
                let name =
                    attachment.name.as_deref().map(|name| clipped(name, limits::PAGE_OVERHEAD).to_owned());
                let mime_type = clipped(&attachment.mime_type, limits::PAGE_OVERHEAD).to_owned();
                (PartItem::Attachment { mime_type, name }, None)
            }
        };
        let size = size(&shown);
        if size > *left && !item.parts.is_empty() {
            return (item, Some(here));
        }
        *left = left.saturating_sub(size + limits::PAGE_OVERHEAD);
        item.parts.push(shown);
        if let Some(byte) = end {
            return (item, Some(PageCursor { byte, ..here }));
        }
    }
    (item, None)
}

/// A text from a byte on, and the position of the rest if it does not fit.
fn cut_text(
    text: &str,
    from: usize,
    left: usize,
    make: impl FnOnce(String) -> PartItem,
) -> (PartItem, Option<usize>) {
    let from = text.floor_char_boundary(from);
    let piece = clipped(&text[from..], left.max(limits::PAGE_OVERHEAD));
    let end = from + piece.len();
    (make(piece.to_owned()), (end < text.len()).then_some(end))
}

fn tool(call: &ToolCall, result: Option<&ToolResult>, most: usize) -> PartItem {
    let mut cut = false;
    let parameters = shortened(&call.parameters, most / 4, limits::SHOWN_DEPTH, &mut cut);
    let said = result.map_or("", |result| match &result.error {
        Some(error) if result.output.is_empty() => error,
        _ => &result.output,
    });
    let output = clipped(said, most);
    PartItem::Tool {
        name: clipped(&call.name, limits::PAGE_OVERHEAD).to_owned(),
        description: call
            .description
            .as_deref()
            .map(|text| clipped(text, 4 * limits::PAGE_OVERHEAD).to_owned()),
        parameters,
        status: result.map(|result| {
            let status = match result.status {
                ToolStatus::Completed => "completed",
                ToolStatus::Failed => "failed",
            };
            status.to_owned()
        }),
        cut: cut || output.len() < said.len(),
        output: output.to_owned(),
    }
}

fn ending(ending: &Ending) -> (&'static str, Option<String>) {
    match ending {
        Ending::Complete => ("complete", None),
        Ending::Failed(error) => ("failed", Some(clipped(error, 4 * limits::PAGE_OVERHEAD).to_owned())),
        Ending::Interrupted => ("interrupted", None),
        Ending::Stopped => ("stopped", None),
    }
}

fn size(part: &PartItem) -> usize {
    match part {
        PartItem::Text { text } | PartItem::Thought { text } => text.len(),
        PartItem::Tool { parameters, output, .. } => output.len() + parameters.to_string().len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_chat::{Author, ToolId, ToolKind};
    use swb_types::Timestamp;
    use swb_wire::control::ConversationReply;

    fn messages() -> Vec<Message> {
        let call = ToolCall {
            id: ToolId("t".into()),
            name: "read".into(),
            description: None,
            kind: ToolKind::Read,
            parameters: serde_json::json!({"path": "x".repeat(3000)}),
            locations: Vec::new(),
        };
        let result = Some(ToolResult::completed(ToolId("t".into()), "o".repeat(9000)));
        let mut long = Message::text_of(2, Author::Assistant, "ä€x".repeat(4000), Timestamp(2));
        long.parts.push(Part::Thought("hm ".repeat(3000)));
        long.parts.push(Part::Tool { call, result });
        long.parts.push(Part::Text("end".into()));
        let mut all = vec![Message::text_of(1, Author::User, "hello", Timestamp(1)), long];
        all.extend((5..50).map(|n| Message::text_of(n, Author::User, format!("short {n}"), Timestamp(n))));
        all
    }

    #[test]
    fn pages_contain_the_whole_conversation() {
        let messages = messages();
        let (whole, next) = page(&messages, PageCursor::default(), 1 << 30);
        assert_eq!((whole.len(), next), (messages.len(), None));
        for room in [limits::PAGE_LEAST, limits::PAGE_LEAST + 777, 3 * limits::PAGE_LEAST, 100_000] {
            let mut all = ConversationReply::default();
            let mut cursor = PageCursor::default();
            let mut pages = 0;
            loop {
                let (messages, next) = page(&messages, cursor, room);
                let length: usize = messages.iter().flat_map(|one| &one.parts).map(size).sum();
                assert!(length <= room, "{length} of {room}");
                all.extend(ConversationReply { messages, ..ConversationReply::default() });
                pages += 1;
                let Some(next) = next else { break };
                assert_eq!(PageCursor::parse(&next.to_string()), Some(next));
                assert!(next != cursor && pages < 100);
                cursor = next;
            }
            let texts = |list: &[MessageItem]| -> Vec<Vec<PartItem>> {
                let plain = |part: &PartItem| !matches!(part, PartItem::Tool { .. });
                list.iter()
                    .map(|one| one.parts.iter().filter(|part| plain(part)).cloned().collect())
                    .collect()
            };
            assert_eq!(texts(&all.messages), texts(&whole), "{room}");
            assert!(all.messages[1].parts.len() == 4 && (pages > 3 || room > 3 * limits::PAGE_LEAST));
        }
    }

    #[test]
    fn invalid_positions_cause_no_panic() {
        for bad in ["", "1", "1.2", "1.2.3.4", "a.b.c", "-1.0.0", "99999999999999999999999.0.0"] {
            assert_eq!(PageCursor::parse(bad), None, "{bad}");
        }
        let messages = messages();
        for odd in ["2.0.1", "2.99.0", "3.1.7", "99.0.0", "2.0.99999999", "18446744073709551615.0.0"] {
            page(&messages, PageCursor::parse(odd).unwrap(), limits::PAGE_LEAST);
        }
    }
}
