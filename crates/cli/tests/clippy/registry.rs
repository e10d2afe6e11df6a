//! What the daemon adds to the turn registry: its configuration, and the clipboard programs. The rest is tested
//! without a daemon, in `crates/dialects/tests/clippy`.

use std::os::unix::fs::PermissionsExt;
use swb_testkit::{ClippyClient, Swb};
use swb_wire::clippy::{PeerRole, Request, Sink};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

fn configure(swb: &Swb, text: &str) {
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn list(client: &mut ClippyClient, session: &str, limit: Option<u32>) -> Vec<String> {
    let turns = client.ok(&Request::ListTurns { session, limit }).turns.unwrap();
    turns.into_iter().map(|(name, ..)| name).collect()
}

// CR-2, CR-8
#[test]
fn depth_and_length_can_be_configured() {
    let mut swb = Swb::new(EXE);
    configure(&swb, "[turns]\nkeep = 1\nturn_bytes = 10\n");
    swb.start_daemon();
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    wrapper.register("s");
    wrapper.turn("s", b"0123456789");
    assert_eq!(wrapper.turn("s", b"0123456789ab"), "s:2");
    assert_eq!(list(&mut wrapper, "s", None), ["s:2"]);
    let got = wrapper.ok(&Request::GetTurn { turn_id: "s:2" });
    assert_eq!((got.byte_length, got.truncated), (Some(12), Some(true)));
    assert_eq!(got.content.unwrap(), b"0123456789");
}

// CR-19, CR-25
#[test]
fn the_clipboard_sink_uses_an_installed_program() {
    let mut swb = Swb::new(EXE);
    let tools = swb.workspace("tools");
    let program = |name: &str, script: &str| {
        let path = tools.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    swb.start_daemon_with(|command| {
        command.env("PATH", &tools);
    });
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    wrapper.register("s");
    wrapper.turn("s", b"for the \0 clipboard");
    wrapper.ok(&Request::Capture { session: "s" });
    let reason = wrapper.refused(&Request::Deliver(Sink::Clipboard));
    assert!(reason.starts_with("clipboard_failed"), "{reason}");
    program("wl-copy", "exit 1");
    let reason = wrapper.refused(&Request::Deliver(Sink::Clipboard));
    assert!(reason.starts_with("clipboard_failed") && reason.contains("wl-copy"), "{reason}");
    // One that fails is not the last word; one that stays to hand the content out is not waited for.
    let out = tools.join("out");
    let script = format!("/bin/cat > {0}; echo \"$@\" >> {0}; /bin/sleep 100 &", out.display());
    program("xclip", &script);
    wrapper.ok(&Request::Deliver(Sink::Clipboard));
    assert_eq!(std::fs::read(&out).unwrap(), b"for the \0 clipboard-selection clipboard\n");
    // One that hangs is given up.
    program("wl-copy", "exec /bin/sleep 100");
    std::fs::remove_file(tools.join("xclip")).unwrap();
    let mut client = swb.clippy(PeerRole::Client);
    client.send(5, &Request::Deliver(Sink::Clipboard));
    assert_eq!(wrapper.sessions().len(), 1, "meanwhile others are served");
    assert!(client.answer().error.unwrap().starts_with("clipboard_failed"));
    wrapper.send(9, &Request::Paste { session: "s" });
    assert_eq!(wrapper.injected(), b"for the \0 clipboard");
}
