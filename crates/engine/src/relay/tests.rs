//! The relay without a daemon around it: sessions that others run, and a journal that two relays read one after the other.

use super::*;
use crate::session::SessionUid;
use std::sync::atomic::AtomicBool;

/// A session whose input is kept.
#[derive(Default)]
struct Inbox {
    got: Mutex<Vec<Arc<Vec<u8>>>>,
    broken: AtomicBool,
}

impl Injector for Inbox {
    fn inject(&self, content: &Arc<Vec<u8>>) -> bool {
        self.got.lock().unwrap().push(Arc::clone(content));
        !self.broken.load(Ordering::Relaxed)
    }
}

fn usual() -> Relay {
    Relay::detached(TurnLimits::default())
}

fn enroll(relay: &Relay, id: &str) -> (Enrolment, Arc<Inbox>) {
    let inbox = Arc::new(Inbox::default());
    let injector: Arc<dyn Injector> = Arc::<Inbox>::clone(&inbox);
    (relay.enroll(id, 42, "generic", injector).unwrap(), inbox)
}

fn turn(content: &[u8]) -> NewTurn<'_> {
    NewTurn { content: content.into(), ..NewTurn::default() }
}

fn add(relay: &Relay, id: &str, content: &[u8]) -> TurnId {
    relay.complete_enrolled(id, turn(content)).unwrap()
}

// CB-33, CB-34, CB-35, CB-38, XS-2
#[test]
fn a_name_has_one_session_at_a_time() {
    let relay = usual();
    let (first, _) = enroll(&relay, "s");
    add(&relay, "s", b"x");
    assert_eq!(relay.enroll("s", 1, "", Arc::new(Inbox::default())).unwrap_err(), RelayError::Taken);
    let listed = RelaySession {
        id: "s".into(),
        pid: 42,
        has_turn: true,
        pattern: Some("generic".into()),
        client_pids: Vec::new(),
    };
    assert_eq!(relay.sessions(), [listed]);
    assert!(relay.withdraw("s") && !relay.withdraw("s"));
    let (second, _) = enroll(&relay, "s");
    // The end of the former does not end the one that bears its name now.
    drop(first);
    assert!(!relay.sessions()[0].has_turn);
    assert_eq!(relay.latest("s").unwrap_err(), RelayError::NoTurn);
    drop(second);
    assert_eq!(relay.sessions(), []);
    let _name = relay.shared.registry.claim_for_wrapper("s").expect("the name is free again");
    assert_eq!(relay.enroll("s", 1, "", Arc::new(Inbox::default())).unwrap_err(), RelayError::Taken);
}

// CR-2, CR-3, CR-4, CR-11, CR-12, CR-13, CR-14
#[test]
fn a_ring_keeps_the_newest_and_numbers_are_not_used_again() {
    let relay = Relay::detached(TurnLimits { depth: 3, ..TurnLimits::default() });
    let _session = enroll(&relay, "a:b");
    assert_eq!(relay.turns("a:b", None).unwrap(), []);
    for n in 1..=5_u8 {
        assert_eq!(add(&relay, "a:b", &[n]).to_string(), format!("a:b:{n}"));
    }
    let listed = |limit| {
        let turns = relay.turns("a:b", limit).unwrap();
        turns.into_iter().map(|turn| turn.id.seq()).collect::<Vec<_>>()
    };
    assert_eq!(listed(None), [5, 4, 3]);
    assert_eq!((listed(Some(2)), listed(Some(0)), listed(Some(9))), (vec![5, 4], vec![], vec![5, 4, 3]));
    assert_eq!(*relay.turn(&TurnId::new("a:b", 3)).unwrap().content, [3]);
    for gone in [TurnId::new("a:b", 2), TurnId::new("a:b", 6), TurnId::new("a", 1)] {
        assert_eq!(relay.turn(&gone).unwrap_err(), RelayError::NoSuchTurn);
        assert_eq!(relay.capture_by_id(&gone).unwrap_err(), RelayError::NoSuchTurn);
    }
    assert_eq!(relay.turns("b", None).unwrap_err(), RelayError::NoSession);
    assert_eq!(relay.complete_enrolled("b", turn(b"x")).unwrap_err(), RelayError::NoSession);
}

// CB-42, CB-43, CR-8, CR-9
#[test]
fn content_is_kept_as_it_is_up_to_the_limit() {
    let relay = Relay::detached(TurnLimits { turn_bytes: 6, ..TurnLimits::default() });
    let _session = enroll(&relay, "s");
    for content in [&b""[..], b"\0\xff\x1b[2", b"123456"] {
        let kept = relay.turn(&add(&relay, "s", content)).unwrap();
        assert_eq!((&**kept.content, kept.info.truncated), (content, false));
        assert_eq!(kept.info.byte_length, content.len() as u64);
    }
    let details = TurnDetails {
        text: Some("fünf ü".into()),
        end: Some(swb_types::Offset(9)),
        ..TurnDetails::default()
    };
    let long = NewTurn { interrupted: true, timestamp: 5, details, ..turn(b"1234567") };
    let kept = relay.turn(&relay.complete_enrolled("s", long).unwrap()).unwrap();
    assert_eq!((&**kept.content, kept.info.byte_length), (&b"123456"[..], 7));
    assert!(kept.info.truncated && kept.info.interrupted && kept.info.timestamp == 5);
    assert!(kept.info.incomplete, "the text was cut too");
    assert_eq!((kept.details.text.as_deref(), kept.details.end), (Some("fünf "), Some(swb_types::Offset(9))));
    // The reporter of a turn may have cut it already.
    let cut = NewTurn { byte_length: 100, ..turn(b"1") };
    let kept = relay.turn(&relay.complete_enrolled("s", cut).unwrap()).unwrap();
    assert_eq!((kept.info.byte_length, kept.info.truncated), (100, true));
    // Lines of the text may be missing although all bytes are there.
    let kept = relay
        .turn(&relay.complete_enrolled("s", NewTurn { incomplete: true, ..turn(b"1") }).unwrap())
        .unwrap();
    assert_eq!((kept.info.truncated, kept.info.incomplete), (false, true));
    assert!(relay.turns("s", Some(1)).unwrap()[0].timestamp > 1_700_000_000_000, "the time of receipt");
}

// CB-36, CB-44, CB-45, CB-46, CB-48, CB-49, CB-50, CB-51, CR-15, CR-16
#[test]
fn the_buffer_keeps_what_was_captured_last() {
    let relay = usual();
    let (source, _) = enroll(&relay, "source");
    let (_target, inbox) = enroll(&relay, "target");
    assert_eq!(relay.paste("nobody").unwrap_err(), RelayError::Empty);
    assert_eq!(relay.relayed().unwrap_err(), RelayError::Empty);
    assert_eq!(relay.capture("source").unwrap_err(), RelayError::NoTurn);
    let old = add(&relay, "source", b"old");
    add(&relay, "source", b"newer");
    let captured = relay.capture("source").unwrap();
    assert_eq!((captured.id.to_string().as_str(), captured.size), ("source:2", 5));
    assert_eq!(relay.capture("nobody").unwrap_err(), RelayError::NoSession);
    assert_eq!(relay.capture("target").unwrap_err(), RelayError::NoTurn);
    assert_eq!(relay.paste("nobody").unwrap_err(), RelayError::NoSession);
    relay.paste("target").unwrap();
    assert_eq!(relay.capture_by_id(&old).unwrap().size, 3);
    drop(source);
    assert_eq!(relay.turn(&old).unwrap_err(), RelayError::NoSuchTurn);
    relay.paste("target").unwrap();
    relay.paste("target").unwrap();
    assert_eq!(relay.relayed().unwrap().info.id, old);
    add(&relay, "target", b"");
    assert_eq!(relay.capture("target").unwrap().size, 0);
    relay.paste("target").unwrap();
    let got: Vec<_> = inbox.got.lock().unwrap().iter().map(|content| content.to_vec()).collect();
    assert_eq!(got, [&b"newer"[..], b"old", b"old", b""]);
    inbox.broken.store(true, Ordering::Relaxed);
    assert_eq!(relay.paste("target").unwrap_err(), RelayError::Disconnected);
}

// CR-3: the session that fills the memory loses old turns, and no other does.
#[test]
fn the_memory_of_all_turns_is_bounded() {
    let relay = Relay::detached(TurnLimits { total_bytes: 100 * 4096, ..TurnLimits::default() });
    let _small = enroll(&relay, "small");
    for _ in 0..3 {
        add(&relay, "small", b"small");
    }
    let _large = enroll(&relay, "large");
    for n in 0..40_u8 {
        add(&relay, "large", &vec![n; 10 * 4096 - 500]);
        assert_eq!(relay.latest("large").unwrap().content[0], n);
        assert_eq!(relay.turns("small", None).unwrap().len(), 3);
    }
    assert_eq!(relay.turns("large", None).unwrap().len(), 9);
    // With one turn each, the oldest goes.
    relay.capture("large").unwrap();
    let others: Vec<_> = (0..15).map(|n| enroll(&relay, &format!("o{n}"))).collect();
    for n in 0..15 {
        add(&relay, &format!("o{n}"), &vec![n; 10 * 4096 - 500]);
        assert_eq!(relay.latest(&format!("o{n}")).unwrap().content[0], n);
    }
    assert_eq!(relay.latest("small").unwrap_err(), RelayError::NoTurn);
    assert_eq!(relay.latest("o0").unwrap_err(), RelayError::NoTurn);
    assert_eq!(relay.relayed().unwrap().content[0], 39, "what was captured stays");
    assert_eq!(add(&relay, "large", b"next").seq(), 41);
    drop(others);
}

// XS-14, CB-57: turns of our sessions and the buffer are there after a crash, with their numbers.
#[test]
fn the_next_daemon_finds_turns_and_buffer() {
    let kept: Arc<Mutex<Vec<OwnedFd>>> = Arc::default();
    let keeper = Arc::clone(&kept);
    let store = TurnStore::new(move |memory| keeper.lock().unwrap().push(memory));
    let turn_limits = TurnLimits { depth: 2, ..TurnLimits::default() };
    let mut first = RelayState::new(store, turn_limits);
    let details = TurnDetails { signal: Some("title".into()), ..TurnDetails::default() };
    for content in [b"1", b"2", b"3"] {
        let turn = NewTurn { details: details.clone(), ..turn(content) };
        first.complete(TurnOwner::Session(SessionUid::test(7)), "name", turn, 1).unwrap();
    }
    first.complete(TurnOwner::Session(SessionUid::test(8)), "other", turn(b"other"), 1).unwrap();
    let name = Arc::<Registry>::default().claim_for_wrapper("guest").unwrap();
    let guest = TurnOwner::Wrapper(name.id());
    first.enter(name, 1, "", Arc::new(Inbox::default()));
    first.complete(guest, "guest", turn(b"guest"), 1).unwrap();
    let captured = first.ring(guest).unwrap().latest().unwrap().clone();
    first.relay(first.ring(TurnOwner::Session(SessionUid::test(8))).unwrap().latest().unwrap().clone());
    first.relay(captured);
    drop(first);

    let memory = kept.lock().unwrap().remove(0);
    let (store, entries) = TurnStore::reopen(memory, drop).unwrap();
    let mut second = RelayState::new(store, turn_limits);
    second.restore(entries);
    second.keep_native(|uid| uid == SessionUid::test(7));
    let ring = second.ring(TurnOwner::Session(SessionUid::test(7))).unwrap();
    assert_eq!(ring.list(None).iter().map(|turn| turn.id.seq()).collect::<Vec<_>>(), [3, 2]);
    let turn_three = ring.latest().unwrap().read().unwrap();
    assert_eq!((&**turn_three.content, turn_three.details), (&b"3"[..], details));
    assert!(second.ring(TurnOwner::Session(SessionUid::test(8))).is_none() && second.enrolled.is_empty());
    assert_eq!(**second.relayed().unwrap().read().unwrap().content, *b"guest");
    let next = second.complete(TurnOwner::Session(SessionUid::test(7)), "name", turn(b"4"), 1).unwrap();
    assert_eq!(next.to_string(), "name:4");
}

// CB-52
#[test]
fn content_of_several_threads_is_never_mixed() {
    let relay = usual();
    let (_target, inbox) = enroll(&relay, "target");
    let sources: Vec<_> = (0..8_u8).map(|n| enroll(&relay, &format!("s{n}"))).collect();
    std::thread::scope(|scope| {
        for n in 0..8_u8 {
            let relay = &relay;
            scope.spawn(move || {
                let id = format!("s{n}");
                for round in 0..25_usize {
                    add(relay, &id, &vec![n; 5000 + round]);
                    relay.capture(&id).unwrap();
                    relay.paste("target").unwrap();
                }
            });
        }
    });
    let got = inbox.got.lock().unwrap();
    assert_eq!(got.len(), 200);
    assert!(got.iter().all(|content| content.len() >= 5000 && content.iter().all(|b| *b == content[0])));
    drop(sources);
}

// CR-18, CR-21, CR-23, CR-25
#[tokio::test(flavor = "current_thread")]
async fn a_file_gets_the_buffer_or_nothing_changes() {
    let relay = usual();
    let _session = enroll(&relay, "s");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("turn");
    assert_eq!(relay.to_file(path.clone()).await.unwrap_err(), RelayError::Empty);
    assert_eq!(relay.to_clipboard().await.unwrap_err(), RelayError::Empty);
    add(&relay, "s", b"bytes\0");
    relay.capture("s").unwrap();
    relay.to_file(path.clone()).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"bytes\0");
    for bad in ["turn", "/", "/nowhere/turn"] {
        assert!(matches!(relay.to_file(bad.into()).await.unwrap_err(), RelayError::File(_)));
    }
    assert_eq!(&**relay.relayed().unwrap().content, b"bytes\0");
}
