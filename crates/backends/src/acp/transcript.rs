//! What was said before, for an agent that cannot remember it by itself.

use super::limits;
use swb_chat::{Message, Role};

/// The end of a conversation as text; nothing if nothing was said.
pub(super) fn of(history: &[Message]) -> Option<String> {
    let mut lines = Vec::new();
    let mut bytes = 0;
    for message in history.iter().rev() {
        let who = match message.role {
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::System => continue,
        };
        let line = format!("{who}: {}", message.text().trim());
        bytes += line.len();
        if bytes > limits::TRANSCRIPT {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    let begin =
        "This conversation began earlier. What was said in it, for you to know and not to answer:\n\n";
    let end = "\n\nThe user now says:\n\n";
    (!lines.is_empty()).then(|| format!("{begin}{}{end}", lines.join("\n\n")))
}
