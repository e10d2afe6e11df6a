//! How tunnels are offered, listed and ended.

use crate::{SWB, Tunnel};
use rustix::process::Signal;
use serde_json::json;
use std::collections::HashSet;
use swb_testkit::{Swb, signal, wait_for};

// CO-47, Q-31
#[test]
fn coop_clients_get_an_offer() {
    let swb = Swb::start(SWB);
    swb.make("a", &["cat"]);
    let mut coop = swb.coop();
    let reply = coop.ok(&json!({"cmd": "tunnel", "session": "a"}));
    let code = reply["short_code"].as_str().unwrap();
    assert!(
        code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()),
        "{code}"
    );
    assert!(reply["qr_data"].as_str().unwrap().contains("/connect#"), "{reply}");
    assert!(reply["offer_sdp"].as_str().unwrap().starts_with("dj0w"), "the base64 of v=0");
    // CO-31
    assert_eq!(coop.error(&json!({"cmd": "tunnel", "session": "nope"})), "SESSION_NOT_FOUND");
    assert_eq!(coop.error(&json!({"cmd": "tunnel"})), "INVALID_COMMAND");
    let listed = swb.json(&["tunnel", "ls"]);
    assert_eq!(
        listed,
        json!([{"tunnel": reply["tunnel"], "session": "a", "role": "drive", "state": "waiting", "peer": null}])
    );
}

#[test]
fn no_two_tunnels_share_anything() {
    let swb = Swb::start(SWB);
    let tunnels: Vec<Tunnel> = (0..3).map(|_| Tunnel::open(&swb, &[])).collect();
    for field in ["tunnel", "url", "offer_sdp"] {
        let different: HashSet<String> =
            tunnels.iter().map(|tunnel| tunnel.offer[field].to_string()).collect();
        assert_eq!(different.len(), 3, "{field}");
    }
}

#[test]
fn each_end_has_its_exit_code() {
    let swb = Swb::start(SWB);
    swb.make("a", &["cat"]);
    let expiring = Tunnel::open(&swb, &["--expires", "1s"]);
    let revoked = Tunnel::open(&swb, &[]);
    let of_session = Tunnel::open(&swb, &["a"]);
    swb.ok(&["tunnel", "revoke", revoked.id()]);
    assert_eq!(revoked.ended(), ("revoked".to_owned(), 1));
    swb.ok(&["kill", "a"]);
    assert_eq!(of_session.ended(), ("session".to_owned(), 1));
    assert_eq!(expiring.ended(), ("expired".to_owned(), 124));
    let interrupted = Tunnel::open(&swb, &[]);
    let crashed = Tunnel::open(&swb, &[]);
    for unknown in [&["tunnel", "revoke", "nosuchtunnel"][..], &["tunnel", "--answer", "x"]] {
        assert_eq!(swb.run(unknown).status.code(), Some(1), "{unknown:?}");
    }
    assert_eq!(swb.run(&["tunnel", "nosuch"]).status.code(), Some(3));
    assert_eq!(swb.run(&["tunnel", "--role", "owner"]).status.code(), Some(2));
    let mut interrupted = interrupted;
    signal(i64::from(interrupted.child.id()), Signal::INT);
    assert_eq!(interrupted.child.wait().unwrap().code(), Some(0));
    wait_for("the tunnel to be gone", || {
        (swb.json(&["tunnel", "ls"]).as_array().unwrap().len() == 1).then_some(())
    });
    swb.kill_daemon();
    assert_eq!(crashed.ended(), ("daemon".to_owned(), 1));
}

#[test]
fn a_bad_answer_is_explained_and_the_tunnel_still_waits() {
    let swb = Swb::start(SWB);
    let mut tunnel = Tunnel::open(&swb, &[]);
    tunnel.type_in("this is no answer");
    let error = tunnel.event("error");
    assert!(error["message"].as_str().unwrap().contains("invalid answer"), "{error}");
    assert_eq!(swb.json(&["tunnel", "ls"])[0]["state"], "waiting");
}

#[test]
fn a_seventeenth_tunnel_is_refused() {
    let swb = Swb::start(SWB);
    let mut control = swb.control();
    for _ in 0..16 {
        control.ok(&json!({"cmd": "tunnel", "stun": []}));
    }
    assert_eq!(control.error(&json!({"cmd": "tunnel", "stun": []})), "TUNNEL_FAILED");
    assert_eq!(control.error(&json!({"cmd": "tunnel", "stun": ["nonsense"]})), "TUNNEL_FAILED");
}

#[test]
fn servers_are_checked_before_they_are_asked() {
    let swb = Swb::start(SWB);
    for args in [&["--stun", "http://x"][..], &["--turn", "stun:x"], &["--stun", "stun:"]] {
        let refused = swb.run(&[&["tunnel"], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
        assert!(!refused.stderr.is_empty());
    }
    // Those of other clients are checked as well.
    for servers in [json!({"stun": ["http://x"]}), json!({"turn": "stun:x"})] {
        let mut request = json!({"cmd": "tunnel"});
        request.as_object_mut().unwrap().extend(servers.as_object().unwrap().clone());
        assert_eq!(swb.control().error(&request), "INVALID_COMMAND");
    }
}
