//! Approvals and questions: how they are settled, and when they time out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod talk;

use std::time::Duration;
use swb_chat::{
    Answers, ApprovalAnswer, ApprovalId, ChatEvent, Decision, Ending, QuestionId, Refused, Unanswered, limits,
};
use talk::{A, B, NO, Talk, YES, question};

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
        let mut talk = Talk::running();
        let id = talk.ask("auth-1").unwrap();
        let events = talk.events();
        assert!(matches!(&events[..], [ChatEvent::ApprovalAsked(asked)] if asked.id == id && !asked.seen));
        assert_eq!(talk.chat.approvals().len(), 1);
        talk.chat.decide(&id, verdict.clone()).unwrap();
        let decision = Decision::Decided(verdict.clone());
        assert_eq!(decision.approved(), verdict.approved);
        assert_eq!(decisions(&talk.events()), [("auth-1", &decision)]);
        assert!(talk.chat.approvals().is_empty() && talk.chat.poll_timeout().is_none());
    }
}

// SS-63, Q-61: the first decision wins, and unknown ids are rejected.
#[test]
fn the_first_decision_counts() {
    let mut talk = Talk::running();
    let id = talk.ask("auth-1").unwrap();
    talk.chat.decide(&id, NO).unwrap();
    assert_eq!(talk.chat.decide(&id, YES), Err(Refused::NotAsked));
    assert_eq!(talk.acknowledge(&id), Err(Refused::NotAsked));
    assert_eq!(talk.chat.withdraw(&id), Err(Refused::NotAsked));
    assert_eq!(talk.chat.decide(&ApprovalId("auth-9".into()), YES), Err(Refused::NotAsked));
    assert_eq!(decisions(&talk.events()), [("auth-1", &Decision::Decided(NO))]);
    let asked = talk.question("question-1").unwrap();
    talk.chat.answer(&asked, Answers::single("a")).unwrap();
    assert_eq!(talk.chat.answer(&asked, Answers::single("b")), Err(Refused::NotAsked));
    assert_eq!(answers(&talk.events()), [("question-1", &Ok(Answers::single("a")))]);
}

// SS-62: without an acknowledgement within 30 s it is denied.
#[test]
fn an_unseen_approval_times_out_after_30_seconds() {
    let mut talk = Talk::running();
    let id = talk.ask("auth-1").unwrap();
    talk.pass(Duration::from_secs(30) - INSTANT);
    assert_eq!(decisions(&talk.events()), []);
    talk.pass(INSTANT);
    let events = talk.events();
    assert_eq!(decisions(&events), [("auth-1", &Decision::Lapsed)]);
    assert!(!Decision::Lapsed.approved());
    assert_eq!(talk.chat.decide(&id, YES), Err(Refused::NotAsked));
}

// SS-61, SS-62: an acknowledgement is not a decision; it gives ten minutes from then on, once.
#[test]
fn a_seen_approval_times_out_after_ten_minutes() {
    let mut talk = Talk::running();
    let id = talk.ask("auth-1").unwrap();
    talk.pass(Duration::from_secs(29));
    talk.acknowledge(&id).unwrap();
    assert!(talk.chat.approvals()[0].seen);
    talk.pass(Duration::from_secs(300));
    talk.acknowledge(&id).unwrap();
    talk.pass(Duration::from_secs(300) - INSTANT);
    assert_eq!(decisions(&talk.events()), []);
    talk.pass(INSTANT);
    assert_eq!(decisions(&talk.events()), [("auth-1", &Decision::Lapsed)]);
}

// SS-62: each has its own timeout.
#[test]
fn approvals_time_out_one_by_one() {
    let mut talk = Talk::running();
    let first = talk.ask("auth-1").unwrap();
    talk.pass(Duration::from_secs(10));
    let second = talk.ask("auth-2").unwrap();
    talk.acknowledge(&first).unwrap();
    let waiting: Vec<_> = talk.chat.approvals().iter().map(|asked| asked.id.clone()).collect();
    assert_eq!(waiting, [first, second], "the oldest comes first");
    talk.pass(Duration::from_secs(30));
    assert_eq!(decisions(&talk.events()), [("auth-2", &Decision::Lapsed)]);
    talk.pass(Duration::from_secs(570));
    assert_eq!(decisions(&talk.events()), [("auth-1", &Decision::Lapsed)]);
}

// SS-62: if the owner detaches, approvals are denied; not so for an observer.
#[test]
fn an_owner_that_detaches_denies() {
    let mut talk = Talk::running();
    talk.chat.attach(B, false).unwrap();
    talk.chat.attach(talk::C, false).unwrap();
    talk.ask("auth-1").unwrap();
    talk.ask("auth-2").unwrap();
    talk.chat.detach(talk::C);
    assert_eq!(decisions(&talk.events()), []);
    talk.chat.detach(A);
    let lapsed = &Decision::Lapsed;
    assert_eq!(decisions(&talk.events()), [("auth-1", lapsed), ("auth-2", lapsed)]);
    assert_eq!(talk.chat.owner(), Some(B));
    let id = talk.ask("auth-3").unwrap();
    assert_eq!(talk.chat.decide(&id, YES), Ok(()), "the next owner decides what is asked then");
}

// SS-62: the new owner decides; no owner has detached.
#[test]
fn a_takeover_denies_nothing() {
    let mut talk = Talk::running();
    let id = talk.ask("auth-1").unwrap();
    talk.chat.attach(B, true).unwrap();
    assert_eq!(decisions(&talk.events()), []);
    assert_eq!(talk.chat.decide(&id, YES), Ok(()));
}

// SS-55: a stop settles everything that is pending, once; so does any end.
#[test]
fn a_stop_and_an_end_settle_everything() {
    for stopped in [true, false] {
        let mut talk = Talk::running();
        let id = talk.ask("auth-1").unwrap();
        let asked = talk.question("question-1").unwrap();
        if stopped {
            talk.chat.stop();
        }
        talk.end(Ending::Complete);
        let events = talk.events();
        assert_eq!(decisions(&events), [("auth-1", &Decision::Stopped)]);
        assert_eq!(answers(&events), [("question-1", &Err(Unanswered::Stopped))]);
        assert_eq!(talk.chat.decide(&id, YES), Err(Refused::NotAsked));
        assert_eq!(talk.chat.answer(&asked, Answers::single("a")), Err(Refused::NotAsked));
        assert_eq!(talk.chat.poll_timeout(), None);
    }
}

// SS-64: after five minutes a question fails, not before.
#[test]
fn a_question_times_out_after_five_minutes() {
    let mut talk = Talk::running();
    talk.question("question-1").unwrap();
    assert_eq!(talk.chat.questions().len(), 1);
    talk.pass(Duration::from_secs(300) - INSTANT);
    assert_eq!(answers(&talk.events()), []);
    talk.pass(INSTANT);
    assert_eq!(answers(&talk.events()), [("question-1", &Err(Unanswered::Lapsed))]);
    assert!(talk.chat.questions().is_empty());
}

// What was settled in the agent's own terminal needs no decision any more.
#[test]
fn an_approval_can_be_withdrawn() {
    let mut talk = Talk::running();
    let id = talk.ask("auth-1").unwrap();
    talk.chat.withdraw(&id).unwrap();
    assert_eq!(decisions(&talk.events()), [("auth-1", &Decision::Withdrawn)]);
    assert!(!Decision::Withdrawn.approved() && talk.chat.poll_timeout().is_none());
}

#[test]
fn the_number_of_pending_approvals_is_limited() {
    let mut talk = Talk::running();
    for n in 0..limits::ASKS / 2 {
        talk.ask(&format!("auth-{n}")).unwrap();
        talk.question(&format!("question-{n}")).unwrap();
    }
    assert!(matches!(talk.ask("auth-more"), Err(Refused::Limit(_))));
    assert!(matches!(talk.question("question-more"), Err(Refused::Limit(_))));
    talk.chat.decide(&ApprovalId("auth-0".into()), NO).unwrap();
    assert!(talk.ask("auth-more").is_ok(), "a place that is given back is free");
}

#[test]
fn questions_have_a_bounded_number_of_items_and_options() {
    let mut talk = Talk::running();
    let id = || QuestionId("question-1".into());
    let now = talk.now();
    for (items, options) in [(0, 0), (limits::QUESTIONS + 1, 1), (1, limits::OPTIONS + 1)] {
        let asked = talk.chat.ask_question(id(), question(items, options), now);
        assert!(matches!(asked, Err(Refused::Limit(_))), "{items} {options}");
    }
    assert!(talk.chat.ask_question(id(), question(limits::QUESTIONS, limits::OPTIONS), now).is_ok());
}
