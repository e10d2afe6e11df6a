//! The coop messages field by field: what is parsed, what is rejected, what is encoded.

use serde_json::{Value, json};
use swb_types::{Offset, PtyId};
use swb_wire::control::{
    self, Attach, Attached, BadMessage, Base64, ClientControl, Create, DaemonStatus, DialectState,
    DialectStatus, EncodeError, ErrorCode, ErrorReply, ExitCause, HandshakeReply, KeeperStatus, KeysReply,
    Kill, LogsReply, LsReply, OkReply, Operation, Origin, PtyItem, PtyRole, ReplyError, Restart,
    ScreenFormat, ScreenReply, SessionDetails, SessionItem, SessionStatus, Start, StatusReply, StreamEvent,
    StreamFrame, Until, WaitOutcome, WaitReply,
};

fn request(value: &Value) -> Result<Operation, BadMessage> {
    control::parse_operation(value.to_string().as_bytes())
}

#[track_caller]
fn accepted(value: &Value) -> Operation {
    request(value).unwrap_or_else(|error| panic!("{value}: {error}"))
}

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

// CO-19, CO-29, CO-34, CO-42
#[test]
fn absent_fields_have_the_defaults_of_the_protocol() {
    let Operation::Attach(attach) = accepted(&json!({"cmd": "attach", "session": "a"})) else { panic!() };
    assert_eq!((attach.pty(), attach.size()), (PtyId(0), (120, 40)));
    assert_eq!(attach.stream_options(), control::StreamOptions::default());
    assert_eq!(attach.stream_options().history(), 262_144);
    assert!(!attach.stream_options().wants_offsets());

    let Operation::Shell(shell) = accepted(&json!({"cmd": "shell", "session": "a"})) else { panic!() };
    assert_eq!((shell.command(), shell.size(), shell.force_new), ("/bin/sh", (120, 40), None));

    let Operation::Serve(serve) = accepted(&json!({"cmd": "serve"})) else { panic!() };
    assert_eq!((serve.port(), serve.host(), &serve.token), (8888, "127.0.0.1", &None));

    let Operation::Create(create) = accepted(&json!({"cmd": "create", "workspace": "/w"})) else { panic!() };
    assert_eq!(create, Create { workspace: "/w".into(), ..Create::default() });
}

// CO-36: an explicit false differs from absence
#[test]
fn force_new_false_differs_from_its_absence() {
    let shell = |force: Value| match accepted(&json!({"cmd": "shell", "session": "a", "force_new": force})) {
        Operation::Shell(shell) => shell.force_new,
        other => panic!("{other:?}"),
    };
    assert_eq!(shell(json!(false)), Some(false));
    assert_eq!(shell(json!(true)), Some(true));
    assert_eq!(shell(Value::Null), None);
}

#[test]
fn null_is_an_absent_field() {
    let create = json!({"cmd": "create", "workspace": "/w", "name": null, "coopfile": null, "detach": null,
        "argv": null, "env": null, "umask": null, "cols": null, "rows": null, "restart": null, "start": null,
        "unique": null, "hide": null, "require": null});
    assert_eq!(accepted(&create), Operation::Create(Create { workspace: "/w".into(), ..Create::default() }));
    let attach = json!({"cmd": "attach", "session": "a", "pty": null, "cols": null, "rows": null,
        "resume": null, "watch": null, "history": null, "offsets": null, "until": null, "repaint": null,
        "scrollback": null, "sizes": null});
    assert_eq!(accepted(&attach), Operation::Attach(Attach { session: "a".into(), ..Attach::default() }));
    assert_eq!(
        accepted(&json!({"cmd": "kill", "all": true, "session": null})),
        Operation::Kill(Kill { all: true, ..Kill::default() })
    );
}

// CO-15
#[test]
fn missing_and_mistyped_fields_are_refused() {
    let bad = [
        json!({"cmd": 5}),
        json!({"cmd": null}),
        json!({"cmd": "LS"}),
        json!({"cmd": ""}),
        json!({"cmd": "create", "workspace": 1}),
        json!({"cmd": "create", "workspace": null}),
        json!({"cmd": "create", "workspace": "/w", "name": 1}),
        json!({"cmd": "create", "workspace": "/w", "detach": "yes"}),
        json!({"cmd": "create", "workspace": "/w", "argv": "ls"}),
        json!({"cmd": "create", "workspace": "/w", "argv": [1]}),
        json!({"cmd": "create", "workspace": "/w", "env": ["A=B"]}),
        json!({"cmd": "create", "workspace": "/w", "env": {"A": 1}}),
        json!({"cmd": "create", "workspace": "/w", "umask": -1}),
        json!({"cmd": "create", "workspace": "/w", "start": "later"}),
        json!({"cmd": "create", "workspace": "/w", "hide": "keepty"}),
        json!({"cmd": "attach"}),
        json!({"cmd": "attach", "session": 5}),
        json!({"cmd": "attach", "session": "a", "pty": -1}),
        json!({"cmd": "attach", "session": "a", "pty": 4_294_967_296_u64}),
        json!({"cmd": "attach", "session": "a", "cols": "x"}),
        json!({"cmd": "attach", "session": "a", "cols": 65_536}),
        json!({"cmd": "attach", "session": "a", "rows": -1}),
        json!({"cmd": "attach", "session": "a", "rows": 1.5}),
        json!({"cmd": "attach", "session": "a", "resume": "0"}),
        json!({"cmd": "attach", "session": "a", "history": -1}),
        json!({"cmd": "attach", "session": "a", "until": "noon"}),
        json!({"cmd": "shell"}),
        json!({"cmd": "shell", "session": "a", "command": ["sh"]}),
        json!({"cmd": "shell", "session": "a", "force_new": 1}),
        json!({"cmd": "ls", "details": 1}),
        json!({"cmd": "kill"}),
        json!({"cmd": "kill", "all": false}),
        json!({"cmd": "serve", "port": 65_536}),
        json!({"cmd": "serve", "token": 7}),
        json!({"cmd": "tunnel", "session": 5}),
        json!({"cmd": "shutdown", "kill": "all"}),
        json!({"cmd": "sessionls"}),
        json!({"cmd": "sessionkill", "session": "a"}),
        json!({"cmd": "logs"}),
        json!({"cmd": "logs", "session": "a", "tail_lines": -5}),
        json!({"cmd": "restart"}),
        json!({"cmd": "send", "session": "a"}),
        json!({"cmd": "send", "session": "a", "text": "x", "data": "eA=="}),
        json!({"cmd": "send", "session": "a", "data": "not base64!"}),
        json!({"cmd": "upgrade", "exe": 1}),
        json!({"cmd": "attach", "session": "a", "repaint": 1}),
        json!({"cmd": "attach", "session": "a", "scrollback": -1}),
        json!({"cmd": "shell", "session": "a", "sizes": "yes"}),
        json!({"cmd": "screen"}),
        json!({"cmd": "screen", "session": "a", "pty": "0"}),
        json!({"cmd": "screen", "session": "a", "scrollback": -1}),
        json!({"cmd": "screen", "session": "a", "format": "gif"}),
        json!({"cmd": "wait", "session": "a"}),
        json!({"cmd": "wait", "session": "a", "exit": false, "timeout_ms": 5}),
        json!({"cmd": "wait", "exit": true}),
        json!({"cmd": "wait", "session": "a", "text": 5}),
        json!({"cmd": "wait", "session": "a", "stable_ms": -5}),
        json!({"cmd": "wait", "session": "a", "exit": true, "timeout_ms": 0.5}),
        json!({"cmd": "keys", "session": "a"}),
        json!({"cmd": "keys", "session": "a", "keys": "Enter"}),
        json!({"cmd": "keys", "session": "a", "keys": [13]}),
        json!({"cmd": "keys", "session": "a", "keys": null}),
        json!(["ls"]),
        json!("ls"),
        Value::Null,
    ];
    for value in bad {
        let error = request(&value).expect_err(&value.to_string());
        assert!(!error.to_string().is_empty());
        assert_eq!(ErrorReply::from(error).error, ErrorCode::InvalidCommand);
    }
}

// CO-15: even inside an unknown field, or twice
#[test]
fn the_whole_message_must_be_good_json() {
    for body in [
        &b"{\"cmd\":\"ls\",\"x\":\"\xff\"}"[..],
        b"{\"cmd\":\"ls\"} trailing",
        b"{\"cmd\":\"ls\"",
        b"{\"cmd\":\"ls\",\"x\":nope}",
        b"{\"cmd\":\"ls\",\"cmd\":\"status\"}",
        b"\xef\xbb\xbf{\"cmd\":\"ls\"}",
        b"",
        b"   ",
    ] {
        assert!(control::parse_operation(body).is_err(), "{}", String::from_utf8_lossy(body));
    }
    assert_eq!(
        control::parse_operation(b" \n{ \"cmd\" : \"\\u006cs\" } "),
        Ok(Operation::Ls(control::Ls::default()))
    );
}

// CO-16
#[test]
fn unknown_fields_are_ignored_everywhere() {
    for cmd in ["ls", "detach", "status", "shutdown", "upgrade", "serve"] {
        let plain = accepted(&json!({"cmd": cmd}));
        let extra = json!({"zz": [{"cmd": "kill"}], "cmd": cmd, "session_id": 5});
        assert_eq!(accepted(&extra), plain);
    }
    assert_eq!(control::parse_handshake(br#"{"client":"x","version":1}"#), Ok(1));
    assert_eq!(control::parse_event(br#"{"event":"detached","why":"x"}"#), Some(StreamEvent::Detached));
}

// CO-15: an explanation quotes the peer, but the reply stays small
#[test]
fn a_huge_invalid_message_gets_a_small_error() {
    let long = "\u{1}".repeat(1_000_000);
    for value in [
        json!({"cmd": long}),
        json!({"cmd": "attach", "session": "a", "cols": long}),
        json!({"cmd": "create", "workspace": "/w", "start": long}),
    ] {
        let bad = request(&value).unwrap_err();
        assert!(bad.to_string().len() <= 1024, "it is logged, too");
        let mut out = Vec::new();
        control::encode_json(&ErrorReply::from(bad), &mut out).unwrap();
        assert!(out.len() < 8192, "{}", out.len());
    }
    let reply = ErrorReply::new(ErrorCode::SessionNotFound, format!("Session '{long}' not found"));
    assert!(serde_json::to_string(&reply).unwrap().len() < 8192);
}

// CO-11, CO-12, CO-13
#[test]
fn every_integer_is_a_version_and_nothing_else_is() {
    for (text, version) in [
        (r#"{"version":1}"#, 1),
        (r#"{"version":2}"#, 2),
        (r#"{"version":0}"#, 0),
        (r#"{"version":-1}"#, -1),
        (r#"{"version":18446744073709551615}"#, i128::from(u64::MAX)),
    ] {
        assert_eq!(control::parse_handshake(text.as_bytes()), Ok(version));
    }
    for text in [
        r#"{"version":"1"}"#,
        r#"{"version":1.0}"#,
        r#"{"version":null}"#,
        "{}",
        "[1]",
        "1",
        "",
        r#"{"cmd":"ls"}"#,
    ] {
        assert!(control::parse_handshake(text.as_bytes()).is_err(), "{text}");
    }
    let refused = json_of(&HandshakeReply::refused(-7));
    assert_eq!((&refused["version"], &refused["ok"]), (&json!(1), &json!(false)));
    assert_eq!(refused["error"], "VERSION_MISMATCH");
    assert!(refused["message"].as_str().unwrap().contains("-7"));
}

// CO-41
#[test]
fn kill_needs_a_session_unless_it_means_all() {
    let kill = |value| match accepted(&value) {
        Operation::Kill(kill) => kill,
        other => panic!("{other:?}"),
    };
    let one = kill(json!({"cmd": "kill", "session": "a", "force": true}));
    assert_eq!(one, Kill { session: Some("a".into()), all: false, force: true });
    assert!(kill(json!({"cmd": "kill", "all": true})).all);
}

// CO-51
#[test]
fn commands_of_later_versions_are_parsed() {
    assert_eq!(
        accepted(&json!({"cmd": "sessionls", "session": "a"})),
        Operation::SessionLs(control::SessionLs { session: "a".into() })
    );
    assert_eq!(
        accepted(&json!({"cmd": "sessionkill", "session": "a", "pty": 2})),
        Operation::SessionKill(control::SessionKill { session: "a".into(), pty: PtyId(2) })
    );
    let logs = json!({"cmd": "logs", "session": "a", "pty": 1, "follow": true, "tail_lines": 50});
    let Operation::Logs(logs) = accepted(&logs) else { panic!() };
    assert_eq!((logs.pty(), logs.follow, logs.tail_lines), (PtyId(1), true, Some(50)));
    let restart = accepted(&json!({"cmd": "restart", "session": "a", "pty": 0}));
    assert_eq!(restart, Operation::Restart(Restart { session: "a".into(), pty: Some(PtyId(0)) }));
}

// CO-47: our own operation reaches all sessions without a name, coop's command needs one.
#[test]
fn a_tunnel_of_coop_names_a_session() {
    let bare = br#"{"cmd":"tunnel"}"#;
    assert!(control::parse_operation(bare).is_ok());
    assert!(swb_wire::coop::parse_command(bare).is_err());
    assert!(swb_wire::coop::parse_command(br#"{"cmd":"tunnel","session":"a"}"#).is_ok());
}

// CO-47, CO-51
#[test]
fn replies_to_later_commands_and_tunnels_are_encoded() {
    let pty = PtyItem { id: PtyId(1), role: PtyRole::Shell, command: "/bin/sh".into(), pid: None };
    let list = control::SessionLsReply { ok: true, session: "a".into(), ptys: vec![pty] };
    assert_eq!(
        json_of(&list),
        json!({"ok": true, "session": "a", "ptys": [{"id": 1, "role": "shell", "command": "/bin/sh"}]})
    );
    let restart = control::RestartReply { ok: true, pid: 7, pty: PtyId(0) };
    assert_eq!(json_of(&restart), json!({"ok": true, "pid": 7, "pty": 0}));
    let logs = LogsReply { ok: true, log_data: Base64(vec![0, 0xff, 0x1b, b'x']) };
    assert_eq!(json_of(&logs), json!({"ok": true, "log_data": "AP8beA=="}));
    let tunnel = control::TunnelReply {
        ok: true,
        tunnel: "tunnel-1".into(),
        offer_sdp: Base64(b"v=0".to_vec()),
        short_code: "abc123".into(),
        qr_data: "text".into(),
        short_url: None,
        expires: None,
    };
    let expected = json!({"ok": true, "tunnel": "tunnel-1", "offer_sdp": "dj0w", "short_code": "abc123", "qr_data": "text"});
    assert_eq!(json_of(&tunnel), expected);
}

#[test]
fn our_additions_are_parsed() {
    let create = json!({"cmd": "create", "workspace": "/w", "argv": ["vi", "x"], "env": {"A": "b"},
        "umask": 18, "cols": 100, "rows": 30, "restart": true, "start": "writer", "unique": true,
        "hide": ["coop"], "require": ["keepty"]});
    let Operation::Create(create) = accepted(&create) else { panic!() };
    assert_eq!(create.argv.as_deref(), Some(&["vi".to_owned(), "x".to_owned()][..]));
    assert_eq!(create.env.unwrap()["A"], "b");
    assert_eq!((create.umask, create.cols, create.rows), (Some(0o22), Some(100), Some(30)));
    assert_eq!((create.restart, create.start, create.unique), (Some(true), Some(Start::Writer), true));
    assert_eq!((create.hide, create.require), (vec!["coop".to_owned()], vec!["keepty".to_owned()]));

    let stream = json!({"cmd": "attach", "session": "a", "resume": 5_000_000_000_u64, "watch": true,
        "history": 0, "until": "head"});
    let Operation::Attach(attach) = accepted(&stream) else { panic!() };
    let options = attach.stream_options();
    assert_eq!((options.resume, options.watch), (Some(Offset(5_000_000_000)), true));
    assert_eq!((options.history(), options.until), (0, Some(Until::Head)));
    assert!(options.wants_offsets(), "implied by resume");

    let shell = json!({"cmd": "shell", "session": "a", "argv": ["bash"], "env": {}, "offsets": true});
    let Operation::Shell(shell) = accepted(&shell) else { panic!() };
    assert!(shell.stream_options().wants_offsets());
    assert_eq!((shell.argv, shell.env), (Some(vec!["bash".to_owned()]), Some([].into())));

    let Operation::Ls(ls) = accepted(&json!({"cmd": "ls", "details": true, "all": true})) else { panic!() };
    assert!(ls.details && ls.all);
    let Operation::Shutdown(shutdown) = accepted(&json!({"cmd": "shutdown", "kill": true})) else { panic!() };
    assert!(shutdown.kill);
    assert_eq!(accepted(&json!({"cmd": "status"})), Operation::Status);
    let upgrade = accepted(&json!({"cmd": "upgrade", "exe": "/bin/swb", "keeper": true}));
    assert_eq!(upgrade, Operation::Upgrade(control::Upgrade { exe: Some("/bin/swb".into()), keeper: true }));
}

#[test]
fn send_takes_text_or_bytes() {
    let send = |value| match accepted(&value) {
        Operation::Send(send) => send,
        other => panic!("{other:?}"),
    };
    let text = send(json!({"cmd": "send", "session": "a", "text": "größe\r"}));
    assert_eq!((text.pty(), text.into_bytes()), (PtyId(0), "größe\r".as_bytes().to_vec()));
    let data = send(json!({"cmd": "send", "session": "a", "pty": 3, "data": "AP8b"}));
    assert_eq!((data.pty(), data.into_bytes()), (PtyId(3), vec![0, 0xff, 0x1b]));
    assert_eq!(send(json!({"cmd": "send", "session": "a", "text": ""})).into_bytes(), b"");
}

#[test]
fn pictures_are_requested_and_announced() {
    let fields = json!({"cmd": "attach", "session": "a", "repaint": true, "scrollback": 7, "sizes": true, "direct": true});
    let Operation::Attach(attach) = accepted(&fields) else { panic!() };
    let options = attach.stream_options();
    assert_eq!((options.repaint, options.scrollback, options.sizes), (true, Some(7), true));
    assert!(options.direct);
    let fields = json!({"cmd": "shell", "session": "a", "repaint": true, "scrollback": 0, "sizes": true});
    let Operation::Shell(shell) = accepted(&fields) else { panic!() };
    let options = shell.stream_options();
    assert_eq!((options.repaint, options.scrollback, options.sizes), (true, Some(0), true));
    let plain = json_of(&Operation::Attach(Attach { session: "a".into(), ..Attach::default() }));
    assert_eq!(plain, json!({"cmd": "attach", "session": "a"}), "nothing that was not asked for");
}

#[test]
fn a_screen_is_encoded_as_an_object_or_as_bytes() {
    let Operation::Screen(screen) = accepted(&json!({"cmd": "screen", "session": "a"})) else { panic!() };
    assert_eq!((screen.pty(), screen.scrollback(), screen.format()), (PtyId(0), 0, ScreenFormat::Json));
    let all = json!({"cmd": "screen", "session": "a", "pty": 2, "scrollback": 50, "format": "snapshot"});
    let Operation::Screen(screen) = accepted(&all) else { panic!() };
    assert_eq!((screen.pty(), screen.scrollback(), screen.format()), (PtyId(2), 50, ScreenFormat::Snapshot));

    let object = json!({"ok": true, "session": "a", "pty": 0, "offset": 9, "screen": {"cols": 80}});
    let reply: ScreenReply = control::parse_reply(object.to_string().as_bytes()).unwrap();
    assert_eq!((&reply.screen, &reply.data), (&Some(json!({"cols": 80})), &None));
    assert_eq!(json_of(&reply), object);
    let bytes = json!({"ok": true, "session": "a", "pty": 0, "offset": 9, "cols": 80, "rows": 24,
        "data": "aGk="});
    let reply: ScreenReply = control::parse_reply(bytes.to_string().as_bytes()).unwrap();
    assert_eq!((reply.cols, reply.rows, &reply.data), (Some(80), Some(24), &Some(Base64(b"hi".to_vec()))));
    assert_eq!(json_of(&reply), bytes);
}

#[test]
fn the_largest_screen_fits_one_frame() {
    let reply = ScreenReply::<Value> {
        ok: true,
        session: "\u{1}".repeat(255),
        pty: PtyId(u32::MAX),
        offset: Offset(u64::MAX),
        cols: Some(u16::MAX),
        rows: Some(u16::MAX),
        data: Some(Base64(vec![0; ScreenReply::<Value>::MAX_DATA])),
        screen: None,
    };
    control::encode_json(&reply, &mut Vec::new()).unwrap();
}

#[test]
fn a_wait_has_conditions_and_reports_the_one_that_held() {
    let all = json!({"cmd": "wait", "session": "a", "pty": 1, "text": "^ok", "stable_ms": 300, "exit": true,
        "timeout_ms": 5000});
    let Operation::Wait(wait) = accepted(&all) else { panic!() };
    assert_eq!((wait.pty(), wait.text.as_deref(), wait.exit), (PtyId(1), Some("^ok"), true));
    assert_eq!((wait.stable_ms, wait.timeout_ms), (Some(300), Some(5000)));
    for one in [json!({"text": ""}), json!({"stable_ms": 0}), json!({"exit": true})] {
        let mut wait = json!({"cmd": "wait", "session": "a", "pty": null, "timeout_ms": null});
        wait.as_object_mut().unwrap().extend(one.as_object().unwrap().clone());
        accepted(&wait);
    }
    for (reply, met) in [
        (json!({"ok": true, "met": "text", "text": "ok", "offset": 3}), WaitOutcome::Text),
        (json!({"ok": true, "met": "stable", "offset": 3}), WaitOutcome::Stable),
        (json!({"ok": true, "met": "exit", "code": 130, "offset": 3}), WaitOutcome::Exit),
        (json!({"ok": true, "met": "timeout", "offset": 3}), WaitOutcome::Timeout),
    ] {
        let read: WaitReply = control::parse_reply(reply.to_string().as_bytes()).unwrap();
        assert_eq!((read.met, json_of(&read.met)), (met, json!(met.as_str())));
        assert_eq!(json_of(&read), reply);
    }
}

#[test]
fn keys_are_names_or_text() {
    let keys = json!({"cmd": "keys", "session": "a", "keys": ["C-c", "größe", ""], "literal": null});
    let Operation::Keys(keys) = accepted(&keys) else { panic!() };
    assert_eq!((keys.pty(), keys.literal), (PtyId(0), false));
    assert_eq!(keys.keys, ["C-c", "größe", ""]);
    let reply: KeysReply = control::parse_reply(br#"{"ok":true,"bytes":7,"x":1}"#).unwrap();
    assert_eq!(json_of(&reply), json!({"ok": true, "bytes": 7}));
}

// CO-55, CO-58
#[test]
fn control_messages_of_clients() {
    let parse = |text: &str| control::parse_client_control(text.as_bytes());
    assert_eq!(
        parse(r#"{"cmd":"resize","cols":200,"rows":50,"x":1}"#),
        Some(ClientControl::Resize { cols: 200, rows: 50 })
    );
    assert_eq!(parse(r#"{"cmd":"detach","cols":"x"}"#), Some(ClientControl::Detach));
    let offset = Offset(12);
    assert_eq!(parse(r#"{"cmd":"position","offset":12}"#), Some(ClientControl::Position { offset }));
    assert_eq!(parse(r#"{"cmd":"indirect","offset":12}"#), Some(ClientControl::Indirect { offset }));
    assert_eq!(parse(r#"{"cmd":"position"}"#), None);
    for ignored in [
        r#"{"cmd":"resize","cols":200}"#,
        r#"{"cmd":"resize","cols":65536,"rows":50}"#,
        r#"{"cmd":"resize","cols":"200","rows":50}"#,
        r#"{"cmd":"resize","cols":-1,"rows":50}"#,
        r#"{"cmd":"ls"}"#,
        r#"["detach"]"#,
        r#""detach""#,
        "",
    ] {
        assert_eq!(parse(ignored), None, "{ignored}");
    }
    assert_eq!(control::parse_client_control(b"{\"cmd\":\"detach\",\"x\":\"\xff\"}"), None);
}

// CO-61, CO-62, CO-66
#[test]
fn events_are_written_and_read() {
    for (event, text) in [
        (StreamEvent::PtyExited { code: 137, cause: None }, r#"{"event":"pty_exited","code":137}"#),
        (
            StreamEvent::PtyExited { code: 143, cause: Some(ExitCause::Killed) },
            r#"{"event":"pty_exited","code":143,"cause":"killed"}"#,
        ),
        (
            StreamEvent::PtyExited { code: 129, cause: Some(ExitCause::KeeperLost) },
            r#"{"event":"pty_exited","code":129,"cause":"keeper_lost"}"#,
        ),
        (StreamEvent::PtyRestarting { delay_ms: 1000 }, r#"{"event":"pty_restarting","delay_ms":1000}"#),
        (StreamEvent::Detached, r#"{"event":"detached"}"#),
        (StreamEvent::Lagged { dropped: 3, offset: None }, r#"{"event":"lagged","dropped":3}"#),
        (
            StreamEvent::Lagged { dropped: 3, offset: Some(Offset(9)) },
            r#"{"event":"lagged","dropped":3,"offset":9}"#,
        ),
        (StreamEvent::End { offset: Offset(12) }, r#"{"event":"end","offset":12}"#),
        (
            StreamEvent::Repaint { offset: Offset(12), bytes: 5, part: false },
            r#"{"event":"repaint","offset":12,"bytes":5}"#,
        ),
        (StreamEvent::Direct { offset: Offset(12) }, r#"{"event":"direct","offset":12}"#),
        (StreamEvent::Indirect, r#"{"event":"indirect"}"#),
        (
            StreamEvent::Resized { cols: 80, rows: 24, generation: 3 },
            r#"{"event":"resized","cols":80,"rows":24,"generation":3}"#,
        ),
    ] {
        assert_eq!(serde_json::to_string(&event).unwrap(), text);
        assert_eq!(control::parse_event(text.as_bytes()), Some(event));
    }
    for ignored in [r#"{"ok":true}"#, r#"{"event":"party"}"#, "[]", "{nope"] {
        assert_eq!(control::parse_event(ignored.as_bytes()), None, "{ignored}");
    }
}

// CO-18
#[test]
fn error_codes_are_encoded_by_name() {
    use ErrorCode::*;
    for code in [
        AgentBusy,
        BindFailed,
        FrontFailed,
        InternalError,
        InvalidCommand,
        LimitReached,
        MessageTooLarge,
        NotImplemented,
        NotTrusted,
        ProofFailed,
        PtyNotFound,
        SessionEnded,
        SessionExists,
        SessionNotFound,
        SpawnFailed,
        TunnelFailed,
        TunnelNotFound,
        TurnNotFound,
        VersionMismatch,
    ] {
        assert_eq!(json_of(&code), code.as_str());
        assert_eq!(serde_json::from_value::<ErrorCode>(json!(code.as_str())).unwrap(), code);
        assert!(code.as_str().bytes().all(|b| b.is_ascii_uppercase() || b == b'_'), "{code}");
    }
    assert_eq!(serde_json::from_value::<ErrorCode>(json!("ROOTFS_NOT_FOUND")).unwrap(), Unknown);
}

// CO-18, CO-21
#[test]
fn error_replies_decode_as_errors() {
    let plain = ErrorReply::new(ErrorCode::PtyNotFound, "no PTY 9");
    assert_eq!(
        serde_json::to_string(&plain).unwrap(),
        r#"{"ok":false,"error":"PTY_NOT_FOUND","message":"no PTY 9"}"#
    );
    let exists = ErrorReply::new(ErrorCode::SessionExists, "taken").with_session("nlst");
    assert_eq!(json_of(&exists)["session"], "nlst");

    let text = serde_json::to_vec(&exists).unwrap();
    assert_eq!(control::parse_reply::<OkReply>(&text), Err(ReplyError::Refused(exists)));
    let text = serde_json::to_vec(&HandshakeReply::refused(2)).unwrap();
    let Err(ReplyError::Refused(reply)) = control::parse_reply::<HandshakeReply>(&text) else { panic!() };
    assert_eq!(reply.error, ErrorCode::VersionMismatch);
    for bad in ["{}", "[true]", r#"{"ok":1}"#, r#"{"ok":false}"#, "nope"] {
        let reply = control::parse_reply::<OkReply>(bad.as_bytes());
        assert!(matches!(reply, Err(ReplyError::Bad(_))), "{bad}: {reply:?}");
    }
}

fn item(details: Option<SessionDetails>) -> SessionItem {
    let pty = PtyItem { id: PtyId(0), role: PtyRole::Agent, command: "cat".into(), pid: Some(5) };
    SessionItem {
        name: "a".into(),
        workspace: "/w".into(),
        pid: 5,
        created: 1_739_097_600,
        ptys: vec![pty],
        web_clients: 0,
        local_clients: 1,
        details,
    }
}

// CO-37, CO-38
#[test]
fn details_are_added_to_the_known_fields_on_request() {
    let details = SessionDetails {
        argv: vec!["cat".into()],
        status: SessionStatus::Running,
        exit_code: None,
        cols: 80,
        rows: 24,
        clients: 2,
        origin: Origin::Run,
        offset: Offset(99),
        agent: None,
        turns: 3,
    };
    let with = json_of(&item(Some(details)));
    assert_eq!(with["status"], "running");
    assert_eq!(with["origin"], "run");
    assert_eq!(with["offset"], 99);
    assert_eq!(with["turns"], 3);
    assert!(with.as_object().unwrap().contains_key("exit_code"), "null, not absent");
    assert!(with["exit_code"].is_null());
    let without = json_of(&item(None));
    let keys: Vec<&str> = without.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys.len(), 7, "{keys:?}");

    for value in [with, without] {
        let reply = json!({"ok": true, "sessions": [value]});
        let read: LsReply = control::parse_reply(reply.to_string().as_bytes()).unwrap();
        assert_eq!(json_of(&read), reply);
    }
}

#[test]
fn status_encodes_and_decodes() {
    let dialect = |name: &str, state| DialectStatus { name: name.into(), socket: "/s".into(), state };
    let status = StatusReply {
        ok: true,
        keeper: KeeperStatus { pid: 1 },
        daemon: DaemonStatus {
            pid: 2,
            restarts: 3,
            version: "0.1.0".into(),
            auto: true,
            started: 4,
            config: None,
        },
        dialects: vec![
            dialect("coop", DialectState::Listening),
            dialect("keepty", DialectState::Off),
            dialect("x", DialectState::Failed("in use".into())),
        ],
        sessions: 5,
        web: Vec::new(),
        warnings: vec!["careful".into()],
    };
    let value = json_of(&status);
    assert_eq!(value["dialects"][0]["state"], "listening");
    assert_eq!(value["dialects"][1]["state"], "off");
    assert_eq!(value["dialects"][2]["state"], "failed: in use");
    assert_eq!(value["daemon"], json!({"pid":2,"restarts":3,"version":"0.1.0","auto":true,"started":4}));
    assert_eq!(control::parse_reply::<StatusReply>(value.to_string().as_bytes()), Ok(status));
}

#[test]
fn positions_are_in_the_attach_reply_on_request() {
    let attached = Attached {
        pty: Some(PtyId(0)),
        offset: Some(Offset(10)),
        head: Some(Offset(20)),
        pid: Some(5),
        cols: Some(80),
        rows: Some(24),
        ..Attached::default()
    };
    let expected = json!({"ok":true,"pty":0,"offset":10,"head":20,"pid":5,"cols":80,"rows":24});
    assert_eq!(json_of(&attached), expected);
    assert_eq!(control::parse_reply::<Attached>(expected.to_string().as_bytes()), Ok(attached));
}

// CO-14
#[test]
fn a_message_over_the_limit_is_not_encoded() {
    let mut out = b"before".to_vec();
    let pad = |len: usize| json!({"x": "a".repeat(len - 8)});
    control::encode_json(&pad(control::MAX_FRAME), &mut out).unwrap();
    assert_eq!(out.len(), 6 + 4 + control::MAX_FRAME);
    out.truncate(6);
    let error = control::encode_json(&pad(control::MAX_FRAME + 1), &mut out).unwrap_err();
    assert!(matches!(error, EncodeError::TooLarge { len: 1_048_577, max: 1_048_576 }), "{error}");
    assert_eq!(out, b"before");
    assert!(control::encode_control(&pad(control::MAX_FRAME), &mut out).is_err(), "the tag counts");
    assert_eq!(out, b"before");
}

// CO-51
#[test]
fn the_longest_log_fits_one_frame() {
    let reply = |len| LogsReply { ok: true, log_data: Base64(vec![7; len]) };
    let mut out = Vec::new();
    control::encode_json(&reply(LogsReply::MAX_DATA), &mut out).unwrap();
    assert!(out.len() > control::MAX_FRAME - 64, "no space is given away");
    assert_eq!(control::parse_reply::<LogsReply>(&out[4..]), Ok(reply(LogsReply::MAX_DATA)));
}

// CO-52, CO-53
#[test]
fn long_data_becomes_several_frames() {
    let bytes: Vec<u8> = (0..control::MAX_DATA + 1).map(|i| (i % 251) as u8).collect();
    let mut out = Vec::new();
    control::encode_data(&bytes, &mut out);
    assert_eq!(out[..5], control::data_header(control::MAX_DATA));
    assert_eq!(out[..5], [0, 0x10, 0, 0, 0]);
    let mut frames = control::command_frames();
    control::enter_stream(&mut frames);
    frames.push(&out);
    let mut data = Vec::new();
    let mut count = 0;
    while let Some(body) = frames.next().unwrap() {
        let StreamFrame::Data(part) = control::parse_stream(body) else { panic!() };
        data.extend(part);
        count += 1;
    }
    assert_eq!((count, data == bytes), (2, true));
}
