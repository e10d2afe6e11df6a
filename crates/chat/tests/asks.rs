//! Approvals and questions: how they are settled, and when they time out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conversation;

use conversation::{A, B, NO, TestConversation, YES, question};
use std::time::Duration;
use swb_chat::{
    Answers, ApprovalAnswer, ApprovalId, ChatEvent, Decision, Ending, QuestionId, Refused, Unanswered, limits,
};

const INSTANT: Duration = Duration::from_millis(1);

fn decisions(events: &[ChatEvent]) -> Vec<(&str, &Decision)> {
    let found = events.iter().filter_map(|event| match event {
        ChatEvent::ApprovalSettled { id, decision } => Some((id.0.as_str(), decision)),
        _ => None,
    });
    found.collect()
}

fn answers(events: &[ChatEvent]) -> Vec<(&str, &Result<Answers, Unanswered>)> {
    let found = events.iter().filter_map(|event| match event {
        ChatEvent::QuestionSettled { id, answers } => Some((id.0.as_str(), answers)),
        _ => None,
    });
    found.collect()
}

// SS-60
#[test]
fn an_approval_waits_for_a_decision() {
    for verdict in [YES, NO, ApprovalAnswer { approved: true, option: Some("always".into()), always: true }] {
        let mut conversation = TestConversation::running();
        let id = conversation.ask("auth-1").unwrap();
        let events = conversation.events();
        assert!(matches!(&events[..], [ChatEvent::ApprovalAsked(asked)] if asked.id == id && !asked.seen));
        assert_eq!(conversation.chat.approvals().len(), 1);
        conversation.chat.decide(&id, verdict.clone()).unwrap();
        let decision = Decision::Decided(verdict.clone());
        assert_eq!(decision.approved(), verdict.approved);
        assert_eq!(decisions(&conversation.events()), [("auth-1", &decision)]);
        assert!(conversation.chat.approvals().is_empty() && conversation.chat.poll_timeout().is_none());
    }
}

// SS-63, Q-61: the first decision wins, and unknown ids are rejected.
#[test]
fn the_first_decision_counts() {
    let mut conversation = TestConversation::running();
    let id = conversation.ask("auth-1").unwrap();
    conversation.chat.decide(&id, NO).unwrap();
    assert_eq!(conversation.chat.decide(&id, YES), Err(Refused::NotAsked));
    assert_eq!(conversation.acknowledge(&id), Err(Refused::NotAsked));
    assert_eq!(conversation.chat.withdraw(&id), Err(Refused::NotAsked));
    assert_eq!(conversation.chat.decide(&ApprovalId("auth-9".into()), YES), Err(Refused::NotAsked));
    assert_eq!(decisions(&conversation.events()), [("auth-1", &Decision::Decided(NO))]);
    let asked = conversation.question("question-1").unwrap();
    conversation.chat.answer(&asked, Answers::single("a")).unwrap();
    assert_eq!(conversation.chat.answer(&asked, Answers::single("b")), Err(Refused::NotAsked));
    assert_eq!(answers(&conversation.events()), [("question-1", &Ok(Answers::single("a")))]);
}

// SS-62: without an acknowledgement within 30 s it is denied.
#[test]
fn an_unseen_approval_times_out_after_30_seconds() {
    let mut conversation = TestConversation::running();
    let id = conversation.ask("auth-1").unwrap();
    conversation.pass(Duration::from_secs(30) - INSTANT);
    assert_eq!(decisions(&conversation.events()), []);
    conversation.pass(INSTANT);
    let events = conversation.events();
    assert_eq!(decisions(&events), [("auth-1", &Decision::Lapsed)]);
    assert!(!Decision::Lapsed.approved());
    assert_eq!(conversation.chat.decide(&id, YES), Err(Refused::NotAsked));
}

// SS-61, SS-62: an acknowledgement is not a decision; it gives ten minutes from then on, once.
#[test]
fn a_seen_approval_times_out_after_ten_minutes() {
    let mut conversation = TestConversation::running();
    let id = conversation.ask("auth-1").unwrap();
    conversation.pass(Duration::from_secs(29));
    conversation.acknowledge(&id).unwrap();
    assert!(conversation.chat.approvals()[0].seen);
    conversation.pass(Duration::from_secs(300));
    conversation.acknowledge(&id).unwrap();
    conversation.pass(Duration::from_secs(300) - INSTANT);
    assert_eq!(decisions(&conversation.events()), []);
    conversation.pass(INSTANT);
    assert_eq!(decisions(&conversation.events()), [("auth-1", &Decision::Lapsed)]);
}

// SS-62: each has its own timeout.
#[test]
fn approvals_time_out_one_by_one() {
    let mut conversation = TestConversation::running();
    let first = conversation.ask("auth-1").unwrap();
    conversation.pass(Duration::from_secs(10));
    let second = conversation.ask("auth-2").unwrap();
    conversation.acknowledge(&first).unwrap();
    let waiting: Vec<_> = conversation.chat.approvals().iter().map(|asked| asked.id.clone()).collect();
    assert_eq!(waiting, [first, second], "the oldest comes first");
    conversation.pass(Duration::from_secs(30));
    assert_eq!(decisions(&conversation.events()), [("auth-2", &Decision::Lapsed)]);
    conversation.pass(Duration::from_secs(570));
    assert_eq!(decisions(&conversation.events()), [("auth-1", &Decision::Lapsed)]);
}

// SS-62: if the owner detaches, approvals are denied; not so for an observer.
#[test]
fn an_owner_that_detaches_denies() {
    let mut conversation = TestConversation::running();
    conversation.chat.attach(B, false).unwrap();
    conversation.chat.attach(conversation::C, false).unwrap();
    conversation.ask("auth-1").unwrap();
    conversation.ask("auth-2").unwrap();
    conversation.chat.detach(conversation::C);
    assert_eq!(decisions(&conversation.events()), []);
    conversation.chat.detach(A);
    let lapsed = &Decision::Lapsed;
    assert_eq!(decisions(&conversation.events()), [("auth-1", lapsed), ("auth-2", lapsed)]);
    assert_eq!(conversation.chat.owner(), Some(B));
    let id = conversation.ask("auth-3").unwrap();
    assert_eq!(conversation.chat.decide(&id, YES), Ok(()), "the next owner decides what is asked then");
}

// SS-62: the new owner decides; no owner has detached.
#[test]
fn a_takeover_denies_nothing() {
    let mut conversation = TestConversation::running();
    let id = conversation.ask("auth-1").unwrap();
    conversation.chat.attach(B, true).unwrap();
    assert_eq!(decisions(&conversation.events()), []);
    assert_eq!(conversation.chat.decide(&id, YES), Ok(()));
}

// SS-55: a stop settles everything that is pending, once; so does any end.
#[test]
fn a_stop_and_an_end_settle_everything() {
    for stopped in [true, false] {
        let mut conversation = TestConversation::running();
        let id = conversation.ask("auth-1").unwrap();
        let asked = conversation.question("question-1").unwrap();
        if stopped {
            conversation.chat.stop();
        }
        conversation.end(Ending::Complete);
        let events = conversation.events();
        assert_eq!(decisions(&events), [("auth-1", &Decision::Stopped)]);
        assert_eq!(answers(&events), [("question-1", &Err(Unanswered::Stopped))]);
        assert_eq!(conversation.chat.decide(&id, YES), Err(Refused::NotAsked));
        assert_eq!(conversation.chat.answer(&asked, Answers::single("a")), Err(Refused::NotAsked));
        assert_eq!(conversation.chat.poll_timeout(), None);
    }
}

// SS-64: after five minutes a question fails, not before.
#[test]
fn a_question_times_out_after_five_minutes() {
    let mut conversation = TestConversation::running();
    conversation.question("question-1").unwrap();
    assert_eq!(conversation.chat.questions().len(), 1);
    conversation.pass(Duration::from_secs(300) - INSTANT);
    assert_eq!(answers(&conversation.events()), []);
    conversation.pass(INSTANT);
    assert_eq!(answers(&conversation.events()), [("question-1", &Err(Unanswered::Lapsed))]);
    assert!(conversation.chat.questions().is_empty());
}

// What was settled in the agent's own terminal needs no decision any more.
#[test]
fn an_approval_can_be_withdrawn() {
    let mut conversation = TestConversation::running();
    let id = conversation.ask("auth-1").unwrap();
    conversation.chat.withdraw(&id).unwrap();
    assert_eq!(decisions(&conversation.events()), [("auth-1", &Decision::Withdrawn)]);
    assert!(!Decision::Withdrawn.approved() && conversation.chat.poll_timeout().is_none());
}

#[test]
fn the_number_of_pending_approvals_is_limited() {
    let mut conversation = TestConversation::running();
    for n in 0..limits::ASKS / 2 {
        conversation.ask(&format!("auth-{n}")).unwrap();
        conversation.question(&format!("question-{n}")).unwrap();
    }
    assert!(matches!(conversation.ask("auth-more"), Err(Refused::Limit(_))));
    assert!(matches!(conversation.question("question-more"), Err(Refused::Limit(_))));
    conversation.chat.decide(&ApprovalId("auth-0".into()), NO).unwrap();
    assert!(conversation.ask("auth-more").is_ok(), "a place that is given back is free");
}

#[test]
fn questions_have_a_bounded_number_of_items_and_options() {
    let mut conversation = TestConversation::running();
    let id = || QuestionId("question-1".into());
    let now = conversation.now();
    for (items, options) in [(0, 0), (limits::QUESTIONS + 1, 1), (1, limits::OPTIONS + 1)] {
        let asked = conversation.chat.ask_question(id(), question(items, options), now);
        assert!(matches!(asked, Err(Refused::Limit(_))), "{items} {options}");
    }
    assert!(conversation.chat.ask_question(id(), question(limits::QUESTIONS, limits::OPTIONS), now).is_ok());
}
