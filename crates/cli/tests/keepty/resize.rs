//! Sizes in a keepty session: the Writer's, the fence they set in the output, and the redraws others cause.

use serde_json::json;
use std::time::{Duration, Instant};
use swb_testkit::{Frame, KeeptyClient, QUIET, Swb, text};
use swb_wire::keepty::{KeeptyRole, Message};

/// Prints `w` for each SIGWINCH. Waiting for a child is what a shell interrupts at once for a trap.
const COUNT: &str = "stty -echo; trap 'printf w' WINCH; sleep 1000 & printf ready; while :; do wait; done";
/// Prints its size at each SIGWINCH.
const SIZE: &str = "stty -echo; trap 'stty size' WINCH; sleep 1000 & printf ready; while :; do wait; done";
/// Prints its size again and again.
const FLOOD: &str = "stty -echo; printf ready; read x; while :; do stty size; done";

/// How often something that a busy machine may blur is tried.
const TRIES: usize = 50;

// KP-34
#[test]
fn a_resize_is_announced_to_all_clients_and_counted_from_one() {
    let swb = swb();
    let mut replaced = swb.keepty_running("s", SIZE);
    let mut clients = [
        newcomer(&swb, KeeptyRole::Writer),
        newcomer(&swb, KeeptyRole::Watcher),
        newcomer(&swb, KeeptyRole::Monitor),
    ];
    for client in clients.iter_mut().chain([&mut replaced]) {
        settle(client);
    }
    for generation in 1..=5 {
        // Narrower each time: a widening one is signalled twice (KP-35).
        let (cols, rows) = (80 - 2 * generation as u16, 30 + generation as u16);
        clients[0].send(&Message::Resize { cols, rows });
        for client in clients.iter_mut().chain([&mut replaced]) {
            // The announcement is before the program's own output about it.
            let acknowledged = Message::ResizeAck { generation, cols, rows };
            assert_eq!(client.message(), acknowledged);
            assert_eq!(text(&client.until("\n")), format!("{rows} {cols}\r\n"));
        }
    }
    // A size that does not change is announced all the same: the client waits for it.
    clients[0].send(&Message::Resize { cols: 70, rows: 35 });
    for client in &mut clients {
        let acknowledged = Message::ResizeAck { generation: 6, cols: 70, rows: 35 };
        assert_eq!(client.message(), acknowledged);
    }
}

// KP-34: no output made at the new size overtakes its ResizeAck, for any client, however busy the program is.
#[test]
fn the_acknowledgement_is_a_fence_in_a_stream_that_never_pauses() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", FLOOD);
    let mut others = [newcomer(&swb, KeeptyRole::Monitor), newcomer(&swb, KeeptyRole::Watcher)];
    writer.type_in(b"\n");
    let rounds = 40;
    let mut fences = [Fence::new(80), Fence::new(80), Fence::new(80)];
    for round in 1..=rounds {
        writer.send(&Message::Resize { cols: 80 + 2 * round, rows: 24 });
        // Until its own program has printed it, which keeps the resizes apart.
        while fences[0].latest_seen < 80 + 2 * round {
            fences[0].take(writer.message());
        }
    }
    let last = 80 + 2 * rounds;
    for (client, fence) in others.iter_mut().zip(&mut fences[1..]) {
        while fence.latest_seen < last {
            fence.take(client.message());
        }
    }
    for fence in &fences {
        assert_eq!(fence.generation, u32::from(rounds), "every resize was announced");
    }
}

// KP-34
#[test]
fn a_burst_of_resizes_is_announced_one_by_one() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", "printf ready; cat");
    let mut monitor = newcomer(&swb, KeeptyRole::Monitor);
    let burst = 100;
    let mut bytes = Vec::new();
    for n in 1..=burst {
        let resize = Message::Resize { cols: 100 + n, rows: 24 };
        swb_wire::keepty::encode(&resize, &mut bytes);
    }
    writer.send_raw(&bytes);
    for client in [&mut writer, &mut monitor] {
        for n in 1..=burst {
            let acknowledged = Message::ResizeAck { generation: n.into(), cols: 100 + n, rows: 24 };
            assert_eq!(client.message(), acknowledged);
        }
    }
}

// KP-34, KP-23, KP-30: a newcomer's HelloAck, old output and ResizeAcks fit together: no size between them
// is missed, and none shows in the output before it was announced.
#[test]
fn a_client_that_connects_during_resizes_misses_none() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", FLOOD);
    writer.type_in(b"\n");
    let path = swb.paths().keepty_socket("s");
    let (stop, stopped) = std::sync::mpsc::sync_channel::<()>(0);
    let resizing = std::thread::spawn(move || {
        let mut fence = Fence::new(80);
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            // The columns identify the generation.
            let cols = 80 + 2 * (fence.generation as u16 + 1);
            writer.send(&Message::Resize { cols, rows: 24 });
            while fence.latest_seen < cols {
                fence.take(writer.message());
            }
        }
    });
    for round in 0..40 {
        let role = [KeeptyRole::Monitor, KeeptyRole::Watcher][round % 2];
        let mut client = KeeptyClient::connect(&path).unwrap();
        client.hello(role, 80, 24);
        let (_, cols, _) = client.ack();
        let mut fence = Fence::new(cols);
        fence.generation = u32::from(cols - 80) / 2;
        let enough = cols + 6;
        while fence.latest_seen < enough {
            fence.take(client.message());
        }
    }
    drop(stop);
    resizing.join().unwrap();
}

// KP-33
#[test]
fn a_further_writer_brings_its_size() {
    let swb = swb();
    let mut first = swb.keepty_running("s", SIZE);
    let mut second = swb.keepty("s", KeeptyRole::Writer, 100, 40);
    let (_, cols, rows) = second.ack();
    assert_eq!((cols, rows), (100, 40));
    second.until("40 100\r\n");
    // Those who were there learn of it by the fence (XS-5).
    let acknowledged = Message::ResizeAck { generation: 1, cols: 100, rows: 40 };
    assert_eq!(first.message(), acknowledged);
    first.until("40 100\r\n");
    settle(&mut first);
    // A zero keeps that side.
    let mut third = swb.keepty("s", KeeptyRole::Writer, 0, 30);
    let (_, cols, rows) = third.ack();
    assert_eq!((cols, rows), (100, 30));
    third.until("30 100\r\n");
    let acknowledged = Message::ResizeAck { generation: 2, cols: 100, rows: 30 };
    assert_eq!(first.message(), acknowledged);
}

// KP-32
#[test]
fn a_watcher_or_further_writer_makes_the_program_redraw_and_nothing_is_announced() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", COUNT);
    for role in [KeeptyRole::Watcher, KeeptyRole::Writer] {
        let mut client = newcomer(&swb, role);
        // The kernel signals only real changes, and afterwards the size is what it was.
        assert!(!redraws(&mut writer).is_empty(), "{role:?}");
        assert!(!redraws(&mut client).is_empty(), "{role:?}");
    }
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    assert_eq!(redraws(&mut writer), "", "a Monitor disturbs no other client");
}

// KP-32: it is one column that goes and comes back.
#[test]
fn a_redraw_is_caused_by_removing_a_column_briefly() {
    let swb = swb();
    let script = "stty -echo; printf ready; read x; s=; while :; do t=$(stty size); \
        [ \"$t\" = \"$s\" ] || echo \"$t\"; s=$t; done";
    let mut writer = swb.keepty_running("s", script);
    writer.type_in(b"\n");
    writer.until("24 80\r\n");
    for _ in 0..TRIES {
        let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
        watcher.ack();
        let seen = redraws(&mut writer);
        // Either the moment was missed, or it was seen from its beginning to its end.
        if seen == "24 79\r\n24 80\r\n" {
            return;
        }
        assert_eq!(seen, "", "nothing else in {TRIES} tries");
    }
    panic!("the narrower terminal was never seen");
}

// KP-32
#[test]
fn a_terminal_of_one_column_is_not_narrowed() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", COUNT);
    writer.send(&Message::Resize { cols: 1, rows: 24 });
    assert!(matches!(writer.message(), Message::ResizeAck { cols: 1, .. }));
    assert_eq!(redraws(&mut writer), "w");
    let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 1, 24);
    assert_eq!(watcher.ack().1, 1);
    assert_eq!(redraws(&mut writer), "");
}

// KP-35
#[test]
fn after_widening_the_program_gets_another_sigwinch() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", COUNT);
    let mut told_again = false;
    for _ in 0..TRIES {
        writer.send(&Message::Resize { cols: 90, rows: 24 });
        writer.next_but_output();
        let seen = redraws(&mut writer);
        // Two signals before the shell looks are one to it, hence several tries.
        told_again = seen == "ww";
        if told_again {
            break;
        }
        assert_eq!(seen, "w", "after widening");
        writer.send(&Message::Resize { cols: 80, rows: 24 });
        writer.next_but_output();
        assert_eq!(redraws(&mut writer), "w", "after narrowing");
    }
    assert!(told_again);
    // As wide as before, higher: no reason to signal it twice.
    writer.send(&Message::Resize { cols: 90, rows: 25 });
    writer.next_but_output();
    assert_eq!(redraws(&mut writer), "w");
}

// KP-35
#[test]
fn another_resize_replaces_the_second_sigwinch() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", COUNT);
    for round in 0..TRIES {
        let before = Instant::now();
        writer.send(&Message::Resize { cols: 200, rows: 24 });
        writer.next_but_output();
        writer.until("w");
        writer.send(&Message::Resize { cols: 80, rows: 24 });
        writer.next_but_output();
        let in_time = before.elapsed() < Duration::from_millis(30);
        let seen = redraws(&mut writer);
        if in_time {
            assert_eq!(seen, "w", "in round {round}");
            return;
        }
    }
    panic!("this machine is too busy for two messages in 30 ms");
}

// KP-36
#[test]
fn a_watchers_resize_only_causes_a_redraw_and_only_if_it_is_wide_enough() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", COUNT);
    let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
    watcher.ack();
    assert!(!redraws(&mut writer).is_empty());
    for (cols, redrawn) in [(80, true), (79, false), (500, true), (1, false)] {
        watcher.send(&Message::Resize { cols, rows: 10 });
        assert_eq!(!redraws(&mut writer).is_empty(), redrawn, "{cols} columns");
    }
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    let (_, cols, rows) = monitor.ack();
    assert_eq!((cols, rows), (80, 24));
}

// KP-36
#[test]
fn resizes_of_monitors_and_replaced_writers_have_no_effect() {
    let swb = swb();
    let mut replaced = swb.keepty_running("s", COUNT);
    let mut writer = newcomer(&swb, KeeptyRole::Writer);
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    redraws(&mut writer);
    redraws(&mut monitor);
    redraws(&mut replaced);
    for client in [&mut monitor, &mut replaced] {
        for cols in [40, 80, 160] {
            client.send(&Message::Resize { cols, rows: 50 });
        }
        assert_eq!(client.ping(), b"");
    }
    for client in [&mut writer, &mut monitor, &mut replaced] {
        client.quiet();
    }
}

// KP-37
#[test]
fn a_size_of_zero_is_ignored() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", COUNT);
    for (cols, rows) in [(0, 24), (90, 0), (0, 0)] {
        writer.send(&Message::Resize { cols, rows });
        assert_eq!(writer.ping(), b"");
    }
    writer.quiet();
    let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
    assert_eq!(watcher.ack().1, 80);
    redraws(&mut writer);
    watcher.send(&Message::Resize { cols: 90, rows: 0 });
    assert_eq!(redraws(&mut writer), "", "not even a redraw");
}

// XS-5
#[test]
fn a_resize_of_another_dialect_is_announced_with_the_next_generation() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", SIZE);
    writer.send(&Message::Resize { cols: 70, rows: 20 });
    writer.until("20 70\r\n");
    let mut coop = swb.coop();
    coop.ok(&json!({"cmd": "attach", "session": "s", "cols": 66, "rows": 18}));
    let acknowledged = Message::ResizeAck { generation: 2, cols: 66, rows: 18 };
    assert_eq!(writer.message(), acknowledged);
    writer.until("18 66\r\n");
    coop.control(&json!({"cmd": "resize", "cols": 55, "rows": 15}));
    let acknowledged = Message::ResizeAck { generation: 3, cols: 55, rows: 15 };
    assert_eq!(writer.message(), acknowledged);
    writer.until("15 55\r\n");
}

fn swb() -> Swb {
    Swb::start(env!("CARGO_BIN_EXE_swb"))
}

/// A further client of session `s` that has seen everything so far.
fn newcomer(swb: &Swb, role: KeeptyRole) -> KeeptyClient {
    let mut client = swb.keepty("s", role, 80, 24);
    assert!(client.ack().0 > 0);
    if role != KeeptyRole::Watcher {
        client.until("ready");
    }
    client
}

/// Skips output until none comes any more.
fn settle(client: &mut KeeptyClient) {
    redraws(client);
}

/// The output that comes until none comes for a while; nothing else must come.
#[track_caller]
fn redraws(client: &mut KeeptyClient) -> String {
    let mut seen = Vec::new();
    loop {
        match client.frame(QUIET) {
            Some(Frame::Message(Message::Output(bytes))) => seen.extend(bytes),
            None => return text(&seen),
            other => panic!("{other:?} where only redraws should come"),
        }
    }
}

/// Follows one client's stream and insists that no size shows before it was announced.
struct Fence {
    /// Columns announced last.
    announced: u16,
    generation: u32,
    /// Most columns the program has printed so far.
    latest_seen: u16,
    line: Vec<u8>,
}

impl Fence {
    fn new(cols: u16) -> Self {
        Self { announced: cols, generation: 0, latest_seen: 0, line: Vec::new() }
    }

    #[track_caller]
    fn take(&mut self, message: Message) {
        match message {
            Message::Output(bytes) => bytes.iter().for_each(|byte| self.take_byte(*byte)),
            Message::ResizeAck { generation, cols, .. } => {
                assert_eq!(generation, self.generation + 1, "none is missing");
                (self.generation, self.announced) = (generation, cols);
            }
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn take_byte(&mut self, byte: u8) {
        if byte != b'\n' {
            return self.line.push(byte);
        }
        let line = text(&std::mem::take(&mut self.line));
        // Of a line that was cut at its beginning nothing may be left, or no larger number.
        let cols: u16 = match line.split_whitespace().last() {
            Some(cols) => cols.parse().unwrap_or_else(|_| panic!("{line:?}")),
            None => 0,
        };
        assert!(cols <= self.announced, "{cols} columns in the output, {} announced", self.announced);
        self.latest_seen = self.latest_seen.max(cols);
    }
}
