//! What helps to type: completion of commands, the search in earlier prompts, and messages that wait.

use swb_testkit::{Swb, Terminal};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

const CTRL_C: &[u8] = b"\x03";
const CTRL_R: &[u8] = b"\x12";
const CTRL_U: &[u8] = b"\x15";

fn terminal(swb: &Swb, args: &[&str]) -> Terminal {
    let mut terminal = Terminal::start(swb.command(&[&["chat", "--new"], args].concat()), 90, 30);
    terminal.until_screen("a prompt", |text| text.ends_with('›'));
    terminal
}

fn send(terminal: &mut Terminal, text: &str) {
    terminal.type_in(text.as_bytes());
    terminal.type_in(b"\r");
}

fn ended(text: &str) -> bool {
    text.lines().rev().nth(1).is_some_and(|line| line.starts_with("— "))
}

#[test]
fn tab_completes_commands() {
    let swb = Swb::scripted(EXE, "");
    let mut terminal = terminal(&swb, &[]);
    terminal.type_in(b"/");
    terminal.until_screen("all commands", |text| {
        text.contains("/sessions") && text.contains("start another conversation")
    });
    terminal.type_in(b"s");
    terminal.until_screen("those with s", |text| text.contains("/sessions") && !text.contains("/takeover"));
    terminal.type_in(b"e\t");
    terminal.until_screen("the command", |text| text.ends_with("› /sessions"));
    terminal.type_in(CTRL_U);
    terminal.type_in(b"/ag\tscr\t");
    terminal.until_screen("the agent", |text| text.ends_with("› /agent scripted"));
    terminal.type_in(CTRL_U);
    terminal.type_in(b"/\t\t");
    terminal.until_screen("the second command", |text| text.ends_with("› /sessions"));
}

#[test]
fn ctrl_r_searches_the_prompts_of_all_conversations() {
    let mut swb = Swb::scripted(EXE, "");
    swb.ok(&["chat", "one", "--new", "-m", "say:a saved apple", "--save"]);
    swb.stop_daemon();
    swb.start_daemon();
    swb.chat_in("two").answer_to("say:a live apricot");
    let mut terminal = terminal(&swb, &[]);
    terminal.type_in(CTRL_R);
    terminal.type_in(b"ap");
    terminal.until_screen("both", |text| {
        text.contains("▸ say:a live apricot") && text.contains("say:a saved apple")
    });
    terminal.type_in(b"ple");
    terminal.until_screen("one", |text| !text.contains("apricot") && text.contains("▸ say:a saved apple"));
    terminal.type_in(b"\r");
    terminal.until_screen("it is in the editor", |text| text.ends_with("› say:a saved apple"));
    terminal.type_in(b"\r");
    terminal.until_screen("the answer", |text| ended(text) && text.contains("\na saved apple"));
    terminal.type_in(CTRL_R);
    terminal.type_in(b"zzz");
    terminal.until_screen("nothing", |text| text.contains("no earlier prompt"));
    terminal.type_in(b"\x07kept");
    terminal.until_screen("the editor again", |text| text.ends_with("› kept"));
}

#[test]
fn a_message_waits_for_the_end_of_the_answer() {
    let swb = Swb::scripted(EXE, "");
    let mut terminal = terminal(&swb, &[]);
    let file = swb.dir().join("go on");
    send(&mut terminal, &format!("say:begun;await:{}", file.display()));
    terminal.until_screen("the answer", |text| text.contains("\nbegun"));
    send(&mut terminal, "say:second answer");
    terminal.until_screen("the queue", |text| text.contains("queued: say:second answer"));
    send(&mut terminal, "say:third answer");
    terminal.until_screen("the queue", |text| text.contains("queued: say:third answer"));
    // Esc takes the last one back into the editor.
    terminal.type_in(b"\x1b");
    terminal.until_screen("one less", |text| {
        !text.contains("queued: say:third") && text.contains("› say:third answer")
    });
    terminal.type_in(CTRL_U);
    std::fs::write(&file, "").unwrap();
    terminal.until_screen("its answer", |text| text.contains("\nsecond answer") && ended(text));
    assert!(!terminal.screen().text().contains("third"), "{}", terminal.screen().text());
}

#[test]
fn stopping_the_answer_gives_the_queue_back() {
    let swb = Swb::scripted(EXE, "");
    let mut terminal = terminal(&swb, &[]);
    send(&mut terminal, "say:begun;stall");
    terminal.until_screen("the answer", |text| text.contains("\nbegun"));
    send(&mut terminal, "say:never sent");
    terminal.until_screen("the queue", |text| text.contains("queued: say:never sent"));
    terminal.type_in(CTRL_C);
    terminal.until_screen("the end", |text| text.contains("✗ stopped") && text.ends_with("› say:never sent"));
}
