//! Every transition of the state table in the source document, from every state, by every event.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod talk;

use std::time::Duration;
use swb_chat::{
    Author, ChatEvent, ClientRole, Conversation, ConversationState, Ending, Message, Part, Refused, StreamId,
    ToolContent, ToolId, ToolResult, ToolStatus, limits,
};
use swb_types::Timestamp;
use talk::{A, B, C, Talk, tool};

// ---- created, active, idle, stopping ----

// SS-49: Created -> Active by chat_send, Active -> Idle when the generation is complete, Idle -> Active again.
#[test]
fn a_prompt_makes_a_conversation_active_and_its_end_idle() {
    let mut talk = Talk::new();
    assert_eq!(talk.chat.state(), ConversationState::Created);
    for n in 0..3 {
        talk.send("hello").unwrap();
        assert_eq!(
            (talk.chat.state(), talk.states()),
            (ConversationState::Active, vec![ConversationState::Active])
        );
        talk.chat.text("hi");
        talk.end(Ending::Complete);
        assert_eq!(
            (talk.chat.state(), talk.states()),
            (ConversationState::Idle, vec![ConversationState::Idle])
        );
        assert_eq!(talk.chat.saved().messages.len(), 2 * (n + 1));
    }
}

// SS-55: Active -> Stopping by chat_stop, Stopping -> Idle when it has stopped; then it continues.
#[test]
fn a_stopped_conversation_becomes_idle() {
    let mut talk = Talk::running();
    talk.chat.text("as far as");
    assert!(talk.chat.stop());
    assert_eq!(
        (talk.chat.state(), talk.states()),
        (ConversationState::Stopping, vec![ConversationState::Stopping])
    );
    assert!(talk.chat.stop(), "a second stop is the same");
    assert_eq!(talk.states(), []);
    talk.end(Ending::Stopped);
    assert_eq!((talk.chat.state(), talk.states()), (ConversationState::Idle, vec![ConversationState::Idle]));
    let last = talk.chat.saved().messages.last().unwrap();
    assert_eq!((last.text().as_str(), &last.ending), ("as far as", &Ending::Stopped));
    talk.send("again").unwrap();
    assert_eq!(talk.chat.state(), ConversationState::Active);
}

// SS-55: with nothing running a stop has no effect.
#[test]
fn a_stop_without_a_generation_does_nothing() {
    let mut talk = Talk::new();
    assert!(!talk.chat.stop());
    assert_eq!((talk.chat.state(), talk.events()), (ConversationState::Created, vec![]));
    talk.send("hello").unwrap();
    talk.end(Ending::Complete);
    talk.events();
    assert!(!talk.chat.stop());
    assert_eq!((talk.chat.state(), talk.events()), (ConversationState::Idle, vec![]));
}

// SS-50: a running generation rejects another one, even while it is being stopped.
#[test]
fn there_is_one_generation_at_a_time() {
    let mut talk = Talk::running();
    assert_eq!(talk.send("more"), Err(Refused::Busy));
    talk.chat.stop();
    assert_eq!(talk.send("more"), Err(Refused::Busy));
    talk.end(Ending::Stopped);
    assert_eq!(talk.chat.saved().messages.len(), 2);
    assert_eq!(talk.send("more"), Ok(()));
}

// SS-50
#[test]
fn an_empty_prompt_is_rejected() {
    for empty in ["", " ", "\n\t \r\n", "\u{3000}"] {
        let mut talk = Talk::new();
        assert_eq!(talk.send(empty), Err(Refused::Empty), "{empty:?}");
        assert_eq!((talk.chat.state(), talk.events()), (ConversationState::Created, vec![]));
    }
}

// An agent that fails leaves a conversation that can continue, with its text and the reason.
#[test]
fn a_failure_ends_like_any_end() {
    let mut talk = Talk::running();
    talk.chat.text("half");
    talk.end(Ending::Failed("it crashed".into()));
    let events = talk.events();
    let ended = ChatEvent::Ended { ending: Ending::Failed("it crashed".into()) };
    assert_eq!((talk.chat.state(), events.last()), (ConversationState::Idle, Some(&ended)));
    assert_eq!(talk.chat.saved().messages[1].ending, Ending::Failed("it crashed".into()));
    assert_eq!(talk.send("again"), Ok(()));
}

// Output of an agent outside of a generation belongs to no answer.
#[test]
fn agent_output_outside_of_a_generation_is_dropped() {
    let mut talk = Talk::new();
    for _ in 0..2 {
        talk.chat.text("late");
        talk.chat.thought("late");
        talk.chat.tool_called(tool("t"));
        talk.chat.tool_output(ToolId("t".into()), "late".into());
        talk.chat.tool_ended(ToolResult::completed(ToolId("t".into()), "late"));
        talk.chat.progress(swb_chat::Progress::default());
        talk.chat.plan(Vec::new());
        assert_eq!(talk.ask("auth-1"), Err(Refused::NotAsked));
        assert_eq!(talk.question("question-1"), Err(Refused::NotAsked));
        talk.end(Ending::Complete);
        assert_eq!(talk.events(), []);
        talk.send("hello").unwrap();
        talk.end(Ending::Complete);
        talk.events();
    }
    assert!(talk.chat.saved().messages.iter().all(|message| !message.text().contains("late")));
}

// After a stop, an agent may send its last text, but it begins nothing new.
#[test]
fn a_stopped_agent_cannot_ask() {
    let mut talk = Talk::running();
    talk.chat.stop();
    talk.events();
    assert_eq!(talk.ask("auth-1"), Err(Refused::NotAsked));
    assert_eq!(talk.question("question-1"), Err(Refused::NotAsked));
    assert_eq!((talk.events(), talk.chat.poll_timeout()), (vec![], None));
}

// SS-43: Active -> Deleted, Created -> Deleted: all clients are notified, and nothing stays pending.
#[test]
fn a_deletion_is_the_last_event() {
    let mut talk = Talk::new();
    talk.chat.delete();
    assert_eq!(talk.events(), [ChatEvent::Deleted]);
    let mut talk = Talk::running();
    let id = talk.ask("auth-1").unwrap();
    talk.events();
    talk.end(Ending::Stopped);
    talk.chat.delete();
    assert_eq!(talk.events().last(), Some(&ChatEvent::Deleted));
    assert_eq!(talk.chat.decide(&id, talk::YES), Err(Refused::NotAsked));
    assert_eq!(talk.chat.poll_timeout(), None);
}

// SS-56
#[test]
fn clearing_leaves_system_messages_and_needs_a_pause() {
    let mut talk = Talk::running();
    assert_eq!(talk.clear(), Err(Refused::Busy));
    talk.chat.stop();
    assert_eq!(talk.clear(), Err(Refused::Busy));
    talk.end(Ending::Stopped);
    let mut saved = talk.chat.saved().clone();
    saved.messages.insert(0, Message::text_of(9, Author::System, "be kind", Timestamp(0)));
    saved.resume = Some(serde_json::json!("thread"));
    talk.chat = Conversation::restore(saved);
    talk.clear().unwrap();
    assert_eq!(talk.events(), [ChatEvent::Cleared]);
    let saved = talk.chat.saved();
    assert_eq!(saved.messages.iter().map(|message| message.role).collect::<Vec<_>>(), [Author::System]);
    assert_eq!(saved.resume, None, "the agent's own memory of it is void, too");
    assert!(talk.chat.take_changed());
}

// ---- clients ----

// SS-34, SS-35, SS-36
#[test]
fn the_next_client_becomes_the_owner() {
    let mut talk = Talk::new();
    assert_eq!(talk.chat.attach(B, false), Ok(ClientRole::Observer));
    assert_eq!(talk.chat.attach(C, false), Ok(ClientRole::Observer));
    assert_eq!(talk.chat.attach(B, false), Ok(ClientRole::Observer), "again is the same");
    assert_eq!(talk.events(), [], "nobody else owns it");
    talk.chat.detach(A);
    assert_eq!((talk.chat.owner(), talk.events()), (Some(B), vec![ChatEvent::OwnerChanged]));
    talk.chat.detach(C);
    assert_eq!((talk.chat.owner(), talk.events()), (Some(B), vec![]));
    talk.chat.detach(C);
    assert_eq!(talk.chat.attach(A, true), Ok(ClientRole::Owner));
    assert_eq!(
        (talk.chat.role(B), talk.events()),
        (Some(ClientRole::Observer), vec![ChatEvent::OwnerChanged])
    );
    talk.chat.detach(A);
    talk.chat.detach(B);
    assert_eq!((talk.chat.owner(), talk.chat.role(A), talk.chat.role(B)), (None, None, None));
}

// A generation continues when all clients have detached, and its answer is stored for their return.
#[test]
fn a_generation_continues_without_clients() {
    let mut talk = Talk::running();
    talk.chat.detach(A);
    talk.chat.text("for later");
    talk.end(Ending::Complete);
    assert_eq!(talk.chat.saved().messages[1].text(), "for later");
    assert_eq!(talk.chat.attach(B, false), Ok(ClientRole::Owner));
}

#[test]
fn the_number_of_clients_is_limited() {
    let mut talk = Talk::new();
    for n in 1..limits::CLIENTS {
        assert!(talk.chat.attach(swb_chat::ClientId(100 + n as u64), false).is_ok());
    }
    assert!(matches!(talk.chat.attach(B, true), Err(Refused::Limit(_))));
    assert_eq!(talk.chat.owner(), Some(A));
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
    let mut talk = Talk::new();
    for (n, ending) in endings.into_iter().enumerate() {
        talk.send("hello").unwrap();
        for text in ["a", "", "bä", "c"].iter().take(n + 1) {
            talk.chat.text(text);
        }
        talk.chat.thought("hm");
        talk.end(ending.clone());
        talk.end(Ending::Complete);
        let events = talk.events();
        let pieces = pieces(&events);
        assert!(pieces.iter().all(|piece| piece.0 == pieces[0].0), "{pieces:?}");
        let last: Vec<usize> =
            pieces.iter().enumerate().filter(|(_, piece)| piece.2).map(|(at, _)| at).collect();
        assert_eq!(last, [pieces.len() - 1], "{ending:?}");
        let text: String = pieces.iter().map(|piece| piece.1).collect();
        assert_eq!(text, talk.chat.saved().messages.last().unwrap().text());
        let Some(ChatEvent::Began { stream, prompt }) = events.first() else { panic!("{events:?}") };
        assert_eq!(prompt, "hello");
        assert!(streams.insert(*stream) && streams.insert(pieces[0].0), "streams are told apart");
        let ends = events.iter().filter(|event| matches!(event, ChatEvent::Ended { .. })).count();
        assert_eq!((ends, events.last()), (1, Some(&ChatEvent::Ended { ending })));
        // Another daemon resumes it.
        talk.chat = Conversation::restore(talk.chat.saved().clone());
    }
}

// SS-52: an empty answer has its last piece, too.
#[test]
fn an_empty_answer_has_a_last_piece() {
    let mut talk = Talk::running();
    talk.end(Ending::Complete);
    let events = talk.events();
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
    let mut talk = Talk::running();
    for id in ["one", "two", "three"] {
        talk.chat.tool_called(tool(id));
    }
    talk.chat.tool_ended(ToolResult::completed(ToolId("two".into()), "fine"));
    talk.chat.tool_ended(ToolResult::failed(ToolId("two".into()), "too late"));
    talk.chat.tool_ended(ToolResult::completed(ToolId("unknown".into()), "?"));
    assert_eq!(ends(&talk.events()), [("two", ToolStatus::Completed)]);
    talk.end(Ending::Stopped);
    let events = talk.events();
    assert_eq!(ends(&events), [("one", ToolStatus::Failed), ("three", ToolStatus::Failed)]);
    let last_end = events.iter().rposition(|event| matches!(event, ChatEvent::ToolEnded(_))).unwrap();
    let last_piece =
        events.iter().position(|event| matches!(event, ChatEvent::Text { last: true, .. })).unwrap();
    assert!(last_end < last_piece, "nothing of an answer comes after its last piece");
    let parts = &talk.chat.saved().messages[1].parts;
    assert!(parts.iter().all(|part| matches!(part, Part::Tool { result: Some(_), .. })), "{parts:?}");
}

// A call that is announced again is still one call, with one end, in its first position.
#[test]
fn a_tool_call_announced_twice_is_one() {
    let mut talk = Talk::running();
    talk.chat.tool_called(tool("one"));
    talk.chat.text("between");
    let mut more = tool("one");
    more.description = Some("Reading main.rs".into());
    talk.chat.tool_called(more.clone());
    talk.chat.tool_ended(ToolResult::completed(ToolId("one".into()), "fine"));
    talk.events();
    talk.chat.tool_called(more.clone());
    assert_eq!(talk.events(), [], "what has ended is not told any more");
    talk.end(Ending::Complete);
    let [Part::Tool { call, result }, Part::Text(_)] = &talk.chat.saved().messages[1].parts[..] else {
        panic!("{:?}", talk.chat.saved().messages[1].parts)
    };
    assert_eq!((call, result.as_ref().unwrap().output.as_str()), (&more, "fine"));
}

// ---- limits ----

#[test]
fn a_long_tool_result_is_cut_in_the_middle() {
    let mut talk = Talk::running();
    talk.chat.tool_called(tool("one"));
    let long = format!("begin{}end", "ä".repeat(limits::TOOL_BYTES));
    let mut ended = ToolResult::completed(ToolId("one".into()), long.clone());
    let diff = ToolContent::Diff { path: "/w/f".into(), old: Some(long.clone()), new: long };
    ended.content = vec![diff; limits::TOOL_CONTENT + 1];
    talk.chat.tool_ended(ended);
    let events = talk.events();
    let Some(ChatEvent::ToolEnded(result)) = events.last() else { panic!("{events:?}") };
    assert!(result.size() < (limits::TOOL_BYTES + 100) * (1 + 2 * limits::TOOL_CONTENT));
    assert!(result.output.len() < limits::TOOL_BYTES + 100);
    assert!(result.output.starts_with("begin") && result.output.ends_with("end"));
    assert!(result.output.contains("bytes left out"));
}

// Text beyond the limit of a message is sent, and what is stored has no gap.
#[test]
fn the_beginning_of_a_long_answer_is_kept() {
    let mut talk = Talk::running();
    let most = "x".repeat(limits::MESSAGE_BYTES - 10);
    talk.chat.text(&most);
    talk.chat.text("longer than the ten bytes left");
    talk.chat.text("short");
    talk.end(Ending::Complete);
    let events = talk.events();
    // The long one is sent in pieces that fit any client's frame.
    assert_eq!(pieces(&events).len(), limits::MESSAGE_BYTES / limits::PIECE + 3);
    assert_eq!(talk.chat.saved().messages[1].text().len(), most.len());
}

// An agent that never stops calling tools fills no memory; each announced call has an end.
#[test]
fn the_number_of_tool_calls_is_limited() {
    let mut talk = Talk::running();
    for n in 0..limits::PARTS + 10 {
        talk.chat.tool_called(tool(&n.to_string()));
    }
    talk.end(Ending::Complete);
    let events = talk.events();
    let told = events.iter().filter(|event| matches!(event, ChatEvent::ToolCalled(_))).count();
    assert_eq!((told, ends(&events).len()), (limits::PARTS, limits::PARTS));
    assert_eq!(talk.chat.saved().messages[1].parts.len(), limits::PARTS);
}

#[test]
fn the_oldest_messages_are_dropped() {
    let mut talk = Talk::new();
    let long = "x".repeat(limits::CONVERSATION_BYTES / 4);
    for n in 0..8 {
        talk.send(&format!("{n}{long}")).unwrap();
        talk.end(Ending::Complete);
    }
    let messages = &talk.chat.saved().messages;
    let bytes: usize = messages.iter().map(Message::size).sum();
    assert!(bytes <= limits::CONVERSATION_BYTES && messages.len() < 16);
    assert_eq!(messages.last().unwrap().number, 16, "numbers are not used again");
    let mut saved = talk.chat.saved().clone();
    saved.messages =
        (1..=limits::MESSAGES as u64).map(|n| Message::text_of(n, Author::User, "x", Timestamp(0))).collect();
    talk.chat = Conversation::restore(saved);
    talk.send("one more").unwrap();
    talk.end(Ending::Complete);
    let messages = &talk.chat.saved().messages;
    assert_eq!((messages.len(), messages[0].number), (limits::MESSAGES, 3));
}

// ---- what is stored ----

// SS-44: the default title is the beginning of the first prompt.
#[test]
fn the_first_prompt_is_the_default_title() {
    let mut talk = Talk::new();
    talk.send("  Parse JSON\nquickly").unwrap();
    assert_eq!(talk.chat.saved().title, "Parse JSON");
    talk.end(Ending::Complete);
    let now = talk.now();
    talk.chat.rename(&"ä".repeat(500), now);
    assert_eq!(talk.chat.saved().title, "ä".repeat(limits::TITLE));
    talk.send("something else").unwrap();
    assert_eq!(talk.chat.saved().title, "ä".repeat(limits::TITLE));
}

// SS-46: a stored conversation continues where it was.
#[test]
fn a_stored_conversation_continues() {
    let mut talk = Talk::running();
    talk.chat.text("hi");
    talk.pass(Duration::from_secs(5));
    talk.end(Ending::Complete);
    let saved = talk.chat.saved().clone();
    assert_eq!((saved.created, saved.updated), (Timestamp(1000), Timestamp(6000)));
    let text = serde_json::to_string(&saved).unwrap();
    let mut again = Conversation::restore(serde_json::from_str(&text).unwrap());
    assert_eq!((again.saved(), again.state()), (&saved, ConversationState::Idle));
    assert!(!again.take_changed() && again.owner().is_none());
    again.send("more".into(), talk.now()).unwrap();
    assert_eq!(again.saved().messages.last().unwrap().number, 3);
}

// SS-44: an answer in progress is stored only when it is complete.
#[test]
fn an_incomplete_answer_is_not_stored() {
    let mut talk = Talk::running();
    talk.chat.text("half");
    assert_eq!(talk.chat.saved().messages.len(), 1);
    assert_eq!(talk.chat.unfinished().unwrap().text(), "half");
    assert!(talk.chat.take_changed() && !talk.chat.take_changed());
    talk.end(Ending::Complete);
    assert!(talk.chat.take_changed() && talk.chat.unfinished().is_none());
}
