//! Clients that leave, and sessions that end.

use super::{EXE, LINE, MIRROR, checked, local_clients, numbered, offset, waiting};
use serde_json::json;
use swb_testkit::{LIMIT, StreamItem, Swb, is_alive, wait_for};

// CO-59
#[test]
fn detach_is_answered_and_ends_the_connection_only() {
    let swb = Swb::start(EXE);
    let pid = swb.make("x", &MIRROR);
    let mut stays = swb.attach("x");
    stays.until("ready\n");
    let mut client = swb.attach("x");
    client.until("ready\n");
    client.control(&json!({"cmd": "detach"}));
    assert_eq!(client.to_end(), (vec![], vec![json!({"ok": true}), json!({"event": "detached"})]));
    stays.type_in(b"goes on");
    stays.until("goes on");
    assert!(is_alive(pid));
    assert_eq!(local_clients(&swb, "x"), 1);
}

// CO-59: not even a flood of output keeps a client from leaving in order.
#[test]
fn detach_works_in_the_middle_of_a_flood() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "while :; do echo flood flood flood flood flood flood flood; done"]);
    let mut client = swb.attach("x");
    client.until("flood");
    client.control(&json!({"cmd": "detach"}));
    let (_, controls) = client.to_end();
    assert_eq!(controls[controls.len() - 2..], [json!({"ok": true}), json!({"event": "detached"})]);
}

// CO-60
#[test]
fn closing_the_connection_detaches() {
    let swb = Swb::start(EXE);
    let pid =
        swb.make("x", &["sh", "-c", "while :; do echo flood flood flood flood flood flood flood; done"]);
    let reading = swb.attach("x");
    // One whose socket is full, so that nothing but its end can be seen of it.
    let stuck = swb.attach("x");
    let from = offset(&swb, "x");
    wait_for("more output than a socket holds", || (offset(&swb, "x") > from + (4 << 20)).then_some(()));
    assert_eq!(local_clients(&swb, "x"), 2);
    drop(stuck);
    wait_for("one client less", || (local_clients(&swb, "x") == 1).then_some(()));
    reading.socket().shutdown(std::net::Shutdown::Both).unwrap();
    wait_for("no client", || (local_clients(&swb, "x") == 0).then_some(()));
    assert!(is_alive(pid));
    swb.attach("x").until("flood");
}

// CO-61
#[test]
fn the_end_comes_after_all_output_with_the_real_code() {
    let swb = Swb::start(EXE);
    for (how, code) in
        [("exit 0", 0), ("exit 255", 255), ("kill -9 $$", 128 + 9), ("kill -TERM $$", 128 + 15)]
    {
        waiting(&swb, "x", &format!("stty raw; echo last words; {how}"));
        let mut client = swb.attach("x");
        let (data, controls) = client.to_end();
        assert_eq!(String::from_utf8(data).unwrap(), "last words\n");
        assert_eq!(controls, [json!({"event": "pty_exited", "code": code})], "{how}");
        wait_for("the session to end", || {
            swb.coop().ok(&json!({"cmd": "ls"}))["sessions"].as_array()?.is_empty().then_some(())
        });
    }
}

// CO-61
#[test]
fn all_clients_get_all_output_of_a_child_that_ends_at_once() {
    let swb = Swb::start(EXE);
    // Less than what readers may lag behind, so that every byte must arrive at every client.
    const LINES: u64 = 50_000;
    let expected = numbered(0, LINES * LINE);
    for round in 0..15 {
        let name = format!("s{round}");
        waiting(&swb, &name, &format!("stty raw; seq -w 1 1000000 | head -n {LINES}; exit 7"));
        let watch = || {
            let mut client = swb.coop();
            client.ok(&json!({"cmd": "attach", "session": name, "watch": true}));
            client
        };
        let mut clients = vec![watch(), watch()];
        clients.push(swb.attach(&name));
        for (n, client) in clients.iter_mut().enumerate() {
            let (data, controls) = client.to_end();
            assert!(data == expected, "round {round}, client {n}: {} bytes", data.len());
            assert_eq!(controls, [json!({"event": "pty_exited", "code": 7})]);
        }
    }
}

// CO-61: also when there is more of it than is kept.
#[test]
fn the_last_byte_of_a_flood_comes_before_the_end() {
    let swb = Swb::start(EXE);
    const LINES: u64 = 1_000_000;
    waiting(&swb, "x", &format!("stty raw; seq -w 1 {LINES} | cat; exit 3"));
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "x", "offsets": true}));
    let mut at = 0;
    let event = loop {
        match client.item(LIMIT).unwrap() {
            StreamItem::Data(bytes) => at = checked(&bytes, at),
            StreamItem::Control(event) if event["event"] == "lagged" => {
                at = event["offset"].as_u64().unwrap()
            }
            StreamItem::Control(event) => break event,
            StreamItem::End => panic!("the end of the connection at {at}"),
        }
    };
    assert_eq!((at, event), (LINES * LINE, json!({"event": "pty_exited", "code": 3})));
    assert_eq!(client.item(LIMIT), Some(StreamItem::End));
}

// CO-61: what a process leaves behind does not keep its end from being reported.
#[test]
fn a_background_process_on_the_terminal_does_not_delay_the_end() {
    let swb = Swb::start(EXE);
    waiting(&swb, "x", "stty raw; (trap '' HUP; exec sleep 1000) & echo $!; exit 4");
    let (data, controls) = swb.attach("x").to_end();
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 4})]);
    let left: i32 = String::from_utf8(data).unwrap().trim().parse().unwrap();
    let left = rustix::process::Pid::from_raw(left).unwrap();
    rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
}

// CO-64
#[test]
fn a_shell_is_not_started_again_and_leaves_the_list() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    swb.coop().ok(
        &json!({"cmd": "create", "name": "x", "workspace": workspace, "coopfile": "[agent]\ncommand='cat'"}),
    );
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "x"}));
    shell.type_in(b"exit 3\r");
    let (_, controls) = shell.to_end();
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 3})]);
    let list = swb.coop().ok(&json!({"cmd": "ls"}));
    assert_eq!(list["sessions"][0]["ptys"].as_array().unwrap().len(), 1, "{list}");
}
