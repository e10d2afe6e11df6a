//! The messages of a conversation, as many as fit into a line.

use crate::limits;
use swb_chat::{Ending, Message};
use swb_wire::scriptschnell::{HistoryItem, Time, text_len};

/// The newest messages that fit into `room` bytes of a line, oldest first, and whether some were left out. Subtracts
/// their length from `room`.
pub(super) fn latest(messages: &[Message], room: &mut usize) -> (Vec<HistoryItem>, bool) {
    let mut items = Vec::new();
    for message in messages.iter().rev() {
        let mut content = message.text();
        let mut takes = text_len(&content) + limits::HISTORY_AROUND;
        if takes > *room && items.is_empty() && *room > limits::HISTORY_AROUND {
            // If the newest one does not fit, its beginning is better than nothing; JSON expands a byte to six at worst.
            content.truncate(content.floor_char_boundary((*room - limits::HISTORY_AROUND) / 6));
            takes = text_len(&content) + limits::HISTORY_AROUND;
            *room -= takes;
            return (vec![item(message, content)], true);
        }
        let Some(left) = room.checked_sub(takes) else {
            items.reverse();
            return (items, true);
        };
        *room = left;
        items.push(item(message, content));
    }
    items.reverse();
    (items, false)
}

fn item(message: &Message, content: String) -> HistoryItem {
    let ending = match message.ending {
        Ending::Complete => None,
        Ending::Failed(_) => Some("failed"),
        Ending::Interrupted => Some("interrupted"),
        Ending::Stopped => Some("stopped"),
    };
    let (role, timestamp) = (message.role.as_str().to_owned(), Time(message.at));
    HistoryItem { role, content, timestamp, ending: ending.map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_chat::Author;
    use swb_types::Timestamp;

    fn answers(texts: &[&str]) -> Vec<Message> {
        let message = |(at, text): (usize, &&str)| {
            Message::text_of(at as u64 + 1, Author::User, *text, Timestamp(at as u64))
        };
        texts.iter().enumerate().map(message).collect()
    }

    // SS-41, SS-45
    #[test]
    fn the_oldest_messages_are_left_out_if_not_all_fit() {
        let messages = answers(&["one", "two\n", "three"]);
        let mut room = 10_000;
        let (all, cut) = latest(&messages, &mut room);
        assert!(!cut && all.len() == 3 && all[0].content == "one");
        let json = serde_json::to_string(&all).unwrap();
        assert!(json.len() <= 10_000 - room, "{} {room}", json.len());
        let mut room = 2 * limits::HISTORY_AROUND + 10;
        let (some, cut) = latest(&messages, &mut room);
        assert!(cut && some.len() == 2 && some[0].content == "two\n");
        let (none, cut) = latest(&messages, &mut 100);
        assert!(cut && none.is_empty());
        let long = "ü".repeat(1000);
        let (start, cut) = latest(&answers(&["a", &long]), &mut (limits::HISTORY_AROUND + 601));
        assert!(cut && start.len() == 1 && start[0].content == "ü".repeat(50));
    }
}
