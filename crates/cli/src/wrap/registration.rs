//! The messages to a broker and the handling of its replies, without a socket.
//!
//! On a connection, the wrapper sends hello, register, then turns; the broker sends injects. The latest turn is always
//! kept, so that a broker that starts later gets it (CP-15, CP-16). The send queue is bounded: the connection to a
//! broker that does not read is closed.

use crate::limits;
use swb_turns::LineTurn;
use swb_wire::clippy::{
    EncodeError, Malformed, Message, PeerRole, Request, VERSION, encode_request, parse_message,
};

/// Why a connection has to be closed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BrokerUnusable {
    /// The broker sent an invalid message.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The broker does not read.
    #[error("the broker does not read")]
    Stuck,
    /// The broker rejected the registration.
    #[error("the broker refused: {0}")]
    Refused(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RegistrationPhase {
    Away,
    Greeting,
    /// Waiting for the reply to this request.
    Registering(u32),
    Registered,
    /// Waiting for the reply to this request.
    Leaving(u32),
    Left,
}

/// The session, as it is registered with a broker.
#[derive(Debug)]
pub(super) struct Registration {
    session: String,
    pid: u32,
    pattern: String,
    kept: Option<LineTurn>,
    phase: RegistrationPhase,
    last_id: u32,
    /// Bytes for the broker; the first `sent` are sent.
    out: Vec<u8>,
    sent: usize,
}

impl Registration {
    pub(super) fn new(session: String, pid: u32, pattern: String) -> Self {
        Self {
            session,
            pid,
            pattern,
            kept: None,
            phase: RegistrationPhase::Away,
            last_id: 0,
            out: Vec::new(),
            sent: 0,
        }
    }

    /// Connected to a broker: queues hello.
    pub(super) fn connected(&mut self) {
        self.disconnected();
        self.phase = RegistrationPhase::Greeting;
        let hello = Request::Hello { version: VERSION, role: Some(PeerRole::Wrapper) };
        // A hello is short.
        let _fits = encode_request(0, &hello, &mut self.out);
    }

    /// The connection is closed: drops the send queue, except the latest turn.
    pub(super) fn disconnected(&mut self) {
        self.phase = RegistrationPhase::Away;
        self.last_id = 0;
        self.out = Vec::new();
        self.sent = 0;
    }

    /// Whether a reply is needed to continue.
    pub(super) fn awaits_answer(&self) -> bool {
        matches!(self.phase, RegistrationPhase::Greeting | RegistrationPhase::Registering(_))
    }

    /// Keeps a turn, and sends it if a broker is connected (CP-18).
    pub(super) fn turn(&mut self, turn: LineTurn) -> Result<(), BrokerUnusable> {
        self.kept = Some(turn);
        if self.phase == RegistrationPhase::Registered { self.send_kept() } else { Ok(()) }
    }

    /// Deregisters the session, if the broker knows it (CP-21).
    pub(super) fn leave(&mut self) {
        let id = self.next_id();
        let request = Request::Deregister { session: &self.session };
        self.phase = match self.phase {
            RegistrationPhase::Registering(_) | RegistrationPhase::Registered
                if encode_request(id, &request, &mut self.out).is_ok() =>
            {
                RegistrationPhase::Leaving(id)
            }
            _ => RegistrationPhase::Left,
        };
    }

    /// Whether nothing is left to be sent or received.
    pub(super) fn has_left(&self) -> bool {
        self.phase == RegistrationPhase::Left
    }

    /// Bytes for the broker.
    pub(super) fn waiting(&self) -> &[u8] {
        self.out.get(self.sent..).unwrap_or_default()
    }

    /// Removes bytes that were sent.
    pub(super) fn took(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.out.len() {
            // Free the memory of a large turn.
            self.out = Vec::new();
            self.sent = 0;
        }
    }

    /// Handles a message of the broker; returns the text to type, if any.
    pub(super) fn handle<'a>(&mut self, frame: &'a [u8]) -> Result<Option<&'a [u8]>, BrokerUnusable> {
        match (parse_message(frame)?, self.phase) {
            (Message::HelloAck { error: None }, RegistrationPhase::Greeting) => self.register()?,
            (Message::HelloAck { error: Some(reason) }, _) => {
                return Err(BrokerUnusable::Refused(reason.to_owned()));
            }
            (Message::Response(response), RegistrationPhase::Registering(id)) if response.id == id => {
                if let Some(reason) = response.error {
                    return Err(BrokerUnusable::Refused(reason.to_owned()));
                }
                self.phase = RegistrationPhase::Registered;
                if self.kept.is_some() {
                    self.send_kept()?;
                }
            }
            (Message::Response(response), RegistrationPhase::Leaving(id)) if response.id == id => {
                self.phase = RegistrationPhase::Left
            }
            // A paste of another client may arrive before the reply to the registration.
            (
                Message::Inject { content },
                RegistrationPhase::Registering(_) | RegistrationPhase::Registered,
            ) => {
                return Ok(Some(content));
            }
            // The rest confirms turns, or is unknown.
            _ => {}
        }
        Ok(None)
    }

    fn register(&mut self) -> Result<(), BrokerUnusable> {
        let id = self.next_id();
        let request = Request::Register { session: &self.session, pid: self.pid, pattern: &self.pattern };
        encode_request(id, &request, &mut self.out).map_err(|_| BrokerUnusable::Stuck)?;
        self.phase = RegistrationPhase::Registering(id);
        Ok(())
    }

    fn send_kept(&mut self) -> Result<(), BrokerUnusable> {
        let id = self.next_id();
        let Some(turn) = &self.kept else { return Ok(()) };
        if self.out.len() - self.sent + turn.content.len() > limits::BROKER_QUEUE {
            return Err(BrokerUnusable::Stuck);
        }
        let length = |length: u64| u32::try_from(length).unwrap_or(u32::MAX);
        let request = Request::TurnCompleted {
            session: &self.session,
            content: &turn.content,
            interrupted: turn.interrupted,
            timestamp: Some(turn.at.millis()),
            byte_length: turn.truncated().then(|| length(turn.byte_length)),
        };
        match encode_request(id, &request, &mut self.out) {
            // Cannot happen: the limit of a turn is below that of a frame.
            Ok(()) | Err(EncodeError::TooLarge { .. }) => Ok(()),
            Err(_) => Err(BrokerUnusable::Stuck),
        }
    }

    fn next_id(&mut self) -> u32 {
        // 0 is for messages that are not replies.
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        self.last_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_turns::Time;
    use swb_types::Offset;
    use swb_wire::clippy::{Reason, Response, encode_message, frames, parse_request};

    fn registration() -> Registration {
        Registration::new("s".into(), 7, "generic".into())
    }

    fn turn(content: &[u8]) -> LineTurn {
        LineTurn {
            content: content.to_vec(),
            byte_length: content.len() as u64,
            start: Offset(0),
            end: Offset(0),
            interrupted: false,
            at: Time::from_millis(5),
        }
    }

    /// The messages sent since the last call, in short.
    fn sent(registration: &mut Registration) -> Vec<String> {
        let mut reader = frames();
        reader.push(registration.waiting());
        let mut sent = Vec::new();
        while let Some(frame) = reader.next().unwrap() {
            let (id, request) = parse_request(&frame).unwrap();
            sent.push(match request {
                Request::TurnCompleted { content, .. } => format!("{id} turn {}", content.escape_ascii()),
                Request::Register { .. } => format!("{id} register"),
                Request::Deregister { .. } => format!("{id} deregister"),
                Request::Hello { .. } => format!("{id} hello"),
                other => format!("{other:?}"),
            });
        }
        registration.took(registration.waiting().len());
        sent
    }

    fn receive(
        registration: &mut Registration,
        message: &Message<'_>,
    ) -> Result<Option<Vec<u8>>, BrokerUnusable> {
        let mut bytes = Vec::new();
        encode_message(message, &mut bytes).unwrap();
        registration.handle(&bytes[4..]).map(|typed| typed.map(<[u8]>::to_vec))
    }

    fn ok(id: u32) -> Message<'static> {
        Message::Response(Response::ok(id))
    }

    fn registered() -> Registration {
        let mut registration = registration();
        registration.connected();
        receive(&mut registration, &Message::HelloAck { error: None }).unwrap();
        receive(&mut registration, &ok(1)).unwrap();
        sent(&mut registration);
        registration
    }

    // CP-14, CP-16, CP-18
    #[test]
    fn a_broker_gets_hello_register_and_the_latest_turn_once() {
        let mut registration = registration();
        registration.turn(turn(b"old")).unwrap();
        registration.turn(turn(b"kept")).unwrap();
        registration.connected();
        assert_eq!(sent(&mut registration), ["0 hello"]);
        receive(&mut registration, &Message::HelloAck { error: None }).unwrap();
        assert_eq!(sent(&mut registration), ["1 register"]);
        receive(&mut registration, &ok(1)).unwrap();
        assert_eq!(sent(&mut registration), ["2 turn kept"]);
        receive(&mut registration, &ok(2)).unwrap();
        registration.turn(turn(b"new")).unwrap();
        assert_eq!(sent(&mut registration), ["3 turn new"]);
        // Another broker knows nothing yet.
        registration.connected();
        receive(&mut registration, &Message::HelloAck { error: None }).unwrap();
        receive(&mut registration, &ok(1)).unwrap();
        assert_eq!(sent(&mut registration), ["0 hello", "1 register", "2 turn new"]);
    }

    #[test]
    fn replies_with_wrong_ids_change_nothing() {
        let mut registration = registration();
        registration.connected();
        sent(&mut registration);
        assert_eq!(receive(&mut registration, &ok(1)), Ok(None));
        assert_eq!(receive(&mut registration, &Message::Inject { content: b"x" }), Ok(None));
        assert_eq!(sent(&mut registration), Vec::<String>::new());
        receive(&mut registration, &Message::HelloAck { error: None }).unwrap();
        assert_eq!(receive(&mut registration, &ok(99)), Ok(None));
        assert!(registration.awaits_answer());
        assert_eq!(registration.handle(b"\xc1"), Err(BrokerUnusable::Malformed(Malformed)));
    }

    #[test]
    fn a_rejection_ends_the_connection() {
        let mut registration = registration();
        registration.connected();
        let refused = receive(&mut registration, &Message::HelloAck { error: Some("version_mismatch") });
        assert_eq!(refused, Err(BrokerUnusable::Refused("version_mismatch".into())));
        registration.connected();
        receive(&mut registration, &Message::HelloAck { error: None }).unwrap();
        let error = Message::Response(Response::error(1, Reason::DuplicateSession));
        assert!(matches!(receive(&mut registration, &error), Err(BrokerUnusable::Refused(_))));
    }

    // CP-19
    #[test]
    fn injected_text_is_passed_on() {
        let mut registration = registered();
        let typed = receive(&mut registration, &Message::Inject { content: b"a\0\xff\r" });
        assert_eq!(typed, Ok(Some(b"a\0\xff\r".to_vec())));
    }

    // CP-28
    #[test]
    fn a_broker_that_does_not_read_is_given_up() {
        let mut registration = registered();
        let large = vec![b'x'; 8 * 1024 * 1024];
        let sent = (0..10).take_while(|_| registration.turn(turn(&large)).is_ok()).count();
        assert_eq!(sent, 3, "of 32 MiB, the frames around them counted");
        registration.disconnected();
        assert!(registration.waiting().is_empty());
        assert!(registration.kept.is_some());
    }

    // CP-21
    #[test]
    fn deregister_is_sent_once_and_waited_for() {
        let mut registration = registered();
        registration.leave();
        assert_eq!(sent(&mut registration), ["2 deregister"]);
        assert!(!registration.has_left());
        receive(&mut registration, &ok(2)).unwrap();
        assert!(registration.has_left());

        let mut strange = self::registration();
        strange.leave();
        assert!(strange.has_left() && strange.waiting().is_empty(), "no broker to notify");
    }
}
