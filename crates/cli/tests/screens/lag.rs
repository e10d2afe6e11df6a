//! Clients that do not read for a while miss output, and get its result as a picture.

use super::{EXE, known, script, wait_for_text};
use serde_json::json;
use swb_testkit::{LIMIT, ScreenClient, StreamItem, Swb};
use swb_types::Size;
use swb_vt::{Options, Screen};

/// Writes more than everything between it and a client holds, each time it is typed a line; what it changes in the
/// middle of that is missed by a client that does not read.
const FLOODS: &str = "stty -echo; printf '\\033[?1hready'; while read n; do \
                      seq -f \"round $n line %.0f\" 1 60000; printf \"\\033[3${n}m\\033]2;title $n\\007\"; \
                      seq -f \"round $n line %.0f\" 60001 120000; printf \"end of round $n\"; done";
const ROUNDS: [u32; 3] = [1, 2, 3];

// CO-65, CO-66
#[test]
fn a_terminal_client_gets_a_picture_instead_of_missed_output() {
    let swb = Swb::start(EXE);
    script(&swb, "x", FLOODS);
    let mut client = ScreenClient::attach(&swb, "x");
    client.until_text("ready");
    for round in ROUNDS {
        let before = client.count("lagged");
        client.type_in(format!("{round}\n").as_bytes());
        // Meanwhile nothing is read.
        wait_for_text(&swb, "x", &format!("end of round {round}"));
        client.until_text(&format!("end of round {round}"));
        assert!(client.count("lagged") > before, "round {round}: it missed nothing");
        let (screen, offset) = known(&swb, "x");
        client.read_to(offset);
        assert_eq!(client.screen().contents(0), screen.contents(0), "round {round}");
        assert_eq!(client.screen().title(), format!("title {round}"));
    }
    assert!(client.screen().modes().app_cursor, "what was set before is still set");
    let events: Vec<&str> = client
        .events()
        .iter()
        .filter_map(|event| event["event"].as_str())
        .filter(|name| *name != "resized")
        .collect();
    assert_eq!(events[0], "repaint");
    for pair in events[1..].chunks(2) {
        assert_eq!(pair, ["lagged", "repaint"], "{events:?}");
    }
    // It is a terminal like any other afterwards.
    client.type_in(b"x\n");
    client.until_text("end of round x");
}

// CO-65, CO-66
#[test]
fn a_plain_client_gets_the_screen_as_output() {
    let swb = Swb::start(EXE);
    script(&swb, "x", FLOODS);
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "x", "cols": 80, "rows": 24}));
    let mut screen = Screen::new(Size::new(80, 24).unwrap(), Options::default());
    let mut lagged = 0;
    let mut show = |screen: &mut Screen, text: &str| {
        while !screen.text().contains(text) {
            match client.item(LIMIT) {
                Some(StreamItem::Data(bytes)) => screen.feed(&bytes),
                Some(StreamItem::Control(event)) => {
                    assert_eq!(event["event"], "lagged", "{event}");
                    assert!(event["dropped"].as_u64().is_some_and(|dropped| dropped > 0), "{event}");
                    lagged += 1;
                }
                other => panic!("{other:?} instead of {text:?}"),
            }
        }
        lagged
    };
    show(&mut screen, "ready");
    for round in ROUNDS {
        swb.ok(&["send", "x", &round.to_string(), "--enter"]);
        wait_for_text(&swb, "x", &format!("end of round {round}"));
        let lagged = show(&mut screen, &format!("end of round {round}"));
        assert!(lagged >= round, "round {round}: it missed nothing");
        assert_eq!(screen.contents(0), known(&swb, "x").0.contents(0), "round {round}");
    }
}

// CO-65: a watcher of another size never delays another client either.
#[test]
fn a_watcher_of_another_size_that_does_not_read_catches_up() {
    let swb = Swb::start(EXE);
    script(&swb, "x", FLOODS);
    let mut watcher =
        ScreenClient::with(&swb, "x", &json!({"watch": true, "repaint": true, "cols": 30, "rows": 8}));
    watcher.until_text("ready");
    for round in ROUNDS {
        swb.ok(&["send", "x", &round.to_string(), "--enter"]);
        wait_for_text(&swb, "x", &format!("end of round {round}"));
        watcher.until_text(&format!("end of round {round}"));
    }
}
