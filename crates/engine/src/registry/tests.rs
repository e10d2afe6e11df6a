//! Who may have a name, without a daemon.

use super::*;
use proptest::prelude::*;

fn name(text: &str) -> SessionName {
    SessionName::new(text).unwrap()
}

fn registry() -> Arc<Registry> {
    Arc::default()
}

fn create(registry: &Registry, wanted: &str, claim: SessionClaim) -> Result<Session, Error> {
    registry.insert(&name(wanted), claim, None, |name| Ok(Session::detached(name, "/w", false)))
}

fn session(registry: &Registry, wanted: &str) -> Option<Session> {
    create(registry, wanted, SessionClaim::Exact).ok()
}

fn chat(registry: &Arc<Registry>, wanted: &str, hold: NameHold) -> Result<ChatName, NameRefusal> {
    registry.enter_chat(&Chat::detached(name(wanted)), hold)
}

// XS-2
#[test]
fn a_name_in_use_is_refused_to_everything_else() {
    let registry = registry();
    let _wrapper = registry.claim_for_wrapper("wrapper").unwrap();
    let _session = session(&registry, "session").unwrap();
    let _chat = chat(&registry, "chat", NameHold::Own).unwrap();
    for taken in ["wrapper", "session", "chat"] {
        assert!(registry.claim_for_wrapper(taken).is_none(), "{taken}");
        assert_eq!(session(&registry, taken).map(|_| ()), None, "{taken}");
        assert_eq!(chat(&registry, taken, NameHold::Own).unwrap_err(), NameRefusal::Taken, "{taken}");
    }
}

#[test]
fn a_name_is_free_when_its_guard_is_dropped() {
    let registry = registry();
    drop(registry.claim_for_wrapper("a").unwrap());
    drop(chat(&registry, "a", NameHold::Own).unwrap());
    let made = session(&registry, "a").unwrap();
    registry.remove(&made);
    assert!(registry.claim_for_wrapper("a").is_some());
}

#[test]
fn a_numbered_name_skips_whatever_is_in_use() {
    let registry = registry();
    let _first = session(&registry, "a").unwrap();
    let _second = registry.claim_for_wrapper("a-2").unwrap();
    let _third = chat(&registry, "a-3", NameHold::Own).unwrap();
    let made = create(&registry, "a", SessionClaim::Numbered).unwrap();
    assert_eq!(made.name().as_str(), "a-4");
    assert_eq!(create(&registry, "b", SessionClaim::Numbered).unwrap().name().as_str(), "b");
}

#[test]
fn a_session_made_for_a_conversation_shares_its_name() {
    let registry = registry();
    let talk = chat(&registry, "a", NameHold::Own).unwrap();
    assert!(session(&registry, "a").is_none());
    let made = create(&registry, "a", SessionClaim::OfConversation).unwrap();
    assert!(create(&registry, "a", SessionClaim::OfConversation).is_err(), "one session at a time");
    registry.remove(&made);
    assert!(session(&registry, "a").is_none(), "the conversation keeps the name for its next session");
    let next = create(&registry, "a", SessionClaim::OfConversation).unwrap();
    drop(talk);
    assert!(registry.get("a").unwrap().is(&next), "the session outlives the conversation");
    assert!(registry.chat("a").is_none());
}

// CO-40
#[test]
fn a_conversation_about_a_session_does_not_keep_its_name() {
    let registry = registry();
    let first = session(&registry, "a").unwrap();
    let talk = chat(&registry, "a", NameHold::Shared).unwrap();
    assert_eq!(chat(&registry, "a", NameHold::Shared).unwrap_err(), NameRefusal::Taken);
    registry.remove(&first);
    let second = session(&registry, "a").unwrap();
    drop(talk);
    assert!(registry.get("a").unwrap().is(&second));
}

#[test]
fn a_name_has_one_conversation_even_when_its_session_has_ended() {
    let registry = registry();
    let first = session(&registry, "a").unwrap();
    let _talk = chat(&registry, "a", NameHold::Shared).unwrap();
    registry.remove(&first);
    assert_eq!(chat(&registry, "a", NameHold::Own).unwrap_err(), NameRefusal::Taken);
    assert!(registry.claim_for_wrapper("a").is_none());
}

#[test]
fn the_order_of_adoption_does_not_matter() {
    for session_first in [true, false] {
        let registry = registry();
        let made = Session::detached(name("a"), "/w", false);
        let talk = Chat::detached(name("a"));
        if session_first {
            registry.adopt(made.clone());
        }
        let guard = registry.adopt_chat(&talk, NameHold::Own).unwrap();
        if !session_first {
            registry.adopt(made.clone());
        }
        assert!(registry.get("a").unwrap().is(&made) && registry.chat("a").unwrap().is(&talk));
        registry.remove(&made);
        assert!(session(&registry, "a").is_none(), "the name is the conversation's own");
        drop(guard);
        assert!(session(&registry, "a").is_some());
    }
}

#[test]
fn the_end_of_a_session_leaves_the_next_one_of_its_name_alone() {
    let registry = registry();
    let first = session(&registry, "a").unwrap();
    registry.remove(&first);
    let second = session(&registry, "a").unwrap();
    registry.remove(&first);
    assert!(registry.get("a").unwrap().is(&second));
    assert!(registry.remember(&first).is_empty());
    assert!(registry.get_remembered("a").unwrap().is(&second), "a live one first");
    registry.remove(&second);
    assert!(registry.get_remembered("a").unwrap().is(&first));
    assert_eq!(registry.forget(|session| session.name().as_str() == "b").len(), 0);
    assert_eq!(registry.forget(|session| session.name().as_str() == "a").len(), 1);
}

// CO-22
#[test]
fn a_workspace_has_one_session_that_is_bound_to_it() {
    let registry = registry();
    let workspace = Path::new("/w");
    let bound = |wanted| {
        registry.insert(&name(wanted), SessionClaim::Exact, Some(workspace), |name| {
            Ok(Session::detached(name, "/w", true))
        })
    };
    let free = session(&registry, "free").unwrap();
    let first = bound("first").unwrap();
    assert!(matches!(bound("second"), Err(Error::WorkspaceTaken(other)) if other.as_str() == "first"));
    assert!(registry.of_workspace(workspace, |_| true).unwrap().is(&first));
    assert!(registry.of_workspace(workspace, |session| !session.is(&first)).unwrap().is(&free));
}

#[test]
fn conversations_with_their_own_name_are_limited() {
    let registry = registry();
    let all: Vec<ChatName> = (0..limits::CHATS)
        .map(|number| chat(&registry, &number.to_string(), NameHold::Own).unwrap())
        .collect();
    let refused = chat(&registry, "more", NameHold::Own).unwrap_err();
    assert_eq!(refused, NameRefusal::TooManyConversations);
    let _session = session(&registry, "more").unwrap();
    assert!(chat(&registry, "more", NameHold::Shared).is_ok());
    drop(all);
    assert_eq!(registry.count(), 1);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Wrapper,
    Create(SessionClaim),
    Chat(NameHold),
    DropWrapper,
    EndSession,
    DropChat,
}

/// What holds one name, according to the module's documentation.
#[derive(Default)]
struct Model {
    wrapper: Option<WrapperName>,
    session: Option<Session>,
    chat: Option<ChatName>,
}

impl Model {
    fn is_empty(&self) -> bool {
        self.wrapper.is_none() && self.session.is_none() && self.chat.is_none()
    }

    fn may_take(&self, step: Step) -> bool {
        let kept = self.chat.as_ref().is_some_and(|chat| chat.hold() == NameHold::Own);
        match step {
            Step::Wrapper | Step::Chat(NameHold::Own) => self.is_empty(),
            Step::Create(SessionClaim::OfConversation) => self.wrapper.is_none() && self.session.is_none(),
            Step::Create(_) => self.wrapper.is_none() && self.session.is_none() && !kept,
            Step::Chat(NameHold::Shared) => self.wrapper.is_none() && self.chat.is_none(),
            Step::DropWrapper | Step::EndSession | Step::DropChat => true,
        }
    }

    fn apply(&mut self, registry: &Arc<Registry>, name: &str, step: Step) -> bool {
        match step {
            Step::Wrapper => {
                let claimed = registry.claim_for_wrapper(name);
                claimed.map(|guard| self.wrapper = Some(guard)).is_some()
            }
            Step::Create(claim) => {
                create(registry, name, claim).map(|session| self.session = Some(session)).is_ok()
            }
            Step::Chat(hold) => chat(registry, name, hold).map(|guard| self.chat = Some(guard)).is_ok(),
            Step::DropWrapper => {
                self.wrapper = None;
                true
            }
            Step::EndSession => {
                self.session.take().iter().for_each(|session| registry.remove(session));
                true
            }
            Step::DropChat => {
                self.chat = None;
                true
            }
        }
    }

    fn agrees_with(&self, registry: &Registry, name: &str) -> bool {
        let same = |live: Option<Session>| match (&self.session, live) {
            (Some(mine), Some(live)) => mine.is(&live),
            (None, None) => true,
            _ => false,
        };
        let is_wrapper = matches!(registry.turn_source(name), Some(TurnSource::Wrapper(_)));
        same(registry.get(name))
            && registry.chat(name).is_some() == self.chat.is_some()
            && is_wrapper == self.wrapper.is_some()
            && registry.lock().names.contains_key(name) != self.is_empty()
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Wrapper),
        Just(Step::Create(SessionClaim::Exact)),
        Just(Step::Create(SessionClaim::OfConversation)),
        Just(Step::Chat(NameHold::Own)),
        Just(Step::Chat(NameHold::Shared)),
        Just(Step::DropWrapper),
        Just(Step::EndSession),
        Just(Step::DropChat),
    ]
}

proptest! {
    #[test]
    fn any_sequence_of_claims_agrees_with_the_model(
        steps in prop::collection::vec((0..2_usize, step()), 1..60),
    ) {
        let (registry, names) = (registry(), ["a", "b"]);
        let mut models = [Model::default(), Model::default()];
        for (which, step) in steps {
            let allowed = models[which].may_take(step);
            prop_assert_eq!(models[which].apply(&registry, names[which], step), allowed, "{:?}", step);
            for (name, model) in names.iter().zip(&models) {
                prop_assert!(model.agrees_with(&registry, name), "{} after {:?}", name, step);
            }
        }
    }
}
