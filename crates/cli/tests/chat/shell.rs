//! Conversations with the user's shell, which cannot be mistaken for one with an agent.

use crate::support::agents::said;
use swb_testkit::{Swb, Terminal};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A daemon in which the shell answers.
fn without_agents() -> Swb {
    let mut swb = Swb::new(EXE);
    swb.configure("[chat]\nbackend = \"shell\"\n");
    swb.start_daemon();
    swb
}

#[test]
fn the_shell_has_its_own_prompt_and_shows_who_answers() {
    let swb = without_agents();
    let mut terminal = Terminal::start(swb.command(&["chat"]), 100, 30);
    terminal.until("\x1b[1;33m$ \x1b[m");
    let text = terminal.screen().text();
    for wanted in [
        "your shell answers",
        "your shell runs each message as a command",
        "docs/agents.md",
        "swb chat --help",
    ] {
        assert!(text.contains(wanted), "{wanted}:\n{text}");
    }
    terminal.type_in(b"echo $((40 + 2))\r");
    terminal
        .until_screen("the output", |text| text.contains("$ echo $((40 + 2))") && text.contains("\n42\n— "));
    terminal.type_in(b"/new\r");
    terminal.until_screen("another one", |text| text.matches("your shell answers").count() == 2);
}

#[test]
fn a_change_of_the_agent_shows_who_answers() {
    let swb = Swb::scripted(EXE, "");
    let mut terminal = Terminal::start(swb.command(&["chat", "--new"]), 100, 30);
    terminal
        .until_screen("who answers", |text| text.contains("agent scripted answers") && text.ends_with('›'));
    terminal.type_in(b"/agent shell\r");
    terminal.until_screen("who answers", |text| {
        text.contains("your shell answers from the next message on") && text.ends_with('$')
    });
    terminal.type_in(b"/agent\r");
    terminal.until_screen("the agents", |text| text.contains("agents: scripted"));
    terminal.type_in(b"/agent scripted\r");
    terminal.until_screen("who answers", |text| {
        text.contains("agent scripted answers from the next") && text.ends_with('›')
    });
    terminal.type_in(b"/new\r");
    terminal.until_screen("who answers", |text| text.matches("agent scripted answers").count() == 3);
}

#[test]
fn a_command_for_the_shell_does_not_capture_the_next_chat() {
    let swb = Swb::scripted(EXE, "");
    assert!(swb.ok(&["chat", "-m", "session"]).trim().ends_with(" 1"));
    assert_eq!(swb.ok(&["chat", "--agent", "shell", "-m", "echo hi"]), "hi\n");
    let next = swb.run(&["chat", "-m", "session"]);
    assert!(String::from_utf8_lossy(&next.stdout).trim().ends_with(" 2"), "{next:?}");
    assert!(said(&next).contains("in which scripted answers"), "{}", said(&next));
    assert!(
        said(&swb.run(&["chat", "--agent", "shell", "-m", "echo hi"])).contains("continues"),
        "by its agent"
    );
    // Where the shell is all there is, its conversation continues.
    let alone = without_agents();
    alone.ok(&["chat", "-m", "x=1"]);
    assert_eq!(alone.ok(&["chat", "-m", "echo $x"]), "1\n");
}
