//! The earlier conversation as text, for an agent that cannot load its session.

use super::limits;
use swb_chat::{Author, Message};

/// The end of a conversation as text; `None` if it is empty.
pub(super) fn of(history: &[Message]) -> Option<String> {
    let mut lines = Vec::new();
    let mut room = limits::TRANSCRIPT;
    for message in history.iter().rev() {
        let who = match message.role {
            Author::User => "User",
            Author::Assistant => "Assistant",
            Author::System => continue,
        };
        let line = format!("{who}: {}", message.text().trim());
        if line.len() > room {
            // Always include at least the end of the last message: without it the rest is useless.
            if lines.is_empty() {
                let from = line.ceil_char_boundary(line.len() - room);
                lines.push(format!("{who}: […] {}", &line[from..]));
            }
            break;
        }
        room -= line.len();
        lines.push(line);
    }
    lines.reverse();
    let begin =
        "This conversation began earlier. What was said in it, for you to know and not to answer:\n\n";
    let end = "\n\nThe user now says:\n\n";
    (!lines.is_empty()).then(|| format!("{begin}{}{end}", lines.join("\n\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_types::Timestamp;

    fn said(role: Author, text: &str) -> Message {
        Message::text_of(1, role, text, Timestamp(0))
    }

    #[test]
    fn the_transcript_has_the_end_of_the_conversation() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[said(Author::System, "be kind")]), None);
        let text = of(&[said(Author::User, "hello"), said(Author::Assistant, "good day\n")]).unwrap();
        assert!(text.contains("User: hello\n\nAssistant: good day\n\nThe user now says:"), "{text}");
    }

    #[test]
    fn the_oldest_messages_are_left_out_first() {
        let long = "x".repeat(limits::TRANSCRIPT / 2);
        let text =
            of(&[said(Author::User, &long), said(Author::User, &long), said(Author::User, "last")]).unwrap();
        assert!(text.len() < limits::TRANSCRIPT && text.contains("User: last"));
    }

    #[test]
    fn the_last_message_is_cut_at_its_beginning() {
        let long = "é".repeat(limits::TRANSCRIPT);
        let text =
            of(&[said(Author::User, "hello"), said(Author::Assistant, &format!("{long} end"))]).unwrap();
        assert!(text.contains("Assistant: […] é") && text.contains("é end\n\nThe user now says:"));
        assert!(text.len() < limits::TRANSCRIPT + 200 && !text.contains("hello"), "{}", text.len());
    }
}
