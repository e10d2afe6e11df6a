//! Every encoded message can be decoded, however the bytes are split; no bytes cause a panic.

use crate::reading::read_pieces;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use swb_types::{Offset, PtyId};
use swb_wire::control::{self, Base64, ClientControl, ExitCause, Operation, StreamEvent, StreamFrame};
use swb_wire::keepty::{self, KeeptyRole, Message};
use swb_wire::{FrameError, LengthPrefixed};

/// Cuts bytes into pieces of the given lengths, over and over.
fn pieces<'a>(bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, tail) = rest.split_at((*length).clamp(1, rest.len()));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    vec(1..40_usize, 1..8)
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(KeeptyRole::Writer), Just(KeeptyRole::Watcher), Just(KeeptyRole::Monitor)];
    let bytes = || vec(any::<u8>(), 0..300);
    prop_oneof![
        (role, any::<u16>(), any::<u16>()).prop_map(|(role, cols, rows)| Message::Hello { role, cols, rows }),
        any::<(u32, u16, u16)>().prop_map(|(pid, cols, rows)| Message::HelloAck { pid, cols, rows }),
        bytes().prop_map(Message::Input),
        bytes().prop_map(Message::Output),
        any::<(u16, u16)>().prop_map(|(cols, rows)| Message::Resize { cols, rows }),
        any::<(u32, u16, u16)>().prop_map(|(generation, cols, rows)| Message::ResizeAck {
            generation,
            cols,
            rows
        }),
        any::<i32>().prop_map(|code| Message::Exit { code }),
        Just(Message::Shutdown),
        Just(Message::Ping),
        Just(Message::Pong),
        ".{0,40}".prop_map(Message::Error),
    ]
}

type KeeptyOutcome = (Vec<Message>, Option<keepty::DecodeError>);

fn keepty_decode(pieces: &[&[u8]]) -> KeeptyOutcome {
    read_pieces(keepty::Decoder::new(), keepty::Decoder::push, keepty::Decoder::next, pieces.iter().copied())
}

fn text() -> impl Strategy<Value = String> {
    ".{0,30}"
}

fn argv() -> impl Strategy<Value = Option<Vec<String>>> {
    of(vec(text(), 0..4))
}

fn until() -> impl Strategy<Value = Option<control::Until>> {
    of(Just(control::Until::Head))
}

fn create() -> impl Strategy<Value = Operation> {
    let known = (of(text()), text(), of(text()), any::<Option<bool>>());
    let process = (argv(), of(btree_map(text(), text(), 0..4)), any::<Option<u32>>());
    let start = of(prop_oneof![Just(control::Start::Now), Just(control::Start::Writer)]);
    let session = (any::<(Option<u16>, Option<u16>, Option<bool>)>(), start, any::<bool>());
    let fronts = (vec(text(), 0..3), vec(text(), 0..3));
    (known, process, session, fronts).prop_map(|(known, process, session, (hide, require))| {
        let (name, workspace, coopfile, detach) = known;
        let (argv, env, umask) = process;
        let ((cols, rows, restart), start, unique) = session;
        Operation::Create(control::Create {
            name,
            workspace,
            coopfile,
            detach,
            argv,
            env,
            umask,
            cols,
            rows,
            restart,
            start,
            unique,
            profile: None,
            announce: false,
            hide,
            require,
        })
    })
}

fn attach() -> impl Strategy<Value = Operation> {
    let numbers = any::<(Option<u32>, Option<u16>, Option<u16>, Option<u64>, Option<u64>)>();
    let flags = any::<(bool, bool, bool, bool, Option<u64>)>();
    (text(), numbers, flags, until()).prop_map(|(session, numbers, flags, until)| {
        let (pty, cols, rows, resume, history) = numbers;
        let (watch, offsets, repaint, sizes, scrollback) = flags;
        let (pty, resume) = (pty.map(PtyId), resume.map(Offset));
        Operation::Attach(control::Attach {
            session,
            pty,
            cols,
            rows,
            resume,
            watch,
            history,
            offsets,
            until,
            repaint,
            scrollback,
            sizes,
            input: scrollback,
            notify: sizes,
            direct: sizes,
        })
    })
}

fn shell() -> impl Strategy<Value = Operation> {
    let process = (of(text()), argv(), of(btree_map(text(), text(), 0..4)), any::<Option<bool>>());
    let numbers = any::<(Option<u16>, Option<u16>, Option<u64>, Option<u64>)>();
    let flags = any::<(bool, bool, bool, bool, Option<u64>)>();
    (text(), process, numbers, flags, until()).prop_map(|(session, process, numbers, flags, until)| {
        let (command, argv, env, force_new) = process;
        let (cols, rows, resume, history) = numbers;
        let (watch, offsets, repaint, sizes, scrollback) = flags;
        let resume = resume.map(Offset);
        Operation::Shell(control::Shell {
            session,
            command,
            cols,
            rows,
            force_new,
            argv,
            env,
            resume,
            watch,
            history,
            offsets,
            until,
            repaint,
            scrollback,
            sizes,
            input: scrollback,
            notify: sizes,
            direct: sizes,
        })
    })
}

fn small_request() -> impl Strategy<Value = Operation> {
    let pty = || any::<Option<u32>>().prop_map(|pty| pty.map(PtyId));
    let bytes = vec(any::<u8>(), 0..60).prop_map(|bytes| (None, Some(Base64(bytes))));
    let typed = prop_oneof![text().prop_map(|text| (Some(text), None)), bytes];
    prop_oneof![
        any::<(bool, bool)>().prop_map(|(details, all)| Operation::Ls(control::Ls { details, all })),
        (text(), any::<(bool, bool)>()).prop_map(|(session, (all, force))| {
            Operation::Kill(control::Kill { session: Some(session), all, force })
        }),
        (any::<Option<u16>>(), of(text()), of(text())).prop_map(|(port, host, token)| Operation::Serve(
            control::Serve { port, host, token, ..control::Serve::default() }
        )),
        (of(text()), of(vec(text(), 0..3)), of(text()), any::<(Option<u64>, bool)>()).prop_map(
            |(session, stun, turn, (expires, follow))| Operation::Tunnel(control::Tunnel {
                session,
                role: None,
                stun,
                turn,
                expires,
                follow
            })
        ),
        text().prop_map(|answer| Operation::TunnelAnswer(control::TunnelAnswer { answer })),
        text().prop_map(|tunnel| Operation::TunnelRevoke(control::TunnelRevoke { tunnel })),
        Just(Operation::Tunnels(control::Tunnels {})),
        any::<bool>().prop_map(|kill| Operation::Shutdown(control::Shutdown { kill })),
        Just(Operation::Detach),
        Just(Operation::Status),
        text().prop_map(|session| Operation::SessionLs(control::SessionLs { session })),
        (text(), any::<u32>()).prop_map(|(session, pty)| Operation::SessionKill(control::SessionKill {
            session,
            pty: PtyId(pty)
        })),
        (text(), pty(), any::<(bool, Option<u64>)>()).prop_map(|(session, pty, (follow, tail_lines))| {
            Operation::Logs(control::Logs { session, pty, follow, tail_lines })
        }),
        (text(), pty()).prop_map(|(session, pty)| Operation::Restart(control::Restart { session, pty })),
        (text(), pty(), typed, any::<bool>()).prop_map(|(session, pty, (text, data), enter)| {
            Operation::Send(control::Send { session, pty, text, data, enter })
        }),
        (of(text()), any::<bool>())
            .prop_map(|(exe, keeper)| Operation::Upgrade(control::Upgrade { exe, keeper })),
    ]
}

fn look_request() -> impl Strategy<Value = Operation> {
    let pty = || any::<Option<u32>>().prop_map(|pty| pty.map(PtyId));
    let format = prop_oneof![
        Just(control::ScreenFormat::Json),
        Just(control::ScreenFormat::Text),
        Just(control::ScreenFormat::Ansi),
        Just(control::ScreenFormat::Svg),
        Just(control::ScreenFormat::Snapshot),
    ];
    prop_oneof![
        (text(), pty(), any::<(Option<u64>, bool)>(), of(format)).prop_map(
            |(session, pty, (scrollback, join), format)| {
                Operation::Screen(control::Screen { session, pty, scrollback, format, join })
            }
        ),
        (text(), pty(), of(text()), any::<(u64, bool, Option<u64>)>()).prop_map(
            |(session, pty, text, (stable_ms, exit, timeout_ms))| {
                let stable_ms = Some(stable_ms);
                Operation::Wait(control::Wait {
                    session,
                    pty,
                    text,
                    stable_ms,
                    exit,
                    timeout_ms,
                    ..Default::default()
                })
            }
        ),
        (text(), pty(), vec(text(), 0..4), any::<bool>()).prop_map(|(session, pty, keys, literal)| {
            Operation::Keys(control::Keys { session, pty, keys, literal })
        }),
    ]
}

fn request() -> impl Strategy<Value = Operation> {
    prop_oneof![create(), attach(), shell(), small_request(), look_request()]
}

fn event() -> impl Strategy<Value = StreamEvent> {
    prop_oneof![
        (any::<i32>(), of(prop_oneof![Just(ExitCause::Killed), Just(ExitCause::KeeperLost)]))
            .prop_map(|(code, cause)| StreamEvent::PtyExited { code, cause }),
        any::<u64>().prop_map(|delay_ms| StreamEvent::PtyRestarting { delay_ms }),
        Just(StreamEvent::Detached),
        any::<(u64, Option<u64>)>()
            .prop_map(|(dropped, offset)| StreamEvent::Lagged { dropped, offset: offset.map(Offset) }),
        any::<u64>().prop_map(|offset| StreamEvent::End { offset: Offset(offset) }),
        any::<(u64, u64)>().prop_map(|(offset, bytes)| StreamEvent::Repaint {
            offset: Offset(offset),
            bytes,
            part: bytes % 2 == 1
        }),
        any::<(u16, u16, u32)>().prop_map(|(cols, rows, generation)| StreamEvent::Resized {
            cols,
            rows,
            generation
        }),
    ]
}

/// Returns all frames of a stream that arrives in pieces.
fn frames(mut reader: LengthPrefixed, pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut bodies = Vec::new();
    for piece in pieces {
        reader.push(piece);
        while let Some(body) = reader.next()? {
            bodies.push(body);
        }
    }
    assert!(reader.is_empty());
    Ok(bodies)
}

fn stream_frames() -> LengthPrefixed {
    let mut frames = control::command_frames();
    control::enter_stream(&mut frames);
    frames
}

proptest! {
    // KP-1, KP-6
    #[test]
    fn keepty_messages_come_back(messages in vec(message(), 0..8), lengths in lengths()) {
        let mut bytes = Vec::new();
        for message in &messages {
            keepty::encode(message, &mut bytes);
        }
        prop_assert_eq!(keepty_decode(&pieces(&bytes, &lengths)), (messages, None));
    }

    // KP-1: the result depends on the bytes, never on how they arrive
    #[test]
    fn keepty_arbitrary_bytes(body in vec(any::<u8>(), 0..200), kind in 0..16_u8, lengths in lengths()) {
        // A plausible head makes sure that the payload readers are reached.
        let mut bytes = vec![0, 0, 0, body.len() as u8 / 2 + 2, 1, kind];
        bytes.extend(&body);
        for bytes in [&bytes, &body] {
            prop_assert_eq!(keepty_decode(&pieces(bytes, &lengths)), keepty_decode(&[&bytes[..]]));
        }
    }

    // CO-10, CO-15
    #[test]
    fn coop_requests_come_back(requests in vec(request(), 0..5), lengths in lengths()) {
        let mut bytes = Vec::new();
        for request in &requests {
            control::encode_json(request, &mut bytes).unwrap();
        }
        let bodies = frames(control::command_frames(), &pieces(&bytes, &lengths)).unwrap();
        let read: Vec<Operation> = bodies.iter().map(|body| control::parse_operation(body).unwrap()).collect();
        prop_assert_eq!(read, requests);
    }

    // CO-52
    #[test]
    fn coop_stream_comes_back(
        data in vec(any::<u8>(), 0..300), event in event(), size in any::<(u16, u16)>(), lengths in lengths(),
    ) {
        let resize = ClientControl::Resize { cols: size.0, rows: size.1 };
        let mut bytes = Vec::new();
        control::encode_data(&data, &mut bytes);
        control::encode_control(&event, &mut bytes).unwrap();
        control::encode_control(&resize, &mut bytes).unwrap();
        let bodies = frames(stream_frames(), &pieces(&bytes, &lengths)).unwrap();
        let frames: Vec<StreamFrame> = bodies.into_iter().map(control::parse_stream).collect();
        let [StreamFrame::Data(first), StreamFrame::Control(second), StreamFrame::Control(third)] = &frames[..]
        else {
            return Err(TestCaseError::fail(format!("{frames:?}")));
        };
        prop_assert_eq!(first, &data);
        prop_assert_eq!(control::parse_event(second), Some(event));
        prop_assert_eq!(control::parse_client_control(third), Some(resize));
    }

    // CO-15, CO-55
    #[test]
    fn coop_readers_never_panic(bytes in vec(any::<u8>(), 0..200), text in "[\\[\\]{}:,\"a-z0-9 ]{0,60}") {
        for body in [&bytes[..], text.as_bytes()] {
            let answers = (
                control::parse_handshake(body).is_ok(),
                control::parse_operation(body).is_ok(),
                control::parse_client_control(body).is_some(),
                control::parse_event(body).is_some(),
                control::parse_reply::<control::LsReply>(body).is_ok(),
            );
            // Everything accepted is at least an object.
            let object = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body).is_ok();
            let any = answers.0 || answers.1 || answers.2 || answers.3 || answers.4;
            prop_assert!(!any || object);
        }
    }
}
