//! The life of an allocation, with a scripted server.

use crate::script::{MAPPED, RELAYED, Script, Sent, address, credentials, key};
use std::time::{Duration, Instant};
use swb_stun::message::{Class, attribute, method};
use swb_stun::{Allocation, AllocationEvent, RelayFamily, SendError, TurnError, address as wire, limits};

const PEER: &str = "192.0.2.1:4001";

fn failure(script: &mut Script) -> TurnError {
    let event = script.event();
    let Some(AllocationEvent::Failed(error)) = event else { panic!("{event:?}") };
    assert!(script.allocation.is_over());
    assert_eq!(script.allocation.poll_timeout(), None);
    assert_eq!(script.allocation.send(address(PEER), b"", script.now), Err(SendError::NotReady));
    script.silence();
    error
}

#[test]
fn an_allocation_is_requested_again_with_credentials() {
    let mut script = Script::new();
    let first = script.request();
    assert_eq!(first.method(), method::ALLOCATE);
    assert_eq!(first.message().attribute(attribute::REQUESTED_TRANSPORT), Some(&[17, 0, 0, 0][..]));
    assert_eq!(first.message().attribute(attribute::USERNAME), None);
    script.handle(&first.challenge(401, b"nonce"));
    let second = script.request();
    second.assert_signed(b"nonce");
    assert_ne!(second.message().transaction(), first.message().transaction());
    assert_eq!(script.allocation.relayed(), None);
    script.handle(&second.granted_for(600));
    let (relayed, mapped) = (address(RELAYED), address(MAPPED));
    assert_eq!(script.event(), Some(AllocationEvent::Allocated { relayed, mapped }));
    assert_eq!(script.allocation.relayed(), Some(relayed));
    assert_eq!(script.allocation.mapped(), Some(mapped));
    script.silence();
}

#[test]
fn wrong_and_missing_credentials_are_reported() {
    let mut script = Script::challenged();
    let request = script.request();
    script.handle(&request.challenge(401, b"another"));
    assert_eq!(failure(&mut script), TurnError::Credentials);

    let mut script = Script::new();
    script.allocation = Allocation::new(None, RelayFamily::V4, [0; 32], script.now);
    let request = script.request();
    script.handle(&request.challenge(401, b"nonce"));
    assert_eq!(failure(&mut script), TurnError::CredentialsMissing);
}

#[test]
fn errors_of_the_server_are_reported() {
    for (code, error) in [
        (437, TurnError::Mismatch),
        (440, TurnError::Family),
        (486, TurnError::Quota),
        (508, TurnError::Capacity),
        (300, TurnError::Alternate(None)),
    ] {
        // Before and after the challenge.
        let mut script = Script::new();
        let request = script.request();
        script.handle(&request.error(code).finish());
        assert_eq!(failure(&mut script), error);
        let mut script = Script::challenged();
        let request = script.request();
        script.handle(&request.refused(code));
        assert_eq!(failure(&mut script), error);
    }
    let mut script = Script::challenged();
    let request = script.request();
    script.handle(&request.refused(403));
    assert_eq!(failure(&mut script).to_string(), "the TURN server replied with error 403");

    let mut script = Script::challenged();
    let request = script.request();
    let other = wire::write(address("192.0.2.99:3478"));
    script.handle(
        &request.error(300).attribute(attribute::ALTERNATE_SERVER, &other).integrity(&key()).finish(),
    );
    let text = failure(&mut script).to_string();
    assert_eq!(text, "the TURN server refers to another one: use 192.0.2.99:3478");
}

#[test]
fn a_stale_nonce_is_replaced_a_few_times() {
    let mut script = Script::challenged();
    for round in 0..10 {
        let request = script.request();
        script.handle(&request.challenge(438, format!("nonce {round}").as_bytes()));
        if script.allocation.is_over() {
            assert_eq!(round, 2);
            assert!(matches!(failure(&mut script), TurnError::Refused(_)));
            return;
        }
    }
    panic!("it would go on forever");
}

#[test]
fn a_challenge_without_realm_or_nonce_is_invalid() {
    let long = [b'x'; 764];
    for (realm, nonce) in [(None, Some(&b"n"[..])), (Some(&b"r"[..]), None), (Some(&long), Some(b"n"))] {
        let mut script = Script::new();
        let mut reply = script.request().error(401);
        for (kind, value) in [(attribute::REALM, realm), (attribute::NONCE, nonce)] {
            reply = value.into_iter().fold(reply, |reply, value| reply.attribute(kind, value));
        }
        script.handle(&reply.finish());
        assert!(matches!(failure(&mut script), TurnError::Invalid(_)));
    }
}

#[test]
fn replies_that_are_not_signed_are_not_believed() {
    let mut script = Script::challenged();
    let request = script.request();
    let grant = request
        .reply(Class::Success)
        .xor_address(attribute::XOR_RELAYED_ADDRESS, address("192.0.2.66:1"))
        .xor_address(attribute::XOR_MAPPED_ADDRESS, address(MAPPED))
        .attribute(attribute::LIFETIME, &600u32.to_be_bytes());
    script.handle(&grant.finish());
    let forged = request.error(486).integrity(&swb_stun::integrity::IntegrityKey::new(b"guessed"));
    script.handle(&forged.finish());
    assert_eq!(script.event(), None);
    // The reply of the server still counts.
    script.handle(&request.granted_for(600));
    assert_eq!(script.allocation.relayed(), Some(address(RELAYED)));
}

#[test]
fn an_unsigned_error_explains_a_request_that_times_out() {
    for (reply, expected) in [(None, "the TURN server did not reply within 5 s"), (Some(400), "error 400")] {
        let mut script = Script::challenged();
        let request = script.request();
        if let Some(code) = reply {
            script.handle(&request.error(code).finish());
        }
        let began = script.now;
        let mut transmissions = 1;
        while script.wait(began + Duration::from_secs(60)) {
            transmissions +=
                std::iter::from_fn(|| script.datagram()).inspect(|it| assert_eq!(*it, request.0)).count();
        }
        assert_eq!(transmissions, 4);
        let error = failure(&mut script).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn replies_without_usable_addresses_or_lifetime_are_invalid() {
    let relayed = |at: &str| (attribute::XOR_RELAYED_ADDRESS, at.to_owned());
    let mapped = || (attribute::XOR_MAPPED_ADDRESS, MAPPED.to_owned());
    for (addresses, lifetime, error) in [
        (vec![mapped()], Some(600), "it has no relayed address"),
        (vec![relayed(RELAYED)], Some(600), "it has no mapped address"),
        (vec![relayed("0.0.0.0:1"), mapped()], Some(600), "it has no relayed address"),
        (vec![relayed("192.0.2.1:0"), mapped()], Some(600), "it has no relayed address"),
        (vec![relayed(RELAYED), mapped()], None, "it has no lifetime"),
        (vec![relayed(RELAYED), mapped()], Some(9), "the lifetime is too short"),
    ] {
        let mut script = Script::challenged();
        let mut reply = script.request().reply(Class::Success);
        for (kind, at) in addresses {
            reply = reply.xor_address(kind, address(&at));
        }
        if let Some(seconds) = lifetime {
            reply = reply.attribute(attribute::LIFETIME, &u32::to_be_bytes(seconds));
        }
        script.handle(&reply.integrity(&key()).finish());
        assert_eq!(failure(&mut script), TurnError::Invalid(error));
    }
}

#[test]
fn ipv6_addresses_are_for_ipv6_peers() {
    let challenged = || {
        let mut script = Script::new();
        script.allocation = Allocation::new(Some(credentials()), RelayFamily::V6, [1; 32], script.now);
        let request = script.request();
        assert_eq!(request.message().attribute(attribute::REQUESTED_ADDRESS_FAMILY), Some(&[2, 0, 0, 0][..]));
        script.handle(&request.challenge(401, b"nonce"));
        script
    };
    let mut script = challenged();
    let reply = script.request().reply(Class::Success);
    let reply = reply
        .xor_address(attribute::XOR_RELAYED_ADDRESS, address("[2001:db8::9]:50000"))
        .xor_address(attribute::XOR_MAPPED_ADDRESS, address(MAPPED))
        .attribute(attribute::LIFETIME, &600u32.to_be_bytes());
    script.handle(&reply.integrity(&key()).finish());
    assert_eq!(script.allocation.relayed(), Some(address("[2001:db8::9]:50000")));
    assert_eq!(script.allocation.send(address(PEER), b"x", script.now), Err(SendError::Family));
    script.bind(address("[2001:db8::1]:4001"));

    // A server that does not know the attribute and gives an address of the other family.
    let mut script = challenged();
    let request = script.request();
    script.handle(&request.granted_for(600));
    assert_eq!(failure(&mut script), TurnError::Family);
}

#[test]
fn an_allocation_is_refreshed_a_minute_before_its_end() {
    let mut script = Script::allocated();
    let seen = script.serve(Duration::from_secs(3600));
    assert_eq!(seen, [540, 1080, 1620, 2160, 2700, 3240].map(|at| (method::REFRESH, at)));
    assert!(script.allocation.relayed().is_some());
    assert_eq!(script.event(), None);
}

#[test]
fn short_and_absurd_lifetimes_are_refreshed_in_time() {
    for (lifetime, at) in [(20, 10), (u32::MAX, 3540)] {
        let mut script = Script::challenged();
        let request = script.request();
        script.handle(&request.granted_for(lifetime));
        let seen = script.serve(Duration::from_secs(at + 1));
        assert_eq!(seen, [(method::REFRESH, at)]);
    }
}

#[test]
fn an_allocation_outlives_a_server_that_is_away_for_a_while() {
    let mut script = Script::allocated();
    let end = script.now + Duration::from_secs(590);
    while script.wait(end) {
        while script.datagram().is_some() {}
    }
    let seen = script.serve(Duration::from_secs(9));
    assert!(seen.iter().any(|(sent, _)| *sent == method::REFRESH), "{seen:?}");
    script.serve(Duration::from_secs(300));
    assert!(script.allocation.relayed().is_some());
}

#[test]
fn an_allocation_that_is_not_refreshed_is_lost() {
    let mut script = Script::allocated();
    let (began, mut refreshes) = (script.now, 0);
    while script.wait(began + Duration::from_secs(3600)) {
        refreshes += std::iter::from_fn(|| script.datagram()).count();
    }
    assert_eq!(failure(&mut script), TurnError::Lost);
    // Twelve attempts of four datagrams each.
    assert!((40..=48).contains(&refreshes), "{refreshes}");
    assert!(script.allocation.relayed().is_none());
}

#[test]
fn an_allocation_ends_in_time_while_a_refresh_is_refused() {
    let mut script = Script::allocated();
    let expires = script.now + Duration::from_secs(600);
    let almost = expires - Duration::from_secs(2);
    while script.wait(almost) {}
    let last = std::iter::from_fn(|| script.datagram()).map(Sent).last().expect("a refresh");
    script.handle(&last.refused(508));
    assert_eq!(script.allocation.poll_timeout(), Some(expires));
    script.wait(expires);
    assert_eq!(failure(&mut script), TurnError::Lost);
}

#[test]
fn an_allocation_that_the_server_does_not_know_is_lost() {
    for reply in [|request: &Sent| request.refused(437), |request: &Sent| request.granted_for(0)] {
        let mut script = Script::allocated();
        let due = script.now + Duration::from_secs(540);
        while script.wait(due) {}
        let request = script.request();
        assert_eq!(request.method(), method::REFRESH);
        // A peer that cannot sign cannot end it.
        script.handle(&request.error(437).finish());
        assert_eq!(script.event(), None);
        script.handle(&reply(&request));
        assert_eq!(failure(&mut script), TurnError::Lost);
    }
}

#[test]
fn an_unsigned_error_does_not_end_an_allocation() {
    let mut script = Script::allocated();
    let due = script.now + Duration::from_secs(540);
    while script.wait(due) {}
    let request = script.request();
    script.handle(&request.error(437).finish());
    // As if there had been no reply: it is requested again.
    let end = script.now + Duration::from_secs(20);
    while script.wait(end) {}
    assert_eq!(script.event(), None);
    script.serve(Duration::from_secs(30));
    assert!(script.allocation.relayed().is_some());
}

#[test]
fn a_refresh_uses_a_new_nonce_of_a_restarted_server() {
    for code in [401, 438] {
        let mut script = Script::allocated();
        let due = script.now + Duration::from_secs(540);
        while script.wait(due) {}
        let request = script.request();
        script.handle(&request.challenge(code, b"new"));
        let request = script.request();
        request.assert_signed(b"new");
        script.handle(&request.granted_for(600));
        assert_eq!(script.event(), None);
    }
}

#[test]
fn closing_gives_the_address_back() {
    for confirm in [
        (|request: &Sent| Some(request.granted_for(0))) as fn(&Sent) -> Option<Vec<u8>>,
        |request| Some(request.refused(437)),
        |_| None,
    ] {
        let mut script = Script::allocated();
        script.bind(address(PEER));
        script.allocation.close(script.now);
        assert_eq!(script.allocation.relayed(), None);
        let request = script.request();
        request.assert_signed(b"nonce");
        assert_eq!(request.method(), method::REFRESH);
        assert_eq!(request.message().attribute(attribute::LIFETIME), Some(&[0; 4][..]));
        script.silence();
        assert_eq!(script.event(), None);
        assert_eq!(
            script.allocation.handle(b"\x40\0\0\x01x", script.now),
            None,
            "nothing is received any more"
        );
        match confirm(&request) {
            Some(reply) => script.handle(&reply),
            None => {
                let end = script.now + limits::REQUEST;
                while script.wait(end) {}
            }
        }
        assert_eq!(script.event(), Some(AllocationEvent::Closed));
        assert!(script.allocation.is_over());
        script.silence();
        script.allocation.close(script.now);
        assert_eq!(script.event(), None);
    }
}

#[test]
fn closing_before_the_reply_gives_the_address_back_as_well() {
    let mut script = Script::challenged();
    let allocate = script.request();
    script.allocation.close(script.now);
    assert_eq!(script.request().method(), method::REFRESH);
    script.handle(&allocate.granted_for(600));
    assert_eq!(script.allocation.relayed(), None);

    let mut script = Script::new();
    script.allocation.close(script.now);
    assert_eq!(script.event(), Some(AllocationEvent::Closed));
}

#[test]
fn secrets_are_not_shown() {
    let allocation = Allocation::new(Some(credentials()), RelayFamily::V4, [0x55; 32], Instant::now());
    let shown = format!("{allocation:?}");
    assert!(shown.contains("user") && !shown.contains("password") && !shown.contains("85, 85"), "{shown}");
}
