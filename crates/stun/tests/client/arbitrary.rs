//! Arbitrary bytes: no panic, and nothing is believed by accident.

use crate::script::{Script, Sent, address, key};
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::{Duration, Instant};
use swb_stun::message::{Class, MessageWriter, StunMessage, method};
use swb_stun::{Binding, ServerUrl, TransactionId, is_stun};

/// Bytes, half of the time behind the header of a message that has their length.
fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let message = (0..4u8, 1..10u16, vec((any::<u16>(), vec(any::<u8>(), 0..40)), 0..6));
    let message = message.prop_map(|(class, method, attributes)| {
        let class = [Class::Request, Class::Indication, Class::Success, Class::Error][usize::from(class)];
        let mut message = MessageWriter::new(class, method, TransactionId([1; 12]));
        for (kind, value) in attributes {
            // Types that are known, and many that are not.
            message = message.attribute(if kind & 1 == 1 { kind % 0x28 } else { kind }, &value);
        }
        message.finish_plain()
    });
    prop_oneof![vec(any::<u8>(), 0..200), message]
}

proptest! {
    #[test]
    fn arbitrary_datagrams_never_panic(datagrams in vec(datagram(), 1..8), at in 0..4000u64) {
        let mut fresh = Script::new();
        let mut busy = Script::allocated();
        busy.bind(address("192.0.2.1:4001"));
        let mut binding = Binding::new([1; 12], Instant::now());
        for datagram in &datagrams {
            if let Ok(message) = StunMessage::parse(datagram) {
                prop_assert!(is_stun(datagram));
                let _all = (message.error(), message.verify(&key()), message.attributes().count());
            }
            let _outcome = binding.handle(datagram);
            for script in [&mut fresh, &mut busy] {
                if let Some(received) = script.allocation.handle(datagram, script.now) {
                    prop_assert!(datagram.get(received.payload).is_some());
                }
                script.now += Duration::from_millis(at);
                script.allocation.handle_timeout(script.now);
            }
        }
    }

    #[test]
    fn arbitrary_replies_of_the_server_never_panic(
        replies in vec((any::<bool>(), vec((1..0x28u16, vec(any::<u8>(), 0..24)), 0..6)), 1..8),
    ) {
        let mut script = Script::challenged();
        for (success, attributes) in replies {
            let Some(datagram) = script.datagram() else { break };
            let mut reply = Sent(datagram).reply(if success { Class::Success } else { Class::Error });
            for (kind, value) in attributes {
                reply = reply.attribute(kind, &value);
            }
            script.allocation.handle(&reply.integrity(&key()).finish(), script.now);
            let end = script.now + Duration::from_secs(600);
            script.wait(end);
        }
    }

    #[test]
    fn arbitrary_urls_never_panic(text in ".{0,80}", scheme in "(stun|turn|turns)?:?") {
        for text in [&text, &format!("{scheme}{text}")] {
            if let Ok(url) = ServerUrl::parse(text) {
                let again = ServerUrl::parse(&url.to_string()).unwrap();
                prop_assert_eq!((again.kind, again.host, again.port), (url.kind, url.host, url.port));
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again(id in any::<[u8; 12]>(), attributes in vec((0x100..0x200u16, vec(any::<u8>(), 0..40)), 0..6)) {
        let mut writer = MessageWriter::new(Class::Request, method::ALLOCATE, TransactionId(id));
        for (kind, value) in &attributes {
            writer = writer.attribute(*kind, value);
        }
        let datagram = writer.integrity(&key()).finish();
        let message = StunMessage::parse(&datagram).unwrap();
        prop_assert_eq!(message.verify(&key()), Some(true));
        let read: Vec<(u16, Vec<u8>)> = message.attributes().map(|(kind, value)| (kind, value.to_vec())).collect();
        prop_assert_eq!(read, attributes);
    }
}
