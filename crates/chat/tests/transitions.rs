//! Every transition of the state table in the source document, from every state, by every event.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conversation;

use conversation::{A, B, C, TestConversation, tool};
use std::time::Duration;
use swb_chat::{
    Author, ChatEvent, ClientRole, Conversation, ConversationState, Ending, Message, Part, Refused, StreamId,
    ToolContent, ToolId, ToolResult, ToolStatus, limits,
};
use swb_types::Timestamp;

// ---- created, active, idle, stopping ----

// SS-49: Created -> Active by chat_send, Active -> Idle when the generation is complete, Idle -> Active again.
#[test]
fn a_prompt_makes_a_conversation_active_and_its_end_idle() {
    let mut conversation = TestConversation::new();
    assert_eq!(conversation.chat.state(), ConversationState::Created);
    for n in 0..3 {
        conversation.send("hello").unwrap();
        assert_eq!(
            (conversation.chat.state(), conversation.states()),
            (ConversationState::Active, vec![ConversationState::Active])
        );
        conversation.chat.text("hi");
        conversation.end(Ending::Complete);
        assert_eq!(
            (conversation.chat.state(), conversation.states()),
            (ConversationState::Idle, vec![ConversationState::Idle])
        );
        assert_eq!(conversation.chat.saved().messages.len(), 2 * (n + 1));
    }
}

// SS-55: Active -> Stopping by chat_stop, Stopping -> Idle when it has stopped; then it continues.
#[test]
fn a_stopped_conversation_becomes_idle() {
    let mut conversation = TestConversation::running();
    conversation.chat.text("as far as");
    assert!(conversation.chat.stop());
    assert_eq!(
        (conversation.chat.state(), conversation.states()),
        (ConversationState::Stopping, vec![ConversationState::Stopping])
    );
    assert!(conversation.chat.stop(), "a second stop is the same");
    assert_eq!(conversation.states(), []);
    conversation.end(Ending::Stopped);
    assert_eq!(
        (conversation.chat.state(), conversation.states()),
        (ConversationState::Idle, vec![ConversationState::Idle])
    );
    let last = conversation.chat.saved().messages.last().unwrap();
    assert_eq!((last.text().as_str(), &last.ending), ("as far as", &Ending::Stopped));
    conversation.send("again").unwrap();
    assert_eq!(conversation.chat.state(), ConversationState::Active);
}

// SS-55: with nothing running a stop has no effect.
#[test]
fn a_stop_without_a_generation_does_nothing() {
    let mut conversation = TestConversation::new();
    assert!(!conversation.chat.stop());
    assert_eq!((conversation.chat.state(), conversation.events()), (ConversationState::Created, vec![]));
    conversation.send("hello").unwrap();
    conversation.end(Ending::Complete);
    conversation.events();
    assert!(!conversation.chat.stop());
    assert_eq!((conversation.chat.state(), conversation.events()), (ConversationState::Idle, vec![]));
}

// SS-50: a running generation rejects another one, even while it is being stopped.
#[test]
fn there_is_one_generation_at_a_time() {
    let mut conversation = TestConversation::running();
    assert_eq!(conversation.send("more"), Err(Refused::Busy));
    conversation.chat.stop();
    assert_eq!(conversation.send("more"), Err(Refused::Busy));
    conversation.end(Ending::Stopped);
    assert_eq!(conversation.chat.saved().messages.len(), 2);
    assert_eq!(conversation.send("more"), Ok(()));
}

// SS-50
#[test]
fn an_empty_prompt_is_rejected() {
    for empty in ["", " ", "\n\t \r\n", "\u{3000}"] {
        let mut conversation = TestConversation::new();
        assert_eq!(conversation.send(empty), Err(Refused::Empty), "{empty:?}");
        assert_eq!((conversation.chat.state(), conversation.events()), (ConversationState::Created, vec![]));
    }
}

// An agent that fails leaves a conversation that can continue, with its text and the reason.
#[test]
fn a_failure_ends_like_any_end() {
    let mut conversation = TestConversation::running();
    conversation.chat.text("half");
    conversation.end(Ending::Failed("it crashed".into()));
    let events = conversation.events();
    let ended = ChatEvent::Ended { ending: Ending::Failed("it crashed".into()) };
    assert_eq!((conversation.chat.state(), events.last()), (ConversationState::Idle, Some(&ended)));
    assert_eq!(conversation.chat.saved().messages[1].ending, Ending::Failed("it crashed".into()));
    assert_eq!(conversation.send("again"), Ok(()));
}

// Output of an agent outside of a generation belongs to no answer.
#[test]
fn agent_output_outside_of_a_generation_is_dropped() {
    let mut conversation = TestConversation::new();
    for _ in 0..2 {
        conversation.chat.text("late");
        conversation.chat.thought("late");
        conversation.chat.tool_called(tool("t"));
        conversation.chat.tool_output(ToolId("t".into()), "late".into());
        conversation.chat.tool_ended(ToolResult::completed(ToolId("t".into()), "late"));
        conversation.chat.progress(swb_chat::Progress::default());
        conversation.chat.plan(Vec::new());
        assert_eq!(conversation.ask("auth-1"), Err(Refused::NotAsked));
        assert_eq!(conversation.question("question-1"), Err(Refused::NotAsked));
        conversation.end(Ending::Complete);
        assert_eq!(conversation.events(), []);
        conversation.send("hello").unwrap();
        conversation.end(Ending::Complete);
        conversation.events();
    }
    assert!(conversation.chat.saved().messages.iter().all(|message| !message.text().contains("late")));
}

// After a stop, an agent may send its last text, but it begins nothing new.
#[test]
fn a_stopped_agent_cannot_ask() {
    let mut conversation = TestConversation::running();
    conversation.chat.stop();
    conversation.events();
    assert_eq!(conversation.ask("auth-1"), Err(Refused::NotAsked));
    assert_eq!(conversation.question("question-1"), Err(Refused::NotAsked));
    assert_eq!((conversation.events(), conversation.chat.poll_timeout()), (vec![], None));
}

// SS-43: Active -> Deleted, Created -> Deleted: all clients are notified, and nothing stays pending.
#[test]
fn a_deletion_is_the_last_event() {
    let mut conversation = TestConversation::new();
    conversation.chat.delete();
    assert_eq!(conversation.events(), [ChatEvent::Deleted]);
    let mut conversation = TestConversation::running();
    let id = conversation.ask("auth-1").unwrap();
    conversation.events();
    conversation.end(Ending::Stopped);
    conversation.chat.delete();
    assert_eq!(conversation.events().last(), Some(&ChatEvent::Deleted));
    assert_eq!(conversation.chat.decide(&id, conversation::YES), Err(Refused::NotAsked));
    assert_eq!(conversation.chat.poll_timeout(), None);
}

// SS-56
#[test]
fn clearing_leaves_system_messages_and_needs_a_pause() {
    let mut conversation = TestConversation::running();
    assert_eq!(conversation.clear(), Err(Refused::Busy));
    conversation.chat.stop();
    assert_eq!(conversation.clear(), Err(Refused::Busy));
    conversation.end(Ending::Stopped);
    let mut saved = conversation.chat.saved().clone();
    saved.messages.insert(0, Message::text_of(9, Author::System, "be kind", Timestamp(0)));
    saved.resume = Some(serde_json::json!("thread"));
    conversation.chat = Conversation::restore(saved);
    conversation.clear().unwrap();
    assert_eq!(conversation.events(), [ChatEvent::Cleared]);
    let saved = conversation.chat.saved();
    assert_eq!(saved.messages.iter().map(|message| message.role).collect::<Vec<_>>(), [Author::System]);
    assert_eq!(saved.resume, None, "the agent's own memory of it is void, too");
    assert!(conversation.chat.take_changed());
}

// ---- clients ----

// SS-34, SS-35, SS-36
#[test]
fn the_next_client_becomes_the_owner() {
    let mut conversation = TestConversation::new();
    assert_eq!(conversation.chat.attach(B, false), Ok(ClientRole::Observer));
    assert_eq!(conversation.chat.attach(C, false), Ok(ClientRole::Observer));
    assert_eq!(conversation.chat.attach(B, false), Ok(ClientRole::Observer), "again is the same");
    assert_eq!(conversation.events(), [], "no other client owns it");
    conversation.chat.detach(A);
    assert_eq!((conversation.chat.owner(), conversation.events()), (Some(B), vec![ChatEvent::OwnerChanged]));
    conversation.chat.detach(C);
    assert_eq!((conversation.chat.owner(), conversation.events()), (Some(B), vec![]));
    conversation.chat.detach(C);
    assert_eq!(conversation.chat.attach(A, true), Ok(ClientRole::Owner));
    assert_eq!(
        (conversation.chat.role(B), conversation.events()),
        (Some(ClientRole::Observer), vec![ChatEvent::OwnerChanged])
    );
    conversation.chat.detach(A);
    conversation.chat.detach(B);
    assert_eq!(
        (conversation.chat.owner(), conversation.chat.role(A), conversation.chat.role(B)),
        (None, None, None)
    );
}

// A generation continues when all clients have detached, and its answer is stored for their return.
#[test]
fn a_generation_continues_without_clients() {
    let mut conversation = TestConversation::running();
    conversation.chat.detach(A);
    conversation.chat.text("for later");
    conversation.end(Ending::Complete);
    assert_eq!(conversation.chat.saved().messages[1].text(), "for later");
    assert_eq!(conversation.chat.attach(B, false), Ok(ClientRole::Owner));
}

#[test]
fn the_number_of_clients_is_limited() {
    let mut conversation = TestConversation::new();
    for n in 1..limits::CLIENTS {
        assert!(conversation.chat.attach(swb_chat::ClientId(100 + n as u64), false).is_ok());
    }
    assert!(matches!(conversation.chat.attach(B, true), Err(Refused::Limit(_))));
    assert_eq!(conversation.chat.owner(), Some(A));
}

// ---- streams ----

/// The answer's pieces: stream, text, last.
fn pieces(events: &[ChatEvent]) -> Vec<(StreamId, &str, bool)> {
    let found = events.iter().filter_map(|event| match event {
        ChatEvent::Text { stream, text, last } => Some((*stream, text.as_str(), *last)),
        _ => None,
    });
    found.collect()
}

// SS-52, SS-53
#[test]
fn pieces_are_of_one_stream_and_one_is_the_last() {
    let endings = [Ending::Complete, Ending::Stopped, Ending::Failed("x".into()), Ending::Interrupted];
    let mut streams = std::collections::BTreeSet::new();
    let mut conversation = TestConversation::new();
    for (n, ending) in endings.into_iter().enumerate() {
        conversation.send("hello").unwrap();
        for text in ["a", "", "bä", "c"].iter().take(n + 1) {
            conversation.chat.text(text);
        }
        conversation.chat.thought("hm");
        conversation.end(ending.clone());
        conversation.end(Ending::Complete);
        let events = conversation.events();
        let pieces = pieces(&events);
        assert!(pieces.iter().all(|piece| piece.0 == pieces[0].0), "{pieces:?}");
        let last: Vec<usize> =
            pieces.iter().enumerate().filter(|(_, piece)| piece.2).map(|(at, _)| at).collect();
        assert_eq!(last, [pieces.len() - 1], "{ending:?}");
        let text: String = pieces.iter().map(|piece| piece.1).collect();
        assert_eq!(text, conversation.chat.saved().messages.last().unwrap().text());
        let Some(ChatEvent::Began { stream, prompt }) = events.first() else { panic!("{events:?}") };
        assert_eq!(prompt, "hello");
        assert!(streams.insert(*stream) && streams.insert(pieces[0].0), "streams are distinguished");
        let ends = events.iter().filter(|event| matches!(event, ChatEvent::Ended { .. })).count();
        assert_eq!((ends, events.last()), (1, Some(&ChatEvent::Ended { ending })));
        // Another daemon resumes it.
        conversation.chat = Conversation::restore(conversation.chat.saved().clone());
    }
}

// SS-52: an empty answer has its last piece, too.
#[test]
fn an_empty_answer_has_a_last_piece() {
    let mut conversation = TestConversation::running();
    conversation.end(Ending::Complete);
    let events = conversation.events();
    assert_eq!(pieces(&events), [(StreamId(2), "", true)]);
}

// ---- tools ----

fn ends(events: &[ChatEvent]) -> Vec<(&str, ToolStatus)> {
    let found = events.iter().filter_map(|event| match event {
        ChatEvent::ToolEnded(result) => Some((result.id.0.as_str(), result.status)),
        _ => None,
    });
    found.collect()
}

// SS-57
#[test]
fn every_tool_has_one_end() {
    let mut conversation = TestConversation::running();
    for id in ["one", "two", "three"] {
        conversation.chat.tool_called(tool(id));
    }
    conversation.chat.tool_ended(ToolResult::completed(ToolId("two".into()), "fine"));
    conversation.chat.tool_ended(ToolResult::failed(ToolId("two".into()), "too late"));
    conversation.chat.tool_ended(ToolResult::completed(ToolId("unknown".into()), "?"));
    assert_eq!(ends(&conversation.events()), [("two", ToolStatus::Completed)]);
    conversation.end(Ending::Stopped);
    let events = conversation.events();
    assert_eq!(ends(&events), [("one", ToolStatus::Failed), ("three", ToolStatus::Failed)]);
    let last_end = events.iter().rposition(|event| matches!(event, ChatEvent::ToolEnded(_))).unwrap();
    let last_piece =
        events.iter().position(|event| matches!(event, ChatEvent::Text { last: true, .. })).unwrap();
    assert!(last_end < last_piece, "nothing of an answer comes after its last piece");
    let parts = &conversation.chat.saved().messages[1].parts;
    assert!(parts.iter().all(|part| matches!(part, Part::Tool { result: Some(_), .. })), "{parts:?}");
}

// A call that is announced again is still one call, with one end, in its first position.
#[test]
fn a_tool_call_announced_twice_is_one() {
    let mut conversation = TestConversation::running();
    conversation.chat.tool_called(tool("one"));
    conversation.chat.text("between");
    let mut more = tool("one");
    more.description = Some("Reading main.rs".into());
    conversation.chat.tool_called(more.clone());
    conversation.chat.tool_ended(ToolResult::completed(ToolId("one".into()), "fine"));
    conversation.events();
    conversation.chat.tool_called(more.clone());
    assert_eq!(conversation.events(), [], "what has ended is not reported any more");
    conversation.end(Ending::Complete);
    let [Part::Tool { call, result }, Part::Text(_)] = &conversation.chat.saved().messages[1].parts[..]
    else {
        panic!("{:?}", conversation.chat.saved().messages[1].parts)
    };
    assert_eq!((call, result.as_ref().unwrap().output.as_str()), (&more, "fine"));
}

// ---- limits ----

#[test]
fn a_long_tool_result_is_cut_in_the_middle() {
    let mut conversation = TestConversation::running();
    conversation.chat.tool_called(tool("one"));
    let long = format!("begin{}end", "ä".repeat(limits::TOOL_BYTES));
    let mut ended = ToolResult::completed(ToolId("one".into()), long.clone());
    let diff = ToolContent::Diff { path: "/w/f".into(), old: Some(long.clone()), new: long };
    ended.content = vec![diff; limits::TOOL_CONTENT + 1];
    conversation.chat.tool_ended(ended);
    let events = conversation.events();
    let Some(ChatEvent::ToolEnded(result)) = events.last() else { panic!("{events:?}") };
    assert!(result.size() < (limits::TOOL_BYTES + 100) * (1 + 2 * limits::TOOL_CONTENT));
    assert!(result.output.len() < limits::TOOL_BYTES + 100);
    assert!(result.output.starts_with("begin") && result.output.ends_with("end"));
    assert!(result.output.contains("bytes left out"));
}

// Text beyond the limit of a message is sent, and what is stored has no gap.
#[test]
fn the_beginning_of_a_long_answer_is_kept() {
    let mut conversation = TestConversation::running();
    let most = "x".repeat(limits::MESSAGE_BYTES - 10);
    conversation.chat.text(&most);
    conversation.chat.text("longer than the ten bytes left");
    conversation.chat.text("short");
    conversation.end(Ending::Complete);
    let events = conversation.events();
    // The long one is sent in pieces that fit any client's frame.
    assert_eq!(pieces(&events).len(), limits::MESSAGE_BYTES / limits::PIECE + 3);
    assert_eq!(conversation.chat.saved().messages[1].text().len(), most.len());
}

// An agent that never stops calling tools fills no memory; each announced call has an end.
#[test]
fn the_number_of_tool_calls_is_limited() {
    let mut conversation = TestConversation::running();
    for n in 0..limits::PARTS + 10 {
        conversation.chat.tool_called(tool(&n.to_string()));
    }
    conversation.end(Ending::Complete);
    let events = conversation.events();
    let told = events.iter().filter(|event| matches!(event, ChatEvent::ToolCalled(_))).count();
    assert_eq!((told, ends(&events).len()), (limits::PARTS, limits::PARTS));
    assert_eq!(conversation.chat.saved().messages[1].parts.len(), limits::PARTS);
}

#[test]
fn the_oldest_messages_are_dropped() {
    let mut conversation = TestConversation::new();
    let long = "x".repeat(limits::CONVERSATION_BYTES / 4);
    for n in 0..8 {
        conversation.send(&format!("{n}{long}")).unwrap();
        conversation.end(Ending::Complete);
    }
    let messages = &conversation.chat.saved().messages;
    let bytes: usize = messages.iter().map(Message::size).sum();
    assert!(bytes <= limits::CONVERSATION_BYTES && messages.len() < 16);
    assert_eq!(messages.last().unwrap().number, 16, "numbers are not used again");
    let mut saved = conversation.chat.saved().clone();
    saved.messages =
        (1..=limits::MESSAGES as u64).map(|n| Message::text_of(n, Author::User, "x", Timestamp(0))).collect();
    conversation.chat = Conversation::restore(saved);
    conversation.send("one more").unwrap();
    conversation.end(Ending::Complete);
    let messages = &conversation.chat.saved().messages;
    assert_eq!((messages.len(), messages[0].number), (limits::MESSAGES, 3));
}

// ---- what is stored ----

// SS-44: the default title is the beginning of the first prompt.
#[test]
fn the_first_prompt_is_the_default_title() {
    let mut conversation = TestConversation::new();
    conversation.send("  Parse JSON\nquickly").unwrap();
    assert_eq!(conversation.chat.saved().title, "Parse JSON");
    conversation.end(Ending::Complete);
    let now = conversation.now();
    conversation.chat.rename(&"ä".repeat(500), now);
    assert_eq!(conversation.chat.saved().title, "ä".repeat(limits::TITLE));
    conversation.send("something else").unwrap();
    assert_eq!(conversation.chat.saved().title, "ä".repeat(limits::TITLE));
}

// SS-46: a stored conversation continues where it was.
#[test]
fn a_stored_conversation_continues() {
    let mut conversation = TestConversation::running();
    conversation.chat.text("hi");
    conversation.pass(Duration::from_secs(5));
    conversation.end(Ending::Complete);
    let saved = conversation.chat.saved().clone();
    assert_eq!((saved.created, saved.updated), (Timestamp(1000), Timestamp(6000)));
    let text = serde_json::to_string(&saved).unwrap();
    let mut again = Conversation::restore(serde_json::from_str(&text).unwrap());
    assert_eq!((again.saved(), again.state()), (&saved, ConversationState::Idle));
    assert!(!again.take_changed() && again.owner().is_none());
    again.send("more".into(), conversation.now()).unwrap();
    assert_eq!(again.saved().messages.last().unwrap().number, 3);
}

// SS-44: an answer in progress is stored only when it is complete.
#[test]
fn an_incomplete_answer_is_not_stored() {
    let mut conversation = TestConversation::running();
    conversation.chat.text("half");
    assert_eq!(conversation.chat.saved().messages.len(), 1);
    assert_eq!(conversation.chat.unfinished().unwrap().text(), "half");
    assert!(conversation.chat.take_changed() && !conversation.chat.take_changed());
    conversation.end(Ending::Complete);
    assert!(conversation.chat.take_changed() && conversation.chat.unfinished().is_none());
}
