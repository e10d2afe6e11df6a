//! Positions in the output, which our own clients request.

use super::{EXE, LINE, MIRROR, flood, local_clients, numbered, offset, size, take};
use serde_json::json;
use swb_testkit::{LIMIT, QUIET, StreamItem, Swb, wait_for};

// 7.2 offsets
#[test]
fn positions_are_sent_on_request() {
    let swb = Swb::start(EXE);
    let pid = swb.make("x", &MIRROR);
    swb.attach("x").until("ready\n");
    let mut client = swb.coop();
    let answer =
        client.ok(&json!({"cmd": "attach", "session": "x", "cols": 90, "rows": 30, "offsets": true}));
    assert_eq!(
        answer,
        json!({"ok": true, "pty": 0, "offset": 0, "head": 6, "pid": pid, "cols": 90, "rows": 30})
    );
    assert_eq!(client.until("ready\n"), b"ready\n");
    let mut shell = swb.coop();
    let answer = shell.ok(&json!({"cmd": "shell", "session": "x", "command": "cat", "offsets": true}));
    assert_eq!((&answer["pty"], &answer["offset"], &answer["cols"]), (&json!(1), &json!(0), &json!(120)));
}

// 7.2 history
#[test]
fn the_requested_amount_of_history_is_sent() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "stty raw -echo; seq -w 1 1000000 | head -n 150000; exec cat"]);
    let total = 150_000 * LINE;
    wait_for("all output", || (offset(&swb, "x") == total).then_some(()));
    for (history, expected) in [(0, 0), (1, 1), (100_000, 100_000), (1 << 20, 1 << 20), (u64::MAX, 1 << 20)] {
        let mut client = swb.coop();
        let answer =
            client.ok(&json!({"cmd": "attach", "session": "x", "offsets": true, "history": history}));
        assert_eq!(answer["head"], total);
        let from = answer["offset"].as_u64().unwrap();
        assert!(
            total - from >= expected && (history == u64::MAX || total - from == expected),
            "{history}: {answer}"
        );
        let data = take(&mut client, (total - from) as usize);
        assert!(data == numbered(from, total - from));
        assert_eq!(client.item(QUIET), None);
    }
}

// 7.2 resume
#[test]
fn a_client_can_resume_at_its_offset() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "stty raw -echo; seq -w 1 1000000 | head -n 400000; exec cat"]);
    let total = 400_000 * LINE;
    wait_for("all output", || (offset(&swb, "x") == total).then_some(()));
    for back in [0, 1, 12_345, 900_000] {
        let mut client = swb.coop();
        let answer = client.ok(&json!({"cmd": "attach", "session": "x", "resume": total - back}));
        assert_eq!((&answer["offset"], &answer["head"]), (&json!(total - back), &json!(total)));
        assert!(take(&mut client, back as usize) == numbered(total - back, back));
        client.type_in(b"!");
        assert_eq!(client.until("!").last(), Some(&b'!'));
        // Undo the effect on the next round's expectations.
        swb.coop().ok(&json!({"cmd": "kill", "session": "x", "force": true}));
        wait_for("the name", || {
            swb.coop().ok(&json!({"cmd": "ls"}))["sessions"].as_array()?.is_empty().then_some(())
        });
        swb.make("x", &["sh", "-c", "stty raw -echo; seq -w 1 1000000 | head -n 400000; exec cat"]);
        wait_for("all output", || (offset(&swb, "x") == total).then_some(()));
    }
    // What is gone is reported first, with where it goes on.
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "x", "resume": 0}));
    let Some(StreamItem::Control(event)) = client.item(LIMIT) else { panic!("no event") };
    assert_eq!(event["event"], "lagged");
    assert!(event["dropped"].as_u64().unwrap() > 0);
    let on = event["offset"].as_u64().unwrap();
    assert!(total - on >= 262_144, "{event}");
    assert!(take(&mut client, (total - on) as usize) == numbered(on, total - on));
    // What has not been written yet is waited for.
    let answer = swb.coop().ok(&json!({"cmd": "attach", "session": "x", "resume": total + 50}));
    assert_eq!(answer["offset"], total);
}

// 7.2 watch
#[test]
fn a_watcher_never_types_nor_resizes() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut client = swb.attach("x");
    client.until("ready\n");
    let mut watcher = swb.coop();
    assert_eq!(
        watcher.ask(&json!({"cmd": "attach", "session": "x", "watch": true, "cols": 10, "rows": 10})),
        json!({"ok": true})
    );
    watcher.until("ready\n");
    watcher.type_in(b"not typed");
    watcher.control(&json!({"cmd": "resize", "cols": 11, "rows": 11}));
    watcher.quiet();
    assert_eq!(size(&swb, "x"), (120, 40));
    client.type_in(b"typed");
    assert_eq!(client.until("typed"), b"typed");
    assert_eq!(watcher.until("typed"), b"typed");
    assert_eq!(local_clients(&swb, "x"), 2);
    watcher.control(&json!({"cmd": "detach"}));
    assert_eq!(watcher.to_end().1, [json!({"ok": true}), json!({"event": "detached"})]);
}

// 7.2 until, 7.5 end
#[test]
fn a_stream_can_end_at_the_current_offset() {
    let swb = Swb::start(EXE);
    flood(&swb, "x");
    let _starter = swb.attach("x");
    for _ in 0..10 {
        let mut client = swb.coop();
        let answer = client.ok(&json!({
            "cmd": "attach", "session": "x", "watch": true, "offsets": true, "until": "head", "history": 100_000,
        }));
        let (from, head) = (answer["offset"].as_u64().unwrap(), answer["head"].as_u64().unwrap());
        let (data, controls) = client.to_end();
        assert_eq!(controls, [json!({"event": "end", "offset": head})]);
        assert!(data == numbered(from, head - from));
    }
    swb.make("quiet", &["cat"]);
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "quiet", "until": "head"}));
    assert_eq!(client.to_end(), (vec![], vec![json!({"event": "end", "offset": 0})]));
}
